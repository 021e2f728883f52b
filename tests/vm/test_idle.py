"""Tests of idle = "pause" with a camera of the kernel."""

from commands import run
from conftest import watched

PAUSE = 'idle = "pause";'


def can_stream(camera, tmp_path):
    """Whether another process can stream: a driver serves one process at a time."""
    frames = tmp_path / "frames"
    run("v4l2-ctl", "-d", camera.device, "--stream-mmap", "--stream-count=2",
        f"--stream-to={frames}", check=False)
    return frames.exists() and frames.stat().st_size > 0


def test_nobody_reading_means_no_streaming(camera, service, tmp_path):
    service.configure(f"v4l2:{camera.device}", camera=PAUSE)
    service.systemctl("start")
    service.wait_for_state("paused")
    assert can_stream(camera, tmp_path)
    (tmp_path / "frames").unlink()

    client = service.watch(100)
    service.wait_for_state("online")
    assert not can_stream(camera, tmp_path)
    found = watched(client)
    assert found["frames"] == 100 and found["torn"] == found["corrupt"] == 0
    service.wait_for_state("paused")
    assert can_stream(camera, tmp_path)
    counters = service.status()["Counters"]
    assert counters["stalls"] == counters["source_lost"] == 0


def test_camera_changed_meanwhile(camera, service):
    """Another process may change the format during the pause; the daemon restores its own."""
    camera.v4l2_ctl("--set-ctrl=osd_text_mode=2")  # which shows the time
    service.configure(f"v4l2:{camera.device}", camera=PAUSE)
    service.systemctl("start")
    before = service.frame()
    for other in ("width=640,height=360", "pixelformat=YUYV"):
        service.wait_for_state("paused")
        camera.v4l2_ctl(f"--set-fmt-video={other}")
        assert service.frame() == before
    assert service.show("NRestarts") == "0"
