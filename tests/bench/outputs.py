#!/usr/bin/python3
"""What further outputs of one camera cost for each frame of main, with outputs that are read and
that are not: processor time of the daemon, and time of the device by its own clock, in which one
frame of 32 is measured. On a CPU device the processor's time includes the device's.

    outputs.py [FRAMES]     prints a table; FFTD_BUILD is the build folder, FFTD_DEVICE the device,
                            OUTPUT_FPS the frames a second, OUTPUT_CASES a pattern for the
                            cases to measure, besides those of main alone
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("FFTD_BUILD", "build")).resolve()
DEVICE = os.environ.get("FFTD_DEVICE", "auto")
PLANES = os.environ.get("OUTPUT_PLANES", "luma")
WIDTH, HEIGHT = 1280, 720
FPS = int(os.environ.get("OUTPUT_FPS", "15"))
# Two that are transformed (a wide blur has a narrow band), and one that is not at full size.
FILTERS = ("lowpass:shape=ideal,cutoff=0.3", "gaussian-blur:sigma=20", "gaussian-blur:sigma=3")
HALF, QUARTER = (WIDTH // 2, HEIGHT // 2), (WIDTH // 4, HEIGHT // 4)
# Name, size of main, size of each further output, and whether they are read. Each case is compared
# with the last one that has no further output.
CASES = (
    ("main alone", None, [], True),
    ("and one of the same size", None, [(WIDTH, HEIGHT)], True),
    ("and two of the same size", None, [(WIDTH, HEIGHT)] * 2, True),
    ("and seven of the same size", None, [(WIDTH, HEIGHT)] * 7, True),
    ("and one of half the size", None, [HALF], True),
    ("and two of half the size", None, [HALF] * 2, True),
    ("and seven of half the size", None, [HALF] * 7, True),
    ("and one of a quarter of the size", None, [QUARTER], True),
    ("and three of a quarter of the size", None, [QUARTER] * 3, True),
    ("and seven of half the size that nobody reads", None, [HALF] * 7, False),
    ("main of a quarter of the size alone", QUARTER, [], True),
    ("and one of that size", QUARTER, [QUARTER], True),
    ("and seven of that size", QUARTER, [QUARTER] * 7, True),
)
WANTED = os.environ.get("OUTPUT_CASES", "")
PATIENCE_S = 300
SETTLED_S = 3


class Reader:
    """Wakes for each frame of an output and looks at none."""

    library = ctypes.CDLL(str(BUILD / "libfftd.so.0"))

    def __init__(self, folder):
        self.handle = ctypes.c_void_p()
        deadline = time.monotonic() + PATIENCE_S
        while self.library.fftd_open(ctypes.byref(self.handle), str(folder).encode()) < 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{folder}: no daemon")
            time.sleep(0.05)

    def take(self, count):
        raw = (ctypes.c_uint64 * 64)()
        for _ in range(count):
            if self.library.fftd_wait(self.handle, PATIENCE_S * 1000) <= 0:
                raise TimeoutError("no frame")
            self.library.fftd_frame(self.handle, raw)
        return raw[0]

    def close(self):
        self.library.fftd_close(self.handle)


def processor_s(pid):
    """Of all threads, of which none ends while it is measured."""
    return sum(int((thread / "schedstat").read_text().split()[0])
               for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def device_ms(run, count):
    """Of a frame of main, and of what was made with it for the other outputs."""
    total = 0
    for folder in [run] + [run / "outputs" / f"o{i}" for i in range(count)]:
        stats = json.loads(subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", folder, "--json",
                                           "stats"], check=True, stdout=subprocess.PIPE,
                                          timeout=PATIENCE_S).stdout)
        total += sum(ns / frames for frames, ns in stats["StepTimes"].values() if frames > 0)
    return total / 1e6


def wait_until_settled(log_path, engines):
    """Waits until all engines are built, and none has been for a while: an output's engine is
    replaced when it can share the load of another output."""
    deadline, last, since = time.monotonic() + PATIENCE_S, 0, time.monotonic()
    while last < engines or time.monotonic() < since + SETTLED_S:
        if time.monotonic() > deadline:
            raise TimeoutError(log_path.read_text())
        count = log_path.read_text().count("engine: ") + log_path.read_text().count("compiling")
        last, since = count, time.monotonic() if count != last else since
        time.sleep(0.1)


def measure(main_size, outputs, is_read, frames, chain):
    """Returns milliseconds for each frame of main: of processors, and of the device."""
    groups = ", ".join(f'{{ name = "o{i}"; size = "{width}x{height}"; filter = "{chain}"; '
                       f'planes = "{PLANES}"; }}'
                       for i, (width, height) in enumerate(outputs))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        run, log_path = pathlib.Path(folder) / "run", pathlib.Path(folder) / "log"
        log = stack.enter_context(log_path.open("wb"))
        daemon = subprocess.Popen(
            [BUILD / "fftd", "--runtime-dir", run, "--device", DEVICE, "--source", "pattern:scene",
             "--size", f"{WIDTH}x{HEIGHT}", "--fps", str(FPS), "--filter", chain,
             "--set", f"engine.planes={PLANES}",
             *(["--set", "output.size={}x{}".format(*main_size)] if main_size else []),
             "--set", "engine.compile_ahead=false", "--set", "engine.tune=off",
             "--set", f"outputs=( {groups} )"],
            stderr=log)
        stack.callback(daemon.wait)
        stack.callback(daemon.terminate)
        readers = [Reader(run)]
        stack.callback(readers[0].close)
        for i in range(len(outputs) if is_read else 0):
            readers.append(Reader(run / "outputs" / f"o{i}"))
            stack.callback(readers[-1].close)
        wait_until_settled(log_path, 1 + len(outputs))
        for reader in readers:
            reader.take(5)
        begin, first = processor_s(daemon.pid), readers[0].take(1)
        last = readers[0].take(frames)
        used_s = processor_s(daemon.pid) - begin
        return used_s / (last - first) * 1000, device_ms(run, len(outputs))


def main():
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for chain in FILTERS:
        print(f"\n{WIDTH}x{HEIGHT} NV12, planes = {PLANES}, {chain} in every output, {frames} "
              f"frames at {FPS}/s\n")
        print("| outputs | processor time a frame, ms | more than without the others | device, ms "
              "| more |\n| --- | --- | --- | --- | --- |")
        alone = None
        for name, main_size, outputs, is_read in CASES:
            if outputs and not re.search(WANTED, name):
                continue
            turns = [measure(main_size, outputs, is_read, frames, chain) for _ in range(3)]
            turns = [sorted(each) for each in zip(*turns)]
            alone = alone if outputs else [each[1] for each in turns]
            print(f"| {name} |", " | ".join(
                f"{each[1]:.3g} ({each[0]:.3g} .. {each[2]:.3g}) | {100 * (each[1] / of - 1):.0f} %"
                for each, of in zip(turns, alone)), "|", flush=True)


if __name__ == "__main__":
    main()
