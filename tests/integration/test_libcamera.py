"""Frames of libcamera, from one of its virtual cameras. Debian 13's libcamera has them, and Debian
12's has not."""

import pathlib
import subprocess

import pytest

from conftest import BUILD, SANITIZED
from rtsp import has_elements

PRELOADED = BUILD / "tests/tools/faulty_libcamera.so"
CAMERA = """
"Virtual0":
  supported_formats:
  - width: 640
    height: 480
    frame_rates: [30, 60]
  test_pattern: "bars"
  location: "CameraLocationFront"
  model: "Virtual"
"""
FRAMES = 100


def has_virtual_cameras():
    found = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    paths = [line.split()[-1] for line in found.stdout.splitlines() if "libcamera.so" in line]
    return any(b"virtual.yaml" in pathlib.Path(path).read_bytes() for path in paths)


@pytest.mark.skipif(SANITIZED, reason="libcamera and what is preloaded are not sanitized")
@pytest.mark.skipif(not has_elements("libcamerasrc") or not has_virtual_cameras(),
                    reason="gstreamer1.0-libcamera is not installed or has no virtual cameras")
def test_frames_of_libcamera(start, tmp_path):
    cameras = tmp_path / "virtual.yaml"
    cameras.write_text(CAMERA)
    # libcamerasrc aborts now and then when a request is completed at once, as a virtual camera does
    # (libcamera's issue 18). --wait starts it again.
    daemon = start("--wait", source="gst:libcamerasrc ! video/x-raw,format=NV12",
                   size="640x480", fps="30",
                   env={"LD_PRELOAD": str(PRELOADED), "FFTD_VIRTUAL_CAMERAS": str(cameras)})
    daemon.wait_for_socket("frames")
    y4m = daemon.ctl("frames", "-n", str(FRAMES), "-o", str(tmp_path / "clip.y4m"))
    assert f"{FRAMES} frames" in y4m.stderr
    data = (tmp_path / "clip.y4m").read_bytes()
    assert data.startswith(b"YUV4MPEG2 W640 H480") and data.count(b"FRAME") == FRAMES
    luma = data[data.index(b"FRAME"):].partition(b"\n")[2][:640]
    assert len(set(luma)) >= 4, "no bars"
