"""Tests of what fftd-ctl says while a filter is being prepared: the driver compiles its kernels for
as long as a test wants (tests/faults/opencl.c)."""

import re

import pytest

from conftest import PATIENCE

# A complex response, for which there are no kernels yet.
CHAIN = "shift:by=3/2 | auto-notch"


@pytest.fixture
def daemon(start_faulty, tmp_path):
    daemon = start_faulty("--set", "engine.tune=off", "--set", f"engine.cache_dir={tmp_path}")
    wait_for(daemon, 1)
    return daemon


def wait_for(daemon, serial):
    daemon.wait_until(lambda: daemon.ctl_json("status")["PublishedSerial"] == serial,
                      f"frames of filter {serial}")


def snapshot(daemon, tmp_path, *kinds):
    return daemon.ctl("snapshot", *kinds, "-o", tmp_path / "pictures")


def begin(daemon, *arguments):
    """Begins a command that waits, and returns its process once it has said so."""
    process = daemon.begin_ctl(*arguments)
    assert process.stderr.readline() == "fftd-ctl: filter 2 is being prepared\n"
    return process


def test_a_filter_is_waited_for(daemon, faults):
    faults.begin("compile")
    waiting = begin(daemon, "filter", "set", CHAIN)
    assert "filter 1 (2 is being prepared)" in daemon.ctl("status").stdout
    faults.end()
    stdout, stderr = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, stdout, stderr) == (0, "filter 2\n", "")
    # The number alone is for scripts.
    faults.begin("compile")
    assert daemon.ctl_json("filter", "set", "lowpass:cutoff=0.1") == {"Serial": 3}
    faults.end()
    wait_for(daemon, 3)
    assert "being prepared" not in daemon.ctl("status").stdout


def test_a_filter_in_use_is_only_named(daemon):
    said = [daemon.ctl("filter", "set", f"gain:ac={n / 10}").stdout for n in range(1, 9)]
    assert said == [f"filter {n}\n" for n in range(2, 10)]


def test_a_snapshot_says_which_filter_made_it(daemon, faults, tmp_path):
    assert snapshot(daemon, tmp_path).stderr == ""
    faults.begin("compile")
    daemon.ctl_json("filter", "set", CHAIN)
    note = "fftd-ctl: filter 2 is being prepared: this picture has filter 1\n"
    assert snapshot(daemon, tmp_path).stderr == note
    assert daemon.ctl("snapshot", "after", "-o", tmp_path / "after.png").stderr == note
    assert daemon.ctl("snapshot", "before", "-o", tmp_path / "before.png").stderr == ""
    shown = daemon.ctl("--json", "snapshot", "-o", tmp_path / "pictures")
    assert '"FilterSerial":1,"Serial":2' in re.sub(r"\s", "", shown.stdout) and not shown.stderr
    faults.end()
    wait_for(daemon, 2)
    assert snapshot(daemon, tmp_path).stderr == ""


def test_keep_does_not_deny_a_filter_that_is_being_prepared(daemon, faults):
    faults.begin("compile")
    daemon.ctl_json("filter", "set", CHAIN)
    refused = daemon.ctl("filter", "keep", check=False)
    assert refused.returncode == 75
    assert refused.stderr == "fftd-ctl: filter keep: filter 2 is being prepared, and has found " \
        "nothing yet\n"
    faults.end()
    wait_for(daemon, 2)
    assert "filter 2 is being prepared" not in daemon.ctl("filter", "keep", check=False).stderr


def test_a_filter_for_a_camera_without_frames(start):
    daemon = start("--wait", source="v4l2:/dev/video-none", size=None, fps=None)
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "lost", "a lost camera")
    assert daemon.ctl("filter", "set", "sharpen").stdout == \
        "filter 2 waits for frames: the camera is lost\n"
