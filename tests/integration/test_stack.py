"""Tests stack with the real daemon: the gain on a recording that drifts and turns, cuts, a
satellite's trail, faint details, blurred frames, the number of frames in a stack, and its
restart."""

import json
import subprocess

import numpy

from conftest import BUILD, wait_until
from test_auto_notch import HEIGHT, WIDTH
from test_stabilise import LEFT, TOP, draw_scene, enlarge

COUNT, SIGMA, STEP = 24, 8, 257
LENS = 0.7  # pixels, sigma


def softened(scene, sigma):
    """Returns a periodic scene as seen through a lens."""
    fy, fx = numpy.meshgrid(*map(numpy.fft.fftfreq, scene.shape), indexing="ij")
    lens = numpy.exp(-2 * numpy.pi ** 2 * sigma ** 2 * (fx ** 2 + fy ** 2))
    return numpy.fft.ifft2(numpy.fft.fft2(scene) * lens).real


def draw(scene, path, random):
    """Frames of a scene that is moved by x and y and turned, and the first one without noise."""
    large = enlarge(softened(scene, LENS), 4)
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


def test_a_trail_is_clipped(tmp_path):
    """A third of the frames each show another piece of a line."""
    random = numpy.random.default_rng(6)
    frames, clean = draw(draw_scene(random), numpy.zeros((COUNT, 3)), random)
    x = numpy.arange(WIDTH)
    row = HEIGHT // 3 + x // 8
    for number in range(COUNT // 3):
        piece = x * (COUNT // 3) // WIDTH == number
        frames[COUNT // 3 + number][row[piece], x[piece]] += 90

    def contrast_left(chain):
        out = convert(tmp_path, frames, chain)[-1]
        beside = (out - clean)[row + 6, x][30:-30].mean()
        return (out - clean)[row, x][30:-30].mean() - beside
    seen = contrast_left("stack:frames=64")
    assert 0.8 * 90 / COUNT < seen < 1.2 * 90 / COUNT
    assert abs(contrast_left("stack:frames=64,clip=3")) < seen / 8


def test_faint_details_are_weighed_or_all_shown(tmp_path):
    """Points as high as the noise of the mean are added to the same noisy frames of a soft scene.
    Their height is what they add to the result, on average, as a share of what they add to the
    scene."""
    path = numpy.random.default_rng(8).normal(0, [2, 2, 0.002], (COUNT, 3))
    scene = softened(draw_scene(numpy.random.default_rng(9)), 3)
    points = numpy.zeros(scene.shape)
    points[8::16, 8::16] = 2 * numpy.pi * LENS ** 2 * SIGMA / numpy.sqrt(COUNT)
    clips = [draw(drawn, path - path[0], numpy.random.default_rng(10))
             for drawn in (scene, scene + points)]
    added = clips[1][1] - clips[0][1]
    height = {}
    for chain in ("stack:frames=64", "stack:frames=64,details=all"):
        without, shown = (convert(tmp_path, frames, chain)[-1] for frames, _ in clips)
        height[chain] = (((shown - without) * added)[30:-30, 30:-30].sum() /
                         (added ** 2)[30:-30, 30:-30].sum())
    print(f"# figures: heights {height}")
    assert 0.9 < height["stack:frames=64,details=all"] < 1.1
    assert height["stack:frames=64"] < 0.8


def blurred(picture, length, angle):
    """Returns a picture as seen by a camera that moves in a line during the exposure."""
    fy, fx = numpy.meshgrid(*map(numpy.fft.fftfreq, picture.shape), indexing="ij")
    response = numpy.sinc(length * (fx * numpy.cos(angle) + fy * numpy.sin(angle)))
    return numpy.fft.ifft2(numpy.fft.fft2(picture) * response).real


def psnr_db(picture, clean):
    return 20 * numpy.log10(255 / error(picture, clean))


def test_blurred_frames_make_a_sharp_one(tmp_path):
    random = numpy.random.default_rng(7)
    frames, clean = draw(draw_scene(random), numpy.zeros((1, 3)), random)
    frames = [blurred(clean, random.uniform(3, 12), random.uniform(0, numpy.pi)) +
              random.normal(0, 3, clean.shape) for _ in range(12)]
    best = max(psnr_db(numpy.rint(frame), clean) for frame in frames)
    sharp = psnr_db(convert(tmp_path, frames, "stack:frames=12,power=11")[-1], clean)
    print(f"# figures: the best frame {best:.2f} dB, the stack {sharp:.2f} dB")
    assert sharp > best + 3


def stacked(daemon):
    """Returns the number of frames in the stack, and of frames with the filter in use, from one
    status."""
    status = json.loads(daemon.ctl("status", "--json").stdout)
    return status["Measures"].get("stacked", 0), status["Sequence"] - status["FirstSequence"] + 1


def test_a_stack_is_counted_and_begins_again(start):
    daemon = start("--set", "engine.planes=luma-only", "--filter", "stack:frames=4096",
                   source="pattern:scene", size="320x240")
    wait_until(lambda: stacked(daemon)[0] >= 30, "a stack of 30 frames")
    assert "frames; `filter restart` begins another one" in daemon.ctl("status").stdout
    daemon.ctl("filter", "restart")
    frames, of_filter = stacked(daemon)
    assert 1 <= frames <= of_filter
    daemon.ctl("filter", "set", "none")
    assert stacked(daemon)[0] == 0
    assert "fftd_stacked_frames" not in daemon.ctl("stats", "--openmetrics").stdout
