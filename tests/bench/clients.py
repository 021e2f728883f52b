#!/usr/bin/python3
"""Measures the processor time that programs which read a camera take for a frame of 1280x720 at 30
a second:

    FFTD_BUILD=DIRECTORY tests/bench/clients.py

prints a table for docs/CLIENTS.md. The guides of that document run with 100 and with 300 frames
each, so that the time for their start cancels out. Programs that go on are measured for some
seconds while they run. A media server's time is not counted.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/tools"), str(ROOT / "tests/integration")]
# pylint: disable=wrong-import-position
from conftest import BUILD, wait_until  # noqa: E402
from path import children_s, processor_s  # noqa: E402
from pipewire import Desktop  # noqa: E402
from guides import FRAMES, command, guides  # noqa: E402
from unit import command_of  # noqa: E402

SOURCE, SIZE, FPS = "pattern:scene", "1280x720", 30
WARM_UP_S, SECONDS = 2, 6


def seconds(language, text, env):
    """Returns the processor time of a guide with all its processes."""
    before = children_s()
    subprocess.run(command(language, text), env=env, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120)
    return children_s() - before


@contextlib.contextmanager
def running(arguments, env, **options):
    process = subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL,
                               **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
                                  **options})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def stats(env):
    done = subprocess.run(["fftd-ctl", "--name", "front", "--json", "stats"], env=env, check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


# ---- programs that go on: each yields its processes by what the table calls them, and a function
# that counts the frames that they have had ----

@contextlib.contextmanager
def example_in_c(directory, env):
    program = directory / "reader"
    subprocess.run(["cc", "-O2", ROOT / "client/examples/reader.c", f"-I{ROOT}/client/include",
                    BUILD / "libfftd.so.0", "-o", program], check=True)
    lines = directory / "lines"
    with lines.open("wb") as file, \
            running(["stdbuf", "-oL", program, "front"],
                    {**env, "LD_LIBRARY_PATH": str(BUILD)}, stdout=file) as process:
        yield {"C: reader.c": process}, lambda: lines.read_bytes().count(b"\n")


@contextlib.contextmanager
def desktop_node(directory, env):
    home = directory / "desktop"
    home.mkdir()
    desktop = Desktop(home, home)
    try:
        # The daemon's directory is another one than PipeWire's.
        daemon = types.SimpleNamespace(runtime_dir=directory / "fftd/front")
        node = desktop.start_node(BUILD / "fftd-pipewire", daemon)
        reader = desktop.run(["gst-launch-1.0", "-q", "pipewiresrc",
                              f"target-object={node.name}", "!", "video/x-raw", "!", "fakesink"],
                             "reader")
        wait_until(lambda: stats(env)["Clients"] == 1, "frames in PipeWire")
        yield {"PipeWire: fftd-pipewire, with one program that reads it": node,
               "PipeWire: that program (pipewiresrc)": reader,
               "PipeWire: PipeWire itself": desktop.server}, \
            lambda: stats(env)["Counters"]["published"]
    finally:
        desktop.finish()


@contextlib.contextmanager
def publisher(directory, env):
    received = directory / "received"  # a line for each frame
    with running(["/usr/bin/python3", ROOT / "tests/integration/rtsp_server.py", "0", "front"], env,
                 stdout=subprocess.PIPE, text=True) as server:
        url = f"rtsp://127.0.0.1:{server.stdout.readline().strip()}/front"
        command_line = command_of("fftd-stream@.service", "front", {"URL": f"{url}/in"})
        with running(command_line, env) as stream, \
                running(["ffmpeg", "-loglevel", "error", "-rtsp_transport", "tcp", "-i", url,
                         "-c", "copy", "-flush_packets", "1", "-f", "framecrc", received], env):
            wait_until(received.exists, "the stream")
            yield {"RTSP: fftd-stream, with rtspclientsink": stream}, \
                lambda: received.read_bytes().count(b"\n")


def measure(processes, count):
    time.sleep(WARM_UP_S)
    first = count()
    before = {title: processor_s(process) for title, process in processes.items()}
    time.sleep(SECONDS)
    frames = count() - first
    return {title: 1e3 * (processor_s(process) - before[title]) / frames
            for title, process in processes.items()}


def print_row(title, ms):
    print(f"| {title} | {ms:.1f} |", flush=True)


def measure_guides(env):
    for title, language, text in guides():
        few = seconds(language, text, env)
        many = seconds(language, text.replace(str(FRAMES), str(3 * FRAMES)), env)
        print_row(title, (many - few) / (2 * FRAMES) * 1000)


def main(directory):
    env = {**os.environ, "XDG_RUNTIME_DIR": str(directory), "LIBFFTD": str(BUILD / "libfftd.so.0"),
           "PATH": f"{BUILD}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "client/python"),
           "GST_PLUGIN_PATH": str(BUILD / "gstreamer"),
           "GST_REGISTRY": str(directory / "registry")}
    socket = directory / "fftd/front/frames"
    with running([BUILD / "fftd", "-q", "--set", "engine.compile_ahead=false", "--source", SOURCE,
                  "--size", SIZE, "--fps", str(FPS), "--runtime-dir", socket.parent], env,
                 stderr=None):
        wait_until(socket.exists, "the daemon")
        seconds("sh", "fftd-ctl --name front frames -n 1", env)  # until there are frames
        print(f"{SOURCE}, {SIZE} at {FPS} frames a second; {os.cpu_count()} processors, "
              f"load {os.getloadavg()[0]:.1f}\n\n| guide | ms a frame |\n| --- | --- |")
        for start in (example_in_c, desktop_node, publisher):
            with start(directory, env) as (processes, count):
                for title, ms in measure(processes, count).items():
                    print_row(title, ms)
        measure_guides(env)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fftd-") as name:
        (pathlib.Path(name) / "fftd").mkdir()
        main(pathlib.Path(name))
