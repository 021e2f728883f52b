"""A camera that is reached by RTSP, through the gst: source that fftd(8) gives for it."""

import re
import socket

import numpy
import pytest

from client import Reader
from conftest import FAST_KERNELS, PATIENCE
from rtsp import Server, has_elements, has_server
from test_gst_source import helpers_of, program  # pylint: disable=unused-import

# Red is luma 81.
CAMERA = ("front=videotestsrc is-live=true pattern=solid-color foreground-color=0xffff0000 "
          "! video/x-raw,format=I420,width=160,height=120,framerate=20/1 "
          "! x264enc tune=zerolatency speed-preset=superfast key-int-max=20 ! h264parse")


def pipeline(url):
    """As in fftd(8)."""
    return f"gst:rtspsrc location={url} protocols=tcp latency=0 ! decodebin"


@pytest.fixture
def server():
    if not has_elements("rtspsrc", "x264enc", "openh264dec") or not has_server():
        pytest.skip("gir1.2-gst-rtsp-server-1.0, python3-gi, gstreamer1.0-plugins-good, -bad or "
                    "-ugly is not installed")
    made = Server(CAMERA)
    yield made
    made.kill()


def start_camera(start, source):
    return start(*FAST_KERNELS, "--wait", "--set", "camera.format=NV12", source=source, size=None,
                 fps=None)


def test_the_server_is_killed_and_comes_back(start, server):
    daemon = start_camera(start, pipeline(server.url))
    with Reader(daemon) as reader:
        for _ in range(5):
            frame = reader.next()
        assert (frame.width, frame.height) == (160, 120)
        luma = numpy.frombuffer(frame.planes[0], numpy.uint8)
        assert abs(luma.mean() - 81) < 2 and luma.std() < 2
        last = frame.sequence
        server.kill()
        # What follows depends on the version of GStreamer.
        daemon.wait_for_log("lost: the GStreamer pipeline ended: ")
        # It is tried again for as long as there is no server, and says why it fails.
        daemon.wait_until(lambda: "Failed to connect" in daemon.ctl_json("status")["StateReason"],
                          "another attempt")
        assert daemon.ctl_json("status")["State"] == "lost"
        server.start()
        reader.take_until(lambda frame: frame.sequence > last + 5)
        assert daemon.ctl_json("status")["State"] == "online"
    assert len(re.findall(" lost: ", daemon.log)) == 1, daemon.log
    assert daemon.stop() == 0


def test_a_server_that_says_nothing_holds_nothing(start, server):
    """It accepts connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"rtsp://127.0.0.1:{mute.getsockname()[1]}/front"
        daemon = start_camera(start, pipeline(url))
        mute.settimeout(PATIENCE)
        with mute.accept()[0]:
            status = daemon.ctl_json("status")
            assert status["State"] == "starting"
            assert status["StateReason"].endswith(" is being opened")
            assert helpers_of(daemon)
            daemon.signal(15)
            assert daemon.wait() == 0
