"""`fftd-ctl motion` on a running daemon beside OpenCV's optical flow and OpenPIV (if it is
installed) on clips of a known vibration: what each measures of frequency and amplitude, and its
processor time for a field. Peers see all frames, as numbers in memory, and get the same window and
fit."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time

import numpy

import cv2

try:
    from openpiv import pyprocess
except ImportError:
    pyprocess = None

WIDTH, HEIGHT, RATE, SECONDS = 160, 128, 60, 10
LEFT = WIDTH // 2  # what is right of it vibrates
REGION = slice(16, HEIGHT - 16), slice(LEFT + 16, WIDTH - 16)  # rows and columns that are measured
HZ, PIXELS, SIGMA = (1, 28), (0.03, 0.3), (2, 8)
BUILD = pathlib.Path(os.environ.get("FFTD_BUILD", "build")).resolve()


def texture(random):
    """Noise that falls with frequency, as power falls in photographs: its spectrum."""
    fy, fx = numpy.fft.fftfreq(HEIGHT)[:, None], numpy.fft.rfftfreq(WIDTH)[None, :]
    size = 1 / (0.02 + numpy.hypot(fy, fx)) * (numpy.hypot(fy, fx) < 0.35)
    spectrum = size * numpy.exp(2j * math.pi * random.random(size.shape))
    return spectrum / numpy.fft.irfft2(spectrum, (HEIGHT, WIDTH)).std() * 40, fy, fx


def draw(random, is_goal):
    """Frequency, amplitude, direction and noise of a clip; the frequency has whole periods."""
    def between(least, most):
        return math.exp(random.uniform(math.log(least), math.log(most)))
    clip = {"hz": round(SECONDS * between(*HZ)) / SECONDS, "px": between(*PIXELS),
            "sigma": between(*SIGMA), "angle": random.uniform(0, math.pi)}
    return clip | {"hz": 7.3, "px": 0.05, "sigma": 5} if is_goal else clip


def render(random, clip):
    spectrum, fy, fx = texture(random)
    still = numpy.fft.irfft2(texture(random)[0], (HEIGHT, WIDTH))[:, :LEFT]
    along = math.cos(clip["angle"]) * fx + math.sin(clip["angle"]) * fy
    frames = []
    for i in range(RATE * SECONDS):
        moved = clip["px"] * math.cos(2 * math.pi * clip["hz"] * i / RATE)
        picture = numpy.fft.irfft2(spectrum * numpy.exp(-2j * math.pi * moved * along),
                                   (HEIGHT, WIDTH))
        picture[:, :LEFT] = still
        picture += 128 + random.normal(0, clip["sigma"], picture.shape)
        frames.append(numpy.rint(picture.clip(0, 255)).astype(numpy.uint8))
    return frames


def measure_fftd(frames):
    """Frequency, amplitude, fields, and the daemon's processor time for a frame."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "clip.y4m"
        with open(path, "wb") as file:
            file.write(b"YUV4MPEG2 W%d H%d F%d:1 Cmono\n" % (WIDTH, HEIGHT, RATE))
            for frame in frames:
                file.write(b"FRAME\n" + frame.tobytes())
        ask = [BUILD / "fftd-ctl", "--runtime-dir", directory]
        region = (f"{REGION[1].start},{REGION[0].start},{REGION[1].stop - REGION[1].start}x"
                  f"{REGION[0].stop - REGION[0].start}")
        with subprocess.Popen([BUILD / "fftd", "--runtime-dir", directory, "--source",
                               f"file:{path}", "--set", "camera.loop=true", "--set",
                               "output.motion=32"], stderr=subprocess.DEVNULL) as daemon:
            try:
                while subprocess.run([*ask, "frames", "-n", "1", "-o", "/dev/null"], check=False,
                                     capture_output=True).returncode != 0:
                    time.sleep(0.1)
                before = processor_s(daemon.pid)
                shown = subprocess.run([*ask, "motion", "--region", region, "--json", "--seconds",
                                        str(SECONDS)], check=True, stdout=subprocess.PIPE).stdout
                spent = processor_s(daemon.pid) - before
            finally:
                daemon.terminate()
    result = json.loads(shown)
    modes = result["Regions"][0]["Modes"]
    mode = modes[0] if modes else {"Hz": math.nan, "Pixels": math.nan}
    return mode["Hz"], mode["Pixels"], result["Fields"], 1e3 * spent / result["Fields"]


def processor_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def dis(last, following):
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(last, following, None)
    return flow[REGION].mean((0, 1))


def farneback(last, following):
    flow = cv2.calcOpticalFlowFarneback(last, following, None, 0.5, 4, 21, 5, 7, 1.5, 0)
    return flow[REGION].mean((0, 1))


def openpiv(last, following):
    u, v, _ = pyprocess.extended_search_area_piv(
        last[REGION].astype(numpy.int32), following[REGION].astype(numpy.int32), window_size=32,
        overlap=16, search_area_size=32, sig2noise_method=None)
    return numpy.array([numpy.nanmedian(u), -numpy.nanmedian(v)])


def fit(steps):
    """Frequency and amplitude of the strongest vibration in shifts from frame to frame, by sines
    under a Hann window, at the highest peak of the shifts' spectrum."""
    steps = numpy.array(steps) - numpy.mean(steps, 0)
    window = numpy.hanning(len(steps) + 2)[1:-1]
    hz = numpy.arange(0.2, 29, 0.002)
    waves = numpy.exp(-2j * math.pi * hz[:, None] / RATE * numpy.arange(len(steps)))
    power = numpy.linalg.norm(waves @ (window[:, None] * steps), axis=1)
    best = power.argmax()
    amplitude = 2 * power[best] / window.sum() / (2 * math.sin(math.pi * hz[best] / RATE))
    return hz[best], amplitude


def measure_peer(frames, function):
    begin = time.thread_time()
    steps = [function(*pair) for pair in zip(frames, frames[1:])]
    spent = time.thread_time() - begin
    return *fit(steps), len(steps), 1e3 * spent / len(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=4)
    parser.add_argument("--seed", type=int, default=9300)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    peers = {"DIS": dis, "Farneback": farneback}
    if pyprocess is not None:
        peers["OpenPIV, one pass"] = openpiv
    print("| Hz, px, sigma | measured by | error, Hz | error, px | fields | ms a field |")
    print("| --- | --- | --- | --- | --- | --- |")
    for i in range(options.clips):
        random = numpy.random.default_rng(options.seed + i)
        clip = draw(random, i == 0)
        frames = render(random, clip)
        for name in ("fftd", *peers):
            found = measure_peer(frames, peers[name]) if name in peers else measure_fftd(frames)
            print(f"| {clip['hz']:.1f}, {clip['px']:.3f}, {clip['sigma']:.1f} | {name} | "
                  f"{found[0] - clip['hz']:.3f} | {found[1] - clip['px']:.4f} | {found[2]} | "
                  f"{found[3]:.1f} |", flush=True)


main()
