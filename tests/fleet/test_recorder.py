"""make demo-recorder: a recorder gets the camera's frames, and a detector smaller ones."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from fleet import INTEGRATION
from conftest import BUILD

assert INTEGRATION.is_dir()  # where conftest is found
PROGRAM = pathlib.Path(__file__).with_name("recorder.py")
FRAMES = 100


@pytest.mark.skipif(not shutil.which("ffprobe") or importlib.util.find_spec("cv2") is None,
                    reason="ffmpeg or python3-opencv is not installed")
def test_a_recorder_and_a_detector_of_one_camera(tmp_path, record_property):
    done = subprocess.run([sys.executable, PROGRAM, BUILD, f"--frames={FRAMES}",
                           f"--directory={tmp_path}"], capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.returncode == 0, done.stderr
    results = {each["way"]: each for each in json.loads((tmp_path / "results.json").read_text())}
    assert set(results) == {"outputs", "scale", "decode"}
    for way, result in results.items():
        # The detector took 100 frames of a scene in which something moves, and the recorder at
        # least as many of main.
        assert result["moving"] > 0, results
        probe = subprocess.run(
            ["ffprobe", "-v", "error", "-count_packets", "-show_entries",
             "stream=width,height,nb_read_packets", "-of", "csv=p=0",
             tmp_path / f"{way}0/main.ts"], capture_output=True, text=True, check=True)
        width, height, packets = map(int, probe.stdout.split()[0].split(",")[:3])
        assert (width, height) == (1280, 720) and packets >= FRAMES, probe.stdout
        # A detector that is fed from main would get six times as many.
        assert result["detected_a_second"] < 12, results
    cost = {way: sum(result["spent"].values()) for way, result in results.items()}
    record_property("figures", "ms a second: " + ", ".join(
        f"{way} {cost[way]:.0f}" for way in cost))
