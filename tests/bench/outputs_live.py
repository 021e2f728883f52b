#!/usr/bin/python3
"""What it costs to add an output to a camera that filters: the time from `fftd-ctl output add` to
the first frame of the output, until main and the output share a load, and main's frames meanwhile.

    outputs_live.py [WARM [COLD]]     adds this many outputs (20 each); FFTD_BUILD is
                                      the build folder, FFTD_DEVICE the device, OUTPUT_FPS the
                                      frames a second, OUTPUT_FILTER both filters

Each output is removed again before the next one. Warm: all programs are in the caches. Cold: the
caches of fftd and PoCL are emptied before each output, so that all of them are compiled. A gap is
the time between two frames of main that follow each other, as published, from the addition until
half a second after main is alone again; "alone" are the longest gaps in WARM stretches of two
seconds without any change. What is missing are frames of the source, in percent."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from outputs import BUILD, DEVICE, HEIGHT, PATIENCE_S, Reader, WIDTH

FPS = os.environ.get("OUTPUT_FPS", "25")
CHAIN = os.environ.get("OUTPUT_FILTER", "gaussian-blur:sigma=9")
ALONE_S = 2
TIMES = ("first frame, ms", "a load is shared, ms")
GAPS = ("main's longest gap, ms", "main's missing frames, %")


class Gaps(threading.Thread):
    """Takes all frames of main, and keeps when each was published."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.reader = Reader(folder)
        self.frames = []  # source sequence, nanoseconds
        self.is_over = False
        self.start()

    def run(self):
        raw = (ctypes.c_uint64 * 64)()
        library, handle = self.reader.library, self.reader.handle
        while not self.is_over:
            library.fftd_wait(handle, 100)
            while library.fftd_next(handle, raw) == 0:
                self.frames.append((raw[1], raw[7]))

    def between(self, start_ns, end_ns):
        """Returns the longest gap in milliseconds, and how many frames are missing."""
        frames = [frame for frame in self.frames if start_ns <= frame[1] <= end_ns]
        sequences = frames[-1][0] - frames[0][0] + 1
        return (max(b[1] - a[1] for a, b in zip(frames, frames[1:])) / 1e6,
                100 * (1 - len(frames) / sequences))

    def end(self):
        self.is_over = True
        self.join()
        self.reader.close()


class Daemon:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.run = self.folder / "run"
        self.caches = [self.folder / "cache", self.folder / "pocl"]
        env = {**os.environ, "POCL_CACHE_DIR": str(self.caches[1])}
        self.process = subprocess.Popen(
            [BUILD / "fftd", "--runtime-dir", self.run, "--device", DEVICE, "--source",
             "pattern:scene", "--size", f"{WIDTH}x{HEIGHT}", "--fps", FPS, "--filter", CHAIN,
             "--set", "engine.planes=luma", "--set", "engine.tune=off",
             "--set", f"engine.cache_dir={self.caches[0]}"],
            env=env, stderr=(self.folder / "log").open("wb"))

    def ctl(self, *arguments, output=""):
        run = self.run / "outputs" / output if output else self.run
        return subprocess.run([BUILD / "fftd-ctl", "--json", "--runtime-dir", run, *arguments],
                              check=True, stdout=subprocess.PIPE, timeout=PATIENCE_S).stdout

    def load(self, output=""):
        engine = json.loads(self.ctl("status", output=output))["Engine"]
        found = re.search(r", load (\d+),", engine)
        return found and found[1]

    def wait_for(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError((self.folder / "log").read_text())
            time.sleep(0.02)

    def empty_caches(self):
        for cache in self.caches:
            for entry in cache.iterdir() if cache.exists() else []:
                if entry.is_dir():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()


def is_shared(daemon):
    load = daemon.load()
    return load is not None and load == daemon.load("small")


def add(daemon, gaps):
    """Adds an output and removes it. Returns milliseconds until its first frame and until the load
    is shared, and what Gaps.between returns."""
    begin_ns = time.monotonic_ns()
    daemon.ctl("output", "add", "small", "--size", f"{WIDTH // 2}x{HEIGHT // 2}", "--set",
               "planes=luma", CHAIN)
    small = Reader(daemon.run / "outputs/small")
    small.take(1)
    first_ns = time.monotonic_ns()
    daemon.wait_for(lambda: is_shared(daemon))
    shared_ns = time.monotonic_ns()
    small.close()
    daemon.ctl("output", "remove", "small")
    daemon.wait_for(lambda: daemon.load() is None)
    time.sleep(0.5)
    gap, missing = gaps.between(begin_ns, time.monotonic_ns())
    return (first_ns - begin_ns) / 1e6, (shared_ns - begin_ns) / 1e6, gap, missing


def alone(gaps):
    begin_ns = time.monotonic_ns()
    time.sleep(ALONE_S)
    return gaps.between(begin_ns, time.monotonic_ns())


def show(name, whats, results):
    for what, *values in zip(whats, *results):
        ordered = sorted(values)
        print(f"| {name}: {what} | {statistics.median(ordered):.0f} | "
              f"{ordered[int(0.99 * len(ordered))]:.0f} |", flush=True)


def main():
    warm, cold = [int(argument) for argument in (sys.argv[1:] + ["20", "20"])[:2]]
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(folder)
        gaps = Gaps(daemon.run)
        try:
            daemon.wait_for(lambda: len(gaps.frames) > 50)
            print(f"{WIDTH}x{HEIGHT} at {FPS} frames/s, {CHAIN}, {DEVICE}\n\n"
                  "| | p50 | p99 |\n| --- | --- | --- |")
            show("main alone", GAPS, [alone(gaps) for _ in range(warm)])
            add(daemon, gaps)
            show(f"{warm} warm", TIMES + GAPS, [add(daemon, gaps) for _ in range(warm)])
            results = []
            for _ in range(cold):
                daemon.empty_caches()
                results.append(add(daemon, gaps))
            show(f"{cold} cold", TIMES + GAPS, results)
        finally:
            gaps.end()
            daemon.process.terminate()
            daemon.process.wait()
        print(f"\nload of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
