#!/usr/bin/python3
"""Measures the path of a frame through the whole daemon, from its source to the ring.

    tests/bench/path.py [--build DIRECTORY] [--devices INDEX,...] [--parts PART,...] [SIZE...]

It needs the built programs and Python alone, so that it runs on any machine to which they have been
carried; what it compares fftd with is measured where it is there. The parts are:

rate     Frames a second at fps = max, of a recording (GREY, in the page cache) and of a test scene
         (NV12), with one blur and no client; the daemon's processor time a frame; and what its
         processors copied for a frame, by its own counters. Memory is what crosses main memory
         from capture to ring, as a multiple of what the engine's dispatches read and write for a
         filter that lets all frequencies pass: a copied byte crosses it twice.
latency  From capture to publication at 60 frames a second, as the daemon counts it since its
         start, in buckets that are 9 % wide.
daemons  1, 2, 4, ... daemons on one device, each at 60 frames a second, until one of them loses
         frames.
peers    The same blur of the same recording by a program for FFTW with two threads (clip_fftw.c),
         also without the columns of the spectrum where the blur is 0, as fftd leaves them out;
         by ffmpeg's fftfilt and by OpenCV's dft, as fast as they can, at the first size. fftd on
         the first device and FFTW take turns, since other guests of a host change its speed within
         seconds; the ratio is the median of those of the rounds.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CLIP_FRAMES = 8
ROUNDS = 7
WARM_UP_S = 1.0
PATIENCE_S = 300  # of the first start, which compiles kernels
RATE = 60
KEPT_UP = 0.97  # of the frames due; a measurement begins and ends between two frames
BYTES_A_PIXEL = re.compile(r"([\d.]+) bytes a pixel")  # of the engine's description
PARTS = ("rate", "latency", "daemons", "peers")


def blur(options):
    return f"gaussian-blur:sigma={options.sigma:g}"


def processor_s(process):
    """Returns the processor time that a process has used until now."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def children_s():
    """Returns the processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Sample:
    """What a daemon has done until now."""

    def __init__(self, daemon):
        stats = daemon.stats()
        self.time_s = time.monotonic()
        self.processor_s = processor_s(daemon.process)
        self.counters, self.copies = stats["Counters"], stats["Copies"]
        self.latency = stats["Latency"]["total"]

    def frames_since(self, first):
        return self.counters["published"] - first.counters["published"]

    def rate_since(self, first):
        return self.frames_since(first) / (self.time_s - first.time_s)

    def lost_since(self, first):
        names = ("source_lost", "dropped_stale", "dropped_engine")
        return sum(self.counters[name] - first.counters[name] for name in names)

    def processor_ms_since(self, first):
        return 1e3 * (self.processor_s - first.processor_s) / max(1, self.frames_since(first))

    def copies_since(self, first):
        """Copies a frame, and the bytes a frame at each step that copied any."""
        frames = max(1, self.frames_since(first))
        counts = {step: (times - first.copies[step][0], count - first.copies[step][1])
                  for step, (times, count) in self.copies.items()}
        return (sum(times for times, _ in counts.values()) / frames,
                {step: count / frames for step, (times, count) in counts.items() if times > 0})


class Daemon:
    """`with Daemon(options, device, source, size, fps) as daemon`"""

    def __init__(self, options, device, source, size, fps, extra=()):
        self.build = options.build
        self.directory = tempfile.TemporaryDirectory(prefix="fftd-path-")
        self.place = f"{self.directory.name}/run"
        settings = [f"engine.cache_dir={options.cache}", "engine.tune=off", "camera.loop=true",
                    *options.set, *extra]
        self.process = subprocess.Popen([
            self.build / "fftd", "--quiet", "--set", "engine.compile_ahead=false",
            "--runtime-dir", self.place, "--device", str(device),
            "--source", source, "--size", size, "--fps", str(fps), "--filter", blur(options),
            *(word for setting in settings for word in ("--set", setting))])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def ask(self, what):
        done = subprocess.run([self.build / "fftd-ctl", "--runtime-dir", self.place, "--json",
                               what], capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def stats(self):
        stats = self.ask("stats")
        if stats is None:
            sys.exit("fftd ended, or does not answer")
        return stats

    def wait(self):
        """Waits until frames are published."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            stats = self.ask("stats")
            if stats is not None and stats["Counters"]["published"] > 10:
                return self
            time.sleep(0.05)
        sys.exit("fftd publishes no frames")

    def measure(self, seconds):
        time.sleep(WARM_UP_S)
        first = Sample(self)
        time.sleep(seconds)
        return first, Sample(self)


def make_clip(directory, size):
    """Frames without headers: noise that is the same in every run. What they show does not change
    how long anything takes."""
    path = directory / f"{size}.gray"
    width, height = map(int, size.split("x"))
    if not path.exists():
        source = random.Random(1)
        with path.open("wb") as file:
            for _ in range(CLIP_FRAMES):
                file.write(source.randbytes(width * height))
    return path


def sources_of(clip, fps):
    return (("recording GREY", f"file:{clip}", fps, ("camera.format=GREY",)),
            ("scene NV12", "pattern:scene", fps, ("camera.format=NV12",)))


def measure_rate(options, device, size, clip):
    for name, source, fps, extra in sources_of(clip, "max"):
        with Daemon(options, device["index"], source, size, fps, extra) as daemon:
            first, last = daemon.wait().measure(options.seconds)
            copies, steps = last.copies_since(first)
            status = daemon.ask("status")
            memory = status["Input"].split(" (")[0]
            width, height = map(int, size.split("x"))
            engine_bytes = width * height * float(BYTES_A_PIXEL.search(status["Engine"])[1])
        row = {"part": "rate", "device": device["name"], "size": size, "source": name,
               "frames_per_s": last.rate_since(first), "input": memory, "copies": copies,
               "processor_ms": last.processor_ms_since(first), "copied_bytes": sum(steps.values()),
               "steps": steps, "engine_bytes": engine_bytes,
               "memory": 1 + 2 * sum(steps.values()) / engine_bytes}
        print(f"{size:>10} {name:15} {row['frames_per_s']:9.1f} {row['processor_ms']:9.3f} "
              f"{copies:7.2f} {row['copied_bytes'] / 1e6:9.3f} {row['memory']:7.3f}   "
              + ", ".join(f"{step} {count / 1e6:.3f}" for step, count in steps.items())
              + f"; {memory}", flush=True)
        yield row


def measure_latency(options, device, size, clip):
    for name, source, fps, extra in sources_of(clip, RATE):
        with Daemon(options, device["index"], source, size, fps, extra) as daemon:
            first, last = daemon.wait().measure(3 * options.seconds)
        row = {"part": "latency", "device": device["name"], "size": size, "source": name,
               "frames_per_s": last.rate_since(first), "lost": last.lost_since(first),
               "p50_ms": last.latency["p50_ns"] / 1e6, "p99_ms": last.latency["p99_ns"] / 1e6,
               "processor_ms": last.processor_ms_since(first)}
        print(f"{size:>10} {name:15} {row['frames_per_s']:9.1f} {row['processor_ms']:9.3f} "
              f"{row['p50_ms']:9.3f} {row['p99_ms']:9.3f} {row['lost']:6}", flush=True)
        yield row


def measure_daemons(options, device, size, _):
    count, behind = 1, False
    while count <= options.daemons and not behind:
        daemons = [Daemon(options, device["index"], "pattern:scene", size, RATE,
                          ("camera.format=NV12",)) for _ in range(count)]
        try:
            for daemon in daemons:
                daemon.wait()
            time.sleep(WARM_UP_S)
            first = [Sample(daemon) for daemon in daemons]
            time.sleep(options.seconds)
            last = [Sample(daemon) for daemon in daemons]
        finally:
            for daemon in daemons:
                daemon.__exit__()
        pairs = list(zip(first, last))
        rates = [end.rate_since(begin) for begin, end in pairs]
        lost = sum(end.lost_since(begin) for begin, end in pairs)
        behind = min(rates) < KEPT_UP * RATE or lost > 0
        row = {"part": "daemons", "device": device["name"], "size": size, "daemons": count,
               "frames_per_s": sum(rates), "slowest": min(rates), "lost": lost,
               "processor_ms": sum(end.processor_ms_since(begin) for begin, end in pairs) / count}
        print(f"{size:>10} {count:15} {sum(rates):9.1f} {row['processor_ms']:9.3f} "
              f"{min(rates):9.1f} {lost:6}{'   behind' if behind else ''}", flush=True)
        yield row
        count *= 2


HEADS = {
    "rate": f"{'size':>10} {'source':15} {'frames/s':>9} {'CPU, ms':>9} {'copies':>7} "
            f"{'MB copied':>9} {'memory':>7}   at each step, a frame",
    "latency": f"{'size':>10} {'source':15} {'frames/s':>9} {'CPU, ms':>9} {'p50, ms':>9} "
               f"{'p99, ms':>9} {'lost':>6}",
    "daemons": f"{'size':>10} {'daemons':>15} {'frames/s':>9} {'CPU, ms':>9} {'slowest':>9} "
               f"{'lost':>6}",
}
MEASURES = {"rate": measure_rate, "latency": measure_latency, "daemons": measure_daemons}


# ---- peers ----

def padded_size(options, size, clip):
    with Daemon(options, "auto", f"file:{clip}", size, "max", ("camera.format=GREY",)) as daemon:
        engine = daemon.wait().ask("status")["Engine"]
    return [int(number) for number in
            engine.split(" in ")[1].split()[0].strip(",").split("x")]


def fftd_rate(options, device, size, clip):
    with Daemon(options, device["index"], f"file:{clip}", size, "max",
                ("camera.format=GREY",)) as daemon:
        first, last = daemon.wait().measure(options.seconds)
        return last.rate_since(first)


def fftw_rate(options, size, clip, padded, mode):
    done = subprocess.run(
        [options.build / "bench/clip_fftw", clip, *size.split("x"), *map(str, padded),
         str(options.sigma), mode, str(options.seconds), os.devnull], check=True,
        stdout=subprocess.PIPE)
    return float(done.stdout)


def measure_turns(options, device, size, clip):
    """fftd beside FFTW: yields name, median rate, and ratios of fftd's rate to it in each round."""
    program = options.build / "bench/clip_fftw"
    if not program.exists():
        print(f"FFTW is not measured: there is no {program}; `make {program}` builds it")
        return
    padded = padded_size(options, size, clip)
    fftd, modes = [], {"split": [], "frames": [], "band": []}
    for _ in range(ROUNDS):
        fftd.append(fftd_rate(options, device, size, clip))
        for mode, rates in modes.items():
            rates.append(fftw_rate(options, size, clip, padded, mode))
    yield f"fftd, {device['name']}", statistics.median(fftd), None
    for mode, name in (("split", "FFTW, threads share one"), ("frames", "FFTW, a thread a frame"),
                       ("band", "FFTW, without the 0s")):
        yield name, statistics.median(modes[mode]), [ours / its for ours, its
                                                     in zip(fftd, modes[mode])]


def peer_ffmpeg(options, size, clip):
    """The frames after those of a short run, so that neither start nor planning counts."""
    if shutil.which("ffmpeg") is None:
        print("ffmpeg is not measured: it is not installed")
        return
    # fftfilt pads to the next power of two above 10/9 of the frame.
    x, y = (1 << (side * 10 // 9 - 1).bit_length() for side in map(int, size.split("x")))
    weight = f"exp(-2*PI*PI*{options.sigma ** 2}*(pow(floor(X/2)/{x},2)+pow(floor(Y/2)/{y},2)))"

    def seconds_for(frames):
        start = time.monotonic()
        subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-stream_loop", "-1", "-f",
                        "rawvideo", "-pix_fmt", "gray", "-s", size, "-i", clip, "-vf",
                        f"fftfilt=weight_Y='{weight}'", "-frames:v", str(frames), "-f", "null",
                        "-"], check=True)
        return time.monotonic() - start

    short = 8
    frames, start_s = 2 * short, seconds_for(short)
    while True:
        taken_s = seconds_for(frames) - start_s
        if taken_s >= options.seconds / 2:
            yield "ffmpeg fftfilt", (frames - short) / taken_s
            return
        frames *= 2


def peer_opencv(options, size, clip):
    try:
        import cv2
        import numpy as np
    except ImportError as reason:
        print(f"OpenCV is not measured: {reason}")
        return
    width, height = map(int, size.split("x"))
    x, y = padded_size(options, size, clip)
    right, bottom = (x - width) // 2, (y - height) // 2
    border = (y - height - bottom, bottom, x - width - right, right)
    squares = np.fft.fftfreq(x) ** 2 + np.fft.fftfreq(y)[:, None] ** 2
    response = np.exp(-2 * np.pi ** 2 * options.sigma ** 2 * squares)
    # The packed spectrum of a response that is real: dft of its kernel.
    kernel = cv2.dft(np.fft.ifft2(response).real.astype(np.float32))
    frames = np.fromfile(clip, np.uint8).reshape(-1, height, width)
    count, start = 0, time.monotonic()
    while time.monotonic() - start < options.seconds:
        frame = frames[count % len(frames)].astype(np.float32)
        wide = cv2.copyMakeBorder(frame, *border, cv2.BORDER_REFLECT_101)
        spectrum = cv2.mulSpectrums(cv2.dft(wide), kernel, 0)
        wide = cv2.idft(spectrum, flags=cv2.DFT_SCALE | cv2.DFT_REAL_OUTPUT)
        cv2.convertScaleAbs(wide[border[0]:border[0] + height, border[2]:border[2] + width])
        count += 1
    yield "OpenCV dft", count / (time.monotonic() - start)


def measure_peers(options, device, size, clip):
    print(f"\nOn the processor: {size} GREY, {ROUNDS} rounds of fftd and FFTW\n"
          f"{'':10} {'program':40} {'frames/s':>9} {'fftd is':>9}")
    for name, rate, ratios in measure_turns(options, device, size, clip):
        beside = "" if ratios is None else (f"{statistics.median(ratios):8.2f}x  of "
                                            f"{min(ratios):.2f} to {max(ratios):.2f}")
        print(f"{'':10} {name:40.40} {rate:9.1f} {beside}", flush=True)
        yield {"part": "peers", "size": size, "program": name, "frames_per_s": rate,
               "fftd_is": ratios}
    for peer in (peer_ffmpeg, peer_opencv):
        for name, rate in peer(options, size, clip):
            print(f"{'':10} {name:40} {rate:9.1f}", flush=True)
            yield {"part": "peers", "size": size, "program": name, "frames_per_s": rate}


def devices_of(options):
    done = subprocess.run([options.build / "fftd", "--list-devices", "--json"], check=True,
                          stdout=subprocess.PIPE)
    devices = json.loads(done.stdout)["opencl"]
    if not devices:
        sys.exit("there is no OpenCL device")
    return [device for device in devices if options.devices is None
            or str(device["index"]) in options.devices or device["type"] in options.devices]


def words(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FFTD_BUILD", "build")),
                        help="the directory of the programs (FFTD_BUILD, or build)")
    parser.add_argument("--devices", type=words, help="their indices or types; all by default")
    parser.add_argument("--parts", type=words, default=PARTS, help=",".join(PARTS))
    parser.add_argument("--sigma", type=float, default=20, help="of the blur (20)")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--daemons", type=int, default=32, help="at most that many at once")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="of the daemons' configuration")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("sizes", nargs="*", default=["1280x720", "1920x1080", "3840x2160"])
    options = parser.parse_args()
    if not set(options.parts) <= set(PARTS):
        parser.error(f"--parts {','.join(options.parts)}: expected some of {','.join(PARTS)}")
    options.build = options.build.resolve()
    print(f"{blur(options)}, {options.seconds:g} s each; {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="fftd-path-") as directory:
        options.cache = f"{directory}/cache"
        clips = {size: make_clip(pathlib.Path(directory), size) for size in options.sizes}
        for device in devices_of(options):
            for part in (part for part in MEASURES if part in options.parts):
                print(f"\n{device['name']}: {part}\n{HEADS[part]}")
                for size in options.sizes:
                    rows += MEASURES[part](options, device, size, clips[size])
        if "peers" in options.parts:
            rows += measure_peers(options, devices_of(options)[0], options.sizes[0],
                                  clips[options.sizes[0]])
    if options.json:
        options.json.write_text("".join(json.dumps({"bench": "path", **row}) + "\n"
                                        for row in rows))


if __name__ == "__main__":
    main()
