#!/usr/bin/python3
"""What further outputs of one camera cost for each frame of main, with outputs that are read and
that are not: processor time of the daemon, and time of the device by its own clock, in which one
frame of 32 is measured. On a CPU device the processor's time includes the device's.

    outputs.py [FRAMES]     prints a table; FFTD_BUILD is the build folder, FFTD_DEVICE the device,
                            OUTPUT_FPS the frames a second, OUTPUT_TURNS the number of turns of
                            each case (at least 2), FRAMES frames each, OUTPUT_CASES a pattern for
                            the cases to measure, besides those of main alone
"""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import statistics
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
TURNS = int(os.environ.get("OUTPUT_TURNS", "12"))
SETTLING_FRAMES = 6  # after a pause
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


class Camera:
    """A daemon that runs, and readers of its outputs."""

    def __init__(self, stack, main_size, outputs, is_read, chain):
        groups = ", ".join(f'{{ name = "o{i}"; size = "{width}x{height}"; filter = "{chain}"; '
                           f'planes = "{PLANES}"; }}'
                           for i, (width, height) in enumerate(outputs))
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.run, self.output_count = folder / "run", len(outputs)
        log = stack.enter_context((folder / "log").open("wb"))
        self.daemon = subprocess.Popen(
            [BUILD / "fftd", "--runtime-dir", self.run, "--device", DEVICE, "--source",
             "pattern:scene", "--size", f"{WIDTH}x{HEIGHT}", "--fps", str(FPS), "--filter", chain,
             "--set", f"engine.planes={PLANES}",
             *(["--set", "output.size={}x{}".format(*main_size)] if main_size else []),
             "--set", "engine.compile_ahead=false", "--set", "engine.tune=off",
             "--set", "engine.frame_timeout=3600",  # it may be stopped with a frame in flight
             "--set", f"outputs=( {groups} )"],
            stderr=log)
        stack.callback(self.daemon.wait)
        stack.callback(self.daemon.terminate)
        stack.callback(self.proceed)  # one that is paused would not end
        self.readers = [Reader(self.run)]
        self.readers += [Reader(self.run / "outputs" / f"o{i}")
                         for i in range(len(outputs) if is_read else 0)]
        for reader in self.readers:
            stack.callback(reader.close)
        wait_until_settled(folder / "log", 1 + len(outputs))
        for reader in self.readers:
            reader.take(5)

    def pause(self):
        self.daemon.send_signal(signal.SIGSTOP)

    def proceed(self):
        self.daemon.send_signal(signal.SIGCONT)

    def measure(self, frames):
        """Returns milliseconds of the processors for each frame of main."""
        begin, first = processor_s(self.daemon.pid), self.readers[0].take(1)
        last = self.readers[0].take(frames)
        return (processor_s(self.daemon.pid) - begin) / (last - first) * 1000


def measure(main_size, outputs, is_read, frames, chain):
    """Returns milliseconds for each frame of main: of processors, and of the device."""
    with contextlib.ExitStack() as stack:
        camera = Camera(stack, main_size, outputs, is_read, chain)
        return camera.measure(frames), device_ms(camera.run, len(outputs))


def by_turns(cases, frames, chain):
    """Returns, for each case, milliseconds of the processors in each turn, and of the device. Only
    one daemon runs at a time, and the order is reversed in every second turn, so that other load on
    the machine affects all cases alike."""
    with contextlib.ExitStack() as stack:
        cameras = []
        for case in cases:
            cameras.append(Camera(stack, *case, chain))
            cameras[-1].pause()
        found = [[] for _ in cameras]
        order = list(enumerate(cameras))
        for _ in range(TURNS):
            for i, camera in order:
                camera.proceed()
                camera.readers[0].take(SETTLING_FRAMES)
                found[i].append(camera.measure(frames))
                camera.pause()
            order.reverse()
        for camera in cameras:
            camera.proceed()
        return [(turns, device_ms(camera.run, camera.output_count))
                for turns, camera in zip(found, cameras)]


def interval(differences):
    """Returns half the width of the 95 % interval of their mean. The approximation of Student's t
    is within 1 % for six differences or more."""
    free = len(differences) - 1
    student = 1.96 + 2.37 / free + 2.8 / free ** 2
    return student * statistics.stdev(differences) / len(differences) ** 0.5


def main():
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    if TURNS < 2:
        sys.exit(f"OUTPUT_TURNS={TURNS}: an interval needs at least 2 turns")
    cases = [case for case in CASES if not case[2] or re.search(WANTED, case[0])]
    for chain in FILTERS:
        print(f"\n{WIDTH}x{HEIGHT} NV12, planes = {PLANES}, {chain} in every output, {TURNS} turns "
              f"of {frames} frames at {FPS}/s\n")
        print("| outputs | processor time a frame, ms | more than without the others, ms | more "
              "| device, ms | more |\n| --- | --- | --- | --- | --- | --- |")
        alone = None
        for (name, _, others, _), (turns, device) in zip(
                cases, by_turns([case[1:] for case in cases], frames, chain)):
            alone = alone if others else (turns, device)
            more = [a - b for a, b in zip(turns, alone[0])]
            middle = statistics.median(turns)
            print(f"| {name} | {middle:.3g} ({min(turns):.3g} to {max(turns):.3g}) "
                  f"| {statistics.mean(more):.2f} +- {interval(more):.2f} "
                  f"| {100 * (middle / statistics.median(alone[0]) - 1):.0f} % "
                  f"| {device:.3g} | {100 * (device / alone[1] - 1):.0f} % |", flush=True)


if __name__ == "__main__":
    main()
