"""Tests of engine.memory: what needs more is refused before anything is allocated, and what was in
use stays in use. Nothing here takes more than a few MiB."""

import numpy
from conftest import FAST_KERNELS

HUGE = "8192x8192"
COLOUR = ("--set", "camera.format=XRGB32", "--set", "engine.planes=all")
HEAVY = "denoise:temporal=2"


def published(daemon):
    return daemon.ctl_json("stats")["Counters"]["published"]


def wait_for_frames(daemon):
    before = published(daemon)
    daemon.wait_until(lambda: published(daemon) > before + 2, "frames")


def wait_for_filter(daemon):
    serial = daemon.ctl_json("status")["Serial"]
    daemon.wait_until(lambda: daemon.ctl_json("status")["PublishedSerial"] >= serial, "the filter")


def assert_names(text, size):
    """The refusal names what, the need, the largest parts, the limit, its key, and a remedy."""
    for part in (f"{size} XRGB32 needs ", "iB of ", "denoise ", "the limit is ", "(engine.memory)",
                 "temporal = 0"):
        assert part in text, text


def test_a_start_that_needs_too_much_is_refused(fftd):
    done = fftd("--source", "pattern:zoneplate", "--size", HUGE, *COLOUR, "--set",
                f"filter={HEAVY}", "--set", "engine.memory=64")
    assert done.returncode == 78, done.stderr
    assert_names(done.stderr, HUGE)
    assert "64.0 MiB" in done.stderr and "GiB" in done.stderr


def test_a_filter_that_needs_too_much_is_refused(start):
    daemon = start(*FAST_KERNELS, *COLOUR, "--set", "engine.memory=30", size="320x240", fps="30")
    daemon.ctl("filter", "set", "gaussian-blur:sigma=2")
    wait_for_frames(daemon)
    done = daemon.ctl("filter", "set", HEAVY, check=False)
    assert done.returncode == 65
    assert_names(done.stderr, "320x240")
    status = daemon.ctl_json("status")
    assert status["State"] == "online" and status["FilterProblem"] == ""
    assert status["Filter"] == "gaussian-blur:sigma=2"
    wait_for_frames(daemon)
    daemon.ctl("filter", "set", "gaussian-blur:sigma=3")
    wait_for_filter(daemon)


def test_a_source_that_needs_too_much_leaves_the_old_one(start, tmp_path):
    config = tmp_path / "cam.conf"
    text = 'camera = {{ source = "pattern:moire"; size = "{}"; fps = 30.0; format = "XRGB32"; }};\n'
    config.write_text(text.format("160x120"))
    daemon = start("--config", config, *FAST_KERNELS, "--set", "engine.memory=64", source=None,
                   size=None, fps=None)
    wait_for_frames(daemon)
    config.write_text(text.format("1280x720"))
    done = daemon.ctl("reload", check=False)
    assert done.returncode == 78
    assert "1280x720 XRGB32 needs " in done.stderr and "(engine.memory)" in done.stderr, done.stderr
    wait_for_frames(daemon)
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "the old source")
    assert daemon.ctl_json("status")["Format"]["width"] == 160


def test_the_status_has_the_limit_and_what_is_needed(start):
    daemon = start(*FAST_KERNELS, "--set", "engine.memory=100")
    wait_for_frames(daemon)
    memory = daemon.ctl_json("status")["Memory"]
    assert memory["host_limit"] == 100 << 20
    # Eight slots of the ring, at least.
    assert 8 * 160 * 120 * 3 // 2 < memory["host"] < memory["host_limit"]
    assert ("device" in memory) == ("device_limit" in memory)
    assert daemon.ctl_json("stats")["Memory"] == memory
    assert "of 100 MiB" in daemon.ctl("status").stdout


def test_templates_are_counted_where_they_are_looked_for(start, tmp_path):
    """That is in pictures that are measured. The engine stays the same."""
    random = numpy.random.default_rng(3)
    for name in ("a", "b"):
        pixels = random.integers(0, 255, (64, 64), dtype=numpy.uint8)
        (tmp_path / f"{name}.pgm").write_bytes(b"P5 64 64 255 " + pixels.tobytes())
    chain = "match:image=a.pgm,show=false | match:image=b.pgm,show=false"
    needs = []
    for measures in ("false", "true"):
        daemon = start(*FAST_KERNELS, "--set", "engine.memory=100",
                       "--set", f"output.measures={measures}", size="320x240",
                       env={"FFTD_IMAGE_DIR": str(tmp_path)})
        wait_for_filter(daemon)
        before = daemon.ctl_json("status")["Memory"]["host"]
        daemon.ctl("filter", "set", chain)
        wait_for_filter(daemon)
        needs.append(daemon.ctl_json("status")["Memory"]["host"] - before)
        daemon.stop()
    assert needs[0] == 0 and 4 << 20 < needs[1] < 32 << 20
