"""The reference by which test_measures.py finds a template is that of OpenCV."""

import numpy
import pytest

from test_measures import NOISE, blurred, correlation, scene

cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")


@pytest.mark.parametrize("sigma", [0, 0.5, 1.5])
def test_scores_are_those_of_opencv(sigma):
    template = numpy.rint(scene()[80:97, 60:80])
    picture = blurred(numpy.roll(scene(), (-7, 11), (0, 1)), sigma)
    # Without noise there are windows without any difference, of which OpenCV computes other scores.
    picture = numpy.rint(picture + numpy.random.default_rng(4).normal(0, NOISE, picture.shape))
    scores = correlation(picture, template)
    theirs = cv2.matchTemplate(picture.astype("f4"), template.astype("f4"), cv2.TM_CCOEFF_NORMED)
    assert numpy.allclose(scores, theirs, atol=0.01) and scores.argmax() == theirs.argmax()
