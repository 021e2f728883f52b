"""Tests of output.measures: what clients of a real daemon learn about the pictures of a recording
whose sharpness, noise and light are known."""

import math
import os
import pathlib
import sys

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE
from gstreamer import finish, launch, plugin_dir  # pylint: disable=unused-import

numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))

SIZE = WIDTH, HEIGHT = 256, 192
FRAMES = 4
NOISE = 6


@pytest.fixture(scope="session")
def fftd_module():
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return fftd


def scene():
    """Plain rectangles of random size that hide each other."""
    random = numpy.random.default_rng(3)
    picture = numpy.full((HEIGHT, WIDTH), 120.0)
    for _ in range(250):
        x, y = random.integers(0, WIDTH), random.integers(0, HEIGHT)
        width, height = (5 * random.pareto(1, 2) + 5).astype(int)
        picture[y:y + height, x:x + width] = random.uniform(50, 200)
    return picture


def blurred(picture, sigma):
    """The picture after a Gaussian blur, computed in the frequency plane."""
    f2 = (numpy.fft.fftfreq(HEIGHT)[:, None] ** 2 + numpy.fft.fftfreq(WIDTH)[None, :] ** 2)
    return numpy.fft.ifft2(numpy.fft.fft2(picture) * numpy.exp(-2 * (math.pi * sigma)**2 * f2)).real


def record(path, pictures):
    """Writes a clip in which each frame has other noise."""
    random = numpy.random.default_rng(4)
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F60:1 Cmono\n" % SIZE)
        for picture in pictures:
            noisy = picture + random.normal(0, NOISE, picture.shape)
            file.write(b"FRAME\n" + numpy.rint(noisy.clip(0, 255)).astype(numpy.uint8).tobytes())
    return path


def play(start, path, *arguments):
    daemon = start(*FAST_KERNELS, "--set", "output.measures=true", "--set", "camera.loop=true",
                   *arguments, source=f"file:{path}", size=None, fps=None)
    daemon.wait_for_socket("frames")
    return daemon


def measured(fftd_module, daemon, wanted=lambda measures: True):
    """Returns the first frame with such measures."""
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            if frame.measures is not None and wanted(frame.measures):
                return frame


def test_measures_are_those_of_the_picture(start, fftd_module, tmp_path):
    picture = scene()
    # The filter changes what is published, and not what is measured.
    daemon = play(start, record(tmp_path / "clip.y4m", [picture] * FRAMES), "--filter",
                  "gaussian-blur:sigma=5 | gain:dc=0.5")
    frame = measured(fftd_module, daemon, lambda measures: not math.isnan(measures.shift_x))
    measures = frame.measures
    assert frame.flags & fftd_module.FLAG_MEASURES
    assert measures.noise == pytest.approx(NOISE, rel=0.1)
    assert measures.mean == pytest.approx(picture.mean(), abs=3)
    assert measures.clipped == 0
    assert 0.05 < measures.sharpness < 0.5
    assert abs(measures.shift_x) < 0.1 and abs(measures.shift_y) < 0.1
    assert math.isnan(measures.flicker_hz) or measures.flicker_hz == 0
    assert "sharpness=" in repr(measures)

    stats = daemon.ctl_json("stats")["Measures"]
    assert stats["noise"] == pytest.approx(NOISE, rel=0.1)
    assert stats["mean"] == pytest.approx(picture.mean(), abs=3)
    assert stats["age"] >= 0
    assert f"measures: sharpness {stats['sharpness']:.1f}"[:23] in daemon.ctl("stats").stdout
    assert daemon.ctl_json("status")["Measures"].keys() >= {"sharpness", "noise", "clipped"}
    assert daemon.stop() == 0


def test_a_blurred_recording_is_less_sharp(start, fftd_module, tmp_path):
    picture = scene()
    sharpness = []
    for sigma in (0, 1, 2, 4):
        path = record(tmp_path / f"{sigma}.y4m", [blurred(picture, sigma)] * FRAMES)
        daemon = play(start, path)
        sharpness.append(measured(fftd_module, daemon).measures.sharpness)
        assert daemon.stop() == 0
    assert sharpness == sorted(sharpness, reverse=True)
    assert sharpness[0] > 2 * sharpness[3] > 0


def test_a_covered_camera_is_dark(start, fftd_module, tmp_path):
    path = tmp_path / "dark.y4m"
    path.write_bytes(b"YUV4MPEG2 W%d H%d F60:1 Cmono\nFRAME\n" % SIZE + bytes(WIDTH * HEIGHT))
    daemon = play(start, path)
    measures = measured(fftd_module, daemon).measures
    assert (measures.mean, measures.clipped, measures.sharpness) == (0, 1, 0)
    assert math.isnan(measures.noise)
    # What was not measured is not said.
    assert "noise" not in daemon.ctl_json("stats")["Measures"]
    assert "fftd_noise_ratio" not in daemon.ctl("stats", "--openmetrics").stdout
    assert daemon.stop() == 0


def test_measures_are_of_this_frame_or_of_an_earlier_one(start, fftd_module, tmp_path):
    """Frame n of the recording has the brightness 20 + 8 n."""
    daemon = play(start, record(tmp_path / "clip.y4m",
                                [numpy.full((HEIGHT, WIDTH), 20.0 + 8 * n) for n in range(25)]))
    seen = 0
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera.frames(every=True):
            if frame.measures is None:
                continue
            mean = frame.image.mean()
            if not frame.valid:
                continue
            # How many frames earlier the measured brightness was, in the loop of 25.
            earlier = round((mean - frame.measures.mean) / 8) % 25
            assert earlier == frame.measures.age % 25
            seen += 1
            if seen == 30:
                break
    assert daemon.stop() == 0


def test_without_the_key_nothing_is_measured(start, fftd_module):
    daemon = start(*FAST_KERNELS)
    daemon.wait_for_socket("frames")
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            assert frame.measures is None
            assert frame.flags & fftd_module.FLAG_MEASURES == 0
            if frame.sequence > 20:
                break
    assert daemon.ctl_json("stats")["Measures"] == {}
    assert "measures" not in daemon.ctl("stats").stdout
    threads = [path.read_text().strip()
               for path in pathlib.Path(f"/proc/{daemon.pid}/task").glob("*/comm")]
    assert "camera" in threads and "measures" not in threads


def test_the_gstreamer_element_posts_them(start, launch, tmp_path):
    daemon = play(start, record(tmp_path / "clip.y4m", [scene()] * FRAMES))
    pipeline = f"fftdsrc camera={daemon.runtime_dir} num-buffers=30"
    said = finish(launch(f"{pipeline} measures=true ! fakesink", "-m"))
    posted = [line for line in said.splitlines() if "fftd-measures" in line]
    assert posted, said
    assert "sharpness=(double)0." in posted[0] and "age=(uint)" in posted[0]
    assert "fftd-measures" not in finish(launch(f"{pipeline} ! fakesink", "-m"))


def test_metrics_have_the_units_of_prometheus(start, tmp_path):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser",
                                 reason="python3-prometheus-client is not installed")
    daemon = play(start, record(tmp_path / "clip.y4m", [scene()] * FRAMES))
    daemon.wait_until(lambda: "shift_x" in daemon.ctl_json("stats")["Measures"], "a shift")
    text = daemon.ctl("stats", "--openmetrics").stdout
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    noise, = families["fftd_noise_ratio"].samples
    assert noise.value == pytest.approx(NOISE / 255, rel=0.1)
    assert families["fftd_noise_ratio"].unit == "ratio"
    assert families["fftd_sharpness_cycles_per_pixel"].unit == "cycles_per_pixel"
    assert {sample.labels["axis"] for sample in families["fftd_shift_pixels"].samples} == {"x", "y"}
    assert all(family.documentation for family in families.values())
