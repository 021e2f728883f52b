#!/usr/bin/python3
"""Compares denoise of the running daemon with filters of ffmpeg and OpenCV on the same pictures.

    tests/bench/denoise.py --build DIRECTORY [--photographs NAME,... --seed N]

Photographs that come with scikit-image, in grey and at most 640 pixels wide and high, get Gaussian
noise and are rounded to 8 bits. denoise is told the sigma of the noise, or estimates it; the other
filters get the best of a few strengths, by the error to the photograph. Clips are of some of the
photographs, with other noise in each frame: standing, and panning by 1, 3 and 10 pixels; the error
is that of their last frame, to which past frames are joined. Times are of a clip of
1280x720: from one frame of fftd to the next, with more frames captured than it can filter;
ffmpeg's whole run without that of one that filters nothing; OpenCV's function alone.
With --photographs only the errors at the first sigma are printed, on these pictures.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

import cv2
import numpy as np
import skimage
import skimage.io

from restore import Daemon

PHOTOGRAPHS = ("astronaut.png", "camera.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg",
               "moon.png", "motorcycle_left.png", "retina.jpg", "rocket.jpg")
SIGMAS = (15, 25, 50)
SIDE = 640
CLIP_PHOTOGRAPHS = PHOTOGRAPHS[:3]
CLIP_SIDE = 384
CLIP_FRAMES = 12
CLIP_RATE_HZ = 4   # slow enough to lose no frame
PANS = (0, 1, 3, 10)   # px a frame
WIDTH, HEIGHT = 1280, 720


def photograph(name, side=SIDE):
    picture = skimage.io.imread(pathlib.Path(skimage.__file__).parent / "data" / name)
    picture = picture.astype(float)
    grey = picture if picture.ndim == 2 else picture[..., :3] @ [0.299, 0.587, 0.114]
    top, left = (max(0, length - side) // 2 for length in grey.shape)
    return grey[top:top + side, left:left + side]


def psnr_db(picture, reference):
    return 10 * np.log10(255 ** 2 / np.mean((picture - reference) ** 2))


def ffmpeg(filter_text, frames):
    """Filters 8-bit frames [n, height, width]."""
    height, width = frames[0].shape
    raw = ["-f", "rawvideo", "-pix_fmt", "gray"]
    done = subprocess.run(["ffmpeg", "-v", "error", *raw, "-s", f"{width}x{height}", "-i", "-",
                           "-vf", filter_text, *raw, "-"], input=np.stack(frames).tobytes(),
                          stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width)


# ---- the filters that are compared: what makes a picture, and factors of sigma to try ----

def fftdnoiz(noisy, strength):
    return ffmpeg(f"fftdnoiz=sigma={min(strength, 100)}", [noisy])[0]


def fftdnoiz_dense(noisy, strength):
    return ffmpeg(f"fftdnoiz=sigma={min(strength, 100)}:overlap=0.75", [noisy])[0]


def nlmeans(noisy, strength):
    return ffmpeg(f"nlmeans=s={min(strength, 30)}", [noisy])[0]


def bm3d(noisy, strength):
    return ffmpeg(f"bm3d=sigma={strength}:block=4:bstep=4", [noisy])[0]


def opencv(noisy, strength):
    return cv2.fastNlMeansDenoising(noisy, None, strength)


PEERS = {
    "fftdnoiz": (fftdnoiz, (1.5, 2, 3, 4, 5, 6.5)),
    "fftdnoiz, overlap 0.75": (fftdnoiz_dense, (1.5, 2, 3, 4, 5, 6.5)),
    "nlmeans": (nlmeans, (0.5, 0.65, 0.8, 1)),
    "bm3d, groups of one": (bm3d, (3, 3.5, 4, 4.5)),
    "fastNlMeans": (opencv, (0.8, 0.95, 1.1)),
}
OURS = {
    "16, one pass": "denoise:sigma=%g,block=16,passes=1",
    "32, one pass": "denoise:sigma=%g,passes=1",
    "16": "denoise:sigma=%g,block=16",
    "32": "denoise:sigma=%g",
    "32, estimated": "denoise",
    "32, quarter": "denoise:sigma=%g,hop=quarter",
    "soft threshold": "soft-threshold:sigma=%g",
}
FACTORS = 0.8, 0.9, 1, 1.1, 1.2
TEMPORAL = {
    "one frame": "denoise:sigma=%g",
    "temporal=2": "denoise:sigma=%g,temporal=2",
    "temporal=31": "denoise:sigma=%g,temporal=31",
}


# ---- error ----

def errors(options, sharp, sigma, random):
    noisy = np.clip(np.rint(sharp + random.normal(0, sigma, sharp.shape)), 0, 255).astype(np.uint8)
    ret = {}
    with Daemon(options.build, options.device, noisy) as daemon:
        for name, chain in OURS.items():
            ret[name] = psnr_db(daemon.frame(chain % sigma if "%" in chain else chain), sharp)
        ret["32, best sigma"] = max(psnr_db(daemon.frame(f"denoise:sigma={factor * sigma}"), sharp)
                                    for factor in FACTORS)
    for name, (peer, factors) in PEERS.items():
        ret[name] = max(psnr_db(peer(noisy, factor * sigma).astype(float), sharp)
                        for factor in factors)
    return ret


def compare_errors(options, photographs=PHOTOGRAPHS, sigmas=SIGMAS, side=SIDE):
    random = np.random.default_rng(options.seed)
    for sigma in sigmas:
        rows = {}
        for photo in photographs:
            rows[photo.partition(".")[0]] = errors(options, photograph(photo, side), sigma, random)
        names = list(next(iter(rows.values())))
        rows["mean"] = {name: np.mean([row[name] for row in rows.values()]) for name in names}
        print(f"\n| sigma {sigma} | {' | '.join(names)} |")
        print("| --- |" + " --- |" * len(names))
        for photo, row in rows.items():
            print(f"| {photo} | {' | '.join(f'{row[name]:.2f}' for name in names)} |", flush=True)


# ---- clips ----

class Clip(Daemon):
    """A daemon that repeats a clip, slowly."""

    def __init__(self, build, device, frames):
        super().__init__(build, device, np.concatenate(frames), CLIP_RATE_HZ)
        self.frames = frames

    def clip(self):
        height, width = self.frames[0].shape
        header = b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono\n" % (width, height, self.rate_hz)
        return header + b"".join(b"FRAME\n" + each.tobytes() for each in self.frames)

    def last_frame(self, chain):
        """The last frame of a clip that was filtered as a whole."""
        serial = self.set(chain)
        seen = 0
        for frame in self.camera.frames(every=True):
            is_last = frame.source_sequence % len(self.frames) == len(self.frames) - 1
            seen = seen + 1 if frame.filter_serial == serial else 0
            planes = frame.copy() if is_last and seen >= len(self.frames) else None
            if planes is not None:
                return planes[0].astype(float)


def fftdnoiz_of_two(frames, strength):
    return ffmpeg(f"fftdnoiz=sigma={min(strength, 100)}:prev=1", frames)[-1]


def compare_clips(options):
    random = np.random.default_rng(3)
    columns = [*TEMPORAL, "fftdnoiz, prev=1"]
    for sigma in SIGMAS:
        sums = {pan: dict.fromkeys(columns, 0) for pan in PANS}
        for photo in CLIP_PHOTOGRAPHS:
            for pan, row in sums.items():
                wide = photograph(photo)
                rows, width = (min(CLIP_SIDE, length) for length in wide.shape)
                width -= max(PANS) * (CLIP_FRAMES - 1)
                sharp = [wide[:rows, i * pan:i * pan + width] for i in range(CLIP_FRAMES)]
                noisy = [np.clip(np.rint(each + random.normal(0, sigma, each.shape)), 0,
                                 255).astype(np.uint8) for each in sharp]
                with Clip(options.build, options.device, noisy) as daemon:
                    for name, chain in TEMPORAL.items():
                        row[name] += psnr_db(daemon.last_frame(chain % sigma), sharp[-1])
                row["fftdnoiz, prev=1"] += max(
                    psnr_db(fftdnoiz_of_two(noisy, factor * sigma).astype(float), sharp[-1])
                    for factor in PEERS["fftdnoiz"][1])
        print(f"\n| sigma {sigma}, mean of clips | {' | '.join(columns)} |")
        print("| --- |" + " --- |" * len(columns))
        for pan, row in sums.items():
            print(f"| {f'panning by {pan}' if pan else 'standing'} | " +
                  " | ".join(f"{row[name] / len(CLIP_PHOTOGRAPHS):.2f}" for name in columns) + " |",
                  flush=True)


# ---- time ----

def ffmpeg_ms(filter_text, frames):
    times = []
    for text in "null", filter_text:
        start = time.monotonic()
        ffmpeg(text, frames)
        times.append(time.monotonic() - start)
    return (times[1] - times[0]) / len(frames) * 1e3


def fftd_ms(daemon, count=40):
    ends = [next(daemon.camera.frames(every=True)).finished_ns for _ in range(count)]
    return (ends[-1] - ends[0]) / (count - 1) / 1e6


def compare_times(options):
    sharp = photograph("rocket.jpg")
    wide = np.pad(sharp, [(0, HEIGHT - sharp.shape[0]), (0, WIDTH - sharp.shape[1])], "symmetric")
    noise = np.random.default_rng(2).normal(0, 15, wide.shape)
    noisy = np.clip(np.rint(wide + noise), 0, 255).astype(np.uint8)
    times = {}
    with Daemon(options.build, options.device, noisy, 400) as daemon:
        for name, chain in (OURS | TEMPORAL).items():
            daemon.frame(chain % 15 if "%" in chain else chain)
            times[name] = fftd_ms(daemon)
    for name, text, count in (("fftdnoiz", "fftdnoiz=sigma=45", 40),
                              ("fftdnoiz, overlap 0.75", "fftdnoiz=sigma=45:overlap=0.75", 20),
                              ("nlmeans", "nlmeans=s=10", 4)):
        times[name] = ffmpeg_ms(text, [noisy] * count)
    start = time.monotonic()
    opencv(noisy, 15)
    times["fastNlMeans"] = (time.monotonic() - start) * 1e3
    print(f"\n| {WIDTH}x{HEIGHT} | {' | '.join(times)} |")
    print("| --- |" + " --- |" * len(times))
    print(f"| ms a frame | {' | '.join(f'{ms:.1f}' for ms in times.values())} |")
    print(f"| frames a second | {' | '.join(f'{1e3 / ms:.1f}' for ms in times.values())} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--photographs", type=lambda text: text.split(","), metavar="NAME,...")
    parser.add_argument("--side", type=int, default=SIDE, help="of the photographs, at most, in px")
    parser.add_argument("--seed", type=int, default=1, help="of the noise")
    options = parser.parse_args()
    if options.photographs:
        compare_errors(options, options.photographs, SIGMAS[:1], options.side)
        return
    compare_times(options)
    compare_clips(options)
    compare_errors(options)
    compare_times(options)


if __name__ == "__main__":
    main()
