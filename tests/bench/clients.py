#!/usr/bin/python3
"""Measures the processor time that recipes of docs/CLIENTS.md take for a frame of 1280x720 at 30 a
second:

    tests/bench/clients.py BUILD

prints a table for the document. Each recipe runs with 100 and with 300 frames, so that the time for
its start cancels out."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
from recipes import FRAMES, command, recipes  # noqa: E402, pylint: disable=wrong-import-position


def seconds(language, text, env):
    """Returns the processor time of a recipe with all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command(language, text), env=env, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(build, directory):
    env = {**os.environ, "XDG_RUNTIME_DIR": str(directory), "LIBFFTD": str(build / "libfftd.so.0"),
           "PATH": f"{build}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "client/python"),
           "GST_PLUGIN_PATH": str(build / "gstreamer"),
           "GST_REGISTRY": str(directory / "registry")}
    socket = directory / "fftd/front/frames"
    with subprocess.Popen([build / "fftd", "-q", "--source", "pattern:bars", "--size", "1280x720",
                           "--fps", "30", "--runtime-dir", socket.parent]) as daemon:
        try:
            while not socket.exists():
                time.sleep(0.1)
            seconds("sh", "fftd-ctl --name front frames -n 1", env)  # until there are frames
            print("| recipe | ms a frame |\n| --- | --- |")
            for title, language, text in recipes():
                few = seconds(language, text, env)
                many = seconds(language, text.replace(str(FRAMES), str(3 * FRAMES)), env)
                print(f"| {title} | {(many - few) / (2 * FRAMES) * 1000:.1f} |", flush=True)
        finally:
            daemon.terminate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        (pathlib.Path(name) / "fftd").mkdir()
        measure(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(name))
