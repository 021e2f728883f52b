"""Compares the colours that the daemon computes from mosaics with a model in double precision, and
how near they come to a picture whose colours are known."""

import numpy as np
import pytest

from client import Reader
from conftest import FAST_KERNELS

WIDTH, HEIGHT = 96, 64
MOSAICS = ("SRGGB8", "SGRBG10", "SGBRG12", "SBGGR16")

# Sixteenths of the samples around a pixel, for a colour that is nearest to the left and right, on
# all four sides, or at the corners; the first table turned is for one that is above and below.
BILINEAR = (
    ((0, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 8, 0, 8, 0), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0)),
    ((0, 0, 0, 0, 0), (0, 0, 4, 0, 0), (0, 4, 0, 4, 0), (0, 0, 4, 0, 0), (0, 0, 0, 0, 0)),
    ((0, 0, 0, 0, 0), (0, 4, 0, 4, 0), (0, 0, 0, 0, 0), (0, 4, 0, 4, 0), (0, 0, 0, 0, 0)))
# Malvar, He and Cutler (2004), figure 2.
GRADIENTS = (
    ((0, 0, 1, 0, 0), (0, -2, 0, -2, 0), (-2, 8, 10, 8, -2), (0, -2, 0, -2, 0), (0, 0, 1, 0, 0)),
    ((0, 0, -2, 0, 0), (0, 0, 4, 0, 0), (-2, 4, 8, 4, -2), (0, 0, 4, 0, 0), (0, 0, -2, 0, 0)),
    ((0, 0, -3, 0, 0), (0, 4, 0, 4, 0), (-3, 0, 12, 0, -3), (0, 4, 0, 4, 0), (0, 0, -3, 0, 0)))
METHODS = {"bilinear": BILINEAR, "gradients": GRADIENTS}


def samples(bits=8):
    """Noise, and so every difference between neighbours; half of it is weak."""
    random = np.random.default_rng(2)
    picture = random.integers(0, 1 << bits, (HEIGHT, WIDTH))
    picture[:, WIDTH // 2:] = (120 << bits - 8) + picture[:, WIDTH // 2:] // 16
    return picture.astype(np.uint8 if bits == 8 else "<u2")


def zone_plate(height=192, width=256):
    """Rings up to half a cycle per pixel, in colours that change slowly: blue, green, red."""
    y, x = np.mgrid[:height, :width]
    rings = np.cos(np.pi * ((x - width / 2) ** 2 / width + (y - height / 2) ** 2 / height) / 2)
    tint = np.stack([0.6 + 0.4 * x / width, np.ones(x.shape), 1 - 0.4 * y / height], axis=-1)
    return 127.5 + 110 * rings[..., None] * tint


def mosaic_of(picture, name):
    """The samples of a sensor that sees this picture, 0 .. 255."""
    bits = int(name[5:])
    y, x = np.mgrid[:picture.shape[0], :picture.shape[1]]
    colour = np.array(["BGR".index(each) for each in name[1:5]])[y % 2 * 2 + x % 2]
    mosaic = np.take_along_axis(picture, colour[..., None], axis=-1)[..., 0]
    return np.rint(mosaic * ((1 << bits) - 1) / 255).astype(np.uint8 if bits == 8 else "<u2")


def demosaiced(daemon_start, tmp_path, name, method, mosaic):
    """Returns the blue, green and red of a frame that the daemon makes of the samples. The name is
    that of their format."""
    recording = tmp_path / f"{name}-{method}.raw"
    recording.write_bytes(mosaic.tobytes())
    height, width = mosaic.shape
    daemon = daemon_start("--set", f"camera.format={name}", "--set", "camera.loop=true",
                          "--set", f"engine.demosaic={method}", *FAST_KERNELS,
                          source=f"file:{recording}", size=f"{width}x{height}", fps="30")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        frame = reader.next()
    daemon.stop()
    return np.frombuffer(frame.planes[0], np.uint8).reshape(height, width, 4)[..., :3].astype(int)


def model(name, method, mosaic):
    """The same as real numbers, limited to 0 .. 255. Beyond the edges the mosaic is mirrored."""
    beside, sides, corners = (np.array(table) / 16 for table in METHODS[method])
    wide = np.pad(mosaic.astype(float), 2, "reflect")
    height, width = mosaic.shape

    def weighted(table):
        return sum(table[v, u] * wide[v:v + height, u:u + width]
                   for v in range(5) for u in range(5))
    place = {"own": mosaic, "beside": weighted(beside), "above": weighted(beside.T),
             "sides": weighted(sides), "corners": weighted(corners)}
    letters = np.array(list(name[1:5])).reshape(2, 2)
    result = np.empty((height, width, 3))
    for y in range(2):
        for x in range(2):
            for index, colour in enumerate("BGR"):
                is_beside = letters[y, 1 - x] == colour
                is_above = letters[1 - y, x] == colour
                kind = ("own" if letters[y, x] == colour else
                        "sides" if is_beside and is_above else "beside" if is_beside else
                        "above" if is_above else "corners")
                result[y::2, x::2, index] = place[kind][y::2, x::2]
    return np.clip(result * 255 / ((1 << int(name[5:])) - 1), 0, 255)


def psnr(picture, truth):
    return 10 * np.log10(255 ** 2 / np.mean((picture - truth) ** 2))


@pytest.mark.parametrize("name, method", [
    *((name, "gradients") for name in MOSAICS), ("SGRBG8", "bilinear")])
def test_colours_are_those_of_the_model(start, tmp_path, name, method):
    mosaic = samples(int(name[5:]))
    off = np.abs(demosaiced(start, tmp_path, name, method, mosaic) - model(name, method, mosaic))
    print(f"# figures: {name} {method}: at most {off.max():.4f} off")
    assert off.max() < 0.51  # rounded once


def test_gradients_come_nearer_to_the_picture(start, tmp_path):
    truth = zone_plate()
    mosaic = mosaic_of(truth, "SGBRG8")
    quality = {method: psnr(demosaiced(start, tmp_path, "SGBRG8", method, mosaic), truth)
               for method in METHODS}
    print("# figures: zone plate: " +
          ", ".join(f"{method} {value:.2f} dB" for method, value in quality.items()))
    assert quality["gradients"] > quality["bilinear"] + 2
