"""Tests of idle = "pause": the camera and the GPU sleep while there are no readers."""

import itertools
import pathlib
import time

from client import LIVE, Reader
from conftest import FAST_KERNELS

FPS = 5
PAUSE = ["--set", "camera.idle=pause", "--filter", "lowpass:cutoff=0.1"]


def wait_for_pause(daemon):
    daemon.wait_for_log("engine: ")  # the first build takes longer than the delay before a pause
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")


def processor_seconds(daemon):
    """Of the whole process: the driver's threads too."""
    fields = pathlib.Path(f"/proc/{daemon.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_wakes_within_two_frames(start):
    """One pause of ten is enough, because the machine may be busy: a camera that waits for
    something does so after each of them."""
    daemon = start(*PAUSE, "--set", "output.slots=64", fps=str(FPS))
    delays, missing = [], 0
    while len(delays) < 3 or min(delays) >= 2 and len(delays) < 10:
        wait_for_pause(daemon)
        published = daemon.ctl_json("stats")["Counters"]["published"]
        begin = time.monotonic_ns()
        with Reader(daemon) as reader:
            for frame in reader.frames():
                if frame.published_ns > begin:  # not an old frame of the ring
                    break
            delays.append((frame.published_ns - begin) * FPS / 1e9)
            assert frame.sequence == published + 1
            assert reader.state == LIVE
            assert daemon.ctl_json("status")["State"] == "online"
            frames = list(itertools.islice(reader.frames(), 5))
        missing += frames[-1].source_sequence - frames[0].source_sequence - len(frames) + 1
    assert min(delays) < 2, f"frames until the first one: {delays}"
    counters = daemon.ctl_json("stats")["Counters"]
    assert counters["stalls"] == counters["reopens"] == 0
    # A busy machine loses frames, but all of them are counted.
    assert missing <= counters["source_lost"] + counters["dropped_stale"]
    assert daemon.log.count("paused: there are no readers") == len(delays)


def test_sleeps(start):
    daemon = start(*FAST_KERNELS, *PAUSE, fps="120", size="320x240")
    wait_for_pause(daemon)
    before, published = processor_seconds(daemon), daemon.ctl_json("stats")["Counters"]["published"]
    time.sleep(2)  # the test checks that nothing happens
    assert processor_seconds(daemon) - before <= 0.1
    assert daemon.ctl_json("stats")["Counters"]["published"] == published
    # Reading the status or changing the filter does not end the pause.
    daemon.ctl("filter", "set", "none")
    assert daemon.ctl_json("status")["State"] == "paused"
    with Reader(daemon) as reader:
        reader.take_until(lambda frame: frame.filter_serial == 2)
    assert daemon.stop() == 0


def test_snapshot_wakes_it(start, tmp_path):
    daemon = start(*PAUSE)
    wait_for_pause(daemon)
    daemon.ctl("snapshot", "after", "-o", str(tmp_path / "after.png"))
    assert (tmp_path / "after.png").read_bytes().startswith(b"\x89PNG")
    wait_for_pause(daemon)
    assert daemon.stop() == 0


def test_runs_unless_told_to_pause(start):
    daemon = start(fps="60")
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Counters"]["published"] > 60 * 3, "frames")
    assert daemon.ctl_json("status")["State"] == "online"
