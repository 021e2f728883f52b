#!/usr/bin/python3
"""Draws the scenes that the cameras of test_converted.py show:
    scene.py DIRECTORY
leaves there, for each scene N, N.grey, its luma; N.blurred, that luma after FILTER with mirrored
borders, in double precision; and N.jpeg, as a webcam would send it."""

import pathlib
import sys

import numpy
from PIL import Image

WIDTH, HEIGHT = 320, 176  # libv4l2 decodes 4:2:2 of a height that is a multiple of 8
SCENES = 3
SIGMA = 2
FILTER = f"gaussian-blur:sigma={SIGMA}"


def draw(number):
    """Returns luma with slopes, an edge and fine stripes, and the two components of colour."""
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    luma = 60 + 25 * number + 60 * x / WIDTH + 20 * numpy.sin(2 * numpy.pi * (x / 8 + y / 40))
    luma[HEIGHT // 3:HEIGHT // 2, WIDTH // (2 + number):] += 40
    return luma.round().astype(numpy.uint8), [
        (128 + 60 * numpy.cos(2 * numpy.pi * axis / size)).astype(numpy.uint8)
        for axis, size in ((x, WIDTH), (y, HEIGHT))]


def blur(luma):
    """The filter's definition: its response at the frequencies of the mirrored picture."""
    for axis in (0, 1):
        inner = numpy.flip(luma, axis).take(range(1, luma.shape[axis] - 1), axis)
        whole = numpy.concatenate([luma, inner], axis)
        frequency = numpy.fft.rfftfreq(whole.shape[axis])
        response = numpy.exp(-2 * (numpy.pi * SIGMA * frequency) ** 2)
        shape = [-1, 1] if axis == 0 else [1, -1]
        luma = numpy.fft.irfft(numpy.fft.rfft(whole, axis=axis) * response.reshape(shape),
                               whole.shape[axis], axis).take(range(luma.shape[axis]), axis)
    return luma


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for number in range(SCENES):
        luma, colour = draw(number)
        (out / f"{number}.grey").write_bytes(luma.tobytes())
        (out / f"{number}.blurred").write_bytes(
            blur(luma.astype(float)).round().clip(0, 255).astype(numpy.uint8).tobytes())
        picture = Image.merge("YCbCr", [Image.fromarray(plane) for plane in (luma, *colour)])
        picture.save(out / f"{number}.jpeg", quality=90, subsampling="4:2:2")


if __name__ == "__main__":
    main()
