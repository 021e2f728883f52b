"""A private desktop for fftd-pipewire: PipeWire with WirePlumber's policy, and programs that take
frames from it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import BUILD, wait_until
from process import Process

ROOT = pathlib.Path(__file__).resolve().parents[2]
# libpipewire is not built for ThreadSanitizer, which would report its queues.
PROGRAM = (ROOT / "build" if "thread" in BUILD.name else BUILD) / "fftd-pipewire"

# The configuration of a desktop, without D-Bus, real-time priorities and devices.
SERVER = """
context.properties = { core.daemon = true core.name = pipewire-0 support.dbus = false }
context.spa-libs = { support.* = support/libspa-support }
context.modules = [
    { name = libpipewire-module-protocol-native }
    { name = libpipewire-module-metadata }
    { name = libpipewire-module-spa-node-factory }
    { name = libpipewire-module-client-node }
    { name = libpipewire-module-access }
    { name = libpipewire-module-adapter }
    { name = libpipewire-module-link-factory }
    { name = libpipewire-module-session-manager }
]
context.objects = [
    { factory = metadata args = { metadata.name = default } }
    { factory = spa-node-factory
        args = { factory.name = support.node.driver node.name = Dummy-Driver
                 node.group = pipewire.dummy priority.driver = 20000 } }
]
"""


def policy_command():
    """Returns what starts WirePlumber with its policy alone: a configuration of version 0.4, and a
    profile since 0.5."""
    usage = subprocess.run(["wireplumber", "--help"], capture_output=True, text=True, check=True)
    return ["wireplumber", *(["--profile", "policy"] if "--profile" in usage.stdout else
                             ["-c", "policy.conf"])]


class Buffer:
    """What GStreamer says of one buffer."""

    LINE = re.compile(r"chain .*\((\d+) bytes, .*pts: ([^,]+), .*offset: (\d+),")

    def __init__(self, found):
        self.bytes, self.sequence = int(found[1]), int(found[3])
        hours, minutes, seconds = found[2].split(":")
        whole, _, fraction = seconds.partition(".")
        self.pts_ns = ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 10**9 + int(fraction)


class Consumer(Process):
    """gst-launch-1.0 with pipewiresrc: another program of the desktop. Frames go into a file."""

    def __init__(self, node, env, path, count):
        self.path = path
        super().__init__(
            ["gst-launch-1.0", "-v", "pipewiresrc", f"target-object={node}",
             f"num-buffers={count}", "!", "video/x-raw", "!", "identity", "silent=false",
             "!", "filesink", "buffer-mode=unbuffered", f"location={path}"], env,
            path.with_suffix(".log"))

    @property
    def buffers(self):
        return [Buffer(found) for found in Buffer.LINE.finditer(self.log)]

    def pictures(self):
        """Numbers and data of all frames that are in the file."""
        data, at, found = self.path.read_bytes(), 0, []
        for buffer in self.buffers:
            found.append((buffer.sequence, data[at:at + buffer.bytes]))
            at += buffer.bytes
        return [(number, picture) for number, picture in found if picture]

    @property
    def formats(self):
        """Formats and sizes in the order in which they came."""
        return re.findall(r"PipeWireSrc:\S+ caps = video/x-raw, format=\(string\)(\w+), "
                          r"(?:interlace-mode=\(string\)progressive, )?"  # since PipeWire 1.4
                          r"width=\(int\)(\d+), height=\(int\)(\d+), framerate=\(fraction\)(\S+)",
                          self.log)

    def wait_for_buffers(self, count):
        def is_enough():
            assert self.process.poll() is None or len(self.buffers) >= count, self.log
            return len(self.buffers) >= count
        wait_until(is_enough, f"{count} buffers:\n{self.log}")


class Desktop:
    """One user's PipeWire, with the directory that its programs find it by."""

    def __init__(self, directory, tmp_path):
        self.directory = directory
        self.tmp_path = tmp_path
        self.env = {key: value for key, value in os.environ.items()
                    if key != "DBUS_SESSION_BUS_ADDRESS"}
        self.env |= {"XDG_RUNTIME_DIR": str(directory), "XDG_STATE_HOME": str(directory / "state"),
                     "GST_DEBUG_NO_COLOR": "1"}
        self.processes = []
        (tmp_path / "pipewire.conf").write_text(SERVER)
        self.start_server()

    def run(self, command, name):
        log_path = self.tmp_path / f"{len(self.processes)}-{name}.log"
        return self.keep(Process(command, self.env, log_path))

    def keep(self, process):
        self.processes.append(process)
        return process

    def start_server(self):
        self.server = self.run(["pipewire", "-c", self.tmp_path / "pipewire.conf"], "pipewire")
        wait_until((self.directory / "pipewire-0").is_socket, "PipeWire")
        self.policy = self.run(policy_command(), "wireplumber")

    def kill_server(self):
        self.server.kill()
        self.policy.kill()
        (self.directory / "pipewire-0").unlink()

    def start_node(self, program, daemon):
        """Starts fftd-pipewire, and waits for its node."""
        node = self.run([program, "--name", daemon.runtime_dir], "node")
        node.name = f"fftd.{daemon.runtime_dir.name}"
        node.wait_for_log("is the video source")
        return node

    def consume(self, node, count=-1):
        path = self.tmp_path / f"{len(self.processes)}-frames"
        return self.keep(Consumer(node, self.env, path, count))

    def finish(self):
        for process in reversed(self.processes):
            process.kill()


@pytest.fixture
def desktop(tmp_path):
    for program in ("pipewire", "wireplumber", "gst-launch-1.0"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if subprocess.run(["gst-inspect-1.0", "pipewiresrc"], check=False,
                      capture_output=True).returncode != 0:
        pytest.skip("gstreamer1.0-pipewire is not installed")
    # pytest's own directories can be too deep for a socket's name.
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    made = Desktop(directory, tmp_path)
    yield made
    made.finish()
    shutil.rmtree(directory)


@pytest.fixture
def program():
    if not PROGRAM.exists():
        pytest.skip("fftd-pipewire was not built: libpipewire-0.3-dev is not installed")
    return PROGRAM
