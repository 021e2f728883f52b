"""Tests that let each allocation of the daemon fail once (tests/faults/alloc.c), at the start and
during changes. Each change is then made as a whole, or it is not made and that is said."""

import contextlib
import mmap
import struct
import time

import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE, SANITIZED
from dbus_peer import RETURN, Peer

pytestmark = pytest.mark.skipif(SANITIZED, reason="the sanitizer has an allocator of its own")

OWNERS = {"fftd": 1, "libsystemd": 2}
MAX_ALLOCATIONS = 2000 # of one start or change
SYSEXITS = range(65, 79) # but EX_USAGE
SETTINGS = [*FAST_KERNELS, "--set", "camera.format=GREY"]


class Allocations:
    """struct plan of tests/faults/alloc.c, shared with the daemon."""

    LAYOUT = "<IIqi4x"

    def __init__(self, path):
        path.write_bytes(bytes(struct.calcsize(self.LAYOUT)))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.env = {"LD_PRELOAD": str(BUILD / "tests/tools/faulty_alloc.so"),
                    "FFTD_ALLOCATIONS": str(path)}
        self.disarm()

    def arm(self, owner, left):
        """Lets one allocation of the owner fail after `left` others."""
        struct.pack_into("<II", self.memory, 0, owner, 0)
        struct.pack_into("<q", self.memory, 8, left)

    def disarm(self):
        """Returns whether an allocation has failed."""
        struct.pack_into("<q", self.memory, 8, -1)
        return struct.unpack_from(self.LAYOUT, self.memory)[1] > 0

    @property
    def live(self):
        """How many blocks of the program and of libsystemd the last process has not freed."""
        return struct.unpack_from(self.LAYOUT, self.memory)[3]


@pytest.fixture
def allocations(tmp_path):
    return Allocations(tmp_path / "allocations")


@pytest.fixture
def launch(start, allocations):
    """launch(argument...) starts a daemon whose allocations fail as `allocations` says."""
    return lambda *arguments, size="64x48", **options: start(*arguments, *SETTINGS, size=size,
                                                             env=allocations.env, **options)


def is_carried_out(peer):
    """Whether the newest filter is in use, or the status says why it is not."""
    return (peer.get("PublishedSerial") >= peer.get("Serial")
            or peer.get("FilterProblem") != "" or peer.get("State") == "failed")


def call_with_fault(daemon, allocations, fault, method, *values, **options):
    """Calls a method while an allocation fails. Returns whether it was done; None: the connection
    has ended. The fault is over before another client connects: sd-bus aborts the process if the
    registration of an object fails."""
    owner, left = fault
    with Peer(daemon) as peer:
        peer.call("GetStats")
        allocations.arm(OWNERS[owner], left)
        try:
            done = peer.call(method, *values, **options).type == RETURN
            if done and owner == "fftd":
                daemon.wait_until(lambda: is_carried_out(peer), "the filter")
                done = peer.get("FilterProblem") == ""  # or it is withdrawn
        except (EOFError, ConnectionError):
            done = None
        return done, allocations.disarm()


def in_use(daemon):
    return daemon.ctl_json("status")["Source"], daemon.ctl_json("filter", "show")["Filter"]


def assert_serves(daemon, reader):
    """Frames come with the newest filter."""
    serial, sequence = daemon.ctl_json("status")["Serial"], reader.next().sequence
    reader.take_until(lambda frame: frame.sequence > sequence and frame.filter_serial >= serial)


def assert_leaves_nothing(daemon, allocations):
    assert allocations.live > 20, "the blocks of a running daemon are counted"
    assert daemon.stop() == 0
    assert allocations.live == 0, "leaks"


def try_every(daemon, attempt):
    """Calls attempt(left) for each allocation in turn. It returns whether one has failed."""
    descriptors = 0
    for left in range(MAX_ALLOCATIONS):
        failed = attempt(left)
        descriptors = descriptors or len(daemon.descriptors())
        if not failed:
            break
    else:
        raise AssertionError("the allocations never end")
    daemon.wait_until(lambda: len(daemon.descriptors()) <= descriptors, "no leak")


def wait_for_start(daemon):
    """Returns the exit code, or None once there are frames."""
    deadline = time.monotonic() + PATIENCE
    while "online: " not in daemon.log and daemon.process.poll() is None:
        assert time.monotonic() < deadline, daemon.log
        time.sleep(0.01)
    return daemon.process.poll()


@pytest.mark.parametrize("owner", OWNERS)
def test_at_the_start(launch, allocations, owner):
    """The daemon runs, or says what it lacks and exits."""
    # An exit does not wait for a driver that is compiling, so everything is compiled first.
    daemon = launch()
    assert wait_for_start(daemon) is None
    assert_leaves_nothing(daemon, allocations)
    for left in range(MAX_ALLOCATIONS):
        allocations.arm(OWNERS[owner], left)
        daemon = launch()
        code = wait_for_start(daemon)
        failed = allocations.disarm()
        if code is None:
            with Reader(daemon) as reader:
                assert_serves(daemon, reader)
            assert_leaves_nothing(daemon, allocations)
        else:
            assert allocations.live == 0, f"allocation {left}: leaks at the exit"
            assert code in SYSEXITS, f"allocation {left}: {code}, {daemon.log}"
            assert "memory" in daemon.log, f"allocation {left}: {code}"
        if not failed:
            return
    raise AssertionError("the start never ends")


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("fade_frames", [0, 3])
def test_while_the_filter_changes(launch, allocations, owner, fade_frames):
    daemon = launch()
    chain = "lowpass:cutoff=0.1"

    def attempt(left):
        daemon.ctl("filter", "set", "none")
        assert_serves(daemon, reader)
        before = in_use(daemon)
        done, failed = call_with_fault(daemon, allocations, (owner, left), "EditFilter",
                                       [["replace", chain]], 0, fade_frames, signature="aastu")
        after = in_use(daemon)
        assert (done is not True or after != before) and (done is not False or after == before)
        daemon.ctl("filter", "set", chain)
        assert_serves(daemon, reader)
        assert failed or done
        return failed

    with Reader(daemon) as reader:
        try_every(daemon, attempt)
    assert_leaves_nothing(daemon, allocations)


@pytest.mark.parametrize("owner", OWNERS)
def test_during_a_reload(launch, allocations, owner, tmp_path):
    """A reload changes source, size and filter."""
    config = tmp_path / "fftd.conf"

    def write(source, size, chain):
        config.write_text(f'camera = {{ source = "pattern:{source}"; size = "{size}"; }};\n'
                          f'filter = "{chain}";\n')

    old, new = ("moire", "64x48", "none"), ("bars", "96x64", "gaussian-blur:sigma=2")
    write(*old)
    daemon = launch("--config", config, source=None, size=None)

    def attempt(left):
        write(*old)
        daemon.ctl("reload")
        assert_serves(daemon, reader)
        write(*new)
        before = in_use(daemon)
        done, failed = call_with_fault(daemon, allocations, (owner, left), "Reload")
        # Without an answer it may still be in progress.
        results = before, ("pattern:bars", "gaussian-blur:sigma=2")
        after = daemon.wait_until(lambda: (now := in_use(daemon)) in results and now, "the result")
        assert (done is not True or after != before) and (done is not False or after == before)
        assert_serves(daemon, reader)
        daemon.ctl("reload")
        assert_serves(daemon, reader)
        assert in_use(daemon) == ("pattern:bars", "gaussian-blur:sigma=2")
        assert failed or done
        return failed

    with Reader(daemon) as reader:
        try_every(daemon, attempt)
    assert_leaves_nothing(daemon, allocations)


@pytest.mark.parametrize("owner, connect", [
    ("fftd", Reader), ("libsystemd", Reader), ("fftd", Peer)])
def test_while_a_client_connects(launch, allocations, owner, connect):
    """It is served or refused, and the next one is served."""
    daemon = launch()

    def attempt(left):
        allocations.arm(OWNERS[owner], left)
        with contextlib.suppress(AssertionError, EOFError, ConnectionError):
            with connect(daemon) as client:
                if connect is Peer:
                    client.call("GetStats")
        failed = allocations.disarm()
        assert_serves(daemon, reader)
        return failed

    with Reader(daemon) as reader:
        assert_serves(daemon, reader)
        try_every(daemon, attempt)
    assert_leaves_nothing(daemon, allocations)
