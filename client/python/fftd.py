"""Frames of an fftd camera as NumPy arrays, without a copy.

    import fftd

    with fftd.Camera("default") as camera:
        for frame in camera:                    # the newest one, as soon as it is there
            mean = frame.image.mean()
            if frame.valid:                     # not overwritten while we were looking
                print(frame.sequence, mean)

An array shows the ring's own memory, read-only. The camera goes on writing there: either ask
`frame.valid` after use, or `with frame.held():` keep the frame for as long as the block lasts, or
`frame.copy()` it. An array may live as long as it likes; its memory stays mapped until the last
one has gone, also after the camera was closed or has changed its format.

A Camera is used by one thread at a time. Everything that can fail raises OSError, with libfftd's
own error numbers.
"""

import collections
import contextlib
import ctypes
import ctypes.util
import math
import os
import threading
import weakref

import numpy

__all__ = ["Camera", "Frame", "STARTING", "LIVE", "OFFLINE", "RETIRED"]

STARTING, LIVE, OFFLINE, RETIRED = range(4)
FLAG_CHECKSUM, FLAG_DISCONTINUITY = 1, 2
_MAX_PLANES = 4
_LONGEST_WAIT = (2**31 - 1) / 1000  # seconds; milliseconds are a C int


class Plane(ctypes.Structure):
    """Where the rows of one plane lie within a frame, in bytes."""
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
    """libfftd: the one $LIBFFTD names, or the installed one."""
    library = ctypes.CDLL(os.environ.get("LIBFFTD") or ctypes.util.find_library("fftd")
                          or "libfftd.so.0")
    camera, frame = ctypes.c_void_p, ctypes.POINTER(_Frame)
    for name, arguments, result in (
            ("open", [ctypes.POINTER(camera), ctypes.c_char_p], ctypes.c_int),
            ("close", [camera], None),
            ("wait", [camera, ctypes.c_int], ctypes.c_int),
            ("frame", [camera, frame], ctypes.c_int),
            ("next", [camera, frame], ctypes.c_int),
            ("frame_valid", [camera, frame], ctypes.c_bool),
            ("frame_checksum", [frame], ctypes.c_uint64),
            ("hold", [camera, frame], ctypes.c_int),
            ("release", [camera, frame], ctypes.c_int),
            ("pin", [camera, frame], ctypes.c_int),
            ("unpin", [camera, frame], ctypes.c_int),
            ("fd", [camera], ctypes.c_int),
            ("format", [camera], ctypes.POINTER(Format)),
            ("state", [camera], ctypes.c_int),
            ("epoch", [camera], ctypes.c_uint32)):
        function = getattr(library, "fftd_" + name)
        function.argtypes, function.restype = arguments, result
    return library


_library = _load()


def _check(result):
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


class _Handle:
    """A struct fftd that outlives the Camera as long as an array shows its memory.

    Arrays die in whatever thread drops them last, while libfftd wants one thread at a time: what
    they give back waits in a queue until the camera's own thread comes by, or, once the camera
    was closed and nobody can come by any more, until the last of them closes the handle."""

    def __init__(self, name):
        self.pointer = ctypes.c_void_p()
        _check(_library.fftd_open(ctypes.byref(self.pointer), name.encode()))
        self.given_back = collections.deque()
        self.lock = threading.Lock()
        self.pins = 0
        self.closing = False

    def pin(self, raw):
        _check(_library.fftd_pin(self.pointer, raw))
        with self.lock:
            self.pins += 1

    def give_back(self, raw):
        self.given_back.append(raw)
        with self.lock:
            self.pins -= 1
            last = self.closing and self.pins == 0
        if last:
            _library.fftd_close(self.pointer)

    def settle(self):
        while self.given_back:
            _library.fftd_unpin(self.pointer, self.given_back.popleft())

    def close(self):
        with self.lock:
            if self.closing:
                return
            self.closing = True
            last = self.pins == 0
        if last:
            _library.fftd_close(self.pointer)


class Frame:
    """One frame as it lies in the ring."""

    def __init__(self, handle, raw):
        self._handle = handle
        self._raw = raw
        self._memory = None
        self.format = Format.from_buffer_copy(raw.format.contents)

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

    @property
    def valid(self):
        """Whether all that was read from the arrays so far belongs to this one frame."""
        return self._call(_library.fftd_frame_valid)

    def hold(self):
        """Keeps the frame from being overwritten, until release() as often as hold()."""
        _check(self._call(_library.fftd_hold))

    def release(self):
        _check(self._call(_library.fftd_release))

    @contextlib.contextmanager
    def held(self):
        """with frame.held(): ... the frame does not change."""
        self.hold()
        try:
            yield self
        finally:
            self.release()

    def _map(self):
        """The frame's bytes; arrays made of it keep it alive, and it keeps the memory mapped."""
        if self._memory is None:
            if self._handle.closing:
                raise ValueError("the camera is closed")
            self._handle.pin(self._raw)
            start = self._raw.plane[0] - self.format.plane[0].offset
            self._memory = (ctypes.c_uint8 * self.format.frame_bytes).from_address(start)
            weakref.finalize(self._memory, self._handle.give_back, self._raw).atexit = False
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
        """The first plane, which is luma or all there is: (height, width) of 8 or 16 bits, or
        (height, width, bytes a pixel) for formats such as RGB24 and YUYV."""
        plane, width = self.format.plane[0], self.format.width
        pixel_bytes = plane.row_bytes // width
        if self.format.name in ("R10", "R12", "R16"):
            return self._array((plane.rows, width), "<u2", plane.offset, (plane.stride, 2))
        if pixel_bytes == 1:
            return self._array((plane.rows, width), numpy.uint8, plane.offset, (plane.stride, 1))
        return self._array((plane.rows, width, pixel_bytes), numpy.uint8, plane.offset,
                           (plane.stride, pixel_bytes, 1))

    def copy(self):
        """Copies of all planes, or None if the frame was overwritten meanwhile."""
        planes = [plane.copy() for plane in self.planes]
        return planes if self.valid else None

    @property
    def computed_checksum(self):
        """The sum of the pixels as they are now, to compare with `checksum`."""
        self._map()
        return _library.fftd_frame_checksum(self._raw)


class Camera:
    """A connection to one camera: its name, or its runtime directory if that holds a '/'."""

    def __init__(self, name="default"):
        self._handle = None
        self._handle = _Handle(name)

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
        """Waits for a frame newer than the last one taken, for so many seconds (None: for ever);
        whether there is one. Comes back early, with False, after a signal."""
        forever = timeout is None or timeout > _LONGEST_WAIT
        milliseconds = -1 if forever else max(0, math.ceil(timeout * 1000))
        return _check(_library.fftd_wait(self._pointer, milliseconds)) == 1

    def _take(self, function):
        raw = _Frame()
        if function(self._pointer, raw) < 0:
            return None
        return Frame(self._handle, raw)

    def frame(self):
        """The newest frame; None if that was taken already."""
        return self._take(_library.fftd_frame)

    def next(self):
        """The frame after the last one taken, or the oldest there still is; None if none is."""
        return self._take(_library.fftd_next)

    def frames(self, every=False):
        """Frames as they come: the newest each time, or every one that can be had. Does not end;
        a daemon that goes away is waited for."""
        take = self.next if every else self.frame
        while True:
            if (self.wait()) and (frame := take()) is not None:
                yield frame

    def __iter__(self):
        return self.frames()

    def fileno(self):
        """For select() and the like: readable when there is something for wait(0) to do."""
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
        """Grows by one each time a restarted daemon takes over the ring."""
        return _library.fftd_epoch(self._pointer)
