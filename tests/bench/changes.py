#!/usr/bin/python3
"""Measures how long a change of the filter takes until the first frame with it is published.

    tests/bench/changes.py BUILD [SECONDS]

One daemon with empty caches, 1280x720 at 25 frames/s. Cold: each chain is set once. Then, with a
second daemon and empty caches again, which was left alone for SECONDS (60): each chain is set three
times. fftd-ctl says how long each change took. Prints both distributions, the slowest chains, and
the load of the machine."""

import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 600


def chains():
    """Returns the example of each kind in docs/FILTERS.md that needs no image and no lens."""
    text = (ROOT / "docs/FILTERS.md").read_text()
    found = dict.fromkeys(re.findall(r"^Example: `([^`]*)`", text, re.M))
    return [chain for chain in found if "image=" not in chain and "undistort" not in chain]


class Daemon:
    def __init__(self, build, directory):
        self.build, self.directory = build, pathlib.Path(directory)
        env = {**os.environ, "POCL_CACHE_DIR": f"{directory}/pocl",
               "FFTD_PRESET_DIR": str(ROOT / "config/presets")}
        self.process = subprocess.Popen(
            [f"{build}/fftd", "--source", "pattern:moire", "--size", "1280x720", "--fps", "25",
             "--runtime-dir", f"{directory}/run", "--set", f"engine.cache_dir={directory}/cache"],
            env=env, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while self.ctl("--json", "status").get("State") != "online":
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def ctl(self, *arguments):
        done = subprocess.run([f"{self.build}/fftd-ctl", "--json", "--runtime-dir",
                               self.directory / "run", *arguments], capture_output=True, text=True,
                              check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def measure(self, chain):
        told = self.ctl("filter", "set", f"--timeout={PATIENCE_S}", chain)
        return told.get("Seconds")

    def is_compiling(self):
        return any(b"--compile-ahead" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                   for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
                   for pid in path.read_text().split())

    def stop(self):
        self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def running(build):
    with tempfile.TemporaryDirectory(prefix="fftd-changes-") as directory:
        daemon = Daemon(build, directory)
        try:
            yield daemon
        finally:
            daemon.stop()


def report(name, times):
    flat = sorted(each for found in times.values() for each in found)
    p99 = flat[min(len(flat) - 1, int(len(flat) * 0.99))]
    print(f"{name}: {len(times)} chains, {len(flat)} changes: p50 {statistics.median(flat):.2f} s, "
          f"p99 {p99:.2f} s, max {flat[-1]:.2f} s; load {os.getloadavg()[0]:.1f} on "
          f"{os.cpu_count()} processors")
    for chain, found in sorted(times.items(), key=lambda item: -max(item[1]))[:6]:
        print(f"    {max(found):6.2f} s  {chain}")


def main():
    build, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60
    with running(build) as daemon:
        report("cold", {chain: [found] for chain in chains()
                        if (found := daemon.measure(chain)) is not None})
    with running(build) as daemon:
        time.sleep(seconds)
        print(f"after {seconds:.0f} s: {'still compiling' if daemon.is_compiling() else 'done'}")
        times = {}
        for chain in [*chains()] * 3:
            found = daemon.measure(chain)
            if found is not None:
                times.setdefault(chain, []).append(found)
        report(f"after {seconds:.0f} s", times)


if __name__ == "__main__":
    main()
