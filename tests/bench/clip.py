#!/usr/bin/python3
"""Compares the whole daemon with programs that filter video by FFT: frames a second, and PSNR.

    tests/bench/clip.py --build DIRECTORY --fftw PROGRAM

All get the same clip of 1280x720 from the page cache, made of photographs that come with
scikit-image. The blur is compared with a double-precision convolution of the mirrored frame, the
denoised frames with the clip before noise was added. Subjects take turns, and the figures are
medians over the rounds. fftd plays the clip at 1000 frames a second and publishes what it can, with
one reader; the others run as fast as they can and throw their frames away, ffmpeg with its default
number of threads.
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
import skimage.transform

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client/python"))
import fftd  # noqa: E402

WIDTH, HEIGHT, FRAMES = 1280, 720, 32
PHOTOGRAPHS = ("camera", "chelsea", "coffee", "astronaut", "rocket.jpg", "moon")
BLUR_SIGMA, NOISE_SIGMA = 20.0, 15.0
PATIENCE_S = 120
ROUNDS = 3
DENOISE = ("denoise:sigma=15,block=16,passes=1", "denoise:sigma=15", "denoise")


def photograph(name):
    path = pathlib.Path(skimage.__file__).parent / "data" / name
    picture = skimage.io.imread(path if path.suffix else path.with_suffix(".png")).astype(float)
    return picture if picture.ndim == 2 else picture[..., :3] @ [0.299, 0.587, 0.114]


def make_clip():
    """Six photographs side by side; the view moves over them by 1.5 pixels a frame."""
    tiles = [skimage.transform.resize(photograph(name), (400, 480), order=3, anti_aliasing=True)
             for name in PHOTOGRAPHS]
    wide = np.clip(np.block([tiles[:3], tiles[3:]]), 0, 255)
    return np.stack([wide[shift:shift + HEIGHT, 2 * shift:2 * shift + WIDTH]
                     for shift in range(FRAMES)])


def eight_bits(clip):
    return np.clip(np.rint(clip), 0, 255).astype(np.uint8)


def blurred(frame):
    """The model: the mirrored frame, its edge not repeated, convolved by a transform in double."""
    wide = np.pad(frame.astype(float), ((HEIGHT // 2,) * 2, (WIDTH // 2,) * 2), "reflect")
    fx = np.fft.rfftfreq(wide.shape[1])
    fy = np.fft.fftfreq(wide.shape[0])[:, None]
    response = np.exp(-2 * np.pi ** 2 * BLUR_SIGMA ** 2 * (fx ** 2 + fy ** 2))
    wide = np.fft.irfft2(np.fft.rfft2(wide) * response, wide.shape)
    return wide[HEIGHT // 2:HEIGHT // 2 + HEIGHT, WIDTH // 2:WIDTH // 2 + WIDTH]


def psnr_db(picture, reference):
    return 10 * np.log10(255 ** 2 / np.mean((picture.astype(float) - reference) ** 2))


class Daemon:
    """`with Daemon(options, clip, chain) as daemon:` a daemon that repeats the clip."""

    def __init__(self, options, clip, chain):
        self.options, self.clip, self.chain = options, clip, chain

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        place = f"{self.directory.name}/run"
        recording = pathlib.Path(self.directory.name) / "clip.y4m"
        with recording.open("wb") as file:
            file.write(b"YUV4MPEG2 W%d H%d F1000:1 Ip A1:1 Cmono\n" % (WIDTH, HEIGHT))
            for frame in self.clip:
                file.write(b"FRAME\n" + frame.tobytes())
        self.control = [f"{self.options.build}/fftd-ctl", "--runtime-dir", place, "--json"]
        self.process = subprocess.Popen(
            [f"{self.options.build}/fftd", "--quiet", "--set", "engine.compile_ahead=false",
             "--runtime-dir", place, "--device",
             self.options.device, "--source", f"file:{recording}", "--set", "camera.loop=true",
             "--filter", self.chain])
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.camera = fftd.Camera(place)
                self.camera.wait(PATIENCE_S)
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.__exit__()
                    raise
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def status(self):
        return json.loads(subprocess.run([*self.control, "status"], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def rate(self, seconds):
        """Frames published in a second, while this client looks at some of them."""
        first = None
        for frame in self.camera.frames():
            first = first or frame
            if frame.published_ns - first.published_ns > seconds * 1e9:
                return (frame.sequence - first.sequence) * 1e9 / (frame.published_ns -
                                                                  first.published_ns)

    def picture(self, index):
        """The filtered frame `index` of the clip."""
        for frame in self.camera.frames():
            planes = frame.copy() if frame.source_sequence % len(self.clip) == index else None
            if planes is not None:
                return planes[0]


def run_fftd(options, clip, chain):
    with Daemon(options, clip, chain) as daemon:
        daemon.rate(1)
        rate = daemon.rate(options.seconds)
        return rate, daemon.picture(0)


def run_fftw(options, raw, padded, mode):
    result = raw.with_suffix(".result")
    done = subprocess.run(
        [options.fftw, raw, str(WIDTH), str(HEIGHT), *map(str, padded), str(BLUR_SIGMA), mode,
         str(options.seconds), result], check=True, stdout=subprocess.PIPE)
    return float(done.stdout), np.fromfile(result, np.uint8).reshape(HEIGHT, WIDTH)


def run_ffmpeg(options, raw, name):
    """Times the frames after those of a short run, so that neither start nor planning counts."""
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-stream_loop", "-1", "-f", "rawvideo",
               "-pix_fmt", "gray", "-s", f"{WIDTH}x{HEIGHT}", "-i", raw, "-vf", name]
    result = raw.with_suffix(".result")
    subprocess.run([*command, "-frames:v", "1", "-f", "rawvideo", "-y", result], check=True)

    def seconds_for(frames):
        start = time.monotonic()
        subprocess.run([*command, "-frames:v", str(frames), "-f", "null", "-"], check=True)
        return time.monotonic() - start

    short = 16
    frames, start_s = 2 * short, seconds_for(short)
    while True:
        taken = seconds_for(frames) - start_s
        if taken >= options.seconds / 2:
            return (frames - short) / taken, np.fromfile(result, np.uint8).reshape(HEIGHT, WIDTH)
        frames *= 2


def run_opencv(options, clip, padded):
    """dft, mulSpectrums and idft in single precision, with copyMakeBorder to the same size."""
    import cv2
    x, y = padded
    right, bottom = (x - WIDTH) // 2, (y - HEIGHT) // 2
    border = (y - HEIGHT - bottom, bottom, x - WIDTH - right, right)
    fx = np.abs(np.fft.fftfreq(x))
    fy = np.fft.fftfreq(y)[:, None]
    response = np.exp(-2 * np.pi ** 2 * BLUR_SIGMA ** 2 * (fx ** 2 + fy ** 2))
    # The packed spectrum of a response that is real: dft of its kernel.
    kernel = cv2.dft(np.fft.ifft2(response).real.astype(np.float32))

    def filtered(frame):
        wide = cv2.copyMakeBorder(frame.astype(np.float32), *border, cv2.BORDER_REFLECT_101)
        spectrum = cv2.mulSpectrums(cv2.dft(wide), kernel, 0)
        wide = cv2.idft(spectrum, flags=cv2.DFT_SCALE | cv2.DFT_REAL_OUTPUT)
        inside = wide[border[0]:border[0] + HEIGHT, border[2]:border[2] + WIDTH]
        return cv2.convertScaleAbs(inside)

    result = filtered(clip[0])
    count, start = 0, time.monotonic()
    while time.monotonic() - start < options.seconds:
        filtered(clip[count % len(clip)])
        count += 1
    return count / (time.monotonic() - start), result


def padded_size(options, clip, chain):
    with Daemon(options, clip, chain) as daemon:
        engine = daemon.status()["Engine"]
        print(f"fftd: {engine}")
        return tuple(int(number) for number in engine.split(" in ")[1].split()[0].strip(",")
                     .split("x"))


def subjects_of(options, clean, noisy, directory):
    """Rows of the table: task, subject, how to run it, and what its first frame should be."""
    files = {}
    for name, clip in (("clean", clean), ("noisy", noisy)):
        files[name] = directory / f"{name}.raw"
        clip.tofile(files[name])
    blur = f"gaussian-blur:sigma={BLUR_SIGMA:g}"
    padded = padded_size(options, clean, blur)
    # fftfilt pads to the next power of two above 10/9 of the frame, and packs real and imaginary
    # parts of a coefficient side by side.
    weight = (f"exp(-2*PI*PI*{BLUR_SIGMA ** 2}*(pow(floor(X/2)/2048,2)"
              "+pow(floor(Y/2)/1024,2)))")
    model = blurred(clean[0])
    task = f"blur, sigma {BLUR_SIGMA:g}"
    yield task, "fftd", lambda: run_fftd(options, clean, blur), model
    ten = " | ".join([f"gaussian-blur:sigma={BLUR_SIGMA / 10 ** 0.5:.6f}"] * 10)
    yield task, "fftd, in ten stages", lambda: run_fftd(options, clean, ten), model
    for mode, text in (("frames", "a thread a frame"), ("split", "threads share a frame")):
        yield (task, f"FFTW, {text}",
               lambda mode=mode: run_fftw(options, files["clean"], padded, mode), model)
    yield (task, "ffmpeg fftfilt",
           lambda: run_ffmpeg(options, files["clean"], f"fftfilt=weight_Y='{weight}'"), model)
    yield task, "OpenCV dft", lambda: run_opencv(options, clean, padded), model
    task = f"denoise, sigma {NOISE_SIGMA:g}"
    for chain in options.denoise:
        yield (task, f"fftd {chain}", lambda chain=chain: run_fftd(options, noisy, chain),
               clean[0].astype(float))
    for name in (f"fftdnoiz=sigma={NOISE_SIGMA:g}", f"fftdnoiz=sigma={NOISE_SIGMA:g}:block=16",
                 f"nlmeans=s={NOISE_SIGMA:g}"):
        yield (task, f"ffmpeg {name}", lambda name=name: run_ffmpeg(options, files["noisy"], name),
               clean[0].astype(float))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--fftw", required=True, help="the program made from clip_fftw.c")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--denoise", nargs="*", metavar="CHAIN", default=DENOISE,
                        help="fftd's chains for the noisy clip")
    options = parser.parse_args()
    noise = np.random.default_rng(1).normal(0, NOISE_SIGMA, (FRAMES, HEIGHT, WIDTH))
    picture = make_clip()
    clean, noisy = eight_bits(picture), eight_bits(picture + noise)
    print(f"{WIDTH}x{HEIGHT}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; "
          f"noise leaves {psnr_db(noisy[0], clean[0]):.1f} dB")
    with tempfile.TemporaryDirectory(prefix="fftd-clip-") as directory:
        rows = list(subjects_of(options, clean, noisy, pathlib.Path(directory)))
        rates = [[] for _ in rows]
        for _ in range(ROUNDS):
            for (_, _, run, _), row in zip(rows, rates):
                rate, result = run()
                row.append((rate, result))
        print(f"\n{'task':18} {'program':42} {'frames/s':>9} {'PSNR, dB':>9}")
        for (task, name, _, model), row in zip(rows, rates):
            print(f"{task:18} {name:42} {np.median([rate for rate, _ in row]):9.1f} "
                  f"{psnr_db(row[-1][1], model):9.2f}")


if __name__ == "__main__":
    main()
