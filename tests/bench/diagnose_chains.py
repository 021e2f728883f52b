#!/usr/bin/python3
"""How much of the error the chain removes that `fftd-ctl diagnose` proposes, beside the best chain
by hand.

    tests/bench/diagnose_chains.py [--seed N] [--clips 20] [--first 0]

Both chains filter the same clips, of diagnose_clips.py, by `fftd-ctl convert`, and are
compared with the same frames without the faults: the difference of the peak signal-to-noise ratios
after and before the filter, over the second half of each clip.

The chain by hand has a stage for each fault that was put in, with its true size, frequency, angle,
gain or noise. What has no truth (the width of notches, the strength of wiener, the sectors against
stripes, auto-notch or notches) is tried in several ways, and the best for the clip counts; doing
nothing is one of them. Neither has files of `fftd-ctl calibrate`, nor `stabilise`: a picture that
has moved has no frame that it can be compared with.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from diagnose_clips import FRAMES, HEIGHT, WIDTH, draw_faults, make_clip, write_y4m

CTL = pathlib.Path(os.environ.get("FFTD_BUILD", "build")) / "fftd-ctl"
FRAME = WIDTH * HEIGHT


def notches(points, width):
    return " | ".join(f"notch:at={x - round(x):.4f}/{y - round(y):.4f},width={width}"
                      for x, y in points)


def lattice(fx, fy):
    return [(fx, fy), (-fy, fx), (fx - fy, fy + fx), (fx + fy, fy - fx), (2 * fx, 2 * fy),
            (-2 * fy, 2 * fx)]


def ways_by_hand(fault, truth):
    """Stages for a fault, of which any may be the best."""
    if fault == "periodic-noise":
        return ["auto-notch", notches(truth["at"], 0.01)]
    if fault == "screen":
        points = lattice(truth["fx"], truth["fy"])
        return [notches(points, 0.04), notches(points[:4], 0.04), notches(points, 0.08)]
    if fault == "stripes":
        angles = [0] if truth["rows"] == 0 else [0, 90]
        return [" | ".join(f"directional:angle={angle},width=1.5,keep=outside,above={above}"
                           for angle in angles) for above in (0.05, 0.02, 0.1, 0.2)]
    if fault in ("defocus", "motion-blur"):
        blur = "disk" if fault == "defocus" else f"motion,angle={truth['angle_deg']:.1f}"
        return [f"wiener:blur={blur},size={truth['size_px']:.2f},noise={noise}"
                for noise in (0.01, 0.003, 0.04, 0.2)]
    return {"flicker": ["deflicker"], "hot-pixels": ["median"],
            "shading": [f"vignette:a={truth.get('a', 0):.3f},b={truth.get('b', 0):.3f}"],
            "noise": [f"denoise:sigma={truth.get('floor', 0):.2f},shot={truth.get('shot', 0):.3f}"]
            }.get(fault, [])


def best_by_hand(truth, judge):
    """Improves one stage after the other. judge: returns what a chain brings."""
    ways = [each for each in (ways_by_hand(fault, figures) for fault, figures in truth.items())
            if each]
    stages = [each[0] for each in ways]
    best = (0, "")
    tried = set()
    for at, each in enumerate(ways):
        for stage in [*each, ""]:  # without it, too
            chain = " | ".join(filter(None, stages[:at] + [stage] + stages[at + 1:]))
            result = (judge(chain), chain) if chain not in tried else best
            tried.add(chain)
            if result > best:
                best = result
                stages[at] = stage
    return best


def proposed_chain(path):
    done = subprocess.run([CTL, "diagnose", "--json", path], capture_output=True, text=True,
                          check=True)
    stages = [each["Stage"] for each in json.loads(done.stdout)["Findings"]
              if each["Stage"] and each["Kind"] != "shake"]
    return " | ".join(stages)


def filtered(path, chain):
    """The frames after a filter. Fails if there are not as many."""
    if not chain:
        samples = path.read_bytes()
    else:
        output = path.with_name("out.y4m")
        adapts = "auto-notch" in chain or "deflicker" in chain
        done = subprocess.run([CTL, "convert", path, output, "--filter", chain,
                               *(["--two-pass"] if adapts else [])],
                              capture_output=True, text=True, check=False)
        if "nothing has been found yet" in done.stderr:
            return filtered(path, "")  # flicker or waves that only diagnose has seen
        if done.returncode != 0:
            raise RuntimeError(f"{chain}: {done.stderr}")
        samples = output.read_bytes()
        output.unlink()
    header = samples.index(b"\n") + 1
    step = len(b"FRAME\n") + FRAME
    frames = [np.frombuffer(samples, np.uint8, FRAME, header + index * step + len(b"FRAME\n"))
              .reshape(HEIGHT, WIDTH) for index in range((len(samples) - header) // step)]
    assert len(frames) == FRAMES
    return frames


def psnr(frames, clean):
    half = slice(FRAMES // 2, None)
    error = np.mean([(frame - want) ** 2 for frame, want in zip(frames[half], clean[half])])
    return 10 * np.log10(255 ** 2 / error)


def compare(folder, random):
    frames, clean, name, truth = make_clip(random, draw_faults(random), wants_clean=True)
    path = pathlib.Path(folder) / "clip.y4m"
    write_y4m(path, frames)
    before = psnr(frames, clean)
    by_hand = best_by_hand(truth, lambda chain: psnr(filtered(path, chain), clean) - before)
    chain = proposed_chain(path)
    after = filtered(path, chain)
    levels = np.mean(frames[-1]), np.mean(after[-1])
    return name, truth, (psnr(after, clean) - before, chain), by_hand, levels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clips", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    proposed, best = [], []
    with tempfile.TemporaryDirectory() as folder:
        for index in range(options.first, options.first + options.clips):
            name, truth, ours, theirs, levels = compare(
                folder, np.random.default_rng([options.seed, index]))
            print(f"{index} {name} {'+'.join(truth)}: {ours[0]:.2f} dB by {ours[1] or 'none'}; "
                  f"by hand {theirs[0]:.2f} dB by {theirs[1] or 'none'}; mean level "
                  f"{levels[0]:.0f} -> {levels[1]:.0f}", flush=True)
            proposed.append(ours[0])
            best.append(theirs[0])
    print(f"{options.clips} clips: the proposed chains bring {np.mean(proposed):.2f} dB, the best "
          f"by hand {np.mean(best):.2f} dB: {100 * np.sum(proposed) / np.sum(best):.0f} %; sums "
          f"{np.sum(proposed):.4f} and {np.sum(best):.4f} dB, "
          f"{100 * np.sum(proposed) / np.sum(best):.3f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
