"""Tests of `fftd-ctl report`: what it says of a working and of a broken set-up, and that it says
nothing private."""

import os
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
    assert text.count("\n==== ") == 11
    assert text.rstrip().splitlines()[-1]  # the last section is there, whatever it holds
    assert "==== Kernel messages" in text


def test_what_is_missing_comes_first(report, tmp_path):
    (tmp_path / "mali.icd").write_text("libmali-that-is-missing.so.1\n")
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(tmp_path))
    wrong = section(text, "What is plainly wrong")
    assert f"- {tmp_path}/mali.icd names libmali-that-is-missing.so.1, which is not" in wrong
    assert "- No OpenCL device answers." in wrong
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(tmp_path / "mali.icd"))
    assert f"- {tmp_path}/mali.icd names" in section(text, "What is plainly wrong")
    assert "- No daemon named default answers: " in wrong and "start one with" in wrong
    empty = tmp_path / "empty"
    empty.mkdir()
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(empty))
    assert "- No OpenCL driver is installed" in section(text, "What is plainly wrong")


def test_programs_that_hang_or_fail_are_part_of_it(report, tmp_path):
    write_program(tmp_path / "bin/clinfo", "echo begun", "sleep 1000")
    write_program(tmp_path / "bin/v4l2-ctl", "echo broken >&2", "exit 3")
    text = report("--runtime-dir", str(tmp_path), FFTD_REPORT_SECONDS="2")
    assert "$ clinfo\nbegun\n(did not end within 2 s)\n" in text
    assert "$ v4l2-ctl --list-devices\nbroken\n(exit code 3)\n" in text
    assert "==== Kernel messages" in text


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
