"""Tests of the daemon on a Mali-T760, as far as tests/layer/layer.c makes one of another device. Of
all suites only test-mali-daemon runs them, with test_gpu_faults.py."""

import json

from client import Reader

# ARM's drivers print such a line to the standard output when they are loaded.
RELEASE = "arm_release_ver of this libmali is 'r18p0-01rel0', rk_so_ver is '4'."
TALK = {"FFTD_LAYER_SAYS": RELEASE}


def test_the_device_is_listed(fftd):
    (device,) = json.loads(fftd("--list-devices", "--json").stdout)["opencl"]
    assert device["type"] == "gpu"
    assert (device["name"], device["platform"]) == ("Mali-T760", "ARM Platform")
    assert device["version"].startswith("OpenCL 1.2 ")


def test_a_driver_that_talks_disturbs_no_output(fftd):
    for arguments in (["--list-devices"], ["--list-devices", "--json"]):
        quiet, done = fftd(*arguments), fftd(*arguments, env=TALK)
        assert done.returncode == 0
        assert done.stdout == quiet.stdout and RELEASE not in done.stdout
        assert done.stderr.count(RELEASE) == 1


def test_frames_on_a_mali(start):
    """The engine begins with the staged technique, and frames go through without a copy."""
    daemon = start("--set", "engine.tune=off", "--filter", "lowpass:cutoff=0.1", env=TALK)
    with Reader(daemon) as reader:
        first = reader.next()
        frames = reader.take_until(lambda frame: frame.sequence > first.sequence + 30)
        assert {frame.digest for frame in frames} == {first.digest}
    status = daemon.ctl_json("status")
    assert status["Device"].startswith("Mali-T760 (ARM Platform, OpenCL 1.2 ")
    assert status["DeviceMemory"] == "shared with the host, imports dma-bufs"
    assert status["Input"] == "shared with the source (USERPTR)"
    assert status["Engine"].startswith("staged float, columns first, 160x120 in ")
    assert daemon.ctl_json("stats")["Counters"]["engine_failures"] == 0
    assert daemon.stop() == 0


def test_kernels_are_kept_as_binaries(start, tmp_path):
    """The second start finds the device's binaries in the cache and builds nothing."""
    for compiled in (True, False):
        daemon = start("--set", "engine.tune=off", "--set", f"engine.cache_dir={tmp_path}/cache")
        with Reader(daemon) as reader:
            reader.next()
        assert ("compiling" in daemon.log) == compiled, daemon.log
        assert daemon.stop() == 0
        assert list(tmp_path.glob("cache/*.clbin"))
