"""Attacks by other users of the machine, each as it succeeded before. docs/SECURITY.md says what is
promised to whom."""

import contextlib
import ctypes
import errno
import mmap
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import types

import pytest

from client import RawFrame, Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE, Daemon, needs_root, wait_until
from dbus_peer import RETURN, Peer, call

SO_PASSRIGHTS = 83
OTHER, VICTIM = 65534, 65533  # users who are neither root nor the one who runs the tests


CAMERA = "/org/fftd/camera"


class Output(Daemon):
    """A daemon seen through one of its named outputs, for frames and for fftd-ctl. All outputs
    share the control sockets, but each has its own object there."""

    def __init__(self, daemon, name):  # pylint: disable=super-init-not-called
        vars(self).update(vars(daemon))
        self.runtime_dir = daemon.runtime_dir / "outputs" / name
        self.path = f"{CAMERA}/outputs/{name}"
        self.control = daemon

    def wait_for_socket(self, name="control"):
        (super() if name == "frames" else self.control).wait_for_socket(name)


def start_with_output(start):
    daemon = start(*FAST_KERNELS, "--set", 'outputs=( { name = "edges"; filter = "gradient"; } )')
    daemon.control, daemon.path = daemon, CAMERA
    daemon.wait_for_log("online")
    for name in ("frames", "control", "control-watch", "outputs/edges/frames"):
        daemon.wait_for_socket(name)
    return daemon


@pytest.fixture
def daemon(start):
    return start_with_output(start)


@pytest.fixture(params=["main", "edges"])
def output(request, start):
    """The output under attack."""
    daemon = start_with_output(start)
    return daemon if request.param == "main" else Output(daemon, request.param)


@pytest.fixture
def shared(output):
    """An output whose frames every user may read, as members of the group fftd normally may."""
    run = output.control.runtime_dir
    for path, mode in ((run.parent, 0o755), (run, 0o755), (run / "outputs", 0o755),
                       (output.runtime_dir, 0o755), (output.runtime_dir / "frames", 0o666)):
        path.chmod(mode)
    return output


@pytest.fixture
def watched(daemon):
    """A daemon that every user may watch."""
    for path, mode in ((daemon.runtime_dir.parent, 0o755), (daemon.runtime_dir, 0o755),
                       (daemon.runtime_dir / "control-watch", 0o666)):
        path.chmod(mode)
    return daemon


@contextlib.contextmanager
def user(uid):
    """Connections that are made here are that user's."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def theirs():
    """A directory that belongs to another user."""
    with tempfile.TemporaryDirectory(prefix="fftd-test-") as path:
        os.chown(path, OTHER, OTHER)
        yield pathlib.Path(path)


# ---- places ----

class FramesClient:
    """A client of the frames socket without the library."""

    MESSAGE = struct.Struct("<IIQiI104s")
    MAGIC, ATTACH, ABI = 0x46544446, 1, 1

    def __init__(self, daemon):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(daemon.runtime_dir / "frames"))  # waits while the backlog is full
        self.socket.settimeout(PATIENCE)

    def close(self):
        self.socket.close()

    def receive(self):
        """Returns the result, the text and the descriptors of a reply; None at the end."""
        data, fds, _, _ = socket.recv_fds(self.socket, self.MESSAGE.size, 2)
        if not data:
            return None
        _, _, _, result, _, text = self.MESSAGE.unpack(data)
        return result, text.rstrip(b"\0").decode(), fds

    def attach(self):
        """Returns the ring's descriptor, or the reason why there is none."""
        with contextlib.suppress(ConnectionError):  # the refusal has been sent already
            self.socket.send(self.MESSAGE.pack(self.MAGIC, self.ATTACH, self.ABI, 0, 0, b""))
        try:
            result, text, fds = self.receive()
        except ConnectionError:  # the request came between the reason and the connection's end
            result, text, fds = self.receive()
        if result < 0:
            return text
        os.close(fds[1])
        return fds[0]


def attach_all(daemon, count):
    """Returns that many connections and what each was answered."""
    clients = [FramesClient(daemon) for _ in range(count)]
    return clients, [client.attach() for client in clients]


def is_ring(answer):
    if isinstance(answer, int):
        os.close(answer)
    return isinstance(answer, int)


@needs_root
def test_one_users_clients_keep_out_nobody_else(shared):
    """64 connections of one user took all places of the frames socket."""
    with user(OTHER):
        clients, answers = attach_all(shared, 70)
    assert answers[-1] == ("limit of 32 clients of user 65534 reached: output.max_clients = 64, "
                           "one user gets half")
    assert sum(is_ring(answer) for answer in answers) == 32
    with user(VICTIM):
        others, answers = attach_all(shared, 1)
    assert is_ring(answers[0])
    for client in clients + others:
        client.close()


def test_the_daemons_own_user_may_take_all_places(output):
    clients, answers = attach_all(output, 65)
    assert answers[-1] == "client limit of 64 reached: output.max_clients = 64, one user gets half"
    assert sum(is_ring(answer) for answer in answers) == 64
    for client in clients:
        client.close()


def test_a_connection_that_asks_for_nothing_loses_its_place(output):
    idle, quiet = FramesClient(output), FramesClient(output)
    assert is_ring(quiet.attach())
    assert idle.receive() is None
    quiet.socket.settimeout(1)
    with pytest.raises(TimeoutError):
        quiet.receive()
    assert is_ring(quiet.attach())
    for client in (idle, quiet):
        client.close()


FLOOD = """
import contextlib, os, socket, sys, threading
os.setuid(int(sys.argv[1]))
def flood():
    while True:
        with contextlib.suppress(OSError):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.connect(sys.argv[2])
for _ in range(8):
    threading.Thread(target=flood).start()
"""


@needs_root
def test_a_flood_of_connections_does_not_keep_out_a_reader(shared):
    """An attempt that does not wait in the queue of connections finds it full almost always. One
    that waits may have to do so for longer than fftd_open does, 2 s, on a busy machine."""
    socket_path = shared.runtime_dir / "frames"
    with subprocess.Popen([sys.executable, "-c", FLOOD, str(OTHER), socket_path]) as flood:
        try:
            time.sleep(1)
            served = late = 0
            while served < 10:
                assert late <= served + 3, f"{late} attempts were in vain, {served} were not"
                try:
                    with Reader(shared, patience=0) as reader:
                        assert reader.next()
                    served += 1
                except TimeoutError:
                    late += 1
        finally:
            flood.kill()


@needs_root
def test_one_users_watchers_keep_out_nobody_else(watched):
    """16 watchers of one user took all places, and fftd-ctl said that permission was denied."""
    with user(OTHER), contextlib.ExitStack() as crowd:
        for _ in range(16):
            peer = crowd.enter_context(Peer(watched, "control-watch"))
            assert peer.call("GetStats").type == RETURN
        with Peer(watched, "control-watch", handshake=False) as late:
            assert late.is_closed()
        os.seteuid(0)
        refused, served = (ctl_of(uid, watched, "status") for uid in (OTHER, VICTIM))
        assert served.returncode == 0
        assert "too many clients" in refused.stderr and "16 connections" in refused.stderr
        assert refused.returncode == os.EX_TEMPFAIL


def ctl_of(uid, daemon, *arguments):
    """Runs fftd-ctl as another user, who may not be able to enter the build folder."""
    with tempfile.TemporaryDirectory(prefix="fftd-test-") as path:
        os.chmod(path, 0o755)
        program = shutil.copy(BUILD / "fftd-ctl", path)
        return subprocess.run([program, "--runtime-dir", daemon.runtime_dir, *arguments], user=uid,
                              extra_groups=[], cwd="/", capture_output=True, text=True,
                              timeout=PATIENCE, check=False)


def hold_newest(reader):
    """Holds the newest frame; returns fftd_hold's result."""
    raw, result = RawFrame(), -errno.EAGAIN
    while result in (-errno.EAGAIN, -errno.ENOENT):  # none yet; overwritten meanwhile
        assert reader.wait() == 1
        result = reader.library.fftd_frame(reader.handle, ctypes.byref(raw))
        if result == 0:
            result = reader.library.fftd_hold(reader.handle, ctypes.byref(raw))
    return result


def test_one_client_cannot_hold_all_frames(daemon):
    """Of 8 slots, clients may hold 4. One client took them all."""
    with Reader(daemon) as greedy, Reader(daemon) as modest:
        results = [hold_newest(greedy) for _ in range(5)]
        assert results == 2 * [0] + 3 * [-errno.EBUSY]
        assert [hold_newest(modest) for _ in range(2)] == [0, 0]


# ---- named outputs ----

@pytest.fixture
def outputs(start):
    """Returns the folders of a camera's three outputs, which every user may read."""
    daemon = start(*FAST_KERNELS, "--set", 'outputs=( { name = "raw"; }, { name = "edges"; '
                   'filter = "gradient"; } )')
    daemon.wait_for_log("online")
    folders = [daemon.runtime_dir, *(daemon.runtime_dir / "outputs" / name
                                     for name in ("raw", "edges"))]
    for path in (daemon.runtime_dir.parent, daemon.runtime_dir / "outputs", *folders):
        path.chmod(0o755)
    found = []
    for folder in folders:
        place = types.SimpleNamespace(runtime_dir=folder, wait_for_socket=lambda name: None,
                                      log=daemon.log)
        wait_until((folder / "frames").exists, "the socket")
        (folder / "frames").chmod(0o666)
        with Reader(place) as reader:  # an output has frames once it is read
            reader.next()
        found.append(place)
    return found


@needs_root
def test_one_users_clients_of_all_outputs_keep_out_nobody_else(outputs):
    """They count as clients of one camera: three outputs do not give one user three times the
    clients."""
    with user(OTHER):
        taken = [attach_all(place, 12) for place in outputs]
    answers = sum((each[1] for each in taken), [])
    assert answers[-1] == ("limit of 32 clients of user 65534 reached: output.max_clients = 64, "
                           "one user gets half")
    assert sum(is_ring(answer) for answer in answers) == 32
    with user(VICTIM):
        others = [attach_all(place, 1) for place in outputs]
    assert all(is_ring(answer) for each in others for answer in each[1])
    for clients, _ in taken + others:
        for client in clients:
            client.close()


def test_no_output_lends_all_frames_to_one_client(outputs):
    """Each has slots of its own: a client that holds those of one does not affect the others."""
    for greedy_of in outputs:
        with Reader(greedy_of) as greedy, contextlib.ExitStack() as stack:
            assert [hold_newest(greedy) for _ in range(4)] == 2 * [0] + 2 * [-errno.EBUSY]
            for place in outputs:
                modest = stack.enter_context(Reader(place))
                assert [hold_newest(modest) for _ in range(2)] == [0, 0]


def test_the_ring_of_no_output_can_be_written(outputs):
    for place in outputs:
        client = FramesClient(place)
        ring = client.attach()
        with pytest.raises(PermissionError):
            mmap.mmap(ring, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        for change in (lambda fd: os.ftruncate(fd, 0), lambda fd: os.write(fd, b"x")):
            with pytest.raises(OSError):
                change(ring)
        os.close(ring)
        client.close()


def test_garbage_at_one_output_disturbs_no_other(outputs):
    """Nor the readers of the attacked output."""
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(place)) for place in outputs]
        for i in range(60):
            client = FramesClient(outputs[i % 3])
            with contextlib.suppress(ConnectionError):
                client.socket.send(os.urandom(1 + 37 * i % 200))
                client.receive()
            client.close()
        for reader in readers:
            first = reader.next().sequence
            reader.take_until(lambda frame, first=first: frame.sequence > first + 5)


# ---- waiting ----

FUTEX_WAIT, FUTEX_REQUEUE, SYS_FUTEX = 0, 3, {"x86_64": 202, "aarch64": 98, "armv7l": 240}
FUTEX_WORD = 264  # offset in the ring's header
STEAL_SLEEP = f"""
import ctypes, mmap, sys
sys.path[:0] = [{os.path.dirname(__file__)!r}]
from test_attacks import *
word = Word(int(sys.argv[1]))
print(flush=True)
while True:
    word.futex(FUTEX_REQUEUE, 0, 2**31 - 1, word.address + 8)
"""


class Word:
    """The futex word of a ring that is mapped read-only."""

    def __init__(self, ring_fd):
        self.library = ctypes.CDLL(None, use_errno=True)
        self.library.mmap.restype = ctypes.c_void_p
        self.library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *3 * [ctypes.c_int],
                                      ctypes.c_size_t]
        base = self.library.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_SHARED, ring_fd, 0)
        self.address = base + FUTEX_WORD

    @property
    def value(self):
        return ctypes.c_uint32.from_address(self.address).value

    def futex(self, operation, value, timeout_or_count, other=0):
        return self.library.syscall(
            SYS_FUTEX[os.uname().machine], ctypes.c_void_p(self.address), operation, value,
            ctypes.c_void_p(timeout_or_count), ctypes.c_void_p(other), 0)

    def is_woken(self):
        """Whether a sleep on the word ends by a wake-up, within half a second."""
        timeout = (ctypes.c_long * 2)(0, 500_000_000)
        return self.futex(FUTEX_WAIT, self.value, ctypes.addressof(timeout)) == 0


@contextlib.contextmanager
def sleep_stolen(ring_fd):
    """A reader that moves all sleep on the ring's futex to another word, which nobody wakes."""
    with subprocess.Popen([sys.executable, "-c", STEAL_SLEEP, str(ring_fd)], pass_fds=[ring_fd],
                          stdout=subprocess.PIPE) as thief:
        try:
            thief.stdout.readline()
            yield
        finally:
            thief.kill()


@pytest.mark.skipif(os.uname().machine not in SYS_FUTEX, reason="the number of futex() is unknown")
def test_a_stolen_sleep_does_not_disturb_the_library(output):
    """FUTEX_REQUEUE works on a read-only mapping. A reader that slept on the futex got 1 frame of
    240; the library sleeps on a socket of its own."""
    client = FramesClient(output)
    ring_fd = client.attach()
    word = Word(ring_fd)
    wait_until(word.is_woken, "a wake-up")
    with Reader(output) as reader, sleep_stolen(ring_fd):
        wait_until(lambda: not word.is_woken(), "a stolen sleep: the attack works")
        reader.take_rest()
        for _ in range(60):
            assert reader.wait() == 1
            reader.take_rest()
    os.close(ring_fd)
    client.close()


# ---- the control sockets ----

def pass_descriptors(peer, data, count=200):
    """Sends data with descriptors of /dev/null, or without them if the kernel refuses them."""
    with open("/dev/null", "rb") as null:
        try:
            socket.send_fds(peer.socket, [data], [null.fileno()] * count)
        except PermissionError:
            peer.send(data)


def test_descriptors_sent_to_the_daemon_are_dropped(output):
    """A watcher fills the table of descriptors with a message that never ends: with two
    connections no reader could attach any more, and no engine be built."""
    with Peer(output.control, "control-watch") as peer:
        before = output.descriptors().count("/dev/null")
        unfinished = call("GetStats", path=output.path)[:-1]
        for byte in unfinished:
            pass_descriptors(peer, bytes([byte]))
        assert output.descriptors().count("/dev/null") == before  # others may come and go
        peer.send(call("GetStats", path=output.path)[-1:])
        assert peer.reply(1).type == RETURN


@pytest.mark.parametrize("name, kind", [
    ("frames", socket.SOCK_SEQPACKET), ("outputs/edges/frames", socket.SOCK_SEQPACKET),
    ("control", socket.SOCK_STREAM),
    ("control-watch", socket.SOCK_STREAM)])
def test_descriptors_cannot_be_sent_to_the_daemon(daemon, name, kind):
    """The daemon dropped a TCP socket with SO_LINGER and unsent data, and served nobody for as long
    as its linger time."""
    with socket.socket(socket.AF_UNIX, kind) as client, socket.socket() as passed:
        try:
            client.getsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS)
        except OSError:
            pytest.skip("this kernel cannot refuse descriptors: Linux 6.16 can")
        client.connect(str(daemon.runtime_dir / name))
        with pytest.raises(PermissionError):
            socket.send_fds(client, [b"\0"], [passed.fileno()])


def test_long_messages_are_refused_before_they_are_collected(daemon):
    """16 unfinished messages of 127 MiB would take 2 GB for as long as the sender likes. What is
    waited for ends with its deadline, after 3 s or more; on a busy machine some refusals may come
    as late as that, but not all."""
    seconds = []
    for _ in range(16):
        with Peer(daemon, "control-watch") as peer:
            head = bytearray(call("GetStats")[:16])
            head[4:8] = (127 << 20).to_bytes(4, "little")
            begin = time.monotonic()
            peer.send(bytes(head))
            assert peer.is_closed()
            seconds.append(time.monotonic() - begin)
    assert min(seconds) < 2, seconds


def test_a_message_must_arrive_in_time(output):
    with Peer(output.control, "control-watch") as slow, \
            Peer(output.control, "control-watch") as idle:
        begin = time.monotonic()
        slow.send(call("GetStats", path=output.path)[:20])
        assert slow.is_closed()
        assert time.monotonic() - begin > 2
        assert idle.call("GetStats", path=output.path).type == RETURN


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
def test_output_does_not_follow_planted_links(output, tmp_path, command):
    target, planted = tmp_path / "target", tmp_path / "planted"
    target.write_text("precious")
    planted.symlink_to(target)
    output.ctl(*command, "--output", planted)
    assert target.read_text() == "precious"
    assert not planted.is_symlink() and planted.stat().st_size > 100
    assert sorted(path.name for path in tmp_path.iterdir() if "planted" in path.name) == ["planted"]


@pytest.fixture
def sticky():
    """A directory like /tmp."""
    with tempfile.TemporaryDirectory(prefix="fftd-test-") as path:
        os.chmod(path, 0o1777)
        yield pathlib.Path(path)


OUTPUTS = (["snapshot", "before"], ["stats", "--prometheus"], ["frames", "--count", "1"],
           ["report"], ["calibrate", "dark", "--count", "2"])


def write_output(daemon, command, path):
    return daemon.ctl(*command, "--output", path, check=False)


@needs_root
@pytest.mark.parametrize("command", OUTPUTS, ids=lambda command: command[0])
def test_a_pipe_of_another_user_gets_nothing(output, sticky, command):
    """It would get the unfiltered picture of root's snapshot, and without a reader keep root
    waiting."""
    pipe = sticky / "out"
    os.mkfifo(pipe)
    os.chmod(pipe, 0o666)
    os.chown(pipe, OTHER, OTHER)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = write_output(output, command, pipe)
    with contextlib.suppress(BlockingIOError):
        assert os.read(reader, 1) == b""
    os.close(reader)
    assert done.returncode == os.EX_CANTCREAT
    assert f"out is a pipe of user {OTHER} in a directory that others may write" in done.stderr


@needs_root
@pytest.mark.parametrize("command", OUTPUTS, ids=lambda command: command[0])
@pytest.mark.parametrize("kind", ["symlink", "hard link", "file"])
def test_a_file_that_another_user_planted_gets_nothing(daemon, sticky, tmp_path, command, kind):
    """It is replaced. A program that has it open, and the file that a link leads to, get nothing.
    Without fs.protected_hardlinks every user may make a hard link to every file."""
    target, out = sticky / "target", sticky / "out"
    target.write_text("precious")
    if kind == "symlink":
        out.symlink_to(target)
    elif kind == "hard link":
        os.link(target, out)
    else:
        out.write_text("precious")
        target = tmp_path / "opened"
        target.symlink_to(f"/proc/{os.getpid()}/fd/{(theirs := os.open(out, os.O_RDONLY))}")
    if kind != "hard link":
        os.lchown(out, OTHER, OTHER)
    done = write_output(daemon, command, out)
    assert done.returncode == 0, done.stderr
    assert target.read_text() == "precious"
    assert out.lstat().st_uid == 0 and out.lstat().st_size > 100 and not out.is_symlink()
    assert not [path for path in sticky.iterdir() if path.name not in ("out", "target")]
    if kind == "file":
        os.close(theirs)


@needs_root
@pytest.mark.parametrize("is_link", [False, True])
def test_a_directory_that_another_user_planted_is_not_used(daemon, sticky, tmp_path, is_link):
    shots, there = sticky / "shots", tmp_path / "there"
    there.mkdir()
    if is_link:
        shots.symlink_to(there)
    else:
        shots.mkdir()
    os.lchown(shots, OTHER, OTHER)
    done = daemon.ctl("snapshot", "-o", shots, check=False)
    assert done.returncode == os.EX_CANTCREAT
    assert f"shots is a {'link' if is_link else 'directory'} of user {OTHER}" in done.stderr
    assert not list(there.iterdir()) + list(sticky.glob("*/*"))


@needs_root
def test_a_preset_is_not_written_through_a_planted_link(daemon, sticky, tmp_path):
    """As before: also not where the link leads to nothing yet."""
    (sticky / "mine.conf").symlink_to(tmp_path / "elsewhere")
    os.lchown(sticky / "mine.conf", OTHER, OTHER)
    done = daemon.ctl("filter", "save", sticky / "mine.conf", check=False)
    assert done.returncode == os.EX_CANTCREAT and not (tmp_path / "elsewhere").exists()


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
@pytest.mark.parametrize("place", ["", "not/there/yet"])
def test_caches_of_another_user_are_not_used(start, theirs, variable, place):
    """sudo can keep HOME. Whoever fills the cache there would have code of theirs run as root."""
    path = theirs / place
    daemon = start(*FAST_KERNELS, env={"XDG_CACHE_HOME": "", variable: str(path)})
    daemon.wait_for_log("online")
    assert f"{variable}={path} is ignored: {theirs} belongs to user {OTHER}" in daemon.log
    assert list(theirs.iterdir()) == []


PLUGINS = {"GST_PLUGIN_PATH": ".", "GST_PLUGIN_PATH_1_0": ".", "GST_PLUGIN_SYSTEM_PATH": ".",
           "GST_PLUGIN_SYSTEM_PATH_1_0": ".", "XDG_DATA_HOME": "gstreamer-1.0/plugins",
           "HOME": ".local/share/gstreamer-1.0/plugins"}


@pytest.fixture
def few_plugins(tmp_path):
    """GStreamer's environment with a registry that is yet to be made from a few plugins."""
    folder = pathlib.Path(subprocess.run(
        ["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], check=True, text=True,
        capture_output=True).stdout.strip())
    (tmp_path / "plugins").mkdir()
    for name in ("coreelements", "app", "videotestsrc", "videoconvertscale"):
        (tmp_path / f"plugins/libgst{name}.so").symlink_to(folder / f"libgst{name}.so")
    return {"XDG_DATA_HOME": "", "GST_REGISTRY": str(tmp_path / "registry"),
            "GST_PLUGIN_SYSTEM_PATH_1_0": str(tmp_path / "plugins")}


def start_pipeline(start, env):
    if not (BUILD / "fftd-gst").exists():
        pytest.skip("fftd-gst was not built: libgstreamer-plugins-base1.0-dev is not installed")
    daemon = start(*FAST_KERNELS, env=env, source="gst:videotestsrc is-live=true")
    daemon.wait_for_log("online")
    return daemon


@needs_root
@pytest.mark.parametrize("variable", PLUGINS)
def test_plugins_of_another_user_are_not_loaded(start, theirs, few_plugins, variable, tmp_path):
    """A root shell may have the variables of the user who called su."""
    plugin = theirs / PLUGINS[variable] / "libgstplanted.so"
    plugin.parent.mkdir(parents=True, exist_ok=True)
    plugin.write_bytes((tmp_path / "plugins/libgstvideotestsrc.so").read_bytes())
    if "SYSTEM" in variable:  # the other plugins must come from elsewhere
        few_plugins["GST_PLUGIN_PATH"] = few_plugins.pop("GST_PLUGIN_SYSTEM_PATH_1_0")
    daemon = start_pipeline(start, {**few_plugins, variable: str(theirs)})
    assert f"{variable}={theirs} is ignored: {theirs} belongs to user {OTHER}" in daemon.log
    registry = (tmp_path / "registry").read_bytes()
    assert b"libgstvideotestsrc.so" in registry
    assert b"planted" not in registry


@needs_root
@pytest.mark.parametrize("variable", ["GST_PLUGIN_SCANNER", "GST_PLUGIN_SCANNER_1_0"])
def test_programs_of_another_user_are_not_run(start, theirs, few_plugins, variable, tmp_path):
    program = theirs / "scanner"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    daemon = start_pipeline(start, {**few_plugins, variable: str(program)})
    assert f"{variable}={program} is ignored: {theirs} belongs to user {OTHER}" in daemon.log
    assert not (tmp_path / "ran").exists()


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
