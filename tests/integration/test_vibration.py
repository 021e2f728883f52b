"""Tests of `fftd-ctl motion`: vibrations that a daemon's frames show, and what it says without."""

import csv
import json
import math
import signal
import subprocess
import time

import pytest

from conftest import FAST_KERNELS, PATIENCE, wait_until
from png import Png
from test_ctl import CTL, assert_refused, run
from test_motion import texture

numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
# Frames come slowly, so that nearly each is observed on a busy machine, too.
WIDTH, HEIGHT, RATE = 160, 128, 30
HZ, PIXELS, SIGMA = 7.3, 0.05, 5
FRAMES = 600  # in which the vibration has whole periods, so that the clip can be repeated
REGIONS = "--region", f"pump={WIDTH // 2},0,{WIDTH // 2}x{HEIGHT}", "--region", "0,0,64x128"


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """The right half of the picture moves to and fro by a twentieth of a pixel."""
    random = numpy.random.default_rng(11)
    spectrum, _, fx = texture(random, (HEIGHT, WIDTH))
    wall = 128 + numpy.fft.irfft2(texture(random, (HEIGHT, WIDTH))[0], (HEIGHT, WIDTH))
    path = tmp_path_factory.mktemp("vibration") / "clip.y4m"
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F%d:1 Cmono\n" % (WIDTH, HEIGHT, RATE))
        for i in range(FRAMES):
            moved = PIXELS * math.cos(2 * math.pi * HZ * i / RATE)
            shift = numpy.exp(-2j * math.pi * moved * fx)
            picture = 128 + numpy.fft.irfft2(spectrum * shift, (HEIGHT, WIDTH))
            picture[:, :WIDTH // 2] = wall[:, :WIDTH // 2]
            picture += random.normal(0, SIGMA, picture.shape)
            file.write(b"FRAME\n" + numpy.rint(picture.clip(0, 255)).astype(numpy.uint8).tobytes())
    return path


def play(start, clip, *arguments):
    daemon = start(*FAST_KERNELS, "--set", "camera.loop=true", "--set", "output.motion=32",
                   *arguments, source=f"file:{clip}", size=None, fps=None)
    daemon.wait_for_socket("frames")
    daemon.wait_for_log("online")
    return daemon


def stands_still(region):
    """Half of the vibration beside it is too much, however large the noise is."""
    return all(mode["Pixels"] < min(PIXELS / 2, max(0.01, 4 * mode["PixelsDeviation"]))
               for mode in region["Modes"])


def check_regions(regions):
    """A busy machine takes few fields, so that noise can exceed the bounds of an idle one."""
    pump, wall = regions
    print(pump)
    assert (pump["Name"], pump["X"], pump["Width"], pump["Blocks"]) == ("pump", 80, 80, 28)
    assert wall["Name"] == "region2"
    mode = pump["Modes"][0]
    assert abs(mode["Hz"] - HZ) < 0.05
    bound = max(0.005, 4 * mode["PixelsDeviation"])
    assert abs(mode["Pixels"] - PIXELS) < bound
    assert abs(mode["Right"]["Pixels"] - PIXELS) < bound
    assert abs(mode["Angle"]) < 15
    assert stands_still(wall)


def test_a_vibration_is_measured(start, clip, tmp_path):
    daemon = play(start, clip, "--filter", "gaussian-blur:sigma=3")  # motion is of what is captured
    done = run("--runtime-dir", daemon.runtime_dir, "motion", *REGIONS, "--json", "-o", "p.csv",
               "--plot", "plot.png", "--picture", "mode.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    check_regions(result["Regions"])
    assert result["Seconds"] >= 10 and result["Block"] == 32 and result["Blocks"] == []

    with open(tmp_path / "p.csv", encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [f"{name}_{column}" for name in ("pump", "region2")
             for column in ("dx", "dy", "confidence")]
    assert list(rows[0]) == ["time_s", *names]
    assert rows[0]["pump_confidence"] == "" and float(rows[0]["pump_dx"]) == 0
    assert sum(row["pump_confidence"] != "" for row in rows) == result["Fields"]
    times = [float(row["time_s"]) for row in rows]
    assert times[0] == 0 and times == sorted(times) and times[-1] >= 10
    # The displacement follows the vibration, whose phase is that of the result.
    mode = result["Regions"][0]["Modes"][0]["Right"]
    made = [mode["Pixels"] * math.cos(2 * math.pi * HZ * at + math.radians(mode["Phase"]))
            for at in times]
    steps = [i for i, row in enumerate(rows) if row["pump_confidence"] != ""]
    moved = [(made[i] - made[i - 1], float(rows[i]["pump_dx"]) - float(rows[i - 1]["pump_dx"]))
             for i in steps]
    assert numpy.corrcoef(numpy.array(moved).T)[0, 1] > 0.9

    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    image = Png((tmp_path / "mode.png").read_bytes())
    assert (image.width, image.height) == (480, 416)  # three times the frame, and a line of text
    picture = numpy.array([list(row) for row in image.rows[:384]]).reshape(384, 480, 3)
    red = picture[:, :, 0] - picture[:, :, 1]
    assert red[100:300, 300:440].mean() > 50 > 10 > red[:, :144].mean()
    assert daemon.stop() == 0


def test_blocks_are_searched_without_regions(start, clip):
    daemon = play(start, clip)
    result = {"Blocks": []}

    def finds_blocks():  # a busy machine may miss too many frames at once
        done = run("--runtime-dir", daemon.runtime_dir, "motion", "--seconds", "4", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        result.update(json.loads(done.stdout))
        assert [region["Name"] for region in result["Regions"]] == ["all"]
        assert result["Regions"][0]["Blocks"] == 63
        return result["Blocks"]
    wait_until(finds_blocks, "blocks that move")
    block = result["Blocks"][0]
    assert abs(block["Hz"] - HZ) < 0.05 and 0.04 < block["Pixels"] < 0.08
    assert block["X"] + block["Width"] > WIDTH / 2 and 10 < block["Blocks"] < 50
    done = run("--runtime-dir", daemon.runtime_dir, "motion", "--seconds", "2", "--csv")
    assert done.stdout.startswith("time_s,all_dx,all_dy,all_confidence\n0.000000,0,0,\n")
    assert daemon.stop() == 0


def test_frames_that_are_lost_change_nothing(start, clip):
    """The daemon is stopped in the middle, while the clip goes on."""
    daemon = play(start, clip)
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "motion", "--json", *REGIONS],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reading:
        for _ in range(2):
            time.sleep(2)
            daemon.process.send_signal(signal.SIGSTOP)
            time.sleep(1)
            daemon.process.send_signal(signal.SIGCONT)
        shown, errors = reading.communicate(timeout=PATIENCE)
    assert (reading.returncode, errors) == (0, "")
    check_regions(json.loads(shown)["Regions"])
    assert daemon.stop() == 0


def test_a_restart_is_a_gap(start, clip):
    """The clip begins anew with the second daemon, and so does the vibration's phase, which may
    cancel it. Nothing else moves."""
    daemon = play(start, clip)
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "motion", "--json", *REGIONS,
                           "--seconds", "8"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reading:
        time.sleep(3)
        daemon.process.kill()
        daemon.process.wait()
        daemon = play(start, clip)
        shown, errors = reading.communicate(timeout=PATIENCE)
    assert (reading.returncode, errors) == (0, "")
    result = json.loads(shown)
    assert result["Seconds"] >= 8
    pump, wall = result["Regions"]
    assert pump["Fields"] == wall["Fields"] == result["Fields"]
    for mode in pump["Modes"]:
        assert abs(mode["Hz"] - HZ) < 0.5 and mode["Pixels"] < PIXELS + 0.005
    assert stands_still(wall)
    assert daemon.stop() == 0


def test_a_daemon_that_stops_is_given_up(start, clip):
    daemon = play(start, clip)
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "motion", "--seconds", "120"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reading:
        time.sleep(3)
        daemon.process.send_signal(signal.SIGSTOP)
        shown, errors = reading.communicate(timeout=PATIENCE)
        daemon.process.send_signal(signal.SIGCONT)
    assert reading.returncode == 0 and " fields in " in shown  # what it had is enough
    assert "no field came for 10 s" in errors
    assert daemon.stop() == 0


def test_an_interrupt_ends_the_reading(start, clip):
    daemon = play(start, clip)
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "motion", "--seconds", "120"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reading:
        time.sleep(4)
        reading.send_signal(signal.SIGINT)
        shown, _ = reading.communicate(timeout=PATIENCE)
    assert reading.returncode == 0 and " fields in " in shown
    assert daemon.stop() == 0


def test_it_says_what_is_missing(start, clip):
    daemon = start(*FAST_KERNELS, "--set", "output.measures=true")
    daemon.wait_for_socket("frames")
    daemon.wait_for_log("online")
    assert_refused(run("--runtime-dir", daemon.runtime_dir, "motion"), 78, "output", "motion",
                   "--set output.motion=32")
    assert daemon.stop() == 0

    daemon = play(start, clip)
    ask = "--runtime-dir", daemon.runtime_dir, "motion", "--seconds", "3"
    assert_refused(run(*ask, "--region", "far=160,0,32x32"), 64, "far", "160,0", "160,128")
    done = run(*ask, "-o", "/none/x.csv", "--region", "0,0,64x64")
    assert done.returncode == 73 and "/none/x.csv" in done.stderr  # on a busy machine after a note
    done = run(*ask, "--region", "0,0,64x64", "--picture", "x.png")
    assert done.returncode == 65 and "--at" in done.stderr and "region1" in done.stdout
    for hz in "0.1", "40":  # within three seconds, and with 30 fields a second
        done = run(*ask, "--region", "0,0,64x64", "--picture", "x.png", "--at", hz)
        assert done.returncode == 64 and f"--at {hz}" in done.stderr and "Hz" in done.stderr
    assert daemon.stop() == 0
