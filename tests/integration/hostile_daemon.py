"""A fake daemon that sends invalid data: a frames socket, and a ring with one frame whose format
the test chooses."""

import array
import contextlib
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import threading
import time

from client import LIVE, Format

PAGE = 4096
SLOTS = 4
MESSAGE = struct.Struct("=IIQiI104s")
ATTACH = 1


def make_ring(layout):
    """Returns a sealed memfd with frame 1 in slot 0, in the layout of fftd/ring.h."""
    stride = (128 + layout.frame_bytes + PAGE - 1) // PAGE * PAGE
    size = PAGE + SLOTS * stride
    ring = os.memfd_create("hostile", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(ring, size)
    fcntl.fcntl(ring, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    with mmap.mmap(ring, size) as memory:
        struct.pack_into("=8sIIQIIQI", memory, 0, b"FFTDRING", 1, PAGE, size, SLOTS, 128, stride, 1)
        memory[48:48 + ctypes.sizeof(Format)] = bytes(layout)
        struct.pack_into("=Q", memory, 144, 1)
        struct.pack_into("=QII", memory, 256, 1 << 6, 1, LIVE)
        struct.pack_into("=IIQQQq", memory, PAGE, 2, 0, 1, 1, 1, time.monotonic_ns())
    return ring


class HostileDaemon:
    """`with HostileDaemon(directory, layout):` serves one client."""

    def __init__(self, directory, layout):
        self.ring = make_ring(layout)
        self.pipe = os.pipe()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(directory / "frames"))
        self.listener.listen()
        self.client = None
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        try:
            self.client, _ = self.listener.accept()
            while request := self.client.recv(MESSAGE.size):
                magic, kind, _, _, _, _ = MESSAGE.unpack(request)
                fds = array.array("i", [self.ring, self.pipe[0]] if kind == ATTACH else [])
                self.client.sendmsg([MESSAGE.pack(magic, kind, 0, 0, 1, b"")],
                                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])
        except OSError:
            pass  # no client connected, or it has closed

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        for each in filter(None, (self.listener, self.client)):
            with contextlib.suppress(OSError):  # the other end may be closed
                each.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()
        if self.client:
            self.client.close()
        for fd in (self.ring, *self.pipe):
            os.close(fd)
