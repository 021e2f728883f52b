#!/usr/bin/python3
"""Measures the time to look for 1 and for 16 templates in a running daemon with a scene of
1280x720, and how well they are found.

    matches.py [SECONDS]     prints a table; FFTD_BUILD is the build folder

The processor time of the thread that observes frames is divided by the number of pictures that it
has measured. That of the rest of the daemon is divided by the number of frames. Places and scores
are compared with those of the definition, in double precision, over all places.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

BUILD = pathlib.Path(os.environ.get("FFTD_BUILD", "build")).resolve()
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client/python"))
import fftd  # noqa: E402  pylint: disable=wrong-import-position

WIDTH, HEIGHT, FPS, FRAMES, COUNT, TURNS = 1280, 720, 30, 5, 16, 3
# Name, scene, and the range of the sides.
CASES = (("sides of 48 .. 96 px", "plain", 48, 97), ("32 px", "plain", 32, 33),
         ("128 .. 255 px", "plain", 128, 256), ("48 .. 96 px of fine texture", "fine", 48, 97))
PATIENCE_S = 120


def scene(kind, random):
    """Rectangles of random size that hide each other; `fine` has texture of single pixels."""
    picture = numpy.full((HEIGHT, WIDTH), 120.0)
    for _ in range(1500):
        x, y = random.integers(0, WIDTH), random.integers(0, HEIGHT)
        width, height = (5 * random.pareto(1, 2) + 8).astype(int).clip(0, 200)
        picture[y:y + height, x:x + width] = random.uniform(40, 210)
    if kind == "fine":
        picture = 0.4 * picture + random.uniform(0, 150, picture.shape)
    return picture


def record(path, picture, random):
    pictures = []
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F%d:1 Cmono\n" % (WIDTH, HEIGHT, FPS))
        for _ in range(FRAMES):
            noisy = picture + random.normal(0, 4, picture.shape)
            pictures.append(numpy.rint(noisy.clip(0, 255)).astype(numpy.uint8))
            file.write(b"FRAME\n" + pictures[-1].tobytes())
    return pictures


def cut(folder, picture, least, below, random):
    templates = []
    for i in range(COUNT):
        columns, rows = random.integers(least, below, 2)
        x, y = random.integers(0, WIDTH - columns), random.integers(0, HEIGHT - rows)
        part = picture[y:y + rows, x:x + columns]
        noisy = part * 0.7 + 20 + random.normal(0, 2, part.shape)
        templates.append(numpy.rint(noisy.clip(0, 255)).astype(numpy.uint8))
        (folder / f"t{i}.pgm").write_bytes(b"P5 %d %d 255 " % (columns, rows)
                                           + templates[-1].tobytes())
    return templates


def best_place(picture, template):
    """Column, row and score of the best place of all, in double precision."""
    rest = template - template.mean()
    spectrum = numpy.fft.rfft2(picture) * numpy.fft.rfft2(rest, picture.shape).conj()
    rows, columns = template.shape

    def sums(samples):
        total = numpy.pad(samples.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
        return (total[rows:, columns:] - total[:-rows, columns:] - total[rows:, :-columns]
                + total[:-rows, :-columns])

    window = sums(picture)
    variation = sums(picture ** 2) - window ** 2 / template.size
    product = numpy.fft.irfft2(spectrum, picture.shape)[:window.shape[0], :window.shape[1]]
    scores = product / numpy.sqrt(numpy.maximum(variation * (rest ** 2).sum(), 1e-9))
    y, x = numpy.unravel_index(scores.argmax(), scores.shape)
    return x + columns // 2, y + rows // 2, scores[y, x]


def processor_s(pid):
    """Returns the processor time of the observer's thread, and of all others."""
    observer = others = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        used = int((thread / "schedstat").read_text().split()[0]) / 1e9
        if (thread / "comm").read_text().strip() == "observer":
            observer += used
        else:
            others += used
    return observer, others


def measure(folder, count, seconds, check):
    """Returns ms of the observer for each measured picture, ms of all others for each frame, and
    frames and measured pictures a second."""
    chain = " | ".join(f"match:image=t{i}.pgm,show=false" for i in range(count)) or "none"
    with contextlib.ExitStack() as stack:
        run = folder / "run"
        log = stack.enter_context((folder / "log").open("wb"))
        daemon = subprocess.Popen(
            [BUILD / "fftd", "--runtime-dir", run, "--source", f"file:{folder}/clip.y4m",
             "--filter", chain, "--set", "output.measures=true", "--set", "camera.loop=true",
             "--set", "engine.compile_ahead=false"], stderr=log,
            env={**os.environ, "FFTD_IMAGE_DIR": str(folder)})
        stack.callback(daemon.wait)
        stack.callback(daemon.terminate)
        deadline = time.monotonic() + PATIENCE_S
        while not (run / "frames").exists():
            if time.monotonic() > deadline:
                raise TimeoutError((folder / "log").read_text())
            time.sleep(0.1)
        with fftd.Camera(str(run)) as camera:
            measured, frames, begin = set(), 0, None
            for frame in camera:
                if frame.measures is None or len(frame.matches) != count:
                    continue
                number = frame.sequence - frame.measures.age
                if begin is None:
                    if measured and number not in measured:
                        begin, measured = (time.monotonic(), processor_s(daemon.pid)), set()
                    else:
                        measured.add(number)
                        continue
                frames += 1 + frame.missed
                if number not in measured and measured:
                    passed = time.monotonic() - begin[0]
                    if passed > seconds:
                        observer, others = (b - a for a, b in
                                            zip(begin[1], processor_s(daemon.pid)))
                        check(frame.matches)
                        return (1000 * observer / len(measured), 1000 * others / frames,
                                frames / passed, len(measured) / passed)
                measured.add(number)
    raise AssertionError("the daemon ended")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6
    print(f"{WIDTH}x{HEIGHT} at {FPS}/s, {TURNS} turns of {seconds:g} s, medians; load "
          f"{os.getloadavg()[0]:.1f}\n\n"
          "| templates | ms a picture, none | 1 | 16 | 16 against 1, of each turn "
          "| ms a frame elsewhere, 1 | 16 | frames/s, 1 | 16 | measured/s, 1 | 16 "
          "| best place found | score off by |\n" + "| --- " * 13 + "|")
    for name, kind, least, below in CASES:
        random = numpy.random.default_rng(7)
        with tempfile.TemporaryDirectory() as path:
            folder = pathlib.Path(path)
            picture = scene(kind, random)
            pictures = record(folder / "clip.y4m", picture, random)
            templates = cut(folder, picture, least, below, random)
            expected = [[best_place(each.astype(float), template) for template in templates]
                        for each in pictures]
            found, off = [], []

            def check(matches):
                if len(matches) < COUNT:
                    return
                # The frames differ in their noise: it is the one whose scores fit best.
                fits = [[abs(match.x - e[0]) <= 0.5 and abs(match.y - e[1]) <= 0.5 for match, e in
                         zip(matches, each)] for each in expected]
                errors = [max([abs(match.score - e[2]) for match, e, fit in
                               zip(matches, each, fitting) if fit] or [9])
                          for each, fitting in zip(expected, fits)]
                best = errors.index(min(errors))
                found.append(sum(fits[best]))
                off.append(errors[best])

            turns = [[measure(folder, count, seconds, check) for count in (0, 1, COUNT)]
                     for _ in range(TURNS)]

            def median(count, value):
                return sorted(turn[count][value] for turn in turns)[TURNS // 2]

            ratios = ", ".join(f"{turn[2][0] / turn[1][0]:.2f}" for turn in turns)
            print(f"| {name} | {median(0, 0):.1f} | {median(1, 0):.1f} | {median(2, 0):.1f} "
                  f"| {ratios} | {median(1, 1):.1f} | {median(2, 1):.1f} | {median(1, 2):.1f} "
                  f"| {median(2, 2):.1f} | {median(1, 3):.1f} | {median(2, 3):.1f} "
                  f"| {min(found)} of {COUNT} | {max(off):.0e} |", flush=True)


if __name__ == "__main__":
    main()
