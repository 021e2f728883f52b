"""Checks whole frames, every kind of filter, against models in double precision that are written
from the formulas of the manual and share no code with the daemon."""

import math
import os
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))
np = pytest.importorskip("numpy", reason="python3-numpy is not installed")

WIDTH, HEIGHT = 90, 62
HOT = (30, 17)  # row and column of a hot pixel in the recorded dark frame


# ---- models: H of each kind, for arrays of frequencies in cycles per pixel ----

def cut(shape, d, order=2):
    """A lowpass at d times its cutoff; half of the power is left at d = 1."""
    with np.errstate(over="ignore"):
        return {"ideal": lambda: (d <= 1) * 1.0,
                "butterworth": lambda: (1 + d ** (2 * order)) ** -0.5,
                "gaussian": lambda: 2 ** (-d ** 2 / 2)}[shape]()


def cut_out(shape, d, order=2):
    """The highpass of the same shape."""
    with np.errstate(divide="ignore"):
        return {"ideal": lambda: (d > 1) * 1.0,
                "butterworth": lambda: (1 + d ** (-2.0 * order)) ** -0.5,
                "gaussian": lambda: 1 - (1 - 0.5 ** 0.5) ** (d ** 2)}[shape]()


def mean_is(gain, h):
    """Sets the gain of frequency 0."""
    h = h.copy()
    h[0, 0] = gain
    return h


def band(fx, fy, low, high):
    f = np.hypot(fx, fy)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs((f ** 2 - low * high) / (f * (high - low)))


def taps(f, sigma):
    """n, f and the samples of a Gaussian, to be added up along the first axis."""
    n = np.arange(-40, 41)[:, None, None]
    return n, n * f, np.exp(-(n / sigma) ** 2 / 2)


def gaussian(fx, fy, sigma):
    response = 1
    for f in (fx, fy):
        _, turns, weight = taps(f, sigma)
        response = response * (weight * np.cos(2 * np.pi * turns)).sum(0) / weight.sum()
    return response


def slope(f, across, sigma):
    """i times the transform of the samples of a Gaussian's slope."""
    n, turns, weight = taps(f, sigma)
    return (1j * (n * weight * np.sin(2 * np.pi * turns)).sum(0) / (n ** 2 * weight).sum()
            * gaussian(0 * across, across, sigma))


def defocus(fx, fy, sigma):
    """The blur of a lens, which is not sampled."""
    return np.exp(-2 * np.pi ** 2 * sigma ** 2 * (fx ** 2 + fy ** 2))


def notch(fx, fy, x, y, width):
    nearest = np.inf
    for sign in (1, -1):
        for px in (-1, 0, 1):
            for py in (-1, 0, 1):
                nearest = np.minimum(nearest, np.hypot(fx - sign * x - px, fy - sign * y - py))
    return cut_out("gaussian", nearest / (width / 2))


def weights(fx, fy, kernel, anchor=(0, 0)):
    """The transform of a kernel around its middle element, moved by the anchor."""
    kernel = np.array(kernel, float)
    h = 0
    for (y, x), weight in np.ndenumerate(kernel):
        h = h + weight * np.exp(-2j * np.pi * (fx * (x - kernel.shape[1] // 2 - anchor[0]) +
                                               fy * (y - kernel.shape[0] // 2 - anchor[1])))
    return h


def wedge(fx, fy, angle, width):
    degrees = np.degrees(np.arctan2(fy, fx))
    off = np.abs((degrees - angle + 90) % 180 - 90)
    return mean_is(1, cut("gaussian", off / (width / 2)))


def disk(fx, fy, radius):
    """The transform of a disk, summed over its rows, whose transforms are known."""
    turn = (np.arange(400)[:, None, None] + 0.5) * np.pi / 400
    y, half = radius * np.cos(turn), radius * np.sin(turn)
    rows = half * np.sinc(2 * half * fx) * np.cos(2 * np.pi * fy * y)
    return (rows * np.sin(turn)).sum(0) / (half * np.sin(turn)).sum()


def restore(fx, fy, blur, noise, falloff=2):
    return mean_is(1, blur / (blur ** 2 + noise * (np.hypot(fx, fy) / 0.1) ** falloff))


# ---- images: the pixels, and the bytes of a file ----

def as_pgm(pixels, white=255):
    kind = ">u2" if white > 255 else "u1"
    return b"P5\n%d %d\n%d\n" % (*pixels.shape[::-1], white) + pixels.astype(kind).tobytes()


def as_pfm(pixels):
    return b"Pf\n%d %d\n-1.0\n" % pixels.shape[::-1] + pixels[::-1].astype("<f4").tobytes()


def as_text(pixels):
    return "\n".join(" ".join(map(repr, row)) for row in pixels.tolist()).encode()


def make_images():
    """Of each format, even and odd sizes; the largest kernel is larger than the picture."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[-127:128, -127:128]
    spread = np.rint(65535 * np.exp(-(x ** 2 + y ** 2) / 900.0))
    psf = np.rint(255 * np.exp(-(x ** 2 + x * y + 2 * y ** 2) / 5.0))[120:135, 121:134]
    lump = random.integers(0, 256, (6, 4))
    signed = random.normal(0, 0.2, (5, 8)).astype("f4").astype(float)
    hill = np.exp(-(x ** 2 + 2 * y ** 2) / 9.0)[122:133, 123:132].round(6)
    drawn = np.repeat(np.repeat(random.integers(0, 256, (8, 6)), 4, 0), 6, 1)[:31]
    emboss = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2.0]])
    dark = random.uniform(0.01, 0.06, (HEIGHT, WIDTH)).astype("f4")
    dark[HOT] = 0.4
    flat = dark + random.uniform(0.3, 0.5, dark.shape).astype("f4")
    columns = np.tile(np.linspace(90, 3, WIDTH, dtype="f4"), (HEIGHT, 1))
    maps = np.vstack([columns, (columns / 3).round(2) + np.arange(HEIGHT, dtype="f4")[:, None]])
    return {"maps.pfm": (maps.astype(float), as_pfm(maps)),
            "dark.pfm": (dark.astype(float), as_pfm(dark)),
            "flat.pfm": (flat.astype(float), as_pfm(flat)),
            "spread.pgm": (spread / 65535, as_pgm(spread, 65535)),
            "psf.pgm": (psf / 255, as_pgm(psf)), "lump.pgm": (lump / 255, as_pgm(lump)),
            "drawn.pgm": (drawn / 255, as_pgm(drawn)), "hill.txt": (hill, as_text(hill)),
            "signed.pfm": (signed, as_pfm(signed)), "emboss.txt": (emboss, as_text(emboss))}


IMAGES = make_images()


def write_images(directory):
    directory.mkdir(exist_ok=True)
    for name, (_, data) in IMAGES.items():
        (directory / name).write_bytes(data)


def image(fx, fy, name, anchor=(0, 0)):
    """The transform of an image around its middle pixel, by one matrix product along each axis."""
    pixels = IMAGES[name][0] if isinstance(name, str) else name
    turns = [np.exp(-2j * np.pi * np.multiply.outer(f, np.arange(length) - length // 2 - at))
             for f, length, at in ((fy[:, 0], pixels.shape[0], anchor[1]),
                                   (fx[0], pixels.shape[1], anchor[0]))]
    return turns[0] @ pixels @ turns[1].T


def mask(fx, fy, name):
    """Each pixel is a tent as wide as two, on the circle of frequencies."""
    pixels = IMAGES[name][0]

    def tents(f, length):
        off = f[:, None] * length + length // 2 - np.arange(length)
        return np.clip(1 - np.abs((off + length / 2) % length - length / 2), 0, None)

    def drawn(sign):
        return tents(sign * fy[:, 0], pixels.shape[0]) @ pixels @ \
            tents(sign * fx[0], pixels.shape[1]).T
    return (drawn(1) + drawn(-1)) / 2


def restore_spread(fx, fy, name, noise):
    blur = image(fx, fy, name) / IMAGES[name][0].sum()
    return mean_is(1, blur.conj() / (np.abs(blur) ** 2 + noise * (np.hypot(fx, fy) / 0.1) ** 2))


def match(fx, fy, name, gain=2, dc=0):
    """A perfect match has the picture's standard deviation."""
    template = (IMAGES[name][0] - IMAGES[name][0].mean()) / IMAGES[name][0].std()
    return mean_is(dc, gain * image(fx, fy, template).conj() / template.size)


MODELS = {
    "none": lambda x, y: 1 + 0 * x,
    "lowpass:cutoff=0.1": lambda x, y: cut("gaussian", np.hypot(x, y) / 0.1),
    "lowpass:shape=ideal,cutoff=0.2": lambda x, y: cut("ideal", np.hypot(x, y) / 0.2),
    "highpass:shape=butterworth,cutoff=0.1,order=3,dc=1":
        lambda x, y: mean_is(1, cut_out("butterworth", np.hypot(x, y) / 0.1, 3)),
    "bandpass:shape=butterworth,low=0.1,high=0.3,dc=1":
        lambda x, y: mean_is(1, cut("butterworth", band(x, y, 0.1, 0.3))),
    "bandstop:low=0.1,high=0.3":
        lambda x, y: mean_is(1, cut_out("gaussian", band(x, y, 0.1, 0.3))),
    "notch:at=0.21/-0.13,width=0.05": lambda x, y: notch(x, y, 0.21, -0.13, 0.05),
    "gaussian-blur:sigma=2.5": lambda x, y: gaussian(x, y, 2.5),
    "box-blur:radius=3": lambda x, y: weights(x, y, np.ones((7, 7)) / 49).real,
    "sharpen:amount=1.5,sigma=2": lambda x, y: 1 + 1.5 * (1 - gaussian(x, y, 2)),
    "highboost:base=0.7,boost=1.5,cutoff=0.15":
        lambda x, y: 0.7 + 1.5 * cut_out("gaussian", np.hypot(x, y) / 0.15),
    "laplacian:gain=0.5,dc=1":
        lambda x, y: mean_is(1, 0.5 * weights(x, y, [[0, -1, 0], [-1, 4, -1], [0, -1, 0]]).real),
    "directional:angle=30,width=40": lambda x, y: wedge(x, y, 30, 40),
    "directional:angle=90,width=20,keep=outside,above=0.1":
        lambda x, y: 1 - cut_out("gaussian", np.hypot(x, y) / 0.1) * (
            1 - mean_is(1, cut_out("gaussian", ((np.degrees(np.arctan2(y, x))) % 180 - 90) / 10))),
    "auto-notch": lambda x, y: 1 + 0 * x,  # test_auto_notch.py has periodic noise
    "deflicker": lambda x, y: 1 + 0 * x,  # test_deflicker.py has light that flickers
    "stabilise": lambda x, y: 1 + 0 * x,  # test_stabilise.py has a camera that shakes
    "stack": lambda x, y: 1 + 0 * x,  # test_stack.py has frames that differ
    "gain:dc=0.8,ac=1.3": lambda x, y: mean_is(0.8, 1.3 + 0 * x),
    "wiener:size=1.2,noise=0.02,falloff=0":
        lambda x, y: restore(x, y, defocus(x, y, 1.2), 0.02, 0),
    "wiener:blur=disk,size=2.5,noise=0.007": lambda x, y: restore(x, y, disk(x, y, 2.5), 0.007),
    "wiener:blur=motion,size=5,angle=-30,noise=0.01,falloff=2":
        lambda x, y: restore(x, y, np.sinc(5 * (x * 3 ** 0.5 / 2 - y / 2)), 0.01, 2),
    "convolve:kernel=1 2 1/2 4 2/1 2 1,normalise=sum":
        lambda x, y: weights(x, y, np.outer([1, 2, 1], [1, 2, 1]) / 16),
    "convolve:kernel=1 2 -3 0.5/0 4 5 -1,anchor=1/-2":
        lambda x, y: weights(x, y, [[1, 2, -3, 0.5], [0, 4, 5, -1]], (1, -2)),
    "convolve:kernel=2 1 0/1 1 -1/0 -1 -2,correlate=true":
        lambda x, y: np.conj(weights(x, y, [[2, 1, 0], [1, 1, -1], [0, -1, -2]])),
    "convolve:image=spread.pgm,normalise=sum":
        lambda x, y: image(x, y, "spread.pgm") / IMAGES["spread.pgm"][0].sum(),
    "convolve:image=lump.pgm,normalise=sum,anchor=-2/9":
        lambda x, y: image(x, y, "lump.pgm", (-2, 9)) / IMAGES["lump.pgm"][0].sum(),
    "convolve:image=signed.pfm,correlate=true | gain:dc=0.5":
        lambda x, y: mean_is(0.5 * IMAGES["signed.pfm"][0].sum(),
                             np.conj(image(x, y, "signed.pfm"))),
    "convolve:image=emboss.txt | gaussian-blur:sigma=1":
        lambda x, y: image(x, y, "emboss.txt") * gaussian(x, y, 1),
    "mask:image=drawn.pgm,gain=1.3": lambda x, y: 1.3 * mask(x, y, "drawn.pgm"),
    "mask:image=lump.pgm | shift:by=3/1":
        lambda x, y: mask(x, y, "lump.pgm") * np.exp(-2j * np.pi * (3 * x + y)),
    "wiener:blur=image,image=psf.pgm,noise=0.007":
        lambda x, y: restore_spread(x, y, "psf.pgm", 0.007),
    "wiener:blur=image,image=lump.pgm,noise=0.05":
        lambda x, y: restore_spread(x, y, "lump.pgm", 0.05),
    "match:image=hill.txt,gain=3,dc=0.5": lambda x, y: match(x, y, "hill.txt", 3, 0.5),
    "match:image=lump.pgm": lambda x, y: match(x, y, "lump.pgm"),
    "gradient:sigma=0.8,gain=2":
        lambda x, y: mean_is(1, 2 * slope(x, y, 0.8)),
    "gradient:along=y,dc=0.5":
        lambda x, y: mean_is(0.5, slope(y, x, 1)),
    "shift:by=7/-3": lambda x, y: np.exp(-2j * np.pi * (7 * x - 3 * y)),
    "shift:by=-0.5/2.25": lambda x, y: np.exp(-2j * np.pi * (-0.5 * x + 2.25 * y)),
    "shift:by=2.5/0 | gradient:along=y | gaussian-blur:sigma=1":
        lambda x, y: (np.exp(-2j * np.pi * 2.5 * x) * gaussian(x, y, 1) *
                      mean_is(1, slope(y, x, 1))),
}


LIGHT = {"srgb": (0.055, 0.04045, 12.92, 2.4), "gamma": (0, 256 ** (-1 / 0.8), 256, 1.8),
         "bt709": (0.09929682680944, 4.5 * 0.018053968510807, 4.5, 1 / 0.45)}


def light(encoding):
    offset, cut, divisor, power = LIGHT[encoding]
    return (lambda s: 255 * np.where(s / 255 <= cut, s / 255 / divisor,
                                     ((s / 255 + offset) / (1 + offset)) ** power),
            lambda v: 255 * np.where(v / 255 <= cut / divisor, v / 255 * divisor,
                                     (1 + offset) * (v / 255) ** (1 / power) - offset))


LOGARITHM = (lambda s: 255 * np.log(1 + s) / np.log(256), lambda v: 256 ** (v / 255) - 1)

# Chains that filter a function of the samples: that function and its inverse.
CURVES = {
    "homomorphic": LOGARITHM,
    "highboost:base=0.5,boost=1,cutoff=0.05 | homomorphic": LOGARITHM,
    "linear-light": light("srgb"),
    "linear-light | gaussian-blur:sigma=2.5": light("srgb"),
    "linear-light:encoding=bt709 | gaussian-blur:sigma=2.5": light("bt709"),
    "linear-light:encoding=gamma,gamma=1.8 | gaussian-blur:sigma=2.5": light("gamma"),
}
MODELS |= {chain: MODELS.get(chain.rpartition(" | ")[2], MODELS["none"]) for chain in CURVES}
MODELS["highboost:base=0.5,boost=1,cutoff=0.05 | homomorphic"] = \
    lambda x, y: 0.5 + cut_out("gaussian", np.hypot(x, y) / 0.05)


def half_diagonals(picture):
    """The distance of each pixel from the middle; 1 is a corner."""
    height, width = picture.shape
    y, x = np.mgrid[:height, :width]
    return np.hypot(x + 0.5 - width / 2, y + 0.5 - height / 2) / (np.hypot(width, height) / 2)


def moved(picture, columns, rows):
    """Interpolated between four pixels, at places rounded to a 32nd of a pixel."""
    at = [np.rint(32 * np.clip(place, 0, length - 1)) / 32
          for place, length in zip((rows, columns), picture.shape)]
    rows, columns = (np.clip(1 - np.abs(place[..., None] - np.arange(length)), 0, None)
                     for place, length in zip(at, picture.shape))
    return np.einsum("yxr,rc,yxc->yx", rows, picture.astype(float), columns)


def undistorted(picture, fx, fy, cx, cy, k1, k2, p1, p2):
    y, x = (np.arange(length) for length in picture.shape)
    u, v = np.meshgrid((x - cx) / fx, (y - cy) / fy)
    r2 = u ** 2 + v ** 2
    bent = 1 + k1 * r2 + k2 * r2 ** 2
    return moved(picture, cx + fx * (u * bent + 2 * p1 * u * v + p2 * (r2 + 2 * u * u)),
                 cy + fy * (v * bent + p1 * (r2 + 2 * v * v) + 2 * p2 * u * v))


def repaired(picture):
    """The hot pixel as the mean of those around it."""
    y, x = HOT
    picture[HOT] = (picture[y - 1, x] + picture[y + 1, x] + picture[y, x - 1] +
                    picture[y, x + 1]) / 4
    return picture


def two_points(picture, pedestal):
    """Dark and flat frames; the hot pixel does not count in the mean of the light."""
    dark, flat = IMAGES["dark.pfm"][0], IMAGES["flat.pfm"][0]
    light = flat - dark
    mean = (light.sum() - light[HOT]) / (light.size - 1)
    return repaired((picture - 255 * dark) * mean / light + 255 * pedestal)


def cosines(side):
    """The orthonormal DCT-II as a matrix."""
    k, n = np.mgrid[:side, :side]
    return np.where(k == 0, 1, 2 ** 0.5) / side ** 0.5 * np.cos(np.pi * (n + 0.5) * k / side)


def weigh_fourier(block, window, variance):
    """The Wiener filter of the first pass, for a windowed block. Also returns the sum of the gains.
    """
    z, w = np.fft.fft2(block), np.fft.fft2(window)
    level = (z[0, 0] / w[0, 0]).real
    power = np.abs(z - level * w) ** 2
    power[0, 0] = 1e-12  # nothing is left there
    gain = np.maximum(1 - 2.5 * variance(level) * np.sum(window ** 2) / power, 0)
    return np.fft.ifft2((z - level * w) * gain + level * w).real, gain.sum()


def weigh_cosines(block, guide, window, variance):
    """The Wiener filter of the second pass, where the first one's result is the guide. Also returns
    the sum of the gains."""
    basis = cosines(len(block))
    z, g, w = (basis @ each @ basis.T for each in (block, guide, window))
    level, guide_level = z[0, 0] / w[0, 0], g[0, 0] / w[0, 0]
    power = (g - guide_level * w) ** 2
    gain = power / (power + variance(guide_level) / 4 + 1e-12)
    return basis.T @ ((z - level * w) * gain + level * w) @ basis, gain.sum()


def in_blocks(side, hop, shift, weigh, *pictures):
    """Weighs overlapping windowed blocks of pictures, which are mirrored at their edges. The first
    one begins `shift` samples before that of another call with the same hop. `weigh` returns a
    block and its weight. Returns the sums of the blocks and of their weights."""
    window = np.sin(np.pi * (np.arange(side) + 0.5) / side)
    window = np.outer(window, window)
    before = side - hop + shift
    pad = ((before, side),) * 2
    wide = [np.pad(picture, pad, "reflect") for picture in pictures]
    total, weight = np.zeros((2, *wide[0].shape))
    height, width = pictures[0].shape
    for top in range(0, height + before, hop):
        for left in range(0, width + before, hop):
            at = slice(top, top + side), slice(left, left + side)
            block, share = weigh(*(each[at] * window for each in wide), window)
            total[at] += share * block * window
            weight[at] += share * window ** 2
    inside = slice(before, before + height), slice(before, before + width)
    return np.array([total[inside], weight[inside]]) * (2 * hop / side) ** 2


def denoised(picture, sigma, shot=0, side=32, overlap=2, passes=2, joined=False):
    """Both passes. Those of a joined frame also filter smaller blocks, and weigh all of them."""
    def variance(level):
        return sigma ** 2 + shot * max(level, 0)

    def filtered(weigh, blocks, *pictures):
        def weighted(*windowed):
            result, gains = weigh(*windowed, variance)
            return result, (result.size / (4 + gains)) ** 2 if joined else 1
        total, weight = sum(in_blocks(*block, weighted, *pictures) for block in blocks)
        return total / weight

    picture = picture.astype(float)
    guide = filtered(weigh_fourier, [(side, side // overlap, 0)] + [(8, 4, 0)] * joined, picture)
    if passes == 1:
        return guide
    hop = 16 // overlap
    fine = [(each, each // 2, hop // 2 % (each // 2)) for each in (8, 4)] if joined else []
    return filtered(weigh_cosines, [(16, hop, hop // 2)] + fine, picture, guide)


def above_black(mean, deviation):
    """Returns the samples that have this mean after noise is clipped at 0, by bisection."""
    wanted, low, high = mean / deviation, np.zeros(mean.shape), np.full(mean.shape, 20.0)
    for _ in range(40):
        middle = (low + high) / 2
        inside = 1 - np.vectorize(math.erfc)(middle / 2 ** 0.5) / 2
        found = middle * inside + np.exp(-middle ** 2 / 2) / (2 * np.pi) ** 0.5
        low, high = np.where(found < wanted, middle, low), np.where(found < wanted, high, middle)
    return deviation * middle


def unclipped(picture, sigma, shot=0):
    """Restores the mean of a picture whose noise was clipped at black and white."""
    deviation = np.sqrt(sigma ** 2 + shot * np.maximum(picture, 0))
    dark, bright = picture < 3 * deviation, 255 - picture < 3 * deviation
    result = np.where(dark, above_black(picture, deviation), picture)
    return np.where(bright & ~dark, 255 - above_black(255 - picture, deviation), result)


def median(picture):
    wide = np.pad(picture.astype(float), 1, "edge")
    return np.median([wide[y:y + picture.shape[0], x:x + picture.shape[1]]
                      for y in range(3) for x in range(3)], axis=0)


# What is done to captured samples, and the filter after that.
CORRECTIONS = {
    "median": (median, "none"),
    "gain:dc=0.8,ac=1.3 | median": (median, "gain:dc=0.8,ac=1.3"),
    "vignette:a=0,b=1 | median": (lambda p: median(p * (1 + half_diagonals(p) ** 4)), "none"),
    "denoise:sigma=20": (lambda p: denoised(p, 20), "none"),
    "denoise:sigma=20,block=16,temporal=2":
        (lambda p: denoised(p, 20 / 3 ** 0.5, side=16, joined=True), "none"),  # the frame thrice
    "denoise:sigma=20,block=16,temporal=2,clipping=undone":
        (lambda p: unclipped(denoised(p, 20 / 3 ** 0.5, side=16, joined=True), 20), "none"),
    "denoise:sigma=30,shot=2,block=16,hop=quarter,passes=1,clipping=undone | gain:dc=0.8,ac=1.3":
        (lambda p: unclipped(denoised(p, 30, 2, 16, 4, 1), 30, 2), "gain:dc=0.8,ac=1.3"),
    "vignette:a=0.6,b=-0.2": (lambda p: p * (1 + 0.6 * half_diagonals(p) ** 2 -
                                             0.2 * half_diagonals(p) ** 4), "none"),
    "dark:image=dark.pfm": (lambda p: repaired(p - 255 * IMAGES["dark.pfm"][0]), "none"),
    "flat:image=flat.pfm,dead=0,limit=8": (lambda p: p * IMAGES["flat.pfm"][0].mean() /
                                           IMAGES["flat.pfm"][0], "none"),
    "flat:image=flat.pfm | dark:image=dark.pfm,pedestal=0.1": (lambda p: two_points(p, 0.1),
                                                               "none"),
    "gain:dc=0.8,ac=1.3 | vignette:a=0,b=1": (lambda p: p * (1 + half_diagonals(p) ** 4),
                                              "gain:dc=0.8,ac=1.3"),
    "remap:image=maps.pfm | gain:dc=0.8,ac=1.3":
        (lambda p: moved(p, *np.vsplit(IMAGES["maps.pfm"][0], 2)), "gain:dc=0.8,ac=1.3"),
    "undistort:fx=80,fy=76,cx=43,cy=33,k1=-0.3,k2=0.1,p1=0.01,p2=-0.02 | gaussian-blur:sigma=2.5":
        (lambda p: undistorted(p, 80, 76, 43, 33, -0.3, 0.1, 0.01, -0.02),
         "gaussian-blur:sigma=2.5"),
}


# The thresholds of spectra, in grey levels, and the filters after them.
THRESHOLDS = {
    "soft-threshold:sigma=20": (20, "none"),
    "soft-threshold:sigma=30,strength=1.5 | gain:dc=0.8,ac=1.3": (45, "gain:dc=0.8,ac=1.3"),
}


# The levels that separate black from white, in grey levels, and the filters before that.
LEVELS = {
    "binarise:level=128": (128, "none"),
    "binarise:level=90.4 | gain:dc=0.8,ac=1.3": (91, "gain:dc=0.8,ac=1.3"),
}


def model(picture, chain, padded, threshold=0):
    """The filtered picture: extended on all sides by reflection, transformed, multiplied."""
    pad = [whole - part for whole, part in zip(padded, picture.shape)]
    around = [(each // 2, each - each // 2) for each in pad]
    bend, unbend = CURVES.get(chain, (lambda s: s, lambda v: v))
    wide = np.pad(bend(picture.astype(float)), around, "reflect")
    wide = np.roll(wide, [-before for before, _ in around], (0, 1))
    fy, fx = np.meshgrid(*(np.fft.fftfreq(length) for length in padded), indexing="ij")
    # -0.5 and 0.5 are the same frequency, where H is the mean of both.
    h = sum(MODELS[chain](x, y) for x in (fx, np.where(fx == -0.5, 0.5, fx))
            for y in (fy, np.where(fy == -0.5, 0.5, fy))) / 4
    spectrum = np.fft.fft2(wide)
    least = threshold * wide.size ** 0.5
    spectrum *= np.maximum(0, 1 - least / np.maximum(np.abs(spectrum), 1e-30))
    out = np.fft.ifft2(spectrum * h)
    assert np.abs(out.imag).max() < 1e-9
    out = unbend(np.clip(out.real, 0, 255)) if chain in CURVES else out.real
    return out[:picture.shape[0], :picture.shape[1]]


# ---- the daemon ----

def write_clip(path, picture):
    path.write_bytes(b"YUV4MPEG2 W%d H%d F60:1 Ip A1:1 Cmono\nFRAME\n" % picture.shape[::-1] +
                     picture.tobytes())


def random_picture():
    """Edges, a wave and noise; parts of it are black and white."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    picture = (90 + 60 * (x > 40) + 40 * (y > 25) + 25 * np.sin(0.8 * x + 0.5 * y) +
               random.normal(0, 20, (HEIGHT, WIDTH)))
    picture[:8, :20] = 255 * (x[:8, :20] % 4 < 2)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


class Filtered:
    """A daemon that repeats one picture, and a reader of it."""

    def __init__(self, directory, log, picture, module, arguments=()):
        clip = directory / "clip.y4m"
        write_clip(clip, picture)
        self.images = directory / "images"
        write_images(self.images)
        self.daemon = Daemon(directory / "run", log,
                             ["--source", f"file:{clip}", "--set", "camera.loop=true",
                              "--set", f"engine.cache_dir={directory}/cache", *arguments],
                             {**os.environ, "FFTD_IMAGE_DIR": str(self.images)})
        self.daemon.wait_for_socket("frames")
        self.camera = module.Camera(str(self.daemon.runtime_dir))

    def frame(self, chain):
        """A frame of this filter, after others of it if it joins past ones, and the size to which
        its engine pads."""
        serial = self.daemon.change("filter", "set", chain)
        past = 2 if "temporal" in chain else 0
        for frame in self.camera.frames():
            past -= frame.filter_serial == serial
            if past < 0:
                planes = frame.copy()
                if planes is not None:
                    break
        engine = self.daemon.ctl_json("status")["Engine"]
        width, height = map(int, re.search(r" in (\d+)x(\d+)", engine).groups())
        return planes[0], (height, width)

    def close(self):
        self.camera.close()
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.log_file.close()


@pytest.fixture(scope="module")
def fftd_module():
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return fftd


@pytest.fixture(scope="module")
def filtered(fftd_module, tmp_path_factory):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    each = Filtered(directory, tmp_path_factory.mktemp("log") / "log", random_picture(),
                    fftd_module, ["--set", "engine.margin=20", *FAST_KERNELS])
    yield each
    each.close()
    shutil.rmtree(directory)


def test_every_kind_has_a_model(filtered):
    kinds = {kind["name"] for kind in filtered.daemon.ctl_json("filter", "kinds")}
    chains = MODELS | CORRECTIONS | THRESHOLDS | LEVELS
    assert kinds == {re.split("[: ]", chain)[0] for chain in chains} - {"none"}


@pytest.mark.parametrize("chain", MODELS)
def test_frames_match_the_model(filtered, chain):
    got, padded = filtered.frame(chain)
    wanted = np.clip(model(random_picture(), chain, padded), 0, 255)
    # Rounded to the nearest; floats cannot tell which one that is in the middle between two.
    worst = np.abs(got - wanted).max()
    print(f"{chain}: {worst:.4f} grey levels")
    assert worst < 0.505


@pytest.mark.parametrize("chain", CORRECTIONS)
def test_corrected_frames_match_the_model(filtered, chain):
    correct, rest = CORRECTIONS[chain]
    got, padded = filtered.frame(chain)
    wanted = np.clip(model(correct(random_picture()), rest, padded), 0, 255)
    worst = np.abs(got - wanted).max()
    print(f"{chain}: {worst:.4f} grey levels")
    assert worst < 0.505


@pytest.mark.parametrize("chain", LEVELS)
def test_levels_match_the_model(filtered, chain):
    level, rest = LEVELS[chain]
    got, padded = filtered.frame(chain)
    wanted = model(random_picture(), rest, padded)
    sure = np.abs(wanted - level + 0.5) > 0.005
    assert sure.mean() > 0.99 and 0.2 < (wanted >= level).mean() < 0.8
    assert ((got == 255) == (wanted > level - 0.5))[sure].all()
    assert np.isin(got, (0, 255)).all()


@pytest.mark.parametrize("chain", THRESHOLDS)
def test_thresholds_match_the_model(filtered, chain):
    threshold, rest = THRESHOLDS[chain]
    got, padded = filtered.frame(chain)
    wanted = np.clip(model(random_picture(), rest, padded, threshold), 0, 255)
    assert np.abs(got - wanted).max() < 0.505
