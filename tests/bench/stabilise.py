#!/usr/bin/env python3
"""Compares `stabilise` with ffmpeg's vidstab (two passes) and deshake: the motion of the scene that
is left in their output, on shaken clips with rotation, in which a thing that moves otherwise
covers a third of the picture.

    stabilise.py --build build [--json FILE] [--clips 3] [--frames 120] [--first-seed 9000]

A clip is drawn from a seed: a scene of blurred noise and leaves, shaken along both axes and about
the middle by three waves of 2 to 9 Hz and noise; the thing is another scene. The motion that is
left is measured by OpenCV's alignment of each frame with the one before (findTransformECC), where
neither shows the thing. All get settings for a camera that stands still: fftd a time constant of
10 s, vidstab `tripod` and a smoothing over 60 frames. The first 30 frames do not count.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import cv2
import numpy

from path import children_s

WIDTH, HEIGHT, RATE = 640, 360, 30
SETTLED = 30  # frames
SCALE = 2  # pixels of a canvas to one of a frame
MARGIN = 80  # pixels around a frame


def draw_canvas(random):
    size = SCALE * (HEIGHT + 2 * MARGIN), SCALE * (WIDTH + 2 * MARGIN)
    canvas = numpy.full(size, 128, numpy.float32)
    for _ in range(900):
        at = [int(random.integers(0, length)) for length in size[::-1]]
        axes = [int(radius) for radius in random.uniform(6, 60, 2)]
        cv2.ellipse(canvas, at, axes, random.uniform(0, 180), 0, 360, random.uniform(40, 215), -1)
    noise = cv2.GaussianBlur(random.normal(0, 1, size).astype(numpy.float32), (0, 0), 4)
    return cv2.GaussianBlur(canvas + 12 * noise / noise.std(), (0, 0), 1.4)


def draw_path(random, frames, scale):
    seconds = numpy.arange(frames) / RATE
    waves = sum(numpy.sin(2 * numpy.pi * random.uniform(2, 9) * seconds + random.uniform(0, 6))
                for _ in range(3))
    return scale * (waves + 0.4 * random.normal(size=frames))


def sample(canvas, dx, dy, angle):
    """The canvas as seen by a camera that has moved its content so."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH].astype(numpy.float32)
    u, v = x - (WIDTH - 1) / 2 - dx, y - (HEIGHT - 1) / 2 - dy
    cos, sin = numpy.cos(angle), numpy.sin(angle)
    map_x = SCALE * (cos * u + sin * v + (WIDTH - 1) / 2 + MARGIN)
    map_y = SCALE * (cos * v - sin * u + (HEIGHT - 1) / 2 + MARGIN)
    return cv2.remap(canvas, map_x.astype(numpy.float32), map_y.astype(numpy.float32),
                     cv2.INTER_CUBIC)


def draw_clip(path, seed, frames):
    """Returns the mask of what may show the thing in any frame."""
    random = numpy.random.default_rng(seed)
    scene, thing = draw_canvas(random), draw_canvas(random)
    shakes = [draw_path(random, frames, scale) for scale in (2, 2, numpy.radians(0.4))]
    width, height = int(0.55 * WIDTH), int(0.6 * HEIGHT)
    left, top = random.uniform(20, WIDTH - width - 60), random.uniform(20, HEIGHT - height - 20)
    speed = random.uniform(-0.3, 0.3)
    hidden = numpy.zeros((HEIGHT, WIDTH), numpy.uint8)
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono\n" % (WIDTH, HEIGHT, RATE))
        for dx, dy, angle, number in zip(*shakes, range(frames)):
            picture = sample(scene, dx, dy, angle)
            at = left + speed * number + 6 * numpy.sin(number / 5)
            x, y = int(at), int(top)
            inside = slice(y, y + height), slice(max(x, 0), x + width)
            picture[inside] = sample(thing, at, 3 * numpy.cos(number / 7), 0)[inside]
            hidden[inside] = 1
            noisy = picture + random.normal(0, 3, picture.shape)
            file.write(b"FRAME\n" + numpy.rint(numpy.clip(noisy, 0, 255)).astype("u1").tobytes())
    return hidden


def read_frames(path):
    with open(path, "rb") as file:
        assert file.readline().startswith(b"YUV4MPEG2 W%d H%d " % (WIDTH, HEIGHT))
        while file.readline().startswith(b"FRAME"):
            yield numpy.frombuffer(file.read(WIDTH * HEIGHT), "u1").reshape(HEIGHT, WIDTH)


def left_motion(path, hidden):
    """Root mean square from frame to frame: pixels of the middle, and degrees."""
    # Frames are moved by up to about 20 pixels; beyond their edge there is nothing to see.
    seen = cv2.dilate(hidden, numpy.ones((41, 41))) == 0
    seen[:28] = seen[-28:] = seen[:, :28] = seen[:, -28:] = 0
    moved, last = [], None
    for number, frame in enumerate(read_frames(path)):
        picture = cv2.GaussianBlur(frame.astype(numpy.float32), (0, 0), 1)
        if number > SETTLED:
            start = numpy.eye(2, 3, dtype=numpy.float32)
            criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 60, 1e-7)
            _, warp = cv2.findTransformECC(last, picture, start, cv2.MOTION_EUCLIDEAN, criteria,
                                           seen.astype("u1"), 3)
            middle = numpy.array([(WIDTH - 1) / 2, (HEIGHT - 1) / 2])
            shift = warp[:, :2] @ middle + warp[:, 2] - middle
            moved.append([*shift, numpy.degrees(numpy.arctan2(warp[1, 0], warp[0, 0]))])
        last = picture
    squares = numpy.mean(numpy.square(moved), 0)
    return float(numpy.sqrt(squares[0] + squares[1])), float(numpy.sqrt(squares[2]))


def run(*command):
    """Returns the seconds of a processor that it took."""
    before = children_s()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return children_s() - before


def ffmpeg(clip, out, filters):
    return run("ffmpeg", "-y", "-i", clip, "-vf", filters + ",format=gray", "-strict", "-1", out)


def vidstab(options):
    def stabilise(clip, out):
        found = f"{clip}.trf"
        taken = ffmpeg(clip, f"{clip}.unused.y4m",
                       f"vidstabdetect=result={found}:shakiness=10:accuracy=15:mincontrast=0.1" +
                       (":tripod=1" if "tripod" in options else ""))
        return taken + ffmpeg(clip, out, f"vidstabtransform=input={found}:interpol=bicubic:"
                                         f"optzoom=0:{options}")
    return stabilise


def convert(build, chain):
    def stabilise(clip, out):
        return run(f"{build}/fftd-ctl", "convert", clip, out, "--filter", chain)
    return stabilise


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--clips", type=int, default=3)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--first-seed", type=int, default=9000)
    options = parser.parse_args()
    ours = "stabilise:time=10,limit=64"
    stabilisers = {
        "shaken": lambda clip, out: run("cp", clip, out),
        "fftd, model=shift": convert(options.build, ours),
        "fftd, model=similarity": convert(options.build, ours + ",model=similarity"),
        "vidstab, tripod": vidstab("tripod=1"),
        "vidstab, smoothing=60": vidstab("smoothing=60"),
        "deshake": lambda clip, out: ffmpeg(clip, out, "deshake=rx=32:ry=32"),
    }
    print(f"{'':24} {'px':>8} {'degrees':>8} {'ms a frame':>10}")
    with tempfile.TemporaryDirectory() as folder:
        clip, out = f"{folder}/clip.y4m", f"{folder}/out.y4m"
        for seed in range(options.first_seed, options.first_seed + options.clips):
            hidden = draw_clip(clip, seed, options.frames)
            print(f"clip {seed}: {WIDTH}x{HEIGHT}, {options.frames} frames; the thing covers "
                  f"{hidden.mean():.2f} over time")
            for name, stabilise in stabilisers.items():
                seconds = stabilise(clip, out)
                px, degrees = left_motion(out, hidden)
                ms = 1000 * seconds / options.frames
                print(f"{name:24} {px:8.3f} {degrees:8.4f} {ms:10.1f}", flush=True)
                if options.json:
                    with open(options.json, "a", encoding="utf-8") as file:
                        json.dump({"clip": seed, "name": name, "px": px, "degrees": degrees,
                                   "ms": ms}, file)
                        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
