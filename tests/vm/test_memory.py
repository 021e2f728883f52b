"""Tests of the memory modes: copied, shared by driver and device (USERPTR), and imported dma-bufs
(tests/faults/import.c makes PoCL import them)."""

import pathlib
import shutil

import pytest
import vivid
from commands import run
from conftest import watched

pytestmark = pytest.mark.together

# The camera's picture does not change between these frames, because its caption is disabled.
FILTER = "gaussian-blur:sigma=2"
COPIED = "copied"
SHARED = "shared with the source (USERPTR)"
IMPORTED = "imported as dma-bufs"

LIBRARY = pathlib.Path("/usr/lib/faulty_import.so")
ACCOUNT = pathlib.Path("/var/cache/fftd/imports")  # writable by the daemon
REFUSE = ACCOUNT.with_suffix(".refuse")
ROUNDS = 3


@pytest.fixture
def importing(service):
    """Makes the service's device import dma-bufs."""
    drop_in = pathlib.Path(f"/run/systemd/system/{service.unit}.d/import.conf")
    shutil.copy("faulty_import.so", LIBRARY)
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text(f"[Service]\nEnvironment=LD_PRELOAD={LIBRARY} FFTD_IMPORTS={ACCOUNT}\n")
    run("systemctl", "daemon-reload")
    yield
    service.systemctl("stop")
    REFUSE.unlink(missing_ok=True)
    shutil.rmtree(drop_in.parent)
    run("systemctl", "daemon-reload")


def account():
    """Returns the numbers of imported and of released dma-bufs."""
    kinds = (line.split() for line in ACCOUNT.read_text().splitlines())
    return next((int(imported), int(released)) for kind, imported, released in kinds
                if kind == "dma-bufs")


def start(service, camera, memory, planes="luma", format="auto"):
    service.configure(f"v4l2:{camera.device}", filter=FILTER, engine=f'planes = "{planes}";',
                      camera=f'stall_timeout = 1.0; memory = "{memory}"; format = "{format}";')
    service.systemctl("stop")  # a reload does not change all of these keys
    service.systemctl("start")
    service.wait_for_state("online")
    return service.status()["Input"]


def check_frames(service, frames=30):
    """Checks consecutive frames: none is torn, and the camera loses none for lack of buffers."""
    found = watched(service.watch(frames))
    assert found["frames"] == frames
    assert found["missed"] == found["torn"] == found["corrupt"] == found["unchecked"] == 0
    assert found["source_lost"] == 0
    return found


def pictures(service, tmp_path):
    """Returns a frame before and after the filter."""
    service.ctl("snapshot", "before", "after", "-o", tmp_path)
    return [(tmp_path / f"{name}.png").read_bytes() for name in ("before", "after")]


def descriptors(service):
    return len(list(pathlib.Path(f"/proc/{service.pid}/fd").iterdir()))


# tests/gpu/memory.c tests all formats in these modes; this test is about buffers.
@pytest.mark.parametrize("camera, format, planes", [
    ("single", "YUYV", "luma"), ("single", "NV12", "all"),
    ("multi", "NV12", "luma"), ("multi", "NV12", "all")], indirect=["camera"])
def test_every_way_shows_the_same(camera, service, importing, tmp_path, format, planes):
    # NV12 has two buffers there, but a device that reads both planes needs them in one.
    apart = camera.planes == "multi" and planes == "all"
    camera.v4l2_ctl("--set-ctrl=osd_text_mode=2")
    expected = None
    for memory, way in (("mmap", COPIED), ("userptr", SHARED), ("dmabuf", IMPORTED)):
        shown = start(service, camera, memory, planes, format)
        if apart and memory != "mmap":
            assert shown.startswith(f"{COPIED} ({memory}: plane 1 ")
        else:
            assert shown == way
        check_frames(service)
        seen = pictures(service, tmp_path)
        expected = expected or seen
        assert seen == expected
        assert seen[0] != seen[1]
    service.systemctl("stop")
    imported, released = account()
    assert imported == released
    assert (imported > 0) != apart
    ACCOUNT.unlink()


def test_the_best_way_is_chosen(single, service, importing):
    assert start(service, single, "auto") == IMPORTED
    REFUSE.touch()
    assert start(service, single, "auto") == SHARED
    assert start(service, single, "dmabuf") == (
        f"{COPIED} (dmabuf: clImportMemoryARM: CL_INVALID_OPERATION)")
    check_frames(service)
    REFUSE.unlink()
    assert start(service, single, "auto") == IMPORTED
    assert "input: imported as dma-bufs" in service.journal


def test_a_driver_that_refuses_foreign_memory(service):
    with vivid.Vivid("single", "allocators=1") as camera:
        shown = start(service, camera, "auto")
        assert shown == (f"{COPIED} (dmabuf: the device cannot import dma-bufs; "
                         "userptr: VIDIOC_REQBUFS: Invalid argument)")
        assert f"input: {shown}" in service.journal
        check_frames(service)
        service.systemctl("stop")


@pytest.mark.parametrize("memory, way", [("userptr", SHARED), ("dmabuf", IMPORTED)])
def test_nothing_is_left_behind(single, service, importing, memory, way):
    """A camera is unplugged repeatedly while it streams; another one stops and continues."""
    assert start(service, single, memory) == way
    pid, open_before = service.pid, None
    for _ in range(ROUNDS):
        check_frames(service, 10)
        # The first round may open descriptors that stay open, for the event loop and OpenCL.
        open_before = open_before or descriptors(service)
        single.unplug()
        service.wait_for_state("lost")
        if way == IMPORTED:
            service.wait_for(lambda: account()[0] == account()[1], "the release of all imports")
        single.plug_in()
        service.wait_for_state("online")
        assert service.status()["Input"] == way
        single.set_control(vivid.FATAL_ERROR, 1)
        service.wait_for_frames()
    assert descriptors(service) <= open_before
    assert service.pid == pid
    # A mode that is requested again at run time is negotiated again.
    service.configure(f"v4l2:{single.device}", filter=FILTER, camera='memory = "mmap";')
    service.systemctl("reload")
    service.wait_for(lambda: service.status()["Input"] == COPIED, "the other way")
    assert descriptors(service) <= open_before
