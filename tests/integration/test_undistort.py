"""Compares frames of `undistort` with what NumPy makes of the same picture by OpenCV's model of a
lens; peers_undistort.py compares them with OpenCV itself."""

import pathlib
import shutil
import tempfile

import pytest

from conftest import FAST_KERNELS
from test_filters import Filtered, as_pfm, fftd_module  # noqa: F401, pylint: disable=unused-import

np = pytest.importorskip("numpy", reason="python3-numpy is not installed")

WIDTH, HEIGHT = 320, 240
MATRIX = np.array([[231.7, 0, 157.3], [0, 229.1, 122.9], [0, 0, 1]])
LENSES = {
    "barrel": [-0.31, 0.12, 0.0007, -0.0011, -0.021],
    "rational": [0.42, 0.13, -0.002, 0.001, 0.01, 0.8, 0.3, 0.05],
}
NAMES = ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6")
FISHEYE_MATRIX = np.array([[131.7, 0, 157.3], [0, 129.1, 122.9], [0, 0, 1]])
FISHEYE = [-0.021, 0.013, -0.009, 0.0017]
STEPS = 32  # of a pixel: places are rounded to them


def picture():
    """A chart with edges at many angles, noise, and a smooth ramp."""
    random = np.random.default_rng(9)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    chart = (40 + 110 * ((x // 17 + y // 13) % 2) + 60 * (np.hypot(x - 150, y - 110) < 55) +
             30 * np.sin(0.002 * x * y) + 0.1 * x + random.normal(0, 12, x.shape))
    return np.clip(np.rint(chart), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module", name="camera")
def camera_fixture(request, tmp_path_factory):
    module = request.getfixturevalue("fftd_module")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    each = Filtered(directory, tmp_path_factory.mktemp("log") / "log", picture(), module,
                    FAST_KERNELS)
    yield each
    each.close()
    shutil.rmtree(directory)


def lens_maps(coefficients):
    """The place of each pixel behind a rectilinear lens: its columns, and its rows."""
    k1, k2, p1, p2, k3, k4, k5, k6 = (*coefficients, 0, 0, 0)[:len(NAMES)]
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    x, y = (u - MATRIX[0, 2]) / MATRIX[0, 0], (v - MATRIX[1, 2]) / MATRIX[1, 1]
    r2 = x * x + y * y
    radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    bent = (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
            y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y)
    return [bent[i] * MATRIX[i, i] + MATRIX[i, 2] for i in range(2)]


def fisheye_maps():
    """The same behind a fish-eye lens, whose picture is bent by the angle from its axis."""
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    matrix = FISHEYE_MATRIX
    x, y = (u - matrix[0, 2]) / matrix[0, 0], (v - matrix[1, 2]) / matrix[1, 1]
    angle = np.arctan(np.hypot(x, y))
    bent = angle * (1 + sum(k * angle ** (2 * i + 2) for i, k in enumerate(FISHEYE)))
    scale = bent / np.hypot(x, y)
    return [each * scale * matrix[i, i] + matrix[i, 2] for i, each in enumerate((x, y))]


def remapped(maps):
    """Each pixel from its place, as the mean of the four around it. Edges are repeated."""
    places = [np.rint(STEPS * np.clip(place, 0, length - 1)).astype(int)
              for place, length in zip(maps, (WIDTH, HEIGHT))]
    column, row = (place // STEPS for place in places)
    right, down = (place % STEPS / STEPS for place in places)

    def sample(below, beside):
        return picture()[np.clip(row + below, 0, HEIGHT - 1),
                         np.clip(column + beside, 0, WIDTH - 1)]
    above = sample(0, 0) * (1 - right) + sample(0, 1) * right
    below = sample(1, 0) * (1 - right) + sample(1, 1) * right
    return above * (1 - down) + below * down


def compare(camera, chain, maps):
    got, _ = camera.frame(chain)
    off = np.abs(got.astype(float) - remapped(maps))
    print(f"# figures: {chain.partition(',')[0]}: at most {off.max():.2f} grey levels, "
          f"{100 * np.mean(off > 0.51):.2f} % by more than rounding")
    # A place in the middle between two steps can be rounded either way.
    assert np.mean(off > 0.51) < 1e-3 and off.max() < 255 / STEPS
    assert np.abs(got.astype(int) - picture()).max() > 100  # the lens does something


def lens_of(matrix):
    return f"fx={matrix[0, 0]},fy={matrix[1, 1]},cx={matrix[0, 2]},cy={matrix[1, 2]}"


def fisheye_stage():
    return f"undistort:model=fisheye,{lens_of(FISHEYE_MATRIX)}," + ",".join(
        f"k{i + 1}={k}" for i, k in enumerate(FISHEYE))


@pytest.mark.parametrize("lens", LENSES)
def test_frames_are_those_of_the_model(camera, lens):
    names = ",".join(f"{name}={k}" for name, k in zip(NAMES, LENSES[lens]))
    compare(camera, f"undistort:{lens_of(MATRIX)},{names},size={WIDTH}/{HEIGHT}",
            lens_maps(LENSES[lens]))


def test_frames_of_a_fisheye_are_those_of_the_model(camera):
    compare(camera, fisheye_stage(), fisheye_maps())


def test_a_table_does_what_the_lens_does(camera):
    """Also a table that leaves the frame on all sides, and turns and mirrors the picture."""
    maps = np.float32(fisheye_maps())
    (camera.images / "maps.pfm").write_bytes(as_pfm(np.vstack(maps)))
    compare(camera, "remap:image=maps.pfm", maps)
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype("f4")
    maps = 290 - 1.3 * y + 0.21 * x, -15 + 0.9 * x
    (camera.images / "turned.pfm").write_bytes(as_pfm(np.vstack(maps)))
    compare(camera, "remap:image=turned.pfm", maps)


def test_tables_that_cannot_work_change_nothing(camera):
    """Errors name the file, what is wrong with it, and what would be right."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype("f4")
    nowhere = np.vstack((x, y))
    nowhere[7, 5] = np.nan
    files = {
        "half.pfm": (as_pfm(x), "half.pfm has 320x240 numbers: expected 320x480 for frames of "
                                "320x240"),
        "grey.pfm": (as_pfm(np.vstack((x, y)) / 1000), "grey.pfm is 0.319: expected columns and "
                                                       "rows in pixels"),
        "nan.pfm": (as_pfm(nowhere), "nan.pfm: the pixel in column 6 of row 8 is nan"),
        "colour.pfm": (b"PF\n1 1\n-1\n" + bytes(12), "colour.pfm is in colour (PF)"),
        "cut.pfm": (as_pfm(np.vstack((x, y)))[:-4], "cut.pfm is truncated"),
    }
    before, _ = camera.frame("none")
    serial = camera.daemon.ctl_json("status")["Serial"]
    for name, (data, reason) in files.items():
        (camera.images / name).write_bytes(data)
        refused = camera.daemon.ctl("filter", "set", f"remap:image={name}", check=False)
        assert refused.returncode != 0 and reason in refused.stderr, (name, refused.stderr)
        assert camera.daemon.ctl_json("status")["Serial"] == serial
    for frame in camera.camera.frames():
        after = frame.copy()
        if after is not None:
            break
    assert frame.filter_serial == serial and np.array_equal(after[0], before)
