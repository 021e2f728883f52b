#!/usr/bin/python3
"""Measures what a stuck reader of one output costs the readers of the others. The reader stops
while it holds a frame, and continues in the next turn. Turns with and without the stop alternate in
one daemon, and each pair of turns gives one difference.

    outputs_stuck.py [PAIRS [SECONDS]]   prints a table; FFTD_BUILD is the build folder, FFTD_DEVICE
                                         the device, OUTPUT_FPS the frames a second
"""

import ctypes
import multiprocessing
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("FFTD_BUILD", "build")
sys.path[:0] = [str(ROOT / "integration"), str(ROOT / "bench")]
import outputs  # noqa: E402  pylint: disable=wrong-import-position
from client import RawFrame, load  # noqa: E402  pylint: disable=wrong-import-position

FPS = int(os.environ.get("OUTPUT_FPS", "60"))
READ = ("main", "small")  # the stuck reader has the third output, `raw`
FORK = multiprocessing.get_context("fork")


def open_output(run, name):
    reader = outputs.Reader(run if name == "main" else run / "outputs" / name)
    return load(), reader.handle


def read(run, name, found):
    """Sends three numbers for each frame: when it was published, in ns; the delay until it was
    read, in us; and how many frames were missed before it."""
    library, handle = open_output(run, name)
    raw = RawFrame()
    while True:
        if library.fftd_wait(handle, 1000) != 1 or \
                library.fftd_next(handle, ctypes.byref(raw)) < 0:
            continue
        now = time.monotonic_ns()
        found.send((raw.published_ns, (now - raw.published_ns) / 1000, raw.missed))


def hold(run, is_asked):
    """Reads frames. When it is asked to, it stops while it holds one."""
    library, handle = open_output(run, "raw")
    raw = RawFrame()
    while True:
        if library.fftd_wait(handle, 1000) != 1 or \
                library.fftd_next(handle, ctypes.byref(raw)) < 0 or \
                library.fftd_hold(handle, ctypes.byref(raw)) < 0:
            continue
        if is_asked.is_set():
            is_asked.clear()
            os.kill(os.getpid(), signal.SIGSTOP)
        library.fftd_release(handle, ctypes.byref(raw))


def has_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


class Turns:
    def __init__(self, daemon, run, seconds):
        self.daemon, self.seconds, self.pipes = daemon, seconds, {}
        self.is_asked = FORK.Event()
        self.children = [FORK.Process(target=hold, args=(run, self.is_asked), daemon=True)]
        for name in READ:
            self.pipes[name], theirs = FORK.Pipe(duplex=False)
            self.children.append(FORK.Process(target=read, args=(run, name, theirs), daemon=True))
        for child in self.children:
            child.start()
        self.holder = self.children[0].pid

    def take(self, name):
        taken = []
        while self.pipes[name].poll():
            taken.append(self.pipes[name].recv())
        return taken

    def measure(self, is_stuck):
        """Returns for each output the median delay in us, the frames a second and the number of
        missed frames, and for the daemon its processor time in ms a second."""
        if is_stuck:
            self.is_asked.set()
            deadline = time.monotonic() + outputs.PATIENCE_S
            while not has_stopped(self.holder):
                if time.monotonic() > deadline:
                    raise TimeoutError("the reader that was to be stuck goes on")
                time.sleep(0.01)
        time.sleep(0.2)
        for name in READ:
            self.take(name)
        begin, used = time.monotonic_ns(), outputs.processor_s(self.daemon.pid)
        time.sleep(self.seconds)
        used = outputs.processor_s(self.daemon.pid) - used
        if is_stuck:
            if not has_stopped(self.holder):
                raise AssertionError("the stuck reader went on")
            os.kill(self.holder, signal.SIGCONT)
        ret = {}
        for name in READ:
            frames = [frame for frame in self.take(name) if frame[0] >= begin]
            ret[f"{name}: median from publication to the reader, us"] = statistics.median(
                frame[1] for frame in frames)
            ret[f"{name}: frames a second"] = len(frames) / self.seconds
            ret[f"{name}: missed"] = sum(frame[2] for frame in frames)
        ret["the daemon's processor time, ms a second"] = used / self.seconds * 1000
        return ret

    def close(self):
        for child in self.children:
            child.kill()
            child.join()


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1.5
    with tempfile.TemporaryDirectory() as folder:
        run, log_path = pathlib.Path(folder) / "run", pathlib.Path(folder) / "log"
        with log_path.open("wb") as log, subprocess.Popen(
                [outputs.BUILD / "fftd", "--runtime-dir", run, "--device", outputs.DEVICE,
                 "--source", "pattern:scene", "--size", "640x360", "--fps", str(FPS), "--set",
                 "engine.compile_ahead=false", "--set", 'outputs=( { name = "raw"; }, '
                 '{ name = "small"; size = "320x180"; planes = "luma"; } )'], stderr=log) as daemon:
            turns = Turns(daemon, run, seconds)
            try:
                outputs.wait_until_settled(log_path, 3)
                found = []
                for i in range(pairs):
                    order = (False, True) if i % 2 == 0 else (True, False)
                    each = {is_stuck: turns.measure(is_stuck) for is_stuck in order}
                    found.append((each[False], each[True]))
            finally:
                turns.close()
                daemon.terminate()
    print(f"{pairs} pairs of turns of {seconds} s, 640x360 at {FPS}/s\n\n"
          "| | it reads | it is stuck | difference, 95 % interval |\n| --- | --- | --- | --- |")
    for name in found[0][0]:
        free, stuck = ([each[i][name] for each in found] for i in (0, 1))
        differences = [b - a for a, b in zip(free, stuck)]
        half = 2 * statistics.stdev(differences) / len(differences) ** 0.5
        print(f"| {name} | {statistics.mean(free):.4g} | {statistics.mean(stuck):.4g} | "
              f"{statistics.mean(differences):+.3g} ± {half:.2g} |")


if __name__ == "__main__":
    main()
