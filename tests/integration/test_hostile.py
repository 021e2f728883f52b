"""fftd-ctl with a daemon that wants to harm it, or the terminal that it runs in."""

import contextlib
import json
import math
import os
import socket
import subprocess
import threading
import time
import unicodedata

import pytest

from conftest import BUILD, PATIENCE
from hostile_control import Failure, HostileControl

# Sets the terminal's title, clears it, and forges a line: as C0, C1 in UTF-8, and DEL.
EVIL = "\x1b]0;owned\x07\x1b[2J\x7f\u009b31m\r\nforged line\t\u00e9"
# What is left of it. A cleaned C1 character takes two places.
CLEANED = "?]0;owned??[2J???31m  forged line \u00e9"
PROPERTIES = {
    **{name: ("s", EVIL) for name in (
        "Name", "State", "StateReason", "Source", "SourceDescription", "Input", "Output", "Engine",
        "Device", "DeviceMemory", "Filter", "FilterProblem", "Version")},
    "Format": ("a{sv}", {"name": ("s", EVIL), "width": ("u", 64), "height": ("u", 48)}),
    "Counters": ("a{st}", {EVIL: 1, "published": 2}),
    "Copies": ("a{s(tt)}", {EVIL: (3, 4)}),
    "Overhead": ("a{s(tt)}", {EVIL: (5, 6)}),
    "StepTimes": ("a{s(tt)}", {EVIL: (7, 8)}),
    "Latency": ("a{sa{st}}", {EVIL: {"p50_ns": 1000}}),
    "Measures": ("a{sd}", {EVIL: 1.5, "sharpness": 0.1}),
    "LatencyHistograms": ("a{s(tta(tt))}", {EVIL: (1, 2, [(3, 4)])}),
    "Comparison": ("a{sv}", {"device_ms": ("d", 2.0), "cpu_ms": ("d", 1.0),
                             "device": ("s", EVIL), "cpu_device": ("s", EVIL),
                             "problem": ("s", EVIL), "cpu_is_faster": ("b", True),
                             "cpu_is_used": ("b", True), "is_automatic": ("b", True)}),
    "FilterStages": ("aa{sv}", [{"kind": ("s", EVIL)}]),
    "Adaptation": ("a{sv}", {"observed": ("t", 7), "waves": ("aa{sv}", [{EVIL: ("s", EVIL)}])}),
    "Problem": ("s", EVIL),
}
CONTROL = {"name": ("s", EVIL), "type": ("s", "menu"), "value": ("x", 1),
           "menu": ("a(xs)", [(1, EVIL)])}
TEXT_CONTROL = {"name": ("s", EVIL), "type": ("s", "text"), "value": ("s", EVIL)}
KIND = {"name": ("s", EVIL), "group": ("s", EVIL), "summary": ("s", EVIL), "formula": ("s", EVIL),
        "example": ("s", EVIL),
        "parameters": ("aa{sv}", [{name: ("s", EVIL) for name in (
            "name", "summary", "type", "unit", "expected", "default")}])}
ANSWERS = {
    "GetAll": ("a{sv}", PROPERTIES),
    "GetStats": ("a{sv}", PROPERTIES),
    "GetTuning": ("a{sv}", PROPERTIES),
    "Tune": ("",),
    "ListControls": ("aa{sv}", [CONTROL, TEXT_CONTROL]),
    "ListFilters": ("aa{sv}", [KIND]),
    "GetResponse": Failure("org.fftd.Error.InvalidFilter", EVIL),
    "EditFilter": Failure("org.fftd.Error.InvalidFilter", EVIL),
    "Reload": Failure("org.evil.Error", EVIL),
    "Snapshot": Failure("org.fftd.Error.NotOnline", EVIL),
    "SetControls": Failure("org.freedesktop.DBus.Error.AccessDenied", EVIL),
}


def ctl(directory, *arguments):
    return subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", directory, *arguments],
                          capture_output=True, timeout=PATIENCE, check=False)


def controls_in(output):
    return {char for char in output.decode() if unicodedata.category(char) == "Cc"} - {"\n"}


@pytest.fixture
def directory(runtime_dir):
    runtime_dir.mkdir()
    return runtime_dir


# ---- what reaches the terminal ----

@pytest.mark.parametrize("command", [
    ["status"], ["list"], ["stats"], ["stats", "--prometheus"], ["stats", "--openmetrics"],
    ["camera", "controls"], ["filter", "show"], ["filter", "show", "--raw"]], ids=" ".join)
def test_texts_of_the_daemon_cannot_command_the_terminal(directory, command):
    with HostileControl(directory, ANSWERS):
        done = ctl(directory, *command)
    assert done.returncode == 0, done.stderr
    assert CLEANED in done.stdout.decode()
    assert not controls_in(done.stdout)
    assert b"\nforged" not in done.stdout


@pytest.mark.parametrize("command", [
    ["filter", "set", "none"], ["filter", "plot", "/none/plot.png"], ["reload"], ["snapshot"],
    ["camera", "set", "a=1"], ["tune"]], ids=" ".join)
def test_errors_of_the_daemon_cannot_command_the_terminal(directory, command):
    with HostileControl(directory, ANSWERS):
        done = ctl(directory, *command)
        in_json = ctl(directory, "--json", *command)
    assert done.returncode > 0
    assert CLEANED in done.stderr.decode()
    assert not controls_in(done.stderr) and done.stderr.count(b"\n") == 1
    assert not controls_in(in_json.stderr)
    assert EVIL in json.loads(in_json.stderr)["error"]


@pytest.mark.parametrize("command", [
    ["status"], ["list"], ["stats"], ["camera", "controls"], ["filter", "show"]], ids=" ".join)
def test_json_escapes_what_a_terminal_obeys_and_keeps_the_text(directory, command):
    def texts(value):
        if isinstance(value, dict):
            value = [*value, *value.values()]
        return {value} if isinstance(value, str) else \
            set().union(*map(texts, value)) if isinstance(value, list) else set()

    with HostileControl(directory, ANSWERS):
        done = ctl(directory, "--json", *command)
    assert done.returncode == 0, done.stderr
    assert not controls_in(done.stdout)
    assert EVIL in texts(json.loads(done.stdout))


def test_names_of_counters_add_no_metrics(directory):
    forged = 'x 1\nfftd_clients{name="forged"} 9\n#'
    answer = ("a{sv}", {"Counters": ("a{st}", {forged: 7, "new_counter": 8})})
    with HostileControl(directory, {"GetStats": answer}):
        done = ctl(directory, "stats", "--prometheus")
    assert b"new_counter" in done.stdout
    assert b"forged" not in done.stdout


# ---- replies that are not what they should be ----

def nested(depth, kind="a"):
    """Returns the signature and the value of an integer in that number of arrays or variants."""
    signature, value = "i", 1
    for _ in range(depth):
        signature, value = ("a" + signature, [value]) if kind == "a" else \
            ("v", (signature, value))
    return signature, value


@pytest.mark.parametrize("depth, kind", [(31, "a"), (100, "v"), (200, "v")])
@pytest.mark.parametrize("command", [["status"], ["list"], ["stats"]], ids=" ".join)
def test_deep_nesting_is_an_error_and_no_crash(directory, depth, kind, command):
    answer = ("a{sv}", {"State": nested(depth, kind), "Format": nested(depth, kind)})
    with HostileControl(directory, {"GetAll": answer, "GetStats": answer}):
        in_json = ctl(directory, "--json", *command)
        as_text = ctl(directory, *command)
    for done in (in_json, as_text):
        assert done.returncode in (0, 76), done.stderr
    if in_json.returncode == 0:
        json.loads(in_json.stdout)
    else:
        assert b"nested too deeply" in in_json.stderr and not in_json.stdout
    if kind == "a" and command != ["list"]:
        assert in_json.returncode == 76


@pytest.mark.parametrize("command", [
    ["status"], ["list"], ["stats"], ["stats", "--prometheus"], ["camera", "controls"],
    ["filter", "show"], ["filter", "plot", "/none/plot.png"], ["snapshot"],
    ["tune"], ["reload"]], ids=" ".join)
@pytest.mark.parametrize("answer", [
    ("",), ("s", EVIL), ("a{ss}", {"State": EVIL}), ("aas", [[EVIL], []]),
    ("a{sv}", {"Format": ("i", 1), "Counters": ("v", ("i", 1)), "Filter": ("ay", b"x")}),
    ("aa{sv}", [{"name": ("i", 1), "menu": ("s", EVIL), "parameters": ("i", 1)}]),
    ("s", b"\xff\xfe")], ids=["empty", "s", "a{ss}", "aas", "a{sv}", "aa{sv}", "not UTF-8"])
def test_unexpected_replies_do_no_harm(directory, tmp_path, command, answer):
    output = ["--output", tmp_path] if command == ["snapshot"] else []
    answers = {**{name: answer for name in ANSWERS}, "StopTuning": ("",)}
    with HostileControl(directory, answers):
        for json_option in ([], ["--json"]):
            done = ctl(directory, *json_option, *command, *output)
            assert 0 <= done.returncode <= 78, done
            assert not controls_in(done.stdout) and not controls_in(done.stderr)


@pytest.mark.parametrize("magnitudes", [
    [], 255 * [1.0], 257 * [1.0], 256 * [math.nan], 256 * [math.inf], 256 * [-1.0]],
    ids=["none", "few", "many", "NaN", "infinite", "negative"])
def test_a_response_that_is_none_is_not_drawn(directory, tmp_path, magnitudes):
    with HostileControl(directory, {"GetResponse": ("ad", magnitudes)}):
        done = ctl(directory, "filter", "plot", tmp_path / "plot.png", "none")
    assert (done.returncode, b"GetResponse" in done.stderr) == (76, True)
    assert not (tmp_path / "plot.png").exists()


# ---- the memory of a snapshot ----

WIDTH, HEIGHT = 64, 48
FOURCC_GREY = int.from_bytes(b"R8  ", "little")


def snapshot(rows=HEIGHT, stride=WIDTH, width=WIDTH, height=HEIGHT):
    plane = {"offset": 0, "stride": stride, "row_bytes": width, "rows": rows}
    layout = {"fourcc": ("u", FOURCC_GREY), "width": ("u", width), "height": ("u", height),
              "planes": ("aa{su}", [plane])}
    return {"Snapshot": ("hha{sv}t", 0, 1, layout, 5)}


def memory(size):
    fd = os.memfd_create("frame")
    os.ftruncate(fd, size)
    return fd


@contextlib.contextmanager
def closing(*fds):
    yield fds
    for fd in fds:
        os.close(fd)


def take_snapshot(directory, answers, fds, tmp_path):
    with closing(*fds), HostileControl(directory, answers, fds):
        return ctl(directory, "snapshot", "--output", tmp_path)


def test_a_snapshot_of_the_fake_daemon_is_shown(directory, tmp_path):
    size = WIDTH * HEIGHT
    done = take_snapshot(directory, snapshot(), (memory(size), memory(size)), tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == \
        ["after.png", "before.png", "side-by-side.png", "spectrum.png"]


@pytest.mark.parametrize("size", [0, 1, WIDTH * HEIGHT - 1])
def test_a_snapshot_smaller_than_its_format_is_refused(directory, tmp_path, size):
    fds = (memory(WIDTH * HEIGHT), memory(size))
    done = take_snapshot(directory, snapshot(), fds, tmp_path)
    assert done.returncode == 76
    assert b"smaller than the frame" in done.stderr


@pytest.mark.parametrize("planes", [
    {"rows": 0}, {"stride": 0}, {"rows": 2**32 - 1, "stride": 2**32 - 1},
    {"rows": 2**31, "stride": 8192}, {"width": 2**32 - 1}, {"width": 0, "height": 0}], ids=str)
def test_a_snapshot_of_an_impossible_format_is_refused(directory, tmp_path, planes):
    fds = (memory(1 << 40), memory(1 << 40))
    done = take_snapshot(directory, snapshot(**planes), fds, tmp_path)
    assert done.returncode == 76, done


@pytest.mark.parametrize("make", [
    lambda: os.pipe()[0], lambda: os.open("/", os.O_RDONLY)], ids=["pipe", "directory"])
def test_a_snapshot_that_is_no_file_is_refused(directory, tmp_path, make):
    done = take_snapshot(directory, snapshot(), (make(), make()), tmp_path)
    assert done.returncode == 76


def test_a_snapshot_that_shrinks_does_not_end_the_program(directory, tmp_path):
    """A mapping of it would: SIGBUS."""
    width = height = 2048
    size = width * height
    first, second = memory(size), memory(size)
    stop = threading.Event()

    def shrink_and_grow():
        while not stop.is_set():
            os.ftruncate(second, 0)
            time.sleep(0.0005)
            os.ftruncate(second, size)
            time.sleep(0.0005)

    thread = threading.Thread(target=shrink_and_grow)
    answers = snapshot(height, width, width, height)
    with closing(first, second), HostileControl(directory, answers, (first, second)):
        thread.start()
        codes = {ctl(directory, "snapshot", "before", "after", "--output", tmp_path).returncode
                 for _ in range(5)}
        stop.set()
        thread.join()
    assert codes <= {0, 76}, codes


# ---- a daemon that does not answer ----

def test_a_queue_of_connections_that_stays_full_is_an_error(directory):
    with socket.socket(socket.AF_UNIX) as mute, contextlib.ExitStack() as queue:
        mute.bind(str(directory / "control"))
        mute.listen(0)
        while True:
            waiting = queue.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            if waiting.connect_ex(str(directory / "control")) != 0:
                break
        done = ctl(directory, "status")
    assert done.returncode == 75
    assert f"the daemon in {directory} does not answer: try again later".encode() in done.stderr


def test_a_daemon_that_accepts_no_connection_is_silent(directory):
    """sd-bus alone waits for the end of the handshake for 90 s."""
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(directory / "control"))
        mute.listen()
        began = time.monotonic()
        done = ctl(directory, "list")
        took = time.monotonic() - began
    assert done.returncode == 0 and b" silent " in done.stdout, done
    assert took < 60, f"{took:.0f} s, of which the limit is 2"
