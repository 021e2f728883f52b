"""Tests of fftd-ctl with the real daemon: its output, its files and its exit codes."""

import json
import math
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

from client import Recorder
from conftest import BUILD, FAST_KERNELS, PATIENCE, needs_root, wait_until
from dbus_peer import Peer
from png import Png

CTL = BUILD / "fftd-ctl"
ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ["list", "status", "output", "stats", "watch", "filter", "set", "view", "camera",
            "reload", "snapshot", "frames", "convert", "calibrate", "diagnose", "motion", "tune",
            "check", "devices", "report"]
FORMATS = {"Y10": 2, "YUYV": 2, "NV12": 1.5, "RGB24": 3}


def run(*arguments, **options):
    return subprocess.run([CTL, *arguments], capture_output=True, check=False,
                          **{"text": True, "timeout": PATIENCE, **options})


def assert_refused(done, code, *texts):
    assert done.returncode == code, done.stderr
    for text in texts:
        assert text in done.stderr
    assert done.stderr.count("\n") == 1, f"one message, not {done.stderr}"


@pytest.fixture
def daemon(start):
    daemon = start()
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    return daemon


def picture(daemon, kind):
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    done = subprocess.run([CTL, "--runtime-dir", daemon.runtime_dir, "snapshot", kind, "-o", "-"],
                          capture_output=True, timeout=PATIENCE, check=True)
    return Png(done.stdout)


def y4m(width, height, frames, colour="mono"):
    return f"YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C{colour}\n".encode() + \
        b"".join(b"FRAME\n" + frame for frame in frames)


# ---- help ----

def test_help_teaches():
    done = run("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"\n  {command} " in done.stdout
        about = run(command, "--help")
        assert max(map(len, about.stdout.splitlines())) < 80
        assert about.returncode == 0
        usage = f"Usage: fftd-ctl [OPTION...] {command}"
        assert about.stdout.startswith(usage)
    assert max(map(len, done.stdout.splitlines())) < 80
    assert "\n  fftd-ctl " in done.stdout.partition("\nExamples:\n")[2]
    assert "fftd-ctl " in run("--version").stdout


def test_manual_and_completion_know_every_command():
    manual = (ROOT / "docs/man/fftd-ctl.1").read_text()
    assert complete("") == sorted(COMMANDS)
    for command in COMMANDS:
        assert f".It Cm {command}" in manual


def complete(*words):
    """What bash offers for the last of these words."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fftd_ctl; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(
        ["bash", "-c", script, "bash", ROOT / "client/fftd-ctl/completion/fftd-ctl", CTL, *words],
        capture_output=True, text=True, timeout=PATIENCE, check=True)
    return sorted(done.stdout.split())


@pytest.mark.parametrize("command, options", [
    ("status", {"timeout"}), ("output", {"size", "fps", "set"}), ("view", {"no-wait", "timeout"}),
    ("stats", {"watch", "count", "csv", "openmetrics", "prometheus", "output"}),
    ("filter", {"raw", "if-serial", "fade", "no-wait", "timeout", "all", "config"}),
    ("set", {"if-serial", "fade", "no-wait", "timeout"}), ("frames", {"count", "output", "raw"}),
    ("diagnose", {"count", "apply", "report"}), ("calibrate", {"count", "output"}),
    ("convert", {"filter", "size", "pixel-format", "fps", "raw", "two-pass", "compare", "resume",
                 "set"})])
def test_completion_knows_the_options(command, options):
    assert set(complete(command, "--")) == \
        {f"--{each}" for each in options | {"name", "runtime-dir", "json", "help"}}
    assert "--version" in complete("--")


def test_manual_and_help_list_the_same_exit_codes():
    manual = (ROOT / "docs/man/fftd-ctl.1").read_text()
    status = manual[manual.index(".Sh EXIT STATUS"):manual.index(".Sh EXAMPLES")]
    listed = re.findall(r"\b(\d+)  \S", run("--help").stdout.partition("Exit codes")[2])
    assert sorted(map(int, listed)) == list(map(int, re.findall(r"^\.It (\d+)", status, re.M)))


def test_manual_knows_every_key(fftd):
    manual = (ROOT / "docs/man/fftd.conf.5").read_text()
    keys = re.findall(r"^\.It Va (\S+) No = (?:Qq )?(\S+)", manual, re.M)
    group, expected = "", []
    for line in (ROOT / "config/fftd.conf").read_text().splitlines():
        if found := re.match(r"(\w+) = \{", line):
            group = found[1] + "."
        elif line.startswith("}"):
            group = ""
        elif found := re.match(r' *(\w+) = "?([^";]*)"?;', line):
            expected.append((group + found[1], found[2]))
    assert keys == expected


@pytest.mark.parametrize("arguments, texts", [
    ([], ["expected a command", "--help"]),
    (["wobble"], ["wobble"]),
    (["--wobble", "status"], ["--wobble"]),
    (["status", "more"], ["status"]),
    (["status", "--raw"], ["status", "--raw"]),
    (["filter"], ["filter"]),
    (["filter", "wobble"], ["wobble", "show"]),
    (["filter", "set"], ["CHAIN"]),
    (["filter", "plot"], ["FILE"]),
    (["filter", "add", "lowpass", "x"], ["x"]),
    (["filter", "add", "--", "lowpass", "-18446744073709551615"], ["-18446744073709551615"]),
    (["--json=x", "list"], ["--json=x", "no value"]),
    (["--help=x"], ["--help=x", "no value"]),
    (["set", "lowpass.cutoff"], ["lowpass.cutoff", "value"]),
    (["--name", "front", "set", "cutoff", "1"],
     ["cutoff", "STAGE.PARAMETER", "`fftd-ctl --name front filter show` lists"]),
    (["--name", "front", "watch"], ["use `fftd-ctl --name front stats --watch`"]),
    (["--name", "front", "--json", "watch"], ["`fftd-ctl --name front --json stats --watch`"]),
    (["set", "gain.dc", "-1"], ["-1", "NAME=VALUE"]),
    (["camera"], ["ACTION"]),
    (["camera", "wobble"], ["wobble", "controls"]),
    (["camera", "controls", "x"], ["camera controls"]),
    (["camera", "set"], ["NAME=VALUE"]),
    (["snapshot", "wobble"], ["wobble", "spectrum"]),
    (["snapshot", "-o", "-"], ["stdout"]),
    (["frames", "-n", "0"], ["--count"]),
    (["diagnose", "-n", "1001"], ["--count", "1000"]),
    (["diagnose", "--apply", "clip.y4m"], ["--apply", "clip.y4m"]),
    (["diagnose", "a.y4m", "b.y4m"], ["FILE"]),
    (["snapshot", "--report", "x"], ["snapshot", "--report"]),
    (["motion", "x"], ["no operand"]),
    (["motion", "--seconds", "0.4"], ["--seconds", "0.5 .. 120"]),
    (["motion", "--seconds", "121"], ["--seconds", "0.5 .. 120"]),
    (["motion", "--csv", "--json"], ["--csv", "--json"]),
    (["motion", "--csv", "-o", "x"], ["--csv", "--output"]),
    (["motion", "--at", "5"], ["--at", "--picture"]),
    (["motion", "--at", "0", "--picture", "x"], ["--at", "0.01"]),
    (["motion", "--region", "1,2,3"], ["1,2,3", "X,Y,WxH"]),
    (["motion", "--region", "1,2,3x0"], ["1,2,3x0", "X,Y,WxH"]),
    (["motion", "--region", "-1,2,3x4"], ["-1,2,3x4", "X,Y,WxH"]),
    (["motion", "--region", "1,2,3x4,5"], ["1,2,3x4,5", "X,Y,WxH"]),
    (["motion", "--region", "1,2,3x99999999999999999999"], ["X,Y,WxH"]),
    (["motion", "--region", "a b=1,2,3x4"], ["a b=", "name"]),
    (["motion", "--region", "=1,2,3x4"], ["=1,2,3x4", "name"]),
    (["motion", "--region", "a" * 32 + "=1,2,3x4"], ["31 letters"]),
    (["motion", "--region", "a=1,2,3x4", "--region", "a=5,6,7x8"], ["two regions a"]),
    (["motion", *["--region", "1,2,3x4"] * 9], ["at most 8"]),
    (["status", "--seconds", "5"], ["status", "--seconds"]),
    (["frames", "-n", "-1"], ["--count"]),
    (["stats", "--watch=0"], ["--watch"]),
    (["--name", "a/b", "status"], ["a/b"]),
])
def test_wrong_usage(arguments, texts):
    assert_refused(run(*arguments), 64, *texts)


def test_no_daemon(tmp_path):
    env = dict(os.environ, XDG_RUNTIME_DIR=str(tmp_path))
    for command in (["status"], ["stats"], ["filter", "show"], ["filter", "set", "none"],
                    ["snapshot"], ["diagnose"], ["motion"], ["frames", "-o", str(tmp_path / "x")]):
        assert_refused(run("--name", "nobody", *command, env=env), 69, "nobody", "/run/fftd/nobody",
                       "systemctl start fftd@nobody", "fftd --name nobody")
    assert_refused(run("--runtime-dir", "/none", "status"), 69, "/none", "fftd --runtime-dir /none")
    done = run("--json", "--runtime-dir", "/none", "status")
    assert json.loads(done.stderr)["code"] == done.returncode == 69
    assert not (tmp_path / "x").exists()


def test_a_daemon_that_died(daemon):
    daemon.process.kill()
    daemon.wait()
    place = ("--runtime-dir", daemon.runtime_dir)
    assert_refused(run(*place, "status"), 69, str(daemon.runtime_dir))
    assert json.loads(run(*place, "--json", "list").stdout)[0]["State"] == "dead"


def test_a_relative_runtime_directory(daemon, tmp_path):
    """A path without a slash is still a directory, and not the name of a camera."""
    place = ["--runtime-dir", daemon.runtime_dir.name]
    for command in (["status"], ["stats"], ["list"], ["frames", "-n", "1", "-o", tmp_path / "x"]):
        done = run(*place, *command, cwd=daemon.runtime_dir.parent)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").stat().st_size > 160 * 120
    assert_refused(run("--runtime-dir", "", "status"), 64, "--runtime-dir")


@needs_root
def test_no_permission(daemon):
    os.chmod(daemon.runtime_dir.parent, 0o711)
    os.chmod(daemon.runtime_dir, 0o711)
    # A copy, because other users may have no access to the tree.
    program = daemon.runtime_dir.parent / "fftd-ctl"
    program.write_bytes(CTL.read_bytes())
    program.chmod(0o755)

    # They have none to the files in the options of sanitizers either.
    env = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}

    def as_nobody(*arguments):
        return subprocess.run([program, "--runtime-dir", daemon.runtime_dir, *arguments],
                              user=65534, group=65534, extra_groups=[], capture_output=True,
                              text=True, cwd="/", timeout=PATIENCE, check=False, env=env)

    assert_refused(as_nobody("status"), 77, "permission")
    os.chmod(daemon.runtime_dir / "control-watch", 0o666)
    assert "online" in as_nobody("status").stdout
    assert_refused(as_nobody("filter", "set", "none"), 77, f"{daemon.runtime_dir}/control")


# ---- JSON ----

JSON_COMMANDS = [
    ["list"], ["status"], ["stats"], ["stats", "--watch=0.05", "-n", "1"],
    ["filter", "set", "lowpass:cutoff=0.1"], ["filter", "add", "sharpen:amount=1"],
    ["filter", "show"], ["set", "1.cutoff", "0.2"], ["filter", "save", "saved.conf"],
    ["filter", "remove", "1"], ["filter", "preset", "moire"], ["filter", "kinds"],
    ["filter", "presets"], ["filter", "plot", "plot.png"], ["reload"], ["snapshot", "-o", "."],
    ["check", "cam.conf"], ["calibrate", "dark", "-n", "2", "-o", "dark.pfm"],
    ["diagnose", "-n", "2"], ["devices"], ["tune", "stop"], ["view"], ["view", "picture"],
    ["output", "list"],
]


def test_every_command_prints_one_json_value(start, tmp_path):
    config = tmp_path / "cam.conf"
    config.write_text("")
    daemon = start("--config", config)
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    # For convert and motion see test_convert.py and test_vibration.py.
    no_json = {"camera", "convert", "frames", "motion", "report", "watch"}
    assert {command[0] for command in JSON_COMMANDS} == set(COMMANDS) - no_json
    for command in JSON_COMMANDS:
        done = run("--runtime-dir", daemon.runtime_dir, *command, "--json", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command
        json.loads(done.stdout)
    # The report goes to stderr, because stdout may be the stream.
    done = run("--runtime-dir", daemon.runtime_dir, "frames", "-n", "1", "-o", "x", "--json",
               cwd=tmp_path)
    assert (done.returncode, done.stdout, json.loads(done.stderr)["written"]) == (0, "", 1)


@pytest.mark.parametrize("code, arguments", [
    (64, ["--wobble", "status"]),
    (64, ["stats", "--watch=0"]),
    (64, ["--help=x"]),
    (64, ["wobble"]),
    (64, ["stats", "--raw"]),
    (66, ["check", "none.conf"]),
    (69, ["--runtime-dir", "none", "status"]),
    (69, ["--runtime-dir", "none", "frames", "-o", "x"]),
])
def test_every_error_is_one_json_value(tmp_path, code, arguments):
    done = run(*arguments, "--json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert json.loads(done.stderr)["code"] == code


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_list_says_that_a_daemon_is_silent_only_in_its_table(tmp_path, options):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "control"))
        listening.listen()
        with subprocess.Popen([CTL, "--runtime-dir", tmp_path, "list", *options], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
            with listening.accept()[0] as connection:
                connection.recv(1)
            shown, errors = asking.communicate(timeout=PATIENCE)
    assert (asking.returncode, errors) == (0, "")
    if options:
        assert json.loads(shown)[0]["State"] == "silent"
    else:
        assert shown.splitlines()[1].split()[1] == "silent"


# ---- showing ----

@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_daemon_that_does_not_answer_is_named(tmp_path, options):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "control"))
        listening.listen()
        done = run("--runtime-dir", tmp_path, "status", "--timeout", "0.3", *options)
    assert_refused(done, 75, f"the daemon in {tmp_path} does not answer")


def test_list(daemon, tmp_path):
    assert daemon.ctl("list").stdout.splitlines()[1].split()[1:4] == ["online", "NV12", "160x120"]
    shown, = daemon.ctl_json("list")
    assert shown["Directory"] == str(daemon.runtime_dir)
    assert (shown["State"], shown["Format"]["width"], shown["Clients"]) == ("online", 160, 0)
    done = run("--json", "--runtime-dir", tmp_path, "list")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])


@needs_root
def test_list_ignores_directories_of_other_users(runtime_dir):
    """Any user can create the directory in /tmp that another user's daemons use."""
    user = 61234
    program = runtime_dir.parent / "fftd-ctl"
    runtime_dir.parent.chmod(0o755)
    shutil.copy(CTL, program)
    place = pathlib.Path(f"/tmp/fftd-{user}")
    (place / "trap").mkdir(parents=True)
    try:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(place / "trap" / "control"))
        shown = [subprocess.run([program, "list"], user=user, capture_output=True, text=True,
                                env={}, cwd="/", timeout=PATIENCE, check=True).stdout
                 for owner in (0, user) if os.chown(place, owner, -1) is None]
    finally:
        shutil.rmtree(place)
    assert "trap" not in shown[0] and "trap" in shown[1]


def test_status(daemon):
    daemon.ctl("filter", "set", "lowpass:cutoff=0.1")
    shown = daemon.ctl_json("status")
    assert shown["State"] == "online" and shown["Source"] == "pattern:moire"
    assert shown["Format"]["name"] == "NV12" and len(shown["Format"]["planes"]) == 2
    assert shown["FilterStages"] == [{"kind": "lowpass", "parameters": {
        "shape": "gaussian", "cutoff": 0.1, "order": 2}}]
    lines = daemon.ctl("status").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        "camera", "source", "input", "output", "engine", "device", "memory", "filter", "frames",
        "latency", "clients", "sockets"]
    assert re.fullmatch(r"(shared with the host|its own), imports( no)? dma-bufs",
                        shown["DeviceMemory"])


def test_stats(daemon):
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Counters"]["published"] > 20, "frames")
    stats = daemon.ctl_json("stats")
    for stage, values in stats["Latency"].items():
        assert 0 <= values["p50_ns"] <= values["p90_ns"] <= values["p99_ns"] <= values["max_ns"], \
            stage
    assert stats["Latency"]["total"]["count"] == stats["Counters"]["published"]
    assert stats["FramesPublished"] == stats["Counters"]["published"]
    assert daemon.ctl_json("status")["FramesPublished"] >= stats["FramesPublished"]
    assert "total" in daemon.ctl("stats").stdout


def test_each_step_of_the_engine_is_timed(daemon):
    daemon.ctl("filter", "set", "denoise:sigma=5 | gaussian-blur:sigma=1")
    steps = daemon.wait_until(lambda: (times := daemon.ctl_json("stats")["StepTimes"]).keys() >=
                              {"denoise", "transform"} and times, "a frame with each step timed")
    assert all(frames > 0 and ns > 0 for frames, ns in steps.values())
    shown, = (line for line in daemon.ctl("stats").stdout.splitlines() if "of each step" in line)
    assert re.search(r"denoise [0-9.]+, transform [0-9.]+$", shown)


def test_stats_watch(daemon):
    def sees_frames():  # on a busy machine not always one in a tenth of a second
        lines = daemon.ctl("--json", "stats", "--watch=0.05", "-n", "3").stdout.splitlines()
        sequences = [json.loads(line)["Sequence"] for line in lines]
        assert len(sequences) == 3 and sequences == sorted(sequences)
        return sequences[0] < sequences[2]
    wait_until(sees_frames, "new frames")


def test_stats_watch_survives_many_signals(daemon):
    """More signals arrive while fftd-ctl is stopped than fit into a socket. Its connection is still
    the same; those of others may end meanwhile."""
    def sockets():
        return {name for name in daemon.descriptors() if "socket:" in name}

    command = [CTL, "--json", "--runtime-dir", daemon.runtime_dir, "stats", "--watch=600"]
    with Peer(daemon) as peer:
        assert peer.get("State") == "online"
        others = sockets()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
            assert json.loads(watching.stdout.readline())
            its_own = sockets() - others
            for value in range(4000):
                peer.call("SetFilter", f"gain:ac={value % 10 / 10}")
            connected = sockets()
            watching.terminate()
    assert its_own and its_own <= connected


# ---- changing ----

def test_filter_actions(daemon):
    first = daemon.change("filter", "set", "lowpass:cutoff=0.1", "sharpen:amount=1")
    assert daemon.ctl("filter", "add", "notch:at=0.25/0,width=0.1", "2").stdout.split()[:2] == \
        ["filter", str(first + 1)]
    lines = daemon.ctl("filter", "show").stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [" 1  lowpass", " 2  notch", " 3  sharpen"]
    daemon.ctl("filter", "remove", "1")
    daemon.ctl("filter", "remove", "sharpen")
    daemon.ctl("set", "notch.width", "0.05")
    daemon.ctl("set", "1.at=-0.125/0.25")
    chain = daemon.ctl("filter", "show", "--raw").stdout
    assert chain.startswith("notch:at=-0.125/0.25,width=0.05,")
    daemon.ctl("filter", "set", chain.strip())
    assert daemon.ctl("filter", "show", "--raw").stdout == chain
    daemon.ctl("filter", "set", "none")
    assert daemon.ctl("filter", "show", "--raw").stdout == "none\n"


def test_the_longest_filter_is_shown_whole(daemon):
    stage = "highboost:base=-2.2250738585072014e-308,boost=-2.2250738585072014e-308," \
            "cutoff=0.00010000000000000002,shape=butterworth,order=1.0000000000000002"
    for _ in range(32):
        daemon.ctl("filter", "add", stage)
    shown = daemon.ctl("filter", "show", "--raw").stdout.strip()
    assert len(shown) > 4095 and shown == " | ".join([stage] * 32)
    daemon.ctl("filter", "set", shown)
    assert daemon.ctl("filter", "show", "--raw").stdout.strip() == shown


def test_filter_presets(start, tmp_path):
    mine = tmp_path / "mine.conf"
    daemon = start(env={"FFTD_PRESET_DIR": str(tmp_path)})
    chain = "gaussian-blur:sigma=1.25 | notch:at=0.25/-0.1,width=0.02"
    daemon.ctl("filter", "set", chain)
    shown = daemon.ctl("filter", "show", "--raw").stdout
    daemon.ctl("filter", "save", mine, 'for "tests" \\ only')
    assert_refused(daemon.ctl("filter", "save", mine, check=False), 73, str(mine))
    daemon.ctl("filter", "set", "none")
    daemon.ctl("filter", "preset", "mine")
    assert daemon.ctl("filter", "show", "--raw").stdout == shown
    assert_refused(daemon.ctl("filter", "preset", "yours", check=False), 65, "yours", "mine")


def test_presets_are_listed_without_a_daemon(tmp_path, monkeypatch):
    shipped = sorted(path.stem for path in (ROOT / "config/presets").iterdir())
    listed = json.loads(run("--json", "filter", "presets").stdout)
    assert sorted(each["name"] for each in listed) == shipped
    assert all(set(each) == {"name", "summary", "filter"} and each["summary"] for each in listed)
    texts = run("filter", "presets").stdout
    for each in listed:
        assert f"{each['name']}: {each['summary']}\n    {each['filter']}\n" in texts
    # Images need not exist; a file that is wrong hides no other, and cannot command the terminal.
    (tmp_path / "good.conf").write_text('filter = "dark:image=mine.pfm | gain:dc=0.5";')
    (tmp_path / "wrong.conf").write_text('summary = "a\x1b[2Jb";\nfilter = "lowpas";')
    monkeypatch.setenv("FFTD_PRESET_DIR", str(tmp_path))
    good, wrong = json.loads(run("--json", "filter", "presets").stdout)
    assert good["filter"].startswith("dark:image=mine.pfm,") and good["summary"] == ""
    assert "wrong.conf:2: filter: unknown filter lowpas" in wrong["problem"]
    assert "\x1b" not in (texts := run("filter", "presets").stdout)
    assert "wrong: a?[2Jb\n    cannot be used: " in texts


def test_a_wrong_preset_is_answered_with_all_of_them(daemon):
    done = daemon.ctl("filter", "preset", "unshrp", check=False)
    names = re.search(r"expected one of (.*); did you mean unsharp\?", done.stderr)[1]
    assert sorted(names.split(", ")) == \
        sorted(path.stem for path in (ROOT / "config/presets").iterdir())


def test_filter_kinds():
    """No daemon is asked; test_view_control.py compares them with what ListFilters returns."""
    kinds = {kind["name"]: kind for kind in json.loads(run("--json", "filter", "kinds").stdout)}
    assert {"lowpass", "highpass", "bandpass", "bandstop", "notch", "gaussian-blur",
            "sharpen"} <= kinds.keys()
    cutoff, = (each for each in kinds["lowpass"]["parameters"] if each["name"] == "cutoff")
    assert (cutoff["type"], cutoff["unit"], cutoff["required"]) == ("number", "cycles/pixel", True)
    # Limits for programs, which the text for people agrees with.
    for parameter in (each for kind in kinds.values() for each in kind["parameters"]):
        if parameter["type"] in ("number", "pair", "kernel"):
            assert parameter["minimum"] < parameter["maximum"]
            limits = f"{parameter['minimum']:g} .. {parameter['maximum']:g}"
            assert limits in parameter["expected"]
        else:
            assert "minimum" not in parameter and "maximum" not in parameter
        if parameter["type"] == "choice":
            assert all(each in parameter["expected"] for each in parameter["choices"])
        else:
            assert "choices" not in parameter
    one = run("filter", "kinds", "notch").stdout
    assert one.startswith("notch: ") and "lowpass" not in one and "required" in one
    assert f"\n    {kinds['notch']['formula']}\n" in one
    assert json.loads(run("--json", "filter", "kinds", "notch").stdout) == kinds["notch"]
    for options in ([], ["--json"]):
        assert_refused(run(*options, "filter", "kinds", "wobble"), 65, "wobble")


@pytest.mark.parametrize("arguments, texts", [
    (["filter", "set", "lowpas:cutoff=0.1"], ["lowpas", "lowpass"]),
    (["filter", "set", "lowpass:cutof=0.1"], ["cutof", "cutoff"]),
    (["filter", "set", "lowpass:cutoff=nan"], ["cutoff", "nan"]),
    (["filter", "set", "lowpass:cutoff=inf"], ["cutoff", "inf"]),
    (["filter", "set", "lowpass:cutoff=0.1,cutoff=0.2"], ["cutoff"]),
    (["filter", "set", "bandpass:low=0.3,high=0.1"], ["low", "high"]),
    (["filter", "set", "notch:at=0.7/0,width=0.1"], ["at", "0.7"]),
    (["filter", "set", "lowpass"], ["cutoff"]),
    (["filter", "add", "sharpen:amount=abc"], ["amount", "abc"]),
    (["filter", "remove", "5"], ["5"]),
    (["set", "1.cutoff", "9"], ["cutoff", "9", "0.5"]),
    (["set", "7.cutoff", "0.1"], ["7"]),
])
def test_refused_filters_change_nothing(daemon, arguments, texts):
    daemon.ctl("filter", "set", "lowpass:cutoff=0.25")
    before = daemon.ctl_json("filter", "show")
    assert_refused(daemon.ctl(*arguments, check=False), 65, *texts)
    assert daemon.ctl_json("filter", "show") == before


def test_reload(start, tmp_path):
    config = tmp_path / "cam.conf"
    config.write_text('filter = "lowpass:cutoff=0.1";\n')
    daemon = start("--config", config)
    config.write_text('filter = "lowpass:cutoff=0.2";\n')
    daemon.ctl("reload")
    assert "cutoff=0.2" in daemon.ctl("filter", "show").stdout
    config.write_text('filter = "lowpass:cutoff=2";\n')
    assert_refused(daemon.ctl("reload", check=False), 78, f"{config}:1", "cutoff")
    assert "cutoff=0.2" in daemon.ctl("filter", "show").stdout


def test_a_scene_has_no_controls(daemon):
    for command in (["controls"], ["set", "brightness=1"]):
        assert_refused(daemon.ctl("camera", *command, check=False), 65, "moire",
                       "has no controls", "v4l2:/dev/videoN")
    assert_refused(daemon.ctl("camera", "set", "brightness", check=False), 64, "brightness",
                   "NAME=VALUE")
    assert_refused(daemon.ctl("camera", "set", "Brightness=1", check=False), 65,
                   "lower-case letters")
    assert daemon.ctl_json("status")["State"] == "online"


def test_unsupported_settings_are_logged_once(start):
    daemon = start("--set", "camera.controls=brightness=1")
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "frames")
    assert daemon.log.count("camera.controls: ") == 1
    assert "has no controls" in daemon.log


# ---- pictures ----

def test_a_snapshot_tells_when_its_frame_was_captured(daemon, tmp_path):
    with Recorder(daemon) as recorder:
        def is_in_the_ring():
            shown = daemon.ctl_json("snapshot", "-o", tmp_path / "after.png", "after")
            taken = recorder.take_until(lambda frame: frame.sequence >= shown["Sequence"])
            times = {each.sequence: each.captured_ns for each in taken}
            assert times.get(shown["Sequence"], shown["CapturedNs"]) == shown["CapturedNs"] > 0
            return shown["Sequence"] in times
        wait_until(is_in_the_ring, "a frame that was not missed")


def test_snapshot_saves_four_images_of_one_frame(daemon, tmp_path):
    earlier = daemon.ctl_json("stats")["Sequence"]
    shown = daemon.ctl_json("snapshot", "-o", tmp_path / "pictures")
    assert shown["Sequence"] >= earlier > 0
    names = ["before.png", "after.png", "spectrum.png", "side-by-side.png"]
    assert shown["Pictures"] == [str(tmp_path / "pictures" / name) for name in names]
    before, after, spectrum, both = (Png((tmp_path / "pictures" / name).read_bytes())
                                     for name in names)
    assert before.rows == after.rows  # no filter
    assert (before.width, before.height) == (160, 120)
    assert (both.width, both.height) == (328, 120)
    assert [row[:480] for row in both.rows] == before.rows
    assert [row[504:] for row in both.rows] == after.rows
    assert (spectrum.width, spectrum.height) == (1032, 512)


def test_snapshot_shows_what_the_filter_does(daemon):
    daemon.ctl("filter", "set", "gain:dc=0,ac=0")
    daemon.wait_until(lambda: (lambda shown: shown["Serial"] == shown["PublishedSerial"])
                      (daemon.ctl_json("stats")), "the filter")
    both = picture(daemon, "side-by-side")
    left = {both.rows[60][3 * x] for x in range(160)}
    assert len(left) > 10
    grey = picture(daemon, "spectrum")
    assert all(grey.pixel(520 + x, 100) == (0, 0, 0) for x in range(512))


@pytest.mark.parametrize("mosaic", ["SGRBG8", "SBGGR12"])
def test_a_mosaic_looks_as_in_colour(start, tmp_path, mosaic):
    """Without a filter, three images are alike: the captured frame, demosaiced for the snapshot;
    the published frame, demosaiced by the device; and the scene drawn in colour."""
    arguments = [*FAST_KERNELS, "--filter", "none", "--set"]
    daemon = start(*arguments, f"camera.format={mosaic}", source="pattern:bars")
    daemon.wait_for_log("online")  # a snapshot does not wait for as long as a compiler may take
    assert daemon.ctl_json("snapshot", "-o", tmp_path)["Pictures"]
    before, after = (Png((tmp_path / name).read_bytes()) for name in ("before.png", "after.png"))
    assert daemon.ctl_json("status")["Format"]["name"] == "XBGR32"
    daemon.stop()
    coloured = start(*arguments, "camera.format=XBGR32", source="pattern:bars")
    coloured.wait_for_log("online")
    drawn = picture(coloured, "after")
    differences = 0
    for made, shown, meant in zip(before.rows, after.rows, drawn.rows):
        assert max(abs(a - b) for a, b in zip(made, shown)) <= 1
        differences += sum(abs(a - b) > 2 for a, b in zip(shown, meant))
    # Demosaicing mixes the colours at the edges of the bars.
    assert differences < 0.12 * len(drawn.rows) * len(drawn.rows[0])


def test_snapshot_of_one_image_goes_to_its_output(daemon, tmp_path):
    daemon.ctl("snapshot", "before", "-o", tmp_path)
    assert Png((tmp_path / "before.png").read_bytes()).width == 160
    daemon.ctl("snapshot", "after", "-o", tmp_path / "a.png")
    assert Png((tmp_path / "a.png").read_bytes()).width == 160
    assert_refused(daemon.ctl("snapshot", "after", "-o", "/none/a.png", check=False), 73, "/none")


def test_snapshot_to_a_reader_that_leaves(daemon):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([CTL, "--runtime-dir", daemon.runtime_dir, "snapshot", "after", "-o",
                               "-"], stdout=writing, stderr=subprocess.PIPE, check=False,
                              timeout=PATIENCE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_snapshot_removes_nothing_but_its_own_file(daemon, tmp_path):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    assert_refused(daemon.ctl("snapshot", "after", "-o", full, check=False), 74, str(full))
    assert full.is_symlink()


def test_spectrum_shows_frequencies_at_their_coordinates(start, tmp_path):
    """A grating of 0.25 cycles per pixel along x and 0.125 along y, in a frame smaller than the
    spectrum, and in one that is wider."""
    clip = tmp_path / "grating.y4m"
    wave = [128, 198, 228, 198, 128, 58, 28, 58]  # one period of eight samples
    for width, height in ((160, 120), (640, 480)):
        clip.write_bytes(y4m(width, height, [bytes(wave[(2 * x + y) % 8] for y in range(height)
                                                   for x in range(width))]))
        daemon = start(*FAST_KERNELS, "--set", "camera.loop=true", source=f"file:{clip}", size=None,
                       fps=None)
        spectrum = picture(daemon, "spectrum")
        peaks = {(x, y) for y in range(512) for x in range(512)
                 if spectrum.rows[y][3 * x] >= 254}
        assert (384, 320) in peaks and (128, 192) in peaks
        assert all(min(abs(x - 384) + abs(y - 320), abs(x - 128) + abs(y - 192)) < 6
                   for x, y in peaks)
        daemon.stop()


@pytest.mark.parametrize("name", FORMATS)
def test_pictures_and_streams(start, tmp_path, name):
    """Compares one format of each kind with the same scene in RGB24. tests/unit has all formats."""
    pictures = []
    for each in (name, "RGB24"):
        daemon = start(*FAST_KERNELS, "--set", f"camera.format={each}", source="pattern:bars",
                       size="160x120")
        pictures.append(picture(daemon, "before"))
        if each == name:
            raw = tmp_path / "clip.raw"
            daemon.ctl("frames", "--raw", "-n", "2", "-o", raw)
            assert raw.stat().st_size == 2 * 160 * 120 * FORMATS[name]
            done = daemon.ctl("frames", "-n", "2", "-o", tmp_path / "clip.y4m", check=False)
            if name == "RGB24":
                assert_refused(done, 65, name, "--raw")
            else:
                assert done.returncode == 0, done.stderr
                header, _, rest = (tmp_path / "clip.y4m").read_bytes().partition(b"\n")
                assert header.startswith(b"YUV4MPEG2 W160 H120 F60:1 ")
                samples = 160 * 120 * FORMATS[name]
                assert len(rest) == 2 * (6 + samples) and rest.startswith(b"FRAME\n")
                # The same samples in another order (bars do not move).
                assert sorted(rest[6:6 + int(samples)]) == sorted(raw.read_bytes()[:int(samples)])
        assert daemon.stop() == 0
    shown, expected = pictures
    off = 0
    for y in range(120):
        for x in range(160):
            r, g, b = expected.pixel(x, y)
            if name == "Y10":
                r = g = b = 0.299 * r + 0.587 * g + 0.114 * b
            off += max(abs(a - b) for a, b in zip(shown.pixel(x, y), (r, g, b))) > 4
    assert off <= 0.1 * 160 * 120, "only pixels where two colours share chroma may differ"


# ---- streams ----

@pytest.mark.parametrize("colour, size", [("mono", 1), ("420jpeg", 1.5), ("mono16", 2)])
def test_frames_are_unchanged_without_a_filter(start, tmp_path, colour, size):
    width, height = 160, 120
    frames = [bytes((i * 7 + n * 31) % 251 for i in range(int(width * height * size)))
              for n in range(5)]
    clip = tmp_path / "clip.y4m"
    clip.write_bytes(y4m(width, height, frames, colour))
    daemon = start(*FAST_KERNELS, "--set", "camera.loop=true", "--set", "output.slots=64",
                   source=f"file:{clip}", size=None, fps=None)
    daemon.wait_for_log("online")
    daemon.wait_for_socket("frames")
    done = subprocess.run([CTL, "--runtime-dir", daemon.runtime_dir, "frames", "-n", "7"],
                          capture_output=True, timeout=PATIENCE, check=True)
    header, _, rest = done.stdout.partition(b"\n")
    assert f" C{colour} ".encode() in header + b" "
    out = [rest[n * (6 + len(frames[0])) + 6:][:len(frames[0])] for n in range(7)]
    assert b"7 frames, 0 missed" in done.stderr
    assert set(out) <= set(frames)  # a busy daemon skips frames of a loop


def test_frames_to_a_reader_that_leaves(daemon):
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "frames"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as streaming:
        assert streaming.stdout.read(1000).startswith(b"YUV4MPEG2 ")
        streaming.stdout.close()
        assert b"frames" in streaming.stderr.read()
        assert streaming.wait(PATIENCE) == 0


def test_frames_until_interrupted(daemon, tmp_path):
    with subprocess.Popen([CTL, "--json", "--runtime-dir", daemon.runtime_dir, "frames", "-o",
                           tmp_path / "x.y4m"], stderr=subprocess.PIPE) as streaming:
        daemon.wait_until(lambda: (tmp_path / "x.y4m").exists() and
                          (tmp_path / "x.y4m").stat().st_size > 100000, "frames")
        streaming.terminate()
        written = json.loads(streaming.stderr.read())["written"]
        assert streaming.wait(PATIENCE) == 0
    size = (tmp_path / "x.y4m").stat().st_size
    assert (size - size % (160 * 120 * 3 // 2 + 6)) // (160 * 120 * 3 // 2 + 6) == written


# A write that waits for a reader of the pipe ends with the signal, in both forms of the stream.
@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_frames_end_while_the_pipe_is_full(daemon, options):
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "frames", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as streaming:
        stack = pathlib.Path(f"/proc/{streaming.pid}/syscall")
        daemon.wait_until(lambda: stack.read_text().startswith("1 0x1 "), "a write that waits")
        streaming.terminate()
        assert streaming.wait(PATIENCE) == 0
        assert re.fullmatch(r"fftd-ctl: \d+ frames, \d+ missed\n", streaming.stderr.read())


def test_frames_are_counted_if_their_format_changes(start, tmp_path):
    config = tmp_path / "fftd.conf"
    config.write_text('camera = { source = "pattern:moire"; size = "160x120"; fps = 60.0; };\n')
    daemon = start("--config", config, source=None, size=None, fps=None)
    daemon.wait_for_log("online")
    for json_too in (), ("--json",):
        path = tmp_path / f"{len(json_too)}.y4m"
        with subprocess.Popen([CTL, *json_too, "--runtime-dir", daemon.runtime_dir, "frames", "-o",
                               path], stderr=subprocess.PIPE, text=True) as streaming:
            daemon.wait_until(lambda: path.exists() and path.stat().st_size > 100000, "frames")
            config.write_text(config.read_text().replace("120", "122"))
            daemon.ctl("reload")
            said = streaming.stderr.read()
            assert streaming.wait(PATIENCE) == 75
        assert "the camera's format has changed" in said
        if json_too:
            assert json.loads(said)["code"] == 75
        else:
            assert re.search(r"^fftd-ctl: [1-9]\d* frames, \d+ missed$", said, re.M), said
        config.write_text(config.read_text().replace("122", "120"))
        daemon.ctl("reload")


def test_frames_to_an_unusable_file(daemon):
    assert_refused(daemon.ctl("frames", "-o", "/none/x", check=False), 73, "/none/x")
    if os.path.exists("/dev/full"):
        assert_refused(daemon.ctl("frames", "-o", "/dev/full", check=False), 74, "/dev/full")


# ---- the daemon's own program ----

def test_check(tmp_path):
    good, bad = tmp_path / "good.conf", tmp_path / "bad.conf"
    good.write_text('camera = { source = "pattern:bars"; };\n')
    bad.write_text('\ncamera = { souce = "pattern:bars"; };\n')
    assert run("check", good).stdout == f"{good} is valid\n"
    assert json.loads(run("--json", "check", good).stdout) == {"file": str(good), "valid": True}
    assert_refused(run("check", bad), 78, f"{bad}:2", "souce")
    assert_refused(run("check", tmp_path / "none.conf"), 66, "none.conf", "No such file")
    assert_refused(run("check", "x" * 5000), 66, "File name too long")
    assert_refused(run("check", tmp_path), 78, str(tmp_path))


def test_devices():
    done = run("devices")
    assert done.returncode == 0 and "OpenCL" in done.stdout
    shown = json.loads(run("--json", "devices").stdout)
    assert "cameras" in shown


# ---- tune ----

def test_tune_saves_its_result(start, tmp_path):
    cache = tmp_path / "cache"
    daemon = start("--set", f"engine.cache_dir={cache}", size="32x16")
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    where = ["--runtime-dir", daemon.runtime_dir]
    assert "not tuned" in run(*where, "status").stdout
    done = run(*where, "tune", timeout=5 * PATIENCE)  # a search compiles dozens of kernels
    assert done.returncode == 0, done.stderr
    assert "ms a frame" in done.stdout
    assert len(list(cache.glob("*.tuning"))) == 1
    daemon.wait_for_log(", tuned")
    again = json.loads(run(*where, "--json", "tune", timeout=5 * PATIENCE).stdout)
    assert again["Tuned"] and again["Tried"] == again["Total"] > 1
    assert 0 < again["BestMilliseconds"] <= again["DefaultMilliseconds"]
    status = json.loads(run(*where, "--json", "status").stdout)
    if "OpenCL 3.0 PoCL" in status["Device"]:  # a CPU, which is not compared with itself
        assert status["Comparison"] == {}
        assert "hint" not in run(*where, "status").stdout


def test_tune_can_be_stopped(daemon, start, tmp_path):
    where = ["--runtime-dir", daemon.runtime_dir]
    searching = subprocess.Popen([CTL, *where, "--json", "tune", "exhaustive"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    daemon.wait_for_log("exhaustive search")
    assert_refused(run(*where, "tune"), 75, "a search is already running")
    assert run(*where, "tune", "stop").returncode == 0
    _, error = searching.communicate(timeout=PATIENCE)
    assert searching.returncode == 75 and "stopped" in json.loads(error)["error"]


def test_tune_refuses_other_operands(daemon):
    assert_refused(run("--runtime-dir", daemon.runtime_dir, "tune", "hard"), 64,
                   "quick, exhaustive or stop")
