"""Tests of the daemon on a Mali-T760, as far as tests/layer/layer.c makes one of another device. Of
all suites only test-mali-daemon runs them, with test_gpu_faults.py."""

import json

import pytest

from client import Reader
from conftest import FAST_KERNELS

# ARM's drivers print such a line to the standard output when they are loaded.
RELEASE = "arm_release_ver of this libmali is 'r18p0-01rel0', rk_so_ver is '4'."
TALK = {"FFTD_LAYER_SAYS": RELEASE}

IMPORTED = "stored by the device (imported)"
REFUSED = "copied (clImportMemoryARM: CL_INVALID_OPERATION)"
FILTER = ("--filter", "lowpass:cutoff=0.1")
SETTINGS = (*FAST_KERNELS, "--set", "engine.tune=off")
SLOTS = 8  # of a ring, by default


class Imports:
    """What the layer imports of the host's memory (tests/faults/import.c)."""

    def __init__(self, path):
        self.path = path
        self.refusal = path.with_name(path.name + ".refuse")
        self.env = {"FFTD_IMPORTS": str(path)}

    @property
    def account(self):
        """The numbers of buffers that were imported, and of those that are gone."""
        kinds = dict(line.split(" ", 1) for line in self.path.read_text().splitlines())
        return tuple(int(count) for count in kinds["host"].split())

    @property
    def kept(self):
        imported, released = self.account
        return imported - released


@pytest.fixture
def imports(tmp_path):
    return Imports(tmp_path / "imports")


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


@pytest.mark.parametrize("chain, engine", [
    ("gaussian-blur:sigma=2", "direct in two dispatches, with up to 15 + 15 taps, "),
    ("lowpass:shape=ideal,cutoff=0.3", "staged float, columns first, ")])
def test_frames_on_a_mali(start, chain, engine):
    """A small blur is convolved, a long filter begins with the staged technique, and frames go
    through without a copy."""
    daemon = start("--set", "engine.tune=off", "--filter", chain, env=TALK)
    with Reader(daemon) as reader:
        first = reader.next()
        frames = reader.take_until(lambda frame: frame.sequence > first.sequence + 30)
        assert {frame.digest for frame in frames} == {first.digest}
    status = daemon.ctl_json("status")
    assert status["Device"].startswith("Mali-T760 (ARM Platform, OpenCL 1.2 ")
    assert status["DeviceMemory"] == "shared with the host, imports dma-bufs"
    assert status["Input"] == "shared with the source (USERPTR)"
    assert status["Output"] == IMPORTED
    assert status["Engine"].startswith(engine)
    assert " 160x120 in " in status["Engine"]
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


# ---- results in imported slots of the ring ----


def test_filtered_planes_are_not_copied(start, imports):
    """Frames are the same if the slots are imported and if they are copied to, and the copies by
    the processor are counted: none of filtered planes, and one of those that pass."""
    pictures = {}
    width, height = 192, 120  # rows without padding
    for way in (IMPORTED, REFUSED):
        if way == REFUSED:
            imports.refusal.touch()
        daemon = start(*SETTINGS, *FILTER, env=imports.env, source="pattern:zoneplate",
                       size=f"{width}x{height}")
        with Reader(daemon) as reader:
            first = reader.next()
            frames = reader.take_until(lambda frame, first=first:
                                       frame.sequence > first.sequence + 3 * SLOTS)
            pictures[way] = {frame.digest for frame in frames}
        assert daemon.ctl_json("status")["Output"] == way
        assert daemon.log.count("output: ") == daemon.log.count(f"output: {way}") == 1
        stats = daemon.ctl_json("stats")
        copies, published = stats["Copies"], stats["Counters"]["published"]
        copied = 0 if way == IMPORTED else published
        assert copies["capture"] == copies["upload"] == [0, 0]
        assert copies["download"] == [copied, copied * width * height]
        assert copies["pass"] == [published, published * width * height // 2]
        assert daemon.stop() == 0
        if way == IMPORTED:
            assert imports.account == (SLOTS, SLOTS)
    assert pictures[IMPORTED] == pictures[REFUSED] and len(pictures[IMPORTED]) == 1


def test_a_refused_import_is_tried_again(start, imports):
    """Refused once more for another engine, it is not told again."""
    imports.refusal.touch()
    daemon = start(*SETTINGS, env=imports.env)
    with Reader(daemon) as reader:
        picture = reader.next().digest
        for serial, chain in ((2, "shift:by=3/2"), (3, "none"), (4, "shift:by=3/2")):
            if serial == 4:
                assert daemon.log.count("output: ") == daemon.log.count(f"output: {REFUSED}") == 1
                assert not imports.path.exists()
                imports.refusal.unlink()
            daemon.ctl("filter", "set", chain)
            frame = reader.take_until(lambda frame, serial=serial:
                                      frame.filter_serial == serial)[-1]
            assert (frame.digest == picture) == (chain == "none")
        assert daemon.ctl_json("status")["Output"] == IMPORTED
        assert imports.account == (SLOTS, 0)
    assert daemon.stop() == 0


def test_the_ring_is_replaced_while_the_device_stores_frames(start_faulty, faults, imports,
                                                             tmp_path):
    """Kernels begin late, so that frames are in flight whenever the size changes."""
    config = tmp_path / "fftd.conf"

    def write(size):
        config.write_text(f'camera = {{ source = "pattern:moire"; size = "{size}"; fps = 60.0; }};')

    write("160x120")
    faults.begin("slow 30")
    daemon = start_faulty("--config", config, *SETTINGS, *FILTER, env=imports.env, source=None,
                          size=None, fps=None)
    pictures = {}
    with Reader(daemon) as reader:
        for size in ("160x120", "96x64", "160x120", "96x64"):
            write(size)
            daemon.ctl("reload")
            frames = reader.take_until(lambda frame, size=size:
                                       f"{frame.width}x{frame.height}" == size)
            frames.append(reader.next())
            for frame in frames:
                pictures.setdefault((frame.width, frame.height), set()).add(frame.digest)
            daemon.wait_until(lambda: imports.kept == SLOTS, "the release of the ring before")
    assert {size: len(found) for size, found in pictures.items()} == {(160, 120): 1, (96, 64): 1}
    assert daemon.ctl_json("status")["Generation"] == 4
    assert daemon.ctl_json("stats")["Copies"]["download"] == [0, 0]
    assert daemon.stop() == 0
    assert imports.account == (4 * SLOTS, 4 * SLOTS)


def test_the_device_hangs_while_it_owns_a_slot(start_faulty, faults, imports):
    """The slot that it owns stays imported until it has finished, with the memory; the others do
    not."""
    daemon = start_faulty("--set", "engine.frame_timeout=5", *SETTINGS, *FILTER,
                          env=imports.env)
    with Reader(daemon) as reader:
        picture = reader.next().digest
        assert imports.account == (SLOTS, 0)
        faults.begin("hang 0 0 1")
        daemon.wait_until(lambda: daemon.ctl_json("status")["Generation"] == 2, "another ring")
        daemon.wait_until(lambda: imports.account[0] == 2 * SLOTS, "an engine for that ring")
        before = reader.next()
        assert SLOTS < imports.kept < 2 * SLOTS
        frames = reader.take_until(lambda frame: frame.sequence > before.sequence + 2 * SLOTS)
        assert {frame.digest for frame in (before, *frames)} == {picture}
        faults.end()

        def is_released():
            """The engine that hung is destroyed at the first request after the device is done."""
            daemon.ctl("filter", "set", "lowpass:cutoff=0.2")
            return imports.kept == SLOTS

        daemon.wait_until(is_released, "the release of the slot")
    assert daemon.stop() == 0
    assert imports.account == (2 * SLOTS, 2 * SLOTS)


def test_a_daemon_is_killed_while_the_device_stores_frames(start, imports):
    """Every frame that can be read from the ring which it left is whole, and clients go on with the
    next daemon."""
    def start_fast():
        return start(*SETTINGS, *FILTER, env=imports.env, fps="max")

    daemon, pictures = start_fast(), set()
    with Reader(daemon) as reader:
        for _ in range(3):
            first = reader.next()
            frames = reader.take_until(lambda frame, first=first:
                                       frame.sequence > first.sequence + 2 * SLOTS)
            daemon.process.kill()
            daemon.process.wait()
            while frame := reader.take():
                frames.append(frame)
            pictures |= {frame.digest for frame in frames}
            daemon = start_fast()
        pictures.add(reader.next().digest)
    assert len(pictures) == 1
