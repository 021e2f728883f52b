"""Images of filters that take longest to read, of those that are accepted, and chains with them.

Without FFTD_TEST_IMAGES=largest they have a quarter of the samples that are accepted. What should
not be done in the main thread still takes it several times its budget then.
"""

import os
import struct
import zlib

from conftest import SANITIZED

LARGEST_SIDE = 4096  # 16 megapixels
SIDE = (1024 if SANITIZED else
        LARGEST_SIDE if os.environ.get("FFTD_TEST_IMAGES") == "largest" else 2048)
KERNEL_SIDE = 255  # the largest image that is summed

# What a reader can ask for that takes longest: the name of a file, and a chain that needs it.
CHAINS = {
    "png": "mask:image=large.png",
    "pgm": "mask:image=large.pgm",
    "template": "convolve:image=template.pgm",
    "calibrations": "dark:image=dark.pgm | flat:image=flat.pgm",
}


def chunk(kind, data):
    return struct.pack(">I4s", len(data), kind) + data + struct.pack(">I", zlib.crc32(kind + data))


def png_in_colour(side):
    """Colours and alpha of 16 bits: these are converted, and take longer than grey ones."""
    packer = zlib.compressobj(1)
    row = b"\0" + bytes(range(8)) * side
    rows = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    head = struct.pack(">IIBBBBB", side, side, 16, 6, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def pgm(columns, rows, white=255):
    row = bytes(i % 251 for i in range(columns * (1 if white < 256 else 2)))
    return b"P5 %d %d %d\n" % (columns, rows, white) + row * rows


def write_images(directory, side=SIDE):
    """Writes them into a new directory, which FFTD_IMAGE_DIR may name."""
    directory.mkdir()
    (directory / "large.png").write_bytes(png_in_colour(side))
    (directory / "large.pgm").write_bytes(pgm(side, side, 65535))
    (directory / "template.pgm").write_bytes(pgm(KERNEL_SIDE, KERNEL_SIDE))
    for name in ("dark.pgm", "flat.pgm"):
        (directory / name).write_bytes(pgm(side, side // 2))
    return directory


def forget_images(directory):
    """The daemon reads a file again whose times have changed."""
    for path in directory.iterdir():
        os.utime(path)
