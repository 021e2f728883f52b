"""Tests of the memory modes, as the daemon reports them (camera.memory)."""

import itertools

import pytest

from client import Reader
from conftest import FAST_KERNELS


def needs_shared_memory(daemon):
    if "shared with the host" not in daemon.ctl_json("status")["DeviceMemory"]:
        pytest.skip("the device does not work in the host's memory")


def wait_for_input(daemon, expected):
    daemon.wait_until(lambda: daemon.ctl_json("status")["Input"] == expected, expected)


def test_a_scene_is_drawn_where_it_is_filtered(start, tmp_path):
    """A shared frame equals a copied one, in a size whose rows the device pads."""
    pictures = []
    for memory, way in (("mmap", "copied"), ("auto", "shared with the source (USERPTR)")):
        daemon = start(*FAST_KERNELS, "--set", f"camera.memory={memory}", "--filter",
                       "lowpass:cutoff=0.1", size="328x240", source="pattern:zoneplate")
        with Reader(daemon) as reader:
            pictures.append(reader.next().digest)
            if memory == "auto":
                needs_shared_memory(daemon)
            wait_for_input(daemon, way)
            assert f"input: {way}" in daemon.log
            daemon.ctl("snapshot", "before", "-o", tmp_path / "before.png")
            pictures.append((tmp_path / "before.png").read_bytes())
        assert "input" in daemon.ctl("status").stdout
        assert daemon.stop() == 0
    assert pictures[:2] == pictures[2:]


@pytest.mark.parametrize("memory", ["mmap", "userptr"])
def test_copies_are_counted(start, memory):
    width, height = 320, 240
    daemon = start(*FAST_KERNELS, "--set", f"camera.memory={memory}", "--set",
                   "output.measures=true", "--filter", "gaussian-blur:sigma=2",
                   size=f"{width}x{height}", source="pattern:zoneplate")
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Copies"]["observe"][0] > 0 and
                      daemon.ctl_json("stats")["Counters"]["published"] > 0, "a copy and a frame")
    if memory == "userptr":
        needs_shared_memory(daemon)
    stats = daemon.ctl_json("stats")
    copies, frames = stats["Copies"], stats["Counters"]["published"]
    assert list(copies) == ["capture", "upload", "pass", "download", "observe"]
    assert copies["capture"] == [0, 0]  # scenes are drawn where they are lent
    uploaded = frames if memory == "mmap" else 0
    assert copies["upload"] == [uploaded, uploaded * width * height]
    assert copies["pass"] == [frames, frames * width * height // 2]
    if memory == "userptr":
        assert copies["download"] == [0, 0]  # the device stores results into the ring
        assert daemon.ctl_json("status")["Output"].startswith("stored by the device")
    assert copies["observe"][1] == copies["observe"][0] * width * height
    assert f"pass {width * height // 2}, " in daemon.ctl("stats").stdout
    assert daemon.stop() == 0


def test_frames_that_nothing_changes_are_copied_once(start):
    width, height = 320, 240
    daemon = start(*FAST_KERNELS, "--set", "camera.memory=mmap", "--filter", "none",
                   size=f"{width}x{height}", source="pattern:zoneplate")
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Counters"]["published"] > 40, "frames")
    stats = daemon.ctl_json("stats")
    copies, frames = stats["Copies"], stats["Counters"]["published"]
    assert copies["pass"] == [frames, frames * width * height * 3 // 2]
    assert copies["upload"] == copies["download"] == [0, 0]
    assert stats["StepTimes"] == {}
    daemon.ctl("filter", "set", "gaussian-blur:sigma=2")
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Copies"]["upload"][0] > 0, "kernels")
    assert daemon.stop() == 0


@pytest.mark.parametrize("memory", ["mmap", "userptr"])
def test_reading_a_file_is_a_copy(start, tmp_path, memory):
    width, height = 64, 48
    clip = tmp_path / "clip.gray"
    clip.write_bytes(b"".join(bytes([n]) * (width * height) for n in (16, 17, 18)))
    daemon = start(*FAST_KERNELS, "--set", "camera.loop=true", "--set", "camera.format=GREY",
                   "--set", f"camera.memory={memory}",
                   source=f"file:{clip}", size=f"{width}x{height}")
    with Reader(daemon) as reader:
        for frame in itertools.islice(reader.frames(), 6):
            assert frame.planes[0][0] == 16 + frame.source_sequence % 3
    if memory == "userptr":
        needs_shared_memory(daemon)
        assert daemon.ctl_json("stats")["Copies"]["upload"] == [0, 0]
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Counters"]["published"] > 5, "frames")
    stats = daemon.ctl_json("stats")
    times, copied = stats["Copies"]["capture"]
    assert times >= stats["Counters"]["published"]
    assert copied == times * width * height
    assert daemon.stop() == 0


def test_a_way_that_does_not_work_is_told(start):
    daemon = start("--set", "camera.memory=dmabuf")
    with Reader(daemon) as reader:
        reader.next()
        wait_for_input(daemon, "copied (dmabuf: test scenes have no dma-bufs)")
    assert daemon.stop() == 0


def test_memory_changes_with_the_configuration(start, tmp_path):
    config = tmp_path / "fftd.conf"

    def write(memory):
        config.write_text(f'camera = {{ source = "pattern:moire"; memory = "{memory}"; }};\n')

    write("mmap")
    daemon = start("--config", config, *FAST_KERNELS, source=None, size=None, fps=None)
    with Reader(daemon) as reader:
        reader.next()
        needs_shared_memory(daemon)
        wait_for_input(daemon, "copied")
        write("userptr")
        daemon.ctl("reload")
        wait_for_input(daemon, "shared with the source (USERPTR)")
        reader.next()
    assert daemon.stop() == 0


@pytest.mark.parametrize("fault", ["enqueue -5 0 1", "finish -5 0 1"])
def test_memory_goes_and_comes_with_the_device(start_faulty, faults, fault):
    daemon = start_faulty("--filter", "lowpass:cutoff=0.1")
    with Reader(daemon) as reader:
        picture = reader.next().digest
        needs_shared_memory(daemon)
        descriptors = len(daemon.descriptors())
        for failures in range(1, 4):
            faults.begin(fault)
            daemon.wait_until(lambda count=failures: daemon.ctl_json("stats")["Counters"]
                              ["engine_failures"] >= count, "a failure")
            faults.end()
            daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "online")
            assert reader.next().digest == picture
        wait_for_input(daemon, "shared with the source (USERPTR)")
        daemon.wait_until(lambda: len(daemon.descriptors()) <= descriptors, "no more descriptors")
    assert daemon.log.count("input: ") == 1
    assert daemon.stop() == 0
