"""The kernel's virtual camera, loaded with the options of a test."""

import fcntl
import glob
import pathlib
import re
import struct
import time

from commands import run

# <linux/videodev2.h>: VIDIOC_S_PARM, VIDIOC_S_CTRL and the two kinds of capture queue.
VIDIOC_S_PARM = 3 << 30 | 204 << 16 | ord("V") << 8 | 22
VIDIOC_S_CTRL = 3 << 30 | 8 << 16 | ord("V") << 8 | 28
BUFFER_TYPE = {"single": 1, "multi": 9}
# Values of vivid's parameter input_types.
WEBCAM, TV, HDMI = 0, 1, 3

# vivid's controls that inject faults (drivers/media/test-drivers/vivid/vivid-ctrls.c).
WRAP_SEQUENCE = 0x00f0f026
WRAP_TIMESTAMP = 0x00f0f027
DROPPED_PERCENTAGE = 0x00f0f040
DISCONNECT = 0x00f0f041
FLAG_ERROR = 0x00f0f042
REQBUFS_ERROR = 0x00f0f043
QBUF_ERROR = 0x00f0f044
STREAMON_ERROR = 0x00f0f045
FATAL_ERROR = 0x00f0f046

DRIVER = "/sys/bus/platform/drivers/vivid"


class Vivid:
    """One or more video nodes, single-planar or multi-planar, each with one input, by default a
    webcam. Further options are passed to the module."""

    def __init__(self, planes="single", *options, count=1, input_type=WEBCAM):
        self.planes = planes
        self.options = options
        self.count = count
        self.input_type = input_type
        self.devices = []

    @property
    def device(self):
        return self.devices[0]

    def __enter__(self):
        def each(value):
            return ",".join([str(value)] * self.count)
        run("modprobe", "-r", "vivid", check=False)  # a failed test may have left it loaded
        run("modprobe", "vivid", f"n_devs={self.count}", f"node_types={each(1)}",
            f"num_inputs={each(1)}", f"input_types={each(self.input_type)}",
            f"multiplanar={each(2 if self.planes == 'multi' else 1)}", *self.options)
        run("udevadm", "settle")
        nodes = [path for path in glob.glob("/sys/class/video4linux/video*")
                 if "vivid" in (pathlib.Path(path) / "name").read_text()]
        assert len(nodes) == self.count, f"{nodes} are the nodes of vivid: expected {self.count}"
        self.devices = ["/dev/" + pathlib.Path(path).name for path in sorted(nodes)]
        return self

    def __exit__(self, *_):
        # Another process may take a moment to close the node.
        for _ in range(50):
            done = run("modprobe", "-r", "vivid", check=False)
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"vivid is still in use: {done.stderr}")

    def v4l2_ctl(self, *arguments):
        return run("v4l2-ctl", "-d", self.device, *arguments).stdout

    def set_control(self, control, value):
        with open(self.device, "rb", buffering=0) as node:
            fcntl.ioctl(node, VIDIOC_S_CTRL, struct.pack("=Ii", control, value))

    def set_format(self, width, height, fourcc, rate=30):
        self.v4l2_ctl(f"--set-fmt-video=width={width},height={height},pixelformat={fourcc}")
        # v4l2-ctl cannot set the rate of a multi-planar node.
        request = struct.pack("=IIIII184x", BUFFER_TYPE[self.planes], 0, 0, 1, rate)
        with open(self.device, "rb", buffering=0) as node:
            fcntl.ioctl(node, VIDIOC_S_PARM, request)

    def measure_rate(self, frames):
        """Returns the frame rate of a stream that v4l2-ctl reads."""
        start = time.monotonic()
        self.v4l2_ctl("--stream-mmap", f"--stream-count={frames}", "--stream-to=/dev/null")
        return frames / (time.monotonic() - start)

    def menu(self, name):
        """Returns the entries of a menu control: text -> number."""
        text = self.v4l2_ctl("--list-ctrls-menus")
        entries = re.search(rf"^ *{name} .*\n((?:\s+\d+: .*\n)*)", text, re.MULTILINE)[1]
        return {entry: int(number) for number, entry in re.findall(r"(\d+): (.*)", entries)}

    def set_signal(self, timings):
        """Sets the signal of the cable: an entry of the menu dv_timings, or None for no signal."""
        self.v4l2_ctl("--set-ctrl", "dv_timings_signal_mode=1" if timings is None else
                      f"dv_timings_signal_mode=4,dv_timings={self.menu('dv_timings')[timings]}")

    def stall(self, stalled):
        """Stops and restarts the frames without an error."""
        self.set_control(DROPPED_PERCENTAGE, 100 if stalled else 0)

    def unplug(self):
        run("sh", "-c", f"echo vivid.0 >{DRIVER}/unbind")

    def plug_in(self):
        """Plugs the camera in. It gets the same node if no process has the old one open."""
        run("sh", "-c", f"echo vivid.0 >{DRIVER}/bind")
        run("udevadm", "settle")
