#!/usr/bin/python3
"""Measures the latency of a frame in the running daemon, from capture to publication and to a
client.

    tests/bench/latency.py --build DIRECTORY [SIZE...]

Every frame carries five timestamps. A client reads every frame and notes the time; percentiles are
over these frames, and not from a histogram. "Beyond the device" is the time from capture to
publication without the time from submission to finish, which the device and its driver take.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client/python"))
import fftd  # noqa: E402

WARM_UP_S = 3
PATIENCE_S = 120
SLOTS = 32  # this client may be late and still miss no frame

# Pairs of a frame's timestamps.
STAGES = {
    "captured to dequeued": ("captured_ns", "dequeued_ns"),
    "to submitted": ("dequeued_ns", "submitted_ns"),
    "to finished": ("submitted_ns", "finished_ns"),
    "to published": ("finished_ns", "published_ns"),
    "captured to published": ("captured_ns", "published_ns"),
    "published to read": ("published_ns", "read_ns"),
}
TIMES = ("captured_ns", "dequeued_ns", "submitted_ns", "finished_ns", "published_ns")


def read_frames(camera, seconds):
    """Returns one column of times for each frame read in this time, and the number of missed
    ones."""
    columns = {name: [] for name in (*TIMES, "read_ns")}
    missed = 0
    end = time.monotonic() + seconds
    for frame in camera.frames(every=True):
        columns["read_ns"].append(time.monotonic_ns())
        for name in TIMES:
            columns[name].append(getattr(frame, name))
        missed += frame.missed
        if time.monotonic() > end:
            break
    return {name: numpy.array(values) for name, values in columns.items()}, missed


def open_camera(directory, daemon):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            camera = fftd.Camera(directory)
            camera.wait(PATIENCE_S)
            return camera
        except OSError:
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def measure(options, size):
    with tempfile.TemporaryDirectory(prefix="fftd-latency-") as base:
        directory = f"{base}/run"
        daemon = subprocess.Popen([
            f"{options.build}/fftd", "--quiet", "--set", "engine.compile_ahead=false",
            "--runtime-dir", directory, "--source",
            options.source, "--size", size, "--fps", str(options.fps), "--filter", options.filter,
            "--set", f"engine.device={options.device}", "--set", f"output.slots={SLOTS}",
            *(word for key in options.set for word in ("--set", key))])
        try:
            with open_camera(directory, daemon) as camera:
                read_frames(camera, WARM_UP_S)
                columns, missed = read_frames(camera, options.seconds)
            status = json.loads(subprocess.run(
                [f"{options.build}/fftd-ctl", "--runtime-dir", directory, "--json", "status"],
                capture_output=True, check=True).stdout)
        finally:
            daemon.terminate()
            daemon.wait()
    return columns, missed, status


def stages_of(columns):
    stages = {name: columns[end] - columns[begin] for name, (begin, end) in STAGES.items()}
    device = columns["finished_ns"] - columns["submitted_ns"]
    stages["beyond the device"] = stages["captured to published"] - device
    return stages


def report(size, columns, missed, status):
    frames = len(columns["read_ns"])
    print(f"\n{size}, {status['Engine']}, on {status['Device']}, {status['Input']}: "
          f"{frames} frames, {missed} missed")
    print(f"{'ms':22} {'p50':>8} {'p90':>8} {'p99':>8} {'max':>8}")
    rows = []
    for name, values in stages_of(columns).items():
        ms = [float(numpy.percentile(values, p)) / 1e6 for p in (50, 90, 99, 100)]
        print(f"{name:22} " + " ".join(f"{each:8.3f}" for each in ms))
        rows.append({"bench": "latency", "size": size, "device": status["Device"],
                     "input": status["Input"], "subject": name, "ms": ms[0], "p90_ms": ms[1],
                     "p99_ms": ms[2], "max_ms": ms[3], "frames": frames, "missed": int(missed),
                     "machine": platform.node(), "load": os.getloadavg()[0]})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--source", default="pattern:moire")
    parser.add_argument("--filter", default="lowpass:shape=gaussian,cutoff=0.1")
    parser.add_argument("--fps", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="of the daemon's configuration")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("sizes", nargs="*", default=["640x360", "1280x720"])
    options = parser.parse_args()
    print(f"{options.source} at {options.fps:g} frames a second, {options.filter}; "
          f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    rows = []
    for size in options.sizes:
        rows += report(size, *measure(options, size))
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
