"""The guides of docs/CLIENTS.md work as they stand."""

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
# pylint: disable-next=wrong-import-position
from guides import FRAMES, TEXT, command, guides  # noqa: E402

ELEMENTS = {"x264enc": "gstreamer1.0-plugins-ugly", "h264parse": "gstreamer1.0-plugins-bad"}

pytestmark = pytest.mark.skipif(SANITIZED, reason="the programs are not sanitized")


def missing_part(text):
    """Returns what a guide needs and is not installed."""
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


@pytest.fixture
def camera(start, runtime_dir):
    """A daemon where a user's camera `front` is."""
    daemon = start(*FAST_KERNELS, fps="200")
    daemon.wait_for_socket("frames")
    (runtime_dir.parent / "fftd").mkdir()
    (runtime_dir.parent / "fftd/front").symlink_to(runtime_dir)
    return daemon


@pytest.fixture
def environment(plugin_dir, runtime_dir):
    return {**os.environ, "XDG_RUNTIME_DIR": str(runtime_dir.parent),
            "PATH": f"{BUILD}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "client/python"),
            "LIBFFTD": os.environ.get("FFTD_LIBRARY", str(BUILD / "libfftd.so.0")),
            "GST_PLUGIN_PATH": str(plugin_dir)}


# OpenCV is large: peers_guides.py runs its guide.
SMALL = [each for each in guides() if "import cv2" not in each[2]]


@pytest.mark.parametrize("title, language, text", SMALL,
                         ids=[re.sub(r"\W+", "-", title) for title, *_ in SMALL])
def test_the_guide_works(camera, environment, title, language, text):
    run_guide(camera, environment, title, language, text)


def run_guide(camera, environment, title, language, text):
    if missing := missing_part(text):
        pytest.skip(f"{missing} is not installed")
    before = camera.ctl_json("stats")["Counters"]["published"]
    done = subprocess.run(command(language, text), capture_output=True, text=True, timeout=PATIENCE,
                          check=False, env=environment)
    assert done.returncode == 0, f"{title}: {done.stderr}"
    assert not re.search("ERROR|CRITICAL|Traceback", done.stderr), f"{title}: {done.stderr}"
    assert camera.ctl_json("stats")["Counters"]["published"] >= before + FRAMES


# go2rtc looks at the first unit of the stream only, and older versions refuse a delimiter there.
@pytest.mark.usefixtures("camera")
def test_the_stream_for_go2rtc_begins_with_its_parameters(environment):
    line = re.search(r"^      front: exec:(.*)$", TEXT.read_text(), re.M)[1]
    if missing := missing_part(line):
        pytest.skip(f"{missing} is not installed")
    with subprocess.Popen(line.split(), stdout=subprocess.PIPE, env=environment) as process:
        begin = process.stdout.read(5)
        process.kill()
    assert begin[:4] == b"\0\0\0\1" and begin[4] & 31 == 7, begin  # a sequence parameter set
