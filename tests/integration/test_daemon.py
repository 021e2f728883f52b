"""Tests of error messages and exit codes of the daemon."""

import json
import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE
from service_manager import ServiceManager

USAGE, UNAVAILABLE, TEMPFAIL, CONFIG = 64, 69, 75, 78


def assert_refused(done, code, *texts):
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    for text in texts:
        assert text in done.stderr
    assert done.stderr.count("\n") == 1, f"one message, not {done.stderr}"


@pytest.mark.parametrize("arguments, texts", [
    (["--nonsense"], ["--nonsense", "--help"]),
    (["--config"], ["--config", "expected a value"]),
    (["stray"], ["stray", "expected only options"]),
    (["-xv"], ["-x", "unknown option"]),
    (["--verbose=3"], ["--verbose=3", "no value"]),
    (["--json"], ["--json", "--list-devices"]),
    (["--size", "640"], ["--size", "640", "WIDTHxHEIGHT"]),
    (["--size", "8x8"], ["--size", "8x8", "16"]),
    (["--fps", "nan"], ["--fps", "nan"]),
    (["--fps", "0"], ["--fps", "0"]),
    (["--fps", "fast"], ["--fps", "fast", "auto or max"]),
    (["--frames", "-1"], ["--frames", "-1"]),
    (["--name", "a/b"], ["--name", "a/b", "letters"]),
    (["--source", "nonsense"], ["--source", "nonsense", "SCHEME:WHAT"]),
    (["--set", "engine.precision=double"], ["--set", "double", "float", "half"]),
    (["--set", "engine.nonsense=1"], ["--set", "engine.nonsense"]),
    (["--set", "nonsense"], ["--set", "nonsense"]),
    (["--filter", "lowpas:cutoff=0.1"], ["--filter", "lowpas", "lowpass"]),
    (["--filter", "lowpass:cutoff=0.7"], ["--filter", "cutoff", "0.7", "0.5"]),
    (["--filter", "lowpass:cutoff=nan"], ["--filter", "cutoff", "nan"]),
    (["--filter", "lowpass"], ["--filter", "lowpass", "cutoff"]),
    (["--filter", "preset:nonsense"], ["--filter", "nonsense"]),
])
def test_wrong_option(fftd, arguments, texts, runtime_dir):
    assert_refused(fftd(*arguments), USAGE, *texts)
    assert not runtime_dir.exists()


@pytest.mark.parametrize("text, texts", [
    ("camera: { sourse = \"pattern:bars\"; };", [":1:", "camera.sourse"]),
    ("\ncamera: { size = 640; };", [":2:", "camera.size", "640"]),
    ("output: { slots = 1; };", [":1:", "output.slots", "1", "4"]),
    ("output: { slots = \"eight\"; };", [":1:", "output.slots", "eight"]),
    ("engine: { precision = \"double\"; };", [":1:", "engine.precision", "double", "half"]),
    ("filter = \"lowpass:cutoff=2\";", [":1:", "cutoff", "2"]),
    ("camera: { ", [":1:"]),
])
def test_wrong_configuration(fftd, tmp_path, runtime_dir, text, texts):
    path = tmp_path / "fftd.conf"
    path.write_text(text)
    assert_refused(fftd("--config", path), CONFIG, str(path), *texts)
    assert_refused(fftd("--config", path, "--check"), CONFIG, str(path), *texts)
    assert not runtime_dir.exists()


@pytest.mark.parametrize("option", ["--config={}", "--nonsense"])
def test_a_journal_knows_why_the_daemon_did_not_start(tmp_path, option):
    """journalctl -p err left out what was wrong before the camera had its name."""
    (tmp_path / "front.conf").write_text("filter = 7;\n")
    read, write = os.pipe()
    about = os.fstat(write)
    done = subprocess.run([BUILD / "fftd", option.format(tmp_path / "front.conf")], stderr=write,
                          timeout=PATIENCE, check=False, env={
                              **os.environ, "JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"})
    os.close(write)
    with open(read, encoding="utf-8") as journal:
        said = journal.read()
    assert done.returncode in (USAGE, CONFIG)
    assert said.startswith("<3>") and said.count("\n") == 1, said


def test_no_configuration_file(fftd, tmp_path):
    assert_refused(fftd("--config", tmp_path / "nonsense.conf"), CONFIG, "nonsense.conf")
    assert_refused(fftd("--config", tmp_path), CONFIG, str(tmp_path))


def test_configuration_file_that_may_not_be_read(fftd, tmp_path):
    # Root reads every file unless it gives up that capability.
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    path = tmp_path / "fftd.conf"
    path.touch(mode=stat.S_IWUSR)
    done = fftd("--config", path, wrapper=without if os.geteuid() == 0 else [])
    assert_refused(done, CONFIG, str(path), "ermission")


def test_check_prints_a_configuration_that_reads_back(fftd, tmp_path):
    done = fftd("--source", "pattern:bars", "--size", "320x240", "--fps", "12.5", "--filter",
                "notch:at=0.25/0,width=0.01 | sharpen:amount=0.5", "--check")
    assert done.returncode == 0, done.stderr
    assert 'source = "pattern:bars"' in done.stdout
    path = tmp_path / "fftd.conf"
    path.write_text(done.stdout)
    again = fftd("--config", path, "--check")
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout


def test_help_and_version(fftd):
    about = fftd("--help").stdout
    assert about.startswith("Usage: fftd")
    assert "Examples:" in about
    assert all(len(line) < 80 for line in about.splitlines())
    assert fftd("-h").returncode == 0
    assert fftd("--version").stdout.startswith("fftd 0.")


def test_list_devices(fftd):
    done = fftd("--list-devices")
    assert done.returncode == 0
    assert "OpenCL devices:" in done.stdout
    listed = json.loads(fftd("--list-devices", "--json").stdout)
    assert isinstance(listed["cameras"], list)
    assert all("name" in device for device in listed["opencl"])


def test_no_opencl_device(fftd, runtime_dir):
    done = fftd("--source", "pattern:bars", env={"OCL_ICD_VENDORS": "/nonexistent/"})
    assert_refused(done, UNAVAILABLE, "OpenCL")
    assert not runtime_dir.exists()


def test_no_opencl_device_of_that_name(fftd):
    assert_refused(fftd("--source", "pattern:bars", "--device", "nonsense"), UNAVAILABLE,
                   "nonsense")


def test_no_such_camera(fftd, runtime_dir):
    assert_refused(fftd("--source", "v4l2:/dev/video99", "--fps", "max"), CONFIG, "rate max",
                   "expected a number")
    assert_refused(fftd("--source", "v4l2:/dev/video99"), UNAVAILABLE,
                   "camera /dev/video99 does not exist; `fftd --list-devices` shows")
    assert_refused(fftd("--source", "file:/nonexistent.y4m"), UNAVAILABLE, "/nonexistent.y4m")
    assert not runtime_dir.exists()


def test_no_such_scene_and_no_such_scheme(fftd):
    assert_refused(fftd("--source", "pattern:nonsense"), CONFIG, "nonsense", "moire")
    assert_refused(fftd("--source", "nonsense:bars"), CONFIG, "nonsense", "v4l2")


def test_a_format_that_the_source_refuses(fftd, tmp_path):
    path = tmp_path / "clip.y4m"
    path.write_bytes(b"YUV4MPEG2 W64 H48 F50:1 Ip A1:1 C420\nFRAME\n" + bytes(64 * 48 * 3 // 2))
    assert_refused(fftd("--source", f"file:{path}", "--set", "camera.format=YUYV"), CONFIG,
                   str(path), "YUYV")
    path.write_bytes(b"no film at all")
    assert_refused(fftd("--source", f"file:{path}"), CONFIG, str(path))


def test_second_daemon_of_the_same_name(start, fftd):
    daemon = start()
    with Reader(daemon) as reader:
        before = reader.next().sequence
        assert_refused(fftd("--source", "pattern:bars"), TEMPFAIL, str(daemon.runtime_dir))
        assert reader.next().sequence > before
    assert daemon.stop() == 0


def test_ready_with_the_first_frame(start, runtime_dir):
    manager = ServiceManager(runtime_dir.parent / "notify")
    daemon = start(env=manager.env)
    status = manager.wait_for("READY=1")
    assert "STATUS=online" in status
    with Reader(daemon) as reader:
        assert reader.next().sequence >= 1
    # Type=notify-reload expects the time of the reload, and then its end.
    asked_us = time.monotonic_ns() // 1000
    daemon.signal(signal.SIGHUP)
    reloading = dict(line.split("=", 1) for line in manager.wait_for("RELOADING=1").split("\n"))
    assert asked_us <= int(reloading["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    manager.wait_for("READY=1")
    assert daemon.stop() == 0
    manager.wait_for("STOPPING=1")


def test_a_reload_while_starting_does_not_report_ready(start_faulty, faults, runtime_dir):
    manager = ServiceManager(runtime_dir.parent / "notify")
    faults.begin("hang")  # delays the first frame
    daemon = start_faulty(env=manager.env)
    daemon.wait_for_socket()
    daemon.signal(signal.SIGHUP)
    daemon.wait_for_log("the reload failed and changed nothing")
    faults.end()
    assert "STATUS=online" in manager.wait_for("READY=1")
    assert daemon.stop() == 0


def test_a_service_manager_that_does_not_read(start, runtime_dir, tmp_path):
    """Frames, clients, reloads and the end do not wait for it."""
    manager = ServiceManager(runtime_dir.parent / "notify", watchdog=1)
    manager.fill()
    config = tmp_path / "fftd.conf"
    config.write_text('filter = "none";')
    daemon = start("--config", config, *FAST_KERNELS, env=manager.env)
    with Reader(daemon) as reader:
        for n in range(2, 22):
            config.write_text(f'filter = "gain:ac={n / 50}";')
            daemon.signal(signal.SIGHUP)
            reader.take_until(lambda frame, serial=n: frame.filter_serial == serial)
            with Reader(daemon) as another:
                another.next()
        assert daemon.ctl_json("status")["State"] == "online"
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() == 0


def test_a_service_waits_for_its_camera(start, runtime_dir):
    manager = ServiceManager(runtime_dir.parent / "notify")
    daemon = start(source="v4l2:/dev/video99", env=manager.env)
    assert "lost" in manager.wait_for("READY=1")
    assert daemon.ctl_json("status")["State"] == "lost"
    assert daemon.log.count("/dev/video99") == 1
    assert daemon.stop() == 0


def test_garbage_on_both_sockets_changes_nothing(start):
    daemon = start()
    with Reader(daemon) as reader:
        reader.next()
        for name, kind in (("frames", socket.SOCK_SEQPACKET), ("control", socket.SOCK_STREAM),
                           ("control-watch", socket.SOCK_STREAM)):
            with socket.socket(socket.AF_UNIX, kind) as garbage:
                garbage.settimeout(PATIENCE)
                garbage.connect(str(daemon.runtime_dir / name))
                garbage.send(b"\x01nonsense" * 100)
                try:
                    while garbage.recv(4096): # it may answer before it closes the connection
                        pass
                except ConnectionResetError:
                    pass
        before = reader.next()
        after = reader.take_until(lambda frame: frame.sequence > before.sequence + 5)[-1]
        assert after.digest == before.digest
    assert daemon.ctl_json("status")["State"] == "online"
    assert daemon.stop() == 0


# ---- compiled programs ----

def test_pocl_compiles_each_kernel_once(start, tmp_path):
    """PoCL builds another variant of every kernel, in a directory 0-0-0, for a program's binary."""
    env = {"POCL_CACHE_DIR": str(tmp_path / "pocl")}
    arguments = [*FAST_KERNELS, "--set", f"engine.cache_dir={tmp_path / 'cache'}"]
    daemon = start(*arguments, env=env, size="32x16")
    daemon.wait_for_log("online")
    if "Portable Computing Language" not in daemon.ctl("status").stdout:
        pytest.skip("the OpenCL device is not PoCL")
    assert "compiling" in daemon.log
    compiled = list((tmp_path / "pocl").rglob("*.so"))
    assert compiled and not [path for path in compiled if "0-0-0" in path.parts]
    daemon.signal(signal.SIGTERM)
    daemon.wait()

    daemon = start(*arguments, env=env, size="32x16")
    daemon.wait_for_log("online")
    assert "compiling" not in daemon.log
    assert set((tmp_path / "pocl").rglob("*.so")) == set(compiled)
