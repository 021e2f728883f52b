"""Pipelines of gst-launch-1.0 with fftdsrc, the GStreamer element."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import BUILD, PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def plugin_dir():
    """Returns the directory of the built element."""
    if not shutil.which("gst-launch-1.0"):
        pytest.skip("gstreamer1.0-tools is not installed")
    if subprocess.run(["pkg-config", "--exists", "gstreamer-base-1.0", "gstreamer-video-1.0"],
                      check=False).returncode != 0:
        pytest.skip("libgstreamer-plugins-base1.0-dev is not installed")
    if "san" in BUILD.name:
        pytest.skip("a sanitized element cannot be loaded into gst-launch-1.0")
    subprocess.run(["make", "-s", "-C", ROOT, f"BUILD={BUILD}", "gst"], check=True)
    return BUILD / "gstreamer"


@pytest.fixture
def launch(plugin_dir):
    """launch(pipeline) starts gst-launch-1.0, which is killed at the end of the test."""
    running = []

    def start(pipeline, *options):
        env = dict(os.environ, GST_PLUGIN_PATH=str(plugin_dir), GST_DEBUG_NO_COLOR="1")
        running.append(subprocess.Popen(["gst-launch-1.0", *options, *pipeline.split()], text=True,
                                        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def finish(process):
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    return said


def rows_of_file(data, layout):
    """Returns the pixels of frames in GStreamer's layout, where rows begin at multiples of four
    bytes."""
    at = 0
    while at < len(data):
        for plane in layout.plane[:layout.plane_count]:
            for _ in range(plane.rows):
                yield data[at:at + plane.row_bytes]
                at += (plane.row_bytes + 3) // 4 * 4
