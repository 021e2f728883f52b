"""Tests of a source faster than the device: the newest frame is taken, and none waits for long."""

import itertools
import statistics

import pytest

from client import Reader

FPS = 100
DEVICE_MS = 60
FRAMES = 60


def latencies_ms(frames):
    return [(frame.published_ns - frame.captured_ns) / 1e6 for frame in frames]


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_latency_is_bounded(start_faulty, faults, in_flight):
    daemon = start_faulty("--set", f"engine.in_flight={in_flight}", fps=str(FPS))
    with Reader(daemon) as reader:
        reader.next()
        faults.begin(f"slow {DEVICE_MS}")
        reader.take_until(lambda frame: frame.published_ns - frame.submitted_ns > DEVICE_MS * 1e6)
        before = daemon.ctl_json("stats")["Counters"]
        # More frames than the ring has may have passed while fftd-ctl ran.
        reader.next()
        frames = list(itertools.islice(reader.frames(), FRAMES))
        after = daemon.ctl_json("stats")["Counters"]

    # A frame waits until another is done, and is then at most one frame time old.
    latencies = latencies_ms(frames)
    expected = DEVICE_MS + 1000 / FPS
    assert min(latencies) >= DEVICE_MS
    assert statistics.median(latencies) < 1.5 * expected, latencies
    # The latency does not grow; a queue would have added hundreds of milliseconds.
    third = FRAMES // 3
    growth = statistics.median(latencies[-third:]) - statistics.median(latencies[:third])
    assert growth < 0.25 * expected, latencies

    # The device finishes as many as are in flight in its time for one. Medians do not care for a
    # host that stands still for a second.
    turns = [(later.published_ns - frame.published_ns) / 1e6
             for frame, later in zip(frames, frames[in_flight:])]
    assert DEVICE_MS / 1.05 <= statistics.median(turns) < DEVICE_MS / 0.6, turns

    # What is left out is the source's frames between those that are taken, and all are counted
    # (a pattern, which has no driver to keep them, counts them as lost by the source).
    assert [frame.missed for frame in frames] == [0] * FRAMES
    passed_over = sum(after[name] - before[name] for name in ("dropped_stale", "source_lost"))
    gaps = frames[-1].source_sequence - frames[0].source_sequence - (FRAMES - 1)
    assert passed_over == pytest.approx(gaps, abs=4 * FPS * DEVICE_MS / 1000)
    assert passed_over > FRAMES // 2
    assert daemon.stop() == 0
