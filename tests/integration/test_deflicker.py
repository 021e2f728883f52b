"""Tests of deflicker with the real daemon: what it makes of a recording under flickering light."""

import itertools

import numpy
import pytest

from client import Reader
from conftest import needs_every_frame
from test_auto_notch import (HEIGHT, NOISE, RATE, WIDTH, adaptation, draw_scene, pixels, psnr_db,
                             wait_for_observed, wait_for_psnr_db, write_recording)

FRAMES = 60
LIGHT_HZ, LINE_TIME_S, DEPTH = 100, 90e-6, 0.25


def light_of(number):
    """On each row, exposed one after another."""
    rows_s = number / RATE + LINE_TIME_S * numpy.arange(HEIGHT)
    return 1 + DEPTH * numpy.sin(2 * numpy.pi * LIGHT_HZ * rows_s)[:, None]


@pytest.fixture(scope="module")
def scene():
    return 0.75 * draw_scene()


@pytest.fixture
def launch(start, tmp_path):
    def launch_daemon(chain, lights):
        random = numpy.random.default_rng(9)
        scene = 0.75 * draw_scene()
        write_recording(tmp_path / "recording.y4m",
                        [scene * light + random.normal(0, NOISE, scene.shape) for light in lights])
        daemon = start("--set", "camera.loop=true", "--set", "output.slots=16", "--set",
                       "engine.technique=staged", "--filter", chain,
                       source=f"file:{tmp_path}/recording.y4m", size=None, fps=None)
        daemon.wait_for_log("online")
        return daemon
    return launch_daemon


def right_flicker(daemon):
    """Returns what the daemon has found if it is right. Frames that a busy machine delivers late
    disturb the estimate for a while."""
    found = adaptation(daemon)["flicker"]
    return found and found["frequency"] == pytest.approx(LIGHT_HZ, abs=0.2) and \
        found["depth"] == pytest.approx(DEPTH, abs=0.03) and \
        found["line_time_us"] == pytest.approx(1e6 * LINE_TIME_S, rel=0.02) and found


@needs_every_frame
def test_bands_are_found_and_evened_out(launch, scene):
    daemon = launch("preset:mains-flicker", [light_of(i) for i in range(FRAMES)])
    with Reader(daemon) as reader:
        before = psnr_db(reader.next(), scene)
        flicker = daemon.wait_until(lambda: right_flicker(daemon), "the right flicker")
        after = wait_for_psnr_db(reader, scene, 40)
        print(f"# figures: PSNR {before:.1f} dB before, {after:.1f} dB after")
        assert before < 25
        assert "light flickers at 100.0" in daemon.ctl("filter", "show").stdout

        # Other stages, auto-notch among them, do not make it forget. (It does forget when half a
        # second passes between two frames that it gets, as on a busy machine.)
        changes = itertools.chain([["add", "auto-notch", "1", "add", "gain:dc=1"]],
                                  itertools.repeat(["set", "gain.dc=1"]))

        def is_kept():
            flicker = daemon.wait_until(lambda: right_flicker(daemon), "the right flicker")
            serial = daemon.change("filter", "edit", *next(changes))
            wait_for_psnr_db(reader, scene, 40, serial)
            found = adaptation(daemon)["flicker"]
            return found and found["since_ns"] == flicker["since_ns"]
        daemon.wait_until(is_kept, "a change that keeps the flicker")

        # It is kept, and found again; auto-notch, which has found nothing, stays.
        serial = daemon.change("filter", "keep")
        wait_for_psnr_db(reader, scene, 40, serial)
        stages = {stage["kind"]: stage["parameters"]
                  for stage in daemon.ctl_json("filter", "show")["FilterStages"]}
        assert stages.keys() == {"deflicker", "auto-notch", "gain"}
        assert stages["deflicker"]["frequency"] == pytest.approx(LIGHT_HZ, abs=0.2)
        assert stages["deflicker"]["line-time"] == pytest.approx(1e6 * LINE_TIME_S, rel=0.02)
        again = daemon.wait_until(lambda: adaptation(daemon)["flicker"], "the flicker")
        assert again["since_ns"] > flicker["since_ns"]

        # Light of another frequency is looked for from the beginning, and is not there.
        daemon.ctl("set", "deflicker.frequency=77")
        wait_for_observed(daemon, adaptation(daemon)["observed"] + 30)
        assert adaptation(daemon)["flicker"] == {}


def test_steady_light_is_left_alone(launch, tmp_path):
    daemon = launch("deflicker", [1] * 8)
    size = WIDTH * HEIGHT
    recording = (tmp_path / "recording.y4m").read_bytes()
    pictures = [recording[-(n + 1) * (size + 6):][6:6 + size] for n in range(8)]
    with Reader(daemon) as reader:
        assert wait_for_observed(daemon, 40)["flicker"] == {}
        assert "no flicker" in daemon.ctl("filter", "show").stdout
        for _ in range(10):
            frame = reader.next()
            assert frame.planes[0] in pictures and pixels(frame).shape == (HEIGHT, WIDTH)


@pytest.mark.parametrize("chain, message", [
    ("deflicker:frequency=3", "frequency = 3 is out of range: expected 0 (any, 100 and 120 Hz"),
    ("deflicker:line-time=0.5", "line-time = 0.5 is out of range: expected 0 (estimated) or 1"),
    ("deflicker | deflicker", "stage 2: the chain has deflicker already"),
])
def test_what_is_refused(fftd, chain, message):
    done = fftd("--check", "--filter", chain)
    assert done.returncode != 0 and message in done.stderr
