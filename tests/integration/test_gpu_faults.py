"""Tests of a device that loses frames, refuses them, fails to build or hangs
(tests/faults/opencl.c)."""

import ctypes
import os
import re
import signal
import time
from contextlib import contextmanager

import pytest

from client import OFFLINE, Reader
from conftest import PATIENCE, wait_until
from dbus_peer import MEMBER, SIGNAL, Peer
from service_manager import ServiceManager
from test_camera import END_SECONDS
from test_outputs import ctl_json, load_of, of

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WATCHDOG_S = 4
# Frames that nothing changes do not go through the device.
FILTERED = ("--filter", "gaussian-blur:sigma=2")
# Longer than a frame takes on a busy machine.
FRAME_TIMEOUT = ("--set", "engine.frame_timeout=5")
LATE = "the device's driver has not returned for"


def state_of(daemon):
    return daemon.ctl_json("status")["State"]


def wait_for_state(daemon, state):
    daemon.wait_until(lambda: state_of(daemon) == state, f"the state {state}")


def camera_cpu_s(daemon):
    """Returns the processor time of the camera's thread and of those that it has started."""
    ticks = 0
    for text in daemon.of_threads("stat"):
        name, fields = text.split("(", 1)[1].rsplit(") ", 1)
        if name == "camera":
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def without_main_thread(daemon):
    """The daemon's other threads run on, as when a processor is given to the main thread late."""
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    trace.argtypes = ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p
    assert trace(PTRACE_SEIZE, daemon.pid, None, None) == 0, os.strerror(ctypes.get_errno())
    assert trace(PTRACE_INTERRUPT, daemon.pid, None, None) == 0
    assert os.WIFSTOPPED(os.waitpid(daemon.pid, 0)[1])
    yield
    assert trace(PTRACE_DETACH, daemon.pid, None, None) == 0


def counters(daemon):
    return daemon.ctl_json("stats")["Counters"]


@pytest.mark.parametrize("fault, reason", [
    ("enqueue -5", "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES"),
    ("enqueue -2", "clEnqueueNDRangeKernel: CL_DEVICE_NOT_AVAILABLE"),
    ("enqueue -4 2", "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
    ("finish -5", "a frame: CL_OUT_OF_RESOURCES"),
])
def test_failing_device_is_a_state(start_faulty, faults, fault, reason):
    # The ring has the frames of three seconds, so that a reader sees the first one afterwards.
    daemon = start_faulty("--filter", "lowpass:cutoff=0.1", "--set", "output.slots=64", fps="20")
    with Reader(daemon) as reader, Peer(daemon, "control-watch") as peer:
        last = reader.next()
        picture = last.digest
        faults.begin(fault)
        while True:
            message = peer.receive()
            if (message.type, message.fields[MEMBER]) == (SIGNAL, "PropertiesChanged"):
                if b"failed" in message.data:
                    break
        # All frames are intact until none is in flight any more.
        while frame := reader.take():
            last = frame
            assert frame.digest == picture
        status = daemon.ctl_json("status")
        assert status["State"] == "failed" and reason in status["StateReason"]
        # If a frame was in flight, the ring was replaced, and the reader attaches to the new one.
        daemon.wait_until(lambda: reader.take() is None and reader.state == OFFLINE,
                          "a ring that is offline")
        dropped = counters(daemon)["dropped_engine"]
        daemon.wait_until(lambda: counters(daemon)["dropped_engine"] > dropped,
                          "frames that are dropped and counted")
        daemon.wait_until(lambda: counters(daemon)["engine_failures"] >= 3, "more attempts")
        assert reader.take() is None
        assert daemon.log.count("failed: engine:") == 1

        faults.end()
        frame = reader.next()
        assert frame.digest == picture and frame.sequence == last.sequence + 1
        wait_for_state(daemon, "online")
    assert daemon.stop() == 0


@pytest.mark.parametrize("fault, reason", [
    ("build -11", "CL_BUILD_PROGRAM_FAILURE"),
    ("context -2", "CL_DEVICE_NOT_AVAILABLE"),
])
def test_lost_device_is_opened_again(start_faulty, faults, fault, reason):
    daemon = start_faulty(*FILTERED)
    with Reader(daemon) as reader:
        picture = reader.next().digest
        faults.begin("finish -2 0 1", fault)
        daemon.wait_until(lambda: reason in daemon.ctl_json("status")["StateReason"], reason)
        # The filter can be changed in the meantime.
        daemon.ctl("filter", "set", "lowpass:cutoff=0.1")
        faults.end()
        frame = reader.take_until(lambda frame: frame.filter_serial == 2)[-1]
        assert frame.digest != picture
    wait_for_state(daemon, "online")
    assert daemon.stop() == 0


def test_device_fails_before_the_first_frame_is_reported(start_faulty, faults):
    """The daemon ends if its device cannot filter the first frame. Once a reader may have had it,
    the device only fails for a while, however late the main thread hears of both."""
    faults.begin("compile")
    daemon = start_faulty(*FILTERED)
    wait_for_state(daemon, "starting")
    with without_main_thread(daemon):
        faults.end()
        daemon.wait_until(lambda: "online:" in daemon.log, "the first captured frame")
        faults.begin("finish -2 5 1", "build -11")  # some frames are published
        daemon.wait_until(lambda: "failed:" in daemon.log, "a frame that fails")
    wait_for_state(daemon, "failed")
    faults.end()
    wait_for_state(daemon, "online")
    assert daemon.stop() == 0


@pytest.mark.parametrize("arguments", [
    ("--filter", "gaussian-blur:sigma=2", "--set", "engine.technique=direct"),
    # Both outputs share a load.
    ("--filter", "gaussian-blur:sigma=6", "--set", "engine.technique=fused"),
])
def test_an_output_that_fails_leaves_its_frame_to_the_others(start_faulty, faults, arguments):
    """An output whose kernels are refused when it has been lent a frame fails alone: main filters
    that frame, too."""
    daemon = start_faulty(*arguments, "--set", "engine.tune=off", "--set", "output.slots=64",
                          "--set", f'outputs=( {{ name = "b"; filter = "{arguments[1]}"; }} )',
                          fps="5")

    def failures():
        return [stats["Counters"]["engine_failures"]
                for stats in (daemon.ctl_json("stats"), ctl_json(daemon, "b", "stats"))]

    # The next kernel is b's, because main is the last one, once b's engine has been built again for
    # main's load. On a busy machine another frame may have begun, of which only main's kernels are
    # left: then it is tried again.
    with Reader(daemon) as reader, Reader(of(daemon, "b")) as other:
        other.next()
        reader.next()
        wait_until(lambda: load_of(daemon, "b") == load_of(daemon), "engines that share a load")
        for attempt in range(10):
            reader.take_rest()
            before, earlier = reader.next(), failures()
            faults.begin(f"enqueue -5 0 1 {attempt}")  # a new line, which counts anew
            wait_until(lambda: failures() != earlier, "an output that fails")
            faults.end()
            if failures()[1] > earlier[1]:
                break
        published = daemon.ctl_json("stats")["Counters"]["published"]
        frames = reader.take_until(lambda frame: frame.sequence > published + 3)
    numbers = [frame.source_sequence for frame in frames]
    first = before.source_sequence + 1
    assert numbers == list(range(first, first + len(numbers)))
    assert {frame.digest for frame in frames} == {before.digest}
    assert failures()[0] == earlier[0]
    assert daemon.stop() == 0


def test_device_that_keeps_a_frame(start_faulty, faults):
    """One kernel hangs, but not that of the next frame. The reopened device works, and the frame
    that hung is never published."""
    daemon = start_faulty(*FRAME_TIMEOUT, "--set", "engine.tune=off",
                          "--filter", "lowpass:cutoff=0.1")
    with Reader(daemon) as reader:
        picture = reader.next().digest
        descriptors = len(daemon.descriptors())
        used_s = camera_cpu_s(daemon)
        faults.begin("hang 0 0 1")
        wait_for_state(daemon, "failed")
        assert camera_cpu_s(daemon) - used_s < 0.2  # seconds of processor time; it sleeps
        assert "kept a frame for 5.0 s" in daemon.ctl_json("status")["StateReason"]
        wait_for_state(daemon, "online")
        before = reader.next()
        faults.end()
        frames = reader.take_until(lambda frame: frame.sequence > before.sequence + 60)
        assert {frame.digest for frame in frames} == {picture}
        # The device stores the frame that hung into a slot of a ring that nobody reads.
        assert daemon.ctl_json("status")["Generation"] == 2
        assert counters(daemon)["engine_failures"] == 1
        # A device that has finished its frames is closed at the next request.
        daemon.ctl("filter", "set", "lowpass:cutoff=0.2")
        daemon.wait_until(lambda: len(daemon.descriptors()) <= descriptors, "fewer descriptors")
    assert daemon.stop() == 0


def test_frames_while_a_driver_compiles(start_faulty, faults, tmp_path):
    """A filter that needs another engine waits for its kernels. The frames until then have the old
    filter, none is dropped for it, and the filter after it can be set meanwhile."""
    daemon = start_faulty("--set", "engine.tune=off", "--set", f"engine.cache_dir={tmp_path}")
    with Reader(daemon) as reader:
        before = reader.next()
        faults.begin("compile")
        daemon.change("filter", "set", "shift:by=3/2")
        frames = reader.take_until(lambda frame: frame.sequence > before.sequence + 30)
        assert {(frame.filter_serial, frame.digest) for frame in frames} == {(1, before.digest)}
        daemon.change("filter", "set", "shift:by=5/2")
        faults.end()
        shifted = reader.take_until(lambda frame: frame.filter_serial == 3)[-1]
        assert shifted.digest != before.digest
    assert counters(daemon)["engine_failures"] == 0
    wait_for_state(daemon, "online")
    assert daemon.stop() == 0


def start_watched(start_faulty, runtime_dir, *arguments):
    manager = ServiceManager(runtime_dir.parent / "notify", WATCHDOG_S)
    daemon = start_faulty(*FILTERED, *arguments, env=manager.env)
    manager.wait_for("READY=1")
    manager.wait_until_fed()
    return daemon, manager


def wait_until_starved(daemon, manager):
    deadline = time.monotonic() + PATIENCE
    while manager.is_fed():
        assert time.monotonic() < deadline, f"the watchdog is still fed:\n{daemon.log}"
    daemon.wait_for_log("watchdog is no longer fed")


def test_watchdog_is_fed_while_a_device_fails(start_faulty, faults, runtime_dir):
    daemon, manager = start_watched(start_faulty, runtime_dir)
    faults.begin("enqueue -5")
    wait_for_state(daemon, "failed")
    manager.wait_until_fed(3)
    assert "no longer fed" not in daemon.log
    assert daemon.stop() == 0


def test_watchdog_starves_when_the_device_hangs_for_good(start_faulty, faults, runtime_dir):
    daemon, manager = start_watched(start_faulty, runtime_dir, "--set", "engine.frame_timeout=0.5",
                                    "--set", "engine.build_timeout=1")
    faults.begin("hang")
    wait_until_starved(daemon, manager)
    assert state_of(daemon) == "failed"
    faults.end()
    wait_for_state(daemon, "online")
    manager.wait_until_fed()
    assert daemon.stop() == 0


def test_compilation_that_does_not_end_stops_no_frames(start_faulty, faults, runtime_dir, tmp_path):
    """The first engine goes on filtering. The status says what the newest filter waits for and how
    long it has waited, and the log says once that the driver may hang."""
    daemon, manager = start_watched(
        start_faulty, runtime_dir, "--set", "engine.tune=off", "--set",
        f"engine.cache_dir={tmp_path}", "--set", "engine.build_timeout=1")
    with Reader(daemon) as reader:
        before = reader.next()
        faults.begin("compile")
        daemon.change("filter", "set", "shift:by=3/2")
        daemon.wait_for_log(LATE)
        daemon.change("filter", "set", "shift:by=5/2")
        daemon.wait_until(
            lambda: re.search(r", for \d+ s$", daemon.ctl_json("status")["Preparing"]),
            "a status that says for how long")
        assert re.search(r"^preparing compiling OpenCL programs, 0 of \d+ done, for \d+ s$",
                         daemon.ctl("status").stdout, re.MULTILINE)
        assert state_of(daemon) == "online"
        manager.wait_until_fed(2)
        while frame := reader.take():
            before = frame
        assert reader.next().filter_serial == 1
        assert daemon.log.count(LATE) == 1 and "no longer fed" not in daemon.log
        faults.end()
        shifted = reader.take_until(lambda frame: frame.filter_serial == 3)[-1]
        assert shifted.sequence > before.sequence
    daemon.wait_until(lambda: daemon.ctl_json("status")["Preparing"] == "", "nothing to wait for")
    assert daemon.stop() == 0


def test_first_compilation_that_does_not_end(start_faulty, faults, runtime_dir):
    """The status says how long it has taken. After ten times the time limit it counts as hung."""
    faults.begin("compile")
    manager = ServiceManager(runtime_dir.parent / "notify", WATCHDOG_S)
    daemon = start_faulty(*FILTERED, "--set", "engine.build_timeout=1", env=manager.env)
    # A program from the cache is also built again, which is not counted.
    told = ("starting: (compiling OpenCL programs, 0 of . done|waiting for the device's driver)"
            ", for [0-9]+ s")
    daemon.wait_until(lambda: re.search(told, daemon.ctl("status").stdout), "for how long")
    manager.wait_until_fed()
    daemon.wait_for_log(LATE)
    assert int(re.search(LATE + r" (\d+) s", daemon.log)[1]) >= 10
    wait_until_starved(daemon, manager)
    faults.end()
    wait_for_state(daemon, "online")
    manager.wait_until_fed()
    assert daemon.stop() == 0


def test_watchdog_starves_when_the_camera_thread_hangs(start_faulty, faults, runtime_dir):
    """The designer hangs in a driver call that does not return."""
    daemon, manager = start_watched(start_faulty, runtime_dir)
    faults.begin("block")
    wait_until_starved(daemon, manager)
    daemon.signal(signal.SIGTERM)
    assert daemon.wait(END_SECONDS) == 0  # nevertheless


def test_first_engine_that_does_not_build(start_faulty, faults, runtime_dir):
    faults.begin("build -11")
    assert start_faulty().wait() == 70

    manager = ServiceManager(runtime_dir.parent / "notify", WATCHDOG_S)
    service = start_faulty(env=manager.env)
    assert "failed" in manager.wait_for("READY=1")
    manager.wait_until_fed()
    faults.end()
    wait_for_state(service, "online")
    assert service.stop() == 0
