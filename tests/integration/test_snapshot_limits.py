"""What snapshots can cost the daemon when clients keep what they got."""

import contextlib
import mmap
import os
import time

import pytest

from conftest import FAST_KERNELS, needs_root
from dbus_peer import RETURN, Keeper

BUSY = "org.fftd.Error.Busy"
LIMIT = 4  # of one user on one socket
OTHER = 65534  # a user who is neither root nor the one who runs the tests


@pytest.fixture
def daemon(start):
    daemon = start(*FAST_KERNELS)
    daemon.wait_for_log("online")
    daemon.wait_for_socket("control-watch")
    return daemon


def lent(daemon):
    return [name for name in daemon.descriptors() if "memfd:fftd-before" in name or
            "memfd:fftd-after" in name]


def test_kept_snapshots_are_few(daemon):
    """400 snapshots at 1920x1080 whose descriptors were kept took 2.4 GB."""
    with Keeper(daemon, "control-watch") as greedy, Keeper(daemon) as changer:
        answers = [greedy.call("SnapshotAfter") for _ in range(400)]
        assert [answer.type for answer in answers[:LIMIT]] == LIMIT * [RETURN]
        assert {answer.error for answer in answers[LIMIT:]} == {BUSY}
        assert "close their descriptors" in answers[-1].message
        assert len(lent(daemon)) == LIMIT
        assert changer.call("Snapshot").type == RETURN, "watchers keep no changer out"
        changer.close_descriptors()
        greedy.close_descriptors()
        assert greedy.call("SnapshotAfter").type == RETURN
        greedy.close_descriptors()
        daemon.wait_until(lambda: not lent(daemon), "the daemon to free what was closed")


def test_a_new_connection_brings_no_more_snapshots(daemon):
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(20):
            peer = stack.enter_context(Keeper(daemon, "control-watch"))
            answers.append(peer.call("SnapshotAfter").error)
            peer.socket.close()
        assert answers == LIMIT * [None] + (20 - LIMIT) * [BUSY]


def test_a_snapshot_cannot_be_written(daemon):
    with Keeper(daemon) as peer:
        assert peer.call("Snapshot").type == RETURN
        for descriptor in peer.descriptors:
            with pytest.raises(OSError):
                os.write(descriptor, b"!")
            with pytest.raises(OSError):
                mmap.mmap(descriptor, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_NONBLOCK)
            with pytest.raises(PermissionError):  # sealed, also for the daemon's user
                os.write(again, b"!")
            os.close(again)


@needs_root
def test_another_user_is_served(daemon):
    for path in (daemon.runtime_dir.parent, daemon.runtime_dir,
                 daemon.runtime_dir / "control-watch"):
        path.chmod(0o777)
    with Keeper(daemon, "control-watch") as greedy:
        answers = [greedy.call("SnapshotAfter").error for _ in range(2 * LIMIT)]
        assert answers[-1] == BUSY
        os.seteuid(OTHER)
        try:
            other = Keeper(daemon, "control-watch")
        finally:
            os.seteuid(0)
        with other:
            assert other.call("SnapshotAfter").type == RETURN


def test_a_mapped_frame_is_still_lent(daemon):
    with Keeper(daemon) as peer, contextlib.ExitStack() as stack:
        for _ in range(LIMIT):
            assert peer.call("Snapshot").type == RETURN
            for fd in peer.descriptors:
                stack.enter_context(mmap.mmap(fd, 0, prot=mmap.PROT_READ))
            peer.close_descriptors()
        assert peer.call("Snapshot").error == BUSY
        stack.close()
        assert peer.call("Snapshot").type == RETURN


def test_a_path_keeps_no_memory(daemon):
    """A descriptor opened with O_PATH keeps a file, but the kernel does not count it."""
    with Keeper(daemon) as peer:
        assert peer.call("Snapshot").type == RETURN
        paths = [os.open(f"/proc/self/fd/{fd}", os.O_PATH) for fd in peer.descriptors]
        try:
            assert os.fstat(paths[0]).st_size > 0
            peer.close_descriptors()
            daemon.wait_until(lambda: sum(os.fstat(path).st_blocks for path in paths) == 0,
                              "the memory of what was closed")
        finally:
            for path in paths:
                os.close(path)


def test_opening_a_closed_frame_again_does_not_hurt_the_daemon(daemon):
    """The daemon holds a lease on one frame while the other one is still open. Whoever breaks it
    causes a signal, which must not end the daemon."""
    with Keeper(daemon) as peer:
        assert peer.call("Snapshot").type == RETURN
        path = os.open(f"/proc/self/fd/{peer.descriptors[0]}", os.O_PATH)
        os.close(peer.descriptors.pop(0))
        try:
            assert peer.call("Snapshot").type == RETURN  # looks at what was released
            with pytest.raises(BlockingIOError):
                os.open(f"/proc/self/fd/{path}", os.O_RDONLY | os.O_NONBLOCK)
        finally:
            os.close(path)
        assert peer.call("GetStats").type == RETURN


def test_snapshots_that_are_closed_have_no_limit(daemon):
    with Keeper(daemon, "control-watch") as peer:
        for _ in range(5 * LIMIT):
            assert peer.call("SnapshotAfter").type == RETURN
            assert os.fstat(peer.descriptors[0]).st_size >= 160 * 120
            peer.close_descriptors()


def test_stopping_leaves_snapshots_to_their_readers(daemon):
    with Keeper(daemon) as peer:
        assert peer.call("Snapshot").type == RETURN
        assert daemon.stop() == 0
        time.sleep(0.1)
        assert all(len(os.pread(fd, 100, 0)) == 100 for fd in peer.descriptors)
