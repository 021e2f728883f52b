#!/usr/bin/python3
"""Writes docs/FILTERS.md from the filters that the daemon knows, and its pictures.

    filters.py BUILD      the folder of fftd and fftd-ctl; DEVICE chooses the OpenCL device

tests/integration/test_filters_doc.py compares the committed text with the running program.
"""

import json
import math
import os
import pathlib
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
    "dark": ("scene", "dark:image=dark.pfm"),
    "flat": ("scene", "flat:image=flat.pfm"),
    "vignette": ("scene", "vignette:a=0.8,b=0.8"),
    "undistort": ("scene", "undistort:fx=200,fy=200,cx=127.5,cy=95.5,k1=0.25"),
    "auto-notch": ("moire", "auto-notch"),
    "deflicker": ("scene", "deflicker"),
    "denoise": ("scene", "denoise:sigma=12"),
    "soft-threshold": ("scene", "soft-threshold:sigma=6"),
    "stabilise": ("scene", "stabilise"),
}
NOTES = {
    "deflicker": "The light of the scene is steady, so that nothing changes.",
    "denoise": "The scene has no noise; the filter takes its faintest texture for some.",
    "soft-threshold": "The scene has no noise; the filter takes its faintest waves for some.",
    "stabilise": "The camera of the scene does not shake, so that nothing changes.",
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
    "dark": "The frame was recorded with a camera that adds a pattern to its columns. The scene "
            "has no such pattern, and gets the negative of it.",
    "flat": "The frame was recorded with a lens that darkens the left side. The scene is evenly "
            "lit, so that it becomes too bright there.",
    "vignette": "The scene has no dark corners, so that they become too bright.",
    "undistort": "The straight lines of the scene show what is done to those that a lens has bent.",
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

Images are files of a directory that fftd(8) names: PNG, grey PGM (P2, P5), PFM (Pf) or rows of
numbers. Colours of a PNG count as their luminance, and what is transparent as black.
Chains contain their names only. Image editors and netpbm convert other files. They have at most
16777216 pixels.

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

`undistort` has H = 1 and moves the corrected samples before the filter, wherever it is in the
chain: a pixel of the result is interpolated between the four captured ones around the place that
its formula gives (bilinear), which is rounded to a 32nd of a sample as OpenCV does. Places beyond
the captured frame take the pixel at its edge. Chroma moves with luma, so formats of YUV need
`engine.planes = "all"` or "luma-only"; RGB and mosaics, which are demosaiced first, do not. The
parameters are
the numbers of OpenCV's camera matrix and of its distortion coefficients, in this order: k1, k2,
p1, p2, k3, k4, k5, k6. `client/examples/undistort.py FILE` writes the stage for a calibration file
of OpenCV. With `size` given, frames of another size are taken to be the same picture at another
scale, and those of other proportions are refused. A fade takes new places at once.
A chain has one `undistort` at most, and none beside `auto-notch` or `deflicker`, which find
rows and waves where they are captured.

`dark` and `flat` correct what differs from pixel to pixel. `fftd-ctl calibrate` records their
images: the mean of frames before the filter, with the lens covered and of an evenly lit surface.
All colours of a pixel of RGB share an entry of the image; a pixel of a mosaic has one colour, each
colour has a mean of its own, and its neighbours are those of the same colour. `flat` alone takes
black for 0. What `dark` subtracts is also subtracted from the image of `flat`, so black is 0
afterwards, or `pedestal`, which no gain changes. An image of another size than the frames is
refused. `fftd-ctl calibrate stripes` needs no dark frame: it finds what the camera adds to columns
and rows from frames of a scene that moves, and prints the `dark` stage that subtracts it.

`auto-notch` has H = 1 as well. A thread looks at some of the captured frames, taking at most a
third of a processor, and finds waves that have the same frequency and amplitude all over the
picture and do not move with it, as the camera's electronics add them. Their phase may advance
from frame to frame. They are subtracted from captured samples, wherever in the chain the stage
is, and from the first frame of a fade on. Of RGB and mosaics, luma is corrected and its change
is added to the colours; with `engine.planes = "all"` each colour is. `fftd-ctl filter show`
lists what was found. Other stages and `freeze` may change without a new search; another source,
size, `threshold` or `waves` begins one. Both sides of a frame need at least 96 pixels, and
waves with fewer than about three periods in a quarter of the smaller side are taken for the
picture. Regular texture, as brick walls and blinds, is told from such waves by its many lines, each
a multiple or a sum of others; waves that are related in this way are left. A pure sine that fills
the whole picture, as corrugated sheet may, looks like interference and is removed: `threshold` and
`freeze` help then. A fixed pattern that `vignette` and its like correct is not known to the search,
so a wave is removed less well where their gain is not 1.

A wave whose phase jumps at random from frame to frame, or whose frequency wavers by up to about a
seventh of 1 / width, cannot be subtracted. When its predictions have failed for most of a second,
`auto-notch` removes it with a notch, 0.02 cycles/pixel wide or as much more as its frequency
wavers, as long as it lasts or until it can be predicted again. The chain itself does not change,
but filters the whole frame, colours included; the picture loses what it has at these frequencies,
and the edges of the frame are cleaned a little less well than by a `notch` of the chain, for which
the frame is padded. The notches change at most once a second, all at the same frame, and use the
stages that the chain leaves free, of 32 in all. They count among `waves`.

`deflicker` has H = 1, too, and works in the same way. It follows the means of rows along the
motion of the scene, and fits light of one frequency, with two harmonics, that a rolling shutter
has exposed row by row. Each row is multiplied by one factor, 0.5 to 2; the mean brightness over
a cycle of the light is kept. Nothing is corrected in the first half second, nor while the scene
moves otherwise than as a whole. Bands that stand still before a scene that stands still, as 100
Hz at exactly 25 or 50 frames a second, cannot be told from the scene. Waves that `auto-notch`
finds are subtracted first. Samples count from 0 as black, so video whose black is 16 is
corrected less exactly in dark parts.

`denoise` has H = 1 and works on captured samples, too: after `vignette`, `undistort` and their
like, before everything else, wherever in the chain it is. Blocks beyond the picture's edges see
it mirrored, whatever `engine.border` is. The result stays in floats until the chain has filtered
it. Of RGB and mosaics, the noise of luma is reduced and its change is added to the colours; with
`engine.planes = "all"` each plane or colour is denoised with the same sigma. A mosaic is demosaiced
first, which spreads the noise of a sample over its neighbours. `shot` is for sensors in light: the
variance of the noise is sigma^2 + shot * m at level m, and of chroma as at level 128. Without
`sigma` both are estimated from flat places of each frame and each plane, so that the filter suits
any exposure. What fills the whole picture with fine texture counts as noise then, and noise that is
correlated between neighbours, as after demosaicing or JPEG, is underestimated. One pass takes about
two thirds of the time of two. A fade takes another `sigma`, `shot` or `strength` at once. Another
`block`, `hop`, `passes` or `temporal`, and estimating, needs another engine and comes into use
without a fade. `temporal` joins the blocks of one or two past frames to the present one, each as
far as it differs from it by no more than noise at low frequencies, and each of its coefficients
likewise. So what stands still loses more noise, and what moves is reduced as if there were no past.
The first frame of a source, and the first one after a change of what corrects samples, has none.
The strength of the noise should be known well: where it is taken for too weak, still scenes do not
match, and where it is taken for too strong, faint things that move leave a trace.

`soft-threshold` has H = 1 and reduces the magnitudes of the spectrum of the whole frame, where it
is multiplied by the response, so that it takes no pass and almost no time. It leaves more noise
than `denoise`, most of all in pictures with edges, whose spectrum is spread over the frame: some of
each edge is lost, and waves of the whole frame's size appear. A larger
`strength` suits smoother pictures. It works after the curve of `homomorphic` and `linear-light`,
and on each plane that is filtered.

`stabilise` has H = 1, and each frame is filtered with H times a phase ramp of its own, which moves
the whole picture by any part of a pixel. The shift since the frame before is measured by phase
correlation in a reduced picture of at most 255 rows, or columns if there are fewer. The sum of the
shifts is the path of the camera; a filter with two states, place and speed, makes a smooth path of
it, which follows a steady pan without a lag. Motion much slower than the time constant is kept. A
frame is moved from the path to the smooth one, and beyond the captured frame appears what
`engine.border` says; its margin is at least the limit. After a cut, while the picture rotates, and
where there is nothing to see, the distance between both paths shrinks to 0, without a jump. All
colours have to be moved, so formats other than GREY, Y10, Y12 and Y16 need `engine.planes = "all"`,
or "luma-only", with which there are none. The measurement is made before the frame is filtered,
which takes some milliseconds. Rotation and
the wobble of a rolling shutter are not removed. The response of a chain with it is complex.

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
