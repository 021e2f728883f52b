"""Tests of `fftd-ctl report`: what it says of a working and of a broken set-up, and that it says
nothing private."""

import os
import re
import subprocess

import pytest

from conftest import BUILD, PATIENCE


@pytest.fixture
def report(tmp_path):
    """report(options..., VARIABLE=...): its text. Programs in tmp_path/bin come first."""
    programs = tmp_path / "bin"
    programs.mkdir()

    def run(*options, **env):
        done = subprocess.run(
            [BUILD / "fftd-ctl", *options, "report"], capture_output=True, text=True, check=True,
            timeout=2 * PATIENCE,
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", **env})
        assert done.stderr == ""
        return done.stdout
    return run


def write_program(path, *commands):
    path.write_text("\n".join(["#!/bin/sh", *commands, ""]))
    path.chmod(0o755)


def section(text, title):
    return text.partition(f"==== {title}\n")[2].partition("\n====")[0]


def test_a_working_daemon_is_described(start, report):
    daemon = start("--filter", "gaussian-blur:sigma=2")
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    text = report("--runtime-dir", daemon.runtime_dir)
    wrong = section(text, "What is plainly wrong")
    assert "state" not in wrong and "daemon" not in wrong and "OpenCL" not in wrong, wrong
    told = section(text, "Daemon")
    assert "gaussian-blur:sigma=2" in told and "online" in told and "p99" in told
    assert "fftd 0." in section(text, "Versions")
    assert re.search(r"--measured\n.*\nMeasured: it moves [\d.]+ GB", section(text, "OpenCL"))
    titles = re.findall(r"\n==== (.*)\n", text)
    assert len(titles) == 11 and titles[-1] == "Kernel messages"
    assert all(section(text, title).strip() for title in titles)  # "(nothing)", if need be
    assert ("Not run as root" in text) == (os.geteuid() != 0)


def test_what_is_missing_comes_first(report, tmp_path):
    (tmp_path / "mali.icd").write_text("libmali-that-is-missing.so.1\n")
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(tmp_path))
    wrong = section(text, "What is plainly wrong")
    assert f"- {tmp_path}/mali.icd names libmali-that-is-missing.so.1, which is not" in wrong
    needs_mali = "- libmali-that-is-missing.so.1 needs the vendor's kernel driver, but there is no"
    assert (needs_mali in wrong) != os.path.exists("/dev/mali0")
    assert "- No OpenCL device answers." in wrong
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(tmp_path / "mali.icd"))
    assert f"- {tmp_path}/mali.icd names" in section(text, "What is plainly wrong")
    assert "- No daemon named default answers: " in wrong and "start one with" in wrong
    empty = tmp_path / "empty"
    empty.mkdir()
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(empty))
    assert "- No OpenCL driver is installed" in section(text, "What is plainly wrong")


def test_a_camera_that_is_absent_is_explained(start, report):
    daemon = start("--source", "v4l2:/dev/video9999", "--wait", source=None)
    daemon.wait_for_socket()
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "lost", "the loss")
    wrong = section(report("--runtime-dir", daemon.runtime_dir), "What is plainly wrong")
    assert re.search("- The camera is not online: .*lost: .*/dev/video9999 does not exist", wrong)


def test_programs_that_hang_or_fail_are_part_of_it(report, tmp_path):
    """A reader can tell what is not there from what was not looked at or not allowed."""
    write_program(tmp_path / "bin/clinfo", "echo begun", "sleep 1000")
    write_program(tmp_path / "bin/v4l2-ctl", "echo broken >&2", "exit 3")
    write_program(tmp_path / "bin/journalctl", "true")
    write_program(tmp_path / "bin/dmesg", "echo dmesg: not permitted >&2", "exit 1")
    write_program(tmp_path / "bin/id", "echo 1000")
    text = report("--runtime-dir", str(tmp_path), FFTD_REPORT_SECONDS="2")
    assert "$ clinfo\nbegun\n(did not end within 2 s)\n" in text
    assert "$ v4l2-ctl --list-devices\nbroken\n(exit code 3)\n" in text
    assert re.search(r"\$ journalctl .*\n\(no output\)\n", text)
    assert section(text, "Kernel messages").strip() == "(dmesg: not permitted)"
    assert text.splitlines()[1].startswith("Not run as root: the messages of ")


def test_it_tells_nothing_private(report, tmp_path):
    host = os.uname().nodename
    write_program(tmp_path / "bin/clinfo", f"echo 'host {host}, file /home/somebody/clip'",
                  "echo 'link 00:1b:44:11:3a:b7 of /run/user/1234/fftd'",
                  "echo 'SerialNumber: 4711'", "echo kept")
    text = report("--runtime-dir", str(tmp_path))
    assert "host HOST, file /home/USER/clip\nlink MAC-ADDRESS of /run/user/UID/fftd\nkept" in text
    assert host not in text.split() and "4711" not in text


def test_it_goes_to_a_file(report, tmp_path):
    assert report("--runtime-dir", str(tmp_path), "-o", str(tmp_path / "report.txt")) == ""
    assert "==== Kernel messages" in (tmp_path / "report.txt").read_text()
    done = subprocess.run([BUILD / "fftd-ctl", "report", "-o", tmp_path / "none/x"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 73 and "cannot write" in done.stderr
