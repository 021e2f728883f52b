"""Programs made for a message bus work on the control sockets: busctl, gdbus and dbus-send."""

import contextlib
import itertools
import shutil
import subprocess
import threading

import pytest

from conftest import PATIENCE
from dbus_peer import CAMERA

PATH = "/org/fftd/camera"
PROGRAMS = ("busctl", "gdbus", "dbus-send")


@pytest.fixture(autouse=True)
def needs():
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing")


@pytest.fixture
def daemon(start):
    daemon = start()
    for name in ("control", "control-watch"):
        daemon.wait_for_socket(name)
    daemon.wait_for_log("online")
    return daemon


def address(daemon, name="control"):
    return f"unix:path={daemon.runtime_dir / name}"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def set_filter(daemon, chain, name="control"):
    """The command of each program that sets the filter."""
    at = address(daemon, name)
    return {
        "busctl": ("busctl", f"--address={at}", "call", CAMERA, PATH, CAMERA, "SetFilter", "s",
                   chain),
        "gdbus": ("gdbus", "call", "--address", at, "--dest", CAMERA, "--object-path", PATH,
                  "--method", f"{CAMERA}.SetFilter", chain),
        "dbus-send": ("dbus-send", f"--bus={at}", "--print-reply", f"--dest={CAMERA}", PATH,
                      f"{CAMERA}.SetFilter", f"string:{chain}"),
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_filter_is_set(daemon, program):
    done = run(*set_filter(daemon, "gaussian-blur:sigma=2")[program])
    assert done.returncode == 0, done.stderr
    status = daemon.ctl_json("status")
    assert status["Filter"] == "gaussian-blur:sigma=2"
    assert str(status["Serial"]) in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_errors_arrive_with_their_words(daemon, program):
    before = daemon.ctl_json("status")["Serial"]
    done = run(*set_filter(daemon, "gaussian-blur:sigma=-2")[program])
    assert done.returncode != 0
    assert "sigma" in done.stderr and "-2" in done.stderr, done.stderr
    assert daemon.ctl_json("status")["Serial"] == before


@pytest.mark.parametrize("program", PROGRAMS)
def test_control_watch_changes_nothing(daemon, program):
    done = run(*set_filter(daemon, "gaussian-blur:sigma=2", "control-watch")[program])
    assert done.returncode != 0
    assert "denied" in done.stderr, done.stderr
    assert daemon.ctl_json("status")["Filter"] == "none"


def test_properties_are_read_and_described(daemon):
    at = f"--address={address(daemon, 'control-watch')}"
    assert run("busctl", at, "get-property", CAMERA, PATH, CAMERA, "State").stdout == 's "online"\n'
    assert "SetFilter" in run("busctl", at, "introspect", CAMERA, PATH).stdout
    assert PATH in run("busctl", at, "tree", CAMERA).stdout
    described = run("gdbus", "introspect", "--address", address(daemon), "--dest", CAMERA,
                    "--object-path", PATH)
    assert "SetFilter(in  s chain" in described.stdout, described.stderr


@contextlib.contextmanager
def running(*command):
    bounded = ["timeout", str(PATIENCE), "stdbuf", "-oL", *command]
    with subprocess.Popen(bounded, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def lines_until(process, words):
    """What the program prints, up to the line with these words."""
    lines = []
    while words not in (lines or [""])[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], f"it ended: {''.join(lines)}"
    return "".join(lines)


@pytest.mark.parametrize("command, ready", [
    (("gdbus", "monitor", "--address", "{}", "--dest", CAMERA), "is owned by"),
    (("busctl", "--address={}", "monitor"), "Monitoring bus message stream"),
], ids=["gdbus", "busctl"])
def test_changes_are_announced_to_monitors(daemon, command, ready):
    with running(*(word.format(address(daemon, "control-watch")) for word in command)) as monitor:
        lines_until(monitor, ready)
        ended = threading.Event()

        def change():  # again and again: a monitor may say that it is ready before it listens
            for sigma in itertools.cycle((3, 4)):
                daemon.ctl("filter", "set", f"gaussian-blur:sigma={sigma}")
                if ended.wait(1):
                    return
        changer = threading.Thread(target=change)
        changer.start()
        try:
            assert "PropertiesChanged" in lines_until(monitor, "gaussian-blur:sigma=3")
        finally:
            ended.set()
            changer.join()
