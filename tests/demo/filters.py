#!/usr/bin/python3
"""Writes what docs/FILTERS.md says of the filters that the daemon knows, its pictures, and the
small ones of the page of fftd-view.

    filters.py BUILD [KIND...]   the folder of fftd and fftd-ctl; with KINDs, only their pictures
                                 are drawn; DEVICE chooses the OpenCL device

tests/integration/test_filters_doc.py compares the committed text with the running program.
"""

import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "client/python")]
from png import Png  # noqa: E402, pylint: disable=wrong-import-position

TEXT = ROOT / "docs/FILTERS.md"
PICTURES = ROOT / "docs/filters"
PAGE = ROOT / "client/fftd-view/page/kinds"
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
frequency grows with the distance from the centre, so it also shows the response. The scenes
`striped`, `dim`, `vignetted`, `noisy`, `flickering`, `shaken` and `defocused` are recordings of
`scene` with a fault, which tests/demo/filters.py makes.
"""


# ---- the text ----

def read_kinds(build):
    return json.loads(subprocess.run([build / "fftd-ctl", "--json", "filter", "kinds"], check=True,
                                     stdout=subprocess.PIPE).stdout)


def read_docs(kinds):
    """What people have written into the section of each kind: its scene, what the pictures show,
    and what follows them."""
    docs = {kind["name"]: {"scene": "scene", "note": "", "details": ""} for kind in kinds}
    for part in TEXT.read_text().split("\n## "):
        written = re.search(r"\nExample: `[^`]*` with the scene `(\w+)`\. ?(.*)\n\n!.*\n\n!.*\n",
                            part)
        name = part.partition("\n")[0]
        if written and name in docs:
            docs[name] = {"scene": written[1], "note": written[2], "details": part[written.end():]}
    return docs


def table_row(*cells):
    return f"| {' | '.join(cells)} |"


def section(kind, docs):
    """One kind, as ListFilters describes it, with what people have written."""
    name = kind["name"]
    example = f"Example: `{kind['example']}` with the scene `{docs['scene']}`. {docs['note']}"
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


def groups(kinds):
    """What there is, by what it is for."""
    rows = {}
    for kind in kinds:
        rows.setdefault(kind["group"], []).append(f"[{kind['name']}](#{kind['name']})")
    lines = [table_row(group, ", ".join(names)) for group, names in rows.items()]
    return "\n".join(["\n## All kinds\n", table_row("for", "kinds"), table_row("---", "---"),
                      *lines, ""])


def text(kinds, docs):
    sections = "".join(section(kind, docs[kind["name"]]) for kind in kinds)
    return INTRODUCTION + groups(kinds) + sections


# ---- the pictures ----

def dark_level(x, y, _):
    """What the sensor adds, as a part of white."""
    return 0.08 + 0.06 * math.sin(x * x % 37) + (0.5 if x * y % 997 == 5 else 0)


def flat_level(x, _, width):
    """What the lens lets through."""
    return 0.7 - 0.4 * (1 - x / width) ** 2


def write_images(directory, width, height):
    """The images of the examples: those of the source tree, and recorded ones of a frame's size."""
    shutil.copytree(ROOT / "config/images", directory)
    for name, level in (("dark", dark_level), ("flat", flat_level)):
        rows = [struct.pack(f"<{width}f", *(level(x, y, width) for x in range(width)))
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


# ---- scenes with a fault ----

def vignetted(level, x, y, width, height):
    r = math.hypot(2 * x - width + 1, 2 * y - height + 1) / math.hypot(width - 1, height - 1)
    return level / (1 + 0.8 * r ** 2 + 0.8 * r ** 4)


# What each fault makes of a sample of frame `number`; size is (width, height).
FAULTS = {
    "striped": lambda level, x, y, size, number: level + 255 * dark_level(x, y, size[0]),
    "dim": lambda level, x, y, size, number: level * flat_level(x, y, size[0]) / 0.7,
    "vignetted": lambda level, x, y, size, number: vignetted(level, x, y, *size),
    "noisy": lambda level, x, y, size, number: level + random.gauss(0, 12),
    "flickering": lambda level, x, y, size, number:
        level * (1 + 0.25 * math.cos(2 * math.pi * 100 * (number + y / size[1] / 3) / RATE)),
    "shaken": lambda level, x, y, size, number: level,
    "defocused": lambda level, x, y, size, number: level + random.gauss(0, 1)}
# In the other scenes all frames are equal, so a filter finds the same in whichever frames it gets.
CHANGING = ("noisy", "flickering", "shaken")
RATE = 12    # frames a second
LENGTH = 60  # frames, after which 100 Hz and the shake are where they began; recorded twice


def shake_of(name, number):
    """Pixels, to the right and downwards."""
    turn = 2 * math.pi * number / LENGTH
    return (round(5 * math.sin(9 * turn)), round(7 * math.cos(8 * turn))) if name == "shaken" \
        else (0, 0)


def defocused(rows):
    """Each sample is the mean of a disk of 1.5 pixels' radius, in steps of a quarter of one."""
    weights = {}
    for i in range(-6, 7):
        for k in range(-6, 7):
            if i * i + k * k <= 36:
                at = round(i / 4), round(k / 4)
                weights[at] = weights.get(at, 0) + 1
    height, width, total = len(rows), len(rows[0]), sum(weights.values())
    return [[sum(weight * rows[min(height - 1, max(0, y + down))][min(width - 1, max(0, x + right))]
                 for (right, down), weight in weights.items()) / total for x in range(width)]
            for y in range(height)]


def frame_of(name, rows, number):
    """Returns the samples of a picture, with the fault that the scene has, if any."""
    height, width = len(rows), len(rows[0])
    right, down = shake_of(name, number)
    fault = FAULTS.get(name, lambda level, *_: level)
    return bytes(min(255, max(0, round(fault(rows[min(height - 1, max(0, y - down))][
        min(width - 1, max(0, x - right))], x, y, (width, height), number))))
                 for y in range(height) for x in range(width))


def write_recording(path, name, rows):
    """Writes a Y4M file of a grey picture with the fault that the scene has."""
    rows = defocused(rows) if name == "defocused" else rows
    random.seed(1)
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{len(rows[0])} H{len(rows)} F{RATE}:1 Ip A1:1 Cmono "
                   "XCOLORRANGE=FULL\n".encode())
        frames = [b"FRAME\n" + frame_of(name, rows, number)
                  for number in range(LENGTH if name in CHANGING else 1)]
        file.write(b"".join(frames * (2 * LENGTH // len(frames))))


class Daemon:
    """`with Daemon(build, directory, *options) as ctl:` ctl(operand...) runs fftd-ctl."""

    def __init__(self, build, directory, *options):
        self.place = ["--runtime-dir", directory]
        self.ctl = build / "fftd-ctl"
        self.command = [build / "fftd", "--quiet", *self.place, *options, *settings()]
        self.env = environment(directory)

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.env)
        deadline = time.monotonic() + PATIENCE_S
        while self.run("status").returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                sys.exit(f"fftd does not answer: {self.command}")
            time.sleep(0.1)
        return lambda *operands: self.run(*operands, check=True).stdout

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def run(self, *operands, check=False):
        return subprocess.run([self.ctl, *self.place, *operands], check=check,
                              stdout=subprocess.PIPE, stderr=None if check else subprocess.DEVNULL)


def environment(directory):
    return {**os.environ, "FFTD_IMAGE_DIR": f"{directory}/images"}


def settings():
    """Returns the options of all daemons here. The technique is fixed, because the fastest one may
    differ from run to run."""
    return ["--set", f"engine.device={os.environ.get('DEVICE', 'auto')}",
            "--set", "engine.technique=staged"]


def first_frame(build, directory, scene, size):
    """Returns the rows of a test scene's first frame. The source waits for this reader, so the
    frame is always the same; in a snapshot, the object that moves over the scene could be
    anywhere."""
    os.environ.setdefault("LIBFFTD", str(build / "libfftd.so.0"))
    import fftd  # pylint: disable=import-outside-toplevel
    width, height = map(int, size.split("x"))
    with Daemon(build, directory, "--source", f"pattern:{scene}", "--size", size, "--fps", "max",
                "--filter", "none", "--set", "camera.format=GREY",
                "--set", "output.lossless=true"), fftd.Camera(directory, lossless=True) as camera:
        frame = next(camera.frames(every=True))
        assert frame.source_sequence == 0
        samples = frame.image.tobytes()
    return [samples[at:at + width] for at in range(0, width * height, width)]


def recorded(build, directory, scene, size):
    """Returns the path of a recording of a scene, which is made when it is first needed."""
    path = pathlib.Path(directory) / f"{scene}-{size}.y4m"
    if not path.exists():
        pattern = "scene" if scene in FAULTS else scene
        write_recording(path, scene, first_frame(build, directory, pattern, size))
    return path


def effect(build, directory, recording, kind):
    """Returns a picture of a recording's last frame, before and after the kind's example."""
    path = pathlib.Path(directory) / "effect.y4m"
    adapting = ["--two-pass"] if kind["name"] in ("deflicker", "wiener") else []
    subprocess.run([build / "fftd-ctl", "convert", recording, path, "--filter", kind["example"],
                    "--compare", *adapting, *settings()], check=True, env=environment(directory))
    header, _, frames = path.read_bytes().partition(b"\n")
    width, height = (int(re.search(rb" %s(\d+)" % name, header)[1]) for name in (b"W", b"H"))
    last = frames[-width * height:]
    rows = [last[at:at + width] for at in range(0, width * height, width)]
    return grey_png([row[:width // 2] + bytes(GAP) + row[width // 2:] for row in rows], width + GAP)


def wait_for(what, look):
    deadline = time.monotonic() + PATIENCE_S
    while not look():
        if time.monotonic() > deadline:
            sys.exit(f"{what} in its example")
        time.sleep(0.1)


def found(ctl):
    return json.loads(ctl("--json", "filter", "show"))["Adaptation"]


def settled_effect(ctl):
    """Returns a picture of a frame before and after auto-notch, once it has found all waves and no
    longer changes. `convert` would replace it by notches, which change the edges."""
    def is_settled():
        shots.append(Png(ctl("snapshot", "side-by-side", "-o", "-")))
        return len(shots) > 2 and shots[-1].rows == shots[-2].rows == shots[-3].rows
    shots = []
    wait_for("auto-notch finds nothing",
             lambda: (waves := found(ctl).get("waves")) and all(wave["removed"] for wave in waves))
    wait_for("auto-notch does not settle", is_settled)
    return grey_png([row[::3] for row in shots[-1].rows], shots[-1].width)


def draw(build, directory, kind, scene):
    name, chain = kind["name"], kind["example"]
    size = ADAPTING.get(chain, SIZES.get(scene, SIZE))
    recording = recorded(build, directory, scene, size)
    images = pathlib.Path(directory) / "images"
    write_images(images, *map(int, size.split("x")))
    with Daemon(build, directory, "--source", f"file:{recording}", "--set", "camera.loop=true",
                "--filter", chain) as ctl:
        if name == "wiener":
            wait_for("wiener finds no noise", lambda: found(ctl).get("noise", 0) > 0)
        ctl("filter", "plot", PICTURES / f"{name}-response.png")
        picture = settled_effect(ctl) if name == "auto-notch" else \
            effect(build, directory, recording, kind)
    (PICTURES / f"{name}-effect.png").write_bytes(picture)
    shutil.rmtree(images)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def grey_png(rows, width, bits=8):
    """A PNG of rows of packed samples, as it is smallest."""
    packed = min((zlib.compress(b"".join(each), 9) for each in (
        [b"\0" + row for row in rows],
        # Each byte as the difference from the one before it.
        [b"\1" + bytes((a - b) & 255 for a, b in zip(row, b"\0" + row)) for row in rows])), key=len)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", width, len(rows), bits, 0, 0, 0, 0)) + chunk(b"IDAT", packed) + \
        chunk(b"IEND", b"")


# ---- small pictures for the page of fftd-view ----

SIDE = 64  # pixels
GAP = 8    # between before and after
# Kinds whose response shows nothing, besides those whose H is 1.
NOT_PLOTTED = ("convolve", "gain", "mask", "match", "shift", "wiener")
# The upper left corner of the part of the scene that is shown. Of the others it is the square in
# the middle, reduced.
CORNERS = {"auto-notch": (0, 0), "dark": (48, 60), "denoise": (100, 60), "linear-light": (100, 60),
           "mask": (0, 0), "median": (0, 0), "soft-threshold": (100, 60), "stabilise": (48, 60),
           "stack": (100, 60), "wiener": (48, 60)}


def small_picture(kind):
    """The left half of the example before the filter, the right half after it, in 16 levels."""
    png = Png((PICTURES / f"{kind}-effect.png").read_bytes())
    width = (png.width - GAP) // 2
    at = CORNERS.get(kind)
    step = 1 if at else png.height // SIDE
    left, top = at or ((width - step * SIDE) // 2, (png.height - step * SIDE) // 2)
    rows = []
    for y in range(SIDE):
        levels = []
        for x in range(SIDE):
            start = left + step * x + (width + GAP if x >= SIDE // 2 else 0)
            block = [png.rows[top + step * y + k][start + i]
                     for k in range(step) for i in range(step)]
            levels.append(sum(block) * 15 // (255 * len(block)) if x != SIDE // 2 else 15)
        rows.append(bytes(16 * a + b for a, b in zip(levels[::2], levels[1::2])))
    return grey_png(rows, SIDE, bits=4)


def page_pictures(kinds):
    """The files of the page's small pictures: of kinds whose response shows nothing."""
    return {f"{kind['name']}.png": small_picture(kind["name"]) for kind in kinds
            if kind["formula"].startswith("H = 1;") or kind["name"] in NOT_PLOTTED}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    chosen = sys.argv[2:]
    build = pathlib.Path(sys.argv[1]).resolve()
    kinds = read_kinds(build)
    docs = read_docs(kinds)
    if unknown := set(chosen) - set(docs):
        sys.exit(f"filters.py: no kind is called {', '.join(sorted(unknown))}")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for kind in kinds:
            name = kind["name"]
            if chosen and name not in chosen:
                continue
            draw(build, directory, kind, docs[name]["scene"])
    TEXT.write_text(text(kinds, docs))
    for name, picture in page_pictures(kinds).items():
        (PAGE / name).write_bytes(picture)


if __name__ == "__main__":
    main()
