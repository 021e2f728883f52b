"""A camera whose driver passes on the frames that this program writes: the module v4l2loopback. It
offers only the format of these frames."""

import fcntl
import queue
import struct
import threading
import time

from commands import run

# <linux/videodev2.h>
VIDIOC_S_FMT = 3 << 30 | 208 << 16 | ord("V") << 8 | 5
VIDEO_OUTPUT, FIELD_NONE, COLORSPACE_SRGB = 2, 1, 8
NUMBER = 40
PERIOD_S = 0.1


def fourcc(name):
    return int.from_bytes(name.encode(), "little")


class Loopback:
    """Shows one frame again and again until it is told to show another."""

    def __init__(self, pixelformat, width, height, frame):
        self.device = f"/dev/video{NUMBER}"
        self.size = width, height
        self.pixelformat = pixelformat
        self.frame = frame
        self.next = queue.Queue()  # frames that are shown once
        self.is_running = True
        self.thread = threading.Thread(target=self.write_frames)

    def write_frames(self):
        with open(self.device, "r+b", buffering=0) as node:
            width, height = self.size
            fcntl.ioctl(node, VIDIOC_S_FMT, struct.pack(
                "=I4x8I168x", VIDEO_OUTPUT, width, height, fourcc(self.pixelformat), FIELD_NONE,
                0, 0, COLORSPACE_SRGB, 0))
            while self.is_running:
                frame, is_from_queue = self.frame, not self.next.empty()
                if is_from_queue:
                    frame = self.next.get()
                node.write(frame)
                if is_from_queue:
                    self.next.task_done()
                time.sleep(PERIOD_S)

    def show_once(self, frames):
        """Returns when the frames have been written."""
        for frame in frames:
            self.next.put(frame)
        self.next.join()

    def __enter__(self):
        run("modprobe", "v4l2loopback", f"video_nr={NUMBER}", "exclusive_caps=1", "max_buffers=8",
            "card_label=Scene")
        run("udevadm", "settle")
        self.thread.start()
        # The driver presents itself as a camera from the first frame on.
        for _ in range(100):
            formats = run("v4l2-ctl", "-d", self.device, "--list-formats", check=False).stdout
            if self.pixelformat in formats:
                return self
            time.sleep(0.1)
        self.__exit__()
        raise RuntimeError(f"{self.device} does not offer {self.pixelformat}: {formats}")

    def __exit__(self, *_):
        self.is_running = False
        self.thread.join()
        for _ in range(50):
            done = run("modprobe", "-r", "v4l2loopback", check=False)
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"v4l2loopback is still in use: {done.stderr}")
