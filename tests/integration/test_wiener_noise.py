"""Tests of wiener without `noise`, with the real daemon: it finds how strong the noise is."""

import time

import numpy
import pytest

from client import Reader
from test_auto_notch import (HEIGHT, WIDTH, adaptation, draw_scene, psnr_db,
                             write_recording)

RADIUS, SIGMA, FRAMES = 2.5, 16, 6


def bessel_j1(x):
    """By its integral, over a whole period, where the midpoint rule is exact for such x."""
    angle = (numpy.arange(64) + 0.5) * numpy.pi / 64
    return numpy.cos(angle - numpy.multiply.outer(x, numpy.sin(angle))).mean(-1)


def disk():
    f = numpy.hypot(*numpy.meshgrid(numpy.fft.fftfreq(WIDTH), numpy.fft.fftfreq(HEIGHT)))
    turn = numpy.maximum(2 * numpy.pi * RADIUS * f, 1e-9)
    return 2 * bessel_j1(turn) / turn


@pytest.fixture(scope="module")
def scene():
    return draw_scene()


@pytest.fixture
def launch(start, tmp_path, scene):
    def launch_daemon(chain, *options):
        random = numpy.random.default_rng(4)
        blurred = numpy.fft.ifft2(numpy.fft.fft2(scene) * disk()).real
        write_recording(tmp_path / "recording.y4m",
                        [blurred + random.normal(0, SIGMA, scene.shape) for _ in range(FRAMES)])
        daemon = start("--set", "camera.loop=true", "--set", "output.slots=16", "--filter", chain,
                       *options, source=f"file:{tmp_path}/recording.y4m", size=None, fps=None)
        daemon.wait_for_log("online")
        return daemon
    return launch_daemon


def found_noise(daemon):
    return daemon.wait_until(lambda: adaptation(daemon).get("noise"), "an estimate of the noise")


def settled_noise(daemon):
    """The estimate, once all frames of the recording have been observed."""
    latest = [found_noise(daemon)]

    def has_settled():
        time.sleep(0.5)
        latest.append(found_noise(daemon))
        return abs(latest[-1] - latest[-2]) < 0.02 * latest[-1]
    daemon.wait_until(has_settled, "an estimate that no longer changes")
    return latest[-1]


def test_noise_is_estimated_shown_and_kept(launch, scene):
    daemon = launch(f"wiener:blur=disk,size={RADIUS},noise=0.007")
    with Reader(daemon) as reader:
        assert adaptation(daemon) == {}
        fixed = psnr_db(reader.next(), scene)
        serial = daemon.ctl_json("filter", "set", f"wiener:blur=disk,size={RADIUS}")["Serial"]
        noise = found_noise(daemon)
        assert 0.02 < noise < 10
        reader.take_until(lambda frame: frame.filter_serial >= serial and
                          psnr_db(frame, scene) > fixed + 2)
        print(f"# figures: noise {noise:.3g}, PSNR {fixed:.1f} dB with the default before")
        shown = daemon.ctl("filter", "show").stdout
        assert "times the picture's power at 0.1 cycles/pixel" in shown
        stage = daemon.ctl_json("filter", "show")["FilterStages"][0]
        assert stage["parameters"].get("noise", 0) == 0     # the chain stays as it was given

        noise = settled_noise(daemon)
        serial = daemon.ctl_json("filter", "keep")["Serial"]
        frame = reader.take_until(lambda frame: frame.filter_serial >= serial)[-1]
        assert psnr_db(frame, scene) > fixed + 2
    stage = daemon.ctl_json("filter", "show")["FilterStages"][0]
    assert stage["parameters"]["noise"] == pytest.approx(noise, rel=0.2)
    assert adaptation(daemon) == {}


def test_all_stages_without_noise_keep_it(launch):
    daemon = launch("wiener:size=1,noise=0.1 | auto-notch | wiener:size=1 | "
                    f"wiener:blur=disk,size={RADIUS}")
    noise = found_noise(daemon)
    daemon.ctl("filter", "keep")
    stages = daemon.ctl_json("filter", "show")["FilterStages"]
    kept = [stage["parameters"]["noise"] for stage in stages if stage["kind"] == "wiener"]
    assert kept[0] == 0.1
    assert kept[1:] == [pytest.approx(noise, rel=0.5)] * 2 and kept[1] == kept[2]


def test_what_reduces_noise_before_it_leaves_the_default(launch):
    daemon = launch("denoise:sigma=8 | wiener:size=1")
    assert adaptation(daemon) == {}
    refused = daemon.ctl("filter", "keep", check=False)
    assert refused.returncode == 65
    assert "expected auto-notch, deflicker, or wiener without noise" in refused.stderr


def test_a_noise_that_is_too_small_is_refused(launch):
    daemon = launch("gain:dc=1")
    refused = daemon.ctl("filter", "set", "wiener:size=1,noise=1e-9", check=False)
    assert refused.returncode == 65
    assert "noise = 1e-09 is too small: expected 1e-06 .. 10, or 0 (it is estimated)" in \
        refused.stderr
