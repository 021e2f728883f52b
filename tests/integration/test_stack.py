"""Tests of stack with the real daemon: what a recording gains that drifts and turns, and what
becomes of a cut."""

import subprocess

import numpy

from conftest import BUILD
from test_auto_notch import HEIGHT, WIDTH
from test_stabilise import LEFT, TOP, draw_scene, enlarge

COUNT, SIGMA, STEP = 24, 8, 257
LENS = 0.7  # pixels, sigma


def draw(scene, path, random):
    """Frames of a scene that is moved by x and y and turned, and the first one without noise."""
    fy, fx = numpy.meshgrid(*map(numpy.fft.fftfreq, scene.shape), indexing="ij")
    lens = numpy.exp(-2 * numpy.pi ** 2 * LENS ** 2 * (fx ** 2 + fy ** 2))
    large = enlarge(numpy.fft.ifft2(numpy.fft.fft2(scene) * lens).real, 4)
    y, x = numpy.mgrid[:HEIGHT, :WIDTH] - numpy.array([HEIGHT / 2, WIDTH / 2])[:, None, None]
    frames = []
    for right, down, angle in path:
        cos, sin = numpy.cos(angle), numpy.sin(angle)
        u = LEFT + WIDTH / 2 + cos * (x - right) + sin * (y - down)
        v = TOP + HEIGHT / 2 + cos * (y - down) - sin * (x - right)
        frames.append(large[numpy.rint(4 * v).astype(int) % large.shape[0],
                            numpy.rint(4 * u).astype(int) % large.shape[1]])
    return [frame + random.normal(0, SIGMA, frame.shape) for frame in frames], frames[0]


def convert(folder, frames, chain):
    recording, out = folder / "in.raw", folder / "out.raw"
    samples = numpy.rint(numpy.clip(frames, 0, 255)) * STEP
    samples.astype("<u2").tofile(recording)
    subprocess.run([BUILD / "fftd-ctl", "convert", recording, out, "--size", f"{WIDTH}x{HEIGHT}",
                    "--pixel-format", "Y16", "--filter", chain, "--set", "engine.tune=off"],
                   check=True, timeout=600)
    return numpy.fromfile(out, "<u2").reshape(-1, HEIGHT, WIDTH) / STEP


def error(picture, clean):
    return numpy.sqrt(numpy.mean((picture - clean)[30:-30, 30:-30] ** 2))


def test_noise_falls_and_a_cut_begins_again(tmp_path):
    random = numpy.random.default_rng(5)
    path = numpy.arange(COUNT)[:, None] * [0.4, -0.25, 0.001] + \
        random.normal(0, [0.5, 0.5, 0.001], (COUNT, 3))
    first, clean = draw(draw_scene(random), path - path[0], random)
    second = draw(draw_scene(random), path - path[0], random)[0]
    out = convert(tmp_path, first + second, "stack:frames=64")
    assert len(out) == 2 * COUNT
    noise = error(out[0], clean)
    assert 0.9 * SIGMA < noise < 1.1 * SIGMA
    # Of 24 frames the square root is 4.9; steps of a quarter of a pixel leave something.
    assert error(out[COUNT - 1], clean) < noise / 4
    # A frame of another scene is not seen before a stack begins with one.
    assert error(out[COUNT + 10], clean) < noise / 4
    begins = numpy.rint(numpy.clip(second[15], 0, 255))
    assert numpy.abs(out[COUNT + 15] - begins).max() < 0.01
    # The first frame counts as one of nine in the last result: what differs is its noise.
    assert 0.8 * SIGMA < error(out[-1], begins) < 1.1 * SIGMA
