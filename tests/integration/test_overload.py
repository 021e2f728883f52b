"""Tests of a source faster than the device: the newest frame is taken, and none waits for long."""

import os
import pathlib
import time

import pytest

from client import Reader
from test_survival import open_slots

FPS = 50
PERIOD_NS = 1_000_000_000 // FPS
STANDSTILLS = 3
LEFT_OUT = 25  # frames of the source in each of them


def open_ring(daemon):
    """Returns a descriptor of the ring's memory."""
    for path in pathlib.Path(f"/proc/{daemon.pid}/fd").iterdir():
        if "fftd-ring" in os.readlink(path):
            return os.open(path, os.O_RDONLY)
    raise AssertionError("the daemon has no ring")


def passed_over(daemon):
    """A pattern, which has no driver to keep them, counts such frames as lost by the source."""
    counters = daemon.ctl_json("stats")["Counters"]
    return counters["dropped_stale"] + counters["source_lost"]


def gaps(first, last):
    """The source's frames between these two that were not published."""
    return last.source_sequence - first.source_sequence - (last.sequence - first.sequence)


def take_newer(reader, time_ns):
    """Returns the first frame that was captured after this time, and all before it."""
    *before, frame = reader.take_until(lambda frame: frame.captured_ns > time_ns)
    return frame, before


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_latency_is_bounded(start_faulty, faults, in_flight):
    """A device that stands still has the frames in flight, and no other waits for it. The next one
    that it gets was captured when it goes on."""
    daemon = start_faulty("--filter", "gaussian-blur:sigma=2",  # `none` asks the device nothing
                          "--set", f"engine.in_flight={in_flight}", "--set", "output.slots=64",
                          "--set", "engine.frame_timeout=60", fps=str(FPS))
    waited = []  # frames from before the end of each standstill
    with Reader(daemon) as reader:
        before, _ = reader.next(), reader.next()  # what is counted for the first is reported
        begin = passed_over(daemon)
        first, _ = take_newer(reader, time.monotonic_ns())
        ring = open_ring(daemon)
        for _ in range(STANDSTILLS):
            faults.begin("hang")
            daemon.wait_until(lambda: len(open_slots(ring)) == in_flight, "frames in flight")
            time.sleep(LEFT_OUT / FPS)
            reader.take_rest()
            end_ns = time.monotonic_ns()
            faults.end()
            last, older = take_newer(reader, end_ns - PERIOD_NS)
            waited.append(len(older))
        os.close(ring)
        reader.next()
        end = passed_over(daemon)
        after, _ = take_newer(reader, time.monotonic_ns())

    assert max(waited) == in_flight, waited
    # What is left out is counted. Both counts are bounded by frames from before and after them.
    assert gaps(first, last) >= LEFT_OUT - 1
    assert gaps(first, last) <= end - begin <= gaps(before, after)
    assert daemon.stop() == 0
