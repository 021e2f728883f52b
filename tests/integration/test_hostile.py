"""fftd-ctl with a daemon that wants to harm it, or the terminal that it runs in."""

import contextlib
import os
import subprocess
import threading
import time

import pytest

from conftest import BUILD, PATIENCE
from hostile_control import HostileControl


def ctl(directory, *arguments):
    return subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", directory, *arguments],
                          capture_output=True, timeout=PATIENCE, check=False)


@pytest.fixture
def directory(runtime_dir):
    runtime_dir.mkdir()
    return runtime_dir


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
