#!/usr/bin/python3
"""Measures what `denoise:temporal` gains over denoise of single frames on clips with known motion.

    tests/bench/denoise_motion.py [--seed N,...] [--kinds KIND,...] [--sigmas S,...] [--frames N]

Clips of 320x240 are rendered from photographs that come with scikit-image: two are drawn for each
clip, smoothed with sigma 0.6 and sampled by cubic splines. What moves, and how fast, is drawn from
the seed. Noise is half read noise and half shot noise at mid grey, then 8 bits; denoise is told
`sigma` and `shot`, and filters the clip by `fftd-ctl convert`. Prints the table of
docs/results/2026-11-26-denoise-motion.md, a row for each clip: the PSNR without `temporal`, and
what `temporal` adds to it in dB: to the whole clip, to the mean of its last five frames, to its
worst frame, and to the worst square of 32x32 pixels over all frames. A figure depends on the number
of frames: the first ones have little past, and a cut comes after two thirds.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import skimage
import skimage.io
from scipy import ndimage

CTL = pathlib.Path(os.environ.get("FFTD_BUILD", "build")) / "fftd-ctl"
PHOTOGRAPHS = ("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "motorcycle_left.png",
               "rocket.jpg")
WIDTH, HEIGHT = 320, 240
PAST = 31       # frames that are joined at most
LAST = 5        # frames
SQUARE = 32     # px
SQUARE_FLOOR = 0.01   # of a square's mean squared error: one of 0 would gain without end
# The order is a part of each clip's seed.
KINDS = {"still": "still", "pan1": "pan by 1", "pan3": "pan by 3", "pan10": "pan by 10",
         "drift": "pan in any direction", "rotate": "rotation", "zoom": "zoom",
         "parallax": "parallax", "occluded": "occlusion", "cut": "cut", "light": "changing light",
         "object": "object before a resting scene", "fade": "fading light"}


# ---- clips ----

def photograph(name):
    picture = skimage.io.imread(pathlib.Path(skimage.__file__).parent / "data" / name)
    picture = picture.astype(float)
    grey = picture if picture.ndim == 2 else picture[..., :3] @ [0.299, 0.587, 0.114]
    return np.clip(ndimage.gaussian_filter(grey, 0.6), 0, 255)


def sample(picture, y, x):
    return ndimage.map_coordinates(picture, [y, x], order=3, mode="mirror")


class Scene:
    """Two photographs and a motion. The order of what is drawn is a part of the seed's meaning."""

    def __init__(self, frames, random):
        self.first, self.second = (photograph(name) for name in
                                   random.choice(PHOTOGRAPHS, 2, replace=False))
        self.frames = frames
        self.y, self.x = np.mgrid[:HEIGHT, :WIDTH].astype(float)
        self.top = (self.first.shape[0] - HEIGHT) / 2
        self.left = (self.first.shape[1] - WIDTH) / 2
        self.turn = np.radians(random.uniform(0.3, 1)) * random.choice([-1, 1])   # a frame
        self.growth = random.uniform(0.003, 0.012) * random.choice([-1, 1])       # a frame
        direction, speed = random.uniform(0, 2 * np.pi), random.uniform(0.5, 4)   # px a frame
        self.pan = speed * np.array([np.sin(direction), np.cos(direction)])
        speed, direction = random.uniform(2, 6), random.uniform(0, 2 * np.pi)
        self.disc = speed * np.array([np.sin(direction), np.cos(direction)])

    def moved(self, dy, dx):
        """The first photograph's middle."""
        return sample(self.first, self.y + self.top + dy, self.x + self.left + dx)

    def about_the_middle(self, a, b):
        """The first photograph under the linear map [[a, b], [-b, a]] about its middle."""
        dy, dx = self.y - HEIGHT / 2, self.x - WIDTH / 2
        height, width = self.first.shape
        return sample(self.first, height / 2 + a * dy + b * dx, width / 2 - b * dy + a * dx)

    def parallax(self, t):
        """Patches of a second layer, four times as fast as the first one."""
        dy, dx = self.pan * t
        near = sample(self.second, self.y + 20 + dy, self.x + 30 + dx)
        patches = np.sin((self.x + dx) / 37) * np.cos((self.y + dy) / 41) > 0.2
        cover = ndimage.gaussian_filter(patches.astype(float), 0.7)
        return self.moved(dy / 4, dx / 4) * (1 - cover) + near * cover

    def occluded(self, t):
        """A disc before a slow scene."""
        return self.behind_disc(self.moved(*self.pan * t / 4), t)

    def object(self, t):
        """A disc before a scene that rests."""
        return self.behind_disc(self.moved(0, 0), t)

    def behind_disc(self, scene, t):
        y, x = np.array([HEIGHT, WIDTH]) / 2 + self.disc * (t - self.frames / 2)
        near = sample(self.second, 100 + self.y - y, 150 + self.x - x)
        radius = min(HEIGHT, WIDTH) / 5
        cover = np.clip(radius + 0.5 - np.hypot(self.y - y, self.x - x), 0, 1)
        return scene * (1 - cover) + near * cover

    def cut(self, t):
        picture = self.first if t < self.frames * 2 // 3 else self.second
        return sample(picture, self.y + 20 + t / 2, self.x + 20 + t)

    def frame(self, kind, t):
        if kind in ("parallax", "occluded", "cut", "object"):
            return getattr(self, kind)(t)
        if kind == "rotate":
            return self.about_the_middle(np.cos(self.turn * t), np.sin(self.turn * t))
        if kind == "zoom":
            return self.about_the_middle((1 + self.growth) ** t, 0)
        if kind == "drift":
            return self.moved(*self.pan * t)
        if kind == "light":
            return self.moved(0, 0) * (1 - 0.35 * (t // 5 % 2))
        if kind == "fade":   # falls by 40 % in 20 frames and rises again
            return self.moved(0, 0) * (1 - 0.4 * min(t % 40, 40 - t % 40) / 20)
        return self.moved(0, int(kind.removeprefix("pan")) * t if kind != "still" else 0)


def make_clip(kind, frames, random):
    scene = Scene(frames, random)
    return np.array([np.clip(scene.frame(kind, t), 0, 255) for t in range(frames)])


def add_noise(clip, sigma, random, share=0.5):
    """The clip in 8 bits, and the variance at black and its rise with each grey level. `share` of
    the variance at mid grey is shot noise."""
    floor, shot = (1 - share) * sigma ** 2, share * sigma ** 2 / 128
    noisy = clip + np.sqrt(floor + shot * clip) * random.normal(size=clip.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8), floor, shot


# ---- figures ----

def filtered(frames, chain, device, folder):
    source, output = pathlib.Path(folder, "in.raw"), pathlib.Path(folder, "out.raw")
    source.write_bytes(frames.tobytes())
    subprocess.run([CTL, "convert", source, output, "--size", f"{WIDTH}x{HEIGHT}",
                    "--pixel-format", "GREY", "--filter", chain, "--set",
                    f"engine.device={device}"], stdout=subprocess.DEVNULL, check=True)
    return np.fromfile(output, np.uint8).reshape(frames.shape).astype(float)


def psnr_db(picture, reference):
    return 10 * np.log10(255 ** 2 / np.mean((picture - reference) ** 2))


def square_errors(clip, reference):
    rows, columns = HEIGHT // SQUARE, WIDTH // SQUARE
    error = (clip - reference)[:, :rows * SQUARE, :columns * SQUARE] ** 2
    return error.reshape(-1, rows, SQUARE, columns, SQUARE).mean((0, 2, 4)) + SQUARE_FLOOR


def figures(options, kind, sigma, seed, folder):
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    clip = make_clip(kind, options.frames, random)
    noisy, floor, shot = add_noise(clip, sigma, random)
    chain = f"denoise:sigma={floor ** 0.5:.6g},shot={shot:.6g}"
    single = filtered(noisy, chain, options.device, folder)
    joined = filtered(noisy, f"{chain},temporal={PAST}", options.device, folder)
    gains = np.array([psnr_db(after, sharp) - psnr_db(before, sharp)
                      for after, before, sharp in zip(joined, single, clip)])
    squares = 10 * np.log10(square_errors(single, clip) / square_errors(joined, clip))
    before = psnr_db(single, clip)
    return (before, psnr_db(joined, clip) - before, gains[-LAST:].mean(), gains.min(),
            squares.min())


def seeds(text):
    return [int(each) for each in text.split(",")]


def sigmas(text):
    values = [float(each) for each in text.split(",")]
    if not all(0 < each <= 255 for each in values):
        raise argparse.ArgumentTypeError(f"{text}: expected numbers above 0, at most 255")
    return values


def kinds(text):
    for each in text.split(","):
        if each not in KINDS:
            raise argparse.ArgumentTypeError(f"{each}: expected some of {', '.join(KINDS)}")
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=seeds, default=[9002], help="one or more: 9002,9003")
    parser.add_argument("--kinds", type=kinds, default=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("--sigmas", type=sigmas, default=[25.0],
                        help="of the noise at mid grey (25)")
    parser.add_argument("--frames", type=int, default=16, help="of each clip (16)")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    if options.frames < 1:
        parser.error(f"--frames: {options.frames}: expected at least 1")
    with tempfile.TemporaryDirectory() as folder:
        for sigma in options.sigmas:
            for seed in options.seed:
                print(f"\nsigma {sigma:g}, seed {seed}:\n\n"
                      "| clip | frames | one frame, dB | gain | last frames | worst frame | "
                      "worst square |\n" + "| --- " * 7 + "|", flush=True)
                for kind in options.kinds:
                    row = np.round(figures(options, kind, sigma, seed, folder), 2) + 0.0
                    print(f"| {KINDS[kind]} | {options.frames} | "
                          f"{' | '.join(f'{each:.2f}' for each in row)} |", flush=True)


if __name__ == "__main__":
    main()
