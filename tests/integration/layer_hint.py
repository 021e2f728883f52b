"""Tests of what happens where the device loses to the host's CPU device: frames are filtered there
if engine.device leaves the choice, and otherwise `fftd-ctl status` has a hint. The
device is PoCL's on one thread, which tests/layer/layer.c makes a Mali-T760 whose driver takes long
for each launch; the CPU device beside it is PoCL's own."""

import json
import re
import subprocess
import time

from client import Reader
from conftest import BUILD, PATIENCE

# Three launches a frame take 30 ms and more; a frame of this size takes the CPU device less than 1
# where it is not busy.
TWO_DEVICES = {"POCL_DEVICES": "basic pthread", "FFTD_LAYER_SPARES": "pthread",
               "FFTD_LAYER_LAUNCH_US": "10000"}
HINT = re.compile(r'hint +a frame takes ([0-9.]+) ms on this device and ([0-9.]+) ms on '
                  r'"pthread-.+"; engine\.device = "auto" would use that one')
CHOSEN = re.compile(r'compared +a frame takes ([0-9.]+) ms on this device and ([0-9.]+) ms on '
                    r'"Mali-T760 .+"; engine\.device = "gpu" would use that one')


def start_slow(start, cache, *arguments):
    """The fused technique has few settings that a search has to compile."""
    daemon = start("--set", f"engine.cache_dir={cache}", "--set", "engine.technique=fused",
                   *arguments, size="32x16", env=TWO_DEVICES)
    with Reader(daemon) as reader:
        reader.next()
    return daemon


def tune(daemon):
    command = [BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, "--json", "tune"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE,
                          check=False)
    assert done.returncode == 0, done.stderr
    daemon.wait_until(lambda: ", tuned" in daemon.ctl_json("status")["Engine"], "the tuned engine")
    return json.loads(done.stdout)


def wait_for_comparison(daemon):
    """Waits for the end of the search that the daemon has started by itself."""
    deadline = time.monotonic() + 5 * PATIENCE
    while not (compared := daemon.ctl_json("status")["Comparison"]):
        assert time.monotonic() < deadline, daemon.log
        time.sleep(0.1)
    return compared


def hint_of(daemon, pattern=HINT):
    """The two times that the status names; None: it names none."""
    lines = [line for line in daemon.ctl("status").stdout.splitlines()
             if line.startswith(("hint", "compared"))]
    assert len(lines) <= 1
    return tuple(map(float, pattern.fullmatch(lines[0]).groups())) if lines else None


def test_a_slow_device_is_named(start, tmp_path):
    """A search measures both devices, and later starts know the result from the cache, unless it is
    damaged."""
    cache = tmp_path / "cache"
    daemon = start_slow(start, cache, "--set", "engine.tune=off")
    assert daemon.ctl_json("status")["Comparison"] == {} and hint_of(daemon) is None
    assert daemon.stop() == 0

    daemon = start_slow(start, cache)  # on a GPU, the first start searches by itself
    compared = wait_for_comparison(daemon)
    status = daemon.ctl_json("status")
    assert status["Device"].startswith("Mali-T760 ") and ", tuned" in status["Engine"]
    assert compared["device_ms"] > 30 and 0 < compared["cpu_ms"] < compared["device_ms"] / 2
    assert compared["cpu_is_faster"] is True and compared["cpu_device"].startswith("pthread-")
    assert hint_of(daemon) == (round(compared["device_ms"], 2), round(compared["cpu_ms"], 2))
    assert daemon.stop() == 0

    daemon = start_slow(start, cache)
    assert daemon.ctl_json("status")["Comparison"] == compared
    assert "is ignored" not in daemon.log
    daemon.ctl("filter", "set", "shift:by=1/0")  # needs other kernels, which were not measured
    daemon.wait_until(lambda: "complex response" in daemon.ctl_json("status")["Engine"], "it")
    assert daemon.ctl_json("status")["Comparison"] == {} and hint_of(daemon) is None
    assert daemon.stop() == 0

    (kept,) = cache.glob("*.comparison")
    damaged = bytearray(kept.read_bytes())
    damaged[-1] ^= 1
    kept.write_bytes(damaged)
    daemon = start_slow(start, cache)
    assert daemon.ctl_json("status")["Comparison"] == {} and hint_of(daemon) is None
    assert daemon.log.count(f"{kept} is ignored and will be replaced") == 1
    assert tune(daemon)["BestMilliseconds"] > 0
    wait_for_comparison(daemon)
    assert hint_of(daemon) is not None
    assert daemon.stop() == 0


def test_frames_move_to_the_faster_device(start, tmp_path):
    """The search that runs by itself moves the frames, later starts begin there, and kernels that
    were not measured run on the GPU. No frame is lost, and none is filtered twice or not at all."""
    cache = tmp_path / "cache"
    daemon = start_slow(start, cache, "--device", "auto", "--filter", "gain:dc=0.5")
    with Reader(daemon) as reader:
        first = reader.next().sequence
        compared = wait_for_comparison(daemon)
        daemon.wait_until(lambda: daemon.ctl_json("status")["Device"].startswith("pthread-"),
                          "the CPU device")
        reader.next()
        last = reader.next().sequence
    status = daemon.ctl_json("status")
    assert last > first and status["Counters"]["dropped_engine"] == 0
    assert status["Comparison"]["cpu_is_used"] and status["Comparison"]["is_automatic"]
    assert status["Comparison"]["device"].startswith("Mali-T760 ")
    assert "imports" in status["DeviceMemory"]
    assert hint_of(daemon, CHOSEN) == (round(compared["cpu_ms"], 2),
                                       round(compared["device_ms"], 2))
    moved = [line for line in daemon.log.splitlines() if "from now on" in line]
    assert len(moved) == 1 and 'frames are filtered on "pthread-' in moved[0], moved
    assert daemon.stop() == 0

    daemon = start_slow(start, cache, "--device", "auto", "--filter", "gain:dc=0.5")
    assert daemon.ctl_json("status")["Device"].startswith("pthread-")
    daemon.ctl("filter", "set", "shift:by=1/0")
    daemon.wait_until(lambda: daemon.ctl_json("status")["Device"].startswith("Mali-T760 "), "it")
    daemon.ctl("filter", "set", "gain:dc=0.25")
    daemon.wait_until(lambda: daemon.ctl_json("status")["Device"].startswith("pthread-"), "the CPU")
    tune(daemon)  # measures both again, from the CPU device
    daemon.wait_until(lambda: daemon.ctl_json("status")["Comparison"].get("cpu_ms")
                      not in (None, compared["cpu_ms"]), "other times")
    again = daemon.ctl_json("status")
    assert again["Device"].startswith("pthread-") and again["Comparison"]["device_ms"] > 30
    assert daemon.stop() == 0


def test_a_cpu_needs_no_hint(start, tmp_path):
    """Frames of the device in use are not measured where it is a CPU itself."""
    cache = tmp_path / "cache"
    daemon = start_slow(start, cache, "--device", "pthread")
    tune(daemon)
    assert daemon.ctl_json("status")["Comparison"] == {} and hint_of(daemon) is None
    assert not list(cache.glob("*.comparison"))
    assert daemon.stop() == 0
