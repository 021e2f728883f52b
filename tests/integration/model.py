"""The filter in double precision, from its definition: it shares no code with the daemon."""

import math
import re

import numpy

SIZE = WIDTH, HEIGHT = 160, 120
# The padding is the same for every filter, so that the engine is.
ARGUMENTS = ("--set", "camera.loop=true", "--set", "engine.border=mirror", "--set",
             "engine.margin=24")
RATE = 60  # frames a second


def write_scene(path, seed=12):
    """Writes a clip of one frame that is repeated: edges, a gradient and noise. Nothing is near the
    ends of the range, so that few results are clipped. Returns the frame."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    scene = 90 + 0.3 * x + 40 * ((x // 16 + y // 12) % 2)
    scene += numpy.random.default_rng(seed).uniform(-45, 45, scene.shape)
    frame = numpy.rint(scene).astype(numpy.uint8)
    path.write_bytes(b"YUV4MPEG2 W%d H%d F%d:1 Cmono\nFRAME\n" % (WIDTH, HEIGHT, RATE)
                     + frame.tobytes())
    return frame


def gaussian(f, sigma):
    """The transform of the samples of a Gaussian of the sum 1."""
    n = numpy.arange(1, math.ceil(9 * sigma) + 1)
    weight = numpy.exp(-(n / sigma) ** 2 / 2)
    return ((1 + 2 * numpy.tensordot(numpy.cos(2 * numpy.pi * f[..., None] * n), weight, 1))
            / (1 + 2 * weight.sum()))


class Model:
    """A picture, and what a blur and a gain make of it."""

    def __init__(self, picture, engine):
        """engine: the daemon's description, which has the padded size."""
        size = re.search(rf"{WIDTH}x{HEIGHT} in (\d+)x(\d+)", engine)
        padded_x, padded_y = int(size[1]), int(size[2])
        near_x, near_y = (padded_x - WIDTH) // 2, (padded_y - HEIGHT) // 2
        padded = numpy.pad(picture.astype(float),
                           ((near_y, padded_y - HEIGHT - near_y),
                            (near_x, padded_x - WIDTH - near_x)), mode="reflect")
        self.near = near_x, near_y
        self.spectrum = numpy.fft.fft2(padded)
        fx, fy = numpy.meshgrid(numpy.fft.fftfreq(padded_x), numpy.fft.fftfreq(padded_y))
        self.fx, self.fy = fx, fy
        self.shift = numpy.exp(-2j * numpy.pi * fx)  # by a pixel to the right

    def blur(self, sigma):
        """gaussian-blur:sigma=..."""
        return gaussian(self.fx, sigma) * gaussian(self.fy, sigma)

    def response(self, sigma, gain):
        """gaussian-blur:sigma=... | gain:dc=1,ac=..."""
        response = gain * self.blur(sigma)
        response[0, 0] = 1
        return response

    def filtered(self, response):
        """What a client should read, before it is rounded."""
        x, y = self.near
        result = numpy.fft.ifft2(self.spectrum * response).real[y:y + HEIGHT, x:x + WIDTH]
        return numpy.clip(result, 0, 255)


def chain(sigma, gain):
    return f"gaussian-blur:sigma={sigma} | gain:dc=1,ac={gain}"


def pixels(frame):
    return numpy.frombuffer(frame.planes[0], numpy.uint8).reshape(HEIGHT, WIDTH).astype(float)


def distance(a, b):
    return numpy.abs(a - b).max()


def sobel(picture):
    """Both parts of the gradient; samples outside the picture are those of its nearest pixel."""
    wide = numpy.pad(picture.astype(int), 1, mode="edge")
    smooth_y = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    smooth_x = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    return smooth_y[:, 2:] - smooth_y[:, :-2], smooth_x[2:] - smooth_x[:-2]


def edge_levels(picture):
    """The magnitude where neighbours across the edge have no greater one; otherwise 0."""
    gx, gy = sobel(picture)
    squared = gx ** 2 + gy ** 2
    wide = numpy.pad(squared, 1)
    eighth = numpy.rint(numpy.arctan2(gy, gx) / (numpy.pi / 4)).astype(int) % 4
    kept = numpy.zeros(squared.shape, bool)
    for number, (dx, dy) in enumerate([(1, 0), (1, 1), (0, 1), (1, -1)]):
        before = wide[1 - dy:, 1 - dx:][:squared.shape[0], :squared.shape[1]]
        after = wide[1 + dy:, 1 + dx:][:squared.shape[0], :squared.shape[1]]
        kept |= (eighth == number) & (squared > before) & (squared >= after)
    return numpy.where(kept, numpy.sqrt(squared / 20), 0)
