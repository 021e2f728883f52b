"""fftd-ctl finds the stripes of a camera that pans over photographs of scikit-image."""

import pathlib

import numpy as np
import pytest

from conftest import needs_every_frame
from test_calibrate import (  # noqa: F401, pylint: disable=unused-import
    camera, find_stripes)

skimage = pytest.importorskip("skimage", reason="python3-skimage is not installed")
imread = pytest.importorskip("skimage.io").imread


def photograph(name):
    picture = imread(pathlib.Path(skimage.__file__).parent / f"data/{name}.png").astype(float)
    return picture if picture.ndim == 2 else picture[..., :3] @ [0.299, 0.587, 0.114]


@needs_every_frame
@pytest.mark.parametrize("name", ["camera", "astronaut", "brick"])
def test_stripes_are_found_in_photographs(camera, tmp_path, name):  # noqa: F811
    find_stripes(camera, tmp_path, name, photograph(name), np.random.default_rng(4))
