"""OBS itself shows a camera by its source "Media Source", and records 100 frames of it.

FFTD_OBS is a tree with OBS, or / if it is installed; the test needs root for a tree:

    mmdebstrap --variant=apt --include=obs-studio,obs-plugins,xauth,xvfb bookworm DIR
    FFTD_OBS=DIR make test-peers
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile

import numpy
import pytest

from conftest import PATIENCE, wait_until
from gstreamer import plugin_dir  # pylint: disable=unused-import
from process import Process
from rtsp import Server
from unit import command_of

WIDTH, HEIGHT = 640, 360
FRAMES = 100
SETTINGS = {
    "global.ini": "[General]\nFirstRun=true\nLastVersion=486539266\nEnableAutoUpdates=false\n"
                  "[Basic]\nProfile=Untitled\nProfileDir=Untitled\nSceneCollection=Untitled\n"
                  "SceneCollectionFile=Untitled\n",
    "basic/profiles/Untitled/basic.ini":
        "[General]\nName=Untitled\n[Output]\nMode=Simple\n[SimpleOutput]\nFilePath={home}\n"
        "RecFormat=mkv\nRecQuality=Stream\nVBitrate=2500\nStreamEncoder=x264\nPreset=ultrafast\n"
        f"[Video]\nBaseCX={WIDTH}\nBaseCY={HEIGHT}\nOutputCX={WIDTH}\nOutputCY={HEIGHT}\n"
        "FPSType=1\nFPSInt=10\n",
}
# $0 is the tree, and what follows the command.
MOUNTED = """
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
exec chroot "$0" "$@"
"""


def scenes(url):
    """What OBS saves when a Media Source with that URL is added to an empty scene."""
    zero, one = {"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}
    item = {"name": "front", "id": 1, "visible": True, "pos": zero, "scale": one, "align": 5,
            "bounds": zero, "bounds_type": 0}
    return json.dumps({
        "name": "Untitled", "current_scene": "Scene", "current_program_scene": "Scene",
        "scene_order": [{"name": "Scene"}],
        "sources": [
            {"id": "scene", "versioned_id": "scene", "name": "Scene",
             "settings": {"id_counter": 1, "items": [item]}},
            {"id": "ffmpeg_source", "versioned_id": "ffmpeg_source", "name": "front",
             "settings": {"is_local_file": False, "input": url, "reconnect_delay_sec": 1}}]})


def frames_of(path):
    """Luma of all frames of a recording."""
    done = subprocess.run(["ffmpeg", "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt",
                           "gray", "-"], capture_output=True, check=False, timeout=PATIENCE)
    whole = len(done.stdout) // (WIDTH * HEIGHT)
    return numpy.frombuffer(done.stdout, numpy.uint8)[:whole * WIDTH * HEIGHT].reshape(
        whole, HEIGHT, WIDTH)


def shows(found, wanted):
    """A recording begins with black frames."""
    return found.std() > 0 and numpy.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.95


@pytest.fixture(name="home")
def home_fixture():
    tree = os.environ.get("FFTD_OBS")
    if tree is None:
        pytest.skip("FFTD_OBS names no tree with OBS")
    with tempfile.TemporaryDirectory(dir=pathlib.Path(tree) / "tmp") as home:
        yield pathlib.Path(tree), pathlib.Path(home)


def test_obs_records_the_stream(start, home, plugin_dir, runtime_dir,  # noqa: F811
                                tmp_path):  # pylint: disable=redefined-outer-name
    tree, folder = home
    inside = "/" / folder.relative_to(tree)
    daemon = start("--set", "camera.format=GREY", source="pattern:bars", size=f"{WIDTH}x{HEIGHT}",
                   fps="15")
    daemon.wait_for_socket("frames")
    daemon.ctl("frames", "-n", "1", "--raw", "-o", str(tmp_path / "frame"))
    wanted = numpy.fromfile(tmp_path / "frame", numpy.uint8).reshape(HEIGHT, WIDTH)
    server = Server("front")
    link = runtime_dir.parent / "fftd"
    link.mkdir(exist_ok=True)
    (link / "front").symlink_to(runtime_dir)
    stream = Process(command_of("fftd-stream@.service", "front", {"URL": server.url + "/in"}),
                     dict(os.environ, GST_PLUGIN_PATH=str(plugin_dir),
                          XDG_RUNTIME_DIR=str(link.parent)), tmp_path / "stream.log")
    files = SETTINGS | {"basic/scenes/Untitled.json": scenes(server.url)}
    for name, text in files.items():
        path = folder / ".config/obs-studio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{home}", str(inside)))
    obs = subprocess.Popen(
        ["unshare", "--mount", "sh", "-ec", MOUNTED, tree, "env", f"HOME={inside}",
         f"XDG_RUNTIME_DIR={inside}", f"TMPDIR={inside}", "LIBGL_ALWAYS_SOFTWARE=1", "xvfb-run",
         "-a", "obs", "--multi", "--startrecording", "--scene", "Scene"], stdin=subprocess.DEVNULL,
        stdout=(tmp_path / "obs.log").open("wb"), stderr=subprocess.STDOUT, start_new_session=True)
    try:
        def has_recorded():
            assert obs.poll() is None, (tmp_path / "obs.log").read_text()[-3000:]
            return any(sum(shows(frame, wanted) for frame in frames_of(path)) >= FRAMES
                       for path in folder.glob("*.mkv"))

        wait_until(has_recorded, "frames of the camera in a recording of OBS")
    finally:
        if obs.poll() is None:
            os.killpg(obs.pid, signal.SIGKILL)
            obs.wait()
        stream.kill()
        server.kill()
