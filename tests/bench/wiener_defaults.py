#!/usr/bin/python3
"""Looks for the defaults of wiener's `noise` and `falloff`, in a model of it.

    tests/bench/wiener_defaults.py [SEED] [CLIPS] [wide]

Draws pieces of scikit-image's photographs, and blurs each with a Gaussian of sigma 0.7 to 2.5, a
disk of radius 1 to 4, or a motion by 4 to 16 pixels. Adds noise of sigma 0.3 to 5 (its logarithm is
uniform), and rounds to 8 bits. Prints the mean PSNR of the filtered pieces, in dB, without 16
pixels at each edge: for each blur and falloff a row, for each noise a column; the mean of the best
of each piece, which an oracle would have; and that with the noise estimated from each piece, in a
model of daemon/observer/blur_noise.c.

With `wide`, the Gaussians have 0.5 to 4 pixels, the disks 1 to 6, the motions 3 to 24, the noise
0.5 to 20, and the filter is told a size that is wrong by up to 5 %.
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
WIDE = {"gaussian": (0.5, 4), "disk": (1, 6), "motion": (3, 24)}
PATCH = 64
FACTOR, LEAST = 2, 0.002  # of the estimate


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


def patches(picture, window):
    for y in np.linspace(0, picture.shape[0] - PATCH, 3).astype(int):
        for x in np.linspace(0, picture.shape[1] - PATCH, 5).astype(int):
            patch = picture[y:y + PATCH, x:x + PATCH]
            yield (patch - np.sum(patch * window) / window.sum()) * window


def estimated_noise(picture, blur, size, angle):
    """Fits the power of the picture and that of the noise to the mean spectrum of its patches."""
    window = np.outer(*2 * [np.hanning(PATCH + 1)[:PATCH]])
    power = np.mean([abs(np.fft.fft2(patch)) ** 2 for patch in patches(picture, window)], axis=0)
    fine = np.fft.fftfreq(4 * PATCH)
    spread = abs(np.fft.fft2(window, (4 * PATCH, 4 * PATCH))) ** 2
    b2 = np.fft.ifft2(np.fft.fft2(response(blur, size, angle, fine, fine[:, None]) ** 2) *
                      np.fft.fft2(spread / spread.sum())).real[::4, ::4]
    f = np.hypot(np.fft.fftfreq(PATCH), np.fft.fftfreq(PATCH)[:, None])
    used = f > 1.5 / PATCH
    power, model = power[used] / np.sum(window ** 2), b2[used] / (f[used] / 0.1) ** 2
    signal, noise = power.sum() / model.sum(), max(2 * power.min(), 0.01)
    for _ in range(30):
        mean = signal * model + noise
        share, excess = signal * model / mean, np.minimum(power / mean, 4) - 1
        of = np.array([share, 1 - share])
        step = np.linalg.solve(of @ of.T + 1e-9 * np.eye(2), of @ excess)
        signal, noise = np.array([signal, noise]) * np.exp(np.clip(step, -1, 1))
        noise = max(noise, 0.01)
    return min(FACTOR * noise / signal + LEAST, 10)


def main():
    random = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    clips = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    is_wide = sys.argv[3:] == ["wide"]
    blurs, noises = (WIDE, np.log10([0.5, 20])) if is_wide else (BLURS, (-0.5, 0.7))
    pictures = list(photographs())
    before = {blur: [] for blur in BLURS}
    after = {blur: [] for blur in BLURS}
    estimated = {blur: [] for blur in BLURS}
    for i in range(clips):
        picture = pictures[random.integers(len(pictures))]
        height, width = np.minimum(picture.shape, (240, 320))
        y, x = (random.integers(have - want + 1)
                for have, want in zip(picture.shape, (height, width)))
        sharp = picture[y:y + height, x:x + width]
        blur = list(BLURS)[i % len(BLURS)]
        fx, fy = np.fft.fftfreq(width + 2 * BORDER), np.fft.fftfreq(height + 2 * BORDER)[:, None]
        size, angle = random.uniform(*blurs[blur]), random.uniform(-np.pi, np.pi)
        b = response(blur, size, angle, fx, fy)
        noise = random.normal(0, 10 ** random.uniform(*noises), sharp.shape)
        blurred = eight_bits(back(transform(sharp) * b) + noise)
        if is_wide:
            size *= random.uniform(0.95, 1.05)
            b = response(blur, size, angle, fx, fy)
        f, spectrum = np.hypot(fx, fy), transform(blurred)

        def restored_db(falloff, noise):
            h = b / np.maximum(b * b + noise * (f / 0.1) ** falloff, 1e-12)
            h[0, 0] = 1
            return psnr_db(eight_bits(back(spectrum * h)), sharp)

        before[blur].append(psnr_db(blurred, sharp))
        after[blur].append([[restored_db(*at) for at in [(a, z) for z in NOISES]]
                            for a in FALLOFFS])
        estimated[blur].append(restored_db(2, estimated_noise(blurred, blur, size, angle)))
    print(f"{'':16}" + "".join(f"{noise:8g}" for noise in NOISES))
    every = []
    for blur in BLURS:
        best = np.max(after[blur], axis=(1, 2)).mean()
        print(f"{blur}: {np.mean(before[blur]):.2f} untouched, {best:.2f} the best of each, "
              f"{np.mean(estimated[blur]):.2f} with the noise estimated")
        every.append(np.mean(after[blur], axis=0))
        for falloff, row in zip(FALLOFFS, every[-1]):
            print(f"  falloff {falloff:<6}" + "".join(f"{value:8.2f}" for value in row))
    print("all")
    for falloff, row in zip(FALLOFFS, np.mean(every, axis=0)):
        print(f"  falloff {falloff:<6}" + "".join(f"{value:8.2f}" for value in row))


if __name__ == "__main__":
    main()
