"""Compares medians, black and white, and the edges of a view with those of OpenCV, on photographs
of scikit-image."""

import numpy as np
import pytest

from client import Reader
from conftest import FAST_KERNELS
from peers_calibrate import photograph

cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")

FULL = 255 * 20 ** 0.5  # the strongest gradient of 8 bits


def published(start, tmp_path, picture, *arguments):
    height, width = picture.shape
    path = tmp_path / "photograph.y4m"
    path.write_bytes(b"YUV4MPEG2 W%d H%d F20:1 Cmono\nFRAME\n" % (width, height)
                     + picture.tobytes())
    daemon = start("--set", "camera.loop=true", *FAST_KERNELS, *arguments,
                   source=f"file:{path}", size=None, fps=None)
    with Reader(daemon) as reader:
        plane = reader.next().planes[0]
    assert daemon.stop() == 0
    return np.frombuffer(plane, np.uint8).reshape(height, width)


def grey(name):
    return np.rint(photograph(name)).astype(np.uint8)


# Whole gradients never equal these limits, where OpenCV's are exclusive and fftd's inclusive.
@pytest.mark.parametrize("low, high", [(50.5, 150.5), (100.5, 200.5)])
@pytest.mark.parametrize("name", ["camera", "astronaut", "brick"])
def test_edges_are_those_of_canny(start, tmp_path, name, low, high):
    """The measure is the share of pixels that both call an edge among those that either does. They
    differ in ties along diagonals alone, of which OpenCV keeps neither pixel, and in what hangs on
    such a pixel."""
    picture = grey(name)
    wanted = cv2.Canny(picture, low, high, apertureSize=3, L2gradient=True) > 0
    found = published(start, tmp_path, picture, "--set", "engine.view=edges",
                      "--set", f"engine.edge_low={low / FULL:.9f}",
                      "--set", f"engine.edge_high={high / FULL:.9f}") > 0
    share = (found & wanted).sum() / (found | wanted).sum()
    print(f"# figures: {name} {low} {high}: {wanted.sum()} pixels of OpenCV's, {found.sum()} of "
          f"fftd's, {100 * share:.2f} % in both")
    # Without tracking, and without a limit at all, the edges are others.
    assert wanted.sum() > 1000 and share > 0.999
    for other in ((low, low), (high, high)):
        untracked = cv2.Canny(picture, *other, apertureSize=3, L2gradient=True) > 0
        assert (found & untracked).sum() / (found | untracked).sum() < share


@pytest.mark.parametrize("name", ["camera", "brick"])
def test_medians_and_levels_are_those_of_opencv(start, tmp_path, name):
    """Of a picture with salt and pepper: each sample is the same."""
    picture, random = grey(name), np.random.default_rng(6)
    noise = random.random(picture.shape)
    picture[noise < 0.05], picture[noise > 0.95] = 0, 255
    wanted = cv2.medianBlur(picture, 3)
    assert np.array_equal(published(start, tmp_path, picture, "--filter", "median"), wanted)
    _, wanted = cv2.threshold(picture, 99, 255, cv2.THRESH_BINARY)  # 100 is the first white
    assert np.array_equal(published(start, tmp_path, picture, "--filter", "binarise:level=100"),
                          wanted)
