#!/usr/bin/python3
"""Runs the daemon under changing load, and checks that nothing grows.

    tests/soak/soak.py --build DIRECTORY --output FOLDER [--seconds N]

One client reads and checks every frame. At random times the filter changes as a whole, by stage or
by parameter, sometimes to invalid values. Other clients ask for snapshots, status and statistics.
They attach, detach, and are stopped or killed, some while they hold frames. All sockets receive
garbage. Each second adds a line to FOLDER/soak.csv; FOLDER/soak.png plots the lines.

Fails if a figure grows by more than its allowance (trend.py), if a frame was torn, or if the daemon
ended, lost its engine or logged a problem. Frames that the reader missed are only reported: on a
busy machine it can be half a second late.
"""

import argparse
import csv
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy
from trend import growth

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "client/python"))
import fftd  # noqa: E402

FPS = 60
SIZE = "640x360"
SLOTS = 32
PATIENCE_S = 120
MAX_CLIENTS = 12
CHECK_EVERY = 8  # frames whose checksum is computed

FILTERS = ["none", "lowpass:shape=gaussian,cutoff=0.1", "notch:at=0.21/0.13,width=0.05",
           "highpass:cutoff=0.05 | gain:dc=1", "gaussian-blur:sigma=1", "gaussian-blur:sigma=6",
           "sharpen:amount=1,sigma=2", "bandstop:low=0.1,high=0.2",
           "lowpass:cutoff=0.2 | notch:at=0.25/0,width=0.02 | sharpen:amount=0.5,sigma=1"]
WIDEST = "gaussian-blur:sigma=100"  # needs the largest engine
REFUSED = ["lowpass:cutoff=7", "nonsense", "notch:at=0.1", "lowpass:cutoff=nan"]

# Columns of the table, and the growth allowed for each over the whole run (None: not checked).
# Memory may grow by what an allocator retains. Latencies are relative to their median, because
# other programs may use the machine.
COLUMNS = {
    "seconds": None, "resident MiB": 8.0, "private MiB": 8.0, "descriptors": 4, "threads": 4,
    "clients": None, "captured to published median ms": "30%",
    "captured to published p99 ms": "100%", "published to read median ms": "30%",
    "frames": None, "processor": None, "missed": None, "torn": None, "changes": None,
}


class Reader(threading.Thread):
    """A client that reads every frame."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.camera = fftd.Camera(directory)
        self.lock = threading.Lock()
        self.latencies, self.delays = [], []
        self.missed = self.torn = self.frames = 0
        self.ended = threading.Event()

    def run(self):
        while not self.ended.is_set():
            self.camera.wait(1)
            while (frame := self.camera.next()) is not None:
                now = time.monotonic_ns()
                torn = False
                if frame.sequence % CHECK_EVERY == 0:
                    torn = frame.computed_checksum != frame.checksum and frame.valid
                with self.lock:
                    self.latencies.append((frame.published_ns - frame.captured_ns) / 1e6)
                    self.delays.append((now - frame.published_ns) / 1e6)
                    self.missed += frame.missed
                    self.torn += torn
                    self.frames += 1

    def take(self):
        """Returns the frames since the last call."""
        with self.lock:
            latencies, self.latencies = self.latencies, []
            delays, self.delays = self.delays, []
        return latencies, delays


class Life(threading.Thread):
    """The other load on the daemon."""

    def __init__(self, build, directory, seed):
        super().__init__(daemon=True)
        self.build, self.directory = build, directory
        self.random = random.Random(seed)
        self.ended = threading.Event()
        self.clients = []
        self.changes = 0
        self.failure = None

    def ctl(self, *arguments, expect=0):
        done = subprocess.run([f"{self.build}/fftd-ctl", "--runtime-dir", self.directory,
                               *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        if done.returncode != expect:
            raise AssertionError(f"fftd-ctl {arguments} ended with {done.returncode}, not "
                                 f"{expect}: {done.stderr}")
        return done.stdout

    def wait_until_applied(self):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = json.loads(self.ctl("--json", "status"))
            if status["PublishedSerial"] == status["Serial"]:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"filter {status['Serial']} is still not applied")
            time.sleep(0.1)

    def start_client(self, *command):
        if len(self.clients) < MAX_CLIENTS:
            self.clients.append(subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL))

    # The actions, one method each.

    def change_filter(self):
        self.ctl("filter", "set", self.random.choice(FILTERS))
        self.changes += 1

    def change_stage(self):
        self.ctl("filter", "set", "lowpass:shape=gaussian,cutoff=0.2")
        self.ctl("filter", "add", "notch:at=0.2/0.1,width=0.02")
        self.ctl("set", "lowpass.cutoff", str(round(self.random.uniform(0.05, 0.4), 3)))
        self.ctl("filter", "remove", "notch")
        self.changes += 4

    def change_wrongly(self):
        self.ctl("filter", "set", self.random.choice(REFUSED), expect=65)

    def look(self):
        self.ctl("--json", "status")
        self.ctl("stats")

    def take_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            self.ctl("snapshot", "-o", folder)

    def begin_client(self):
        self.start_client(f"{self.build}/tests/tools/watch", self.directory, "100000", "3600")

    def begin_recording(self):
        self.start_client(f"{self.build}/fftd-ctl", "--runtime-dir", self.directory, "frames",
                          "--raw", "-o", "/dev/null", "-n", str(self.random.randint(1, 600)))

    def begin_holder(self):
        self.start_client(sys.executable, __file__, "--hold", self.directory)

    def stop_client(self):
        if self.clients:
            self.random.choice(self.clients).send_signal(signal.SIGSTOP)

    def kill_client(self):
        if self.clients:
            client = self.clients.pop(self.random.randrange(len(self.clients)))
            client.kill()
            client.wait()

    def send_garbage(self):
        for name, kind in (("frames", socket.SOCK_SEQPACKET), ("control", socket.SOCK_STREAM)):
            with socket.socket(socket.AF_UNIX, kind) as garbage:
                garbage.connect(f"{self.directory}/{name}")
                garbage.send(self.random.randbytes(200))

    def run(self):
        weights = {self.change_filter: 6, self.change_stage: 2, self.change_wrongly: 1,
                   self.look: 2, self.take_pictures: 1, self.begin_client: 4,
                   self.begin_recording: 3, self.begin_holder: 1, self.stop_client: 1,
                   self.kill_client: 6, self.send_garbage: 1}
        try:
            while not self.ended.wait(self.random.uniform(0.1, 0.9)):
                self.random.choices(list(weights), list(weights.values()))[0]()
                self.clients = [each for each in self.clients if each.poll() is None]
        except (AssertionError, OSError, subprocess.SubprocessError) as problem:
            self.failure = str(problem)
        for client in self.clients:
            client.kill()
            client.wait()


def hold_frames(directory):
    """A client that keeps frames until it is killed, or for a while."""
    with fftd.Camera(directory) as camera:
        for _ in range(20):
            camera.wait()
            if frame := camera.next():
                with frame.held():
                    time.sleep(0.3)


class Sampler:
    """Records one line of the table per second, about the process and the frames since the last
    line."""

    def __init__(self, pid, reader, life):
        self.proc = pathlib.Path(f"/proc/{pid}")
        self.reader, self.life = reader, life
        self.begin = self.last = time.monotonic()
        self.last_ticks = self.ticks()
        self.last_frames = reader.frames
        self.rows = []
        reader.take()

    def ticks(self):
        fields = (self.proc / "stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def memory_mib(self):
        """Returns the resident memory, and the part that no file or other process shares."""
        found = {}
        for line in (self.proc / "smaps_rollup").read_text().splitlines()[1:]:
            name, value = line.split(":")
            found[name] = int(value.split()[0]) / 1024
        return found["Rss"], found["Private_Dirty"]

    def sample(self):
        now = time.monotonic()
        latencies, delays = self.reader.take()
        ticks, frames = self.ticks(), self.reader.frames
        seconds = now - self.last
        self.rows.append([
            now - self.begin, *self.memory_mib(), len(os.listdir(self.proc / "fd")),
            len(os.listdir(self.proc / "task")), len(self.life.clients),
            *(numpy.percentile(latencies, [50, 99]) if latencies else (numpy.nan, numpy.nan)),
            numpy.median(delays) if delays else numpy.nan, (frames - self.last_frames) / seconds,
            (ticks - self.last_ticks) / os.sysconf("SC_CLK_TCK") / seconds,
            self.reader.missed, self.reader.torn, self.life.changes])
        self.last, self.last_ticks, self.last_frames = now, ticks, frames


def without(values, cause):
    """Returns the values without the part that a cause explains: more clients need more
    descriptors."""
    spread = cause - cause.mean()
    square = float(spread @ spread)
    return values if square == 0 else values - float(spread @ values) / square * spread


def judge(rows):
    """Describes what has grown. The first fifth is ignored, because caches fill."""
    table = numpy.array(rows)
    table = table[table[:, 0] > table[-1, 0] / 5]
    problems = []
    print(f"\n{'':34} {'median':>10} {'growth':>10} {'allowed':>10}")
    for column, (name, allowance) in enumerate(COLUMNS.items()):
        if allowance is None:
            continue
        known = ~numpy.isnan(table[:, column])
        values = table[known, column]
        median = float(numpy.median(values))
        allowed = (float(allowance[:-1]) / 100 * median if isinstance(allowance, str)
                   else float(allowance))
        clients = table[known, list(COLUMNS).index("clients")]
        grown = growth(table[known, 0], without(values, clients))
        print(f"{name:34} {median:10.3f} {grown:10.3f} {allowed:10.3f}")
        if grown > allowed:
            problems.append(f"{name} grew by {grown:.3f}, from about {median:.3f}")
    return problems


def write_table(folder, rows):
    with open(folder / "soak.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([f"{value:.3f}" for value in row] for row in rows)
    script = pathlib.Path(__file__).with_name("plot.gp")
    subprocess.run(["gnuplot", "-e", f"folder='{folder}'", script], check=True)


def wait_for_frames(daemon, directory):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            reader = Reader(directory)
            break
        except OSError:
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    reader.start()
    while reader.frames == 0:
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the daemon publishes nothing")
        time.sleep(0.05)
    return reader


def soak(options, directory, log):
    """Returns the table and a list of failures."""
    daemon = subprocess.Popen(
        [f"{options.build}/fftd", "--quiet", "--set", "engine.compile_ahead=false",
         "--runtime-dir", directory, "--source",
         "pattern:scene", "--size", SIZE, "--fps", str(FPS), "--set",
         f"engine.device={options.device}", "--set", f"output.slots={SLOTS}",
         "--set", "output.checksum=true"], stderr=log)
    problems = []
    try:
        reader = wait_for_frames(daemon, directory)
        life = Life(options.build, directory, options.seed)
        life.ctl("filter", "set", WIDEST)  # a driver's compiler retains memory
        life.wait_until_applied()
        life.start()
        sampler = Sampler(daemon.pid, reader, life)
        while sampler.last - sampler.begin < options.seconds and life.failure is None:
            time.sleep(1)
            if daemon.poll() is not None:
                problems.append(f"the daemon ended with {daemon.returncode}")
                break
            sampler.sample()
        life.ended.set()
        life.join(PATIENCE_S)
        reader.ended.set()
        reader.join(PATIENCE_S)
    finally:
        daemon.terminate()
        if daemon.wait() != 0:
            problems.append(f"the daemon ended with {daemon.returncode}")
    if life.failure:
        problems.append(life.failure)
    if reader.torn:
        problems.append(f"{reader.torn} frames were torn")
    print(f"{reader.frames} frames read, {reader.missed} missed, {reader.torn} torn; "
          f"{life.changes} filter changes")
    return sampler.rows, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("build/soak"))
    parser.add_argument("--hold", metavar="DIRECTORY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hold:
        return hold_frames(options.hold)
    options.output.mkdir(parents=True, exist_ok=True)
    with (tempfile.TemporaryDirectory(prefix="fftd-soak-") as base,
          open(options.output / "daemon.log", "w+", encoding="utf-8") as log):
        rows, problems = soak(options, f"{base}/run", log)
        log.seek(0)
        # The daemon logs that it refuses a peer which sends garbage.
        complaints = [line for line in log if "control: a connection is refused" not in line]
    write_table(options.output, rows)
    problems += judge(rows)
    problems += [f"the daemon said: {line.strip()}" for line in complaints[:10]]
    print("\n".join(f"FAILED: {each}" for each in problems) or "nothing grew")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
