#!/usr/bin/python3
"""Looks for the defaults of wiener's `noise` and `falloff`, in a model of it.

    tests/bench/wiener_defaults.py [SEED] [CLIPS]

Draws pieces of scikit-image's photographs, and blurs each with a Gaussian of sigma 0.7 to 2.5, a
disk of radius 1 to 4, or a motion by 4 to 16 pixels. Adds noise of sigma 0.3 to 5 (its logarithm is
uniform), and rounds to 8 bits. Prints the mean PSNR of the filtered pieces, in dB, without 16
pixels at each edge: for each blur and falloff a row, for each noise a column; and the mean of the
best of each piece, which an oracle would have.
"""

import pathlib
import sys

import numpy as np
import skimage
import skimage.io
from scipy import special

PHOTOGRAPHS = ("camera.png", "chelsea.png", "moon.png", "brick.png", "coins.png", "coffee.png",
               "astronaut.png", "gravel.png", "grass.png", "hubble_deep_field.jpg", "ihc.png",
               "motorcycle_left.png", "retina.jpg", "rocket.jpg", "color.png")
BORDER, EDGE = 32, 16
FALLOFFS = (1, 1.5, 2, 2.5, 3)
NOISES = (0.0003, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.014, 0.02, 0.03, 0.1)
BLURS = {"gaussian": (0.7, 2.5), "disk": (1, 4), "motion": (4, 16)}


def photographs():
    for name in PHOTOGRAPHS:
        path = pathlib.Path(skimage.__file__).parent / "data" / name
        picture = skimage.io.imread(path).astype(float)
        if picture.ndim == 3:
            picture = picture[..., :3] @ [0.299, 0.587, 0.114]
        yield picture[::2, ::2] if max(picture.shape) > 1000 else picture


def response(blur, size, angle, fx, fy):
    f = np.hypot(fx, fy)
    if blur == "gaussian":
        return np.exp(-2 * (np.pi * size * f) ** 2)
    if blur == "disk":
        turn = np.maximum(2 * np.pi * size * f, 1e-9)
        return 2 * special.j1(turn) / turn
    return np.sinc(size * (fx * np.cos(angle) + fy * np.sin(angle)))


def transform(picture):
    return np.fft.fft2(np.pad(picture, BORDER, "reflect"))


def back(spectrum):
    return np.fft.ifft2(spectrum).real[BORDER:-BORDER, BORDER:-BORDER]


def eight_bits(picture):
    return np.clip(np.rint(picture), 0, 255)


def psnr_db(picture, sharp):
    inside = np.s_[EDGE:-EDGE, EDGE:-EDGE]
    return 10 * np.log10(255 ** 2 / np.mean((picture[inside] - sharp[inside]) ** 2))


def main():
    random = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    clips = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    pictures = list(photographs())
    before = {blur: [] for blur in BLURS}
    after = {blur: [] for blur in BLURS}
    for i in range(clips):
        picture = pictures[random.integers(len(pictures))]
        height, width = np.minimum(picture.shape, (240, 320))
        y, x = (random.integers(have - want + 1)
                for have, want in zip(picture.shape, (height, width)))
        sharp = picture[y:y + height, x:x + width]
        blur = list(BLURS)[i % len(BLURS)]
        fx, fy = np.fft.fftfreq(width + 2 * BORDER), np.fft.fftfreq(height + 2 * BORDER)[:, None]
        b = response(blur, random.uniform(*BLURS[blur]), random.uniform(-np.pi, np.pi), fx, fy)
        noise = random.normal(0, 10 ** random.uniform(-0.5, 0.7), sharp.shape)
        blurred = eight_bits(back(transform(sharp) * b) + noise)
        f, spectrum = np.hypot(fx, fy), transform(blurred)

        def restored_db(falloff, noise):
            h = b / np.maximum(b * b + noise * (f / 0.1) ** falloff, 1e-12)
            h[0, 0] = 1
            return psnr_db(eight_bits(back(spectrum * h)), sharp)

        before[blur].append(psnr_db(blurred, sharp))
        after[blur].append([[restored_db(*at) for at in [(a, z) for z in NOISES]]
                            for a in FALLOFFS])
    print(f"{'':16}" + "".join(f"{noise:8g}" for noise in NOISES))
    every = []
    for blur in BLURS:
        best = np.max(after[blur], axis=(1, 2)).mean()
        print(f"{blur}: {np.mean(before[blur]):.2f} untouched, {best:.2f} the best of each")
        every.append(np.mean(after[blur], axis=0))
        for falloff, row in zip(FALLOFFS, every[-1]):
            print(f"  falloff {falloff:<6}" + "".join(f"{value:8.2f}" for value in row))
    print("all")
    for falloff, row in zip(FALLOFFS, np.mean(every, axis=0)):
        print(f"  falloff {falloff:<6}" + "".join(f"{value:8.2f}" for value in row))


if __name__ == "__main__":
    main()
