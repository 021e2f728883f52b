"""The recipes of docs/CLIENTS.md that need OpenCV work as they stand."""

import pytest

from gstreamer import plugin_dir  # noqa: F401, pylint: disable=unused-import
from test_recipes import (  # noqa: F401, pylint: disable=unused-import
    SMALL, camera, environment, recipes, run_recipe)

LARGE = [each for each in recipes() if each not in SMALL]


@pytest.mark.parametrize("title, language, text", LARGE, ids=[title for title, *_ in LARGE])
def test_the_recipe_works(camera, environment, title, language, text):  # noqa: F811
    run_recipe(camera, environment, title, language, text)
