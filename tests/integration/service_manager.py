"""The part of systemd that a Type=notify service uses."""

import contextlib
import select
import socket
import time

from conftest import PATIENCE


class ServiceManager:
    """watchdog: the watchdog time-out in seconds."""

    def __init__(self, path, watchdog=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(PATIENCE)
        self.watchdog = watchdog
        self.env = {"NOTIFY_SOCKET": str(path)}
        if watchdog:
            self.env["WATCHDOG_USEC"] = str(int(watchdog * 1e6))

    def fill(self):
        """Fills its queue, so that whoever notifies it could wait without end."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    sender.sendto(b"X=1", self.env["NOTIFY_SOCKET"])

    def wait_for(self, line):
        while True:
            message = self.socket.recv(4096).decode()
            if line in message.split("\n"):
                return message

    def empty(self):
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(4096)

    def wait_until_fed(self, times=1):
        """Waits until the daemon has fed the watchdog that often, beginning now."""
        self.empty()
        for _ in range(times):
            self.wait_for("WATCHDOG=1")

    def is_fed(self):
        """Whether the daemon feeds the watchdog within its time-out, beginning now."""
        self.empty()
        deadline = time.monotonic() + self.watchdog
        while (left := deadline - time.monotonic()) > 0:
            if (select.select([self.socket], [], [], left)[0]
                    and self.socket.recv(4096) == b"WATCHDOG=1"):
                return True
        return False
