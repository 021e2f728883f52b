#!/usr/bin/python3
"""Prints what the estimators find in random clips, and what they leave, as a table.

    tests/bench/estimators.py --build DIRECTORY [--busy] [--few] [--only ROW,...]
                              [--held-back SEED]

The clips of the unit tests have one row each; the tests say within which ranges they are drawn.
The first seed is the one that thresholds were chosen on, the second one is held back. Frames are
fed one by one there, so their results do not depend on the load. Two rows come from the running
daemon. `live`: waves, flicker, and waves with noise, in frames of 640x480 that come at 30 a second,
whether they are read or not; every frame that is read is judged. `denoise`: the photographs of
denoise.py, and for the held-back seed others, with noise of sigma 15. With --busy a program keeps
each processor busy meanwhile.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import restore
from restore import Daemon

NUMBER = r"([\d.]+|inf|nan)"
HELD_BACK = 20261126
DENOISED = (("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "moon.png", "rocket.jpg"),
            ("brick.png", "coins.png", "gravel.png", "grass.png", "ihc.png", "color.png"))
DENOISE = {"default": "denoise:sigma=15", "hop=quarter": "denoise:sigma=15,hop=quarter"}
SIDE = 512
LIVE_CLIPS, LIVE_FRAMES, LIVE_SECONDS, LIVE_SKIPPED_SECONDS = 3, 48, 6, 2
LIVE_SIZE = 480, 640
LIVE_NOISE = 8  # sigma, of what `denoise` estimates after the waves were subtracted
LIVE_CHAINS = {"waves": "auto-notch", "flicker": "deflicker",
               "waves and noise": "auto-notch | denoise"}
# Ends with this program, however that ends.
SPIN = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
TRIES = 10  # of a change, each of which the daemon ends after a minute

# Each frame is observed.
ENDS = (rf"clips: corrected after {NUMBER} frames \(median\), nine of ten {NUMBER}, (\d+) not "
        rf"within (\d+); a ghost in (\d+), for at most {NUMBER}",
        "corrected after {0} frames, nine of ten {1}, {2} not within {3}; a ghost in {4}, for at "
        "most {5}")

# Row, goal, program, filter of its tests, the seed that it was tuned on, and what its output says.
ROWS = (
    ("waves", "auto-notch, 200 clips", "44 dB; 95 % found; all true", "periodic",
     "waves_are_found*", 1000000,
     ((rf"figures: (\w[\w ]*?) +(\d+) clips, (\d+) waves, {NUMBER} % found, {NUMBER} % of \d+ "
       rf"reports true, PSNR {NUMBER} -> {NUMBER} dB \(medians\), worst tenth {NUMBER}",
       "{0} ({1}): {5} → {6} dB, worst tenth {7}; {3} % of {2} waves found, {4} % of reports "
       "true"),)),
    ("clean-waves", "auto-notch, 300 clean clips", "0 changed", "periodic",
     "clean_clips*", 1000000, ((r"(\d+) clean clips, (\d+) changed", "{1} of {0} changed"),)),
    ("flicker", "deflicker, 80 clips", "58 dB; 1 to 3 observed frames", "flicker",
     "flicker_is*", 1000000,
     ((rf"(all|mains|PWM|near multiple|still|panning) +(\d+) clips: {NUMBER} -> {NUMBER} dB, "
       rf"worst tenth {NUMBER}, oracle {NUMBER}; "
       rf"locked after {NUMBER} observed frames.* (\d+) never; (\d+) "
       r"drop-outs, (\d+) worse",
       "{0} ({1}): {2} → {3} dB, worst tenth {4}, oracle {5}; after {6} observed frames, {7} "
       "never; {8} frames lost again, {9} worse"),)),
    ("clean-flicker", "deflicker, 140 clean clips", "0 changed", "flicker",
     "clean_clips*", 1000000, ((r"(\d+) clean clips, (\d+) changed", "{1} of {0} changed"),)),
    ("waves-ends", "waves, beginning and end, 60 clips", "1 to 3 frames each", "periodic",
     "waves_begin*", 1000000, (ENDS,)),
    ("flicker-ends", "flicker, beginning and end, 40 clips", "1 to 3 frames each", "flicker",
     "it_begins*", 1000000, (ENDS,)),
    ("shift", "shift, 400 pairs", "0.004 px; 93 % within 0.1 px; all others unsure",
     "motion_pairs", "", 1000000,
     ((rf"(\d+) pairs .* median error {NUMBER} px, {NUMBER} % within 0.1 px, (\d+) sure, (\d+) of "
       r"these wrong; (\d+) of (\d+) others unsure",
       "median {1} px, {2} % of {0} within 0.1 px, {4} wrong; {5} of {6} others unsure"),
      (rf"{NUMBER} ms of processor time", "{0} ms at 1280x720"))),
    ("sharpness", "sharpness, 80 series", "99 % fall; AUC 0.99", "measures_focus", "", 1000000,
     ((rf"falls on {NUMBER} % of (\d+) steps.* with AUC {NUMBER} at least; states: fine (\d+) of "
       r"(\d+) .*, defocused (\d+) of (\d+) .*, covered or overexposed (\d+) of (\d+)",
       "falls on {0} % of {1} steps; AUC {2}; state right for {3} of {4} sharp, {5} of {6} "
       "defocused, {7} of {8} bad frames"),)),
    ("stripes", "stripes, 48 clips", "40 dB", "stripes_clips", "", 1,
     ((rf"mean of (\d+) that (move|are still): {NUMBER} dB before, {NUMBER} after.* true offsets "
       rf"give {NUMBER};", "{1}: {2} → {3} dB, with the true offsets {4}"),)),
    ("wiener", "wiener, 240 pictures", "the best fixed noise", "blur_noise", "an_estimate*",
     1000000,
     ((rf"(gaussian|disk|motion) .* untouched {NUMBER} dB, default {NUMBER}, best fixed {NUMBER}, "
       rf"estimated {NUMBER}, best for each {NUMBER}",
       "{0}: {1} → {4} dB, best fixed {3}, best for each {5}"),)),
)


def run_program(options, row, seed):
    """Runs tests of a program. Returns their figures in the words of the table, and seconds of a
    processor."""
    _, _, _, program, tests, _, patterns = row
    environment = os.environ | {"FFTD_TEST_SEED": str(seed), "FFTD_TEST_FILTER": tests or "*"}
    for name in "FFTD_TEST_VERBOSE", "FFTD_TEST_ONLY", "FFTD_TEST_CLIPS":
        environment.pop(name, None)
    if not options.few:
        environment["FFTD_TEST_CLIPS"] = "all"
    process = subprocess.Popen([options.build / "tests/unit" / program], text=True,
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    figures = [words.format(*found) for pattern, words in patterns
               for found in re.findall(pattern, text, re.IGNORECASE)]
    if not figures:
        print(f"estimators.py: {program} {tests} says nothing that is known here:\n{text}",
              file=sys.stderr)
        figures.append("**no figures**")
    if process.returncode != 0:
        figures.append("**the test fails**")
    return "<br>".join(dict.fromkeys(figures)), usage.ru_utime + usage.ru_stime


# ---- in the running daemon ----

class Patient(Daemon):
    """A daemon that may compile for minutes, as with an empty cache on a busy machine."""

    def set(self, chain):
        for _ in range(TRIES):
            try:
                return super().set(chain)
            except subprocess.CalledProcessError as error:
                if error.returncode != os.EX_TEMPFAIL:
                    raise
        sys.exit(f"estimators.py: {chain} is not ready after {TRIES} tries")


class Clip(Patient):
    """A daemon that repeats a clip at 30 frames/s, as a camera that does not wait."""

    def __init__(self, build, device, frames):
        super().__init__(build, device, frames[0], 30)
        self.frames = frames

    def clip(self):
        height, width = self.frames[0].shape
        header = b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono\n" % (width, height, self.rate_hz)
        return header + b"".join(b"FRAME\n" + each.tobytes() for each in self.frames)


def draw_scene(random):
    """A 1/f picture with a margin to pan over."""
    height, width = (length + 64 for length in LIVE_SIZE)
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)
    spectrum = np.fft.rfft2(random.normal(size=(height, width))) / np.hypot(np.hypot(fy, fx), 2e-3)
    scene = np.fft.irfft2(spectrum, (height, width))
    return 110 + 35 * scene / scene.std()


def draw_clip(random, kind, photograph):
    """Returns frames as captured, and what a perfect correction leaves of them."""
    height, width = LIVE_SIZE
    if kind == "waves and noise":
        margins = [(0, length + 64 - had) for length, had in zip(LIVE_SIZE, photograph.shape)]
        scene, sigma = np.pad(photograph, margins, "reflect"), LIVE_NOISE
    else:
        scene, sigma = draw_scene(random), 2
    y, x = np.mgrid[:height, :width]
    pan = random.integers(0, 2, 2) if random.random() < 0.5 else (0, 0)
    f = random.uniform(0.08, 0.4), random.uniform(-0.4, 0.4)
    size, drift = random.uniform(5, 40), random.uniform(0, 1)
    periods, depth, turn = random.uniform(0.5, 4), random.uniform(0.01, 0.15), random.uniform(0, 1)
    captured, clean = [], []
    for n in range(LIVE_FRAMES):
        left, top = (int(n * step) for step in pan)
        want = scene[top:top + height, left:left + width]
        noisy = np.clip(want + random.normal(0, sigma, want.shape), 0, 255)
        want = want if kind == "waves and noise" else noisy
        if kind == "flicker":
            frame = noisy * (1 + depth * np.cos(2 * np.pi * (turn * n + periods * y / height)))
        else:
            frame = noisy + size * np.cos(2 * np.pi * (f[0] * x + f[1] * y + drift * n))
        captured.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
        clean.append(want)
    return captured, clean


def live(options, seed, names):
    """Judges every frame that is read after two seconds. Two roundings limit it to 56 dB."""
    figures = []
    for kind, chain in LIVE_CHAINS.items():
        before, after = [], []
        for number in range(1 if options.few else LIVE_CLIPS):
            random = np.random.default_rng((seed, number, kind == "flicker"))
            captured, clean = draw_clip(random, kind, read_photograph(names[number]))
            before += [squares(frame - want) for frame, want in zip(captured, clean)]
            with Clip(options.build, options.device, captured) as daemon:
                daemon.frame(chain)
                begun = time.monotonic()
                for frame in daemon.camera.frames(every=True):
                    passed = time.monotonic() - begun
                    if passed > LIVE_SECONDS:
                        break
                    planes = frame.copy() if passed > LIVE_SKIPPED_SECONDS else None
                    if planes is not None:
                        want = clean[frame.source_sequence % LIVE_FRAMES]
                        after.append(squares(planes[0] - want))
        if not after:
            figures.append(f"{kind}: no frame was read")
            continue
        after = np.sort(after)[::-1]
        seen = (1 if options.few else LIVE_CLIPS) * 30 * (LIVE_SECONDS - LIVE_SKIPPED_SECONDS)
        figures.append(f"{kind}: {db(np.median(before)):.1f} → {db(np.median(after)):.1f} dB, "
                       f"worst tenth {db(after[len(after) // 10]):.1f}, worst {db(after[0]):.1f}; "
                       f"{len(after)} of {seen} frames")
    return "<br>".join(figures)


def squares(difference):
    return np.mean(difference.astype(float) ** 2)


def db(square):
    return 10 * np.log10(255 ** 2 / max(square, 1e-9))


def read_photograph(name):
    """The middle of it, in grey levels."""
    path = pathlib.Path(restore.skimage.__file__).parent / "data"
    picture = restore.skimage.io.imread(path / name).astype(float)
    picture = picture if picture.ndim == 2 else picture[..., :3] @ [0.299, 0.587, 0.114]
    top, left = (max(0, length - SIDE) // 2 for length in picture.shape)
    return picture[top:top + SIDE, left:left + SIDE]


def denoise(options, seed, names):
    random = np.random.default_rng(seed)
    sums = dict.fromkeys(["untouched", *DENOISE], 0)
    for name in names:
        sharp = read_photograph(name)
        noisy = np.clip(np.rint(sharp + random.normal(0, 15, sharp.shape)), 0, 255)
        sums["untouched"] += db(squares(noisy - sharp))
        with Patient(options.build, options.device, noisy.astype(np.uint8)) as daemon:
            for key, chain in DENOISE.items():
                sums[key] += db(squares(daemon.frame(chain) - sharp))
    return "; ".join(f"{key} {value / len(names):.2f} dB" for key, value in sums.items())


def is_wanted(options, name):
    return options.only is None or name in options.only


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--few", action="store_true",
                        help="only the clips that the tests have by default, to try the table")
    parser.add_argument("--held-back", type=int, default=HELD_BACK, metavar="SEED")
    names = [row[0] for row in ROWS] + ["denoise", "live"]
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="ROW,...",
                        help=f"of {', '.join(names)}")
    options = parser.parse_args()
    for name in options.only or ():
        if name not in names:
            parser.error(f"there is no row {name}: expected one of {', '.join(names)}")
    processors = len(os.sched_getaffinity(0))
    busy = [subprocess.Popen([sys.executable, "-c", SPIN])
            for _ in range(processors if options.busy else 0)]
    try:
        print(f"Held-back seed {options.held_back}, {processors} processors, load "
              f"{os.getloadavg()[0]:.1f} at the beginning{', kept busy' if options.busy else ''}.\n"
              f"\n| | goal | tuned seed | held-back seed |\n| --- | --- | --- | --- |", flush=True)
        if is_wanted(options, "live"):
            print("| live, 640x480, 30 frames/s | 44 dB, 56 dB | " + " | ".join(
                live(options, seed, DENOISED[i])
                for i, seed in enumerate((1, options.held_back))) + " |", flush=True)
        if is_wanted(options, "denoise"):
            print("| denoise, sigma 15 | 37.5 dB | " + " | ".join(
                denoise(options, seed, DENOISED[i][:1] if options.few else DENOISED[i])
                for i, seed in enumerate((1, options.held_back))) + " |", flush=True)
        begun, seconds = time.monotonic(), 0
        with ThreadPoolExecutor(processors) as pool:
            rows = [(row, [pool.submit(run_program, options, row, seed)
                           for seed in (row[5], options.held_back)])
                    for row in ROWS if is_wanted(options, row[0])]
            for row, runs in rows:
                results = [run.result() for run in runs]
                seconds += sum(result[1] for result in results)
                print(f"| {row[1]} | {row[2]} | {' | '.join(result[0] for result in results)} |",
                      flush=True)
        if rows:
            print(f"\nThe unit tests took {time.monotonic() - begun:.0f} s, {seconds:.0f} s of a "
                  "processor.")
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
