"""Tests of camera faults that the kernel's driver injects, one by one and at random. The daemon
must recover, publish no corrupt frame, and count each injected fault."""

import contextlib
import os
import random
import signal
import time

import pytest
import vivid
from conftest import Service, figures, watched

pytestmark = pytest.mark.together

RECOVERY_S = 2  # from the end of a fault to the next frames
SHORT_STALL_S = 0.5  # too short for the stall time-out; only frames are lost
LONG_STALL_S = 12
# Duration of the mixed faults, and the seed of their order.
MIX_SECONDS = float(os.environ.get("FAULT_SECONDS") or 8)
SEED = int(os.environ.get("FAULT_SEED") or 1)

COUNTERS = ("dropped_error", "dropped_engine", "stalls", "restarts", "reopens", "engine_failures")


def counters(service):
    return service.status()["Counters"]


# ---- the faults: each leaves the camera working, and returns the expected counts ----

def flagged_buffers(camera, service):
    for _ in range(5):
        before = counters(service)["dropped_error"]
        camera.set_control(vivid.FLAG_ERROR, 1)
        service.wait_for(lambda: counters(service)["dropped_error"] > before, "a dropped frame")
    return {"dropped_error": 5}


def dropped_buffers(camera, _service):
    camera.set_control(vivid.DROPPED_PERCENTAGE, 40)
    time.sleep(2)
    camera.set_control(vivid.DROPPED_PERCENTAGE, 0)
    return {}


def short_stall(camera, _service):
    camera.stall(True)
    time.sleep(SHORT_STALL_S)
    camera.stall(False)
    return {}


def stall(camera, service):
    camera.stall(True)
    service.wait_for_state("stalled")
    camera.stall(False)
    return {"stalls": 1, "restarts": 1}


def fatal_error(camera, _service):
    camera.set_control(vivid.FATAL_ERROR, 1)
    return {"restarts": 1}


def failing_reqbufs(camera, _service):
    camera.set_control(vivid.REQBUFS_ERROR, 1)
    camera.set_control(vivid.FATAL_ERROR, 1)
    return {"restarts": 1, "reopens": 1}


def failing_qbuf(camera, _service):
    camera.set_control(vivid.QBUF_ERROR, 1)
    return {"restarts": 1}


def failing_streamon(camera, _service):
    camera.set_control(vivid.STREAMON_ERROR, 1)
    camera.set_control(vivid.FATAL_ERROR, 1)
    return {"restarts": 1, "reopens": 1}


def disconnect(camera, _service):
    camera.set_control(vivid.DISCONNECT, 1)
    return {"reopens": 1}


def wrapping(camera, _service):
    """The sequence numbers and times of the next stream wrap around after a few seconds."""
    camera.set_control(vivid.WRAP_SEQUENCE, 1)
    camera.set_control(vivid.WRAP_TIMESTAMP, 1)
    camera.set_control(vivid.FATAL_ERROR, 1)
    return {"restarts": 1}


def unplug(camera, service):
    camera.unplug()
    service.wait_for_state("lost")
    time.sleep(0.5)
    camera.plug_in()
    return {"reopens": 1}


FAULTS = [flagged_buffers, dropped_buffers, short_stall, stall, fatal_error, failing_reqbufs,
          failing_qbuf, failing_streamon, wrapping, disconnect, unplug]


# ---- checks for all faults ----

@contextlib.contextmanager
def watching(service):
    """Runs a client that reads every frame, and yields its report, complete after the block."""
    found = {}
    service.wait_for(lambda: service.status()["Clients"] == 0, "the previous client to close")
    client = service.watch()
    service.wait_for(lambda: service.status()["Clients"] == 1, "the client")
    yield found
    client.send_signal(signal.SIGTERM)
    found.update(watched(client))


def recover(service):
    """Waits for frames captured after this call, and returns the time until they arrive."""
    begin = time.monotonic()
    service.wait_for_frames()
    return time.monotonic() - begin


def check(service, pid, before, found, expected):
    """Checks that the daemon never ended, and that clients received only intact frames in order."""
    after = counters(service)
    counted = {name: after[name] - before[name] for name in COUNTERS}
    assert counted == dict.fromkeys(COUNTERS, 0) | expected
    assert found["missed"] == found["torn"] == found["corrupt"] == found["unchecked"] == 0
    assert found["backwards"] == 0
    # Frames missing in the source's count, and the reason.
    assert found["source_lost"] == sum(after[name] - before[name] for name in
                                       ("source_lost", "dropped_error", "dropped_stale"))
    assert service.status()["State"] == "online"
    assert service.pid == pid and service.show("NRestarts") == "0"


@pytest.fixture(scope="module", params=["single", "multi"])
def camera(request):
    """vivid, single-planar and multi-planar, for as long as a daemon streams from it."""
    with vivid.Vivid(request.param) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def service(camera):
    """One daemon for all faults, because it must survive all of them."""
    made = Service("cam")
    try:
        made.configure(f"v4l2:{camera.device}", filter="gaussian-blur:sigma=2",
                       camera="stall_timeout = 1.0;")
        made.systemctl("start")
        made.wait_for_state("online")
        yield made
    finally:
        made.end()


@pytest.fixture
def pid(service):
    """Returns the daemon's counters before the test, once it has recovered from earlier tests."""
    service.wait_for_state("online")
    service.wait_for_frames()
    return service.pid


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_fault(camera, service, pid, fault):
    before = counters(service)
    with watching(service) as found:
        expected = fault(camera, service)
        seconds = recover(service)
    figures.append(f"{fault.__name__}, {camera.planes}-planar: frames again after {seconds:.2f} s, "
                   f"{found['source_lost']} of {found['frames'] + found['source_lost']} lost")
    check(service, pid, before, found, expected)
    assert seconds < RECOVERY_S


def test_lost_frames_are_counted(camera, service, pid):
    """A camera that drops frames shows this only by their sequence numbers."""
    before = counters(service)["source_lost"]
    short_stall(camera, service)
    recover(service)
    assert counters(service)["source_lost"] - before == pytest.approx(30 * SHORT_STALL_S, abs=3)
    assert service.pid == pid


def test_a_long_stall(camera, service, pid):
    """After a stall of any duration, the first new frame is noticed at once."""
    told, stalls = service.journal.count("stalled: "), counters(service)["stalls"]
    camera.stall(True)
    service.wait_for_state("stalled")
    time.sleep(LONG_STALL_S)
    camera.stall(False)
    seconds = recover(service)
    figures.append(f"a stall of {LONG_STALL_S} s, {camera.planes}-planar: "
                   f"frames again after {seconds:.2f} s")
    assert seconds < RECOVERY_S
    assert counters(service)["stalls"] - stalls >= 2
    assert service.journal.count("stalled: ") == told + 1
    assert service.pid == pid and service.show("NRestarts") == "0"


def test_mixed_faults(camera, service, pid):
    dice = random.Random(SEED)
    before, total, times, count = counters(service), {}, [], 0
    end = time.monotonic() + MIX_SECONDS
    with watching(service) as found:
        while time.monotonic() < end:
            fault = dice.choice(FAULTS)
            for name, times_counted in fault(camera, service).items():
                total[name] = total.get(name, 0) + times_counted
            times.append(recover(service))
            count += 1
            time.sleep(dice.uniform(0, 0.2))
    figures.append(f"{count} mixed faults in {MIX_SECONDS:.0f} s, {camera.planes}-planar: "
                   f"frames again after at most {max(times):.2f} s, {total} counted")
    check(service, pid, before, found, total)
    assert max(times) < RECOVERY_S


def test_numbers_and_times_that_wrap(camera, service):
    """The wrap occurs after the daemon's first frame."""
    camera.set_control(vivid.WRAP_SEQUENCE, 1)
    camera.set_control(vivid.WRAP_TIMESTAMP, 1)
    service.systemctl("restart")
    service.wait_for_state("online")
    pid, before = service.pid, counters(service)
    client = service.watch(200)  # vivid begins 128 frames before the wrap
    found = watched(client)
    assert found["frames"] == 200
    check(service, pid, before, found, {})
    assert found["source_lost"] == 0
    assert found["seconds"] == pytest.approx(199 / 30, rel=0.1)
    assert found["worst_latency_ms"] < 1000
