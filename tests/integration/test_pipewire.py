"""Tests of fftd-pipewire: a camera as a video source of a private PipeWire, with GStreamer's
pipewiresrc as the program that takes the frames."""

import contextlib
import hashlib
import pathlib
import re
import signal
import subprocess
import time

import pytest

from client import MAX_PLANES, Format, Plane, Reader
from conftest import FAST_KERNELS, PATIENCE
from gstreamer import rows_of_file
from hostile_daemon import HostileDaemon
from pipewire import ROOT, desktop, program, wait_until  # pylint: disable=unused-import
from test_camera import END_SECONDS


def start_daemon(start, name, *arguments, **keywords):
    daemon = start(*FAST_KERNELS, "--set", f"camera.format={name}", *arguments,
                   **{"source": "pattern:noise", "fps": "30", **keywords})
    daemon.wait_for_socket("frames")
    return daemon


class Published:
    """What a daemon publishes while a consumer takes frames."""

    def __init__(self, daemon, is_enough):
        deadline = time.monotonic() + PATIENCE
        with Reader(daemon) as reader:
            self.frames = {}
            for frame in reader.frames():
                self.frames[frame.sequence] = frame
                if is_enough():
                    break
                assert time.monotonic() < deadline, "the consumer got too few frames"
            self.layout = Format.from_buffer_copy(reader.format)

    def compare(self, pictures, least):
        """Compares pictures, a list of (number, data), bit by bit."""
        both = [(self.frames[number], data) for number, data in pictures if number in self.frames]
        assert len(both) >= least
        for frame, data in both:
            assert hashlib.sha256(b"".join(rows_of_file(data, self.layout))).hexdigest() == \
                frame.digest, frame.sequence


def is_monotone(buffers):
    """GStreamer gives those that were captured before it began the time 0."""
    times = [buffer.pts_ns for buffer in buffers if buffer.pts_ns > 0]
    return len(times) >= len(buffers) / 2 and times == sorted(set(times))


# 162 pixels are no multiple of four bytes.
@pytest.mark.parametrize("name, caps", [("GREY", "GRAY8"), ("YUV420", "I420"), ("RGB24", "RGB"),
                                        ("Y16", "GRAY16_LE")])
def test_frames_arrive_bit_by_bit(start, desktop, program, name, caps):
    daemon = start_daemon(start, name, size="162x120")
    node = desktop.start_node(program, daemon)
    consumer = desktop.consume(node.name, count=20)
    published = Published(daemon, lambda: consumer.process.poll() is not None)
    assert consumer.wait() == 0, consumer.log
    assert consumer.formats[0] == (caps, "162", "120", "30/1")
    buffers, pictures = consumer.buffers, consumer.pictures()
    assert len(buffers) == 20
    published.compare(pictures, 10)
    assert len({data for _, data in pictures}) == 20  # not one picture again and again
    # Timestamps are the times of capture, from an origin of GStreamer's.
    assert is_monotone(buffers)
    assert len({buffer.pts_ns - published.frames[buffer.sequence].captured_ns
                for buffer in buffers
                if buffer.sequence in published.frames and buffer.pts_ns > 0}) == 1
    assert node.stop() == 0


def consume_again(desktop, node):
    """Returns a consumer that gets frames. One that finds the node while it connects again loses
    it, and may wait for ever."""
    for patience in 2, 4, 8, 16, 32:
        consumer = desktop.consume(node.name)
        deadline = time.monotonic() + patience
        while consumer.process.poll() is None and time.monotonic() < deadline:
            if consumer.buffers:
                return consumer
            time.sleep(0.02)
        consumer.kill()
    raise AssertionError(f"no frames again:\n{consumer.log}")


def test_the_daemon_is_killed_and_comes_back(start, desktop, program):
    daemon = start_daemon(start, "NV12")
    node = desktop.start_node(program, daemon)
    consumer = desktop.consume(node.name)
    consumer.wait_for_buffers(3)
    daemon.process.kill()
    daemon.wait()
    node.wait_for_log("the daemon has ended; waiting for the next one")
    seen = len(consumer.buffers)
    daemon = start_daemon(start, "NV12")
    consumer.wait_for_buffers(seen + 3)
    assert len(consumer.formats) == 1

    # The next one has another format, which the same link follows. pipewiresrc of PipeWire 0.3
    # passes its frames on, but without caps of their own; that of 1.4 ends, and can begin again.
    daemon.stop()
    daemon = start_daemon(start, "RGB24", size="322x200")
    size = 968 * 200
    sizes = {160 * 180, size}
    wait_until(lambda: consumer.process.poll() is not None or consumer.buffers[-1].bytes == size,
               "the other format")
    if consumer.process.poll() is not None:
        assert "unhandled format" in consumer.log
        sizes = {size}
        consumer = consume_again(desktop, node)
    seen = len(consumer.buffers)
    published = Published(daemon, lambda: len(consumer.buffers) >= seen + 10)
    assert {buffer.bytes for buffer in consumer.buffers} == sizes
    published.compare(consumer.pictures()[seen:], 5)
    assert is_monotone(consumer.buffers)


def test_pipewire_is_killed_and_comes_back(start, desktop, program):
    daemon = start_daemon(start, "GREY")
    node = desktop.start_node(program, daemon)
    consumer = desktop.consume(node.name)
    consumer.wait_for_buffers(3)
    desktop.kill_server()
    node.wait_for_log("the PipeWire server has ended; waiting for the next one")
    consumer.kill()
    desktop.start_server()
    node.wait_for_log("is the video source", count=2)
    consumer = desktop.consume(node.name, count=3)
    assert consumer.wait() == 0, consumer.log


def test_a_stopped_consumer_delays_nobody(start, desktop, program):
    daemon = start_daemon(start, "GREY", fps="60")
    node = desktop.start_node(program, daemon)
    stopped = desktop.consume(node.name)
    other = desktop.consume(node.name)
    stopped.wait_for_buffers(3)
    other.wait_for_buffers(3)
    stopped.signal(signal.SIGSTOP)
    seen = len(other.buffers)
    other.wait_for_buffers(seen + 30)
    assert daemon.ctl_json("stats")["Counters"]["held_slots"] == 0

    # Going on, it gets new frames, and those few old ones that waited on their way.
    newest = other.buffers[-1].sequence
    seen = len(stopped.buffers)
    stopped.signal(signal.SIGCONT)
    stopped.wait_for_buffers(seen + 10)
    buffers = stopped.buffers
    assert sum(buffer.sequence < newest for buffer in buffers[seen:]) <= 3
    numbers = [buffer.sequence for buffer in buffers]
    assert numbers == sorted(set(numbers))

    stopped.signal(signal.SIGSTOP)
    other.kill()
    node.signal(signal.SIGTERM)
    assert node.wait(END_SECONDS) == 0


def switches(pid):
    """How often the process's threads have run: what it costs, more exactly than clock ticks."""
    counts = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
            counts[task.name] = int(fields["voluntary_ctxt_switches"])
    return counts


def test_an_unlinked_node_costs_nothing(start, desktop, program):
    daemon = start_daemon(start, "GREY", "--set", "camera.idle=pause")
    node = desktop.start_node(program, daemon)
    node.wait_for_log("is the video source")
    consumer = desktop.consume(node.name, count=3)
    assert consumer.wait() == 0, consumer.log
    # The camera pauses after two seconds without readers.
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")

    def is_asleep():
        before = switches(node.pid)
        time.sleep(2)
        return switches(node.pid) == before
    wait_until(is_asleep, "two seconds without anything, after the end of a link")
    consumer = desktop.consume(node.name, count=3)
    assert consumer.wait() == 0, consumer.log


def test_buffers_fit_the_service(start, desktop, program):
    """Pages count for the service that writes them first, so its limit has room for all buffers."""
    unit = ROOT / "systemd/user/fftd-pipewire@.service"
    limit = int(re.search(r"^MemoryMax=(\d+)M$", unit.read_text(), re.M)[1]) << 20
    daemon = start_daemon(start, "XBGR32", size="3840x2160", fps="2")
    node = desktop.start_node(program, daemon)
    consumer = desktop.consume(node.name, count=1)
    taken = []
    while consumer.process.poll() is None:
        maps = pathlib.Path(f"/proc/{node.process.pid}/maps").read_text()
        ends = re.findall(r"^(\w+)-(\w+) .*/memfd:pipewire-memfd", maps, re.M)
        taken.append(sum(int(end, 16) - int(begin, 16) for begin, end in ends))
        time.sleep(0.02)
    assert consumer.wait() == 0, consumer.log
    assert 8 * 3840 * 2160 * 4 < max(taken) < limit
    assert node.stop() == 0


def run_until(program, text, tmp_path, name):
    """Starts the program alone, and waits for what it says."""
    path = tmp_path / "said"
    with open(path, "wb") as log, subprocess.Popen(
            [program, "--name", name], stdout=log, stderr=log,
            env={"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin"}) as process:
        try:
            wait_until(lambda: text in path.read_text(), text)
        finally:
            process.terminate()
        assert process.wait(PATIENCE) == 0
    return path.read_text()


def test_it_says_what_it_waits_for(start, program, tmp_path):
    run_until(program, "there is no daemon; waiting for one", tmp_path, tmp_path / "none")
    daemon = start_daemon(start, "Y10")
    run_until(program, "frames of format Y10 have no equivalent in PipeWire; expected another "
              "camera.format, or engine.depth = 16", tmp_path, daemon.runtime_dir)
    daemon.stop()
    daemon = start_daemon(start, "GREY")
    run_until(program, "no PipeWire server answers", tmp_path, daemon.runtime_dir)


NV12 = int.from_bytes(b"NV12", "little")
LUMA, CHROMA = Plane(0, 64, 64, 32), Plane(2048, 64, 64, 16)


@pytest.mark.parametrize("planes", [[LUMA], [LUMA, Plane(3000, 64, 64, 1)],
                                    [Plane(0, 32, 32, 32), CHROMA]])
def test_a_format_without_its_planes_is_refused(program, tmp_path, planes):
    layout = Format(NV12, 64, 32, len(planes), (Plane * MAX_PLANES)(*planes), 3072, 30, 1,
                    2, 2, 2, 0)
    with HostileDaemon(tmp_path, layout):
        run_until(program, "lacks what its pixels need", tmp_path, tmp_path)


@pytest.mark.parametrize("arguments, message", [
    (["--name", ".x"], "--name .x: expected the name of a camera, or a directory"),
    (["--name"], "--name: expected a value after it"),
    (["--colour"], "no such option: --colour"),
    (["front"], "front: expected no operand"),
])
def test_wrong_options_are_named(program, arguments, message):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    assert done.returncode == 64 and message in done.stderr


def test_help_fits_a_terminal(program):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True,
                          timeout=PATIENCE)
    assert "usage: fftd-pipewire" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 79
