#!/usr/bin/python3
"""What `fftd-ctl diagnose` finds in clips of photographs with one to three known faults, and in
clean ones.

    tests/bench/diagnose.py [--seed N] [--clips 40] [--clean 100] [--first 0] [--show]

Prints how many of the faults were found and correctly named, what was reported that was not there,
and how near the figures came. diagnose_clips.py makes the clips, and states the ranges of the
faults. The photographs are those of python3-skimage, opencv-doc, mate-backgrounds and
lomiri-wallpapers-16.04.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from diagnose_clips import draw_faults, make_clip, write_y4m

CTL = pathlib.Path(os.environ.get("FFTD_BUILD", "build")) / "fftd-ctl"
# A figure is right if it is within this share of the truth.
RIGHT = {"size_px": 0.15, "frequency_hz": 0.01, "depth": 0.15, "period_px": 0.02, "sigma": 0.2,
         "columns": 0.25, "corner": 0.25, "pixels": 0.2, "rms_px": 0.3}


def diagnose(path):
    done = subprocess.run([CTL, "diagnose", "--json", path], capture_output=True, text=True,
                          check=True)
    return {each["Kind"]: each for each in json.loads(done.stdout)["Findings"]}


def trial(folder, random, faults):
    frames, _, name, truth = make_clip(random, faults)
    path = pathlib.Path(folder) / "clip.y4m"
    write_y4m(path, frames)
    return name, truth, diagnose(path)


def compare(truth, found, errors):
    for kind, figures in truth.items():
        for figure, value in figures.items():
            if kind in found and figure in RIGHT and figure in found[kind]["Figures"]:
                said = found[kind]["Figures"][figure]
                # A frequency may be known up to multiples of the frame rate.
                repeats = found[kind]["Figures"].get(f"repeats_{figure.split('_')[-1]}", 0)
                said += repeats and repeats * round((value - said) / repeats)
                errors.setdefault(f"{kind} {figure}", []).append(abs(said / value - 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clips", type=int, default=40)
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="leaves out the clips before it")
    parser.add_argument("--show", action="store_true", help="prints each clip that went wrong")
    options = parser.parse_args()
    wanted, named, extra, alarms, errors, missed = 0, 0, 0, 0, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for index in range(options.first, options.first + options.clips):
            random = np.random.default_rng([options.seed, index])
            name, truth, found = trial(folder, random, draw_faults(random))
            wanted += len(truth)
            named += len(truth.keys() & found.keys())
            extra += len(found.keys() - truth.keys())
            for kind in truth.keys() - found.keys():
                missed[kind] = missed.get(kind, 0) + 1
            compare(truth, found, errors)
            if options.show and truth.keys() != found.keys():
                print(f"{index} {name}: {truth}: found {sorted(found)}", flush=True)
        for index in range(options.first, options.first + options.clean):
            random = np.random.default_rng([options.seed, 1000000 + index])
            name, _, found = trial(folder, random, [])
            alarms += bool(found)
            if options.show and found:
                print(f"clean {index} {name}: {[each['Text'] for each in found.values()]}",
                      flush=True)
    if wanted > 0:
        print(f"{named} of {wanted} faults in {options.clips} clips found and named "
              f"({100 * named / wanted:.1f} %), {extra} others reported; missed: {missed}")
    for figure, each in sorted(errors.items()):
        right = sum(error <= RIGHT[figure.split()[1]] for error in each)
        print(f"  {figure}: {right} of {len(each)} within "
              f"{100 * RIGHT[figure.split()[1]]:.0f} %, median error "
              f"{100 * np.median(each):.1f} %")
    print(f"{alarms} of {options.clean} clean clips with a false alarm")
    return 0


if __name__ == "__main__":
    sys.exit(main())
