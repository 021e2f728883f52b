"""fftd-ctl diagnose with the real daemon and with files: what it finds, writes and applies."""

import base64
import json
import os
import re
import shlex
import signal
import subprocess

import numpy as np
import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE
from png import Png

CTL = BUILD / "fftd-ctl"
WIDTH, HEIGHT, FRAMES = 192, 144, 24
WAVE = (0.21, 0.13, 9)  # cycles/pixel along x and y, grey levels


def draw_clip(wave=None, dark=1.0):
    """A scene of soft blocks that moves a little, with a little noise."""
    random = np.random.default_rng(4)
    side = 256
    scene = sum(np.kron(random.normal(0, 9, (side // cell + 1,) * 2), np.ones((cell, cell)))
                [:side, :side] for cell in (8, 16, 32, 64))
    spectrum = np.fft.fft2(scene) * np.exp(-2 * (np.pi * 0.8) ** 2 * (
        np.fft.fftfreq(side)[:, None] ** 2 + np.fft.fftfreq(side) ** 2))
    scene = 120 + np.fft.ifft2(spectrum).real
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for index in range(FRAMES):
        # The scene moves there and back, so that a camera can repeat the clip. It moves so little
        # that it does not seem to shake when a loaded machine skips frames.
        at = 10 + min(index, FRAMES - index) // 6
        frame = scene[at:, at:][:HEIGHT, :WIDTH] * dark
        if wave:
            frame = frame + wave[2] * np.cos(2 * np.pi * (wave[0] * x + wave[1] * y +
                                                          random.random()))
        yield np.clip(np.rint(frame + random.normal(0, 0.7, frame.shape)), 0, 255).astype(np.uint8)


def clip(**faults):
    return b"YUV4MPEG2 W%d H%d F30:1 Ip A1:1 Cmono\n" % (WIDTH, HEIGHT) + \
        b"".join(b"FRAME\n" + frame.tobytes() for frame in draw_clip(**faults))


def run(*arguments, **options):
    return subprocess.run([CTL, "diagnose", *arguments], capture_output=True, check=False,
                          timeout=PATIENCE, **options)


def findings(*arguments, **options):
    done = run("--json", *arguments, **options)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


@pytest.fixture(name="noisy", scope="module")
def make_noisy(tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "noisy.y4m"
    path.write_bytes(clip(wave=WAVE))
    return path


@pytest.fixture
def daemon(start, noisy):
    daemon = start("--set", "camera.loop=true", *FAST_KERNELS, source=f"file:{noisy}", size=None,
                   fps=None)
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    return daemon


def assert_wave(told):
    kinds = [each["Kind"] for each in told["Findings"]]
    assert kinds == ["periodic-noise"], told
    figures = told["Findings"][0]["Figures"]
    assert (figures["fx"], figures["fy"]) == pytest.approx(WAVE[:2], abs=0.002)
    assert figures["amplitude"] == pytest.approx(WAVE[2], rel=0.1)
    assert told["Chain"] == told["Findings"][0]["Stage"] == "auto-notch"


# ---- a daemon ----

def test_a_running_camera_is_diagnosed_and_the_chain_applied(daemon):
    """What the filter does to published frames does not matter."""
    daemon.ctl("filter", "set", "gaussian-blur:sigma=3")
    place = ["--runtime-dir", daemon.runtime_dir]
    assert_wave(findings(*place, "-n", "30"))
    assert daemon.ctl("filter", "show", "--raw").stdout == "gaussian-blur:sigma=3\n"
    applied = findings(*place, "-n", "30", "--apply")
    assert_wave(applied)
    assert applied["Serial"] > 0
    assert daemon.ctl("filter", "show", "--raw").stdout.startswith("auto-notch:")
    text = run(*place, "-n", "30", text=True)
    for_it = f"fftd-ctl --runtime-dir '{daemon.runtime_dir}'"
    assert f"\n  {for_it} filter set 'auto-notch'\n" in text.stdout
    assert f"`{for_it} filter keep` then" in text.stdout
    assert text.stderr == ""  # a progress line is for terminals alone
    daemon.ctl("filter", "set", "gaussian-blur:sigma=3")
    text = run(*place, "-n", "30", "--apply", text=True)
    assert f"to restore the filter: {for_it} filter set 'gaussian-blur:sigma=3'\n" in text.stderr


def test_a_camera_that_ends_meanwhile(daemon):
    with subprocess.Popen([CTL, "--runtime-dir", daemon.runtime_dir, "diagnose", "-n", "1000"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
        daemon.wait_until(lambda: int(daemon.ctl_json("stats")["FramesPublished"]) > 5, "frames")
        daemon.process.kill()
        output, errors = asking.communicate(timeout=PATIENCE)
    assert output == ""
    assert asking.returncode in (69, 75), errors
    assert errors.startswith("fftd-ctl: ") and errors.count("\n") == 1


# ---- files ----

def test_a_file_and_stdin(noisy):
    assert_wave(findings(noisy))
    assert findings("-", "-n", "12", input=noisy.read_bytes())["Frames"] == 12


def test_a_clean_clip_has_no_findings(tmp_path):
    path = tmp_path / "clean.y4m"
    path.write_bytes(clip())
    assert findings(path) == {"Frames": FRAMES, "Findings": [], "Chain": ""}
    assert run(path).stdout == b"nothing found in 24 frames\n"


def test_what_no_filter_helps_has_no_chain(tmp_path):
    path = tmp_path / "dark.y4m"
    path.write_bytes(clip(dark=0.15))
    told = findings(path)
    assert ([each["Kind"] for each in told["Findings"]], told["Chain"]) == (["exposure"], "")
    assert "more exposure" in told["Findings"][0]["Advice"]


def test_other_formats(tmp_path):
    """With chroma, with 12 bits, and a single frame."""
    frames = list(draw_clip(wave=WAVE))
    chroma = bytes([128]) * (WIDTH * HEIGHT // 2)
    for colour, samples in (("420jpeg", [each.tobytes() + chroma for each in frames]),
                            ("mono12", [(each.astype("<u2") * 16).tobytes() for each in frames])):
        path = tmp_path / f"{colour}.y4m"
        path.write_bytes(b"YUV4MPEG2 W%d H%d F25:1 C%s\n" % (WIDTH, HEIGHT, colour.encode()) +
                         b"".join(b"FRAME\n" + each for each in samples))
        assert_wave(findings(path))
    assert findings(path, "-n", "1")["Frames"] == 1


@pytest.mark.parametrize("content, texts", [
    (b"", ["empty"]),
    (b"GIF89a and so on\n", ["YUV4MPEG2"]),
    (b"YUV4MPEG2 W192\n", ["width W or no height H"]),
    (b"YUV4MPEG2 W" + b"9" * 5000, ["YUV4MPEG2", "line of text"]),
    (b"YUV4MPEG2 W32 H32 Cmono\nFRAME\n" + bytes(1024), ["32 x 32", "64 .. 8192"]),
    (b"YUV4MPEG2 W64 H64 Cmono\nFRAME\n" + bytes(100), ["no whole frame"]),
    (b"YUV4MPEG2 W64 H64 Cmono\nFRUIT\n" + bytes(4096), ["FRAME"]),
])
def test_damaged_files(tmp_path, content, texts):
    path = tmp_path / "damaged.y4m"
    path.write_bytes(content)
    done = run(path, "--report", tmp_path / "report.html", text=True)
    assert done.returncode in (65, 66), done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1
    for text in texts:
        assert text in done.stderr
    assert "--size" not in done.stderr  # which is an option of convert
    assert not (tmp_path / "report.html").exists()


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.y4m", tmp_path):
        done = run(path, text=True)
        assert done.returncode == 66
        assert str(path) in done.stderr


# ---- sources that do not end, or do not begin ----

def test_an_endless_source_is_read_only_so_far(noisy):
    header, _, frames = noisy.read_bytes().partition(b"\n")
    with subprocess.Popen([CTL, "diagnose", "--json", "-n", "30", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as asking:
        asking.stdin.write(header + b"\n")
        with pytest.raises(BrokenPipeError):
            while True:
                asking.stdin.write(frames)
        told = json.loads(asking.stdout.read())
    assert asking.wait(PATIENCE) == 0
    assert told["Frames"] == 30


@pytest.mark.parametrize("sent", [b"", b"YUV4MPEG2 W64 H64 Cmono\nFRAME\nxyz"])
def test_a_mute_source_is_given_up(tmp_path, sent):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, sent)
    try:
        done = run(pipe, text=True)
    finally:
        os.close(writer)
    assert done.returncode == 66
    assert "no whole frame within 10 seconds" in done.stderr


def test_an_interrupt_ends_it_and_leaves_nothing(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    # In the background of a shell, a test inherits that SIGINT is ignored.
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    with subprocess.Popen([CTL, "diagnose", "--report", tmp_path / "report.html", pipe],
                          preexec_fn=heed) as asking:
        asking.send_signal(signal.SIGINT)
        assert asking.wait(PATIENCE) == -signal.SIGINT
    os.close(writer)
    assert os.listdir(tmp_path) == ["pipe"]


# ---- the report ----

def test_the_report_is_one_file_with_pictures(noisy, tmp_path):
    path = tmp_path / "report.html"
    done = run("--name", "front", noisy, "--report", path, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    page = path.read_text()
    assert "<code>fftd-ctl --name front filter keep</code> then" in page and "`" not in page
    assert "<pre>fftd-ctl --name front filter set 'auto-notch'</pre>" in page
    assert "periodic-noise" in page and "auto-notch" in page
    assert not re.search(r"https?:|<script|<link|url\(", page)
    pictures = [Png(base64.b64decode(each)) for each in
                re.findall(r'src="data:image/png;base64,([^"]*)"', page)]
    assert [(each.width, each.height) for each in pictures] == [(WIDTH, HEIGHT)] * 2
    # The wave is in the first picture, and not in the second.
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    probe = np.exp(-2j * np.pi * (WAVE[0] * x + WAVE[1] * y))
    before, after = (abs(np.mean(probe * np.frombuffer(b"".join(each.rows), np.uint8)[::3]
                                 .reshape(HEIGHT, WIDTH))) * 2 for each in pictures)
    assert before > 0.8 * WAVE[2] and after < 0.1 * WAVE[2]


def test_commands_for_a_directory_with_quotes(noisy, tmp_path):
    path, place = tmp_path / "report.html", "/tmp/it's `here`"
    done = run("--runtime-dir", place, noisy, "--report", path, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for_it = ["fftd-ctl", "--runtime-dir", place, "filter"]
    assert shlex.split(done.stdout.splitlines()[-1]) == [*for_it, "set", "auto-notch"]
    command, = re.findall("<p><code>([^<]*)</code> then makes", path.read_text())
    assert shlex.split(command) == [*for_it, "keep"]
    advice = findings("--runtime-dir", place, noisy)["Findings"][0]["Advice"]
    command, = re.findall("^`(.*)` then makes", advice)
    assert shlex.split(command) == [*for_it, "keep"]


def test_a_report_that_cannot_be_written(noisy, tmp_path):
    done = run(noisy, "--report", tmp_path / "none" / "report.html", text=True)
    assert done.returncode == 73
    assert "none/report.html" in done.stderr
