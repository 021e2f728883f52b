"""Tests of the failures that systemd's watchdog ends, and of those that it does not."""

import contextlib
import ctypes
import pathlib
import time

import pytest
import vivid
from commands import run
from conftest import watched

WATCHDOG_S = 6
FAULTS = pathlib.Path("/run/fftd-faults")  # tests/faults/opencl.c
LIBRARY = "/run/tests/faulty_opencl.so"
QUICK = "frame_timeout = 1.0; build_timeout = 3.0;"

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def short_watchdog(service):
    """The service with a short watchdog time-out, and an OpenCL library that fails on request."""
    folder = pathlib.Path(f"/run/systemd/system/{service.unit}.d")
    folder.mkdir(parents=True)
    drop_in = folder / "test.conf"
    drop_in.write_text(f"[Service]\nWatchdogSec={WATCHDOG_S}\n"
                       f"Environment=LD_PRELOAD={LIBRARY} FFTD_FAULTS={FAULTS}\n")
    run("systemctl", "daemon-reload")
    yield service
    service.systemctl("stop", check=False)
    FAULTS.unlink(missing_ok=True)
    drop_in.unlink()
    folder.rmdir()
    run("systemctl", "daemon-reload")


def thread(service, name):
    for task in pathlib.Path(f"/proc/{service.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    raise AssertionError(f"no thread {name}")


def ptrace(request, task):
    assert libc.ptrace(request, task, None, None) == 0, ctypes.get_errno()


@contextlib.contextmanager
def stopped(task):
    """Stops one thread of another process. (A thread that waits in the kernel for vivid's lock
    could not be killed, and systemd would give the service up after 20 s.)"""
    ptrace(PTRACE_SEIZE, task)
    ptrace(PTRACE_INTERRUPT, task)
    yield
    libc.ptrace(PTRACE_DETACH, task, None, None)  # it may have ended


def restarts(service):
    return int(service.show("NRestarts"))


def start(service, source="pattern:moire", **configuration):
    # Frames that nothing changes do not go through the device.
    service.configure(source, filter="gaussian-blur:sigma=2", **configuration)
    service.systemctl("start")
    service.wait_for_state("online")


def wait_for_restart(service):
    service.wait_for(lambda: restarts(service) == 1, "a restart")
    assert "no progress for" in service.journal
    assert "Watchdog timeout" in service.journal


def test_a_camera_thread_that_hangs(short_watchdog):
    start(short_watchdog)
    client = short_watchdog.watch(200)
    before = short_watchdog.pid
    with stopped(thread(short_watchdog, "camera")):
        wait_for_restart(short_watchdog)
    short_watchdog.wait_for_state("online")
    assert short_watchdog.pid != before
    found = watched(client)
    assert found["frames"] == 200 and found["torn"] == found["corrupt"] == 0
    assert restarts(short_watchdog) == 1


def test_a_gpu_that_hangs(short_watchdog):
    start(short_watchdog, engine=QUICK)
    client = short_watchdog.watch(200)
    FAULTS.write_text("hang\n")
    short_watchdog.wait_for_state("failed")
    assert restarts(short_watchdog) == 0  # the daemon's own attempt is first
    wait_for_restart(short_watchdog)
    FAULTS.unlink()
    short_watchdog.wait_for_state("online")
    found = watched(client)
    assert found["frames"] == 200 and found["torn"] == found["corrupt"] == 0


def test_a_gpu_that_hangs_once(short_watchdog):
    start(short_watchdog, engine=QUICK)
    FAULTS.write_text("hang 0 0 1\n")
    short_watchdog.wait_for_state("failed")
    short_watchdog.wait_for_state("online")
    time.sleep(2 * WATCHDOG_S)  # for a watchdog that would bite
    assert restarts(short_watchdog) == 0
    assert short_watchdog.status()["State"] == "online"


def check_waited_for(service, state):
    service.wait_for_state(state)
    pid = service.pid
    time.sleep(3 * WATCHDOG_S)  # for a watchdog that would bite
    assert service.status()["State"] == state
    assert (service.pid, restarts(service)) == (pid, 0)
    assert service.show("ActiveState") == "active"


def test_a_camera_that_was_never_there_is_waited_for(short_watchdog):
    short_watchdog.configure("v4l2:/dev/video99")
    short_watchdog.systemctl("start")
    check_waited_for(short_watchdog, "lost")


def test_a_camera_that_went_is_waited_for(short_watchdog):
    with vivid.Vivid() as camera:
        start(short_watchdog, f"v4l2:{camera.device}")
        client = short_watchdog.watch()
        camera.unplug()
        check_waited_for(short_watchdog, "lost")
        camera.plug_in()
        short_watchdog.wait_for_state("online")
        short_watchdog.wait_for_frames()
        client.terminate()
        found = watched(client)
        assert found["epochs"] == [1] and found["missed"] == found["torn"] == found["corrupt"] == 0
        short_watchdog.systemctl("stop")


def test_a_gpu_that_fails_is_waited_for(short_watchdog):
    start(short_watchdog)
    FAULTS.write_text("enqueue -2\n")
    check_waited_for(short_watchdog, "failed")
