#!/usr/bin/python3
"""Writes docs/FILTERS.md from the filters that the daemon knows, and its pictures.

    filters.py BUILD      the folder of fftd and fftd-ctl; DEVICE chooses the OpenCL device

tests/integration/test_filters_doc.py compares the committed text with the running program.
"""

import json
import os
import pathlib
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

# For each kind the test scene and the chain of its pictures.
EXAMPLES = {
    "lowpass": ("zoneplate", "lowpass:cutoff=0.15"),
    "highpass": ("zoneplate", "highpass:cutoff=0.15,dc=1"),
    "bandpass": ("zoneplate", "bandpass:low=0.1,high=0.25,dc=1"),
    "bandstop": ("zoneplate", "bandstop:low=0.1,high=0.25"),
    "notch": ("moire", "notch:at=0.21/0.13,width=0.12"),
    "gaussian-blur": ("scene", "gaussian-blur:sigma=2"),
    "box-blur": ("zoneplate", "box-blur:radius=3"),
    "sharpen": ("scene", "sharpen:amount=2,sigma=1.5"),
    "highboost": ("scene", "highboost:base=0.7,boost=1.5,cutoff=0.1"),
    "laplacian": ("scene", "laplacian:dc=1"),
    "gradient": ("scene", "gradient:gain=3"),
    "directional": ("zoneplate", "directional:angle=45,width=40"),
    "convolve": ("scene", "convolve:kernel=-2 -1 0/-1 1 1/0 1 2"),
    "mask": ("moire", "mask:image=moire-mask.pgm"),
    "match": ("scene", "match:image=corner.txt"),
    "wiener": ("scene", "wiener:blur=disk,size=1.5"),
    "shift": ("scene", "shift:by=20/-10.5"),
    "gain": ("scene", "gain:dc=1.2,ac=0.5"),
    "homomorphic": ("scene", "homomorphic | highpass:cutoff=0.01,dc=1"),
    "linear-light": ("scene", "linear-light | gaussian-blur:sigma=3"),
    "vignette": ("scene", "vignette:a=0.8,b=0.8"),
    "auto-notch": ("moire", "auto-notch"),
    "deflicker": ("scene", "deflicker"),
}
NOTES = {
    "deflicker": "The light of the scene is steady, so that nothing changes.",
    "auto-notch": "After some frames it has found the three waves.",
    "mask": "The image is white with two black dots, where the spectrum of the scene has two of "
            "its peaks. "
            "Paint both of a pair: a dot that only one of them has is half as strong. "
            "`fftd-ctl snapshot spectrum` draws such a plane.",
    "match": "The template is the upper left corner of something bright. A perfect match is twice "
             "as bright as the standard deviation of the picture under the template; the contrast "
             "of the template itself does not matter. What resembles it less is darker, and its "
             "negative is black.",
    "wiener": "The scene is sharp already, so the filter overdoes it; a blurred one becomes sharp.",
    "homomorphic": "Broad differences in brightness shrink; those between neighbouring surfaces "
                   "stay.",
    "linear-light": "Light areas spread more than without the curve, as they do out of focus.",
    "vignette": "The scene has no dark corners, so that they become too bright.",
}
SIZES = {"zoneplate": "200x200"}  # square: 0.5 cycles per pixel at the middle of each edge
SIZE = "256x192"
ADAPTING = {"auto-notch": "320x240"}  # sizes in which they find something

INTRODUCTION = """\
<!-- `make docs-filters` writes this file from the program; do not edit it. -->
# Filters

A chain is a list of stages, `KIND:PARAMETER=VALUE,... | KIND:...`. Its response H is the product of
the responses of its stages. Frequencies are in cycles per pixel, from -0.5 to 0.5: fx to the right
and fy downwards. f is the distance from zero, f^2 = fx^2 + fy^2. `fftd-ctl filter kinds` prints
formulas and parameters, and `fftd-ctl filter plot` draws the response of a chain.

Images are files of a directory that fftd(8) names: grey PGM (P2, P5), PFM (Pf) or rows of numbers.
Chains contain their names only. Image editors and netpbm convert other files.

Kinds with a cut-off use one of two functions of a ratio d, in one of three shapes. At d = 1 half of
the power is left in each of them:

| shape | pass(d) | stop(d) |
| --- | --- | --- |
| ideal | 1 if \\|d\\| <= 1, else 0 | 0 if \\|d\\| <= 1, else 1 |
| butterworth | 1 / sqrt(1 + d^(2 order)) | 1 / sqrt(1 + d^(-2 order)) |
| gaussian | 2^(-d^2 / 2) | 1 - (1 - sqrt(1/2))^(d^2) |

Two kinds, `homomorphic` and `linear-light`, have no response of their own but a curve c, which
rises and maps 0 .. max onto 0 .. max, where max is the largest sample: 255 for 8 bits. The whole
chain, wherever in it the stage is, filters c(s) instead of the samples s, and the result goes
through the inverse of c. Results beyond 0 .. max are cut off first. Of RGB and mosaics, luma takes
this way and its change is added to the colours; with `engine.planes = "all"` each colour takes it.
Chroma of YUV is filtered without the curve. A chain has one curve at most. A change between chains
with different curves needs another engine and comes into use at once, without a fade. The line near
black that `gamma` has keeps rounding errors small there. For `linear-light`, sample 0
is black and max is white, also for video whose black is 16 and whose white is 235. In half
precision `linear-light` is less exact near black.

Some kinds correct each captured sample before the filter, wherever they are in the chain. Their H
is 1; the formula has what they do to a sample of pixel (x, y). All offsets are subtracted before
any gain is applied. They correct luma, or each colour of RGB and of a mosaic, which is corrected
before it is demosaiced; chroma stays as it is. A fade takes a new correction at once.

`auto-notch` has H = 1 as well. A thread looks at some of the captured frames, taking at most a
third of a processor, and finds waves that have the same frequency and amplitude all over the
picture and do not move with it, as the camera's electronics add them. Their phase may advance
from frame to frame. They are subtracted from captured samples, wherever in the chain the stage
is, and from the first frame of a fade on. Of RGB and mosaics, luma is corrected and its change
is added to the colours; with `engine.planes = "all"` each colour is. `fftd-ctl filter show`
lists what was found. Other stages and `freeze` may change without a new search; another source,
size, `threshold` or `waves` begins one. Both sides of a frame need at least 96 pixels, and
waves with fewer than about three periods in a quarter of the smaller side are taken for the
picture. Regular texture that fills the whole picture, as brick walls and blinds, can look like
such waves: one in seven clips of it was changed. `threshold` and `freeze` help then. A fixed
pattern that `vignette` and its like correct is not known to the search, so a wave is removed
less well where their gain is not 1.

`deflicker` has H = 1, too, and works in the same way. It follows the means of rows along the
motion of the scene, and fits light of one frequency, with two harmonics, that a rolling shutter
has exposed row by row. Each row is multiplied by one factor, 0.5 to 2; the mean brightness over
a cycle of the light is kept. Nothing is corrected in the first half second, nor while the scene
moves otherwise than as a whole. Bands that stand still before a scene that stands still, as 100
Hz at exactly 25 or 50 frames a second, cannot be told from the scene. Waves that `auto-notch`
finds are subtracted first. Samples count from 0 as black, so video whose black is 16 is
corrected less exactly in dark parts.

Each kind has one example: a test scene before and after the filter, then the magnitude of H over
the plane of frequencies, with its mean and range over all angles. In the scene `zoneplate` the
frequency grows with the distance from the centre, so that it shows the response, too.
"""


# ---- the text ----

def table_row(*cells):
    return f"| {' | '.join(cells)} |"


def section(kind):
    """One kind, as ListFilters describes it."""
    name = kind["name"]
    if name not in EXAMPLES:
        raise KeyError(f"{name}: no example; add one to EXAMPLES in tests/demo/filters.py")
    scene, chain = EXAMPLES[name]
    rows = [table_row("`" + each["name"] + "`", each["type"], each["expected"], each["unit"],
                      "required" if each["required"] else each["default"], each["summary"])
            for each in kind["parameters"]]
    return "\n".join([
        f"\n## {name}\n", kind["summary"][0].upper() + kind["summary"][1:] + ".\n",
        f"    {kind['formula']}\n",
        *([table_row("parameter", "type", "values", "unit", "default", "meaning"),
           table_row(*6 * ["---"]), *rows] if rows else ["It has no parameters."]),
        f"\nExample: `{chain}` with the scene `{scene}`. {NOTES.get(name, '')}".rstrip() + "\n",
        f"![The scene before and after the filter](filters/{name}-effect.png)\n",
        f"![The response](filters/{name}-response.png)\n"])


def text(kinds):
    return INTRODUCTION + "".join(map(section, kinds))


# ---- the pictures ----

class Daemon:
    """`with Daemon(build, directory, scene, chain) as ctl:` ctl(operand...) runs fftd-ctl."""

    def __init__(self, build, directory, scene, chain):
        self.place = ["--runtime-dir", directory]
        self.ctl = build / "fftd-ctl"
        self.command = [build / "fftd", "--quiet", *self.place, "--device",
                        os.environ.get("DEVICE", "auto"), "--source", f"pattern:{scene}", "--size",
                        ADAPTING.get(chain, SIZES.get(scene, SIZE)), "--fps", "10",
                        "--filter", chain, "--set", "camera.format=GREY", "--set",
                        "engine.technique=staged"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command)
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
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for name, (scene, chain) in EXAMPLES.items():
            with Daemon(build, directory, scene, chain) as ctl:
                if chain in ADAPTING:
                    wait_for_waves(ctl)
                effect = ctl("snapshot", "side-by-side", "-o", "-")
                (PICTURES / f"{name}-effect.png").write_bytes(in_grey(effect))
                ctl("filter", "plot", PICTURES / f"{name}-response.png")
                kinds = json.loads(ctl("--json", "filter", "kinds"))
    TEXT.write_text(text(kinds))


if __name__ == "__main__":
    main()
