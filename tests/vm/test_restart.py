"""The ring and its clients outlive the daemon under the real systemd: a client that goes on by
itself sees a pause, and no torn frame ever passes for a whole one."""

import glob
import os
import pathlib
import random
import signal
import struct
import time

from conftest import SIZE, figures, watched

FILTER = "lowpass:shape=gaussian,cutoff=0.1"


def wait_until_stopped(pid):
    for _ in range(5000):
        if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T":
            return
        time.sleep(0.001)
    raise AssertionError("the daemon does not stop for SIGSTOP")


def ring_of(pid):
    """The path of the ring's memory."""
    return next(path for path in glob.glob(f"/proc/{pid}/fd/*")
                if "fftd-ring" in os.readlink(path))


def slots_being_written(path):
    """How many slots have an odd lock; see fftd/ring.h."""
    with open(path, "rb", buffering=0) as ring:
        header = ring.read(40)
        header_bytes, = struct.unpack_from("<I", header, 12)
        slots, = struct.unpack_from("<I", header, 24)
        stride, = struct.unpack_from("<Q", header, 32)
        locks = [struct.unpack("<I", os.pread(ring.fileno(), 4, header_bytes + i * stride))[0]
                 for i in range(slots)]
    return sum(lock % 2 for lock in locks)


def kill_mid_write(pid):
    """Ends the daemon at a moment at which a slot is open; returns how many are."""
    dice = random.Random(pid)
    for _ in range(2000):
        os.kill(pid, signal.SIGSTOP)
        wait_until_stopped(pid)
        written = slots_being_written(ring_of(pid))
        if written > 0:
            os.kill(pid, signal.SIGKILL)
            return written
        os.kill(pid, signal.SIGCONT)
        # Never the same time: the machine's clock is so even that a pause of one length could stay
        # in step with the camera.
        time.sleep(dice.uniform(0, 0.005))
    raise AssertionError("no slot was ever open")


def configure(service, camera, size=SIZE):
    # Many slots: what a client needs that wants every frame on a machine that is busy restarting.
    service.configure(f"v4l2:{camera.device}", filter=FILTER, output="slots = 24;", size=size)


def start(service):
    service.systemctl("start")
    service.wait_for_state("online")


def check_whole(found, frames, what):
    print(found)
    figures.append(f"{what}: {found['frames']} frames, {found['corrupt']} torn, "
                   f"{found['missed']} missed; longest time without a frame "
                   f"{found['longest_gap_ms']:.0f} ms")
    assert found["frames"] == frames
    assert found["corrupt"] == found["unchecked"] == found["torn"] == 0
    assert found["missed"] == found["backwards"] == 0


def test_killed_while_it_writes(camera, service):
    configure(service, camera, size="640x360")  # a smaller frame is hardly ever found unfinished
    start(service)
    client = service.watch(240)
    for restarts in range(1, 4):
        time.sleep(2)
        assert kill_mid_write(service.pid) > 0
        service.wait_for(lambda: service.show("NRestarts") == str(restarts), "the restart")
        service.wait_for_state("online")
    assert service.show("NFileDescriptorStore") == "2"
    found = watched(client)
    check_whole(found, 240, "killed three times in the middle of a write")
    assert found["epochs"] == [1, 2, 3, 4]
    assert found["longest_gap_ms"] < 5000
    service.wait_for(lambda: service.show("NFileDescriptorStore") == "1", "the client to go")


def test_restarted(camera, service):
    configure(service, camera)
    start(service)
    client = service.watch(180)
    for _ in range(2):
        time.sleep(2)
        service.systemctl("restart")
        service.wait_for_state("online")
    found = watched(client)
    check_whole(found, 180, "restarted twice")
    assert found["epochs"] == [1, 2, 3]
    assert found["longest_gap_ms"] < 5000


def test_restarted_with_another_size(camera, service):
    configure(service, camera, size="640x360")
    start(service)  # compiles what that size needs, which is not what is measured here
    service.systemctl("stop")
    configure(service, camera)
    start(service)
    client = service.watch(150)
    time.sleep(2)
    configure(service, camera, size="640x360")
    service.systemctl("restart")
    service.wait_for_state("online")
    found = watched(client)
    check_whole(found, 150, "restarted with another size")
    assert found["epochs"] == [1, 2]
    assert (found["widths"], found["heights"]) == ([320, 640], [180, 360])
    assert found["longest_gap_ms"] < 5000


def test_stopped_and_started(camera, service):
    """Nothing is kept then; the client finds the new daemon all the same."""
    configure(service, camera)
    start(service)
    client = service.watch(120)
    time.sleep(2)
    service.systemctl("stop")
    assert service.show("NFileDescriptorStore") == "0"
    service.systemctl("start")
    found = watched(client)
    print(found)
    assert found["frames"] == 120
    assert found["corrupt"] == found["unchecked"] == found["torn"] == 0
    assert found["epochs"] == [1]
