"""output.lossless: a source that can wait does so for readers that ask for it: they get each frame
once and in order. A camera never waits, and a reader that is stuck stops nothing else."""

import errno
import os
import random
import signal
import struct
import subprocess
import sys
import time

import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE

WIDTH, HEIGHT, FRAMES = 48, 32, 400
LOSSLESS = (*FAST_KERNELS, "--set", "output.lossless=true", "--fps", "max")


def number_of(frame):
    """The filter `none` and 16 bits leave the number that a frame was recorded with."""
    return struct.unpack_from("<HH", frame.planes[0])


def picture(number):
    return struct.pack("<HH", number & 0xffff, number >> 16) * (WIDTH * HEIGHT // 2)


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "clip.raw"
    path.write_bytes(b"".join(map(picture, range(FRAMES))))
    return path


@pytest.fixture
def play(start, clip):
    def play_clip(*arguments, **others):
        return start(*LOSSLESS, "--set", "camera.format=Y16", *arguments, source=f"file:{clip}",
                     size=f"{WIDTH}x{HEIGHT}", fps=None, **others)
    return play_clip


def read_all(daemon, reader, pause=lambda: None, last=FRAMES - 1):
    """The numbers of the frames up to the last one, or until none comes."""
    numbers = []
    while not numbers or numbers[-1] != last:
        if reader.wait() != 1:
            raise AssertionError(f"no frame after {numbers[-3:]}:\n{daemon.log}")
        while frame := reader.take():
            low, high = number_of(frame)
            numbers.append(low | high << 16)
            assert frame.missed == 0, numbers[-3:]
            pause()
    return numbers


@pytest.mark.parametrize("slots", (4, 8, 64))
def test_every_frame_once_and_in_order(play, slots):
    """Also for a reader that comes late, is now slow and now fast, and for fewer slots than the
    device may fill at once."""
    daemon = play("--set", f"output.slots={slots}")
    daemon.wait_for_log("online")
    time.sleep(0.3)
    chance = random.Random(slots)
    with Reader(daemon, lossless=True) as reader:
        numbers = read_all(daemon, reader,
                           lambda: time.sleep(chance.choice((0, 0, 0, 0.0005, 0.01))))
    assert numbers == list(range(FRAMES))
    assert daemon.wait() == 0


def test_a_limit_of_frames_waits_for_the_reader(play):
    """A daemon that has published what output.frames asks for ends when all has been read."""
    daemon = play("--frames", "5")
    daemon.wait_for_log("online")
    time.sleep(0.5)
    assert daemon.process.poll() is None, daemon.log
    with Reader(daemon, lossless=True) as reader:
        assert read_all(daemon, reader, last=4) == list(range(5))
    assert daemon.wait() == 0


def test_the_slowest_of_several_readers(play):
    daemon = play()
    with Reader(daemon, lossless=True) as slow, Reader(daemon, lossless=True) as fast:
        numbers = {slow: [], fast: []}
        deadline = time.monotonic() + PATIENCE
        while any(len(each) < FRAMES for each in numbers.values()):
            assert time.monotonic() < deadline, daemon.log
            for reader, limit in ((fast, 64), (slow, 1)):
                reader.wait(0)
                while limit > 0 and (frame := reader.take()):
                    limit -= 1
                    numbers[reader].append(number_of(frame)[0])
    assert numbers[slow] == numbers[fast] == list(range(FRAMES))


def test_a_reader_continues_where_the_last_one_stopped(play):
    daemon = play()
    seen = []
    while not seen or seen[-1] < FRAMES - 1:
        with Reader(daemon, lossless=True) as reader:
            assert reader.wait() == 1
            for _ in range(37):
                frame = reader.take() if seen[-1:] != [FRAMES - 1] else None
                if frame is None and seen[-1:] != [FRAMES - 1]:
                    assert reader.wait() == 1
                    frame = reader.take()
                if frame is not None:
                    seen.append(number_of(frame)[0])
    assert seen == list(range(FRAMES))


def start_reader(daemon, script):
    """A reader in a process of its own, which prints a line when it has its first frame."""
    code = ("import sys, time; sys.path.insert(0, 'tests/integration')\n"
            "from client import Reader\n"
            "class Running:\n"
            f"    runtime_dir = {str(daemon.runtime_dir)!r}\n"
            "    def wait_for_socket(self, name): pass\n"
            "reader = Reader(Running(), lossless=True)\n"
            "assert reader.wait() == 1 and reader.take() is not None\n"
            f"print('reads', flush=True)\n{script}\n")
    daemon.wait_for_socket("frames")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                               env=dict(os.environ, FFTD_BUILD=str(BUILD)))
    assert process.stdout.readline() == "reads\n"
    return process


def test_a_dead_reader_is_dropped_at_once(play):
    daemon = play()
    with Reader(daemon, lossless=True) as reader:
        dead = start_reader(daemon, "time.sleep(1000)")
        dead.kill()
        dead.wait()
        assert read_all(daemon, reader) == list(range(FRAMES))


def published(daemon):
    return daemon.ctl_json("status")["FramesPublished"]


def wait_until_it_waits(daemon):
    """Returns how many frames were published by then."""
    daemon.wait_until(lambda: "waits for its readers" in daemon.ctl("status").stdout,
                      "the reason in the status")
    return published(daemon)


def test_a_mute_reader_stops_only_the_source(play):
    """The daemon answers, changes its filter, and ends when it is told to."""
    daemon = play()
    mute = start_reader(daemon, "time.sleep(1000)")
    try:
        mute.send_signal(signal.SIGSTOP)
        before = wait_until_it_waits(daemon)
        assert before < FRAMES
        daemon.ctl("filter", "set", "--no-wait", "gaussian-blur:sigma=2", check=False)
        daemon.ctl("reload", check=False)
        assert published(daemon) == before
        begin = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - begin < PATIENCE / 4
    finally:
        mute.kill()
        mute.wait()


def test_a_snapshot_does_not_wait_for_a_mute_reader(play, tmp_path):
    daemon = play()
    mute = start_reader(daemon, "time.sleep(1000)")
    try:
        wait_until_it_waits(daemon)
        done = daemon.ctl("snapshot", "-o", str(tmp_path), check=False)
        assert done.returncode != 0 and "reader" in done.stderr, done
    finally:
        mute.kill()
        mute.wait()


@pytest.mark.parametrize("arguments, source", (
    (("--fps", "60", "--set", "output.lossless=true"), "pattern:moire"),
    (("--fps", "max"), "pattern:moire")))
def test_a_camera_waits_for_nobody(start, arguments, source):
    """Neither does a source without the administrator's consent."""
    daemon = start(*FAST_KERNELS, *arguments, source=source, fps=None)
    with Reader(daemon) as reader:
        assert reader.wait() == 1
        with pytest.raises(OSError) as refused:
            Reader(daemon, lossless=True)
        assert refused.value.errno == errno.EOPNOTSUPP
        first = reader.next().sequence
        reader.take_until(lambda frame: frame.sequence > first + 100)


def test_a_scene_waits(start):
    daemon = start(*LOSSLESS, "--frames", "300", fps=None)
    with Reader(daemon, lossless=True) as reader:
        sequences = []
        while len(sequences) < 300:
            assert reader.wait() == 1
            while frame := reader.take():
                sequences.append(frame.sequence)
    assert sequences == list(range(1, 301))
    assert daemon.wait() == 0


# ---- frames from standard input ----

HEADER = b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 Cmono16\n" % (WIDTH, HEIGHT)


@pytest.fixture
def feed(start):
    """Starts a daemon that reads a pipe, and returns it with the pipe's other end."""
    def start_with_pipe(*arguments):
        theirs, ours = os.pipe()
        daemon = start(*LOSSLESS, *arguments, source="pipe:-", size=None, fps=None, stdin=theirs)
        os.close(theirs)
        return daemon, os.fdopen(ours, "wb", buffering=0)
    return start_with_pipe


def test_a_pipe_may_be_silent(feed):
    """Neither the silence before the header nor one in the middle of a frame is a fault."""
    daemon, pipe = feed("--set", "camera.stall_timeout=0.5")
    time.sleep(1)
    pipe.write(HEADER[:10])
    time.sleep(0.3)
    pipe.write(HEADER[10:] + b"FRAME\n" + picture(0))
    pipe.write(b"FRAME with parameters\n" + picture(1)[:100])
    with Reader(daemon, lossless=True) as reader:
        assert reader.wait() == 1
        assert number_of(reader.take())[0] == 0
        time.sleep(1.5)
        assert daemon.ctl_json("status")["State"] == "online"
        pipe.write(picture(1)[100:])
        pipe.close()
        assert reader.wait() == 1
        assert number_of(reader.take())[0] == 1
        assert reader.wait(2000) <= 0
    assert daemon.wait() == 0
    assert "restart" not in daemon.log, daemon.log


@pytest.mark.parametrize("arguments, content, code, text", (
    ((), b"RIFF nothing\n", 78, "ffmpeg -i FILE"),
    ((), b"", 78, "ended before the first frame"),
    ((), b"YUV4MPEG2 W0\n", 78, "no width W"),
    ((), HEADER + b"FRAME\n" + picture(0) + picture(1), 0, None),
    (("--size", f"{WIDTH}x{HEIGHT}", "--set", "camera.format=Y16"), picture(0) + b"12", 0, None)))
def test_what_is_wrong_with_a_pipe(feed, arguments, content, code, text):
    """What follows damage cannot be read, so the source ends there."""
    daemon, pipe = feed(*arguments)
    pipe.write(content)
    pipe.close()
    if text is None:
        with Reader(daemon, lossless=True) as reader:
            assert reader.wait() == 1
            assert number_of(reader.take())[0] == 0
    assert daemon.wait() == code, daemon.log
    assert text is None or text in daemon.log, daemon.log


def test_standard_input_must_be_a_pipe(start):
    daemon = start(source="pipe:-", size=None, fps=None)
    assert daemon.wait() != 0
    assert "is not a pipe" in daemon.log
