#!/usr/bin/python3
"""Runs the front end of OpenVX's example as a chain of fftd, and compares it with a model of the
graph: the mosaic of a lens that bends lines, its luma, undistorted, smoothed, and its edges.

    tests/bench/articles/front_end.py --json FILE --picture docs/articles/front-end.png

The lines that it appends to FILE, which the driver has written for the same device, have the
driver's fields; write.py makes tables of them. The exit code is not 0 if a picture is not the
model's.
The model is written from the definitions of the nodes and shares no code with the daemon.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "integration"))
from model import edge_levels  # noqa: E402  pylint: disable=wrong-import-position

WIDTH, HEIGHT = 640, 480
MOSAIC = "SGRBG8"
LUMA = 0.299, 0.587, 0.114  # BT.601
LENS = {"fx": 420.0, "fy": 420.0, "cx": 319.5, "cy": 239.5, "k1": -0.28, "k2": 0.07}
UNDISTORT = "undistort:" + ",".join(f"{name}={value:g}" for name, value in LENS.items())
GAUSSIAN = "convolve:kernel=1 2 1/2 4 2/1 2 1,normalise=sum"
GROUP = f"front end of OpenVX's example, {WIDTH}x{HEIGHT}"
STEPS = {  # technique: filter, view
    "luma of the mosaic": ("none", "picture"),
    "undistorted and smoothed": (f"{UNDISTORT} | {GAUSSIAN}", "picture"),
    "their edges: the whole chain": (f"{UNDISTORT} | {GAUSSIAN}", "edges"),
}
ARGUMENTS = ("--size", f"{WIDTH}x{HEIGHT}", "--fps", "60", "--set", f"camera.format={MOSAIC}",
             "--set", "camera.loop=true", "--set", "engine.planes=luma-only", "--set",
             "engine.border=mirror", "--set", "engine.demosaic=bilinear")
PATIENCE_S = 120
LEAST_EQUAL = 0.999


# ---- what the camera sees ----

def bend(x, y):
    """Where the lens puts what a straight camera has at a pixel."""
    u, v = (x - LENS["cx"]) / LENS["fx"], (y - LENS["cy"]) / LENS["fy"]
    r2 = u * u + v * v
    s = 1 + r2 * (LENS["k1"] + r2 * LENS["k2"])
    return LENS["cx"] + LENS["fx"] * u * s, LENS["cy"] + LENS["fy"] * v * s


def straighten(x, y):
    """The inverse, by iteration."""
    ideal_x, ideal_y = x, y
    for _ in range(60):
        bent_x, bent_y = bend(ideal_x, ideal_y)
        ideal_x, ideal_y = ideal_x + x - bent_x, ideal_y + y - bent_y
    return ideal_x, ideal_y


def scene():
    """A chart of squares, discs and a ramp as the bent lens shows it: red, green and blue."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH].astype(float)
    x, y = straighten(x, y)
    picture = numpy.stack([70 + 0.1 * x, 80 + 0.05 * y, 110 - 0.05 * x], axis=2)
    is_square = (numpy.floor(x / 64) + numpy.floor(y / 64)) % 2 == 0
    picture[is_square] += 70
    for at_x, at_y, radius, colour in (
            (150, 130, 60, (210, 60, 40)), (330, 260, 90, (40, 150, 70)),
            (500, 350, 60, (50, 70, 200)), (510, 110, 40, (230, 210, 60))):
        picture[numpy.hypot(x - at_x, y - at_y) < radius] = colour
    return numpy.clip(numpy.rint(picture), 0, 255)


def mosaic_of(picture):
    """SGRBG: green and red in even rows, blue and green in odd ones."""
    mosaic = picture[..., 1].copy()
    mosaic[0::2, 1::2] = picture[0::2, 1::2, 0]
    mosaic[1::2, 0::2] = picture[1::2, 0::2, 2]
    return mosaic.astype(numpy.uint8)


# ---- the model of the graph ----

def convolved(picture, kernel):
    """With a symmetric kernel of 3x3; the picture is mirrored and its edge not repeated."""
    wide = numpy.pad(picture, 1, mode="reflect")
    return sum(kernel[j][i] * wide[j:j + picture.shape[0], i:i + picture.shape[1]]
               for j in range(3) for i in range(3))


def luma_of_mosaic(mosaic):
    """Bilinear: each missing colour is the mean of the nearest samples of that colour."""
    mosaic = mosaic.astype(float)
    green = numpy.zeros(mosaic.shape, bool)
    green[0::2, 0::2] = green[1::2, 1::2] = True
    red, blue = numpy.zeros_like(green), numpy.zeros_like(green)
    red[0::2, 1::2] = blue[1::2, 0::2] = True
    corners = numpy.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4
    sides = numpy.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 4
    return sum(weight * convolved(numpy.where(own, mosaic, 0), kernel) for weight, own, kernel in
               zip(LUMA, (red, green, blue), (corners, sides, corners)))


def remapped(picture):
    """Bilinear, from places that are rounded to a 32nd of a pixel, as OpenCV rounds them."""
    y, x = numpy.mgrid[:HEIGHT, :WIDTH].astype(float)
    x, y = bend(x, y)
    x = numpy.rint(32 * numpy.clip(x, 0, WIDTH - 1)) / 32
    y = numpy.rint(32 * numpy.clip(y, 0, HEIGHT - 1)) / 32
    left, above = numpy.floor(x).astype(int), numpy.floor(y).astype(int)
    right, below = numpy.minimum(left + 1, WIDTH - 1), numpy.minimum(above + 1, HEIGHT - 1)
    x, y = x - left, y - above
    return ((1 - y) * ((1 - x) * picture[above, left] + x * picture[above, right]) +
            y * ((1 - x) * picture[below, left] + x * picture[below, right]))


def smoothed(picture):
    return convolved(picture, numpy.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16)


def model(mosaic, rounds_each=False):
    """What each step publishes; with rounds_each every node of the graph rounds to 8 bits, as
    OpenVX's do. A chain of fftd rounds once, at its end."""
    between = numpy.rint if rounds_each else lambda picture: picture
    luma = luma_of_mosaic(mosaic)
    smooth = numpy.rint(smoothed(between(remapped(between(luma)))))
    return dict(zip(STEPS, (numpy.rint(luma), smooth, numpy.rint(edge_levels(smooth)))))


def share_equal(picture, expected):
    return float((picture == expected).mean())


# ---- the daemon ----

class Daemon:
    """`with Daemon(options, recording, chain, view) as daemon:` a daemon that repeats a frame."""

    def __init__(self, options, recording, chain, view):
        self.options, self.arguments = options, [
            "--source", f"file:{recording}", *ARGUMENTS, "--filter", chain, "--set",
            f"engine.view={view}"]

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        place = pathlib.Path(self.directory.name) / "run"
        self.control = [f"{self.options.build}/fftd-ctl", "--runtime-dir", place]
        self.process = subprocess.Popen([f"{self.options.build}/fftd", "--quiet", "--runtime-dir",
                                         place, "--device", self.options.device, *self.arguments])
        deadline = time.monotonic() + PATIENCE_S
        while not self.count_published():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError("fftd published no frame; its log says why")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def ask(self, command):
        done = subprocess.run([*self.control, "--json", command], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def count_published(self):
        return self.ask("stats").get("Counters", {}).get("published", 0)

    def picture(self):
        path = pathlib.Path(self.directory.name) / "frame"
        subprocess.run([*self.control, "frames", "--raw", "--count", "1", "--output", path],
                       check=True)
        return numpy.fromfile(path, numpy.uint8).reshape(HEIGHT, WIDTH)

    def kernel_ms(self, frames):
        while self.count_published() < frames:
            time.sleep(0.2)
        return self.ask("stats")["Latency"]["kernel"]["p50_ns"] / 1e6


def measure(options, mosaic):
    """The pictures of all steps, a line for each, and the device."""
    pictures, lines, device = {}, [], None
    expected, rounding = model(mosaic), model(mosaic, rounds_each=True)
    with tempfile.TemporaryDirectory() as directory:
        recording = pathlib.Path(directory) / "mosaic.raw"
        recording.write_bytes(mosaic.tobytes())
        for technique, (chain, view) in STEPS.items():
            with Daemon(options, recording, chain, view) as daemon:
                pictures[technique] = daemon.picture()
                status, ms = daemon.ask("status"), daemon.kernel_ms(options.frames)
            engine = status["Engine"]
            moved = float(re.search(r"([0-9.]+) bytes a pixel", engine)[1]) * WIDTH * HEIGHT
            device = status["Device"]
            lines.append({
                "row": 8, "group": GROUP, "x": WIDTH, "technique": technique, "state": "ok",
                "turns_ms": [ms], "dispatches": int(re.search(r"(\d+) dispatches", engine)[1]),
                "read_bytes": None, "written_bytes": None, "moved_bytes": moved, "error": None,
                "equal": share_equal(pictures[technique], expected[technique]),
                "equal_rounding": share_equal(pictures[technique], rounding[technique])})
            print(f"{technique}: {ms:.2f} ms, {100 * lines[-1]['equal']:.3f} % of the pixels are "
                  f"the model's, {100 * lines[-1]['equal_rounding']:.2f} % those of a graph that "
                  "rounds after each node")
    return pictures, lines, device


def append(path, lines, device=None):
    """Adds lines to the file of a run of the driver, which names the device and the commit."""
    with open(path, "r+", encoding="utf-8") as file:
        run = json.loads(file.readline())
        if device is not None and device != run["device"]:
            sys.exit(f"{path}: it is of {run['device']}, and not of {device}: expected DEVICE to "
                     "select the same device")
        file.seek(0, os.SEEK_END)
        for line in lines:
            file.write(json.dumps(line) + "\n")


def wrong_steps(lines):
    """The steps whose pictures are not those of the exact graph. Levels near half a step may be
    rounded either way."""
    return [f"{line['technique']}: {100 * line['equal']:.3f} % of the pixels are the model's: "
            f"expected at least {100 * LEAST_EQUAL} %" for line in lines
            if not line["equal"] >= LEAST_EQUAL]


def draw(path, mosaic, pictures):
    """Four panels, with a part of the mosaic enlarged so that its samples can be seen."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    figure, axes = pyplot.subplots(2, 2, figsize=(8, 6.3), constrained_layout=True)
    panels = {f"captured mosaic ({MOSAIC})": mosaic, **pictures}
    for at, (title, picture) in zip(axes.flat, panels.items()):
        top = 255
        if title == list(STEPS)[-1]:  # lines of a pixel would fade when the panel is reduced
            picture = picture.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).max(axis=(1, 3))
            top = 80
        at.imshow(picture, cmap="gray", vmin=0, vmax=top, interpolation="antialiased")
        at.set_title(title, fontsize=9)
        at.set_axis_off()
    detail = axes[0, 0].inset_axes([0.62, 0.02, 0.36, 0.48])
    detail.imshow(mosaic[100:132, 180:212], cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    detail.set_xticks([])
    detail.set_yticks([])
    figure.savefig(path, dpi=80, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--device", default=os.environ.get("FFTD_DEVICE", "auto"))
    parser.add_argument("--frames", type=int, default=240, help="until the time of one is read")
    parser.add_argument("--json", required=True)
    parser.add_argument("--picture", required=True)
    options = parser.parse_args()
    mosaic = mosaic_of(scene())
    pictures, lines, device = measure(options, mosaic)
    if wrong := wrong_steps(lines):
        sys.exit("\n".join(wrong))
    append(options.json, lines, device)
    draw(options.picture, mosaic, pictures)


if __name__ == "__main__":
    main()
