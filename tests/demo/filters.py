#!/usr/bin/python3
"""Writes what docs/FILTERS.md says of the filters that the daemon knows, and its pictures.

    filters.py BUILD      the folder of fftd, fftd-ctl and tests/tools/kinds; DEVICE chooses the
                          OpenCL device

tests/integration/test_filters_doc.py compares the committed text with the running program.
"""

import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
from png import Png  # noqa: E402, pylint: disable=wrong-import-position

TEXT = ROOT / "docs/FILTERS.md"
PICTURES = ROOT / "docs/filters"
PATIENCE_S = 60  # the first build of the kernels takes seconds

SIZES = {"zoneplate": "200x200"}  # square: 0.5 cycles per pixel at the middle of each edge
SIZE = "256x192"
ADAPTING = {"auto-notch": "320x240"}  # sizes in which they find something

INTRODUCTION = """\
<!-- `make docs-filters` writes the introduction, and of each kind the summary, formula, table and
example. What follows the example and the pictures is written here. -->
# Filters

Each kind of filter has a section below; the first sections are about all of them.

## Chains

A filter is a chain of stages, `KIND:PARAMETER=VALUE,... | KIND:...`. Each stage multiplies the
spectrum of a frame by its response H, which its formula gives. The response of the chain is the
product of the responses of its stages. A chain has at most 32 stages.

`fftd-ctl filter kinds` prints formulas and parameters, and `fftd-ctl filter plot` draws the
response of a chain.

## Frequencies

Frequencies are in cycles per pixel, from -0.5 to 0.5: fx to the right and fy downwards. In formulas
f is the distance from zero, f^2 = fx^2 + fy^2.

## Shapes of a cut-off

Kinds with a cut-off use one of two functions of a ratio d, in one of three shapes. All of them
leave half of the power at d = 1:

| shape | pass(d) | stop(d) |
| --- | --- | --- |
| ideal | 1 if \\|d\\| <= 1, else 0 | 0 if \\|d\\| <= 1, else 1 |
| butterworth | 1 / sqrt(1 + d^(2 order)) | 1 / sqrt(1 + d^(-2 order)) |
| gaussian | 2^(-d^2 / 2) | 1 - (1 - sqrt(1/2))^(d^2) |

## How kinds combine

Some kinds change a frame before or after the spectrum is multiplied. Their H is 1, and their place
in the chain does not matter, because every frame takes these steps in this order:

| step | kinds | at most in a chain |
| --- | --- | --- |
| correct captured samples | `dark`, `flat`, `vignette` | any number |
| move pixels | `undistort`, `remap` | one of both, and none beside `auto-notch` or `deflicker` |
| move and turn the frame | `stabilise:model=similarity` | one; none beside these two, either |
| replace samples by medians | `median` | one |
| subtract waves, then even out rows | `auto-notch`, `deflicker` | one of each |
| reduce noise in blocks | `denoise` | one |
| join frames | `stack` | one; none beside `denoise`, `stabilise`, `auto-notch`, `deflicker` |
| apply a curve to the samples | `homomorphic`, `linear-light` | one of both |
| reduce the magnitudes of the spectrum | `soft-threshold` | one |
| multiply the spectrum by H | all others | any number |
| move the frame | `stabilise`, with its default `model=shift` | one |
| undo the curve | | |
| make samples black and white | `binarise` | one |

## Images

Some parameters name an image, a file in the directory that fftd(8) names: PNG, grey PGM (P2, P5),
PFM (Pf) or rows of numbers. A chain contains only the name. Colours of a PNG count as their
luminance, and transparent pixels as black. An image has at most 16777216 pixels. Image editors and
netpbm convert other files.

## Examples

Each kind has one example: a test scene before and after the filter, then the magnitude of H over
the plane of frequencies, with its mean and range over all angles. In the scene `zoneplate` the
frequency grows with the distance from the centre, so it also shows the response.
"""


# ---- the text ----

def read_docs(build):
    """The example of each kind, and what people have written into its section of the document: its
    scene, what the pictures show, and what follows them."""
    examples = json.loads(subprocess.run([build / "tests/tools/kinds"], check=True,
                                         stdout=subprocess.PIPE).stdout)
    docs = {name: {"example": example, "scene": "scene", "note": "", "details": ""}
            for name, example in examples.items()}
    for part in TEXT.read_text().split("\n## "):
        written = re.search(r"\nExample: `[^`]*` with the scene `(\w+)`\. ?(.*)\n\n!.*\n\n!.*\n",
                            part)
        name = part.partition("\n")[0]
        if written and name in docs:
            docs[name] |= {"scene": written[1], "note": written[2], "details": part[written.end():]}
    return docs


def table_row(*cells):
    return f"| {' | '.join(cells)} |"


def section(kind, docs):
    """One kind, as ListFilters describes it, with what people have written."""
    name = kind["name"]
    example = f"Example: `{docs['example']}` with the scene `{docs['scene']}`. {docs['note']}"
    rows = [table_row("`" + each["name"] + "`", each["type"], each["expected"], each["unit"],
                      "required" if each["required"] else each["default"], each["summary"])
            for each in kind["parameters"]]
    return "\n".join([
        f"\n## {name}\n", kind["summary"][0].upper() + kind["summary"][1:] + ".\n",
        f"    {kind['formula']}\n",
        *([table_row("parameter", "type", "values", "unit", "default", "meaning"),
           table_row(*6 * ["---"]), *rows] if rows else ["It has no parameters."]),
        f"\n{example.rstrip()}\n",
        f"![The scene before and after the filter](filters/{name}-effect.png)\n",
        f"![The response](filters/{name}-response.png)\n"]) + docs["details"]


def text(kinds, docs):
    return INTRODUCTION + "".join(section(kind, docs[kind["name"]]) for kind in kinds)


# ---- the pictures ----

def write_images(directory, width, height):
    """The images of the examples: those of the source tree, and recorded ones of a frame's size."""
    shutil.copytree(ROOT / "config/images", directory)
    recorded = {
        "dark": lambda x, y: 0.08 + 0.06 * math.sin(x * x % 37) + (0.5 if x * y % 997 == 5 else 0),
        "flat": lambda x, y: 0.7 - 0.4 * (1 - x / width) ** 2}
    for name, level in recorded.items():
        rows = [struct.pack(f"<{width}f", *(level(x, y) for x in range(width)))
                for y in range(height)]
        (directory / f"{name}.pfm").write_bytes(
            f"Pf\n{width} {height}\n-1\n".encode() + b"".join(reversed(rows)))
    (directory / "swirl.pfm").write_bytes(
        f"Pf\n{width} {2 * height}\n-1\n".encode() + b"".join(reversed(swirl(width, height))))


def swirl(width, height):
    """The rows of a table for `remap`: the middle is turned by a third of a turn, the edges not."""
    halves = [], []
    for y in range(height):
        places = []
        for x in range(width):
            u, v = x - (width - 1) / 2, y - (height - 1) / 2
            turn = 2 * math.pi / 3 * max(0, 1 - 2 * math.hypot(u, v) / height) ** 2
            places.append((u * math.cos(turn) - v * math.sin(turn) + (width - 1) / 2,
                           u * math.sin(turn) + v * math.cos(turn) + (height - 1) / 2))
        for half, numbers in zip(halves, zip(*places)):
            half.append(struct.pack(f"<{width}f", *numbers))
    return halves[0] + halves[1]


class Daemon:
    """`with Daemon(build, directory, scene, chain) as ctl:` ctl(operand...) runs fftd-ctl."""

    def __init__(self, build, directory, scene, chain):
        self.place = ["--runtime-dir", directory]
        size = ADAPTING.get(chain, SIZES.get(scene, SIZE))
        self.images = pathlib.Path(directory) / "images"
        write_images(self.images, *map(int, size.split("x")))
        self.ctl = build / "fftd-ctl"
        self.command = [build / "fftd", "--quiet", *self.place, "--device",
                        os.environ.get("DEVICE", "auto"), "--source", f"pattern:{scene}", "--size",
                        size, "--fps", "10",
                        "--filter", chain, "--set", "camera.format=GREY", "--set",
                        "engine.technique=staged"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command,
                                        env={**os.environ, "FFTD_IMAGE_DIR": str(self.images)})
        deadline = time.monotonic() + PATIENCE_S
        while self.run("snapshot", "after", "-o", "-").returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                sys.exit(f"fftd publishes no frame: {self.command}")
            time.sleep(0.1)
        return lambda *operands: self.run(*operands, check=True).stdout

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.images)

    def run(self, *operands, check=False):
        return subprocess.run([self.ctl, *self.place, *operands], check=check,
                              stdout=subprocess.PIPE, stderr=None if check else subprocess.DEVNULL)


def wait_for_waves(ctl):
    """Until they are removed from the frames that follow."""
    deadline = time.monotonic() + PATIENCE_S
    while not (waves := json.loads(ctl("--json", "filter", "show"))["Adaptation"]["waves"]) or \
            not all(wave["removed"] for wave in waves):
        if time.monotonic() > deadline:
            sys.exit("auto-notch finds nothing in its example")
        time.sleep(0.1)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def in_grey(picture):
    """The PNG of a picture whose channels are equal, at half the size."""
    png = Png(picture)
    rows = [row[::3] for row in png.rows]
    assert all(row[::3] == row[1::3] == row[2::3] for row in png.rows)
    # Each pixel as the difference from the one before it, or as it is.
    packed = min((zlib.compress(b"".join(rows), 9) for rows in (
        [b"\0" + row for row in rows],
        [b"\1" + bytes((a - b) & 255 for a, b in zip(row, b"\0" + row)) for row in rows])), key=len)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", png.width, png.height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", packed) + \
        chunk(b"IEND", b"")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    docs = read_docs(build)
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for name, each in docs.items():
            chain = each["example"]
            with Daemon(build, directory, each["scene"], chain) as ctl:
                if chain in ADAPTING:
                    wait_for_waves(ctl)
                effect = ctl("snapshot", "side-by-side", "-o", "-")
                (PICTURES / f"{name}-effect.png").write_bytes(in_grey(effect))
                ctl("filter", "plot", PICTURES / f"{name}-response.png")
                kinds = json.loads(ctl("--json", "filter", "kinds"))
    TEXT.write_text(text(kinds, docs))


if __name__ == "__main__":
    main()
