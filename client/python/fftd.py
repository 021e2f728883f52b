"""Frames of an fftd camera as NumPy arrays, without a copy.

    import fftd

    with fftd.Camera("default") as camera:
        for frame in camera:                    # the newest frame, as soon as it is published
            mean = frame.image.mean()
            if frame.valid:                     # not overwritten during the computation
                print(frame.sequence, mean)

An array shows the ring's own memory, read-only, while the camera continues to write there. There
are three ways to use a frame safely: check `frame.valid` after use, keep it unchanged inside
`with frame.held():`, or make a `frame.copy()`. The memory stays mapped until its last array is
deleted, even after the camera was closed or has changed its format.

The filter is changed through fftd-ctl ($FFTD_CTL, or the one in $PATH):

    serial = camera.set_filter("auto-notch | gaussian-blur:sigma=2")
    frame = next(frame for frame in camera if frame.filter_serial >= serial)

Only one thread at a time may use a Camera. Errors of libfftd raise OSError with its error numbers
and the camera's name; what the daemon refuses raises ControlError with its words.
"""

import collections
import contextlib
import ctypes
import ctypes.util
import errno
import json
import math
import os
import subprocess
import weakref

import numpy

__all__ = ["Camera", "ControlError", "Frame", "Measures", "PixelFormat", "pixel_formats", "GREY",
           "YUV", "RGB", "STARTING", "LIVE", "OFFLINE", "RETIRED"]

STARTING, LIVE, OFFLINE, RETIRED = range(4)
GREY, YUV, RGB = range(3)  # PixelFormat.family
FLAG_CHECKSUM, FLAG_DISCONTINUITY, FLAG_BLENDED, FLAG_MEASURES = 1, 2, 4, 8
FLAG_MATCH, FLAG_VIEW = 16, 32
_MAX_PLANES = 4
_MAX_MATCHES = 16
_LONGEST_WAIT = (2**31 - 1) / 1000  # seconds; milliseconds are a C int


class Component(ctypes.Structure):
    """The position of one component's samples: struct fftd_pixel_component of fftd/formats.h."""
    _fields_ = [(name, ctypes.c_uint8) for name in ("plane", "offset", "step")]


class PixelFormat(ctypes.Structure):
    """The meaning of a fourcc: struct fftd_pixel_format of fftd/formats.h, from libfftd's table."""
    _fields_ = [
        ("_name", ctypes.c_char_p), ("_gstreamer", ctypes.c_char_p), ("_y4m", ctypes.c_char_p),
        ("fourcc", ctypes.c_uint32), ("v4l2", ctypes.c_uint32), ("v4l2_multi", ctypes.c_uint32),
        ("family", ctypes.c_uint32), ("bits", ctypes.c_uint8), ("plane_count", ctypes.c_uint8),
        ("sub_x", ctypes.c_uint8), ("sub_y", ctypes.c_uint8), ("_component", Component * 3)]

    @property
    def name(self):
        """The name in fftd's configuration: "NV12", "GREY", "RGB24"."""
        return self._name.decode()

    @property
    def gstreamer(self):
        """GStreamer's name; None: it has none."""
        return self._gstreamer.decode() if self._gstreamer else None

    @property
    def y4m(self):
        """Y4M's colour space; None: it has none."""
        return self._y4m.decode() if self._y4m else None

    @property
    def components(self):
        """The positions of the components: Y; Y, U and V; or R, G and B."""
        return list(self._component)[:1 if self.family == GREY else 3]


class Plane(ctypes.Structure):
    """The position of one plane's rows within a frame, in bytes."""
    _fields_ = [(name, ctypes.c_uint32) for name in ("offset", "stride", "row_bytes", "rows")]


class Format(ctypes.Structure):
    """Layout and meaning of a frame: struct fftd_format of fftd/ring.h."""
    _fields_ = [
        ("fourcc", ctypes.c_uint32), ("width", ctypes.c_uint32), ("height", ctypes.c_uint32),
        ("plane_count", ctypes.c_uint32), ("plane", Plane * _MAX_PLANES),
        ("frame_bytes", ctypes.c_uint32), ("rate_num", ctypes.c_uint32),
        ("rate_den", ctypes.c_uint32), ("primaries", ctypes.c_uint8), ("transfer", ctypes.c_uint8),
        ("matrix", ctypes.c_uint8), ("full_range", ctypes.c_uint8)]

    @property
    def name(self):
        """The DRM fourcc as text: "NV12", "R8", "YUYV"."""
        return self.fourcc.to_bytes(4, "little").decode("latin-1").rstrip()

    @property
    def pixels(self):
        """The meaning of the fourcc, as a PixelFormat; None if libfftd does not know it."""
        pointer = _library.fftd_pixel_format(self.fourcc)
        return pointer.contents if pointer else None


_FLAG_MOTION = 64


class Measures(ctypes.Structure):
    """Measures of the picture before the filter: struct fftd_measures of fftd/ring.h, which
    explains the numbers. A number that was not measured is NaN."""
    _fields_ = [
        *((name, ctypes.c_float) for name in (
            "sharpness", "noise", "mean", "clipped", "shift_x", "shift_y", "shift_confidence",
            "flicker_hz", "flicker_depth", "peak_strength")),
        ("peaks", ctypes.c_uint32), ("age", ctypes.c_uint32)]

    @property
    def record(self):
        """The same as a NumPy record. numpy.array([...]) makes a table of several, of which
        table["sharpness"] is a column."""
        return numpy.frombuffer(bytes(self), numpy.dtype(type(self)))[0]

    def __repr__(self):
        values = ", ".join(f"{name}={getattr(self, name):g}" for name, _ in self._fields_)
        return f"<fftd.Measures {values}>"


class Match(ctypes.Structure):
    """The position at which that picture is most similar to the template of the filter match:
    struct fftd_match of fftd/ring.h. x and y are in pixels, score is -1 .. 1."""
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float), ("score", ctypes.c_float),
                ("reserved", ctypes.c_uint32)]

    def __repr__(self):
        return f"<fftd.Match x={self.x:g}, y={self.y:g}, score={self.score:g}>"


class Similarity(ctypes.Structure):
    """How the scene has moved as a whole in that picture: struct fftd_similarity of fftd/ring.h. x
    and y are in pixels a frame, angle in degrees a frame clockwise, zoom is a factor a frame."""
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float), ("angle", ctypes.c_float),
                ("zoom", ctypes.c_float), ("agreement", ctypes.c_float),
                ("reserved", ctypes.c_uint32)]

    def __repr__(self):
        return (f"<fftd.Similarity x={self.x:g}, y={self.y:g}, angle={self.angle:g}, "
                f"zoom={self.zoom:g}>")


class _Motion(ctypes.Structure):
    _fields_ = [("captured_ns", ctypes.c_int64), ("since_ns", ctypes.c_int64),
                ("columns", ctypes.c_uint16), ("rows", ctypes.c_uint16),
                ("block", ctypes.c_uint16), ("reserved", ctypes.c_uint16)]


class Motion:
    """The field of motion of that picture: struct fftd_motion of fftd/ring.h. `vectors` is a NumPy
    array of rows x columns x 2: the pixels by which the content of each block has moved right and
    down since the picture of `since_ns`. `confidence` has rows x columns numbers, 0 .. 1; a vector
    is sure from `SURE` on. The middle of block (column, row) is block / 2 * (1 + column, 1 + row)
    pixels from the top left corner."""
    SURE = 230 / 255

    def __init__(self, header, vectors, confidences):
        shape = (header.rows, header.columns)
        self.captured_ns = header.captured_ns
        self.since_ns = header.since_ns
        self.block = header.block
        self.vectors = numpy.array(vectors, numpy.float32).reshape(*shape, 2) / 64
        self.confidence = numpy.array(confidences, numpy.float32).reshape(shape) / 255

    def __repr__(self):
        rows, columns = self.confidence.shape
        return f"<fftd.Motion of {columns}x{rows} blocks of {self.block} pixels>"


class _Frame(ctypes.Structure):
    _fields_ = [
        ("sequence", ctypes.c_uint64), ("source_sequence", ctypes.c_uint64),
        ("filter_serial", ctypes.c_uint64), ("captured_ns", ctypes.c_int64),
        ("dequeued_ns", ctypes.c_int64), ("submitted_ns", ctypes.c_int64),
        ("finished_ns", ctypes.c_int64), ("published_ns", ctypes.c_int64),
        ("missed", ctypes.c_uint64), ("checksum", ctypes.c_uint64), ("flags", ctypes.c_uint32),
        ("lock", ctypes.c_uint32), ("slot", ctypes.c_uint32), ("ring", ctypes.c_uint32),
        ("format", ctypes.POINTER(Format)), ("plane", ctypes.c_void_p * _MAX_PLANES),
        ("stride", ctypes.c_uint32 * _MAX_PLANES)]


def _load():
    """Loads libfftd: the file $LIBFFTD, or the installed library."""
    library = ctypes.CDLL(os.environ.get("LIBFFTD") or ctypes.util.find_library("fftd")
                          or "libfftd.so.0")
    camera, frame = ctypes.c_void_p, ctypes.POINTER(_Frame)
    for name, arguments, result in (
            ("open", [ctypes.POINTER(camera), ctypes.c_char_p], ctypes.c_int),
            ("open_lossless", [ctypes.POINTER(camera), ctypes.c_char_p], ctypes.c_int),
            ("explain", [ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint], None),
            ("close", [camera], None),
            ("wait", [camera, ctypes.c_int], ctypes.c_int),
            ("frame", [camera, frame], ctypes.c_int),
            ("next", [camera, frame], ctypes.c_int),
            ("frame_valid", [camera, frame], ctypes.c_bool),
            ("frame_checksum", [frame], ctypes.c_uint64),
            ("frame_motion", [camera, frame, ctypes.POINTER(_Motion),
                              ctypes.POINTER(ctypes.c_int16), ctypes.POINTER(ctypes.c_uint8),
                              ctypes.c_uint32], ctypes.c_int),
            ("frame_measures", [camera, frame, ctypes.POINTER(Measures)], ctypes.c_int),
            ("frame_matches", [camera, frame, ctypes.POINTER(Match), ctypes.c_uint32],
             ctypes.c_int),
            ("frame_similarity", [camera, frame, ctypes.POINTER(Similarity)], ctypes.c_int),
            ("hold", [camera, frame], ctypes.c_int),
            ("release", [camera, frame], ctypes.c_int),
            ("pin", [camera, frame], ctypes.c_int),
            ("unpin", [camera, frame], ctypes.c_int),
            ("fd", [camera], ctypes.c_int),
            ("format", [camera], ctypes.POINTER(Format)),
            ("state", [camera], ctypes.c_int),
            ("epoch", [camera], ctypes.c_uint32),
            ("pixel_format", [ctypes.c_uint32], ctypes.POINTER(PixelFormat)),
            ("pixel_format_at", [ctypes.c_uint], ctypes.POINTER(PixelFormat)),
            ("version", [], ctypes.c_char_p)):
        function = getattr(library, "fftd_" + name)
        function.argtypes, function.restype = arguments, result
    return library


_library = _load()
__version__ = _library.fftd_version().decode()


class ControlError(RuntimeError):
    """The daemon refused a change or a question, or could not be asked. `code` is that of fftd-ctl,
    one of sysexits(3): 65 for a filter that cannot be, 69 without a daemon, 77 without
    permission."""

    def __init__(self, camera, text, code):
        super().__init__(f"camera {camera!r}: {text}")
        self.camera, self.code = camera, code


def pixel_formats():
    """Every format that a frame can have, as a list of PixelFormat."""
    found = []
    while pointer := _library.fftd_pixel_format_at(len(found)):
        found.append(pointer.contents)
    return found


def _check(result, camera):
    if result < 0:
        raise OSError(-result, os.strerror(-result), camera)
    return result


class _Handle:
    """A struct fftd. It stays open after its Camera until the last array of its memory is deleted.

    The garbage collector may delete an array in any thread and between any two bytecodes, but
    libfftd allows one thread at a time. So give_back() takes no lock and uses only atomic
    operations of deque and set. It queues the frame, which the camera's thread unpins later. Once
    the camera is closed, the last array closes the handle."""

    def __init__(self, name, lossless):
        self.name = name
        self.pointer = ctypes.c_void_p()
        open_camera = _library.fftd_open_lossless if lossless else _library.fftd_open
        result = open_camera(ctypes.byref(self.pointer), name.encode())
        if result < 0:
            text = ctypes.create_string_buffer(256)
            _library.fftd_explain(name.encode(), result, text, len(text))
            raise OSError(-result, text.value.decode(errors="replace"), name)
        self.given_back = collections.deque()
        self.pinned = set()
        self.closing = False
        self.to_close = collections.deque([self.pointer])  # the thread that pops it closes it

    def pin(self, raw):
        """Pins a frame's memory. Returns the pin, for give_back."""
        _check(_library.fftd_pin(self.pointer, raw), self.name)
        pin = object()
        self.pinned.add(pin)
        return pin

    def give_back(self, pin, raw):
        self.given_back.append(raw)
        self.pinned.discard(pin)
        self.close_if_unused()

    def settle(self):
        while self.given_back:
            _library.fftd_unpin(self.pointer, self.given_back.popleft())

    def close(self):
        self.closing = True
        self.close_if_unused()

    def close_if_unused(self):
        if not self.closing or self.pinned:
            return
        try:
            pointer = self.to_close.pop()
        except IndexError:
            return
        _library.fftd_close(pointer)


class Frame:
    """One frame in the ring. `measures` is a Measures, `match` a Match, `motion` a Motion and
    `similarity` a Similarity, or None if the frame has none. `matches` is a list with a Match
    for each filter match of the chain, in their order; `match` is the first of them."""

    def __init__(self, camera, raw):
        self._camera = camera  # keeps it from being collected, and closed, during a call
        self._handle = camera._handle  # pylint: disable=protected-access
        self._raw = raw
        self._memory = None
        measures = Measures()
        # Copied at once, so that they outlast the frame.
        result = _library.fftd_frame_measures(self._handle.pointer, raw, measures)
        self.measures = measures if result == 0 else None
        matches = (Match * _MAX_MATCHES)()
        count = _library.fftd_frame_matches(self._handle.pointer, raw, matches, _MAX_MATCHES)
        self.matches = list(matches[:max(count, 0)])
        self.match = self.matches[0] if self.matches else None
        similarity = Similarity()
        result = _library.fftd_frame_similarity(self._handle.pointer, raw, similarity)
        self.similarity = similarity if result == 0 else None
        self.motion = self._read_motion() if raw.flags & _FLAG_MOTION else None
        self.format = Format.from_buffer_copy(raw.format.contents)

    def _read_motion(self):
        header, room, nothing = _Motion(), 0, -errno.ENOBUFS
        while nothing == -errno.ENOBUFS:
            vectors, confidences = (ctypes.c_int16 * (2 * room))(), (ctypes.c_uint8 * room)()
            nothing = _library.fftd_frame_motion(self._handle.pointer, self._raw, header, vectors,
                                                 confidences, room)
            room = header.columns * header.rows
        return Motion(header, vectors, confidences) if nothing == 0 else None

    def __getattr__(self, name):
        if name in ("sequence", "source_sequence", "filter_serial", "captured_ns", "dequeued_ns",
                    "submitted_ns", "finished_ns", "published_ns", "missed", "checksum", "flags"):
            return getattr(self._raw, name)
        raise AttributeError(f"a frame has no {name!r}")

    def __repr__(self):
        return (f"<fftd.Frame {self.sequence}: {self.format.name} "
                f"{self.format.width}x{self.format.height}>")

    def _call(self, function):
        if self._handle.closing:
            raise ValueError("the camera is closed")
        return function(self._handle.pointer, self._raw)

    def _change(self, function):
        _check(self._call(function), self._handle.name)

    @property
    def picture_state(self):
        """What the measured picture is good for: "unknown", "fine", "defocused", "covered" or
        "overexposed"."""
        states = dict(enumerate(("unknown", "fine", "defocused", "covered", "overexposed")))
        return states.get(self.flags >> 8 & 7, "unknown")

    @property
    def valid(self):
        """Returns whether everything read from the arrays so far belongs to this one frame."""
        return self._call(_library.fftd_frame_valid)

    def hold(self):
        """Keeps the frame from being overwritten. Each hold() needs one release()."""
        self._change(_library.fftd_hold)

    def release(self):
        self._change(_library.fftd_release)

    @contextlib.contextmanager
    def held(self):
        """with frame.held(): ... the frame does not change."""
        self.hold()
        try:
            yield self
        finally:
            self.release()

    def _map(self):
        """The frame's bytes. Arrays refer to them, and they keep the memory mapped."""
        if self._memory is None:
            if self._handle.closing:
                raise ValueError("the camera is closed")
            pin = self._handle.pin(self._raw)
            start = self._raw.plane[0] - self.format.plane[0].offset
            self._memory = (ctypes.c_uint8 * self.format.frame_bytes).from_address(start)
            weakref.finalize(self._memory, self._handle.give_back, pin, self._raw).atexit = False
        return self._memory

    def _array(self, shape, dtype, offset, strides):
        array = numpy.ndarray(shape, dtype, self._map(), offset, strides)
        array.flags.writeable = False
        return array

    @property
    def planes(self):
        """The bytes of every plane, as arrays of rows."""
        layout = self.format.plane[:self.format.plane_count]
        return [self._array((p.rows, p.row_bytes), numpy.uint8, p.offset, (p.stride, 1))
                for p in layout]

    @property
    def image(self):
        """The first plane, which is luma or the whole picture: (height, width) of 8 or 16 bits, or
        (height, width, bytes a pixel) for formats such as RGB24 and YUYV."""
        plane, width = self.format.plane[0], self.format.width
        pixel_bytes = plane.row_bytes // width
        if pixel_bytes == self._sample.itemsize:
            return self._array((plane.rows, width), self._sample, plane.offset,
                               (plane.stride, pixel_bytes))
        return self._array((plane.rows, width, pixel_bytes), numpy.uint8, plane.offset,
                           (plane.stride, pixel_bytes, 1))

    @property
    def components(self):
        """Y, or Y, U and V, or R, G and B, as arrays (rows, columns) of 8 or 16 bits. U and V of
        subsampled formats have fewer rows and columns than the frame has."""
        pixels = self.format.pixels
        if pixels is None:
            raise ValueError(f"libfftd does not know the pixel format {self.format.name!r}")
        arrays = []
        for index, component in enumerate(pixels.components):
            plane = self.format.plane[component.plane]
            sub_x, sub_y = (pixels.sub_x, pixels.sub_y) if index > 0 else (1, 1)
            shape = (-(-self.format.height // sub_y), -(-self.format.width // sub_x))
            arrays.append(self._array(shape, self._sample, plane.offset + component.offset,
                                      (plane.stride, component.step)))
        return arrays

    @property
    def _sample(self):
        pixels = self.format.pixels
        return numpy.dtype("<u2" if pixels is not None and pixels.bits > 8 else numpy.uint8)

    def copy(self):
        """Copies of all planes, or None if the frame was overwritten during the copy."""
        planes = [plane.copy() for plane in self.planes]
        return planes if self.valid else None

    @property
    def computed_checksum(self):
        """The checksum of the current pixels, to compare with `checksum`."""
        self._map()
        return _library.fftd_frame_checksum(self._raw)


class Camera:
    """A connection to a camera, given by its name, or by its runtime directory (with a '/'). With
    lossless=True the source waits for this reader, which has to use next() or frames(every=True);
    OSError EOPNOTSUPP: this daemon does not (output.lossless), or its source cannot wait."""

    def __init__(self, name="default", lossless=False):
        self._handle = None
        self._handle = _Handle(name, lossless)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        if self._handle is not None:
            self._handle.close()

    @property
    def _pointer(self):
        if self._handle.closing:
            raise ValueError("the camera is closed")
        self._handle.settle()
        return self._handle.pointer

    def wait(self, timeout=None):
        """Waits up to `timeout` seconds (None: for ever) for a frame newer than the last one taken.
        Returns whether there is one; False after a signal."""
        forever = timeout is None or timeout > _LONGEST_WAIT
        milliseconds = -1 if forever else max(0, math.ceil(timeout * 1000))
        return _check(_library.fftd_wait(self._pointer, milliseconds), self._handle.name) == 1

    def _take(self, function):
        raw = _Frame()
        if function(self._pointer, raw) < 0:
            return None
        return Frame(self, raw)

    def frame(self):
        """The newest frame, or None if it was taken already."""
        return self._take(_library.fftd_frame)

    def next(self):
        """The frame after the last one taken, or the oldest newer one in the ring, or None."""
        return self._take(_library.fftd_next)

    def frames(self, every=False):
        """Yields the newest frame each time, or with `every` each frame that is still in the ring.
        Does not end: while there is no daemon, it waits for one."""
        take = self.next if every else self.frame
        while True:
            if (self.wait()) and (frame := take()) is not None:
                yield frame

    def __iter__(self):
        return self.frames()

    def fileno(self):
        """For select() and similar calls: when it is readable, call wait(0)."""
        return _library.fftd_fd(self._pointer)

    @property
    def format(self):
        """Layout of the frames; None before there is a ring."""
        layout = _library.fftd_format(self._pointer)
        return Format.from_buffer_copy(layout.contents) if layout else None

    @property
    def state(self):
        """STARTING, LIVE, OFFLINE or RETIRED."""
        return _library.fftd_state(self._pointer)

    @property
    def epoch(self):
        """Increases by one each time a restarted daemon takes over."""
        return _library.fftd_epoch(self._pointer)

    def control(self, *arguments):
        """What `fftd-ctl --json` prints for a command, such as control("camera", "list")."""
        name = self._handle.name
        place = ["--runtime-dir" if "/" in name else "--name", name]
        command = [os.environ.get("FFTD_CTL", "fftd-ctl"), *place, "--json", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout) if done.stdout else None
        try:
            text = json.loads(done.stderr)["error"]
        except (ValueError, KeyError, TypeError):
            text = done.stderr.strip() or f"{command[0]} ended with {done.returncode}"
        raise ControlError(name, text, done.returncode)

    def set_filter(self, chain):
        """Changes the filter chain. Returns its serial: frames whose filter_serial is this one or a
        greater one were made by it. ControlError says what is wrong with a chain."""
        return self.control("filter", "set", chain)["Serial"]

    @property
    def status(self):
        """The state of the camera, its daemon and its filter, as a dict: the properties that
        fftd(8) lists, such as status["State"] and status["Filter"]."""
        return self.control("status")
