"""Compares frames of `undistort` with what NumPy makes of the same picture by OpenCV's model of a
lens; peers_undistort.py compares them with OpenCV itself."""

import pathlib
import shutil
import tempfile

import pytest

from conftest import FAST_KERNELS
from test_filters import Filtered, fftd_module  # noqa: F401, pylint: disable=unused-import

np = pytest.importorskip("numpy", reason="python3-numpy is not installed")

WIDTH, HEIGHT = 320, 240
MATRIX = np.array([[231.7, 0, 157.3], [0, 229.1, 122.9], [0, 0, 1]])
LENSES = {
    "barrel": [-0.31, 0.12, 0.0007, -0.0011, -0.021],
    "rational": [0.42, 0.13, -0.002, 0.001, 0.01, 0.8, 0.3, 0.05],
}
NAMES = ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6")
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


def remapped(coefficients):
    """Each pixel from its place behind the lens, as the mean of the four around it. Edges are
    repeated."""
    k1, k2, p1, p2, k3, k4, k5, k6 = (*coefficients, 0, 0, 0)[:len(NAMES)]
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    x, y = (u - MATRIX[0, 2]) / MATRIX[0, 0], (v - MATRIX[1, 2]) / MATRIX[1, 1]
    r2 = x * x + y * y
    radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    bent = (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
            y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y)
    places = [np.rint(STEPS * (bent[i] * MATRIX[i, i] + MATRIX[i, 2])).astype(int)
              for i in range(2)]
    column, row = (place // STEPS for place in places)
    right, down = (place % STEPS / STEPS for place in places)

    def sample(below, beside):
        return picture()[np.clip(row + below, 0, HEIGHT - 1),
                         np.clip(column + beside, 0, WIDTH - 1)]
    above = sample(0, 0) * (1 - right) + sample(0, 1) * right
    below = sample(1, 0) * (1 - right) + sample(1, 1) * right
    return above * (1 - down) + below * down


@pytest.mark.parametrize("lens", LENSES)
def test_frames_are_those_of_the_model(camera, lens):
    values = {"fx": MATRIX[0, 0], "fy": MATRIX[1, 1], "cx": MATRIX[0, 2], "cy": MATRIX[1, 2],
              **dict(zip(NAMES, LENSES[lens]))}
    stage = "undistort:" + ",".join(f"{name}={value}" for name, value in values.items())
    got, _ = camera.frame(f"{stage},size={WIDTH}/{HEIGHT}")
    off = np.abs(got.astype(float) - remapped(LENSES[lens]))
    print(f"# figures: {lens}: at most {off.max():.2f} grey levels, "
          f"{100 * np.mean(off > 0.51):.2f} % by more than rounding")
    # A place in the middle between two steps can be rounded either way.
    assert np.mean(off > 0.51) < 1e-3 and off.max() < 255 / STEPS
    assert np.abs(got.astype(int) - picture()).max() > 100  # the lens does something
