"""Tests of gst: sources: fftd-gst, the process that runs the pipeline, alone and under fftd."""

import contextlib
import mmap
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

import numpy
import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE, wait_until
from dbus_peer import RETURN, Peer
from service_manager import ServiceManager

ROOT = pathlib.Path(__file__).resolve().parents[2]
# GLib is not built for ThreadSanitizer, which would report its locks.
PROGRAM = (ROOT / "build" if "thread" in BUILD.name else BUILD) / "fftd-gst"

# daemon/core/gst_link.h.
MESSAGE = struct.Struct("=2I5I4B4Ii4xQq512s")
MAGIC = 0x31475446
OPEN, LOADED, FORMAT, START, FRAME, RELEASE, STOP, END = range(1, 9)
ENODATA, ESTALE = 61, 116

RED = "videotestsrc pattern=solid-color foreground-color=0xffff0000"
# Red in BT.601 with limited range: Y 81, U 90, V 240; full luma for grey: videoconvert's.
SAMPLES = {
    "NV12": [[81], [90, 240]],
    "NV21": [[81], [240, 90]],
    "NV16": [[81], [90, 240]],
    "YU12": [[81], [90], [240]],
    "YV12": [[81], [240], [90]],
    "YUYV": [[81, 90, 81, 240]],
    "UYVY": [[90, 81, 240, 81]],
    "BG24": [[255, 0, 0]],
    "RG24": [[0, 0, 255]],
    "BX24": [[None, 255, 0, 0]],
    "XR24": [[0, 0, 255, None]],
}


@pytest.fixture(autouse=True)
def program(monkeypatch):
    if not PROGRAM.exists():
        pytest.skip("fftd-gst was not built: libgstreamer-plugins-base1.0-dev is not installed")
    monkeypatch.setenv("FFTD_GST_HELPER", str(PROGRAM))


class Message:
    def __init__(self, packet):
        (self.magic, self.kind, fourcc, self.width, self.height, self.rate_num, self.rate_den,
         *self.colour, self.live, self.loop, self.start, self.index, self.err, self.sequence,
         self.captured_ns, text) = MESSAGE.unpack(packet)
        self.fourcc = fourcc.to_bytes(4, "little").decode()
        self.text = text.split(b"\0")[0].decode()


def pack(kind, text="", fourcc="\0\0\0\0", size=(0, 0), rate=(0, 1), start=0, index=0, loop=0):
    return MESSAGE.pack(MAGIC, kind, int.from_bytes(fourcc.encode(), "little"), *size, *rate,
                        0, 0, 0, 0, 0, loop, start, index, 0, 0, 0, text.encode())


class Helper:
    """fftd-gst with this test in the place of the daemon."""

    def __init__(self, pipeline, **wanted):
        self.socket, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        with end:
            self.process = subprocess.Popen(
                ["bash", "-c", f"exec '{PROGRAM}' 3<&{end.fileno()}"], pass_fds=[end.fileno()])
        self.socket.send(pack(OPEN, pipeline, **wanted))

    def __enter__(self):
        assert self.receive().kind == LOADED
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.socket.close()

    def receive(self):
        try:
            return Message(self.socket.recv(MESSAGE.size + 1))
        except ConnectionResetError:
            # The helper has ended before it read a release. Linux says so once, before the
            # messages that the helper had sent.
            return Message(self.socket.recv(MESSAGE.size + 1))

    def start(self, frame_bytes, count=4, start=1):
        fd = os.memfd_create("frames")
        os.truncate(fd, count * frame_bytes)
        socket.send_fds(self.socket, [pack(START, start=start, index=count)], [fd])
        self.memory = mmap.mmap(fd, count * frame_bytes)
        os.close(fd)

    def release(self, message):
        """Gives a frame's buffer back. Linux refuses it if the helper has ended by now: as a
        broken pipe, or once as a reset if the helper had left messages unread."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.send(pack(RELEASE, start=message.start, index=message.index))

    def frame(self, frame_bytes):
        """The bytes of the next frame, whose buffer is given back."""
        message = self.receive()
        assert message.kind == FRAME, message.text
        data = self.memory[message.index * frame_bytes:][:frame_bytes]
        self.release(message)
        return data


def plane_bytes(fourcc, width, height):
    """The bytes of each plane of one frame without padding."""
    if fourcc in ("NV12", "NV21", "NV16"):
        return [width * height, width * height // (1 if fourcc == "NV16" else 2)]
    if fourcc in ("YU12", "YV12"):
        return [width * height, width * height // 4, width * height // 4]
    return [width * height * {"YUYV": 2, "UYVY": 2, "BG24": 3, "RG24": 3}.get(fourcc, 4)]


@pytest.mark.parametrize("fourcc", SAMPLES)
def test_frames_have_the_bytes_of_their_format(fourcc):
    """A width that GStreamer pads: its rows begin at multiples of four bytes."""
    size = (54, 6)
    planes = plane_bytes(fourcc, *size)
    with Helper(RED, fourcc=fourcc, size=size, rate=(25, 1)) as helper:
        found = helper.receive()
        assert (found.kind, found.fourcc, found.width, found.height) == (FORMAT, fourcc, *size)
        assert (found.rate_num, found.rate_den, found.live) == (25, 1, 0)
        helper.start(sum(planes))
        for _ in range(2):
            data = numpy.frombuffer(helper.frame(sum(planes)), numpy.uint8)
            for samples, count in zip(SAMPLES[fourcc], planes):
                plane, data = data[:count].reshape(-1, len(samples)), data[count:]
                for i, sample in enumerate(samples):
                    assert sample is None or (plane[:, i] == sample).all(), plane[0]


@pytest.mark.parametrize("pipeline, words", [
    ("videotestsrc ! nosuchelement", 'no element "nosuchelement"'),
    ("videotestsrc !", "syntax error"),
    ("audiotestsrc", "could not link audiotestsrc0"),
    ("filesrc location=/nonexistent ! decodebin", 'filesrc0: Resource not found. (No such file'),
    ("videotestsrc ! video/x-raw,width=9000,height=8", "8192"),
])
def test_a_pipeline_that_cannot_be_opened_says_why(pipeline, words):
    with Helper(pipeline, fourcc="NV12") as helper:
        end = helper.receive()
        assert end.kind == END and words in end.text, end.text
        assert helper.process.wait(PATIENCE) == 0


def test_a_size_that_the_pipeline_does_not_have_is_refused():
    with Helper(f"{RED} ! video/x-raw,width=320,height=240", size=(640, 480)) as helper:
        end = helper.receive()
        assert "videotestsrc0" in end.text and "does not have the format, size or rate" in end.text


def test_a_pipeline_that_reads_waits_for_its_reader():
    """It keeps its frames until they are taken, and tells its end after the last one."""
    with Helper(f"{RED} num-buffers=9", fourcc="XR24", size=(8, 8), rate=(1000, 1)) as helper:
        assert helper.receive().kind == FORMAT
        helper.start(256, count=2)
        first, second = helper.receive(), helper.receive()
        assert (first.sequence, second.sequence) == (0, 1)
        assert {first.index, second.index} == {0, 1}
        helper.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            helper.receive()
        helper.socket.settimeout(PATIENCE)
        for frame in first, second:
            helper.release(frame)
        for sequence in range(2, 9):
            message = helper.receive()
            assert (message.kind, message.sequence) == (FRAME, sequence)
            helper.release(message)
        end = helper.receive()
        assert (end.kind, end.err) == (END, ENODATA)


def test_a_buffer_may_be_given_back_to_one_that_has_ended():
    with Helper(f"{RED} num-buffers=2", fourcc="XR24", size=(8, 8), rate=(1000, 1)) as helper:
        assert helper.receive().kind == FORMAT
        helper.process.send_signal(signal.SIGSTOP)
        helper.start(256)
        frame = Message(pack(FRAME, start=1))
        helper.release(frame)
        helper.process.kill()
        helper.process.wait()
        helper.release(frame)  # a reset
        helper.release(frame)  # a broken pipe
        assert helper.socket.recv(MESSAGE.size) == b""


def test_a_live_pipeline_loses_what_finds_no_buffer():
    with Helper(f"{RED} is-live=true", fourcc="XR24", size=(8, 8), rate=(100, 1)) as helper:
        assert helper.receive().live == 1
        helper.start(256, count=2)
        first, newest = helper.receive(), helper.receive()
        assert 0 < newest.captured_ns - first.captured_ns < 1e9
        missed = 0
        while missed == 0:  # until it has run while there was no buffer
            helper.socket.settimeout(0.1)
            with pytest.raises(TimeoutError):
                helper.receive()
            helper.socket.settimeout(PATIENCE)
            helper.release(first)
            first, newest, before = newest, helper.receive(), newest.sequence
            missed = newest.sequence - before - 1


def test_it_stops_and_starts_with_other_memory():
    with Helper(RED, fourcc="XR24", size=(8, 8), rate=(100, 1)) as helper:
        assert helper.receive().kind == FORMAT
        for start in 1, 2, 3:
            helper.start(256, start=start)
            while (message := helper.receive()).start != start:
                assert message.kind == FRAME
            assert helper.memory[256 * message.index:][:3] == bytes([0, 0, 255])
            helper.socket.send(pack(STOP))


def test_a_format_that_changes_ends_the_pipeline():
    with Helper(f"{RED} num-buffers=2 ! video/x-raw,width=64,height=64 ! concat name=both "
                f"{RED} ! video/x-raw,width=32,height=32 ! both. both.", fourcc="XR24") as helper:
        assert helper.receive().kind == FORMAT
        helper.start(64 * 64 * 4)
        while (message := helper.receive()).kind == FRAME:
            pass
        assert (message.kind, message.err) == (END, ESTALE)
        assert "32x32 now" in message.text


def test_it_is_not_for_users():
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 64 and "fftd starts this program" in done.stderr


# ---- under the daemon ----

CHECKERS = "gst:videotestsrc is-live=true pattern=checkers-1"
SMALL_NV12 = (*FAST_KERNELS, "--set", "camera.format=NV12")


def helpers_of(daemon):
    """The pids of all children."""
    return [int(pid) for text in daemon.of_threads("children") for pid in text.split()]


def is_alive(pid):
    """Not so once it is only waited for."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def start_pipeline(start, *arguments, source=CHECKERS, **keywords):
    daemon = start(*SMALL_NV12, *arguments, source=source, **keywords)
    daemon.wait_for_socket("frames")
    return daemon


def test_thirty_frames_through_the_filter(start):
    """The finest checkerboard, of red (luma 81) and green (145), is gone behind a lowpass."""
    daemon = start_pipeline(start, "--filter", "lowpass:cutoff=0.2")
    with Reader(daemon) as reader:
        captured = 0
        for _ in range(30):
            frame = reader.next()
            assert captured < frame.captured_ns <= frame.dequeued_ns
            captured = frame.captured_ns
            luma = numpy.frombuffer(frame.planes[0], numpy.uint8)
            assert len(luma) == 160 * 120 and 100 < luma.mean() < 130 and luma.std() < 2
        daemon.ctl("filter", "set", "none")
        for _ in range(300):
            if numpy.frombuffer(reader.next().planes[0], numpy.uint8).std() > 25:
                break
        else:
            pytest.fail("the filter is still there")
    (helper,) = helpers_of(daemon)
    links = [os.readlink(path) for path in pathlib.Path(f"/proc/{helper}/fd").iterdir()]
    assert not [link for link in links if "fftd-ring" in link], links
    assert os.readlink(f"/proc/{helper}/fd/0") == "/dev/null"
    assert helper == os.getpgid(helper)
    assert daemon.stop() == 0
    wait_until(lambda: not is_alive(helper), "the end of the helper")


# Not SIGSEGV: AddressSanitizer catches it, and the process exits.
@pytest.mark.parametrize("number, words", [
    (signal.SIGABRT, "its process was killed by signal 6"),
    (signal.SIGKILL, "its process was killed by signal 9"),
])
def test_a_crash_is_a_lost_camera(start, number, words):
    daemon = start_pipeline(start)
    with Reader(daemon) as reader:
        last = reader.next().sequence
        (helper,) = helpers_of(daemon)
        os.kill(helper, number)
        daemon.wait_for_log(f"the GStreamer pipeline ended: {words}")
        daemon.wait_until(lambda: helpers_of(daemon) not in ([], [helper]), "another helper")
        reader.take_until(lambda frame: frame.sequence > last + 5)
        assert daemon.wait_until(lambda: helper not in helpers_of(daemon), "no zombie")


def test_a_pipeline_that_stalls_is_opened_again(start):
    daemon = start_pipeline(start, "--set", "camera.stall_timeout=1.5")
    with Reader(daemon) as reader:
        last = reader.next().sequence
        (helper,) = helpers_of(daemon)
        os.kill(helper, signal.SIGSTOP)
        daemon.wait_for_log("no frame for 1.5 s")
        daemon.wait_until(lambda: not is_alive(helper), "the end of the helper")
        reader.take_until(lambda frame: frame.sequence > last + 5)


MUTE = "gst:videotestsrc is-live=true ! identity drop-probability=1"


def test_a_pipeline_that_never_delivers_holds_nothing(start, tmp_path):
    """The daemon answers and ends while it opens one, at the start and later."""
    daemon = start(*SMALL_NV12, source=MUTE)
    daemon.wait_for_socket()
    with Peer(daemon) as peer:
        # Its sockets may answer before it begins to open the source.
        wait_until(lambda: peer.get("SourceOpening"), "the opening")
        assert peer.get("State") == "starting"
        assert peer.get("StateReason") == f"{MUTE} is being opened"
        assert peer.call("SetFilter", "sharpen:amount=1,sigma=1").type == RETURN
    snapshot = daemon.ctl("snapshot", "-o", tmp_path, check=False)
    assert (snapshot.returncode, snapshot.stderr) == (
        os.EX_TEMPFAIL, "fftd-ctl: there are no frames: the camera is starting\n")
    (helper,) = helpers_of(daemon)
    begin = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - begin < 9  # the helper is given 10 s to deliver
    wait_until(lambda: not is_alive(helper), "the end of the helper")


def test_a_lost_pipeline_is_told_once(start, tmp_path):
    """Attempts to open it again, after 0.1 s and more, change nothing that is told to others."""
    manager = ServiceManager(tmp_path / "notify")
    daemon = start(*SMALL_NV12, "--wait", source="gst:filesrc location=/nonexistent ! decodebin",
                   env=manager.env)
    lost = manager.wait_for("READY=1")
    assert "STATUS=lost: " in lost
    time.sleep(2)
    manager.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.socket.recv(4096)
    assert not daemon.ctl_json("status")["SourceOpening"]


def test_a_reload_to_a_pipeline_that_never_delivers(start, tmp_path):
    """The old source comes back when the new one has failed, with its filter."""
    config = tmp_path / "fftd.conf"

    def write(source, chain):
        config.write_text(f'camera = {{ source = "{source}"; size = "160x120"; '
                          'format = "NV12"; };\nengine = { technique = "staged"; };\n'
                          f'filter = "{chain}";\n')

    write(CHECKERS, "none")
    daemon = start("--config", config, source=None, size=None, fps=None)
    with Reader(daemon) as reader:
        last = reader.next().sequence
        (old,) = helpers_of(daemon)
        write(MUTE, "gain:dc=0")
        daemon.wait_for_log("online")
        with Peer(daemon) as peer, daemon.begin_ctl("reload") as reloading:
            mute = daemon.wait_until(lambda: [pid for pid in helpers_of(daemon) if pid != old],
                                     "another helper")[0]
            daemon.wait_until(lambda: peer.get("SourceOpening"), "the opening")
            assert peer.get("StateReason") == f"{MUTE} is being opened"
            for view in "difference", "picture":  # has a serial of its own, but no filter
                assert peer.call("SetView", view).type == RETURN
            assert reloading.poll() is None
            os.kill(mute, signal.SIGKILL)  # the end of its 10 s
            assert reloading.wait(PATIENCE) != 0
            assert "was killed by signal 9" in reloading.stderr.read()
        frame = reader.take_until(lambda frame: frame.sequence > last + 5)[-1]
        assert daemon.ctl("filter", "show", "--raw").stdout.strip() == "none"
        assert numpy.frombuffer(frame.planes[0], numpy.uint8).std() > 25
    assert daemon.stop() == 0


@pytest.mark.parametrize("loop", ["false", "true"])
def test_the_end_of_the_stream(start, loop):
    daemon = start_pipeline(start, "--set", f"camera.loop={loop}",
                            source="gst:videotestsrc num-buffers=20")
    if loop == "false":
        daemon.wait_for_log("finished: the pipeline has delivered its last frame")
        daemon.wait_until(lambda: not helpers_of(daemon), "the end of the helper")
    else:
        with Reader(daemon) as reader:
            reader.take_until(lambda frame: frame.source_sequence > 50)
        assert "finished" not in daemon.log


def test_the_helper_ends_with_the_daemon(start):
    daemon = start_pipeline(start)
    with Reader(daemon) as reader:
        reader.next()
    (helper,) = helpers_of(daemon)
    daemon.process.kill()
    daemon.wait()
    wait_until(lambda: not is_alive(helper), "the end of the helper")


def test_the_daemon_refuses_what_cannot_work(fftd):
    done = fftd("--source", "gst:videotestsrc ! nosuchelement")
    assert done.returncode == 78
    assert 'gst:videotestsrc ! nosuchelement: no element "nosuchelement"' in done.stderr
    done = fftd("--source", "gst:videotestsrc", "--fps", "max")
    assert done.returncode == 78 and "sets the pace itself" in done.stderr


def test_a_helper_that_is_not_installed(runtime_dir, tmp_path, monkeypatch):
    monkeypatch.delenv("FFTD_GST_HELPER")
    alone = tmp_path / "fftd"
    shutil.copy(BUILD / "fftd", alone)
    done = subprocess.run([alone, "--runtime-dir", runtime_dir, "--source", "gst:videotestsrc"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 69
    assert "is not installed: it is in the Debian package fftd-gst" in done.stderr
