#!/usr/bin/python3
"""Compares fftd with OpenCV filter by filter, from the same frames in memory to shared memory.

    tests/bench/filters.py [--build DIRECTORY] [--device DEVICE] [SIZE...]

fftd    The whole daemon, at fps = max, reads a recording (GREY) that is in the page cache, and
        publishes in its ring. One daemon runs for each size; its filter is changed between turns.
        In the row "none, lent" it is another daemon, whose source lends as many frames of noise
        from memory, as a camera does and as OpenCV's loop has them.
kernels What the device computes for a frame, by the events of the frames in that turn that have
        them (`fftd-ctl stats`); other frames in flight share the device. 0 where frames are
        copied, because nothing changes them.
OpenCV  A loop in Python takes the same frames from memory, calls the function of OpenCV that
        computes the same filter best, with all threads, and copies the result into shared memory.
        A call takes Python less than 2 us.

Both take turns, since other guests of a host change its speed within seconds. Times are of a frame,
medians over the rounds: of the clock, and in brackets of all processors, which is what to compare
while others use the machine. Except in the row "none, lent", fftd's has what reading the recording
takes, OpenCV's has not. The ratios of both are medians of those of the rounds; that of the clock
has the least and the greatest beside it. A daemon is stopped (SIGSTOP) while another one or OpenCV
is measured.
"""

import argparse
import contextlib
import json
import mmap
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from path import CLIP_FRAMES, Daemon, Sample, make_clip

WARM_UP_S = 0.3
LENT = "none, lent"
TIMES = "fftd_ms", "fftd_processor_ms", "kernels_ms", "opencv_ms", "opencv_processor_ms"


def kernel_of(size):
    """A kernel that is not a sum of few separable ones, in quarters, and its image for fftd."""
    source = random.Random(size)
    rows = [[source.randrange(-8, 9) / 4 for _ in range(size)] for _ in range(size)]
    rows[size // 2][size // 2] += 1 - sum(map(sum, rows))
    return rows


def write_images(directory):
    for size in (3, 5, 7, 15, 33):
        text = "".join(" ".join(map(str, row)) + "\n" for row in kernel_of(size))
        (directory / f"kernel{size}.txt").write_text(text)


def filters(peer):
    """Name, chain of fftd, and OpenCV's function from a frame to a result, which cannot be called
    without a peer."""
    cv2, np = (peer.cv2, peer.np) if peer else (None, None)

    def blur(sigma):
        return lambda frame: cv2.GaussianBlur(frame, (0, 0), sigma)

    def convolve(size):
        kernel = np.array(kernel_of(size), np.float32) if peer else None
        return lambda frame: cv2.filter2D(frame, -1, kernel)

    def sharpen(frame):
        return cv2.addWeighted(frame, 2, cv2.GaussianBlur(frame, (0, 0), 1.5), -1, 0)

    for name in "none", LENT:
        yield name, "none", lambda frame: frame
    yield "gain", "gain:dc=0.5,ac=0.5", lambda frame: cv2.convertScaleAbs(frame, alpha=0.5)
    for sigma in (1, 2, 3, 5, 20):
        yield f"blur, sigma {sigma}", f"gaussian-blur:sigma={sigma}", blur(sigma)
    for radius in (1, 4, 15):
        side = 2 * radius + 1
        yield (f"box {side}x{side}", f"box-blur:radius={radius}",
               lambda frame, side=side: cv2.blur(frame, (side, side)))
    yield "Laplacian", "laplacian", lambda frame: cv2.Laplacian(frame, -1, ksize=1, scale=-1)
    yield ("Sobel", "convolve:kernel=-1 0 1/-2 0 2/-1 0 1,correlate=true",
           lambda frame: cv2.Sobel(frame, -1, 1, 0))
    yield "unsharp mask", "sharpen:amount=1,sigma=1.5", sharpen
    for size in (3, 5, 7, 15, 33):
        yield (f"{size}x{size}, any", f"convolve:image=kernel{size}.txt,correlate=true",
               convolve(size))


class Peer:
    """OpenCV's loop on the frames of a clip."""

    def __init__(self, clip, size):
        import cv2
        import numpy as np
        self.cv2, self.np = cv2, np
        width, height = map(int, size.split("x"))
        frames = np.fromfile(clip, np.uint8).reshape(-1, height, width)
        self.frames = [frames[i] for i in range(len(frames))]
        self.result = np.frombuffer(mmap.mmap(-1, 4 * width * height), np.uint8)
        self.result = self.result.reshape(4, height, width)

    def frame_ms(self, function, seconds):
        """Time of a frame, by the clock and of all processors."""
        for i in range(3):
            function(self.frames[i])
        count, start, begun = 0, time.monotonic(), time.process_time()
        while (now := time.monotonic()) - start < seconds:
            self.np.copyto(self.result[count % 4], function(self.frames[count % len(self.frames)]))
            count += 1
        return 1e3 * (now - start) / count, 1e3 * (time.process_time() - begun) / count


class Filtered(Daemon):
    """The daemon of path.py, whose filter changes."""

    def set(self, chain):
        done = subprocess.run([self.build / "fftd-ctl", "--runtime-dir", self.place, "filter",
                               "set", chain], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"filters.py: {chain}: {done.stderr}")

    def frame_ms(self, seconds):
        """Time of a frame, by the clock and of all processors, and that of its kernels."""
        time.sleep(WARM_UP_S)
        first, before = Sample(self), self.stats()["StepTimes"]
        time.sleep(seconds)
        last, after = Sample(self), self.stats()["StepTimes"]
        kernels_ms = sum((after[step][1] - before.get(step, [0, 0])[1]) / 1e6
                         / max(1, after[step][0] - before.get(step, [0, 0])[0]) for step in after)
        return 1e3 / last.rate_since(first), last.processor_ms_since(first), kernels_ms

    def wait_paused(self):
        self.wait()
        self.process.send_signal(signal.SIGSTOP)

    @contextlib.contextmanager
    def turn(self):
        """It runs as long as the context does."""
        self.process.send_signal(signal.SIGCONT)
        try:
            yield self
        finally:
            self.process.send_signal(signal.SIGSTOP)

    def __exit__(self, *reason):
        self.process.send_signal(signal.SIGCONT)
        super().__exit__(*reason)

    def technique(self):
        return self.ask("status")["Engine"].split(",")[0]


def measure(options, size, clip, directory):
    peer = None
    try:
        peer = Peer(clip, size)
    except ImportError as reason:
        print(f"OpenCV is not measured: {reason}")
    chains = [row for row in filters(peer) if options.only in ("", row[0])]
    os.environ["FFTD_IMAGE_DIR"] = str(directory)
    rows = {name: {"bench": "filters", "size": size, "filter": name, "chain": chain,
                   **{times: [] for times in TIMES}} for name, chain, _ in chains}
    extra = ("camera.format=GREY", *options.set)
    extra_lent = (f"camera.buffers={CLIP_FRAMES}", *extra)
    with (Filtered(options, options.device, f"file:{clip}", size, "max", extra) as reader,
          Filtered(options, options.device, "pattern:noise", size, "max", extra_lent) as borrower):
        reader.wait_paused()
        borrower.wait_paused()
        for _ in range(options.rounds):
            for title, chain, function in chains:
                row = rows[title]
                with (borrower if title == LENT else reader).turn() as daemon:
                    daemon.set(chain)
                    times = daemon.frame_ms(options.seconds)
                    row["technique"] = daemon.technique() if times[-1] > 0 else "copied"
                if peer:
                    times += peer.frame_ms(function, options.seconds)
                for name, each in zip(TIMES, times):
                    row[name].append(each)
    return list(rows.values())


def ratios(row, what):
    return [its / ours for ours, its in zip(row[f"fftd{what}"], row[f"opencv{what}"])]


def report(size, rows):
    print(f"\n{size} GREY\n{'filter':16} {'fftd, ms':>15} {'kernels':>8} {'OpenCV':>15} "
          f"{'OpenCV / fftd':>22} {'processor':>10}   technique")
    for row in rows:
        ms = {times: statistics.median(row[times]) for times in TIMES if row[times]}
        beside = " " * 49
        if row["opencv_ms"]:
            by_clock = ratios(row, "_ms")
            beside = (f"{ms['opencv_ms']:7.3f} ({ms['opencv_processor_ms']:.3f}) "
                      f"{statistics.median(by_clock):7.2f} of {min(by_clock):5.2f} to "
                      f"{max(by_clock):5.2f} "
                      f"{statistics.median(ratios(row, '_processor_ms')):10.2f}")
        print(f"{row['filter']:16} {ms['fftd_ms']:7.3f} ({ms['fftd_processor_ms']:.3f}) "
              f"{ms['kernels_ms']:8.3f} {beside}   {row['technique']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FFTD_BUILD", "build")),
                        help="the directory of the programs (FFTD_BUILD, or build)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=1, help="of each turn (1)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", metavar="ROW", help="measure only this row")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="of the daemon's configuration")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("sizes", nargs="*", default=["1280x720", "1920x1080"])
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.sigma = 1  # path.py's first filter
    print(f"{options.rounds} rounds of {options.seconds:g} s; {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f}", flush=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="fftd-filters-") as directory:
        directory = pathlib.Path(directory)
        options.cache = f"{directory}/cache"
        write_images(directory)
        for size in options.sizes:
            rows.append(measure(options, size, make_clip(directory, size), directory))
            report(size, rows[-1])
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for size in rows for row in size))


if __name__ == "__main__":
    main()
