#!/usr/bin/python3
"""One camera for a recorder and a detector, as Frigate has it: the recorder gets every frame, the
detector smaller ones, 5 a second. Without root and without a camera.

    recorder.py BUILD [--frames N] [--rounds N] [--directory DIRECTORY]

Three ways take turns, and the processor time of all their processes is compared:

outputs     the daemon has an output `small`, which the detector reads in shared memory
scale       one FFmpeg encodes main's frames, and another one reads them and scales them
decode      one FFmpeg encodes main's frames, and another one decodes that stream and scales it, as
            Frigate does with a camera that has a single stream

The recorder is FFmpeg with libx264, the detector OpenCV's background subtraction (MOG2): it counts
frames in which something moves. Each turn ends when the detector has N frames."""

import argparse
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

from fleet import die_with_parent

SIZE, FPS = "1280x720", 30
SMALL, SMALL_FPS = (320, 180), 5
FILTER = "sharpen:amount=1,sigma=1.5"
OUTPUTS = f'outputs=( {{ name = "small"; size = "{SMALL[0]}x{SMALL[1]}"; fps = {SMALL_FPS}; }} )'
SCALE = ["-vf", f"fps={SMALL_FPS},scale={SMALL[0]}:{SMALL[1]},format=gray", "-f", "rawvideo", "-"]
FFMPEG = ["ffmpeg", "-loglevel", "fatal", "-nostdin"]
ENCODE = ["-c:v", "libx264", "-preset", "superfast", "-tune", "zerolatency", "-threads", "1", "-g",
          "60", "-b:v", "4M", "-pix_fmt", "yuv420p"]
WAYS = ("outputs", "scale", "decode")
WARM_UP = 10  # frames of the detector that are not counted
PATIENCE_S = 120

# ---- the detector, a process of its own ----


def detect(count, source):
    """Reads frames of a camera, or of stdin if it is `-`. Prints a line after WARM_UP of them, and
    what it has seen at the end."""
    import cv2  # pylint: disable=import-outside-toplevel  # only this process needs it
    import numpy

    def of_pipe():
        width, height = SMALL
        while len(data := sys.stdin.buffer.read(width * height)) == width * height:
            yield numpy.frombuffer(data, numpy.uint8).reshape(height, width)

    def of_ring():
        import fftd  # pylint: disable=import-outside-toplevel
        with fftd.Camera(source) as camera:
            for frame in camera:
                yield frame.image[:SMALL[1]]

    model = cv2.createBackgroundSubtractorMOG2(history=50, detectShadows=False)
    moving = 0
    for number, image in enumerate(of_pipe() if source == "-" else of_ring()):
        if number == WARM_UP:
            print("begun", flush=True)
        if number == WARM_UP + count:
            break
        assert image.shape == SMALL[::-1], image.shape
        moving += number >= WARM_UP and bool(cv2.countNonZero(model.apply(image)) > 20)
    print(json.dumps({"moving": moving}), flush=True)


# ---- what runs in one turn ----


class Turn:
    def __init__(self, build, folder, way, frames):
        self.build, self.folder, self.way, self.frames = build, folder, way, frames
        self.run = folder / "run"
        self.env = dict(os.environ, LIBFFTD=str(build / "libfftd.so.0"),
                        PYTHONPATH=str(build.parent / "client/python"))
        self.env.pop("POCL_EXTRA_BUILD_FLAGS", None)  # tests set it: kernels that are not optimised
        self.processes = {}

    def begin(self, name, command, **options):
        parent = os.getpid()
        process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            [str(word) for word in command], env=self.env,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL, parent), **options)
        self.processes[name] = process
        if "stdin" in options:  # only that process is to read it
            options["stdin"].close()
        return process

    def frames_of_main(self, name):
        return self.begin(f"reader of {name}", [self.build / "fftd-ctl", "--runtime-dir", self.run,
                                                "frames"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout

    def start(self):
        """Returns the detector."""
        self.begin("daemon", [self.build / "fftd", "-q", "--runtime-dir", self.run, "--source",
                              "pattern:scene", "--size", SIZE, "--fps", FPS, "--filter", FILTER,
                              "--set", "engine.compile_ahead=false",
                              *(["--set", OUTPUTS] if self.way == "outputs" else [])])
        self.wait_for(self.run / "frames")
        record = [*FFMPEG, "-progress", self.folder / "progress", "-y", "-i", "-", "-map", "0",
                  *ENCODE]
        video = self.folder / "main.ts"
        detector = [sys.executable, __file__, "--detect", self.frames]
        if self.way == "decode":
            both = f"[f=mpegts]{video}|[f=mpegts]pipe:1"
            recorder = self.begin("recorder", [*record, "-f", "tee", both],
                                  stdin=self.frames_of_main("recorder"), stdout=subprocess.PIPE)
            scaled = self.begin("scaler", [*FFMPEG, "-f", "mpegts", "-i", "-", *SCALE],
                                stdin=recorder.stdout, stdout=subprocess.PIPE)
        else:
            self.begin("recorder", [*record, video], stdin=self.frames_of_main("recorder"))
        if self.way == "outputs":
            return self.begin("detector", [*detector, self.run / "outputs/small"],
                              stdout=subprocess.PIPE, text=True)
        if self.way == "scale":
            scaled = self.begin("scaler", [*FFMPEG, "-i", "-", *SCALE],
                                stdin=self.frames_of_main("scaler"), stdout=subprocess.PIPE)
        return self.begin("detector", [*detector, "-"], stdin=scaled.stdout,
                          stdout=subprocess.PIPE, text=True)

    def wait_for(self, path):
        deadline_s = time.monotonic() + PATIENCE_S
        while not path.exists():
            if time.monotonic() > deadline_s or self.processes["daemon"].poll() is not None:
                sys.exit(f"recorder.py: the daemon has not made {path}")
            time.sleep(0.05)

    def spent_s(self):
        """Processor time of each process, while all of them run."""
        found = {}
        for name, process in self.processes.items():
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2]
            found[name] = sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")
        return found

    def counts(self):
        """Frames that the daemon has published, and that the recorder has encoded, which it writes
        twice a second."""
        done = subprocess.run([self.build / "fftd-ctl", "--runtime-dir", self.run, "--json",
                               "status"], check=True, capture_output=True)
        encoded = re.findall(r"^frame=(\d+)", (self.folder / "progress").read_text(), re.M)
        return json.loads(done.stdout)["FramesPublished"], int(encoded[-1])

    def measure(self):
        """Returns what each process took, in ms a second, and the rates of frames."""
        detector = self.start()
        if detector.stdout.readline() != "begun\n":
            sys.exit("recorder.py: the detector got no frames")
        begin_s, before, first = time.monotonic(), self.spent_s(), self.counts()
        # All processes must still run when this is read.
        time.sleep((self.frames - 1) / SMALL_FPS)
        seconds, after, last = time.monotonic() - begin_s, self.spent_s(), self.counts()
        result = json.loads(detector.stdout.readline())
        result["detected_a_second"] = self.frames / (time.monotonic() - begin_s)
        result["published"], result["recorded"] = (
            (b - a) / seconds for a, b in zip(first, last, strict=True))
        spent = result["spent"] = {}
        for name in after:  # two readers are one column
            kind = name.split()[0]
            spent[kind] = spent.get(kind, 0) + 1000 * (after[name] - before[name]) / seconds
        return result

    def end(self):
        """The recorder gets the end of its input, and so completes its file."""
        for name, process in self.processes.items():
            if name != "recorder":
                process.terminate()
        for process in self.processes.values():
            process.wait()


def turn(build, folder, way, frames):
    this = Turn(build, folder, way, frames)
    try:
        return this.measure() | {"way": way}
    finally:
        this.end()


def say(results):
    names = sorted({name for each in results for name in each["spent"]},
                   key=("daemon reader recorder scaler detector".split()).index)
    print(f"| way | {' | '.join(names)} | all | frames a second | recorded |")
    print("|" + " --- |" * (len(names) + 4))
    for way in WAYS:
        mine = [each for each in results if each["way"] == way]
        middle = sorted(mine, key=lambda each: sum(each["spent"].values()))[len(mine) // 2]
        alls = sorted(sum(each["spent"].values()) for each in mine)
        cells = [f"{middle['spent'].get(name, 0):.0f}" for name in names]
        print(f"| {way} | {' | '.join(cells)} | {statistics.median(alls):.0f} "
              f"({alls[0]:.0f} .. {alls[-1]:.0f}) | {middle['published']:.1f} | "
              f"{middle['recorded']:.1f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=100, help="of the detector, each turn")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--directory", type=pathlib.Path, help="keeps main.ts of each way")
    options = parser.parse_args()
    die_with_parent(signal.SIGTERM, os.getppid())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = []
    with tempfile.TemporaryDirectory(prefix="fftd-recorder-") as work:
        for number in range(options.rounds):
            for way in WAYS:
                folder = (options.directory or pathlib.Path(work)) / f"{way}{number}"
                folder.mkdir(parents=True)
                results.append(turn(options.build.resolve(), folder, way, options.frames))
    print(f"\n{SIZE} at {FPS} frames a second to a recorder, {SMALL[0]}x{SMALL[1]} at {SMALL_FPS} "
          f"to a detector. Processor time in ms a second; load {os.getloadavg()[0]:.0f}\n")
    say(results)
    if options.directory:
        (options.directory / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--detect"]:
        detect(int(sys.argv[2]), sys.argv[3])
    else:
        main()
