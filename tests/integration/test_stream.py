"""Tests of fftd-stream@.service: its command publishes a camera to a real RTSP server, and what
that server receives are the published frames. No systemd starts the command again; the tests do."""

import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import numpy
import pytest

from conftest import FAST_KERNELS, PATIENCE, SANITIZED, needs_root, wait_until
from gstreamer import plugin_dir  # pylint: disable=unused-import
from process import Process
from rtsp import Server, has_elements, has_server
from unit import command_of

WIDTH, HEIGHT = 160, 120
PIXELS = WIDTH * HEIGHT

pytestmark = pytest.mark.skipif(SANITIZED, reason="the element is not sanitized")


@pytest.fixture(autouse=True)
def needs_packages():
    if not shutil.which("gst-launch-1.0") or \
            not has_elements("x264enc", "h264parse", "rtspclientsink"):
        pytest.skip("gstreamer1.0-rtsp, -plugins-bad or -plugins-ugly is not installed")
    if not has_server():
        pytest.skip("gir1.2-gst-rtsp-server-1.0 or python3-gi is not installed")
    if not shutil.which("ffmpeg"):
        pytest.skip("ffmpeg is not installed")


class PlayedServer(Server):
    """The server, and FFmpeg, which plays what is published there."""

    def __init__(self, tls=()):
        self.player = None
        super().__init__("front", tls)

    def play(self):
        """Starts a player and returns its first frame; nothing if the server has no stream yet."""
        self.player = subprocess.Popen(
            ["ffmpeg", "-loglevel", "error", "-rtsp_transport", "tcp", "-probesize", "32",
             "-i", self.url, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        return self.player.stdout.read(PIXELS * 3 // 2)

    def read(self):
        """Returns the luma of the next frame."""
        if self.player is not None:
            frame = self.player.stdout.read(PIXELS * 3 // 2)
        else:
            deadline = time.monotonic() + PATIENCE
            while not (frame := self.play()) and time.monotonic() < deadline:
                self.end_player()
                time.sleep(0.1)
        assert len(frame) == PIXELS * 3 // 2, "the player has ended"
        return frame[:PIXELS]

    def end_player(self):
        if self.player is not None:
            self.player.kill()
            self.player.wait()
            self.player.stdout.close()
            self.player = None

    def kill(self):
        super().kill()
        self.end_player()


@pytest.fixture
def server():
    made = PlayedServer()
    yield made
    made.kill()


@pytest.fixture
def publish(plugin_dir, runtime_dir, tmp_path):
    """publish(url) starts the unit's command for the camera front."""
    # The sockets of a user's camera.
    directory = runtime_dir.parent / "fftd"
    directory.mkdir(exist_ok=True)
    (directory / "front").symlink_to(runtime_dir)
    services = []

    def start_service(url, watchdog_ms=60000, wrapper=()):
        command = command_of("fftd-stream@.service", "front", {"URL": url})
        command[command.index("timeout=60000")] = f"timeout={watchdog_ms}"
        services.append(Process(
            [*wrapper, *command],
            dict(os.environ, GST_PLUGIN_PATH=str(plugin_dir),
                 XDG_RUNTIME_DIR=str(directory.parent)),
            tmp_path / "stream.log"))
        return services[-1]

    yield start_service
    for service in services:
        service.kill()


def start_camera(start, scene, chain="none"):
    daemon = start(*FAST_KERNELS, "--filter", chain, source=f"pattern:{scene}",
                   size=f"{WIDTH}x{HEIGHT}")
    daemon.wait_for_socket("frames")
    daemon.wait_for_log("online")
    return daemon


def psnr(found, wanted):
    found, wanted = (numpy.frombuffer(picture, numpy.uint8).astype(float)
                     for picture in (found, wanted))
    squares = numpy.mean((found - wanted) ** 2)
    return 10 * math.log10(255 ** 2 / squares) if squares else math.inf


def wait_for_picture(daemon, server):
    """Reads until a frame is the published one, as far as the encoder keeps it."""
    def is_filtered():
        status = daemon.ctl_json("status")
        return status["PublishedSerial"] == status["Serial"]
    daemon.wait_until(is_filtered, "frames of the newest filter")
    done = subprocess.run([daemon.process.args[0].parent / "fftd-ctl", "--runtime-dir",
                           daemon.runtime_dir, "frames", "--raw", "-n", "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    found = []
    deadline = time.monotonic() + PATIENCE
    while not found or found[-1] < 30:
        assert time.monotonic() < deadline, f"the picture does not arrive: {found[-3:]} dB"
        found.append(psnr(server.read(), done.stdout[:PIXELS]))


def test_each_side_may_be_killed(start, server, publish):
    daemon = start_camera(start, "zoneplate", "gaussian-blur:sigma=2")
    service = publish(f"{server.url}/in")
    wait_for_picture(daemon, server)

    # The publisher waits for the daemon, and then sends its frames of another scene.
    daemon.process.kill()
    daemon.wait()
    daemon = start_camera(start, "bars")
    wait_for_picture(daemon, server)
    assert service.process.poll() is None, service.log

    service.kill()
    service.start()
    daemon.ctl("filter", "set", "gain:ac=0")  # unlike all that the server has had before
    wait_for_picture(daemon, server)

    # rtspclientsink itself complains when its server ends, now and then.
    assert "CRITICAL" not in service.log, service.log

    # It ends with the server, says why, and is started again until there is one.
    server.kill()
    assert service.wait() > 0, service.log
    # Which of them depends on what it was doing.
    assert re.search("Could not (receive message|send message|connect to server)", service.log)
    service.start()
    assert service.wait() > 0, service.log
    assert "Failed to connect" in service.log
    server.start()
    service.start()
    wait_for_picture(daemon, server)


def test_a_connection_that_is_refused_early_ends_it(start, publish):
    """gst-launch-1.0 does not notice an error before its main loop runs, for which it waits here
    until the camera answers."""
    daemon = start_camera(start, "bars")
    daemon.signal(signal.SIGSTOP)
    service = publish("rtsp://127.0.0.1:9/front/in", watchdog_ms=1000)
    service.wait_for_log("Failed to connect")
    daemon.signal(signal.SIGCONT)
    assert service.wait() > 0, service.log


def test_a_missing_camera_is_named(server, publish):
    service = publish(f"{server.url}/in")
    assert service.wait() > 0, service.log
    assert "Cannot open the camera 'front': there is no" in service.log


# ---- RTSPS ----

FLEET = pathlib.Path(__file__).resolve().parents[2] / "docs/FLEET.md"
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"  # what update-ca-certificates writes


@pytest.fixture
def certificates(tmp_path):
    """Runs the lines of docs/FLEET.md that make a board's authority and the server's certificate,
    which here is for this machine."""
    if not any(pathlib.Path("/usr/lib").glob("*/gio/modules/libgiognutls.so")):
        pytest.skip("glib-networking is not installed")
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path / "certificates"
    folder.mkdir()
    block = re.search(r"(?:^    openssl .*\n(?:^    +.*\n)*)+", FLEET.read_text(), re.M)[0]
    assert block.count("openssl") == 3
    subprocess.run(["sh", "-ec", block.replace("DNS:SERVER", "IP:127.0.0.1")], cwd=folder,
                   check=True, capture_output=True, timeout=PATIENCE)
    return folder


@pytest.fixture
def tls_server(certificates):
    made = PlayedServer((certificates / "server.crt", certificates / "server.key"))
    yield made
    made.kill()


def trusting(authority, bundle):
    """A command that runs another one where the system trusts this authority, too."""
    bundle.write_text(pathlib.Path(TRUSTED).read_text() + authority.read_text())
    return ["unshare", "--mount", "sh", "-ec",
            f'mount --bind {bundle} {TRUSTED}; exec "$@"', "sh"]


@needs_root
def test_pictures_are_encrypted_for_a_server_that_is_trusted(start, tls_server, certificates,
                                                             publish, tmp_path):
    daemon = start_camera(start, "zoneplate")
    wrapper = trusting(certificates / "fleet.crt", tmp_path / "bundle.crt")
    service = publish(f"{tls_server.url}/in", wrapper=wrapper)
    wait_for_picture(daemon, tls_server)
    assert service.process.poll() is None, service.log


def test_a_server_that_is_not_trusted_gets_no_picture(start, tls_server, publish):
    start_camera(start, "bars")
    for watchdog_ms in 1000, 10000, 60000:  # a refusal may take longer on a busy machine
        service = publish(f"{tls_server.url}/in", watchdog_ms=watchdog_ms)
        assert service.wait() > 0, service.log
        if "Failed to connect" in service.log:
            break
    else:
        pytest.fail(service.log)
    assert tls_server.play() == b"", "it has a stream"


@needs_root
def test_a_trusted_server_of_another_name_gets_no_picture(start, tls_server, certificates,
                                                          publish, tmp_path):
    start_camera(start, "bars")
    wrapper = trusting(certificates / "fleet.crt", tmp_path / "bundle.crt")
    service = publish(tls_server.url.replace("127.0.0.1", "localhost") + "/in", wrapper=wrapper)
    wait_until(lambda: "Failed to connect" in service.log, "an error")
    assert tls_server.play() == b"", "it has a stream"
