"""Tests that the ring's numbers and its clients outlive the daemon. The test acts as the service
manager."""

import concurrent.futures
import fcntl
import functools
import os
import socket
import struct
import tempfile

import pytest

from client import LIVE, OFFLINE, Reader
from conftest import FAST_KERNELS, PATIENCE, Daemon

# A client that wants every frame needs many slots: these last for three seconds.
FPS = "20"
CHECKSUM = ("--set", "output.checksum=true", "--set", "output.slots=64")
WITH_CHECKSUM = 1
# First descriptor for the shell that exec()s a daemon, above 3, 4 ... which it hands over.
FIRST_FD = 100


class Keeper:
    """The part of systemd that stores descriptors: FDSTORE=1 adds them, LISTEN_FDS passes them on
    after the listening sockets."""

    def __init__(self, path, runtime_dir):
        self.path = path
        self.kept = []  # (name, descriptor)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        runtime_dir.mkdir(mode=0o700)
        self.listening = [(name, self.listen(runtime_dir / name, kind)) for name, kind in
                          (("frames", socket.SOCK_SEQPACKET), ("control", socket.SOCK_STREAM))]

    @staticmethod
    def listen(path, kind):
        with socket.socket(socket.AF_UNIX, kind) as made:
            made.bind(str(path))
            made.listen()
            return fcntl.fcntl(made.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST_FD)

    def close(self):
        self.socket.close()
        for _, fd in self.kept + self.listening:
            os.close(fd)

    def forget(self, name):
        for each, fd in self.kept:
            if each == name:
                os.close(fd)
        self.kept = [each for each in self.kept if each[0] != name]

    def take(self, timeout):
        """Receives and executes the next message. Returns None if none arrives."""
        self.socket.settimeout(timeout)
        try:
            text, fds, _, _ = socket.recv_fds(self.socket, 4096, 4)
        except (BlockingIOError, TimeoutError):
            return None
        fields = dict(line.split("=", 1) for line in text.decode().splitlines())
        if fields.get("FDSTOREREMOVE") == "1":
            self.forget(fields["FDNAME"])
        for fd in fds:
            assert fields["FDSTORE"] == "1"
            self.kept.append((fields["FDNAME"], fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FD)))
            os.close(fd)
        return fields

    def wait_for(self, condition, what):
        while not condition():
            assert self.take(PATIENCE) is not None, f"waited in vain for {what}: {self.names}"

    @property
    def names(self):
        """Of everything kept, as far as it has been told."""
        while self.take(0) is not None:
            pass
        return sorted(name for name, _ in self.kept)

    @property
    def has_both(self):
        """One ring and one client; which number the client has is the daemon's affair."""
        names = self.names
        return len(names) == 2 and names[0].startswith("client-") and names[1] == "ring"

    def fd(self, name):
        return dict(self.kept)[name]

    def hand_over(self):
        """Returns the command that starts a daemon with the stored descriptors. The shell sets
        LISTEN_PID."""
        given = self.listening + self.kept
        moves = " ".join(f"{3 + i}<&{fd}" for i, (_, fd) in enumerate(given))
        closes = " ".join(f"{fd}<&-" for _, fd in given)
        return {
            "wrapper": ["bash", "-c", f'export LISTEN_PID=$$; exec "$@" {moves} {closes}', "bash"],
            "pass_fds": [fd for _, fd in given],
            "env": {"NOTIFY_SOCKET": str(self.path), "LISTEN_FDS": str(len(given)),
                    "LISTEN_FDNAMES": ":".join(name for name, _ in given)},
        }


@pytest.fixture
def start(start):
    return functools.partial(start, fps=FPS)


@pytest.fixture
def keeper(runtime_dir):
    made = Keeper(runtime_dir.parent / "notify", runtime_dir)
    yield made
    made.close()


def die(daemon):
    daemon.process.kill()
    daemon.process.wait()


def take_whole(reader, count=10):
    """So many frames, whose pixels are those that were published."""
    taken = []
    for frame in reader.frames():
        assert frame.flags & WITH_CHECKSUM
        taken.append(frame)
        if len(taken) == count:
            return taken


@pytest.fixture
def first_life(start, keeper):
    """A daemon and a client of it, which has had frames."""
    daemon = start(*CHECKSUM, **keeper.hand_over())
    with Reader(daemon) as reader:
        reader.last = take_whole(reader)[-1]
        keeper.wait_for(lambda: keeper.has_both, "a ring and a client")
        reader.last = reader.take_rest() or reader.last
        yield daemon, reader


@pytest.mark.parametrize("end", ["crash", "stop"])
def test_a_restart_is_a_pause(start, keeper, first_life, end):
    daemon, reader = first_life
    for epoch in (2, 3):
        if end == "crash":
            die(daemon)
        else:
            assert daemon.stop() == 0
        assert keeper.has_both
        while reader.state != OFFLINE:
            reader.wait(10)
            reader.last = reader.take_rest() or reader.last
        daemon = start(*CHECKSUM, **keeper.hand_over())
        frames = take_whole(reader)
        assert frames[0].sequence == reader.last.sequence + 1 + frames[0].missed
        assert [frame.missed for frame in frames[1:]] == [0] * (len(frames) - 1)
        assert reader.epoch == epoch
        assert reader.state == LIVE
        assert daemon.ctl_json("status")["Generation"] == epoch
        assert daemon.ctl_json("stats")["Clients"] == 1
        reader.last = frames[-1]
    assert keeper.has_both


def open_slots(fd):
    """Returns the numbers of the ring's slots that are being written."""
    _, _, header_bytes, _, count, _, stride = struct.unpack("<QIIQIIQ", os.pread(fd, 40, 0))
    return [slot for slot in range(count)
            if struct.unpack("<I", os.pread(fd, 4, header_bytes + slot * stride))[0] % 2 == 1]


def test_a_daemon_is_killed_while_the_device_has_slots(start_faulty, faults, keeper):
    """The device does not finish the frames that it stores into two slots. Readers have all others,
    and the successor begins after them."""
    # `none` asks the device nothing.
    daemon = start_faulty(*CHECKSUM, "--filter", "gaussian-blur:sigma=2", "--set",
                          "engine.in_flight=2", "--set", "engine.frame_timeout=600",
                          **keeper.hand_over())
    with Reader(daemon) as reader:
        take_whole(reader)
        keeper.wait_for(lambda: keeper.has_both, "a ring and a client")
        faults.begin("hang")
        ring = os.dup(keeper.fd("ring"))
        daemon.wait_until(lambda: len(open_slots(ring)) == 2, "frames that the device keeps")
        kept = open_slots(ring)
        with Reader(daemon) as late:  # attaches to a ring with open slots
            assert take_whole(late, 1)[0].sequence > 0
        die(daemon)
        faults.end()
        assert open_slots(ring) == kept
        last = reader.take_rest()
        daemon = start_faulty(*CHECKSUM, **keeper.hand_over())
        frames = take_whole(reader)
        if last is not None:
            assert frames[0].sequence == last.sequence + 1 + frames[0].missed
        assert [frame.missed for frame in frames[1:]] == [0] * (len(frames) - 1)
        assert reader.epoch == 2
        assert open_slots(ring) == kept  # nobody writes the old ring any more
        os.close(ring)
    assert daemon.stop() == 0


@pytest.mark.parametrize("end", [die, Daemon.stop])
def test_another_size_is_another_ring(start, keeper, first_life, end):
    """No frame is lost in the restart, including those published just before it."""
    daemon, reader = first_life
    with concurrent.futures.ThreadPoolExecutor() as executor:
        taking = executor.submit(reader.take_until, lambda frame: frame.width == 96)
        end(daemon)
        start(*CHECKSUM, *FAST_KERNELS, size="96x64", **keeper.hand_over())
        taken = taking.result()
    numbers = [reader.last.sequence] + [frame.sequence for frame in taken]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert reader.epoch == 2
    assert all(frame.width == 96 for frame in take_whole(reader))
    keeper.wait_for(lambda: keeper.has_both, "the new ring")
    # The new ring is stored.
    assert os.fstat(keeper.fd("ring")).st_size < 160 * 120 * 3 // 2 * 64


def test_a_damaged_ring_is_replaced(start, keeper, first_life):
    daemon, reader = first_life
    die(daemon)
    keeper.forget("ring")
    with tempfile.TemporaryFile() as other:
        other.write(b"NONSENSE" * 1000)
        keeper.kept.append(("ring", fcntl.fcntl(other.fileno(), fcntl.F_DUPFD_CLOEXEC, FIRST_FD)))
    daemon = start(*CHECKSUM, **keeper.hand_over())
    daemon.wait_for_log("not a ring; frames are numbered from 1 again")
    reader.take_until(lambda frame: reader.epoch == 1 and reader.state == LIVE)
    take_whole(reader)
    keeper.wait_for(lambda: keeper.has_both, "the new ring")
    assert os.pread(keeper.fd("ring"), 8, 0) == b"FFTDRING"


@pytest.mark.parametrize("lost", ["ring", "client"])
def test_half_of_it_is_enough(start, keeper, first_life, lost):
    daemon, reader = first_life
    die(daemon)
    keeper.forget(next(name for name in keeper.names if name.startswith(lost)))
    daemon = start(*CHECKSUM, **keeper.hand_over())
    take_whole(reader)
    reader.take_until(lambda frame: reader.state == LIVE)
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Clients"] == 1, "the client")
    keeper.wait_for(lambda: keeper.has_both, "both to be kept again")


def test_who_left_meanwhile_is_forgotten(start, keeper, first_life):
    daemon, reader = first_life
    die(daemon)
    reader.library.fftd_close(reader.handle)
    reader.handle = None
    daemon = start(*CHECKSUM, **keeper.hand_over())
    keeper.wait_for(lambda: keeper.names == ["ring"], "the client to be forgotten")
    assert daemon.ctl_json("stats")["Clients"] == 0


def test_names_of_others_are_let_alone(start, keeper):
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for name in ("other", "client-none"):
        keeper.kept.append((name, fcntl.fcntl(ends[0], fcntl.F_DUPFD_CLOEXEC, FIRST_FD)))
    daemon = start(*CHECKSUM, **keeper.hand_over())
    keeper.wait_for(lambda: keeper.names == ["other", "ring"], "the wrong name to be forgotten")
    assert "'client-none' is not a client's name" in daemon.log
    with Reader(daemon) as reader:
        take_whole(reader)
    for end in ends:
        end.close()
