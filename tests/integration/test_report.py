"""Tests of `fftd-ctl report`: what it says of a working and of a broken set-up, and that it says
nothing private."""

import glob
import os
import re
import shutil
import stat
import subprocess
import tempfile

import pytest

from conftest import BUILD, PATIENCE, needs_root


@pytest.fixture
def report(tmp_path):
    """report(options..., VARIABLE=...): its text. Programs in tmp_path/bin come first."""
    programs = tmp_path / "bin"
    programs.mkdir()

    def run(*options, **env):
        done = subprocess.run(
            [BUILD / "fftd-ctl", *options, "report"], capture_output=True, text=True,
            check=True, timeout=2 * PATIENCE,
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", **env})
        assert done.stderr == ""
        assert not done.stdout or done.stdout.count("\n==== ") == 11  # it did not end early
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
    assert "no camera" not in wrong  # the daemon's source is a test scene
    head = text.partition("\n====")[0]
    assert head.splitlines()[0].endswith(f"daemon {daemon.ctl_json('status')['Name']}")
    assert "\nThe camera is online\n" in head and "\nThe filter: gaussian-blur:sigma=2\n" in head
    assert re.search(r"\nThe frames: \d+ published, [\d.]+ per second", head)
    told = section(text, "Daemon")
    assert "gaussian-blur:sigma=2" in told and "online" in told and "p99" in told
    assert "fftd 0." in section(text, "Versions")
    titles = re.findall(r"\n==== (.*)\n", text)
    assert titles[-1] == "Kernel messages"
    assert all(section(text, title).strip() for title in titles)  # "(nothing)", if need be
    assert ("Not run as root" in text) == (os.geteuid() != 0)


def test_a_device_that_fails_is_not_the_cameras_fault(start_faulty, faults, report):
    daemon = start_faulty("--filter", "gaussian-blur:sigma=2")  # `none` asks the device nothing
    daemon.wait_for_log("online")
    faults.begin("enqueue -5")
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "failed", "the failure")
    wrong = section(report("--runtime-dir", daemon.runtime_dir), "What is plainly wrong")
    assert re.search("- The OpenCL device does not filter: .*CL_OUT_OF_RESOURCES", wrong), wrong
    assert "camera" not in wrong, wrong


def test_what_is_missing_comes_first(report, tmp_path):
    (tmp_path / "mali.icd").write_text("libmali-that-is-missing.so.1\n")
    text = report("--runtime-dir", str(tmp_path), OCL_ICD_VENDORS=str(tmp_path))
    wrong = section(text, "What is plainly wrong")
    assert f"- {tmp_path}/mali.icd names libmali-that-is-missing.so.1, which is not" in wrong
    needs_mali = "- libmali-that-is-missing.so.1 needs the vendor's kernel driver, but there is no"
    assert (needs_mali in wrong) != os.path.exists("/dev/mali0")
    assert "- No OpenCL device answers" in wrong
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
    assert re.search("- The camera is not online: lost: .*/dev/video9999 does not exist", wrong)
    assert "Its source is v4l2:/dev/video9999." in wrong
    assert ("There is no camera" in wrong) == (not glob.glob("/dev/video*"))


def test_a_mistake_in_the_configuration_is_told(report, tmp_path):
    """It is there in words, although the daemon that read it has gone, with what to do then."""
    config = tmp_path / "front.conf"
    config.write_text('camera = { source = "pattern:moire"; };\nfilter = "gausian-blur";\n')
    text = report("--name", "front", FFTD_REPORT_CONFIG=str(config))
    (told,) = [line for line in section(text, "What is plainly wrong").splitlines()
               if "configuration" in line]
    assert f"{config}:2: filter: unknown filter gausian-blur" in told
    assert "did you mean gaussian-blur?" in told and "systemctl restart fftd@front" in told
    config.write_text('camera = { source = "pattern:moire"; };\n')
    wrong = section(report("--name", "front", FFTD_REPORT_CONFIG=str(config)),
                    "What is plainly wrong")
    assert "configuration" not in wrong and "no camera" not in wrong
    config.unlink()
    wrong = section(report("--name", "front", FFTD_REPORT_CONFIG=str(config)),
                    "What is plainly wrong")
    assert f"- There is no {config}, without which the service fftd@front does not start" in wrong


def test_the_service_that_failed_tells_its_last_error(report, tmp_path):
    write_program(tmp_path / "bin/systemctl", "echo failed", "exit 3")
    write_program(tmp_path / "bin/journalctl",
                  'case "$*" in *_SYSTEMD_UNIT=fftd@front.service) echo it is on fire; esac')
    wrong = section(report("--name", "front"), "What is plainly wrong")
    assert "- The service fftd@front has failed. Its last error: it is on fire" in wrong


@needs_root
def test_who_is_not_let_in_is_told_what_to_do(start, report):
    daemon = start()
    daemon.wait_for_socket()
    for folder in (daemon.runtime_dir.parent, daemon.runtime_dir):
        folder.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="fftd-test-") as place:
        os.chmod(place, 0o755)
        program = shutil.copy(BUILD / "fftd-ctl", place)  # they may not enter the build folder
        text = subprocess.run([program, "--runtime-dir", daemon.runtime_dir, "report"], cwd="/",
                              user=65534, extra_groups=[], text=True, stdout=subprocess.PIPE,
                              check=True, timeout=2 * PATIENCE).stdout
    wrong = section(text, "What is plainly wrong")
    assert "- This user may not ask the daemon: permission denied" in wrong
    assert "sudo adduser USER fftd" in wrong and "There is no camera" not in wrong
    assert "OpenCL" not in wrong  # the daemon runs
    assert re.search(r"\n +srw------- root control\n", section(text, "Daemon"))
    assert "Groups of this user that fftd's files and devices belong to:" in text


def test_a_driver_that_crashes_is_told(tmp_path):
    """A crash while devices are listed is not the same as a machine without devices."""
    shutil.copy(BUILD / "fftd-ctl", tmp_path)
    write_program(tmp_path / "fftd", "kill -SEGV $$")
    text = subprocess.run([tmp_path / "fftd-ctl", "--name", "front", "report"], text=True,
                          stdout=subprocess.PIPE, check=True, timeout=2 * PATIENCE).stdout
    wrong = section(text, "What is plainly wrong")
    assert "- Listing the OpenCL devices ended with signal 11: a driver crashes." in wrong


@needs_root
def test_nodes_that_the_service_may_not_open_are_told(tmp_path, report):
    """A node is for the group of the service, or for everybody, as mali0 of some kernels."""
    write_program(tmp_path / "bin/id", 'case "$*" in -u) echo 0;; *) echo fftd; esac')
    nodes = tmp_path / "dev"
    nodes.mkdir()
    for name, mode in ("mali0", 0o600), ("video0", 0o660), ("video1", 0o666), ("video2", 0o660):
        try:
            os.mknod(nodes / name, stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("this root may not make device nodes")
        os.chmod(nodes / name, mode)
    shutil.chown(nodes / "video2", group="video")
    wrong = section(report("--name", "front", FFTD_REPORT_DEV=str(nodes)), "What is plainly wrong")
    told = re.findall(r"may not open (\S+): its mode is (\S+) and its group is (\S+)\. .*"
                      r'KERNEL=="(\S+)", GROUP="video", MODE="0660"', wrong)
    assert told == [(f"{nodes}/mali0", "crw-------", "root", "mali0"),
                    (f"{nodes}/video0", "crw-rw----", "root", "video0")]


def test_programs_that_hang_or_fail_are_part_of_it(report, tmp_path):
    """A reader can tell what is not there from what was not looked at or not allowed."""
    write_program(tmp_path / "bin/clinfo", "echo begun", "sleep 1000")
    write_program(tmp_path / "bin/v4l2-ctl", "echo broken >&2", "exit 3")
    write_program(tmp_path / "bin/journalctl", "true")
    write_program(tmp_path / "bin/dmesg", "echo dmesg: not permitted >&2", "exit 1")
    write_program(tmp_path / "bin/id", "echo 1000")
    text = report("--runtime-dir", str(tmp_path), FFTD_REPORT_SECONDS="6")
    assert "$ clinfo\nbegun\n(did not end within 6 s)\n" in text
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


def test_it_tells_no_password_and_no_serial_number(start, report, tmp_path):
    """What the daemon of an older version has left in the journal is also part of it."""
    name = "/dev/v4l/by-id/usb-046d_HD_Pro_Webcam_C920_4711AFFE-video-index0"
    write_program(tmp_path / "bin/journalctl",
                  f"echo 'lost: {name} (it is gone): no device'",
                  f"echo 'reloaded: camera.source = v4l2:{name}, {name}; {name}'",
                  "echo 'lost: gst:rtspsrc location=rtsp://admin:geheim1@cam/1 user-pw=geheim2'",
                  "head -c 70000 /dev/zero | tr '\\0' x; echo 'rtsp://admin:geheim3@cam/1'",
                  "seq 100000")
    write_program(tmp_path / "bin/clinfo", "head -c 59990 /dev/zero | tr '\\0' x; echo",
                  "echo 'rtsp://admin:geheim4@cam/1'")
    config = tmp_path / "front.conf"
    config.write_text('camera = { source = "gst:rtspsrc location=\\"rtsp://admin:geheim5@cam/1\\" '
                      '! decodebin"; };\n')
    daemon = start("--source", f"v4l2:{name}", "--wait", source=None)
    daemon.wait_for_socket()
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "lost", "the loss")
    text = report("--runtime-dir", daemon.runtime_dir, FFTD_REPORT_CONFIG=str(config))
    assert "4711AFFE" not in text and "geheim" not in text and "admin" not in text
    assert "lost: /dev/v4l/by-id/NAME (it is gone): no device\n" in text
    assert "= v4l2:/dev/v4l/by-id/NAME, /dev/v4l/by-id/NAME; /dev/v4l/by-id/NAME\n" in text
    assert "lost: gst:rtspsrc location=rtsp://***@cam/1 user-pw=***" in text
    assert 'source = "gst:rtspsrc location=\\"rtsp://***@cam/1\\" ! decodebin";' in text
    assert "Its source is v4l2:/dev/v4l/by-id/NAME." in text


def test_a_reader_may_close_the_pipe(tmp_path):
    done = subprocess.run(["sh", "-c", '"$1" --runtime-dir "$2" report | head -n 1', "sh",
                           BUILD / "fftd-ctl", tmp_path], capture_output=True, text=True,
                          timeout=2 * PATIENCE, check=True)
    assert done.stdout.startswith("Report of fftd") and done.stderr == ""


def test_it_goes_to_a_file(report, tmp_path):
    assert report("--runtime-dir", str(tmp_path), "-o", str(tmp_path / "report.txt")) == ""
    assert "==== Kernel messages" in (tmp_path / "report.txt").read_text()
    assert [path.name for path in tmp_path.glob("report*")] == ["report.txt"]
    done = subprocess.run([BUILD / "fftd-ctl", "report", "-o", tmp_path / "none/x"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 73 and "cannot create" in done.stderr
