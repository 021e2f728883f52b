"""The waves of the scene `moire`, and how much of each is in a picture."""

import pathlib
import re

import numpy as np

SCENE = pathlib.Path(__file__).resolve().parents[2] / "daemon/capture/pattern_scene.c"


def waves():
    """Returns fx and fy of each, in cycles per pixel."""
    table = re.search(r"pattern_moire\[\w+\] = \{(.*?)\n\};", SCENE.read_text(), re.S)[1]
    found = [(float(fx), float(fy)) for fx, fy in re.findall(r"\{(\S+), (\S+), \S+\},", table)]
    assert len(found) == 3
    return found


def amplitude(picture, fx, fy):
    """The amplitude of a wave in the middle of a picture, in steps of its samples."""
    y, x = np.mgrid[:picture.shape[0], :picture.shape[1]]
    window = np.outer(*map(np.hanning, picture.shape))
    turned = picture * np.exp(-2j * np.pi * (fx * x + fy * y))
    return 2 * abs((turned * window).sum()) / window.sum()


def amplitudes(picture):
    return np.array([amplitude(picture, *wave) for wave in waves()])


def luma(camera, serial):
    """The luma of a frame that this filter alone has made."""
    for frame in camera.frames():
        if frame.filter_serial == serial and not frame.flags & 4:  # FFTD_FLAG_BLENDED
            planes = frame.copy()
            if planes is not None:
                return planes[0].astype(float)
    raise AssertionError("the camera has ended")
