#!/usr/bin/python3
"""Measures how long a change of the filter takes until the first frame with it is published.

    tests/bench/changes.py BUILD [SECONDS]

One daemon with empty caches, 1280x720 at 25 frames/s. Cold: each chain is set once. Then, with a
second daemon and empty caches again, which was left alone for SECONDS (60): each chain is set three
times. fftd-ctl says how long each change took. Prints the distributions, how many changes had to
compile, the processor time of what was compiled ahead, a table of all chains, and the load of the
machine. About four minutes on an idle one with two processors."""

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
CHANGE_S = 120  # for one change


def chains():
    """Returns the example of each kind in docs/FILTERS.md that needs no image and no lens, nor any
    plane beside luma."""
    text = (ROOT / "docs/FILTERS.md").read_text()
    found = dict.fromkeys(re.findall(r"^Example: `([^`]*)`", text, re.M))
    return [chain for chain in found
            if not re.search(r"image=|undistort|^stabilise$|^stack$", chain)]


class Daemon:
    def __init__(self, build, directory):
        self.build, self.directory = build, pathlib.Path(directory)
        self.log = self.directory / "log"
        env = {**os.environ, "POCL_CACHE_DIR": f"{directory}/pocl",
               "FFTD_PRESET_DIR": str(ROOT / "config/presets")}
        self.process = subprocess.Popen(
            [f"{build}/fftd", "--source", "pattern:moire", "--size", "1280x720", "--fps", "25",
             "--runtime-dir", f"{directory}/run", "--set", f"engine.cache_dir={directory}/cache"],
            env=env, stderr=self.log.open("wb"))
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
        """Returns the seconds that a change took, and whether it had to compile."""
        before = self.log.read_text().count("compiling the OpenCL programs")
        told = self.ctl("filter", "set", f"--timeout={CHANGE_S}", chain)
        after = self.log.read_text().count("compiling the OpenCL programs")
        return (told["Seconds"], after > before) if "Seconds" in told else None

    def compiled_ahead_s(self):
        """Returns the processor seconds of the process that compiles ahead; None: it has ended."""
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for pid in path.read_text().split():
                if b"--compile-ahead" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
                    fields = stat.rpartition(")")[2].split()
                    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return None

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
    """times: for each chain the seconds of its changes, and whether they compiled."""
    flat = sorted(seconds for found in times.values() for seconds, _ in found)
    compiled = sum(each for found in times.values() for _, each in found)
    p99 = flat[min(len(flat) - 1, int(len(flat) * 0.99))]
    print(f"{name}: {len(times)} chains, {len(flat)} changes, of which {compiled} compiled: "
          f"p50 {statistics.median(flat):.2f} s, p99 {p99:.2f} s, max {flat[-1]:.2f} s; "
          f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)


def measure_all(daemon, rounds):
    times = {}
    for chain in chains() * rounds:
        found = daemon.measure(chain)
        if found is None:
            print(f"not made within {CHANGE_S} s, or refused: {chain}", flush=True)
        else:
            times.setdefault(chain, []).append(found)
    return times


def main():
    build, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60
    with running(build) as daemon:
        cold = measure_all(daemon, 1)
    report("cold", cold)
    with running(build) as daemon:
        time.sleep(seconds)
        ahead = daemon.compiled_ahead_s()
        print(f"after {seconds:.0f} s: " + ("all is compiled" if ahead is None else
                                            f"still compiling, {ahead:.0f} s of a processor"))
        warm = measure_all(daemon, 3)
    report(f"after {seconds:.0f} s, first", {chain: found[:1] for chain, found in warm.items()})
    report(f"after {seconds:.0f} s, again", {chain: found[1:] for chain, found in warm.items()})
    print("\n| chain | cold | first | again |\n| --- | --- | --- | --- |")
    for chain, found in warm.items():
        shown = chain.replace("|", "\\|")
        first = f"{cold[chain][0][0]:.2f}" if chain in cold else "-"
        again = max((each for each, _ in found[1:]), default=float("nan"))
        print(f"| `{shown}` | {first} | {found[0][0]:.2f} | {again:.2f} |")


if __name__ == "__main__":
    main()
