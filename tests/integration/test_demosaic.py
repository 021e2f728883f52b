"""Compares the colours that the daemon computes from mosaics with those of OpenCV."""

import numpy as np
import pytest

from client import Reader
from conftest import FAST_KERNELS

cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")

WIDTH, HEIGHT = 96, 64
# OpenCV names a mosaic after the second and third sample of its second row.
MOSAICS = {"SRGGB8": cv2.COLOR_BayerBG2BGR, "SGRBG8": cv2.COLOR_BayerGB2BGR,
           "SGBRG8": cv2.COLOR_BayerGR2BGR, "SBGGR8": cv2.COLOR_BayerRG2BGR}


def samples():
    """Noise, and so every difference between neighbours; half of it is weak."""
    random = np.random.default_rng(2)
    picture = random.integers(0, 256, (HEIGHT, WIDTH))
    picture[:, WIDTH // 2:] = 120 + picture[:, WIDTH // 2:] // 16
    return picture.astype(np.uint8)


@pytest.mark.parametrize("mosaic", MOSAICS)
def test_colours_are_those_of_opencv(start, tmp_path, mosaic):
    """Both take means of the nearest samples. OpenCV rounds halves up and fftd once, to even, after
    its own arithmetic. At the edges fftd mirrors the mosaic, and OpenCV repeats its second row."""
    recording = tmp_path / "recording.raw"
    recording.write_bytes(samples().tobytes())
    daemon = start("--set", f"camera.format={mosaic}", "--set", "camera.loop=true", *FAST_KERNELS,
                   source=f"file:{recording}", size=f"{WIDTH}x{HEIGHT}", fps="30")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        frame = reader.next()
    got = np.frombuffer(frame.planes[0], np.uint8).reshape(HEIGHT, WIDTH, 4)[..., :3]  # B, G, R, x
    wanted = cv2.cvtColor(samples(), MOSAICS[mosaic])
    off = np.abs(got.astype(int) - wanted)[1:-1, 1:-1]
    print(f"# figures: {mosaic} {100 * (off == 0).mean():.1f} % equal, at most {off.max()} off")
    assert off.max() <= 1 and (off == 0).mean() > 0.6
