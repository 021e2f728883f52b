#!/usr/bin/env python3
"""Measures what `stack` gains: PSNR of the stack beside that of one frame, on clips that drift and
turn at random; where a satellite has passed; and the time of a processor that a frame takes.

    stack.py --build build [--json FILE] [--frames 64] [--first-seed 9000] [--clips 6]
             [--sigma 10] [--chain stack:frames=64] [--time] [--peers]
    stack.py --build build --shaken --frames 16 --sigma 3 --chain stack:frames=16,power=11

A clip is drawn from a seed: a photograph of scikit-image, seen by a camera that drifts by up to 0.6
pixels and 0.05 degrees a frame, with a jitter of 0.5 pixels and 0.05 degrees. Frames are sampled
from the photograph at twice their size, blurred as by a lens and by pixels. Noise is that of the
light and of a sensor, of sigma at a level of 128, and samples are rounded to 8 bits. They are given
to the daemon as Y16, so that what was gained is not rounded away. In half of the clips a satellite
passes: in a third of the frames there is a trail, in each another piece of a straight line. The
error is that of the middle, which all frames show: 32 pixels from the edges, and as far as the
camera has drifted.

With --shaken the camera moves during each exposure, by 3 to 12 pixels in a random direction, on a
random parabola. The stack is then compared with the best frame, each against what it would show
without blur and noise. A blurred first frame misplaces the whole stack a little, so a second gain
is that of the stack moved back by the best shift.

With --peers other programs stack the same frames (stack_peers.py). All are measured alike.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.ndimage
import skimage.io

from path import children_s

PHOTOGRAPHS = ("astronaut.png", "rocket.jpg", "hubble_deep_field.jpg", "moon.png", "camera.png",
               "retina.jpg")
SCALE = 2  # pixels of a photograph to one of a frame
LENS = 1.0  # sigma, pixels of a photograph
SHAKES = 3, 12  # pixels of a frame
BEND = 0.5  # sigma of the bend: four times a path's height, as a share of its length
MARGIN = 32  # pixels
STEP = 257  # of a sample of 16 bits, for one of 8


def photograph(name):
    picture = skimage.io.imread(pathlib.Path(skimage.__file__).parent / "data" / name)
    grey = picture.astype(float)
    grey = grey if grey.ndim == 2 else grey[..., :3] @ [0.299, 0.587, 0.114]
    return scipy.ndimage.gaussian_filter(grey, LENS)


def shaken(photo, length, angle, bend):
    """Returns a photograph as seen by a camera that moves during the exposure."""
    t = np.linspace(-0.5, 0.5, 49)
    along, across = length * t, length * bend * (t * t - np.mean(t * t))
    fy, fx = np.meshgrid(*map(np.fft.fftfreq, photo.shape), indexing="ij")
    response = np.zeros(photo.shape, complex)
    for x, y in zip(np.cos(angle) * along - np.sin(angle) * across,
                    np.sin(angle) * along + np.cos(angle) * across):
        response += np.exp(-2j * np.pi * (fx * x + fy * y)) / len(t)
    return np.fft.ifft2(np.fft.fft2(photo) * response).real


def registered(picture, reference, area):
    """Returns a picture, shifted as a whole to where it differs least from another one."""
    for _ in range(4):
        dy, dx = np.gradient(picture)
        columns = np.stack([dy[area].ravel(), dx[area].ravel()], axis=1)
        shift = np.linalg.lstsq(columns, (picture - reference)[area].ravel(), rcond=None)[0]
        picture = scipy.ndimage.shift(picture, shift, order=5, mode="nearest")
    return picture


def psnr_db(picture, reference):
    return 10 * np.log10(255 ** 2 / np.mean((picture - reference) ** 2))


class Clip:
    """Frames of a photograph; `clean` is what the first one shows, without noise."""

    def __init__(self, seed, frames, sigma, is_shaken):
        self.random = np.random.default_rng(seed)
        self.name = PHOTOGRAPHS[seed % len(PHOTOGRAPHS)]
        self.photo = photograph(self.name)
        self.spline = scipy.ndimage.spline_filter(self.photo, 5)
        self.height, self.width = (min(length // SCALE // 2 * 2, most)
                                   for length, most in zip(self.photo.shape, (480, 640)))
        speed = self.random.uniform(-1, 1, 3) * (0.6, 0.6, np.radians(0.05))
        jitter = self.random.normal(0, 1, (frames, 3)) * (0.5, 0.5, np.radians(0.05))
        self.path = speed * np.arange(frames)[:, None] + jitter
        self.path -= self.path[0]
        self.frames, self.sigma = frames, sigma
        self.shakes = [(SCALE * self.random.uniform(*SHAKES), self.random.uniform(0, np.pi),
                        self.random.normal(0, BEND)) for _ in range(frames)] if is_shaken else None
        self.clean = self.draw(0, self.spline)
        drift = int(np.abs(self.path[:, :2]).max() +
                    np.abs(self.path[:, 2]).max() * max(self.width, self.height) / 2) + MARGIN
        self.inside = (slice(drift, -drift), slice(drift, -drift))

    def expose(self, number):
        if self.shakes is None:
            return self.draw(number, self.spline)
        photo = shaken(self.photo, *self.shakes[number])
        return self.draw(number, scipy.ndimage.spline_filter(photo, 5))

    def draw(self, number, spline):
        dx, dy, angle = self.path[number]
        y, x = np.mgrid[:self.height, :self.width].astype(float)
        u, v = x - (self.width - 1) / 2 - dx, y - (self.height - 1) / 2 - dy
        cos, sin = np.cos(angle), np.sin(angle)
        at = [SCALE * (cos * v - sin * u) + (self.photo.shape[0] - 1) / 2,
              SCALE * (cos * u + sin * v) + (self.photo.shape[1] - 1) / 2]
        return scipy.ndimage.map_coordinates(spline, at, order=5, mode="mirror",
                                             prefilter=False)

    def add_trail(self, picture, number):
        """A piece of the line from the left edge to the right one, two pixels wide."""
        first, last = self.line * self.height
        y, x = np.mgrid[:self.height, :self.width].astype(float)
        off = (y - first - (last - first) * x / self.width) / 1.2
        piece = (x / self.width * (self.frames // 3 + 1)).astype(int) == number - self.frames // 3
        picture += 90 * np.exp(-off ** 2) * piece

    def noisy(self, with_trail):
        self.line = self.random.uniform(0.4, 0.6, 2)
        for number in range(self.frames):
            picture = self.expose(number)
            if with_trail:
                self.add_trail(picture, number)
            yield self.add_noise(picture)

    def add_noise(self, picture):
        scale = self.sigma * np.sqrt((32 + np.maximum(picture, 0)) / 160)
        noise = scale * self.random.normal(0, 1, picture.shape)
        return np.rint(np.clip(picture + noise, 0, 255)).astype(int)


def run(*command):
    """Returns the seconds of a processor that it took."""
    before = children_s()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)
    return children_s() - before


def measure(options, seed, with_trail, folder):
    clip = Clip(seed, options.frames, options.sigma, options.shaken)
    recording, out = f"{folder}/in.raw", f"{folder}/out.raw"
    all_db, frames = [], []
    with open(recording, "wb") as file:
        for number, frame in enumerate(clip.noisy(with_trail)):
            frames.append(frame)
            (frame * STEP).astype("<u2").tofile(file)
            clean = clip.draw(number, clip.spline) if number > 0 else clip.clean
            if number == 0 or options.shaken:
                all_db.append(psnr_db(frame[clip.inside], clean[clip.inside]))
    command = (f"{options.build}/fftd-ctl", "convert", recording, out, "--size",
               f"{clip.width}x{clip.height}", "--pixel-format", "Y16", "--filter", options.chain)
    run(*command)
    stack = np.fromfile(out, "<u2")[-clip.width * clip.height:]
    stack = stack.reshape(clip.height, clip.width) / STEP
    area = clip.inside
    if options.save:
        for name, picture in (("single", frames[0]), ("stack", stack), ("clean", clip.clean)):
            skimage.io.imsave(f"{options.save}/{seed}-{name}.png",
                              np.clip(np.rint(picture), 0, 255).astype("u1"))
    # On a clean frame, the noise of one is all of its error.
    one = max(all_db)
    all_ = psnr_db(stack[area], clip.clean[area])
    if options.peers:
        few, taken_s = options.frames // 4, run(*command)
        pathlib.Path(recording).write_bytes(pathlib.Path(recording).read_bytes()
                                            [:2 * few * clip.width * clip.height])
        measure_peers(clip, frames, one, all_, 1000 * (taken_s - run(*command)) /
                      (options.frames - few))
    y, x = np.mgrid[:clip.height, :clip.width]
    first, last = clip.line * clip.height
    on_trail = np.abs(y - first - (last - first) * x / clip.width) < 1.5
    trail = np.sqrt(np.mean(((stack - clip.clean)[area])[on_trail[area]] ** 2))
    return {"seed": seed, "photograph": clip.name, "trail": with_trail, "on_trail_rms": trail,
            "one_db": one, "stack_db": all_, "gain_db": all_ - one,
            "registered_gain_db": psnr_db(registered(stack, clip.clean, area)[area],
                                          clip.clean[area]) - one}


def measure_peers(clip, frames, one, gained, ms):
    from stack_peers import stacks
    print(f"  {clip.name}, fftd: gain {gained - one:.2f} dB, {ms:.1f} ms a frame")
    for name, (picture, rms, left_out, peer_ms) in stacks(clip, frames):
        print(f"  {clip.name}, {name}: "
              f"gain {psnr_db(picture[clip.inside], clip.clean[clip.inside]) - one:.2f} dB, "
              f"registration {rms:.3f} px, left out {left_out}, {peer_ms:.1f} ms a frame",
              flush=True)


def measure_time(options, folder, width=1280, height=720):
    """Milliseconds of a processor for a frame, without what a chain that does nothing takes."""
    random = np.random.default_rng(1)
    scene = scipy.ndimage.zoom(photograph("astronaut.png"), 3, order=1)
    recording, out = f"{folder}/time.raw", f"{folder}/out.raw"
    with open(recording, "wb") as file:
        for number in range(options.frames):
            turned = scipy.ndimage.affine_transform(
                scene, [[1, 0.0003 * number], [-0.0003 * number, 1]],
                [100 + 0.3 * number, 100 + 0.2 * number], (height, width), order=1, mode="mirror")
            noisy = turned + random.normal(0, 5, turned.shape)
            np.clip(np.rint(noisy), 0, 255).astype("u1").tofile(file)

    def seconds(chain, count):
        size = count * width * height
        with open(recording, "rb") as whole, open(f"{folder}/part.raw", "wb") as part:
            part.write(whole.read(size))
        return run(f"{options.build}/fftd-ctl", "convert", f"{folder}/part.raw", out, "--size",
                   f"{width}x{height}", "--pixel-format", "GREY", "--filter", chain)
    few = options.frames // 4
    return {chain: 1000 * (seconds(chain, options.frames) - seconds(chain, few)) /
            (options.frames - few) for chain in ("none", "gaussian-blur:sigma=1", options.chain)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--frames", type=int, default=64)
    parser.add_argument("--first-seed", type=int, default=9000)
    parser.add_argument("--sigma", type=float, default=10)
    parser.add_argument("--chain", default="stack:frames=64")
    parser.add_argument("--shaken", action="store_true", help="frames are blurred by shake")
    parser.add_argument("--save", type=pathlib.Path, help="a folder for pictures")
    parser.add_argument("--peers", action="store_true", help="other programs, too")
    parser.add_argument("--time", action="store_true", help="measure the time alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.time:
            rows = [measure_time(options, folder)]
            print("ms of a processor for a frame of 1280x720: " +
                  ", ".join(f"{chain} {ms:.1f}" for chain, ms in rows[0].items()))
        else:
            rows = []
            for seed in range(options.first_seed, options.first_seed + options.clips):
                for with_trail in (False, True)[:1 if options.shaken or options.peers else 2]:
                    row = measure(options, seed, with_trail, folder)
                    rows.append(row)
                    print("{seed} {photograph:22} trail {trail:d}: best single frame "
                          "{one_db:.2f} dB, stack {stack_db:.2f} dB, gain {gain_db:.2f} dB, "
                          "moved back {registered_gain_db:.2f} dB, on the line rms "
                          "{on_trail_rms:.2f}".format(**row),
                          flush=True)
    if options.json:
        with open(options.json, "a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    sys.exit(main())
