"""Compares the colours that the daemon computes from mosaics with those of OpenCV."""

import numpy as np
import pytest

from test_demosaic import demosaiced, samples

cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")

# OpenCV names a mosaic after the second and third sample of its second row.
MOSAICS = {"SRGGB8": cv2.COLOR_BayerBG2BGR, "SGRBG8": cv2.COLOR_BayerGB2BGR,
           "SGBRG8": cv2.COLOR_BayerGR2BGR, "SBGGR8": cv2.COLOR_BayerRG2BGR}


@pytest.mark.parametrize("mosaic", MOSAICS)
def test_colours_are_those_of_opencv(start, tmp_path, mosaic):
    """Both take means of the nearest samples. OpenCV rounds halves up and fftd once, to even, after
    its own arithmetic. At the edges fftd mirrors the mosaic, and OpenCV repeats its second row."""
    wanted = cv2.cvtColor(samples(), MOSAICS[mosaic])
    off = np.abs(demosaiced(start, tmp_path, mosaic) - wanted)[1:-1, 1:-1]
    print(f"# figures: {mosaic} {100 * (off == 0).mean():.1f} % equal, at most {off.max()} off")
    assert off.max() <= 1 and (off == 0).mean() > 0.6
