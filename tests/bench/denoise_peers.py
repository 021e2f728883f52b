#!/usr/bin/python3
"""Compares denoise, of one frame and along motion, with filters of other programs.

    tests/bench/denoise_peers.py [--seed N] [--kinds KIND,...] [--sigmas S,...] [--frames N]
                                 [--videos FILE,...] [--vapoursynth COMMAND] [--shot SHARE]
                                 [--peers NAME,...] [--size WxH] [--results FILE]

Clips are those of denoise_motion.py, and the middle of videos. All programs get the same noisy
frames. denoise is told the noise. Every other filter runs with a few settings, which follow sigma,
and the one with the greatest PSNR counts. Prints three tables for each sigma, with the PSNR
in dB of each whole clip, of its first eight frames and of its last thirty. The first table also has
the processor time of a frame of the first clip, in milliseconds, of all threads. It is the
difference between this clip and three times the clip, so that the start does not count. The
settings follow. Programs that are not installed are named.

--results keeps the measurements in a file, from which an interrupted run continues. Remove the file
when a program has changed.
"""

import argparse
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

import denoise_motion as motion
from denoise_motion import HEIGHT, KINDS, PAST, WIDTH
from path import children_s

try:
    import cv2
except ImportError:
    cv2 = None

VAPOURSYNTH_SCRIPT = pathlib.Path(__file__).parent / "denoise_vapoursynth.py"
REPEATS = 3
FFMPEG_NLMEANS_MOST = 30   # the greatest strength that it takes
FFTDNOIZ_MOST = 100         # the greatest that it takes
ATADENOISE_MOST = 0.3       # the greatest that it takes
RANGES = {"the whole clip": slice(None), "at most the first 8 frames": slice(8),
          "at most the last 30 frames": slice(-30, None)}
FIRST_VIDEO = 11   # in a seed: as many as KINDS had when videos were measured first
KINDS_HERE = ("still", "pan3", "rotate", "occluded")


# ---- programs: (frames, setting, options) -> result, processor seconds or None ----

def run_fftd(frames, setting, options):
    begun = children_s()
    height, width = frames.shape[1:]
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder, "in.raw"), pathlib.Path(folder, "out.raw")
        source.write_bytes(frames.tobytes())
        subprocess.run([motion.CTL, "convert", source, output, "--size", f"{width}x{height}",
                        "--pixel-format", "GREY", "--filter", setting, "--set",
                        f"engine.device={options.device}"], stdout=subprocess.DEVNULL, check=True)
        result = np.fromfile(output, np.uint8)
    return result.reshape(frames.shape), children_s() - begun


def run_ffmpeg(frames, setting, _options):
    begun = children_s()
    height, width = frames.shape[1:]
    result = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{height}",
         "-i", "-", "-filter_complex", setting, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
        input=frames.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(result, np.uint8).reshape(frames.shape), children_s() - begun


def run_opencv(frames, setting, _options):
    begun = time.process_time()
    count = len(frames)
    result = []
    for i in range(count):
        window = 2 * min(i, count - 1 - i, 2) + 1
        result.append(cv2.fastNlMeansDenoisingMulti(list(frames), i, window, None, setting, 7, 21))
    return np.array(result), time.process_time() - begun


def run_vapoursynth(frames, setting, options):
    height, width = frames.shape[1:]
    method, *numbers = setting
    done = subprocess.run(
        [*shlex.split(options.vapoursynth), "-c", VAPOURSYNTH_SCRIPT.read_text(), method,
         str(width), str(height), *map(str, numbers)],
        input=frames.tobytes(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"VapourSynth: {done.stderr.decode()}")
    return (np.frombuffer(done.stdout, np.uint8).reshape(frames.shape),
            float(done.stderr.split()[-1]))


# ---- their settings ----

def peers(sigma, chain):
    """Name: the function that runs it, and settings."""
    return {
        "denoise": (run_fftd, [chain]),
        f"denoise:temporal={PAST}": (run_fftd, [
            f"{chain},temporal={PAST}{block}{clipping}" for block in ("", ",block=16")
            for clipping in ("", ",clipping=undone")]),
        "V-BM3D (bm3dcpu)": (run_vapoursynth, [
            ("vbm3d", share * sigma, radius)
            for share, radius in ((1.6, 1), (1.4, 2), (1.7, 2))]),
        "MDegrain3 (mvtools)": (run_vapoursynth, [
            ("mdegrain", threshold * sigma, blur)
            for threshold, blur in ((60, 1), (120, 1))]),
        "dfttest2": (run_vapoursynth, [
            ("dfttest2", share * sigma ** 2, frames)
            for share, frames in ((2, 3), (4, 3), (3, 5))]),
        "ffmpeg nlmeans": (run_ffmpeg, [
            f"nlmeans=s={min(share * sigma, FFMPEG_NLMEANS_MOST):.4g}:p=7:r=15"
            for share in (0.7, 1)]),
        "ffmpeg fftdnoiz": (run_ffmpeg, [
            f"fftdnoiz=sigma={min(share * sigma, FFTDNOIZ_MOST):.4g}:prev=1:next=1"
            for share in (3, 5)]),
        "ffmpeg hqdn3d": (run_ffmpeg, [f"hqdn3d={space * sigma:.4g}:0:{past * sigma:.4g}:0"
                                       for space, past in ((1.2, 0.6), (2, 0.8), (2, 2))]),
        "ffmpeg atadenoise": (run_ffmpeg, [
            f"atadenoise=0a={min(share * sigma / 255, ATADENOISE_MOST):.4g}"
            f":0b={min(4 * share * sigma / 255, 5):.4g}:s=5" for share in (2, 6)]),
        "OpenCV fastNlMeansDenoisingMulti": (run_opencv, [
            share * sigma for share in (0.8, 1)]),
    }


def missing(run, options):
    """Why peers that this function runs cannot be measured; None: they can."""
    if run is run_ffmpeg and shutil.which("ffmpeg") is None:
        return "there is no ffmpeg"
    if run is run_opencv and cv2 is None:
        return "this Python has no cv2"
    if run is run_vapoursynth and not options.vapoursynth:
        return "no command is given for a Python with VapourSynth"
    return None


# ---- clips ----

def video(path, options):
    """The middle of a video, from its second second on."""
    crop = "crop=min(iw\\,{}):min(ih\\,{})".format(*options.size)
    y4m = subprocess.run(["ffmpeg", "-v", "error", "-ss", "1", "-i", path, "-vf", crop,
                          "-frames:v", str(options.frames), "-pix_fmt", "gray", "-strict", "-1",
                          "-f", "yuv4mpegpipe", "-"], stdout=subprocess.PIPE, check=True).stdout
    header, rest = y4m.split(b"\n", 1)
    width, height = (int(word[1:]) for word in header.split()[1:3])
    size = len(b"FRAME\n") + width * height
    pictures = np.frombuffer(rest, np.uint8).reshape(-1, size)[:, len(b"FRAME\n"):]
    return pictures.reshape(-1, height, width).astype(float)


def clips(options):
    """Name: the clip, and the random numbers of its noise."""
    for kind in options.kinds:
        random = np.random.default_rng([options.seed, list(KINDS).index(kind)])
        yield KINDS[kind], motion.make_clip(kind, options.frames, random), random
    for i, path in enumerate(options.videos):
        random = np.random.default_rng([options.seed, FIRST_VIDEO + i])
        yield path, video(path, options), random


# ---- results ----

class Results:
    """Measurements by the parameters that they depend on, also kept in a file if there is one."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                key, value = json.loads(line)
                self.known[json.dumps(key)] = value

    def get(self, key, measure):
        text = json.dumps(key)
        if text not in self.known:
            self.known[text] = measure()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, self.known[text]]) + "\n")
        return self.known[text]


def psnrs_db(run, setting, noisy, clip, options):
    result = run(noisy, setting, options)[0]
    return [motion.psnr_db(result[frames], clip[frames]) for frames in RANGES.values()]


def time_ms(run, setting, noisy, options):
    short = run(noisy, setting, options)[1]
    longer = run(np.concatenate([noisy] * REPEATS), setting, options)[1]
    return 1000 * (longer - short) / ((REPEATS - 1) * len(noisy))


# ---- the tables ----

def print_tables(sigma, options, results):
    names = peers(sigma, "")
    there = [name for name in options.peers or names
             if missing(names[name][0], options) is None]
    chosen, rows, times = {name: [] for name in there}, [], None
    for name, clip, random in clips(options):
        noisy, floor, shot = motion.add_noise(clip, sigma, random, options.shot)
        chain = f"denoise:sigma={floor ** 0.5:.6g},shot={shot:.6g}"
        key = [name, sigma, options.seed, options.frames, options.shot, *options.size,
               options.device]
        row = []
        for peer in there:
            run, settings = peers(sigma, chain)[peer]
            found = [results.get([*key, peer, setting], lambda run=run, setting=setting: psnrs_db(
                run, setting, noisy, clip, options)) for setting in settings]
            row.append(max(found))
            chosen[peer].append(found.index(row[-1]))
        rows.append((name, row))
        print(f"{name}: " + ", ".join(f"{each[0]:.2f}" for each in row), file=sys.stderr)
        if times is None and options.time:
            times = []
            for peer in there:
                run, settings = peers(sigma, chain)[peer]
                setting = settings[chosen[peer][0]]
                times.append(results.get(
                    [*key, peer, setting, "ms"], lambda run=run, setting=setting: time_ms(
                        run, setting, noisy, options)))
    for i, frames in enumerate(RANGES):
        print(f"\nsigma {sigma:g}, seed {options.seed}, {options.frames} frames, "
              f"{100 * options.shot:g} % of the variance at mid grey is shot noise, PSNR of "
              f"{frames}:\n\n| PSNR, dB | {' | '.join(there)} |\n" +
              "| --- " * (len(there) + 1) + "|")
        for name, row in rows:
            print(f"| {pathlib.Path(name).stem} | {' | '.join(f'{each[i]:.2f}' for each in row)} |")
        if i == 0 and times:
            print(f"| ms a frame | {' | '.join(f'{each:.1f}' for each in times)} |")
    print("\nSettings, and in how many clips each was the best:\n")
    for peer in options.peers or names:
        run, settings = names[peer]
        if peer not in there:
            print(f"- {peer} was not measured: {missing(run, options)}.")
        elif len(settings) > 1:
            print(f"- {peer}: " + "; ".join(
                f"`{setting}` {chosen[peer].count(i)}" for i, setting in enumerate(settings)))
    sys.stdout.flush()


def kinds(text):
    return [] if text == "none" else motion.kinds(text)


def files(text):
    return [each for each in text.split(",") if each]


def names_of_peers(text):
    known = list(peers(1, ""))
    found = [[name for name in known if name.startswith(each)] for each in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text}: expected beginnings of {', '.join(known)}")
    return list(dict.fromkeys(name for names in found for name in names))


def size(text):
    width, height = map(int, text.split("x"))
    return width, height


def shot_share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0, below 1")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=9002)
    parser.add_argument("--kinds", type=kinds, default=list(KINDS_HERE),
                        help=f"none, or some of {', '.join(KINDS)}")
    parser.add_argument("--sigmas", type=motion.sigmas, default=[10.0, 25.0, 50.0])
    parser.add_argument("--frames", type=int, default=12, help="of each clip (12)")
    parser.add_argument("--videos", type=files, default=[], help="files that ffmpeg reads")
    parser.add_argument("--shot", type=shot_share, default=0.5,
                        help="the share of shot noise in the variance at mid grey (0.5)")
    parser.add_argument("--vapoursynth", default="",
                        help="a command that runs a Python with VapourSynth")
    parser.add_argument("--peers", type=names_of_peers, default=[],
                        help="beginnings of their names, such as denoise,V-BM3D (all)")
    parser.add_argument("--size", type=size, default=(WIDTH, HEIGHT),
                        help=f"size of the part of a video that is used ({WIDTH}x{HEIGHT})")
    parser.add_argument("--results", type=pathlib.Path, help="file that keeps the measurements")
    parser.add_argument("--no-time", dest="time", action="store_false",
                        help="leave out the processor time")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    results = Results(options.results)
    for sigma in options.sigmas:
        print_tables(sigma, options, results)


if __name__ == "__main__":
    main()
