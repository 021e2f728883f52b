"""Three programs read three outputs of one camera, while each filter changes ten times a second and
the daemon is killed and continued. Frames with the same number and time show the same captured
picture, filtered as their serial says, and none is torn. PAIR_FRAMES is how many of them are
compared; `make test-pairs` compares 10,000."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import threading
import time

import numpy
import pytest

from client import Frame, RawFrame, Reader
from conftest import PATIENCE
from dbus_peer import RETURN, Peer
from test_outputs import ctl_json, keeper, of  # pylint: disable=unused-import
from test_survival import die

FRAMES = int(os.environ.get("PAIR_FRAMES", "240"))
LIVES = 2 if FRAMES < 1000 else 5  # daemons, one after another
CHANGES_PER_SECOND = 10
FPS = 30 if FRAMES < 1000 else 50
WIDTH, HEIGHT, SQUARE, BITS = 160, 120, 40, 6
WITH_CHECKSUM = 1
OUTPUTS = ("main", "raw", "small")
FORK = multiprocessing.get_context("fork")


@pytest.fixture(autouse=True)
def limit_time():
    """The suite has a limit that depends on PAIR_FRAMES."""


def gain_of(serial):
    """Returns the gain for a serial; those of adjacent serials are far apart."""
    return 0.4 + 0.55 * (serial * 0.5698402910 % 1)


def stage_of(serial):
    return f"gain:dc={gain_of(serial)},ac={gain_of(serial)}"


# ---- pictures that say which they are ----

def make_pictures():
    """Noise, and squares that are the bits of the picture's number and then of its complement: all
    pictures have the same mean."""
    pictures = numpy.random.default_rng(11).integers(-20, 21, (1 << BITS, HEIGHT, WIDTH))
    for number, picture in enumerate(pictures):
        bits = [number >> i & 1 for i in range(BITS)]
        for i, bit in enumerate(bits + [1 - bit for bit in bits]):
            y, x = (SQUARE * each for each in divmod(i, WIDTH // SQUARE))
            picture[y:y + SQUARE, x:x + SQUARE] += 170 if bit else 70
    return pictures.astype(numpy.uint8)


def read_number(picture):
    """The number that a picture of any size and brightness shows; None: its squares show none."""
    rows, columns = HEIGHT // SQUARE, WIDTH // SQUARE
    side = picture.shape[0] // rows
    squares = picture.reshape(rows, side, columns, side).mean((1, 3)).ravel()
    bits = squares > picture.mean()
    if (bits[:BITS] == bits[BITS:]).any():
        return None
    return sum(int(bit) << i for i, bit in enumerate(bits[:BITS]))


# ---- the programs ----

def take(reader):
    """Returns the next frame that was not overwritten, and whether it is torn; None: there is
    none."""
    raw = RawFrame()
    if reader.library.fftd_next(reader.handle, ctypes.byref(raw)) < 0:
        return None
    frame = Frame(raw)
    checksum = reader.library.fftd_frame_checksum(ctypes.byref(raw))
    if not reader.library.fftd_frame_valid(reader.handle, ctypes.byref(raw)):
        return None
    return frame, not frame.flags & WITH_CHECKSUM or checksum != raw.checksum


def read_output(daemon, name, pictures, is_over, found):
    """A program that reads one output through all lives of the daemon, and looks at each frame. It
    puts what it has found into `found`, a connection."""
    frames, problems, missed = {}, [], 0
    with Reader(daemon) as reader:
        reader.library.fftd_frame_checksum.restype = ctypes.c_uint64
        reader.library.fftd_frame_checksum.argtypes = [ctypes.POINTER(RawFrame)]
        while not is_over.is_set():
            if reader.wait(100) < 0:
                time.sleep(0.01)  # until there is another daemon
            while taken := take(reader):
                frame, is_torn = taken
                picture = numpy.frombuffer(frame.planes[0], numpy.uint8).reshape(
                    frame.height, frame.width)
                number, gain = read_number(picture), gain_of(frame.filter_serial)
                missed += frame.missed
                if is_torn:
                    problems.append(f"{name}: frame {frame.sequence} is torn")
                elif number is None:
                    problems.append(f"{name}: frame {frame.sequence} shows no picture")
                elif abs(picture.mean() - gain * pictures[number].mean()) > 1.5:
                    problems.append(f"{name}: frame {frame.sequence} has the mean "
                                    f"{picture.mean():.1f} with filter {frame.filter_serial}")
                elif name == "raw" and abs(picture - gain * pictures[number]).max() > 0.52:
                    problems.append(f"raw: frame {frame.sequence} differs from its picture")
                frames[frame.source_sequence, frame.captured_ns] = (
                    number, frame.filter_serial, frame.published_ns - frame.captured_ns)
    found.send((frames, problems[:5], missed))


@contextlib.contextmanager
def programs(daemon, pictures, is_over):
    """Starts the three; yields what returns their findings."""
    running = []
    for name in OUTPUTS:
        ours, theirs = FORK.Pipe()
        process = FORK.Process(target=read_output, args=(
            daemon if name == "main" else of(daemon, name), name, pictures, is_over, theirs))
        process.start()
        theirs.close()
        running.append((process, ours))
    try:
        yield lambda: [ours.recv() for _, ours in running]
    finally:
        is_over.set()
        for process, _ in running:
            process.join(PATIENCE)
            process.kill()


def stop_reading(daemon):
    """A program that holds a frame of an output and never continues."""
    def stop():
        with Reader(daemon) as reader:
            reader.next()
            os.kill(os.getpid(), signal.SIGSTOP)

    process = FORK.Process(target=stop)
    process.start()
    return process


# ---- the test ----

class Changer(threading.Thread):
    """Changes the filter of each output in turn until it is stopped."""

    def __init__(self, daemon):
        super().__init__()
        self.daemon_process = daemon
        self.serial, self.made, self.seconds = 1, 0, 0
        self.problem = None
        self.is_over = threading.Event()

    def change(self, peer):
        self.serial += 1
        gain = str(gain_of(self.serial))
        changes = ["set", "gain", "dc", gain], ["set", "gain", "ac", gain]
        for name in OUTPUTS:
            path = "/org/fftd/camera" + ("" if name == "main" else f"/outputs/{name}")
            answer = peer.call("EditFilter", changes, 0, 0, signature="aastu", path=path)
            assert answer.type == RETURN and answer.number == self.serial, answer.message
            self.made += 1

    def run(self):
        begin = due = time.monotonic()
        try:
            with Peer(self.daemon_process) as peer:
                while not self.is_over.wait(max(0, due - time.monotonic())):
                    self.change(peer)
                    due = max(due + 1 / CHANGES_PER_SECOND, time.monotonic() - 1)
        except Exception as problem:  # the test raises it
            self.problem = problem
        self.seconds = time.monotonic() - begin

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()
        if self.problem:
            raise self.problem
        assert self.made > 0, "no filter was changed"


def newest(daemon):
    """The number of frames that each output has had; 0: one of them has no engine yet."""
    stats = [daemon.ctl_json("stats"), *(ctl_json(daemon, name, "stats") for name in OUTPUTS[1:])]
    is_running = all(each["FramesPublished"] > 0 for each in stats)
    return min(each["Sequence"] for each in stats) if is_running else 0


def match_frames(findings):
    """Compares frames of one number and one time. Returns how many there are in all outputs."""
    frames = [each[0] for each in findings]
    common = set(frames[0]) & set(frames[1]) & set(frames[2])
    wrong = [key for key in common if len({each[key][0] for each in frames}) != 1]
    assert not wrong, f"{len(wrong)} of {len(common)} frames are paired wrongly"
    times = {}
    for each in frames:
        for number, time_ns in each:
            assert times.setdefault(time_ns, number) == number, "one time has two numbers"
    return len(common)


def latency_ms(frames, since_ns, until_ns):
    """Returns the median and the 99th percentile for frames captured in this time."""
    values = sorted(frame[2] / 1e6 for key, frame in frames.items()
                    if since_ns <= key[1] < until_ns)
    return (values[len(values) // 2], values[len(values) * 99 // 100]) if values else (0, 0)


def test_frames_are_whole_and_paired(start, keeper, tmp_path, record_property):
    pictures = make_pictures()
    (tmp_path / "clip.raw").write_bytes(pictures.tobytes())
    first = stage_of(1)
    outputs = (f'outputs=( {{ name = "raw"; filter = "{first}"; }}, '
               f'{{ name = "small"; size = "{WIDTH // 2}x{HEIGHT // 2}"; filter = "{first}"; }} )')
    arguments = ("--set", "camera.format=GREY", "--set", "camera.loop=true", "--set",
                 "output.checksum=true", "--set", "output.slots=64", "--set", outputs, "--filter",
                 f"gaussian-blur:sigma=1.5 | {first}")
    scene = {"source": f"file:{tmp_path}/clip.raw", "size": f"{WIDTH}x{HEIGHT}", "fps": str(FPS)}
    is_over, changes, seconds, stuck, halves = FORK.Event(), 0, 0, None, []
    with contextlib.ExitStack() as stack:
        daemon = start(*arguments, **scene, **keeper.hand_over())
        for name in OUTPUTS[1:]:
            daemon.wait_for_socket(f"outputs/{name}/frames")
        findings_of = stack.enter_context(programs(daemon, pictures, is_over))
        for life in range(LIVES):
            if life > 0:
                die(daemon)
                daemon = start(*arguments, **scene, **keeper.hand_over())
            begin = daemon.wait_until(lambda: newest(daemon), "frames of all outputs")
            with Changer(daemon) as changer:
                wanted = begin + FRAMES // LIVES
                while newest(daemon) < wanted:
                    if life == LIVES - 1 and stuck is None and newest(daemon) > wanted - (
                            FRAMES // LIVES // 2):
                        halves.append(time.monotonic_ns())
                        stuck = stop_reading(of(daemon, "raw"))
                        stack.callback(stuck.kill)
                    assert keeper.names  # which takes what the daemon hands over
                    time.sleep(0.2)
            changes += changer.made
            seconds += changer.seconds
            halves = [time.monotonic_ns()] + halves if life == LIVES - 2 else halves
        end = time.monotonic_ns()
        is_over.set()
        findings = findings_of()
    problems = [problem for each in findings for problem in each[1]]
    assert not problems, problems
    common = match_frames(findings)
    assert common >= FRAMES * 0.5
    alone = [latency_ms(each[0], halves[0], halves[1]) for each in findings]
    beside = [latency_ms(each[0], halves[1], end) for each in findings]
    record_property("figures", f"{common} frames of all three outputs compared, none torn, none "
                    f"paired wrongly; {changes} changes, "
                    f"{changes / len(OUTPUTS) / seconds:.2f} a second of each filter, {LIVES} "
                    "daemons; missed by the programs: "
                    + ", ".join(str(each[2]) for each in findings)
                    + "; ms from capture to publication, median / p99, of " + ", ".join(OUTPUTS)
                    + ": " + ", ".join(f"{a:.1f} / {b:.1f}" for a, b in alone)
                    + "; beside a stuck reader of raw: "
                    + ", ".join(f"{a:.1f} / {b:.1f}" for a, b in beside))
