#!/usr/bin/python3
"""Demosaics photographs of scikit-image bilinearly and by gradients, in double precision.

    tests/bench/articles/photographs.py FILE

The lines that it appends to FILE, which the driver has written, have the PSNR of both. The
gradients are those of Malvar, He and Cutler (2004); each missing colour is a weighted sum of 13
samples. The mosaic is RGGB and mirrored at its edges.
"""

import pathlib
import sys

import numpy

import front_end

PHOTOGRAPHS = ("astronaut", "chelsea", "coffee", "motorcycle_left")
# Of a sample, its neighbours across and down, at the corners, and two away across and down, in
# eighths.
WEIGHTS = {
    "bilinear": {"across": (0, 4, 0, 0, 0, 0), "down": (0, 0, 4, 0, 0, 0),
                 "edges": (0, 2, 2, 0, 0, 0), "corners": (0, 0, 0, 2, 0, 0)},
    "gradients": {"across": (5, 4, 0, -1, -1, 0.5), "down": (5, 0, 4, -1, 0.5, -1),
                  "edges": (4, 2, 2, 0, -1, -1), "corners": (6, 0, 0, 2, -1.5, -1.5)},
}
# What gives red, green and blue at each place of the mosaic.
PATTERNS = {(0, 0): ("here", "edges", "corners"), (0, 1): ("across", "here", "down"),
            (1, 0): ("down", "here", "across"), (1, 1): ("corners", "edges", "here")}


def mosaic_of(picture):
    mosaic = picture[..., 1].copy()
    mosaic[0::2, 0::2] = picture[0::2, 0::2, 0]
    mosaic[1::2, 1::2] = picture[1::2, 1::2, 2]
    return mosaic


def weighted(mosaic, weights):
    wide = numpy.pad(mosaic, 2, mode="reflect")
    height, width = mosaic.shape

    def at(*offsets):
        return sum(wide[2 + y:2 + y + height, 2 + x:2 + x + width] for y, x in offsets)

    kinds = (at((0, 0)), at((0, -1), (0, 1)), at((-1, 0), (1, 0)),
             at((-1, -1), (-1, 1), (1, -1), (1, 1)), at((0, -2), (0, 2)), at((-2, 0), (2, 0)))
    return sum(weight * kind for weight, kind in zip(weights, kinds)) / 8


def demosaiced(mosaic, method):
    sums = {"here": mosaic, **{name: weighted(mosaic, weights)
                               for name, weights in WEIGHTS[method].items()}}
    result = numpy.empty((*mosaic.shape, 3))
    for (y, x), names in PATTERNS.items():
        for colour, name in enumerate(names):
            result[y::2, x::2, colour] = sums[name][y::2, x::2]
    return numpy.clip(numpy.rint(result), 0, 255)


def psnr(picture, truth):
    return float(10 * numpy.log10(255 ** 2 / numpy.mean((picture - truth) ** 2)))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import skimage  # pylint: disable=import-outside-toplevel
    import skimage.io  # pylint: disable=import-outside-toplevel
    lines = []
    for name in PHOTOGRAPHS:
        path = pathlib.Path(skimage.__file__).parent / "data" / f"{name}.png"
        truth = skimage.io.imread(path)[..., :3].astype(float)
        mosaic = mosaic_of(truth)
        quality = {f"{method}_psnr": psnr(demosaiced(mosaic, method), truth) for method in WEIGHTS}
        lines.append({"row": 8, "group": "photographs", "x": 0, "technique": name, "state": "ok",
                      "turns_ms": [], "dispatches": 0, **quality})
        print(f"{name}: " + ", ".join(f"{key[:-5]} {value:.2f} dB"
                                      for key, value in quality.items()))
    front_end.append(sys.argv[1], lines)


if __name__ == "__main__":
    main()
