"""One daemon with its users, and what has to be true of it whatever they do."""

import collections
import contextlib
import ctypes
import errno
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import numpy

import reference
import values
from client import RawFrame, Reader
from conftest import BUILD, SANITIZED, Daemon, lack_of_root
from dbus_peer import ERROR, PROPERTIES, RETURN, SIGNATURE, Keeper, complete_types
from faults_allocations import Allocations
from faults_disk import SCRIPT as FULL_DISK
from test_survival import FIRST_FD
from test_survival import Keeper as ServiceManager

HELD_PATIENCE = 3  # seconds, for an answer that may not come
# The processor time that the main thread may take for one call. More is reported, and twice as much
# is a failure, because a machine's load also makes calls slower.
CALL_BUDGET_MS = 10 * (8 if SANITIZED else 1)
# A daemon that works never takes this long, even on a busy machine.
PATIENCE = 240 if SANITIZED else 60
HANDSHAKE = PATIENCE / 6
MAX_DESCRIPTORS = 256
MAX_THREADS = 64
MEMORY_GROWTH_BYTES = (2048 if SANITIZED else 384) << 20  # of an episode; PoCL keeps each program
TOLERANCE = 1.01  # grey levels
BLENDED, VIEW = 4, 32  # flags of a frame
STATES = {"starting", "online", "stalled", "lost", "refused", "failed", "paused", "finished"}
SYSEXITS = range(64, 79)
ONCE = collections.Counter({"/dev/null": 1})  # opened by the first v4l2: source, and kept

# The groups fftd and fftd-admin, and the users that are in them.
READERS, ADMINS = 60102, 60101
User = collections.namedtuple("User", "name uid groups may")
USERS = [
    User("owner", 0, (), {"frames", "control", "control-watch"}),
    User("admin", 60001, (READERS, ADMINS), {"frames", "control", "control-watch"}),
    User("viewer", 60002, (READERS,), {"frames", "control-watch"}),
    User("guest", 60003, (READERS,), {"frames", "control-watch"}),
    User("stranger", 60004, (), set()),
]

# Words of a log or an error that mean a mistake in the daemon.
WRONG_WORDS = re.compile(r"assert|AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|"
                         r"Unknown error|\(null\)|%[sdlu]\b|: Success\b|stack smashing|"
                         r"double free|corrupted", re.IGNORECASE)


class Failure(Exception):
    """kind: what rule was broken, in a word, by which a shorter sequence is recognised."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.steps = None  # after how many steps, if that is known


def check(condition, kind, text):
    if not condition:
        raise Failure(kind, text)


@contextlib.contextmanager
def acting_as(user):
    """Connections that are made here are that user's."""
    if user.uid == os.geteuid():
        yield
        return
    before = os.getgroups()
    os.setgroups(user.groups)
    os.setegid(user.uid)
    os.seteuid(user.uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


# ---- replies ----

SIZES = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d",
         "h": "I"}


def take_value(data, at, kind):
    """Returns the value of a complete type and where it ends."""
    first = kind[0]
    align = {"y": 1, "g": 1, "v": 1, "n": 2, "q": 2, "x": 8, "t": 8, "d": 8, "(": 8, "{": 8}
    at += -at % align.get(first, 4)
    if first in SIZES:
        code = "<" + SIZES[first]
        return struct.unpack_from(code, data, at)[0], at + struct.calcsize(code)
    if first in "so":
        length, = struct.unpack_from("<I", data, at)
        return data[at + 4:at + 4 + length].decode(), at + 5 + length
    if first == "g":
        return data[at + 1:at + 1 + data[at]].decode(), at + 2 + data[at]
    if first == "v":
        inner, at = take_value(data, at, "g")
        return take_value(data, at, inner)
    if first == "a":
        length, = struct.unpack_from("<I", data, at)
        at += 4 + -(at + 4) % align.get(kind[1], 4)
        end, found = at + length, []
        while at < end:
            value, at = take_value(data, at, kind[1:])
            found.append(value)
        return dict(found) if kind[1] == "{" else found, at
    members = []
    for each in complete_types(kind[1:-1]):
        value, at = take_value(data, at, each)
        members.append(value)
    return tuple(members), at


def body_of(message):
    at, found = 0, []
    for kind in complete_types(message.fields.get(SIGNATURE, "")):
        value, at = take_value(message.data, at, kind)
        found.append(value)
    return found


# ---- the service manager and the daemon ----

class Manager(ServiceManager):
    """Also listens on control-watch, with the groups that the units give these sockets."""

    def __init__(self, path, runtime_dir):
        super().__init__(path, runtime_dir)
        self.listening.append(("control-watch", self.listen(runtime_dir / "control-watch",
                                                            socket.SOCK_STREAM)))
        if os.geteuid() == 0:
            for place in (runtime_dir.parent, runtime_dir):
                place.chmod(0o755)
            for name, _ in self.listening:
                os.chown(runtime_dir / name, 0, ADMINS if name == "control" else READERS)
                (runtime_dir / name).chmod(0o660)


class Campaigner(Daemon):
    """wait_until and the like with the campaign's patience and failures."""

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not (value := condition()):
            check(self.process.poll() is None, "exit", f"fftd ended, waiting for {what}")
            check(time.monotonic() < deadline, "hang", f"waited in vain for {what}")
            time.sleep(0.02)
        return value

    def main_thread_ms(self):
        """The processor time that the main thread has taken."""
        line = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text()
        return int(line.split()[0]) / 1e6

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


class World:
    """setup: {"faults": one of FLAVOURS, "config": {key: value}}. Everything is in a directory that
    is removed at the end."""

    FLAVOURS = ("none", "opencl", "allocations", "import", "disk", "clock")

    def __init__(self, setup):
        self.setup = setup
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-campaign-"))
        self.runtime_dir = self.directory / "run"
        self.users = USERS if not lack_of_root() else [User("owner", os.geteuid(), (),
                                                            USERS[0].may)]
        self.peers, self.readers, self.loans = {}, [], []
        self.life = 0
        self.daemon = self.allocations = None
        self.log_read = 0
        self.slow_calls = {}  # the slowest of each method: milliseconds, and the call
        self.pixels_checked = self.calls = 0
        self.method = "start"
        self.keeps_loans = False
        self.write_files()
        self.config = {"camera.source": self.still(0), **setup["config"]}
        self.write_config(self.config)
        self.manager = Manager(self.directory / "notify", self.runtime_dir)
        self.start()

    # ---- files ----

    def write_files(self):
        self.pictures = {}
        for number, (size, colour) in enumerate((((64, 48), False), ((80, 60), False),
                                                 ((64, 48), True))):
            path = self.directory / f"still{number}.y4m"
            self.pictures[f"file:{path}"] = reference.write_clip(path, size, number, colour)
        self.mutable = self.directory / "mutable.y4m"
        reference.write_clip(self.mutable, (64, 48), 9, count=8)
        images = self.directory / "images"
        (images / "folder").mkdir(parents=True)
        gradient = bytes(range(1, 10))
        (images / "good.pgm").write_bytes(b"P5 3 3 255\n" + gradient)
        (images / "mask.pgm").write_bytes(b"P5 16 16 255\n" + bytes(range(256)))
        (images / "large.pgm").write_bytes(b"P5 2048 2048 255\n" + bytes(range(256)) * 16384)
        (images / "mutable.pgm").write_bytes(b"P5 3 3 255\n" + gradient)
        (images / "cut.pgm").write_bytes(b"P5 9 9 65535\n12")
        (images / "kernel.txt").write_text("1 2 1\n2 4 2\n1 2 1\n")
        (images / "emboss.txt").write_text("-2 -1 0\n-1 1 1\n0 1 2\n")
        (images / "empty.txt").write_text("")
        (images / "endless").symlink_to("/dev/zero")
        self.images = images

    def still(self, number):
        return f"file:{self.directory}/still{number}.y4m"

    def write_config(self, config):
        text = values.config_text({"camera.loop": True, "engine.margin": 24, **config})
        part = self.directory / "part"
        part.write_text(text)
        part.rename(self.directory / "fftd.conf")

    # ---- a life of the daemon ----

    def environment(self):
        flavour = self.setup["faults"]
        env = {"FFTD_IMAGE_DIR": str(self.images), "XDG_CACHE_HOME": str(self.directory / "cache"),
               "STATE_DIRECTORY": str(self.directory / "state")}
        helper = BUILD / "fftd-gst"
        if helper.exists():
            env["FFTD_GST_HELPER"] = str(helper)
        self.faults, self.clock = self.directory / "faults", self.directory / "clock"
        tools = BUILD / "tests/tools"
        if flavour in ("opencl", "import", "clock"):
            env |= {"LD_PRELOAD": str(tools / f"faulty_{flavour}.so"),
                    "FFTD_FAULTS": str(self.faults), "FFTD_CLOCK": str(self.clock),
                    "FFTD_IMPORTS": str(self.directory / "imports"),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
                                    ":verify_asan_link_order=0"}
        elif flavour == "allocations":
            self.allocations = Allocations(self.directory / "allocations")
            env |= self.allocations.env
        return env

    def start(self):
        self.life += 1
        handed = self.manager.hand_over()
        wrapper = handed["wrapper"]
        arguments = ["--config", str(self.directory / "fftd.conf")]
        if self.setup["faults"] == "disk":
            full = self.directory / "full"
            full.mkdir(exist_ok=True)
            wrapper = [*wrapper, "unshare", "-m", "sh", "-c", FULL_DISK, str(full), "blocks"]
            arguments += ["--set", f"engine.cache_dir={full}"]
        self.daemon = Campaigner(self.runtime_dir, self.directory / f"log{self.life}", arguments,
                                 dict(os.environ, **self.environment(), **handed["env"]),
                                 wrapper=wrapper, pass_fds=handed["pass_fds"])
        self.log_read = 0
        self.started_with = dict(self.config)  # a reload changes some keys only at the next start
        self.serials = {}
        self.last = self.base_kinds = None
        self.was_online = False
        self.may_end = False
        self.settle_source(self.config["camera.source"])
        self.candidates = {self.config["camera.source"]}
        for reader in self.readers:
            reader.newest_serial = 0
        self.base = None
        self.began_well = self.is_good()
        if not self.wait_for_start():
            return
        self.observe()
        if self.is_good():
            self.daemon.wait_until(self.is_online, "frames of a good source")
            # Readers that are there already make this larger, never smaller.
            self.base_kinds = self.kinds()

    def wait_for_start(self):
        """Returns whether it runs. An exit has to have one of the codes of sysexits, and a
        reason."""
        deadline = time.monotonic() + PATIENCE
        self.is_starting = True
        while self.daemon.process.poll() is None:
            _ = self.manager.names
            if self.status_or_none() is not None:
                self.is_starting = False
                return True
            check(time.monotonic() < deadline, "hang", "the start takes too long")
        self.is_starting = False
        code = self.daemon.process.returncode
        check(code in SYSEXITS or code == 0 and self.is_finite(), "exit",
              f"the start ended with {code}: {self.daemon.log[-500:]}")
        check("error" in self.daemon.log or code == 0, "exit", f"{code}, and no reason")
        check(not self.is_good(), "exit", f"the start ended with {code}, though nothing is wrong: "
                                          f"{self.daemon.log[-500:]}")
        return False

    def is_good(self):
        """Whether the daemon has all it needs."""
        return (self.config["camera.source"] in self.pictures and not self.is_finite() and
                not set(self.config) & set(values.SOURCE_KEYS) and not self.faults.exists() and
                self.allocations is None)

    def status_or_none(self):
        try:
            return self.properties()
        except (OSError, EOFError):
            self.drop_peers()
            time.sleep(0.02)
            return None

    def is_finite(self):
        return self.config.get("camera.loop") is False

    @property
    def runs(self):
        return self.daemon.process.poll() is None

    def ended(self):
        """After the daemon has ended: everything of this life is over."""
        self.daemon.log_file.close()
        self.scan_log()
        self.drop_peers()
        self.drain()

    def restart(self, number, config=None):
        """Ends it with a signal, and starts it again with the configuration as it is in the
        file."""
        self.daemon.signal(number)
        try:
            code = self.daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure("hang", f"signal {number} did not end it") from None
        expected = {0} if number == signal.SIGTERM else {-number}
        check(code in expected or self.may_end and code == 0, "exit",
              f"{code} after signal {number}: {self.daemon.log[-400:]}")
        self.ended()
        if config is not None:
            self.config = config
            self.write_config(config)
        self.start()

    # ---- calls ----

    def peer(self, user, name):
        """A connection that stays, made by that user. None: it was refused, as it has to be."""
        key = user.name, name
        if key in self.peers:
            return self.peers[key]
        try:
            made = self.shake_hands(user, name)
        except TimeoutError:
            if self.is_starting or not self.runs:
                return None
            raise Failure("hang", f"{name} does not answer {user.name}'s handshake") from None
        except (EOFError, ConnectionError):
            if self.is_starting or not self.runs or self.allocations:
                return None
            raise Failure("refused", f"{name} ends the connection of {user.name}") from None
        except PermissionError:
            check(name not in user.may, "permission", f"{user.name} may not connect to {name}")
            return None
        check(name in user.may, "permission", f"{user.name} may connect to {name}")
        self.peers[key] = made
        return made

    def shake_hands(self, user, name):
        """The manager's sockets listen all the time, so that a daemon that has ended shows only by
        its silence. A second of it is enough then."""
        def begin(timeout):
            with acting_as(user):
                made = Keeper(self, name, timeout=timeout)
            made.socket.settimeout(PATIENCE)
            return made
        try:
            return begin(1)
        except TimeoutError:
            if self.is_starting or not self.runs:
                raise
        return begin(HANDSHAKE)

    def drop_peers(self):
        for peer in self.peers.values():
            peer.__exit__()
        self.peers = {}

    def compiler_is_held(self):
        """Returns whether clBuildProgram is kept from returning. Reloads wait for it, and so do
        snapshots of a daemon that continues frames of a previous process."""
        return self.faults.exists() and "compile" in self.faults.read_text()

    def call(self, user, name, member, *arguments, **where):
        """Returns the reply, or None if the connection was refused or has ended. The main thread
        may take CALL_BUDGET_MS of processor time for it."""
        self.method = member
        for attempt in range(3):
            peer = self.peer(user, name)
            if peer is None:
                return None
            before = self.daemon.main_thread_ms() if self.runs else 0
            is_held = (member in ("Reload", "Snapshot", "SnapshotAfter") and
                       self.compiler_is_held())
            if is_held:
                peer.socket.settimeout(HELD_PATIENCE)
            try:
                reply = peer.call(member, *arguments, **where)
            except TimeoutError:
                check(is_held, "hang", f"{member} was not answered in {PATIENCE} s")
                peer.__exit__()
                self.peers.pop((user.name, name), None)
                return None
            except (EOFError, ConnectionError):
                peer.__exit__()
                self.peers.pop((user.name, name), None)
                return None
            self.calls += 1
            try:
                took = self.daemon.main_thread_ms() - before
            except (FileNotFoundError, ProcessLookupError):
                took = 0
            if took <= CALL_BUDGET_MS:
                break
            # The thread also does other things: what is slow is slow three times, with files that
            # it does not know.
            for path in self.images.glob("*.*"):
                os.utime(path)
            if attempt == 2:
                text = f"{member}{describe(arguments)} took {took:.1f} ms of the main thread"
                self.slow_calls[member] = max(self.slow_calls.get(member, (0, "")), (took, text))
                check(took <= 2 * CALL_BUDGET_MS, f"budget of {member}", text)
        if self.keeps_loans:
            self.loans += peer.descriptors
            peer.descriptors = []
        peer.close_descriptors()
        self.check_reply(member, arguments, reply)
        return reply

    def check_reply(self, member, arguments, reply):
        if reply.type == RETURN:
            body_of(reply)  # it has the types that its signature says
            return
        text = reply.message
        check(text and not WRONG_WORDS.search(text), "error text",
              f"{member}{describe(arguments)}: {reply.error}: {text!r}")
        check(all(char.isprintable() for char in text), "error text", f"{member}: {text!r}")

    def owner(self, member, *arguments, **where):
        reply = self.call(self.users[0], "control", member, *arguments, **where)
        if reply is None:
            raise EOFError
        return reply

    def properties(self):
        reply = self.owner("GetAll", "org.fftd.Camera1", interface=PROPERTIES)
        check(reply.type == RETURN, "reply", f"GetAll: {reply.error}")
        return body_of(reply)[0]

    # ---- what has to be true ----

    def scan_log(self):
        log = self.daemon.log
        for line in log[self.log_read:].splitlines():
            check(not WRONG_WORDS.search(line), "log", line)
        self.log_read = len(log)

    def alive(self):
        """Whether it runs. It ends unasked only with a source that has an end."""
        if self.runs:
            return True
        code = self.daemon.process.returncode
        if not self.was_online and code in SYSEXITS and not (self.began_well and self.is_good()):
            return False  # the start may fail, while calls are already answered
        check(code == 0 and self.may_end, "exit",
              f"the daemon ended with {code} in {self.method}: {self.daemon.log[-1500:]}")
        return False

    def observe(self):
        """Everything that must be true after each step."""
        if not self.alive():
            return
        try:
            now = self.properties()
        except (EOFError, ConnectionError):
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may be about to end
                self.daemon.wait(1)
            if not self.alive():
                return
            now = self.properties()
        check(now["State"] in STATES, "state", now["State"])
        self.was_online = self.was_online or now["State"] == "online"
        # A change that was just withdrawn may still have succeeded at a second attempt.
        check(now["PublishedSerial"] <= max(now["Serial"], now["FailedSerial"]), "serial",
              f"published {now['PublishedSerial']} of {now['Serial']}")
        if self.last:
            for name in ("Serial", "PublishedSerial", "Sequence", "FramesPublished"):
                # A change that could not be made is withdrawn: the serial in use is back.
                check(now[name] >= self.last[name] or
                      (name == "Serial" and now["FailedSerial"] > now["Serial"]), "serial",
                      f"{name} went from {self.last[name]} to {now[name]}")
            if now["Serial"] == self.last["Serial"]:
                for name in ("Filter", "View"):
                    check(now[name] == self.last[name], "serial",
                          f"{name} went from {self.last[name]} to {now[name]}, "
                          f"and the serial stayed {now['Serial']}")
        self.last = now
        self.serials[now["Serial"]] = now["Filter"], now["View"]
        _ = self.manager.names  # takes what it was told
        self.drain()
        self.drains_left -= 1
        if self.drains_left == 0:
            self.candidates = {self.source}
        self.scan_log()
        self.check_resources()

    def check_resources(self):
        descriptors, threads = len(self.daemon.descriptors()), self.daemon.threads()
        memory = self.daemon.memory_bytes()
        check(descriptors <= MAX_DESCRIPTORS, "descriptors", f"{descriptors} are open")
        check(threads <= MAX_THREADS, "threads", f"{threads} run")
        self.base = self.base or memory
        check(memory - self.base <= MEMORY_GROWTH_BYTES, "memory",
              f"it grew from {self.base >> 20} to {memory >> 20} MiB")

    def expect_same(self, what):
        """After a call that must change nothing."""
        before = self.last
        self.observe()
        # An earlier change may have been withdrawn since.
        if self.runs and before and self.last["FailedSerial"] == before["FailedSerial"]:
            for name in ("Serial", "Filter", "View", "Source"):
                check(self.last[name] == before[name], "permission",
                      f"{what} changed {name} from {before[name]} to {self.last[name]}")

    # ---- frames ----

    @property
    def unfiltered(self):
        """Whether watchers may see the picture before the filter."""
        return self.config.get("output.watch_unfiltered", False)

    def settle_source(self, uri):
        """After two more drains no reader has a frame of another source."""
        self.source = uri
        self.drains_left = 2

    def drain(self):
        """Checks the frames that the readers have not taken yet."""
        for reader in list(self.readers):
            result = reader.wait(0)
            check(result >= 0 or result in (-errno.EPIPE, -errno.EAGAIN, -errno.ECONNREFUSED,
                                            -errno.ENOENT, -errno.ECONNRESET, -errno.EUSERS),
                  "reader", f"fftd_wait: {errno.errorcode.get(-result, result)}")
            for _ in range(64):
                frame = reader.take()
                if frame is None:
                    break
                self.check_frame(reader, frame)

    def check_frame(self, reader, frame):
        epoch = reader.epoch
        if epoch != reader.last_epoch:
            reader.last_epoch, reader.newest_serial = epoch, 0
        check(frame.sequence > reader.sequence or self.life > reader.life, "sequence",
              f"frame {frame.sequence} after {reader.sequence}")
        check(frame.filter_serial >= reader.newest_serial, "serial",
              f"frame {frame.sequence} has {frame.filter_serial} after {reader.newest_serial}")
        reader.sequence, reader.newest_serial = frame.sequence, frame.filter_serial
        reader.life = self.life
        if not frame.flags & (BLENDED | VIEW) and frame.filter_serial in self.serials:
            self.check_pixels(frame, self.serials[frame.filter_serial])

    def check_pixels(self, frame, made_by):
        chain, view = made_by
        if view != "picture" or None in self.candidates:
            return
        distances = []
        for uri in self.candidates:
            picture = self.pictures.get(uri)
            if picture is None:
                return
            wanted = reference.filtered(picture, chain,
                                        self.started_with.get("engine.border", "mirror"),
                                        self.started_with.get("engine.border_value", 0.0))
            if wanted is None:
                return
            if picture.shape == (frame.height, frame.width):
                got = numpy.frombuffer(frame.planes[0], numpy.uint8)
                if got.size == picture.size:
                    distances.append(numpy.abs(got.reshape(picture.shape) - wanted).max())
        if distances:
            self.pixels_checked += 1
            check(min(distances) <= self.tolerance, "pixels",
                  f"frame {frame.sequence} of filter {frame.filter_serial} ({chain}) is "
                  f"{min(distances):.2f} from what it should be")

    @property
    def tolerance(self):
        return 2.01 if self.setup["config"].get("engine.precision") == "half" else TOLERANCE

    def attach(self, user):
        """Tries until there is a ring, as long as there is a daemon."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with acting_as(user):
                    return Reader(self, patience=0)
            except TimeoutError:
                if not self.runs or time.monotonic() > deadline:
                    raise

    def open_reader(self, user):
        try:
            reader = self.attach(user)
        except AssertionError as error:
            name = str(error).split()[-1]
            check("frames" not in user.may or name in ("EUSERS", "EPIPE", "ECONNREFUSED") or
                  (self.allocations and name == "ENOMEM"), "permission", f"{user.name}: {error}")
            return
        except TimeoutError:
            return  # no ring yet
        check("frames" in user.may, "permission", f"{user.name} reads frames")
        # The ring may have frames of sources before: only newer ones than the newest are taken.
        reader.library.fftd_frame(reader.handle, ctypes.byref(RawFrame()))
        reader.sequence = reader.newest_serial = 0
        reader.last_epoch, reader.life = reader.epoch, self.life
        self.readers.append(reader)

    def wait_for_socket(self, name="control"):
        """A Reader asks for it. The service manager's sockets always listen."""

    @property
    def log(self):
        return self.daemon.log

    def close_readers(self):
        for reader in self.readers:
            reader.__exit__()
        self.readers = []

    def still_picture(self):
        """A frame that the newest filter has made, if each frame should be the same; or None."""
        now = self.last
        exact = not any(kind in now["Filter"] for kind in values.NOT_EXACT)
        uri = self.config["camera.source"]
        if (not self.readers or now["State"] != "online" or now["FilterProblem"] or not exact or
                None in self.candidates or self.drains_left > 0 or
                not (uri in self.pictures or uri in values.STILL_PATTERNS)):
            return None
        reader, deadline = self.readers[0], time.monotonic() + 3
        while time.monotonic() < deadline and self.runs:
            reader.wait(100)
            while frame := reader.take():
                self.check_frame(reader, frame)
                if frame.filter_serial == now["Serial"] and not frame.flags & BLENDED:
                    return numpy.frombuffer(b"".join(frame.planes), numpy.uint8).astype(int)
        return None

    # ---- the end of an episode ----

    def calm(self):
        """Ends what was wrong with the surroundings."""
        with contextlib.suppress(FileNotFoundError):
            self.faults.unlink()
        with contextlib.suppress(FileNotFoundError):
            (self.directory / "imports.refuse").unlink()
        if self.allocations:
            self.allocations.disarm()

    def settle(self, what="settle"):
        """The newest filter is applied in the end, or the status says why not."""
        self.method = what

        def is_settled():
            self.observe()
            if not self.runs:
                return True
            now = self.last
            return (now["PublishedSerial"] >= now["Serial"] or now["FilterProblem"] != "" or
                    now["State"] not in ("online", "starting"))
        deadline = time.monotonic() + PATIENCE
        while not is_settled():
            check(time.monotonic() < deadline, "settle",
                  f"{PATIENCE} s later the newest filter is not applied, and nothing says why: "
                  f"{self.last['State']}, {self.last['PublishedSerial']} of {self.last['Serial']},"
                  f" {self.last['Filter']}")
            time.sleep(0.02)

    def finish(self):
        """Everybody goes, and the first source and filter come back: what is left is a leak."""
        self.calm()
        if not self.alive():
            self.ended()
            self.config = {**self.config, "camera.loop": True,
                           "camera.source": self.still(0)}
            self.write_config(self.config)
            self.start()
        self.close_readers()
        self.release_loans()
        self.drop_peers()
        config = {"camera.source": self.still(0), **self.setup["config"], "filter": "none",
                  "engine.view": "picture"}
        self.config = config
        self.write_config(config)
        self.may_end = True  # the source before may end meanwhile
        reply = self.call(self.users[0], "control", "Reload")
        if not self.runs:
            self.ended()
            self.start()
        elif reply is None or reply.type == ERROR:
            raise Failure("settle", f"the first source does not come back: "
                                    f"{reply and reply.message}")
        self.may_end = False
        self.settle_source(None)  # until no reader can have another's frames
        self.candidates = {None}
        self.daemon.wait_until(self.is_online, "frames of the first source")
        self.settle_source(config["camera.source"])
        self.observe()
        self.observe()
        self.open_reader(self.users[0])
        self.daemon.wait_until(self.has_new_frame, "a frame")
        self.observe()
        self.close_readers()
        for name in values.ADDED_OUTPUTS:  # a reload keeps them
            self.owner("RemoveOutput", name)
        self.check_leaks()
        self.restart_last()

    def is_online(self):
        self.observe()
        if self.last["State"] == "paused" and self.last["PublishedSerial"] == 0:
            # Its first engine took longer than the delay before a pause.
            self.call(self.users[0], "control", "SnapshotAfter")  # None: observe() says why
            return False
        return (self.last["State"] in ("online", "paused") and
                (self.last["PublishedSerial"] >= self.last["Serial"] or
                 self.last["FilterProblem"] != ""))

    def has_new_frame(self):
        self.drain()
        return self.readers and self.readers[0].sequence > 0

    def kinds(self):
        """How many descriptors of each kind are open."""
        return collections.Counter(re.sub(r"\d+|\[.*\]", "", path)
                                   for path in self.daemon.descriptors())

    def check_leaks(self):
        """In the state of the beginning there are not more descriptors than then."""
        def too_many():
            return {kind: (self.base_kinds[kind], count) for kind, count in self.kinds().items()
                    if count > self.base_kinds[kind] + ONCE[kind]}
        deadline = time.monotonic() + PATIENCE
        while self.base_kinds and too_many() and time.monotonic() < deadline:
            time.sleep(0.1)
        check(not self.base_kinds or not too_many(), "descriptors",
              "more than at the start, after everybody has gone (before, now): "
              f"{self.base_kinds and too_many()}")

    def release_loans(self):
        while self.loans:
            os.close(self.loans.pop())

    def restart_last(self):
        self.daemon.signal(signal.SIGTERM)
        try:
            code = self.daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure("hang", "SIGTERM did not end it") from None
        check(code == 0, "exit", f"{code} after SIGTERM: {self.daemon.log[-3000:]}")
        self.scan_log()

    def close(self):
        """Whatever has happened."""
        with contextlib.suppress(Exception):
            self.close_readers()
        with contextlib.suppress(Exception):
            self.drop_peers()
        self.release_loans()
        if self.daemon:
            if self.runs:
                self.daemon.process.kill()
                self.daemon.process.wait()
            self.daemon.log_file.close()
        self.manager.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def describe(arguments):
    text = ", ".join(repr(each) for each in arguments)
    return f"({text[:160]}{'...' if len(text) > 160 else ''})"
