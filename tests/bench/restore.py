#!/usr/bin/python3
"""Compares wiener of the running daemon with scikit-image's on the same blurred photographs.

    tests/bench/restore.py --build DIRECTORY

The photographs come with scikit-image. Each is blurred, gets noise, and is rounded to 8 bits. Both
filters have one number that depends on the noise; each gets its best value of a grid, by the error
to the sharp picture. Times are per frame of the median size: fftd's from its frames' timestamps,
from submission to the device to the end; scikit-image's of its function alone, on the picture with
the same border.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import skimage
import skimage.io
from skimage import restoration

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client/python"))
import fftd  # noqa: E402

PHOTOGRAPHS = ("camera", "chelsea", "moon", "brick", "coins")
PATIENCE_S = 60
BORDER = 32   # pixels, mirrored, around what scikit-image gets
EDGE = 16     # pixels left out of the comparison: what came from beyond the edge is unknown
NOISES = 10.0 ** np.arange(-4.5, 0.1, 0.5)
BALANCES = 10.0 ** np.arange(-4, 2.6, 0.5)
FRAMES = 20   # to take the time of


def photograph(name):
    path = pathlib.Path(skimage.__file__).parent / "data" / f"{name}.png"
    picture = skimage.io.imread(path).astype(float)
    return picture if picture.ndim == 2 else picture[..., :3] @ [0.299, 0.587, 0.114]


def kernels():
    """For each blur its kernel, and the parameters of wiener for it."""
    y, x = np.mgrid[-7:8, -7:8]
    gaussian = np.exp(-(x ** 2 + y ** 2) / 2 / 1.5 ** 2)
    fine = np.linspace(-7.5, 7.5, 15 * 24, endpoint=False) + 0.5 / 24
    disk = (fine[:, None] ** 2 + fine ** 2 <= 9).reshape(15, 24, 15, 24).sum((1, 3))
    line = (abs(x) <= 4) * (y == 0)
    blurs = {"gaussian, sigma 1.5": (gaussian, "blur=gaussian,size=1.5"),
             "disk, radius 3": (disk, "blur=disk,size=3"),
             "motion by 9": (line, "blur=motion,size=9"),
             "measured": (measured_point(), "blur=image,image=psf.pgm")}
    return {name: (kernel / kernel.sum(), chain) for name, (kernel, chain) in blurs.items()}


def measured_point():
    """The picture of a point by a camera that shakes a little out of focus, in 8 bits: what both
    filters are given, and what the picture is blurred with before it is rounded."""
    y, x = np.mgrid[-7:8, -7:8]
    time_s = np.linspace(0, 1, 200)[:, None, None]
    path_x, path_y = 4 * np.sin(2.2 * time_s), 3 * time_s ** 2 - 2 * np.sin(5 * time_s)
    point = np.exp(-((x - path_x + 2) ** 2 + (y - path_y) ** 2) / 2 / 0.8 ** 2).sum(0)
    return np.rint(255 * point / point.max())


def convolve(picture, kernel):
    wide = np.pad(picture, BORDER, "reflect")
    whole = np.zeros_like(wide)
    whole[:15, :15] = kernel
    whole = np.roll(whole, (-7, -7), (0, 1))
    blurred = np.fft.ifft2(np.fft.fft2(wide) * np.fft.fft2(whole)).real
    return blurred[BORDER:-BORDER, BORDER:-BORDER]


def psnr_db(picture, reference):
    inside = np.s_[EDGE:-EDGE, EDGE:-EDGE]
    return 10 * np.log10(255 ** 2 / np.mean((picture[inside] - reference[inside]) ** 2))


class Daemon:
    """`with Daemon(build, device, picture) as daemon:` a daemon that repeats one picture."""

    def __init__(self, build, device, picture, rate_hz=60):
        self.build, self.device, self.picture = build, device, picture
        self.rate_hz = rate_hz

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        clip, place = pathlib.Path(self.directory.name) / "clip.y4m", self.directory.name + "/run"
        clip.write_bytes(self.clip())
        psf = measured_point().astype(np.uint8)
        (pathlib.Path(self.directory.name) / "psf.pgm").write_bytes(
            b"P5 %d %d 255\n" % psf.shape[::-1] + psf.tobytes())
        self.control = [self.build / "fftd-ctl", "--runtime-dir", place]
        self.process = subprocess.Popen(
            [self.build / "fftd", "--quiet", "--set", "engine.compile_ahead=false",
             "--runtime-dir", place, "--device", self.device,
             "--source", f"file:{clip}", "--set", "camera.loop=true", "--set",
             f"engine.margin={2 * BORDER}"],
            env=os.environ | {"FFTD_IMAGE_DIR": self.directory.name})
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.camera = fftd.Camera(place)
                return self
            except OSError:  # there is no socket yet, or nobody listens yet
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit("restore.py: fftd does not start")
                time.sleep(0.05)

    def __exit__(self, *_):
        self.camera.close()
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def clip(self):
        height, width = self.picture.shape
        header = b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono\nFRAME\n"
        return header % (width, height, self.rate_hz) + self.picture.tobytes()

    def set(self, chain):
        """Returns the serial of the filter."""
        done = subprocess.run([*self.control, "--json", "filter", "set", chain], check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)["Serial"]

    def frame(self, chain):
        serial = self.set(chain)
        for frame in self.camera.frames():
            planes = frame.copy() if frame.filter_serial == serial else None
            if planes is not None:
                return planes[0].astype(float)

    def frame_ms(self):
        frames = [next(self.camera.frames(every=True)) for _ in range(FRAMES)]
        return np.median([frame.finished_ns - frame.submitted_ns for frame in frames]) / 1e6


def peer(wide, kernel, balance):
    picture = restoration.wiener(wide / 255, kernel, balance, clip=False)
    return np.clip(picture[BORDER:-BORDER, BORDER:-BORDER] * 255, 0, 255)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    rows, times = [], []
    print(f"{'':44}{'blurred':>9}{'fftd':>9}{'skimage':>9}  dB")
    for name in PHOTOGRAPHS:
        sharp = photograph(name)
        for blur, (kernel, parameters) in kernels().items():
            for sigma in (1, 5):
                noisy = convolve(sharp, kernel) + random.normal(0, sigma, sharp.shape)
                blurred = np.clip(np.rint(noisy), 0, 255)
                with Daemon(options.build, options.device, blurred.astype(np.uint8)) as daemon:
                    ours = max(psnr_db(daemon.frame(f"wiener:{parameters},noise={noise}"), sharp)
                               for noise in NOISES)
                    ours_ms = daemon.frame_ms()
                wide = np.pad(blurred, BORDER, "reflect")
                theirs = max(psnr_db(peer(wide, kernel, balance), sharp) for balance in BALANCES)
                start = time.monotonic()
                peer(wide, kernel, 1)
                times.append((ours_ms, (time.monotonic() - start) * 1e3))
                rows.append((ours, theirs))
                print(f"{f'{name}, {blur}, noise {sigma}':44}{psnr_db(blurred, sharp):9.2f}"
                      f"{ours:9.2f}{theirs:9.2f}", flush=True)
    better = np.array([ours - theirs for ours, theirs in rows])
    print(f"fftd - skimage: mean {better.mean():.2f} dB, median {np.median(better):.2f}, "
          f"worst {better.min():.2f}, best {better.max():.2f}")
    print("time of a frame, median: fftd {:.2f} ms, skimage {:.0f} ms".format(
        *np.median(times, axis=0)))


if __name__ == "__main__":
    main()
