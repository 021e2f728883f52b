"""The kernel's own virtual camera, loaded as a test wants it."""

import fcntl
import glob
import pathlib
import struct
import subprocess
import time

# <linux/videodev2.h>: VIDIOC_S_PARM, VIDIOC_S_CTRL and the two kinds of capture queue.
VIDIOC_S_PARM = 3 << 30 | 204 << 16 | ord("V") << 8 | 22
VIDIOC_S_CTRL = 3 << 30 | 8 << 16 | ord("V") << 8 | 28
BUFFER_TYPE = {"single": 1, "multi": 9}

# vivid's controls, which make the faults (drivers/media/test-drivers/vivid/vivid-ctrls.c).
WRAP_SEQUENCE = 0x00f0f026
WRAP_TIMESTAMP = 0x00f0f027
DROPPED_PERCENTAGE = 0x00f0f040
DISCONNECT = 0x00f0f041
FLAG_ERROR = 0x00f0f042
REQBUFS_ERROR = 0x00f0f043
QBUF_ERROR = 0x00f0f044
STREAMON_ERROR = 0x00f0f045
FATAL_ERROR = 0x00f0f046

DRIVER = pathlib.Path("/sys/bus/platform/drivers/vivid")


class Vivid:
    """One webcam input, single-planar or multi-planar, on one video node."""

    def __init__(self, planes="single"):
        self.planes = planes
        self.device = None

    def __enter__(self):
        subprocess.run(["modprobe", "vivid", "n_devs=1", "node_types=0x1", "num_inputs=1",
                        "input_types=0", f"multiplanar={2 if self.planes == 'multi' else 1}"],
                       check=True)
        subprocess.run(["udevadm", "settle"], check=True)
        nodes = [path for path in glob.glob("/sys/class/video4linux/video*")
                 if "vivid" in (pathlib.Path(path) / "name").read_text()]
        assert len(nodes) == 1, f"expected one vivid node: {nodes}"
        self.device = "/dev/" + pathlib.Path(nodes[0]).name
        return self

    def __exit__(self, *_):
        # Whoever had the node open may take a moment to let go.
        for _ in range(50):
            if subprocess.run(["modprobe", "-r", "vivid"], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError("vivid is still in use")

    def v4l2_ctl(self, *arguments):
        done = subprocess.run(["v4l2-ctl", "-d", self.device, *arguments], check=True,
                              capture_output=True, text=True)
        return done.stdout

    def set_control(self, control, value):
        with open(self.device, "rb", buffering=0) as node:
            fcntl.ioctl(node, VIDIOC_S_CTRL, struct.pack("=Ii", control, value))

    def set_format(self, width, height, fourcc, rate=30):
        self.v4l2_ctl(f"--set-fmt-video=width={width},height={height},pixelformat={fourcc}")
        # v4l2-ctl can not set the rate of a multi-planar node.
        request = struct.pack("=IIIII184x", BUFFER_TYPE[self.planes], 0, 0, 1, rate)
        with open(self.device, "rb", buffering=0) as node:
            fcntl.ioctl(node, VIDIOC_S_PARM, request)

    def measure_rate(self, frames):
        """Frames a second of a stream of so many, read by v4l2-ctl."""
        start = time.monotonic()
        self.v4l2_ctl("--stream-mmap", f"--stream-count={frames}", "--stream-to=/dev/null")
        return frames / (time.monotonic() - start)

    def stall(self, stalled):
        """Stops the frames, and lets them come again, without any error."""
        self.set_control(DROPPED_PERCENTAGE, 100 if stalled else 0)

    def unplug(self):
        (DRIVER / "unbind").write_text("vivid.0")

    def plug_in(self):
        """It comes back as the same node if nobody holds the old one any more."""
        (DRIVER / "bind").write_text("vivid.0")
        subprocess.run(["udevadm", "settle"], check=True)
