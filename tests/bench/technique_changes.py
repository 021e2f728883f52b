#!/usr/bin/python3
"""Measures how long a change of filter takes, from `fftd-ctl filter set` to the first frame.

    tests/bench/technique_changes.py [--build DIRECTORY] [--device DEVICE] [--size SIZE] [--count N]

Two filters take turns: of one reach, whose engine stays; of two reaches of one technique; and of
two techniques. The first change to each filter compiles its kernels and counts apart. Times are
from the start of fftd-ctl to the publication of the first frame with the new filter, so they
include that program and the wait for the next frame. The processor time is that of the thread that
designs the filter and builds the engine, which other programs on the machine hardly change; on a
CPU device it does not have the time that the driver's own threads compile.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from latency import open_camera

KERNEL = "convolve:kernel=1 2 3/-4 5 1/0 0.5 -2,normalise=sum"
CHANGES = [
    ("one reach, direct", "gaussian-blur:sigma=2", "gaussian-blur:sigma=2.1"),
    ("one reach, tiles", "sharpen:sigma=5", "sharpen:sigma=5.2"),
    ("transform", "gaussian-blur:sigma=6", "gaussian-blur:sigma=7"),
    ("two reaches, direct", KERNEL, "gaussian-blur:sigma=2"),
    ("two reaches, tiles", "sharpen:sigma=5", "sharpen:sigma=6"),
    ("direct and tiles", KERNEL, "sharpen:sigma=5"),
    ("direct and transform", KERNEL, "gaussian-blur:sigma=6"),
    ("tiles and transform", "sharpen:sigma=5", "gaussian-blur:sigma=6"),
]


def designer_ns(pid):
    """Processor time of the designer's thread."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "designer":
            return int((task / "schedstat").read_text().split()[0])
    sys.exit("changes.py: fftd has no thread `designer`")


class Changer:
    def __init__(self, options, directory, pid, camera):
        self.ctl = [options.build / "fftd-ctl", "--runtime-dir", directory, "--json"]
        self.pid = pid
        self.frames = camera.frames(every=True)

    def ask(self, *words):
        done = subprocess.run([*self.ctl, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"changes.py: {' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout)

    def change(self, chain):
        """Returns the time to the first frame, that of the call, and the designer's, in ms."""
        before, start = designer_ns(self.pid), time.monotonic_ns()
        serial = self.ask("filter", "set", chain)["Serial"]
        called = time.monotonic_ns()
        frame = next(frame for frame in self.frames if frame.filter_serial == serial)
        designed = designer_ns(self.pid)
        return [ns / 1e6 for ns in (frame.published_ns - start, called - start, designed - before)]


def percentiles(values):
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, 99 * len(ordered) // 100)]


def measure(options, changer):
    print(f"{'ms':22} {'first':>8} {'p50':>8} {'p99':>8} {'call p50':>9} {'design p50':>11} "
          f"{'p99':>8}   engines")
    rows, seen = [], set()
    for name, *chains in CHANGES:
        found, first_ms, engines = [], [], []
        for chain in chains:
            first = changer.change(chain)[0]
            if chain not in seen:
                first_ms.append(first)
            seen.add(chain)
            engines.append(changer.ask("status")["Engine"].split(",")[0])
        for i in range(options.count):
            found.append(changer.change(chains[i % 2]))
        total, call, design = zip(*found)
        row = {"bench": "changes", "subject": name, "size": options.size, "count": len(found),
               "first_ms": max(first_ms, default=None), "ms": percentiles(total)[0],
               "p99_ms": percentiles(total)[1], "call_ms": percentiles(call)[0],
               "design_ms": percentiles(design)[0], "design_p99_ms": percentiles(design)[1],
               "engines": engines, "load": os.getloadavg()[0]}
        first = f"{row['first_ms']:8.0f}" if first_ms else f"{'':8}"
        print(f"{name:22} {first} {row['ms']:8.1f} {row['p99_ms']:8.1f} {row['call_ms']:9.1f} "
              f"{row['design_ms']:11.2f} {row['design_p99_ms']:8.2f}   {'; '.join(engines)}",
              flush=True)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FFTD_BUILD", "build")),
                        help="the directory of the programs (FFTD_BUILD, or build)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--fps", type=float, default=60)
    parser.add_argument("--count", type=int, default=100, help="changes of each kind (100)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="of the daemon's configuration")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    print(f"{options.size} at {options.fps:g} frames a second; {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fftd-changes-") as base:
        directory = f"{base}/run"
        settings = [f"engine.cache_dir={base}/cache", "engine.tune=off", "output.slots=32",
                    "camera.format=GREY", *options.set]
        daemon = subprocess.Popen([
            options.build / "fftd", "--quiet", "--runtime-dir", directory, "--device",
            options.device, "--source", "pattern:moire", "--size", options.size, "--fps",
            str(options.fps), "--filter", "none",
            *(word for setting in settings for word in ("--set", setting))])
        try:
            with open_camera(directory, daemon) as camera:
                rows = measure(options, Changer(options, directory, daemon.pid, camera))
        finally:
            daemon.terminate()
            daemon.wait()
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
