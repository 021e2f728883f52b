"""The recipes of docs/CLIENTS.md work as they stand."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, SANITIZED
from gstreamer import plugin_dir  # pylint: disable=unused-import

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
from recipes import FRAMES, command, recipes  # noqa: E402, pylint: disable=wrong-import-position

ELEMENTS = {"x264enc": "gstreamer1.0-plugins-ugly", "h264parse": "gstreamer1.0-plugins-bad"}

pytestmark = pytest.mark.skipif(SANITIZED, reason="the programs are not sanitized")


def missing_part(text):
    """Returns what a recipe needs and is not installed."""
    for statement, module in (("import cv2", "cv2"), ("import fftd", "numpy")):
        if statement in text and importlib.util.find_spec(module) is None:
            return f"the Python module {module}"
    if "ffmpeg" in text and not shutil.which("ffmpeg"):
        return "ffmpeg"
    for element, name in ELEMENTS.items():
        if element in text and subprocess.run(["gst-inspect-1.0", "--exists", element],
                                              check=False).returncode != 0:
            return name
    return None


@pytest.mark.parametrize("title, language, text", recipes(),
                         ids=[re.sub(r"\W+", "-", title) for title, *_ in recipes()])
def test_the_recipe_works(start, plugin_dir, runtime_dir, tmp_path, title, language, text):
    if missing := missing_part(text):
        pytest.skip(f"{missing} is not installed")
    daemon = start(*FAST_KERNELS, fps="200")
    daemon.wait_for_socket("frames")
    # Where a user's camera of this name is.
    (runtime_dir.parent / "fftd").mkdir()
    (runtime_dir.parent / "fftd/front").symlink_to(runtime_dir)
    before = daemon.ctl_json("stats")["Counters"]["published"]
    done = subprocess.run(
        command(language, text), capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime_dir.parent),
             "PATH": f"{BUILD}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "client/python"),
             "LIBFFTD": os.environ.get("FFTD_LIBRARY", str(BUILD / "libfftd.so.0")),
             "GST_PLUGIN_PATH": str(plugin_dir), "GST_REGISTRY": str(tmp_path / "registry")})
    assert done.returncode == 0, f"{title}: {done.stderr}"
    assert not re.search("ERROR|CRITICAL|Traceback", done.stderr), f"{title}: {done.stderr}"
    assert daemon.ctl_json("stats")["Counters"]["published"] >= before + FRAMES
