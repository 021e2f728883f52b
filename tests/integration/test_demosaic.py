"""Compares the colours that the daemon computes from mosaics with means of the nearest samples."""

import numpy as np
import pytest

from client import Reader
from conftest import FAST_KERNELS

WIDTH, HEIGHT = 96, 64
MOSAICS = ("SRGGB8", "SGRBG8", "SGBRG8", "SBGGR8")


def samples():
    """Noise, and so every difference between neighbours; half of it is weak."""
    random = np.random.default_rng(2)
    picture = random.integers(0, 256, (HEIGHT, WIDTH))
    picture[:, WIDTH // 2:] = 120 + picture[:, WIDTH // 2:] // 16
    return picture.astype(np.uint8)


def demosaiced(daemon_start, tmp_path, mosaic):
    """Returns the blue, green and red of a frame that the daemon makes of the samples."""
    recording = tmp_path / "recording.raw"
    recording.write_bytes(samples().tobytes())
    daemon = daemon_start("--set", f"camera.format={mosaic}", "--set", "camera.loop=true",
                          *FAST_KERNELS, source=f"file:{recording}", size=f"{WIDTH}x{HEIGHT}",
                          fps="30")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        frame = reader.next()
    return np.frombuffer(frame.planes[0], np.uint8).reshape(HEIGHT, WIDTH, 4)[..., :3].astype(int)


def means(mosaic):
    """The same as real numbers. Beyond the edges the mosaic is mirrored."""
    order = mosaic[1:5]  # of the colours in the first two samples of the first two rows
    total, count = np.zeros((2, HEIGHT, WIDTH, 3))
    padded = np.pad(samples().astype(float), 1, "reflect")
    y, x = np.mgrid[-1:HEIGHT + 1, -1:WIDTH + 1]
    colour = np.array(["BGR".index(each) for each in order])[y % 2 * 2 + x % 2]
    # Of the nearest samples of a colour, those beside a pixel come before those at its corners.
    for steps in ([(0, 0)], [(-1, 0), (1, 0), (0, -1), (0, 1)],
                  [(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        missing = count == 0
        for down, right in steps:
            part = np.s_[1 + down:1 + down + HEIGHT, 1 + right:1 + right + WIDTH]
            found = missing & (colour[part][..., None] == np.arange(3))
            total += found * padded[part][..., None]
            count += found
    return total / count


@pytest.mark.parametrize("mosaic", MOSAICS)
def test_colours_are_means_of_the_nearest_samples(start, tmp_path, mosaic):
    off = np.abs(demosaiced(start, tmp_path, mosaic) - means(mosaic))
    print(f"# figures: {mosaic} at most {off.max():.4f} off")
    assert off.max() < 0.51  # rounded once
