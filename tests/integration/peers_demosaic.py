"""Compares the colours that the daemon computes from mosaics with those of OpenCV, and with
photographs of scikit-image whose colours are known."""

import pathlib

import numpy as np
import pytest

from test_demosaic import METHODS, MOSAICS, demosaiced, model, mosaic_of, psnr, samples

# OpenCV names a mosaic after the second and third sample of its second row.
OPENCV = {"SRGGB8": "BG", "SGRBG8": "GB", "SGBRG8": "GR", "SBGGR8": "RG"}
PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "motorcycle_left")


@pytest.mark.parametrize("name", OPENCV)
def test_colours_are_those_of_opencv(start, tmp_path, name):
    """Both take means of the nearest samples. OpenCV rounds halves up and fftd once, to even, after
    its own arithmetic. At the edges fftd mirrors the mosaic, and OpenCV repeats its second row."""
    cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")
    wanted = cv2.cvtColor(samples(), getattr(cv2, f"COLOR_Bayer{OPENCV[name]}2BGR"))
    off = np.abs(demosaiced(start, tmp_path, name, "bilinear", samples()) - wanted)[1:-1, 1:-1]
    print(f"# figures: {name} {100 * (off == 0).mean():.1f} % equal, at most {off.max()} off")
    assert off.max() <= 1 and (off == 0).mean() > 0.6


@pytest.mark.parametrize("photograph, name", [*zip(PHOTOGRAPHS, MOSAICS)])
def test_gradients_come_nearer_to_photographs(start, tmp_path, photograph, name):
    skimage = pytest.importorskip("skimage", reason="python3-skimage is not installed")
    from skimage import io  # pylint: disable=import-outside-toplevel
    path = pathlib.Path(skimage.__file__).parent / "data" / f"{photograph}.png"
    truth = io.imread(path)[:, :, 2::-1].astype(float)
    truth = truth[:truth.shape[0] // 2 * 2, :truth.shape[1] // 2 * 2]
    mosaic = mosaic_of(truth, name)
    quality, expected = {}, {}
    for method in METHODS:
        got = demosaiced(start, tmp_path, name, method, mosaic)
        wanted = model(name, method, mosaic)
        assert np.abs(got - wanted).max() < 0.51
        quality[method], expected[method] = psnr(got, truth), psnr(wanted, truth)
    print(f"# figures: {photograph}, {name}: " + ", ".join(
        f"{method} {quality[method]:.2f} dB (model {expected[method]:.2f})" for method in METHODS))
    assert quality["gradients"] > quality["bilinear"] + 2
