"""The part of libfftd that the tests need, through ctypes."""

import ctypes
import errno
import hashlib
import os
import queue
import threading
import time

from conftest import BUILD, PATIENCE

MAX_PLANES = 4
STARTING, LIVE, OFFLINE, RETIRED = range(4)


class Plane(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("offset", "stride", "row_bytes", "rows")]


class Format(ctypes.Structure):
    _fields_ = [
        ("fourcc", ctypes.c_uint32), ("width", ctypes.c_uint32), ("height", ctypes.c_uint32),
        ("plane_count", ctypes.c_uint32), ("plane", Plane * MAX_PLANES),
        ("frame_bytes", ctypes.c_uint32), ("rate_num", ctypes.c_uint32),
        ("rate_den", ctypes.c_uint32), ("primaries", ctypes.c_uint8), ("transfer", ctypes.c_uint8),
        ("matrix", ctypes.c_uint8), ("full_range", ctypes.c_uint8)]


class RawFrame(ctypes.Structure):
    _fields_ = [
        ("sequence", ctypes.c_uint64), ("source_sequence", ctypes.c_uint64),
        ("filter_serial", ctypes.c_uint64), ("captured_ns", ctypes.c_int64),
        ("dequeued_ns", ctypes.c_int64), ("submitted_ns", ctypes.c_int64),
        ("finished_ns", ctypes.c_int64), ("published_ns", ctypes.c_int64),
        ("missed", ctypes.c_uint64), ("checksum", ctypes.c_uint64), ("flags", ctypes.c_uint32),
        ("lock", ctypes.c_uint32), ("slot", ctypes.c_uint32), ("ring", ctypes.c_uint32),
        ("format", ctypes.POINTER(Format)), ("plane", ctypes.c_void_p * MAX_PLANES),
        ("stride", ctypes.c_uint32 * MAX_PLANES)]


class Frame:
    """A verified copy of a frame."""

    def __init__(self, raw):
        for name, kind in RawFrame._fields_:
            if kind in (ctypes.c_uint64, ctypes.c_int64, ctypes.c_uint32):
                setattr(self, name, getattr(raw, name))
        layout = raw.format.contents
        self.width, self.height = layout.width, layout.height
        self.planes = []
        for p in range(layout.plane_count):
            plane = layout.plane[p]
            size = plane.stride * (plane.rows - 1) + plane.row_bytes
            memory = ctypes.string_at(raw.plane[p], size)
            self.planes.append(b"".join(memory[row * plane.stride:][:plane.row_bytes]
                                        for row in range(plane.rows)))

    @property
    def digest(self):
        return hashlib.sha256(b"".join(self.planes)).hexdigest()


def load():
    library = ctypes.CDLL(os.environ.get("FFTD_LIBRARY", str(BUILD / "libfftd.so.0")))
    handle, frame = ctypes.c_void_p, ctypes.POINTER(RawFrame)
    library.fftd_open.argtypes = [ctypes.POINTER(handle), ctypes.c_char_p]
    library.fftd_open_lossless.argtypes = library.fftd_open.argtypes
    library.fftd_close.argtypes = [handle]
    library.fftd_wait.argtypes = [handle, ctypes.c_int]
    library.fftd_frame.argtypes = [handle, frame]
    library.fftd_next.argtypes = [handle, frame]
    library.fftd_frame_valid.argtypes = [handle, frame]
    library.fftd_frame_valid.restype = ctypes.c_bool
    library.fftd_state.argtypes = [handle]
    library.fftd_epoch.argtypes = [handle]
    library.fftd_epoch.restype = ctypes.c_uint32
    library.fftd_format.argtypes = [handle]
    library.fftd_format.restype = ctypes.POINTER(Format)
    return library


class Reader:
    """A client of one daemon: `with Reader(daemon) as reader`."""

    def __init__(self, daemon, patience=PATIENCE, lossless=False):
        """patience: for how many seconds fftd_open, which waits 2, may be called again. A daemon
        that begins with sockets of systemd may take longer on a busy machine. With lossless the
        daemon waits for this reader."""
        daemon.wait_for_socket("frames")
        self.library = load()
        open_camera = self.library.fftd_open_lossless if lossless else self.library.fftd_open
        self.handle = ctypes.c_void_p()
        self.daemon = daemon
        deadline, result = time.monotonic() + patience, -errno.ETIMEDOUT
        while result == -errno.ETIMEDOUT:
            result = open_camera(ctypes.byref(self.handle), str(daemon.runtime_dir).encode())
            if time.monotonic() >= deadline:
                break
        if result == -errno.ETIMEDOUT:
            raise TimeoutError("fftd_open waited for an answer in vain")
        if result == -errno.EOPNOTSUPP:
            raise OSError(errno.EOPNOTSUPP, "this daemon waits for no reader")
        assert result == 0, f"fftd_open: {errno.errorcode[-result]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.fftd_close(self.handle)

    @property
    def state(self):
        return self.library.fftd_state(self.handle)

    @property
    def epoch(self):
        return self.library.fftd_epoch(self.handle)

    @property
    def format(self):
        pointer = self.library.fftd_format(self.handle)
        return pointer.contents if pointer else None

    def wait(self, timeout_ms=PATIENCE * 1000):
        return self.library.fftd_wait(self.handle, timeout_ms)

    def take(self):
        """Returns the next frame, or None if none can be copied intact."""
        raw = RawFrame()
        if self.library.fftd_next(self.handle, ctypes.byref(raw)) < 0:
            return None
        frame = Frame(raw)
        return frame if self.library.fftd_frame_valid(self.handle, ctypes.byref(raw)) else None

    def take_rest(self):
        """Takes every frame that is left in the ring, which can be many on a busy host, and returns
        the last one. fftd_wait does not look at the connection while there are any."""
        last = None
        while frame := self.take():
            last = frame
        return last

    def frames(self):
        """Yields the frames of one daemon and its successor, except those that this reader
        misses."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            result = self.wait(1000)
            assert result >= 0 or result == -errno.EPIPE, \
                f"fftd_wait: {errno.errorcode[-result]}\n{self.daemon.log}"
            while frame := self.take():
                deadline = time.monotonic() + PATIENCE
                yield frame
        raise AssertionError(f"no frame for {PATIENCE} s:\n{self.daemon.log}")

    def next(self):
        return next(self.frames())

    def take_until(self, condition):
        """Returns all frames up to and including the first one for which the condition is true."""
        taken = []
        for frame in self.frames():
            taken.append(frame)
            if condition(frame):
                return taken


class Recorder(Reader):
    """A reader with a thread that takes each frame as soon as it comes, so that the test may do
    something else for as long as it likes. Only frames() and what uses it may be called."""

    def __init__(self, daemon):
        super().__init__(daemon)
        self.taken = queue.SimpleQueue()
        self.is_over = False
        self.thread = threading.Thread(target=self.record)
        self.thread.start()

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        super().__exit__()

    def record(self):
        while not self.is_over:
            if self.wait(100) < 0:
                time.sleep(0.01)  # until there is another daemon
            while frame := self.take():
                self.taken.put(frame)

    def frames(self):
        while True:
            try:
                yield self.taken.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"no frame for {PATIENCE} s:\n{self.daemon.log}") from None
