#!/usr/bin/python3
"""Measures what viewers of fftd-view's MJPEG stream cost, beside ustreamer with the same frames.

    tests/bench/view.py --build DIRECTORY --camera v4l2_camera.so [--viewers N,...] [--rounds N]

fftd plays a clip of photographs that come with scikit-image, as YUYV at 30 frames a second, and
filters it with a notch. fftd-view encodes what it publishes. ustreamer gets what the first daemon
published, from a camera that is no kernel's (v4l2_camera.c): its device costs it nothing, where
fftd-view also reads the ring. Both encode at the same quality, and send to viewers on this machine,
HTTP clients in this one process that read every byte and check the length of each picture. fftd and
ustreamer take turns; a figure is the median over the rounds, a ratio the median of theirs.

The columns: frames a second that the daemon published, those it lost, and the p50 and p99 of their
latency from capture, as it counts it since its start; its processor time a second; different
pictures a second that viewers got, and all of them; megabytes a second; processor time of fftd-view
or ustreamer a second, for each different picture, and for each that was sent. ustreamer encodes
without viewers, too; fftd-view does not read the ring then. From YUYV, ustreamer makes JPEG of
4:2:0, whose files are smaller, and fftd-view of 4:2:2.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import skimage
import skimage.io
import skimage.transform

from path import Daemon, Sample, processor_s

WIDTH, HEIGHT, FRAMES = 1280, 720, 8
SIZE = f"{WIDTH}x{HEIGHT}"
PHOTOGRAPHS = ("chelsea.png", "coffee.png", "astronaut.png", "rocket.jpg")
FILTER = "notch:at=0.25/0,width=0.01"
FPS = 30
QUALITY = 80
WARM_UP_S = 1.0
PATIENCE_S = 30
READ_BYTES = 1 << 20
# The header that identifies a picture within a stream.
FFTD_ID = re.compile(rb"Fftd-Sequence: (\S+)")
USTREAMER_ID = re.compile(rb"X-UStreamer-Grab-Time: (\S+)")
LENGTH = re.compile(rb"Content-Length: (\d+)")


# ---- what is shown ----

def photograph(name):
    picture = skimage.io.imread(pathlib.Path(skimage.__file__).parent / "data" / name)
    return skimage.transform.resize(picture[..., :3] / 255.0, (400, 700), order=3,
                                    anti_aliasing=True)


def yuyv_of(picture):
    """BT.601 in the narrow range; the chroma of a pair of pixels is their mean."""
    red, green, blue = np.moveaxis(np.clip(picture, 0, 1), -1, 0)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    chroma = np.stack([(blue - luma) / 1.772, (red - luma) / 1.402])
    chroma = chroma.reshape(2, *luma.shape[:1], -1, 2).mean(-1)
    frame = np.empty((*luma.shape, 2))
    frame[..., 0] = 16 + 219 * luma
    frame[:, 0::2, 1], frame[:, 1::2, 1] = 128 + 224 * chroma
    return np.rint(frame).astype(np.uint8)


def make_clip(place):
    """Four photographs; the view moves over them."""
    tiles = [photograph(name) for name in PHOTOGRAPHS]
    wide = np.concatenate([np.concatenate(tiles[:2], 1), np.concatenate(tiles[2:], 1)])
    with place.open("wb") as file:
        for shift in range(FRAMES):
            file.write(yuyv_of(wide[shift:shift + HEIGHT, 4 * shift:4 * shift + WIDTH]).tobytes())


# ---- who looks ----

class Viewer:
    """One HTTP connection that reads a stream of pictures."""

    def __init__(self, port, target, identity):
        self.identity = identity
        self.head, self.missing = b"", 0
        self.pictures, self.bytes, self.seen = 0, 0, set()
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.socket.setblocking(False)

    def read(self, buffer):
        count = self.socket.recv_into(buffer)
        if count == 0:
            sys.exit("a stream ended")
        self.bytes += count
        at = 0
        while at < count:
            if self.missing > 0:
                step = min(self.missing, count - at)
                self.missing -= step
                self.pictures += self.missing == 0
                at += step
            else:
                at = self.read_head(buffer, at, count)

    def read_head(self, buffer, at, count):
        """A picture begins behind the empty line after its length; other heads have none."""
        before = len(self.head)
        self.head += bytes(buffer[at:min(count, at + 4096)])
        end = self.head.find(b"\r\n\r\n")
        if end < 0:
            return min(count, at + 4096)
        length = LENGTH.search(self.head, 0, end)
        if length is not None:
            self.missing = int(length[1])
            self.seen.add(self.identity.search(self.head, 0, end)[1])
        self.head = b""
        return at + end + 4 - before


class Viewers:
    """All of them."""

    def __init__(self, count, *stream):
        self.viewers = [Viewer(*stream) for _ in range(count)]
        self.buffer = memoryview(bytearray(READ_BYTES))
        self.selector = selectors.DefaultSelector()
        for viewer in self.viewers:
            self.selector.register(viewer.socket, selectors.EVENT_READ, viewer)

    def look(self, seconds):
        """Returns how many pictures they got, how many different ones, and the bytes."""
        for viewer in self.viewers:
            viewer.pictures, viewer.bytes, viewer.seen = 0, 0, set()
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self.viewers:
                time.sleep(left)
            for key, _ in self.selector.select(left):
                key.data.read(self.buffer)
        seen = set().union(*(viewer.seen for viewer in self.viewers))
        return (sum(viewer.pictures for viewer in self.viewers), len(seen),
                sum(viewer.bytes for viewer in self.viewers))

    def close(self):
        for viewer in self.viewers:
            viewer.socket.close()
        self.selector.close()


# ---- what they look at ----

def watch(process, count, seconds, *stream):
    """Returns what viewers got from a server, and what it cost."""
    viewers = Viewers(count, *stream)
    try:
        viewers.look(WARM_UP_S)
        began_s, before_s = time.monotonic(), processor_s(process)
        sent, encoded, sent_bytes = viewers.look(seconds)
        taken_s, used_s = time.monotonic() - began_s, processor_s(process) - before_s
    finally:
        viewers.close()
    if count > 0 and sent == 0:
        sys.exit("viewers got no picture")
    return {"encoded_per_s": encoded / taken_s, "sent_per_s": sent / taken_s,
            "sent_mb_per_s": sent_bytes / taken_s / 1e6,
            "processor_ms_per_s": 1e3 * used_s / taken_s,
            "encoded_ms": 1e3 * used_s / encoded if encoded else None,
            "sent_ms": 1e3 * used_s / sent if sent else None}


@contextlib.contextmanager
def serving(log, arguments, pattern, **environment):
    """Runs a server until it has logged a line with this pattern; yields it and what it found."""
    with log.open("wb") as file:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                   env={**os.environ, **environment})
    try:
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{arguments[0]} does not serve:\n{log.read_text(errors='replace')}")
            time.sleep(0.02)
        yield process, found
    finally:
        process.terminate()
        process.wait()


def start_daemon(options):
    return Daemon(options, options.device, f"file:{options.clip}", SIZE, FPS,
                  ("camera.format=YUYV",), FILTER)


def record(options, place):
    """What the daemon publishes, for ustreamer."""
    with start_daemon(options) as daemon:
        daemon.wait()
        subprocess.run([options.build / "fftd-ctl", "--runtime-dir", daemon.place, "frames",
                        "--raw", "-n", str(FRAMES), "-o", place], check=True,
                       stderr=subprocess.DEVNULL)


def measure_fftd(options, count):
    with start_daemon(options) as daemon, tempfile.TemporaryDirectory() as directory:
        daemon.wait()
        home = pathlib.Path(directory)
        (home / "fftd").mkdir()
        (home / "fftd/front").symlink_to(daemon.place)
        with serving(home / "log", [options.build / "fftd-view", "--name", "front", "--listen",
                                    "127.0.0.1:0", "--quality", str(QUALITY)],
                     r"listening on http://127.0.0.1:(\d+)/", XDG_RUNTIME_DIR=directory) as found:
            process, port = found[0], int(found[1][1])
            first = Sample(daemon)
            row = watch(process, count, options.seconds, port, "/camera/front/stream.mjpeg",
                        FFTD_ID)
            last = Sample(daemon)
    return {**row, "frames_per_s": last.rate_since(first), "lost": last.lost_since(first),
            "p50_ms": last.latency["p50_ns"] / 1e6, "p99_ms": last.latency["p99_ns"] / 1e6,
            "daemon_ms_per_s": 1e3 * (last.processor_s - first.processor_s)
            / (last.time_s - first.time_s)}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def measure_ustreamer(options, count):
    port = free_port()
    camera = {"LD_PRELOAD": options.camera.resolve(), "V4L2_CAMERA_SIZE": SIZE,
              "V4L2_CAMERA_PATH": options.frames, "V4L2_CAMERA_FPS": FPS}
    with tempfile.TemporaryDirectory() as directory, serving(
            pathlib.Path(directory) / "log",
            ["ustreamer", "--device", options.frames, "--resolution", SIZE, "--quality",
             str(QUALITY), "--port", str(port)], "Capturing \\.\\.\\.",
            **{name: str(value) for name, value in camera.items()}) as (process, _):
        return watch(process, count, options.seconds, port, "/stream?extra_headers=1",
                     USTREAMER_ID)


MEASURES = {"fftd-view": measure_fftd, "ustreamer": measure_ustreamer}
COLUMNS = {  # a key, its head, its format
    "frames_per_s": ("frames/s", "8.1f"), "lost": ("lost", "4.0f"), "p50_ms": ("p50 ms", "6.2f"),
    "p99_ms": ("p99 ms", "6.2f"), "daemon_ms_per_s": ("daemon ms/s", "8.0f"),
    "encoded_per_s": ("encoded/s", "9.1f"), "sent_per_s": ("sent/s", "7.1f"),
    "sent_mb_per_s": ("MB/s", "6.1f"), "processor_ms_per_s": ("server ms/s", "8.0f"),
    "encoded_ms": ("ms/encoded", "10.2f"), "sent_ms": ("ms/sent", "7.3f")}


def medians(rows):
    values = {key: [row[key] for row in rows if row.get(key) is not None] for key in COLUMNS}
    return {key: statistics.median(each) for key, each in values.items() if each}


def width_of(head, form):
    return max(len(head), int(form.partition(".")[0]))


def print_row(count, name, row):
    cells = [f"{row[key]:{width_of(head, form)}.{form.partition('.')[2]}}" if key in row
             else " " * (width_of(head, form) - 1) + "-" for key, (head, form) in COLUMNS.items()]
    print(f"{count:7} {name:10} " + " ".join(cells), flush=True)


def measure(options, count):
    rows = {name: [] for name in MEASURES}
    for number in range(options.rounds):
        for name, function in MEASURES.items():
            row = function(options, count)
            rows[name].append(row)
            yield {"bench": "view", "program": name, "viewers": count, "round": number, **row,
                   "load": os.getloadavg()[0]}
    for name, each in rows.items():
        print_row(count, name, medians(each))
    if count > 0:
        ratios = [ours["sent_ms"] / its["sent_ms"] for ours, its in zip(*rows.values())]
        print(f"{'':7} for each picture sent fftd-view takes {statistics.median(ratios):.2f} of "
              f"ustreamer's time ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--camera", type=pathlib.Path, required=True, help="v4l2_camera.so")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--viewers", type=numbers, default=[0, 1, 8, 32])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.build, options.set = options.build.resolve(), []
    print(f"{SIZE} YUYV at {FPS} frames a second, {FILTER}, JPEG of quality {QUALITY}, "
          f"{options.rounds} rounds of {options.seconds:g} s; {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f}\n"
          f"{'viewers':>7} {'server':10} "
          + " ".join(f"{head:>{width_of(head, form)}}" for head, form in COLUMNS.values()))
    rows = []
    with tempfile.TemporaryDirectory(prefix="fftd-view-") as directory:
        options.cache = f"{directory}/cache"
        options.clip = pathlib.Path(directory) / "clip.yuyv"
        options.frames = pathlib.Path(directory) / "filtered.yuyv"
        make_clip(options.clip)
        record(options, options.frames)
        for count in options.viewers:
            rows += measure(options, count)
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
