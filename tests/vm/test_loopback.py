"""Tests of fftd-loopback@.service: a program that knows only V4L2 devices reads the filtered
frames of a camera."""

import pathlib
import re
import signal
import subprocess

import pytest
from commands import run
from conftest import SIZE, Service

pytestmark = pytest.mark.together  # they share the installed package

NAME = "front-door"
NODE = pathlib.Path("/dev/video40")
DEVICE = pathlib.Path(f"/dev/fftd/{NAME}")
SETTINGS = pathlib.Path(f"/etc/fftd/loopback/{NAME}.conf")
WIDTH, HEIGHT = map(int, SIZE.split("x"))


class Output(Service):
    """fftd-loopback@NAME.service."""

    def __init__(self):
        super().__init__(NAME)
        self.unit = f"fftd-loopback@{NAME}.service"

    def wait_for_format(self, fourcc, width, height):
        """Waits until programs are offered this, which they are while frames are written."""
        def offered():
            told = run("v4l2-ctl", "-d", NODE, "--get-fmt-video", check=False).stdout
            return f"{width}/{height}" in told and f"'{fourcc}'" in told
        self.wait_for(offered, f"{fourcc} {width}x{height}")


@pytest.fixture(scope="module")
def package():
    packages = [next(pathlib.Path("/share/packages").glob(f"{name}_*.deb"))
                for name in ("gstreamer1.0-fftd", "fftd-loopback")]
    run("dpkg", "-i", *packages)
    run("udevadm", "control", "--reload")  # udev looks for new rules every three seconds
    yield
    run("dpkg", "-P", "fftd-loopback", "gstreamer1.0-fftd")


@pytest.fixture
def camera():
    made = Service(NAME)
    yield made
    made.end()


@pytest.fixture
def output(package, camera):
    """The service, which the device's appearance has started with its camera."""
    camera.configure("pattern:bars")
    SETTINGS.touch()
    made = Output()
    run("modprobe", "v4l2loopback", f"video_nr={NODE.name.removeprefix('video')}",
        "exclusive_caps=1", "max_buffers=8", f"card_label={NAME}")
    yield made
    made.end()
    SETTINGS.unlink()
    made.wait_for(lambda: run("modprobe", "-r", "v4l2loopback", check=False).returncode == 0,
                  "the end of the module's users")


class Reader:
    """v4l2-ctl, which writes the frames of the device into a file."""

    def __init__(self, path, width, height):
        self.path = path
        self.frame_bytes = 2 * width * height
        self.process = subprocess.Popen(["v4l2-ctl", "-d", NODE, "--stream-mmap",
                                         f"--stream-to={path}"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def luma(self):
        """Returns that of the newest whole frame."""
        count = self.path.stat().st_size // self.frame_bytes if self.path.exists() else 0
        if count == 0:
            return b""
        with self.path.open("rb") as file:
            file.seek((count - 1) * self.frame_bytes)
            return file.read(self.frame_bytes)[::2]

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def read(tmp_path):
    readers = []

    def start(width=WIDTH, height=HEIGHT):
        readers.append(Reader(tmp_path / f"frames{len(readers)}", width, height))
        return readers[-1]

    yield start
    for reader in readers:
        reader.end()


def wait_for_picture(output, camera, reader):
    """Waits until the reader gets exactly the luma that the camera publishes."""
    wanted = camera.frame()[:reader.frame_bytes // 2]
    output.wait_for(lambda: reader.luma() == wanted, "the published picture")


def test_each_side_may_be_killed(output, camera, read):
    output.wait_for_format("YUYV", WIDTH, HEIGHT)
    reader = read()
    wait_for_picture(output, camera, reader)

    # The daemon: the service stays, and continues with another filter.
    writer = output.pid
    run("systemctl", "kill", "-s", "KILL", "--kill-who=main", camera.unit)
    camera.wait_for(lambda: camera.show("NRestarts") == "1", "the next daemon")
    camera.wait_for_state("online")
    camera.set_filter("gaussian-blur:sigma=2")
    camera.wait_for_filter()
    wait_for_picture(output, camera, reader)
    assert output.pid == writer

    # The service: the reader stays.
    run("systemctl", "kill", "-s", "KILL", "--kill-who=main", output.unit)
    output.wait_for(lambda: output.pid not in (0, writer), "the next writer")
    camera.set_filter("none")
    camera.wait_for_filter()
    wait_for_picture(output, camera, reader)
    assert reader.process.poll() is None

    # The reader: the next one gets frames.
    writer = output.pid
    reader.process.send_signal(signal.SIGKILL)
    wait_for_picture(output, camera, read())
    assert output.pid == writer

    assert not re.search("CRITICAL|WARNING|ORC", output.journal), output.journal


def test_another_size(output, camera, read):
    """The device keeps its size, and frames are scaled to it, until the service starts again."""
    output.wait_for_format("YUYV", WIDTH, HEIGHT)
    writer = output.pid
    camera.configure("pattern:bars", size="160x120")
    camera.systemctl("reload")
    camera.wait_for(lambda: len(camera.frame()) < WIDTH * HEIGHT, "frames of another size")
    reader = read()
    output.wait_for(reader.luma, "frames of the old size")
    assert output.pid == writer
    reader.end()
    output.systemctl("restart")
    output.wait_for_format("YUYV", 160, 120)
    wait_for_picture(output, camera, read(160, 120))


def test_a_size_of_its_own(output, camera, read):
    SETTINGS.write_text("CAPS=video/x-raw,format=YUY2,width=160,height=120\n")
    output.systemctl("restart")
    output.wait_for_format("YUYV", 160, 120)
    reader = read(160, 120)
    output.wait_for(reader.luma, "frames")
    writer = output.pid
    camera.configure("pattern:bars", size="160x120")
    camera.systemctl("reload")
    wait_for_picture(output, camera, reader)
    assert output.pid == writer and reader.process.poll() is None


def test_a_missing_device_is_named(package):
    done = run("systemctl", "start", f"fftd-loopback@{NAME}", check=False)
    assert done.returncode != 0
    assert "Assertion failed" in done.stderr and f"fftd-loopback@{NAME}" in done.stderr
