"""Calls of the control bus that take long, and what they must not delay or reorder."""

import collections
import contextlib
import os
import signal
import threading
import time

import pytest

from conftest import FAST_KERNELS, PATIENCE, SANITIZED, needs_root
from dbus_peer import CAMERA, NO_REPLY, PROPERTIES, RETURN, Peer, call
from large_images import CHAINS, LARGEST_SIDE, SIDE, forget_images, write_images

POINTS = [[i / 600 for i in range(256)], [-i / 600 for i in range(256)]]
SLOWEST = ("GetResponse", CHAINS["png"], *POINTS)


@pytest.fixture
def images(tmp_path):
    """They change all the time, so that each call reads its own again."""
    directory = write_images(tmp_path / "images")
    is_over = threading.Event()

    def change():
        while not is_over.wait(0.02):
            with contextlib.suppress(PermissionError):  # while a test acts as another user
                forget_images(directory)
    changer = threading.Thread(target=change)
    changer.start()
    yield directory
    is_over.set()
    changer.join()


@pytest.fixture
def daemon(start, images):
    daemon = start(*FAST_KERNELS, env={"FFTD_IMAGE_DIR": str(images)})
    daemon.wait_for_log("online")
    for name in ("control", "control-watch"):
        daemon.wait_for_socket(name)
    return daemon


def stages(daemon):
    return daemon.ctl("filter", "show", "--raw").stdout.strip().split(" | ")


def threads(daemon):
    """The processor ticks of each thread, by name."""
    found = collections.Counter()
    for text in daemon.of_threads("stat"):
        name, _, rest = text.partition("(")[2].rpartition(")")
        found[name] += sum(int(field) for field in rest.split()[11:13])
    return found


# ---- readers and changers ----

class Reader(threading.Thread):
    """A watcher that asks for a slow answer again and again."""

    def __init__(self, daemon, chain):
        super().__init__()
        self.peer = Peer(daemon, "control-watch")
        self.chain = chain
        self.is_over = False
        self.answers = 0
        self.start()

    def run(self):
        while not self.is_over:
            assert self.peer.call("GetResponse", self.chain, *POINTS).type == RETURN
            self.answers += 1
        self.peer.socket.close()


def test_readers_do_not_delay_changes(daemon):
    """Three readers with several connections kept all others out: no handshake ended within its
    3 s, and a change waited for an answer to each of them. Now it waits for none: nearly all
    changes are made between two answers."""
    readers = [Reader(daemon, chain) for _ in range(3) for chain in CHAINS.values()]
    daemon.wait_until(lambda: any(reader.answers for reader in readers), "a slow answer")
    walls, changes = [], 10
    before = sum(reader.answers for reader in readers)
    for i in range(changes):
        begin = time.monotonic()
        with Peer(daemon) as changer:
            assert changer.call("SetFilter", f"gain:dc=1.0{i}").type == RETURN
        walls.append(time.monotonic() - begin)
    answered = sum(reader.answers for reader in readers) - before
    for reader in readers:
        reader.is_over = True
    for reader in readers:
        reader.join(PATIENCE)
    print(f"a handshake and a change: {1000 * sorted(walls)[changes // 2]:.1f} ms, at most "
          f"{1000 * max(walls):.1f} ms; {answered} answers meanwhile")
    assert answered < changes
    assert all(reader.answers for reader in readers)
    assert daemon.stop() == 0


def slow_stages(images, count=12):
    """Stages that read an image each, which takes some 50 ms of a processor."""
    for i in range(count):
        os.link(images / "large.png", images / f"{i}.png")
    return [f"mask:image={i}.png" for i in range(count)]


@needs_root
def test_readers_take_turns(daemon, images):
    """One user's many connections delay another user's by two answers at most. All calls are there
    when the daemon goes on."""
    for path, mode in ((daemon.runtime_dir.parent, 0o755), (daemon.runtime_dir, 0o755),
                       (daemon.runtime_dir / "control-watch", 0o666)):
        path.chmod(mode)

    # Long calls, so that the answers are counted in time.
    slow = "GetResponse", " | ".join(slow_stages(images)), *POINTS

    def connect(uid):
        os.seteuid(uid)
        try:
            return Peer(daemon, "control-watch")
        finally:
            os.seteuid(0)

    with contextlib.ExitStack() as stack:
        many = [stack.enter_context(connect(65534)) for _ in range(8)]
        single = stack.enter_context(connect(65533))
        for peer in (single, *many):
            assert peer.call("GetStats").type == RETURN
        daemon.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.pid, os.WSTOPPED)
        for peer in (*many, single):
            peer.send(call(*slow, serial=100))
        daemon.signal(signal.SIGCONT)
        assert single.reply(100).type == RETURN
        assert sum(peer.answers() for peer in many) <= 3


def test_a_large_image_is_read_once(start, tmp_path):
    """As a client draws a response it names the same image in many calls. An image of more than 32
    MiB was read by each."""
    images = write_images(tmp_path / "images", SIDE if SANITIZED else LARGEST_SIDE)
    daemon = start(*FAST_KERNELS, env={"FFTD_IMAGE_DIR": str(images)})
    daemon.wait_for_log("online")
    time.sleep(4)  # files that have just changed are not trusted
    with Peer(daemon) as peer:
        spent = []
        for _ in range(2):
            before = sum(threads(daemon).values())
            assert peer.call(*SLOWEST).type == RETURN
            spent.append(sum(threads(daemon).values()) - before)
    assert spent[1] < spent[0] / 4


# ---- order ----

def test_calls_of_a_connection_keep_their_order(daemon):
    with Peer(daemon) as peer:
        before = peer.get("Serial")
        peer.send(call("SetFilter", CHAINS["png"], serial=101)
                  + call("Get", CAMERA, "Serial", interface=PROPERTIES, serial=102)
                  + call("SetView", "picture", serial=103)
                  + call(*SLOWEST, serial=104) + call("GetStats", serial=105))
        answers = []
        while len(answers) < 5:
            message = peer.receive()
            if 5 in message.fields:
                answers.append(message)
        assert [message.fields[5] for message in answers] == [101, 102, 103, 104, 105]
        assert answers[0].number == before + 1
        assert int.from_bytes(answers[1].data[8:16], "little") == before + 1
        assert answers[2].number == before + 2


def test_edits_at_the_same_time_are_all_made(daemon):
    """Each begins with the newest chain, however long it reads; a change of the view while it does
    changes neither."""
    daemon.ctl("filter", "set", "none")
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(Peer(daemon)) for _ in range(6)]
        other = stack.enter_context(Peer(daemon))
        for i, peer in enumerate(peers):
            slow = [["add", CHAINS["pgm"]], ["remove", "mask"]] if i % 2 else []
            peer.send(call("EditFilter", [*slow, ["add", f"gain:dc={i + 1}"]], 0, 0,
                           signature="aastu", serial=1))
        serials = []
        while not any(peer.answers() for peer in peers[5:]):
            assert other.call("SetView", "picture").type == RETURN
            time.sleep(0.005)
        serials = [peer.reply(1).number for peer in peers]
    assert len(set(serials)) == len(serials)
    assert sorted(stage.partition("dc=")[2].partition(",")[0] for stage in stages(daemon)) == \
        ["1", "2", "3", "4", "5", "6"]


def test_an_edit_of_an_older_chain_is_refused_when_its_turn_comes(daemon):
    with Peer(daemon) as first, Peer(daemon) as second:
        serial = first.get("Serial")
        first.send(call("SetFilter", CHAINS["png"], serial=1))
        second.send(call("EditFilter", [["add", "gain:dc=2"]], serial, 0, signature="aastu",
                         serial=1))
        assert first.reply(1).type == RETURN
        assert second.reply(1).error == "org.fftd.Error.FilterChanged"


def test_an_edit_of_an_older_chain_is_refused_at_its_end(daemon, images):
    """Another view has another serial; one that is chosen while the edit reads comes before it."""
    edits = [["add", stage] for stage in slow_stages(images)]
    with Peer(daemon) as first, Peer(daemon) as second:
        serial, before = first.get("Serial"), threads(daemon)["bus-changes"]
        first.send(call("EditFilter", edits, serial, 0, signature="aastu", serial=101))
        daemon.wait_until(lambda: threads(daemon)["bus-changes"] > before, "its beginning")
        assert second.call("SetView", "picture").number == serial + 1
        assert first.reply(101).error == "org.fftd.Error.FilterChanged"
        assert "mask" not in " ".join(stages(daemon))


# ---- who leaves ----

def test_the_calls_of_peers_who_leave_are_cancelled(daemon):
    """Also the one that is being carried out. Twelve of them would take twelve times as long."""
    with Peer(daemon, "control-watch") as peer:
        before = threads(daemon)["bus-questions"]
        assert peer.call(*SLOWEST).type == RETURN
        single = threads(daemon)["bus-questions"] - before
        with contextlib.ExitStack() as stack:
            for _ in range(12):
                stack.enter_context(Peer(daemon, "control-watch")).send(call(*SLOWEST))
            assert peer.call("GetStats").type == RETURN  # after their first turns
        assert peer.call(*SLOWEST).type == RETURN
        assert threads(daemon)["bus-questions"] - before < 5 * single


def test_a_change_without_a_reply_outlives_its_connection(daemon):
    """As `dbus-send` does it: it sends, and leaves."""
    with Peer(daemon) as peer:
        peer.send(call("SetFilter", CHAINS["png"], flags=NO_REPLY))
    daemon.wait_until(lambda: stages(daemon)[0].startswith("mask:image=large.png"), "the filter")


def test_stopping_waits_for_no_slow_call(daemon, images):
    chain = " | ".join(slow_stages(images))
    with Peer(daemon) as changer, Peer(daemon, "control-watch") as watcher:
        begin = time.monotonic()
        assert watcher.call("GetResponse", chain, [], []).type == RETURN
        single = time.monotonic() - begin
        changer.send(call("SetFilter", chain))
        watcher.send(call("GetResponse", chain, [], []))
        before = threads(daemon)
        daemon.wait_until(lambda: all(threads(daemon)[name] > before[name]
                                      for name in ("bus-questions", "bus-changes")), "their begin")
        begin = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - begin < single / 2


# ---- handshakes ----

def test_a_handshake_has_the_time_in_which_the_daemon_listens(daemon):
    """The daemon stands still for longer than a handshake may take. It looked at the deadline
    before it looked at what had come meanwhile."""
    with Peer(daemon, handshake=False) as peer:
        peer.send(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert peer.line().startswith(b"OK ")
        daemon.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, daemon.pid, os.WSTOPPED)
        peer.send(b"BEGIN\r\n")
        time.sleep(3.5)
        daemon.signal(signal.SIGCONT)
        assert peer.call("GetStats").type == RETURN
