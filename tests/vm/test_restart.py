"""Tests that the ring and its clients outlive the daemon under the real systemd. A client sees a
pause, but never a torn frame."""

import contextlib
import glob
import mmap
import os
import pathlib
import signal
import struct
import time

import pytest
from conftest import SIZE, figures, watched

pytestmark = pytest.mark.together

FILTER = "lowpass:shape=gaussian,cutoff=0.1"
LOOK_S = 0.0005
PATIENCE_S = 10  # for events of every frame


def wait_until_stopped(pid):
    for _ in range(5000):
        if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T":
            return
        time.sleep(0.001)
    raise AssertionError("the daemon does not stop for SIGSTOP")


@contextlib.contextmanager
def ring_of(pid):
    """Maps the ring's memory."""
    path = next(path for path in glob.glob(f"/proc/{pid}/fd/*")
                if "fftd-ring" in os.readlink(path))
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        yield memory


def slots_being_written(ring):
    """Returns the number of slots with an odd lock; see fftd/ring.h."""
    header_bytes, = struct.unpack_from("<I", ring, 12)
    slots, = struct.unpack_from("<I", ring, 24)
    stride, = struct.unpack_from("<Q", ring, 32)
    return sum(ring[header_bytes + i * stride] % 2 for i in range(slots))


def kill_mid_write(pid):
    """Ends the daemon at a moment at which a slot is open.

    In the test machine a slot is open for 3.3 of the 33 ms between frames, so the test polls much
    more often. Polling every 4 ms missed two thousand slots: vivid's frames begin with the kernel's
    tick, which has the same period, and each slot was closed before the next tick."""
    deadline = time.monotonic() + PATIENCE_S
    with ring_of(pid) as ring:
        while time.monotonic() < deadline:
            if slots_being_written(ring) > 0:
                os.kill(pid, signal.SIGSTOP)
                wait_until_stopped(pid)
                if slots_being_written(ring) > 0:  # the daemon may have closed the slot
                    os.kill(pid, signal.SIGKILL)
                    return
                os.kill(pid, signal.SIGCONT)
            time.sleep(LOOK_S)
    raise AssertionError("no slot was ever open")


def configure(service, camera, size=SIZE):
    # A client that wants every frame during a restart needs many slots. A transform writes for long
    # enough to be found at it.
    service.configure(f"v4l2:{camera.device}", filter=FILTER, output="slots = 24;", size=size,
                      engine='technique = "fused";')


def start(service):
    service.systemctl("start")
    service.wait_for_state("online")


@contextlib.contextmanager
def reading(service):
    """Runs a client from well before the block until well after it, and yields its report, complete
    after the block."""
    found = {}
    client = service.watch()
    service.wait_for(lambda: service.status()["Clients"] == 1, "the client")
    service.wait_for(lambda: service.show("NFileDescriptorStore") == "2", "it to be kept")
    yield found
    service.wait_for_state("online")
    service.wait_for_frames()
    client.terminate()
    found.update(watched(client))
    print(found)
    assert found["frames"] > 0
    assert found["corrupt"] == found["unchecked"] == found["torn"] == 0


def check_whole(found, epochs, what):
    figures.append(f"{what}: {found['frames']} frames, {found['corrupt']} torn, "
                   f"{found['missed']} missed; longest time without a frame "
                   f"{found['longest_gap_ms']:.0f} ms")
    assert found["missed"] == found["backwards"] == 0
    assert found["epochs"] == epochs
    assert found["longest_gap_ms"] < 5000


def test_killed_while_it_writes(camera, service):
    configure(service, camera)
    start(service)
    with reading(service) as found:
        for restarts in range(1, 4):
            service.wait_for_frames(10)
            kill_mid_write(service.pid)
            service.wait_for(lambda: service.show("NRestarts") == str(restarts), "the restart")
            service.wait_for_state("online")
        assert service.show("NFileDescriptorStore") == "2"
    check_whole(found, [1, 2, 3, 4], "killed three times in the middle of a write")
    service.wait_for(lambda: service.show("NFileDescriptorStore") == "1", "the client to go")


def test_restarted(camera, service):
    configure(service, camera)
    start(service)
    with reading(service) as found:
        for _ in range(2):
            service.wait_for_frames(10)
            service.systemctl("restart")
            service.wait_for_state("online")
    check_whole(found, [1, 2, 3], "restarted twice")


def test_restarted_with_another_size(camera, service):
    configure(service, camera, size="640x360")
    start(service)  # compiles the kernels of that size before the measurement
    service.systemctl("stop")
    configure(service, camera)
    start(service)
    with reading(service) as found:
        service.wait_for_frames(10)
        configure(service, camera, size="640x360")
        service.systemctl("restart")
    check_whole(found, [1, 2], "restarted with another size")
    assert (found["widths"], found["heights"]) == ([320, 640], [180, 360])


def test_stopped_and_started(camera, service):
    """systemd stores nothing then, but the client still finds the new daemon."""
    configure(service, camera)
    start(service)
    with reading(service) as found:
        service.wait_for_frames(10)
        service.systemctl("stop")
        assert service.show("NFileDescriptorStore") == "0"
        service.systemctl("start")
    assert found["frames"] > 10
    assert found["epochs"] == [1]
