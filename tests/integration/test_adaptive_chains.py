"""Waves, flicker and noise in one chain: each filter that adapts gets what the others leave.

`fftd-ctl convert` feeds each frame of a recording to a real daemon, which observes all of them.
Beside flicker, waves are looked for in fewer frames, according to the processor time that both
take, so KNOWN is twice what was seen."""

import numpy
import pytest

from test_auto_notch import HEIGHT, WIDTH, draw_scene
from test_convert import convert

FRAMES, RATE, NOISE = 42, 30, 6
KNOWN = 24  # frames until all waves and the light are known, at the latest
# fx, fy in cycles a pixel, amplitude in grey levels, drift in periods a frame. Waves with fx = 0
# are bands of rows, as flicker is.
WAVES = ((0, -0.24, 8, -0.221), (-0.132, -0.131, 25, -0.04), (0, -0.215, 17, 0.38))
LIGHT_HZ, PERIODS, DEPTH = 100.1, 1.6, 0.06  # PERIODS are in a frame's height
PAN = (1.3, 0.5)  # pixels a frame


def draw_spectrum():
    """The spectrum of a picture as smooth as a photograph, so that its noise can be estimated."""
    random = numpy.random.default_rng(2)
    fx, fy = numpy.meshgrid(numpy.fft.fftfreq(WIDTH), numpy.fft.fftfreq(HEIGHT))
    spectrum = numpy.fft.fft2(random.normal(size=(HEIGHT, WIDTH)))
    picture = numpy.fft.ifft2(spectrum / numpy.maximum(numpy.hypot(fx, fy), 1 / WIDTH) ** 1.6).real
    picture = 120 + 25 * picture / picture.std()
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    picture[(x - 70) ** 2 + (y - 60) ** 2 < 900] += 30
    picture[(x > 150) & (x < 200) & (y > 90) & (y < 130)] -= 35
    return numpy.fft.fft2(numpy.clip(picture, 50, 200))


def draw_scenes(pan):
    """The frames without waves, flicker or noise."""
    spectrum = draw_spectrum()
    fx, fy = numpy.meshgrid(numpy.fft.fftfreq(WIDTH), numpy.fft.fftfreq(HEIGHT))
    shift = numpy.exp(-2j * numpy.pi * (fx * pan[0] + fy * pan[1]))
    return [numpy.fft.ifft2(spectrum * shift ** number).real for number in range(FRAMES)]


def spoil(scenes, has_flicker, waves):
    random = numpy.random.default_rng(3)
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    for number, scene in enumerate(scenes):
        turns = LIGHT_HZ * number / RATE + PERIODS * y / HEIGHT
        light = 1 + has_flicker * DEPTH * numpy.cos(2 * numpy.pi * turns)
        frame = scene * light + random.normal(0, NOISE, scene.shape)
        for fx, fy, amplitude, drift in waves:
            frame += amplitude * numpy.cos(2 * numpy.pi * (fx * x + fy * y + drift * number))
        yield numpy.rint(numpy.clip(frame, 0, 255)).astype("u1")


def psnr_of_each(frames, scenes):
    return numpy.array([10 * numpy.log10(255 ** 2 / ((frame - scene) ** 2).mean())
                        for frame, scene in zip(frames, scenes, strict=True)])


@pytest.fixture
def filtered(tmp_path):
    def filter_frames(chain, frames):
        with open(tmp_path / "in.y4m", "wb") as file:
            file.write(b"YUV4MPEG2 W%d H%d F%d:1 Cmono\n" % (WIDTH, HEIGHT, RATE))
            for frame in frames:
                file.write(b"FRAME\n" + frame.tobytes())
        convert(tmp_path / "in.y4m", tmp_path / "out.raw", "--filter", chain, "--raw")
        pixels = numpy.fromfile(tmp_path / "out.raw", "u1").astype(float)
        return list(pixels.reshape(-1, HEIGHT, WIDTH))
    return filter_frames


@pytest.mark.parametrize("pan", ((0, 0), PAN), ids=("still", "panning"))
@pytest.mark.parametrize("denoise", ("denoise", f"denoise:sigma={NOISE}"), ids=("auto", "sigma"))
def test_each_filter_gets_what_the_others_leave(filtered, pan, denoise):
    scenes = draw_scenes(pan)
    alone = psnr_of_each(filtered(denoise, spoil(scenes, False, ())), scenes)
    for chain, has_flicker in (("auto-notch", False), ("deflicker | auto-notch", True)):
        spoilt = list(spoil(scenes, has_flicker, WAVES))
        before = psnr_of_each(spoilt, scenes)
        after = psnr_of_each(filtered(f"{chain} | {denoise}", spoilt), scenes)
        lost = (alone - after)[KNOWN:]
        print(f"# figures: {chain} | {denoise}: {before.mean():.1f} dB before, "
              f"{after[KNOWN:].min():.1f} to {after[KNOWN:].max():.1f} after, at most "
              f"{lost.max():.2f} less than {denoise} gives of the noise alone")
        assert (after > before - 0.1).all()
        assert lost.max() < 0.5


@pytest.mark.parametrize("sigma", (8, 12))
def test_a_rough_scene_is_not_taken_for_noise(filtered, sigma):
    """The amplitudes of the scene fall only as 1/f, and nothing in it is flat."""
    random = numpy.random.default_rng(3)
    scene = draw_scene()
    noisy = numpy.rint(numpy.clip(scene + random.normal(0, sigma, scene.shape), 0, 255))
    before, = psnr_of_each([noisy], [scene])
    after, = psnr_of_each(filtered("denoise", [noisy.astype("u1")]), [scene])
    print(f"# figures: sigma {sigma}: {before:.2f} dB before, {after:.2f} after")
    assert after > before + 0.2
