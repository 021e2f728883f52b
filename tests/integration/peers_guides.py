"""The guides of docs/CLIENTS.md that need OpenCV work as they stand."""

import pytest

from gstreamer import plugin_dir  # noqa: F401, pylint: disable=unused-import
from test_guides import (  # noqa: F401, pylint: disable=unused-import
    SMALL, camera, environment, guides, run_guide)

LARGE = [each for each in guides() if each not in SMALL]


@pytest.mark.parametrize("title, language, text", LARGE, ids=[title for title, *_ in LARGE])
def test_the_guide_works(camera, environment, title, language, text):  # noqa: F811
    run_guide(camera, environment, title, language, text)
