"""Tests of changes while clients read: a reload changes size, format, rate or camera, and the input
signal changes by itself. They also check how each change is reported."""

import contextlib
import re
import time

import pytest
import vivid
from commands import run
from conftest import KINDS, States, watched

pytestmark = pytest.mark.together

LIVE, OFFLINE = 1, 2  # enum fftd_state in fftd/ring.h


@pytest.fixture(autouse=True)
def quick_builds():
    """PoCL's optimiser takes three quarters of the compile time, so it is disabled. The daemon has
    no cache here, because other tests must not use programs that are not optimised."""
    run("systemctl", "set-environment", "POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable")
    yield
    run("systemctl", "unset-environment", "POCL_EXTRA_BUILD_FLAGS")


@contextlib.contextmanager
def reading(service):
    """Runs a client during the block and yields its report, which is complete after the block."""
    found = {}
    client = service.watch()
    yield found
    client.terminate()
    found.update(watched(client))


def configure(service, device, size, pixels="NV12", fps=10.0):
    service.configure(f"v4l2:{device}", filter="gaussian-blur:sigma=2", size=size, fps=fps,
                      camera=f'format = "{pixels}";', engine='cache_dir = "none";')


def wait_for_format(service, name, size):
    """Waits for frames of the format."""
    def arrived():
        status = service.status()
        now = status["Format"]
        return (status["State"] == "online" and now["name"] == name and
                size == f"{now['width']}x{now['height']}")
    service.wait_for(arrived, f"{name} {size}")
    service.wait_for_frames()


def check_whole(service, found, widths):
    assert found["widths"] == widths
    assert found["torn"] == found["corrupt"] == found["unchecked"] == found["backwards"] == 0
    assert found["missed"] == 0
    assert service.show("NRestarts") == "0"


def test_size_format_and_rate_change_while_clients_read(camera, service):
    configure(service, camera.device, "320x180")
    service.systemctl("start")
    wait_for_format(service, "NV12", "320x180")
    with reading(service) as found:
        for size, pixels, published in (("640x360", "NV12", "NV12"), ("640x360", "GREY", "GREY"),
                                        ("320x180", "YUV420", "YUV420"),
                                        ("320x180", "SGRBG8", "XBGR32"),
                                        ("320x180", "NV12", "NV12")):
            configure(service, camera.device, size, pixels)
            service.systemctl("reload")
            wait_for_format(service, published, size)

        # A refused reload changes nothing.
        configure(service, camera.device, "123x45")
        service.systemctl("reload", check=False)
        service.wait_for(lambda: "does not offer NV12 at 123x45" in service.journal, "the refusal")
        assert "the previous one stays in use" in service.journal
        wait_for_format(service, "NV12", "320x180")

        configure(service, camera.device, "320x180", fps=4.0)
        service.systemctl("reload")
        service.wait_for(lambda: 3 < service.status()["Rate"] < 5, "4 frames a second")
    check_whole(service, found, [320, 640, 320])


def test_another_camera_takes_over(service):
    """A reload changes to another camera with another size, and back to the first one."""
    with vivid.Vivid(count=2) as cameras:
        first, second = cameras.devices
        configure(service, first, "640x360")
        service.systemctl("start")
        wait_for_format(service, "NV12", "640x360")
        with reading(service) as found:
            for device, size in ((second, "320x180"), (first, "640x360")):
                configure(service, device, size)
                service.systemctl("reload")
                wait_for_format(service, "NV12", size)
                assert service.status()["Source"] == f"v4l2:{device}"
        check_whole(service, found, [640, 320, 640])
        service.systemctl("stop")


def test_another_camera_is_plugged_in(service):
    """A camera is replaced at the same node by one with other sizes."""
    with vivid.Vivid() as webcam:
        device = webcam.device
        configure(service, device, "auto")
        webcam.set_format(320, 180, "NV12")
        service.systemctl("start")
        wait_for_format(service, "NV12", "320x180")
        states = States(service)
        client = service.watch()
        service.wait_for_frames()
        webcam.unplug()
        states.wait_for("lost")
    with vivid.Vivid(input_type=vivid.TV) as tv:
        assert tv.device == device
        wait_for_format(service, "NV12", "720x576")
        states.wait_for("online")
        client.terminate()
        check_whole(service, watched(client), [320, 720])
        service.systemctl("stop")


@pytest.mark.parametrize("planes", KINDS)
def test_the_signal_changes_by_itself(service, planes):
    """The device at the other end of the cable changes its mode, is unplugged and plugged in
    again."""
    with vivid.Vivid(planes, input_type=vivid.HDMI) as camera:
        camera.set_signal("720x576p50")
        configure(service, camera.device, "auto")
        service.systemctl("start")
        wait_for_format(service, "NV12", "720x576")
        states = States(service)
        with reading(service) as found:
            camera.set_signal("640x480p59")
            wait_for_format(service, "NV12", "640x480")
            states.wait_for("starting", "online")
            camera.set_signal(None)
            states.wait_for("starting", "lost")
            assert "no signal at its input" in service.status()["StateReason"]
            camera.set_signal("720x576p50")
            wait_for_format(service, "NV12", "720x576")
            states.wait_for("online")
        check_whole(service, found, [720, 640, 720])
        service.systemctl("stop")


def test_a_lost_camera_is_told(camera, service):
    """Each change of state is reported once on D-Bus and in the journal. The ring shows whether
    frames arrive."""
    configure(service, camera.device, "320x180", fps=30.0)
    service.systemctl("start")
    wait_for_format(service, "NV12", "320x180")
    states = States(service)
    logged = len(service.journal)
    with reading(service) as found:
        service.wait_for(lambda: service.status()["Clients"] == 1, "the client")
        camera.unplug()
        states.wait_for("lost")
        time.sleep(0.5)  # longer than the client waits between checks of the state
        camera.plug_in()
        states.wait_for("online")
        camera.set_control(vivid.FATAL_ERROR, 1)
        states.wait_for("stalled", "online")
        service.wait_for_frames()
    check_whole(service, found, [320])
    assert found["states"][:3] == [LIVE, OFFLINE, LIVE]
    assert re.findall("^(lost|stalled|online|restarting): ", service.journal[logged:],
                      re.MULTILINE) == ["lost", "online", "stalled", "online"]
