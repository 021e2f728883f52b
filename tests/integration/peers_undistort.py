"""Compares `undistort` with OpenCV: the stage that the example writes for a calibration file, and
the frames with what cv2.remap makes of the same picture."""

import pathlib
import subprocess
import sys

import pytest

from test_filters import fftd_module  # noqa: F401, pylint: disable=unused-import
from test_undistort import (  # noqa: F401, pylint: disable=unused-import
    FISHEYE, FISHEYE_MATRIX, HEIGHT, LENSES, MATRIX, WIDTH, camera_fixture, fisheye_stage, picture)

np = pytest.importorskip("numpy", reason="python3-numpy is not installed")
cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "client/examples/undistort.py"


def write_calibration(path, coefficients, size=None, matrix=MATRIX):
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    if size is not None:
        storage.write("image_width", size[0])
        storage.write("image_height", size[1])
    storage.write("camera_matrix", matrix)
    storage.write("distortion_coefficients", np.array([coefficients]))
    storage.release()


def stage_of(path, *more):
    return subprocess.run([sys.executable, EXAMPLE, path, *more], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def remapped(coefficients, kind):
    maps = cv2.initUndistortRectifyMap(MATRIX, np.array(coefficients), None, MATRIX,
                                       (WIDTH, HEIGHT), kind)
    return cv2.remap(picture(), *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


@pytest.mark.parametrize("lens, ending", [("barrel", "yml"), ("rational", "xml")])
def test_frames_are_those_of_remap(camera, tmp_path, lens, ending):
    path = tmp_path / f"lens.{ending}"
    write_calibration(path, LENSES[lens], (WIDTH, HEIGHT))
    got, _ = camera.frame(stage_of(path))
    got = got.astype(int)
    off = np.abs(got - remapped(LENSES[lens], cv2.CV_16SC2))
    print(f"{lens}: at most {off.max()} grey levels, {100 * np.mean(off > 0):.2f} % differ")
    assert off.max() <= 1
    # Maps of floats round a few places to the next 32nd of a pixel.
    off = np.abs(got - remapped(LENSES[lens], cv2.CV_32FC1))
    print(f"maps of floats: at most {off.max()} grey levels, {np.sum(off > 1)} pixels by over 1")
    assert np.mean(off > 1) < 1e-3 and off.max() < 255 / 16
    assert np.abs(got - picture()).max() > 100  # the lens does something


def test_frames_of_a_fisheye_are_those_of_opencv(camera):
    """Its picture is black where ours repeats the edge; these places are left out."""
    got, _ = camera.frame(fisheye_stage())
    wanted, is_inside = (cv2.fisheye.undistortImage(each, FISHEYE_MATRIX, np.array(FISHEYE),
                                                    Knew=FISHEYE_MATRIX)
                         for each in (picture(), np.full_like(picture(), 255)))
    off = np.abs(got.astype(int) - wanted)[is_inside == 255]
    print(f"# figures: fisheye: at most {off.max()} grey levels, "
          f"{100 * np.mean(off > 0):.2f} % differ")
    assert off.max() <= 1 and off.size > 0.9 * got.size


@pytest.mark.parametrize("interpolation", ("bilinear", "bicubic"))
@pytest.mark.parametrize("kind", ("fisheye", "perspective"))
def test_maps_are_those_of_remap(camera, kind, interpolation):
    """As OpenCV writes them into a file. Places beyond the frame are moved to its edge, where a
    cubic of OpenCV still takes samples from both sides of it."""
    if kind == "fisheye":
        maps = cv2.fisheye.initUndistortRectifyMap(
            FISHEYE_MATRIX, np.array(FISHEYE), np.eye(3), FISHEYE_MATRIX, (WIDTH, HEIGHT),
            cv2.CV_32FC1)
    else:
        y, x = np.mgrid[:HEIGHT, :WIDTH]
        scale = 1 + 0.001 * x - 0.0007 * y
        maps = np.float32((5 + 0.9 * x + 0.1 * y) / scale), np.float32((-9 + y) / scale)
    assert cv2.imwrite(str(camera.images / f"{kind}.pfm"), np.vstack(maps))
    got, _ = camera.frame(f"remap:image={kind}.pfm,interpolation={interpolation}")
    fixed = cv2.convertMaps(*maps, cv2.CV_16SC2)
    method = cv2.INTER_LINEAR if interpolation == "bilinear" else cv2.INTER_CUBIC
    wanted = cv2.remap(picture(), *fixed, method, borderMode=cv2.BORDER_REPLICATE)
    inside = (maps[0] >= 0) & (maps[0] <= WIDTH - 1) & (maps[1] >= 0) & (maps[1] <= HEIGHT - 1)
    off = np.abs(got.astype(int) - wanted)[inside | (interpolation == "bilinear")]
    print(f"# figures: {kind}, {interpolation}: at most {off.max()} grey levels, "
          f"{100 * np.mean(off > 0):.2f} % differ")
    assert off.max() <= 1
    assert np.abs(got.astype(int) - picture()).max() > 100  # the table does something


def test_the_example_knows_a_fisheye(camera, tmp_path):
    path = tmp_path / "fisheye.yml"
    write_calibration(path, FISHEYE, matrix=FISHEYE_MATRIX)
    assert camera.frame(stage_of(path, "model=fisheye"))[0].tobytes() == \
        camera.frame(fisheye_stage())[0].tobytes()
    write_calibration(path, LENSES["barrel"])
    result = subprocess.run([sys.executable, EXAMPLE, path, "model=fisheye"], text=True,
                            check=False, stderr=subprocess.PIPE)
    assert result.returncode != 0 and "expected 4" in result.stderr


def test_the_example_explains_what_it_cannot_do(tmp_path):
    path = tmp_path / "lens.yml"
    write_calibration(path, [0.1, 0, 0, 0, 0, 0, 0, 0, 0.01, 0, 0, 0])
    result = subprocess.run([sys.executable, EXAMPLE, path], text=True, check=False,
                            stderr=subprocess.PIPE)
    assert result.returncode != 0 and "thin prism" in result.stderr
    path.write_text("%YAML:1.0\n---\nother: 1\n")
    result = subprocess.run([sys.executable, EXAMPLE, path], text=True, check=False,
                            stderr=subprocess.PIPE)
    assert result.returncode != 0 and "no camera_matrix" in result.stderr
    write_calibration(path, LENSES["barrel"])
    assert stage_of(path, "zoom=1.2").endswith(",k3=-0.021,zoom=1.2")
