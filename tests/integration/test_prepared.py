"""Tests of what fftd-ctl says while a filter is being prepared: the driver compiles its kernels for
as long as a test wants (tests/faults/opencl.c)."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from client import Reader
from conftest import BUILD, PATIENCE

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


def in_force(said):
    """Returns the serial, the first frame and the seconds that a change has printed."""
    found = re.fullmatch(r"filter (\d+) is in force with frame (\d+), after (\d+\.\d\d) s\n", said)
    return int(found[1]), int(found[2]), float(found[3])


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
    assert (waiting.returncode, stderr) == (0, "")
    assert in_force(stdout)[0] == 2
    # The number alone is for scripts that must not wait.
    faults.begin("compile")
    assert daemon.ctl_json("filter", "set", "lowpass:cutoff=0.1", "--no-wait") == {"Serial": 3}
    assert daemon.ctl("--no-wait", "set", "lowpass.cutoff", "0.2").stdout == "filter 4\n"
    faults.end()
    wait_for(daemon, 4)
    assert "being prepared" not in daemon.ctl("status").stdout


@pytest.mark.parametrize("json_option", [[], ["--json"]], ids=["text", "json"])
def test_a_change_is_in_force_with_the_frame_that_is_named(start, json_option):
    """Every frame from that one on has the new serial, and none before it has."""
    daemon = start("--set", "output.slots=64")
    wait_for(daemon, 1)
    with Reader(daemon) as reader:
        for n, command in enumerate((["filter", "set", "gain:ac=0.5"], ["set", "gain.ac", "0.25"],
                                     ["filter", "add", "sharpen"], ["filter", "remove", "gain"],
                                     ["filter", "edit", "set", "sharpen.amount=2"],
                                     ["filter", "preset", "moire"], ["view", "difference"]), 2):
            said = daemon.ctl(*json_option, *command).stdout
            if json_option:
                told = json.loads(said)
                assert set(told) == {"Serial", "Frame", "Seconds"}
                serial, first, seconds = told["Serial"], told["Frame"], told["Seconds"]
            else:
                serial, first, seconds = in_force(said)
            assert (serial, 0 < seconds < PATIENCE) == (n, True)
            frames = reader.take_until(lambda frame, first=first: frame.sequence > first)
            assert {frame.filter_serial for frame in frames if frame.sequence >= first} == {n}
            assert n not in {frame.filter_serial for frame in frames if frame.sequence < first}


def test_what_the_driver_does_is_shown_on_a_terminal(daemon, faults):
    def shown(terminal, text):
        seen = b""
        while text not in seen:
            seen += os.read(terminal, 4096)
        return seen

    faults.begin("compile")
    master, slave = os.openpty()
    waiting = subprocess.Popen([BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, "filter",
                                "set", CHAIN], stdout=subprocess.PIPE, stderr=slave, text=True)
    os.close(slave)
    line = shown(master, b"done")
    assert re.search(rb"\rfilter 2 is being prepared, \d+\.\d s: compiling OpenCL programs, 0 of "
                     rb"\d+ done", line)
    assert b"\n" not in line
    assert daemon.ctl_json("status")["Preparing"].startswith("compiling OpenCL programs, 0 of ")
    # After 5 s the daemon says a time, too, for which the line has no room.
    cut = rb" (?:[6-9]|\d\d+)\.\d s: compiling OpenCL programs, 0 of \d+ done *\r"
    seen = b""
    while not re.search(cut, seen):
        assert b", for" not in seen
        seen += os.read(master, 4096)
    faults.end()
    shown(master, b" " * 70 + b"\r")  # the line is wiped out at the end
    assert in_force(waiting.communicate(timeout=PATIENCE)[0])[0] == 2
    os.close(master)
    assert daemon.ctl_json("status")["Preparing"] == ""


def test_a_wait_has_an_end(daemon, faults):
    faults.begin("compile")
    done = daemon.ctl("filter", "set", CHAIN, "--timeout=0.7", check=False)
    assert (done.returncode, done.stdout) == (75, "")
    said = "fftd-ctl: filter 2 is still being prepared after 0.7 s"
    assert done.stderr.splitlines()[-1].startswith(said)
    in_json = daemon.ctl("--json", "view", "edges", "--timeout=0.1", check=False)
    assert (in_json.returncode, json.loads(in_json.stderr)["code"]) == (75, 75)
    faults.end()
    wait_for(daemon, 3)  # as was said


def test_a_change_that_another_one_supersedes(daemon, faults):
    faults.begin("compile")
    waiting = begin(daemon, "filter", "set", CHAIN)
    assert daemon.change("filter", "set", "gain:ac=0.5") == 3
    stdout, _ = waiting.communicate(timeout=PATIENCE)  # although the driver still compiles
    assert (waiting.returncode, stdout) == (0, "filter 2 was superseded by filter 3\n")
    waiting = daemon.begin_ctl("--json", "filter", "set", CHAIN)
    daemon.wait_until(lambda: daemon.ctl_json("status")["Serial"] == 4, "the change")
    daemon.change("filter", "set", "none")
    stdout, _ = waiting.communicate(timeout=PATIENCE)
    assert json.loads(stdout) == {"Serial": 4, "SupersededBy": 5}
    faults.end()


def test_a_daemon_that_ends_is_not_waited_for(daemon, faults):
    faults.begin("compile")
    waiting = begin(daemon, "filter", "set", CHAIN)
    daemon.signal(signal.SIGKILL)
    daemon.wait()
    stdout, stderr = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, stdout) == (75, "")
    assert stderr == "fftd-ctl: filter 2 may be in force: the daemon has ended\n"


def test_a_stopped_daemon_is_not_waited_for_longer_than_asked(daemon, faults):
    """It has accepted the change, and says nothing any more."""
    faults.begin("compile")
    waiting = begin(daemon, "filter", "set", CHAIN, "--timeout=1.5")
    daemon.signal(signal.SIGSTOP)
    stdout, stderr = waiting.communicate(timeout=PATIENCE)
    daemon.signal(signal.SIGCONT)
    assert (waiting.returncode, stdout) == (75, "")
    assert "filter 2 " in stderr
    faults.end()


def test_a_paused_camera_is_not_woken(start):
    daemon = start("--set", "camera.idle=pause")
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")
    told = daemon.ctl("filter", "set", "gain:ac=0.5").stdout
    assert told == "filter 2 is ready for the next frame: the camera is paused until somebody " \
        "reads\n"
    status = daemon.ctl_json("status")
    assert (status["State"], status["AppliedSerial"]) == ("paused", 2)
    newest = status["Sequence"]
    with Reader(daemon) as reader:
        frames = reader.take_until(lambda frame: frame.filter_serial == 2)
    assert [frame.filter_serial for frame in frames if frame.sequence > newest] == [2]


def test_a_wait_asks_only_when_something_has_changed(daemon, faults, tmp_path):
    """While the driver compiles, the daemon has nothing to tell, and is left alone."""
    faults.begin("compile")
    waiting = begin(daemon, "filter", "set", CHAIN)

    def calls():
        return sum(int(line.split()[1]) for line in
                   pathlib.Path(f"/proc/{waiting.pid}/status").read_text().splitlines()
                   if line.startswith("voluntary_ctxt_switches"))

    before = calls()
    time.sleep(1)
    assert calls() - before <= 3
    faults.end()
    assert in_force(waiting.communicate(timeout=PATIENCE)[0])[0] == 2


def test_a_snapshot_says_which_filter_made_it(daemon, faults, tmp_path):
    assert snapshot(daemon, tmp_path).stderr == ""
    faults.begin("compile")
    daemon.change("filter", "set", CHAIN)
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
    daemon.change("filter", "set", CHAIN)
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
