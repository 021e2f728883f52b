"""Attacks by other users of the machine, each as it succeeded before. docs/SECURITY.md says what is
promised to whom."""

import os
import pathlib
import socket
import subprocess
import tempfile
import time

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE
from dbus_peer import RETURN, Peer, call

OTHER = 65534  # a user who is neither root nor the one who runs the tests
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving directories away takes root")


@pytest.fixture
def daemon(start):
    daemon = start(*FAST_KERNELS)
    daemon.wait_for_log("online")
    for name in ("frames", "control", "control-watch"):
        daemon.wait_for_socket(name)
    return daemon


@pytest.fixture
def theirs():
    """A directory that belongs to another user."""
    with tempfile.TemporaryDirectory(prefix="fftd-test-") as path:
        os.chown(path, OTHER, OTHER)
        yield pathlib.Path(path)


# ---- the control sockets ----

def pass_descriptors(peer, data, count=200):
    """Sends data with descriptors of /dev/null."""
    with open("/dev/null", "rb") as null:
        socket.send_fds(peer.socket, [data], [null.fileno()] * count)


def test_descriptors_sent_to_the_daemon_are_dropped(daemon):
    """A watcher fills the table of descriptors with a message that never ends: with two
    connections no reader could attach any more, and no engine be built."""
    with Peer(daemon, "control-watch") as peer:
        before = len(daemon.descriptors())
        unfinished = call("GetStats")[:-1]
        for byte in unfinished:
            pass_descriptors(peer, bytes([byte]))
        assert len(daemon.descriptors()) == before
        peer.send(call("GetStats")[-1:])
        assert peer.reply(1).type == RETURN


def test_long_messages_are_refused_before_they_are_collected(daemon):
    """16 unfinished messages of 127 MiB would take 2 GB for as long as the sender likes."""
    before = daemon.memory_bytes()
    for _ in range(16):
        with Peer(daemon, "control-watch") as peer:
            head = bytearray(call("GetStats")[:16])
            head[4:8] = (127 << 20).to_bytes(4, "little")
            peer.send(bytes(head))
            assert peer.is_closed()
    assert daemon.memory_bytes() - before < 2 << 20


def test_a_message_must_arrive_in_time(daemon):
    with Peer(daemon, "control-watch") as slow, Peer(daemon, "control-watch") as idle:
        begin = time.monotonic()
        slow.send(call("GetStats")[:20])
        assert slow.is_closed()
        assert 2 < time.monotonic() - begin < 10
        assert idle.call("GetStats").type == RETURN


def test_messages_follow_only_a_handshake_that_has_ended(daemon):
    """What sd-bus takes for a line is not counted as a message, and the reverse: the end of a long
    message could hide in another one's middle."""
    with Peer(daemon, "control-watch", handshake=False) as peer:
        peer.send(b"\0AUTH NOSUCH\r\n")
        assert peer.line().startswith(b"REJECTED")
        peer.send(b"BEGIN\r\n")
        assert peer.line().startswith(b"ERROR")
        peer.send(b"AUTH EXTERNAL " + b"0".hex().encode() + b"\r\n")
        assert peer.line().startswith(b"OK")
        peer.send(b"BEGIN\r\n")
        assert peer.call("GetStats").type == RETURN


# ---- files and directories ----

@pytest.mark.parametrize("command", [
    ["snapshot", "after"], ["stats", "--prometheus"], ["frames", "--count", "1"]])
def test_output_does_not_follow_planted_links(daemon, tmp_path, command):
    target, planted = tmp_path / "target", tmp_path / "planted"
    target.write_text("precious")
    planted.symlink_to(target)
    daemon.ctl(*command, "--output", planted)
    assert target.read_text() == "precious"
    assert not planted.is_symlink() and planted.stat().st_size > 100
    assert sorted(path.name for path in tmp_path.iterdir() if "planted" in path.name) == ["planted"]


@pytest.mark.parametrize("path", ["/dev/stdout", "-"])
def test_output_to_stdout_writes_through_a_redirection(daemon, tmp_path, path):
    daemon.wait_for_socket()
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, "stats",
                        "--prometheus", "--output", path], stdout=out, timeout=PATIENCE, check=True)
    assert (tmp_path / "out").read_text().startswith("# TYPE")
    assert os.path.lexists("/dev/stdout")


@needs_root
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR"])
def test_caches_of_another_user_are_not_used(start, theirs, variable):
    """sudo can keep HOME. Whoever fills the cache there would have code of theirs run as root."""
    daemon = start(*FAST_KERNELS, env={"XDG_CACHE_HOME": "", variable: str(theirs)})
    daemon.wait_for_log("online")
    assert f"{variable}={theirs} is ignored: it belongs to user {OTHER}" in daemon.log
    assert list(theirs.iterdir()) == []


@needs_root
def test_a_cache_directory_that_others_may_write_is_reported(start, theirs):
    daemon = start(*FAST_KERNELS, "--set", f"engine.cache_dir={theirs}")
    daemon.wait_for_log(f"{theirs} belongs to user {OTHER}: expected user 0 or root")
    assert list(theirs.iterdir()) == []


@needs_root
def test_sockets_of_another_user_are_not_believed(theirs):
    """A root shell may have the XDG_RUNTIME_DIR of the user who called su."""
    place = theirs / "fftd" / "default"
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as fake:
        fake.bind(str(place / "control"))
        fake.listen()
        fake.settimeout(0)
        for command in (["status"], ["list"], ["frames", "-o", "/dev/null"]):
            done = subprocess.run([BUILD / "fftd-ctl", *command], text=True, capture_output=True,
                                  env={**os.environ, "XDG_RUNTIME_DIR": str(theirs)},
                                  timeout=PATIENCE, check=False)
            assert "is running" in done.stdout + done.stderr
        with pytest.raises(BlockingIOError):
            fake.accept()
