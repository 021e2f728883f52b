"""Tests of auto-notch with the real daemon: what it makes of a recording with periodic noise."""

import re

import numpy
import pytest

from client import Reader
from conftest import needs_every_frame

# Frames come slowly, so that each is observed on a busy machine, too.
WIDTH, HEIGHT, RATE = 320, 240, 15
FRAMES = 60  # the recording repeats without a jump of the waves
# fx, fy in cycles a pixel, amplitude in grey levels, periods of drift in the recording
WAVES = ((0.183, 0.051, 12, 7), (-0.071, 0.212, 8, -11))
NOISE = 1.5  # grey levels
NOTCH = "auto-notch:threshold=1"


def draw_scene():
    """A picture with the spectrum of natural ones, and edges. Noise and waves do not clip."""
    random = numpy.random.default_rng(4)
    fx, fy = numpy.meshgrid(numpy.fft.fftfreq(WIDTH), numpy.fft.fftfreq(HEIGHT))
    falloff = 1 / numpy.maximum(numpy.hypot(fx, fy), 1 / WIDTH)
    picture = numpy.fft.ifft2(numpy.fft.fft2(random.normal(size=(HEIGHT, WIDTH))) * falloff).real
    picture = 120 + 25 * picture / picture.std()
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    picture[(x - 70) ** 2 + (y - 60) ** 2 < 900] += 30
    picture[(x > 150) & (x < 200) & (y > 90) & (y < 130)] -= 35
    return numpy.clip(picture, 40, 215)


def waves_of(number):
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    return sum(amplitude * numpy.cos(2 * numpy.pi * (fx * x + fy * y + drift * number / FRAMES))
               for fx, fy, amplitude, drift in WAVES)


def write_recording(path, frames):
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F%d:1 Cmono\n" % (WIDTH, HEIGHT, RATE))
        for frame in frames:
            file.write(b"FRAME\n" + numpy.rint(numpy.clip(frame, 0, 255)).astype("u1").tobytes())


@pytest.fixture(scope="module")
def scene():
    return draw_scene()


@pytest.fixture
def launch(start, tmp_path):
    def launch_daemon(chain, pictures):
        """Starts the daemon on a recording of these pictures."""
        random = numpy.random.default_rng(9)
        noisy = [picture + random.normal(0, NOISE, picture.shape) for picture in pictures]
        write_recording(tmp_path / "recording.y4m", noisy)
        daemon = start("--set", "camera.loop=true", "--set", "output.slots=16", "--set",
                       "engine.technique=staged", "--filter", chain,
                       source=f"file:{tmp_path}/recording.y4m", size=None, fps=None)
        daemon.wait_for_log("online")
        return daemon
    return launch_daemon


def pixels(frame):
    return numpy.frombuffer(frame.planes[0], "u1").reshape(HEIGHT, WIDTH).astype(float)


def psnr_db(frame, scene):
    return 10 * numpy.log10(255 ** 2 / ((pixels(frame) - scene) ** 2).mean())


def adaptation(daemon):
    return daemon.ctl_json("filter", "show")["Adaptation"]


def wait_for_observed(daemon, count):
    daemon.wait_until(lambda: adaptation(daemon)["observed"] >= count, f"{count} observed frames")
    return adaptation(daemon)


def wait_for_waves(daemon):
    """Waits until both are removed, and returns them by their frequencies."""
    def removed():
        waves = adaptation(daemon)["waves"]
        return len(waves) == len(WAVES) and all(wave["removed"] for wave in waves) and waves
    return daemon.wait_until(removed, "the waves")


def wait_for_psnr_db(reader, scene, least, serial=0):
    frames = reader.take_until(lambda frame: frame.filter_serial >= serial and
                               psnr_db(frame, scene) > least)
    return psnr_db(frames[-1], scene)


def squares_of(view):
    """What is around the waves and their negatives, with the sides of their squares."""
    middles = [[round(sign * f * length) + length // 2 for f, length in ((fx, WIDTH), (fy, HEIGHT))]
               for sign in (1, -1) for fx, fy, _, _ in WAVES]
    return [view[y - 4:y + 5, x - 4:x + 5] for x, y in middles]


def are_whole(squares):
    return all(square.sum() - square[1:-1, 1:-1].sum() == 32 * 255 for square in squares)


@needs_every_frame
def test_noise_is_found_followed_and_removed(launch, scene, tmp_path):
    daemon = launch(NOTCH + ",freeze=true", [scene + waves_of(i) for i in range(FRAMES)])
    with Reader(daemon) as reader:
        # Frozen from the beginning, it finds nothing.
        assert wait_for_observed(daemon, 20)["waves"] == []
        before = psnr_db(reader.next(), scene)
        assert 27 < before < 29
        assert "no periodic noise" in daemon.ctl("filter", "show").stdout

        daemon.ctl("set", "auto-notch.freeze=false")
        waves = wait_for_waves(daemon)
        after = wait_for_psnr_db(reader, scene, 42)
        print(f"# figures: PSNR {before:.1f} dB before, {after:.1f} dB after")
        for wave, (fx, fy, amplitude, _) in zip(waves, WAVES, strict=True):
            sign = 1 if fx >= 0 else -1  # a wave is its mirror image, too
            assert wave["fx"] == pytest.approx(sign * fx, abs=0.001)
            assert wave["fy"] == pytest.approx(sign * fy, abs=0.001)
            assert wave["amplitude"] == pytest.approx(amplitude, rel=0.1)
        shown = daemon.ctl("filter", "show").stdout
        places = [tuple(map(float, at)) for at in
                  re.findall(r"(-?[\d.]+)/(-?[\d.]+) cycles/pixel", shown)]
        assert shown.count("removed") == len(places) == 2
        assert any(at == pytest.approx(WAVES[0][:2], abs=0.001) for at in places)

        # Other stages and freezing do not make it forget.
        since = [wave["since_ns"] for wave in waves]
        serial = daemon.change("filter", "edit", "set", "auto-notch.freeze=true", "add",
                                 "gain:dc=1", "1")
        wait_for_psnr_db(reader, scene, 42, serial)
        assert [wave["since_ns"] for wave in wait_for_waves(daemon)] == since

        # The view of the peaks has a square around each wave, whole while it is subtracted.
        serial = daemon.change("view", "peaks")
        view = pixels(reader.take_until(lambda frame: frame.filter_serial >= serial and
                                        are_whole(squares_of(pixels(frame))))[-1])
        for square, (_, _, amplitude, _) in zip(squares_of(view), 2 * WAVES, strict=True):
            inside = square[1:-1, 1:-1]
            assert inside.max() / 255 * 100 - 120 == pytest.approx(
                20 * numpy.log10(amplitude / 510), abs=6)  # less, because it is between bins
            assert inside.max() > numpy.median(inside) + 50
        serial = daemon.change("view", "picture")
        wait_for_psnr_db(reader, scene, 42, serial)

        # What was found becomes a fixed filter, which serves the next start of the daemon.
        serial = daemon.change("filter", "keep")
        kept = wait_for_psnr_db(reader, scene, 36, serial)
        print(f"# figures: PSNR {kept:.1f} dB with the notches of `filter keep`")
    assert adaptation(daemon) == {}
    stages = daemon.ctl_json("filter", "show")["FilterStages"]
    assert [stage["kind"] for stage in stages] == ["gain", "notch", "notch"]
    for stage, wave in zip(stages[1:], waves, strict=True):
        assert stage["parameters"]["at"] == pytest.approx([wave["fx"], wave["fy"]], abs=0.001)
    daemon.ctl("filter", "save", tmp_path / "kept.conf", "The noise of this camera.")
    assert (tmp_path / "kept.conf").read_text().count("notch:at=") == 2


def test_a_clean_recording_does_not_change(launch, scene, tmp_path):
    daemon = launch("preset:interference", [scene] * 8)
    size = WIDTH * HEIGHT
    recording = (tmp_path / "recording.y4m").read_bytes()
    pictures = [recording[-(n + 1) * (size + 6):][6:6 + size] for n in range(8)]
    with Reader(daemon) as reader:
        assert wait_for_observed(daemon, 30)["waves"] == []
        for _ in range(10):
            assert reader.next().planes[0] in pictures
    refused = daemon.ctl("filter", "keep", check=False)
    assert refused.returncode == 75
    assert f"nothing has been found yet; `fftd-ctl --runtime-dir '{daemon.runtime_dir}' filter " \
        "show` lists" in refused.stderr
    assert daemon.ctl_json("filter", "show")["Serial"] == 1


def test_other_filters_observe_nothing(launch, scene):
    daemon = launch("gain:dc=1", [scene])
    assert adaptation(daemon) == {}
    assert "observed" not in daemon.ctl("filter", "show").stdout
    refused = daemon.ctl("filter", "keep", check=False)
    assert refused.returncode == 65 and "no stage of the filter in use adapts" in refused.stderr
    refused = daemon.ctl("filter", "set", "auto-notch | gain:dc=1 | auto-notch", check=False)
    assert refused.returncode == 65
    assert "stage 3: the chain has auto-notch already: expected at most one" in refused.stderr
    refused = daemon.ctl("filter", "set", "auto-notch:waves=2.5", check=False)
    assert "waves = 2.5 is not a whole number: expected 1 .. 8" in refused.stderr


def restless_waves(number):
    """Waves whose phases differ at random between frames."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    phases = numpy.random.default_rng(number).uniform(0, 1, len(WAVES))
    return sum(amplitude * numpy.cos(2 * numpy.pi * (fx * x + fy * y + phase))
               for (fx, fy, amplitude, _), phase in zip(WAVES, phases, strict=True))


def test_every_frame_is_clean_whatever_the_phases(launch, scene):
    daemon = launch(NOTCH, [scene + restless_waves(i) for i in range(FRAMES)])
    with Reader(daemon) as reader:
        before = psnr_db(reader.next(), scene)
        assert 27 < before < 29
        wait_for_waves(daemon)
        wait_for_psnr_db(reader, scene, 42)
        after = [psnr_db(reader.next(), scene) for _ in range(2 * FRAMES)]
        print(f"# figures: PSNR {before:.1f} dB before, {min(after):.1f} dB and more after")
        assert min(after) > 42
        assert daemon.ctl_json("filter", "show")["Serial"] == 1


def test_a_wave_that_ends_leaves_no_ghost(launch, scene, tmp_path):
    """Half of the recording has waves, and half of it has none, which must not change."""
    pictures = [scene + (waves_of(i) if i < FRAMES // 2 else 0) for i in range(FRAMES)]
    daemon = launch(NOTCH, pictures)
    size = WIDTH * HEIGHT
    recording = (tmp_path / "recording.y4m").read_bytes()
    clean = {recording[-(n + 1) * (size + 6):][6:6 + size] for n in range(FRAMES // 2)}
    with Reader(daemon) as reader:
        wait_for_psnr_db(reader, scene, 42)
        frames = [reader.next() for _ in range(3 * FRAMES)]
    unchanged = [frame.planes[0] in clean for frame in frames]
    assert sum(unchanged) > FRAMES // 2
    # The others have waves, of which some are left while the estimator finds them again.
    assert min(psnr_db(frame, scene) for frame, is_same in zip(frames, unchanged, strict=True)
               if not is_same) > 27


@needs_every_frame
def test_waves_end_with_their_source(start, scene, tmp_path):
    write_recording(tmp_path / "noisy.y4m", [scene + restless_waves(i) for i in range(FRAMES)])
    write_recording(tmp_path / "clean.y4m", [scene] * 8)
    config = tmp_path / "fftd.conf"

    def write(recording):
        config.write_text(f'camera = {{ source = "file:{tmp_path}/{recording}"; loop = true; }};\n'
                          f'engine = {{ technique = "staged"; }};\nfilter = "{NOTCH}";\n')

    write("noisy.y4m")
    daemon = start("--config", config, source=None, size=None, fps=None)
    daemon.wait_for_log("online")
    with Reader(daemon) as reader:
        wait_for_waves(daemon)
        write("clean.y4m")
        daemon.ctl("reload")
        clean = numpy.rint(scene)
        reader.take_until(lambda frame: (pixels(frame) == clean).all())
    assert adaptation(daemon)["waves"] == []
