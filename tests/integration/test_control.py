"""Tests of the control socket: the object, and the limits for misbehaving peers."""

import contextlib
import math
import os
import signal
import socket
import struct
import threading
import time

import pytest

from conftest import SANITIZED
from dbus_peer import (CALL, CAMERA, MEMBER, NO_REPLY, PROPERTIES, RETURN, SIGNAL, Peer,
                       call)

PLACES = 32  # of each control socket, for root and the user who runs the daemon


@pytest.fixture
def daemon(start):
    daemon = start()
    daemon.wait_for_log("online")
    daemon.wait_for_socket("control")
    daemon.wait_for_socket("control-watch")
    return daemon


def get(peer, name):
    """Returns the bytes of a property's variant after its signature."""
    return peer.call("Get", CAMERA, name, interface=PROPERTIES)


def answers(daemon, name):
    try:
        with Peer(daemon, name) as peer:
            return peer.call("GetStats").type == RETURN
    except (EOFError, ConnectionError):
        return False


def still_serves(daemon):
    with Peer(daemon) as peer:
        assert peer.call("GetStats").type == RETURN
    assert daemon.ctl_json("status")["State"] == "online"


# ---- the object ----

def test_introspection_names_arguments(daemon):
    with Peer(daemon) as peer:
        answer = peer.call("Introspect", interface="org.freedesktop.DBus.Introspectable").message
    for method, argument in (("SetFilter", "chain"), ("EditFilter", "changes"),
                             ("EditFilter", "fade_frames"), ("Snapshot", "before"),
                             ("GetResponse", "magnitudes"), ("SetView", "view")):
        block = answer.partition(f'<method name="{method}">')[2].partition("</method>")[0]
        assert f'name="{argument}"' in block, block


def test_serials_grow_with_every_change(daemon):
    with Peer(daemon) as peer:
        serials = [peer.call("SetFilter", "lowpass:cutoff=0.2").number,
                   peer.edit(["add", "notch:at=0.25/0,width=0.05", "1"]).number,
                   peer.edit(["set", "lowpass", "cutoff", "0.1"]).number,
                   peer.edit(["remove", "2"]).number]
    assert serials == list(range(serials[0], serials[0] + 4))
    assert daemon.ctl("filter", "show", "--raw").stdout.startswith("notch:at=0.25/0,width=0.05,")


@pytest.mark.parametrize("method, values, error, words", [
    ("SetFilter", ["wobble"], "InvalidFilter", ["wobble", "lowpass"]),
    ("SetFilter", ["lowpass:cutoff=nan"], "InvalidFilter", ["cutoff", "nan", "0.5"]),
    ("SetFilter", ["lowpass:cutoff=0.1 | notch:at=0.1"], "InvalidFilter", ["notch", "at"]),
    ("SetFilter", ["lowpass"], "InvalidFilter", ["cutoff"]),
    ("SetFilter", ["preset:../../etc/passwd"], "InvalidFilter", ["preset"]),
    ("EditFilter", ["add", "lowpass:cutoff=0.1", "3"], "InvalidFilter", ["3", "1 .. 2"]),
    ("EditFilter", ["add", "lowpass:cutoff=0.7"], "InvalidFilter", ["0.7"]),
    ("EditFilter", ["remove", "7"], "NoSuchStage", ["7"]),
    ("EditFilter", ["remove", "notch"], "NoSuchStage", ["notch", "gaussian-blur"]),
    ("EditFilter", ["set", "1", "sigma", "-1"], "InvalidFilter", ["sigma", "-1"]),
    ("EditFilter", ["set", "1", "sigmar", "1"], "InvalidFilter", ["sigmar", "sigma"]),
    ("EditFilter", ["set", "0", "sigma", "1"], "NoSuchStage", ["0"]),
    ("GetResponse", ["lowpass:cutoff=nan", [], []], "InvalidFilter", ["cutoff", "nan", "0.5"]),
])
def test_what_fails_changes_nothing(daemon, method, values, error, words):
    with Peer(daemon) as peer:
        before = peer.call("SetFilter", "gaussian-blur:sigma=2").number
        chain = daemon.ctl_json("filter", "show")["FilterStages"]
        answer = peer.edit(values) if method == "EditFilter" else peer.call(method, *values)
        assert answer.error == f"org.fftd.Error.{error}"
        for word in words:
            assert word in answer.message
        assert daemon.ctl_json("filter", "show") | {"FilterStages": chain} == \
            daemon.ctl_json("filter", "show")
        assert daemon.ctl_json("status")["Serial"] == before


def test_a_response_is_that_of_the_chain_in_the_call(daemon):
    fx, fy = [0.0, 0.125, 0.25, -0.3, 0.5], [0.0, 0.0, -0.25, 0.4, 0.5]
    with Peer(daemon) as peer:
        before = peer.call("SetFilter", "gaussian-blur:sigma=2").number
        answer = peer.call("GetResponse", "gaussian-blur:sigma=3 | gain:dc=-2,ac=-3", fx, fy)
        expected = [(-3 if x or y else -2) * math.exp(-2 * (math.pi * 3) ** 2 * (x * x + y * y))
                    for x, y in zip(fx, fy)]
        assert answer.numbers == pytest.approx([abs(value) for value in expected], rel=1e-12)
        assert peer.call("GetResponse", "none", [], []).numbers == []
        assert len(peer.call("GetResponse", "none", 256 * [0.1], 256 * [0.2]).numbers) == 256
    assert daemon.ctl_json("status")["Serial"] == before


@pytest.mark.parametrize("fx, fy, words", [
    ([0.1, 0.2], [0.1], ["2 frequencies along x and 1 along y"]),
    (257 * [0.1], 257 * [0.1], ["257", "at most 256"]),
    ([0.1], [0.51], ["out of range", "-0.5 .. 0.5"]),
    ([math.nan], [0.1], ["out of range"]),
    ([0.1], [-math.inf], ["out of range"]),
], ids=["unequal", "many", "high", "nan", "infinite"])
def test_a_response_at_wrong_frequencies_is_refused(daemon, fx, fy, words):
    with Peer(daemon) as peer:
        answer = peer.call("GetResponse", "none", fx, fy)
    assert answer.error == "org.freedesktop.DBus.Error.InvalidArgs"
    for word in words:
        assert word in answer.message


def test_presets_are_listed_once_each(start, tmp_path):
    for name in ("b", "a", "not a name", "c.txt", ".d"):
        (tmp_path / f"{name}.conf").write_text("filter = ();")
    (tmp_path / "file").touch()
    daemon = start(env={"FFTD_PRESET_DIR": str(tmp_path)})
    daemon.wait_for_socket("control-watch")
    with Peer(daemon, "control-watch") as watcher:
        assert watcher.call("ListPresets").strings == ["a", "b"]


def test_the_presets_of_the_source_tree_are_listed(daemon):
    with Peer(daemon) as peer:
        names = peer.call("ListPresets").strings
        assert "moire" in names and len(names) == len(set(names))
        assert all(peer.call("SetFilter", f"preset:{name}").type == RETURN for name in
                   ("moire", "denoise-light"))


def texts_of(reply):
    """The body of a reply with the signature s..s."""
    texts, at = [], 0
    while at < len(reply.data):
        length, = struct.unpack_from("<I", reply.data, at)
        texts.append(reply.data[at + 4:at + 4 + length].decode())
        at = (at + 4 + length + 1 + 3) // 4 * 4
    return texts


def test_a_preset_is_described(start, tmp_path):
    (tmp_path / "good.conf").write_text('summary = "It blurs."; filter = "gaussian-blur:sigma=2";')
    (tmp_path / "bad.conf").write_text('summary = "It fails."; filter = "gaussian-blur:sigma=-1";')
    daemon = start(env={"FFTD_PRESET_DIR": str(tmp_path)})
    daemon.wait_for_socket("control-watch")
    with Peer(daemon, "control-watch") as watcher:
        assert texts_of(watcher.call("GetPreset", "good")) == \
            ["It blurs.", "gaussian-blur:sigma=2", ""]
        summary, chain, problem = texts_of(watcher.call("GetPreset", "bad"))
        assert (summary, chain) == ("It fails.", "") and "sigma" in problem
        answer = watcher.call("GetPreset", "none")
        assert answer.error == "org.fftd.Error.InvalidFilter" and "good" in answer.message
        for name in ("../good", "", "a" * 60000):
            answer = watcher.call("GetPreset", name)
            assert answer.error == "org.freedesktop.DBus.Error.InvalidArgs"
            assert "name of a preset" in answer.message


def test_reload_without_a_file_is_refused(daemon):
    with Peer(daemon) as peer:
        answer = peer.call("Reload")
    assert answer.error == "org.fftd.Error.InvalidConfiguration"
    assert "--config FILE" in answer.message


def test_others_hear_of_a_change(daemon):
    with Peer(daemon, "control-watch") as watcher, Peer(daemon) as changer:
        watcher.call("GetStats")  # makes sure that it listens
        serial = changer.call("SetFilter", "lowpass:cutoff=0.125").number
        while True:
            message = watcher.receive()
            if message.type == SIGNAL and b"Serial" in message.data and \
                    b"cutoff=0.125" in message.data:
                break
        assert message.fields[MEMBER] == "PropertiesChanged"
        assert struct.pack("<Q", serial) in message.data


MOIRE = 'camera: { source = "pattern:moire"; };\n'


@pytest.mark.parametrize("after, announced", [
    (MOIRE + 'filter = "lowpass:cutoff=0.125";', (b"Serial", b"cutoff=0.125")),
    ('camera: { source = "pattern:zoneplate"; };', (b"Source\0", b"pattern:zoneplate\0")),
])
def test_a_reload_by_a_signal_is_announced(start, tmp_path, after, announced):
    config = tmp_path / "cam.conf"
    config.write_text(MOIRE)
    daemon = start("--config", config, source=None, fps=None)
    daemon.wait_for_log("online")
    daemon.wait_for_socket("control-watch")
    with Peer(daemon, "control-watch") as watcher:
        watcher.call("GetStats")  # makes sure that the daemon has accepted it
        config.write_text(after)
        daemon.signal(signal.SIGHUP)
        while True:
            message = watcher.receive()
            if message.type == SIGNAL and all(text in message.data for text in announced):
                break
        assert message.fields[MEMBER] == "PropertiesChanged"


def test_a_watcher_changes_nothing(daemon):
    with Peer(daemon, "control-watch") as watcher:
        for method, values in (("SetFilter", ["none"]), ("Tune", ["quick"]), ("StopTuning", []),
                               ("Reload", []), ("Snapshot", []), ("SetView", ["difference"])):
            answer = watcher.call(method, *values)
            assert answer.error == "org.freedesktop.DBus.Error.AccessDenied"
            assert f"{daemon.runtime_dir}/control" in answer.message
        assert watcher.edit(["remove", "1"]).error == "org.freedesktop.DBus.Error.AccessDenied"
        for method, values in (("GetStats", []), ("ListFilters", []), ("ListPresets", []),
                               ("SnapshotAfter", []),
                               ("GetResponse", ["none", [0.5], [-0.5]])):
            assert watcher.call(method, *values).type == RETURN
        assert watcher.call("GetAll", CAMERA, interface=PROPERTIES).type == RETURN


def test_a_call_sent_with_the_handshakes_end_is_answered(daemon):
    """A handshake in the form that libdbus sends."""
    with Peer(daemon, handshake=False) as peer:
        peer.send(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        peer.line()
        peer.send(b"BEGIN\r\n" + call("GetStats", serial=1) + call("GetStats", serial=2))
        assert peer.reply(1).type == RETURN
        assert peer.reply(2).type == RETURN
        peer.serial = 2
        # This handshake did not ask for descriptors.
        assert peer.call("Snapshot").error == "org.freedesktop.DBus.Error.NotSupported"


def test_a_snapshot_is_one_at_a_time_and_may_be_left(daemon):
    descriptors = len(daemon.descriptors())
    with Peer(daemon) as peer:
        peer.send(call("Snapshot", serial=1) + call("Snapshot", serial=2))
        answers = {peer.receive().error for _ in range(2)}
        assert answers in ({None, "org.fftd.Error.Busy"}, {None})
    for _ in range(20):
        with Peer(daemon) as peer:
            peer.send(call("Snapshot"))
    still_serves(daemon)
    daemon.wait_until(lambda: len(daemon.descriptors()) <= descriptors, "descriptors to go")


def test_snapshots_that_nobody_reads_are_few(daemon):
    """Each unread snapshot takes memory and descriptors of the daemon."""
    with Peer(daemon) as peer:
        for serial in range(1, 13):
            peer.send(call("Snapshot", serial=serial))
            daemon.wait_until(lambda: peer.answers() == serial, "an answer")
        answers = [peer.reply(serial).error for serial in range(1, 13)]
        assert answers == 4 * [None] + 8 * ["org.fftd.Error.Busy"]
        for serial in range(13, 20):
            peer.send(call("Snapshot", serial=serial))
            assert peer.reply(serial).type == RETURN, "a peer that reads may continue"


def ask_and_leave(daemon):
    """A connection whose snapshot is not read, and that is ended except for the peer's own end."""
    peer = Peer(daemon)
    peer.send(call("Snapshot", serial=1))
    daemon.wait_until(lambda: peer.answers() == 1, "an answer")
    peer.socket.shutdown(socket.SHUT_RDWR)
    return peer


def test_unread_snapshots_keep_a_place(daemon):
    """A peer that reconnects for each snapshot gets no more of them than one that stays
    connected."""
    left = [ask_and_leave(daemon) for _ in range(4)]
    idle = []
    try:
        with contextlib.suppress(EOFError, ConnectionError):
            while True:  # until no place is free
                idle.append(Peer(daemon))
        assert not answers(daemon, "control")
        assert left[0].reply(1).error is None
        daemon.wait_until(lambda: answers(daemon, "control"), "a free place after a read")
        left.pop().socket.close()
        daemon.wait_until(lambda: answers(daemon, "control"), "a free place after a close")
    finally:
        for peer in left + idle:
            peer.socket.close()


def test_a_snapshot_of_a_finished_source_is_refused(start, runtime_dir):
    daemon = start("--wait", source="v4l2:/dev/video-none", size=None, fps=None)
    daemon.wait_for_socket()
    with Peer(daemon) as peer:
        answer = peer.call("Snapshot")
    assert answer.error == "org.fftd.Error.NotOnline"


# ---- misbehaving peers ----

@pytest.mark.parametrize("garbage", [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\0AUTH NOSUCH\r\n" * 3 + b"\0\0\0\0",
    b"\xff" * 70000,
    b"\0AUTH EXTERNAL zz\r\nBEGIN\r\n",
], ids=["http", "auth", "bytes", "hex"])
def test_garbage_instead_of_a_handshake(daemon, garbage):
    with Peer(daemon, handshake=False) as peer:
        try:
            peer.send(garbage)
            peer.socket.shutdown(1)
        except ConnectionError:
            pass
        assert peer.is_closed()
    still_serves(daemon)


@pytest.mark.parametrize("garbage", [
    b"x" * 64,
    struct.pack("<cBBBIII", b"l", CALL, 0, 1, 0xffffffff, 1, 16) + b"\0" * 16,
    struct.pack("<cBBBIII", b"l", CALL, 0, 9, 0, 1, 0),
    call("SetFilter", b"\xff\xfe not UTF-8"),
    call("SetFilter", "x")[:-6] + b"\xff" * 6,
], ids=["text", "length", "version", "utf8", "body"])
def test_garbage_instead_of_a_message(daemon, garbage):
    with Peer(daemon) as peer:
        peer.send(garbage)
        peer.socket.shutdown(1)
        assert peer.is_closed()
    still_serves(daemon)


def test_unknown_methods_and_wrong_types_are_named(daemon):
    with Peer(daemon) as peer:
        assert peer.call("Explode").error == "org.freedesktop.DBus.Error.UnknownMethod"
        assert peer.call("SetFilter", 3).error == "org.freedesktop.DBus.Error.InvalidArgs"
        assert get(peer, "Nothing").error == "org.freedesktop.DBus.Error.UnknownProperty"
        assert peer.call("SetFilter", "x" * 60000).error == "org.fftd.Error.InvalidFilter"
        answer = peer.call("Tune", "x" * 60000)
        assert answer.error == "org.freedesktop.DBus.Error.InvalidArgs"
        assert len(answer.message) < 200


def test_connections_are_bounded_and_watchers_shut_nobody_out(daemon):
    crowd = [Peer(daemon, "control-watch") for _ in range(PLACES)]
    try:
        for peer in crowd:
            assert peer.call("GetStats").type == RETURN
        with Peer(daemon, "control-watch", handshake=False) as late:
            assert late.is_closed()
        still_serves(daemon)
        for _ in range(3):
            with Peer(daemon, "control-watch", handshake=False) as late:
                assert late.is_closed()
        assert daemon.log.count("connection refused") == 1
    finally:
        for peer in crowd:
            peer.socket.close()
    daemon.wait_until(lambda: answers(daemon, "control-watch"), "free places")


def test_half_open_connections_are_ended(daemon):
    crowd = [Peer(daemon, handshake=False) for _ in range(PLACES - 2)]
    crowd[0].send(b"\0AUTH EXTERNAL ")
    crowd[1].send(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
    still_serves(daemon)
    assert all(peer.is_closed() for peer in crowd)
    idle = Peer(daemon)
    assert idle.call("GetStats").type == RETURN
    crowd = [Peer(daemon, handshake=False) for _ in range(PLACES - 2)]
    assert all(peer.is_closed() for peer in crowd)
    assert idle.call("GetStats").type == RETURN, "a peer that has completed the handshake may stay"


def test_a_peer_that_never_reads_is_dropped(daemon):
    memory = daemon.memory_bytes()
    with Peer(daemon) as deaf:
        flood = b"".join(call("ListFilters", serial=1 + i) for i in range(1000))
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                deaf.send(flood)
    daemon.wait_for_log("does not read")
    if not SANITIZED:  # a sanitizer keeps freed memory
        assert daemon.memory_bytes() < memory + 64 * 1024 * 1024
    still_serves(daemon)


FLOOD = b"".join(call("GetStats", serial=1 + i, flags=NO_REPLY) for i in range(1000))


@contextlib.contextmanager
def flooding(daemon):
    """A peer that sends calls continuously after its handshake and wants no replies."""
    def flood(peer):
        with contextlib.suppress(OSError):
            while True:
                peer.send(FLOOD)

    with Peer(daemon, handshake=False) as peer:
        peer.send(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        peer.line()
        peer.send(b"BEGIN\r\n" + FLOOD)
        sender = threading.Thread(target=flood, args=[peer])
        sender.start()
        try:
            yield
        finally:
            peer.socket.shutdown(socket.SHUT_RDWR)
            sender.join()


def test_a_flood_of_calls_delays_no_frames(daemon):
    with flooding(daemon):
        for _ in range(3):  # clients that connect at the same time
            daemon.ctl("frames", "-n", "2", "-o", "/dev/null")
    still_serves(daemon)


@pytest.mark.parametrize("floods", [1, 4])
def test_a_flood_of_calls_keeps_no_other_peer_waiting(daemon, floods):
    """Peers take turns with one message each; a handshake and a call take about six turns. All
    messages are there when the daemon goes on, and the calls of a flood ask for the serial: what
    they are answered says how many had their turn before the others changed it. A change of the
    view is made in its turn, while one of the filter waits for a worker."""
    count = 150
    ask = [call("Get", CAMERA, "Serial", interface=PROPERTIES, serial=1 + i) for i in range(count)]
    change = call("SetView", "picture", serial=count)
    with Peer(daemon) as old, Peer(daemon, handshake=False) as new, contextlib.ExitStack() as stack:
        flood = [stack.enter_context(Peer(daemon)) for _ in range(floods)]
        for peer in (old, *flood):
            assert peer.call("GetStats").type == RETURN
        daemon.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.pid, os.WSTOPPED)
        for peer in flood:
            peer.send(b"".join(ask))
        old.send(change)
        new.send(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n"
                 b"BEGIN\r\n" + change)
        daemon.signal(signal.SIGCONT)
        assert new.line().startswith(b"OK ")
        changed = {peer: peer.reply(count).number for peer in (old, new)}
        for peer in flood:
            seen = [int.from_bytes(peer.reply(1 + i).data[8:16], "little") for i in range(count)]
            turns = {other: sum(serial < changed[other] for serial in seen) for other in changed}
            print(f"turns of a flood: {turns[old]} before a call, {turns[new]} before a handshake")
            assert turns[old] <= 2 and turns[new] <= 6
    still_serves(daemon)


def test_stopping_waits_for_nobody(daemon):
    with Peer(daemon) as deaf, Peer(daemon) as waiting, Peer(daemon, handshake=False):
        for serial in range(1, 60):
            deaf.send(call("ListFilters", serial=serial))
        waiting.send(call("Snapshot"))
        assert daemon.stop() == 0
