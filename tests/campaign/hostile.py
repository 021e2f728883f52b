"""Hostile rings and a hostile daemon against the clients: fftd.py, fftdsrc, fftd-view and
fftd-pipewire. Each ring is a sound one with a few things wrong, before or while it is read. No
client may crash, hang, or show bytes that are not the ring's. The last ring is sound, and each
client has to show its frames."""

import array
import contextlib
import fcntl
import functools
import http.client
import io
import json
import mmap
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy

from client import LIVE, MAX_PLANES, Format, Plane
from conftest import BUILD
from hostile_control import Failure as Refusal
from hostile_control import HostileControl
from hostile_daemon import ATTACH, MESSAGE, PAGE, SLOTS, make_ring
from pipewire import Consumer, Desktop
from world import PATIENCE, Failure, check

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIXEL = 0xa5  # of every sample of a fake ring
RING_SECONDS = 0.6
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}

# fftd/ring.h: where the fields of the header and of a slot are, and their bytes.
HEADER = {"magic": (0, 8), "abi": (8, 4), "header_bytes": (12, 4), "ring_bytes": (16, 8),
          "slot_count": (24, 4), "data_offset": (28, 4), "slot_stride": (32, 8),
          "generation": (40, 4), "fourcc": (48, 4), "width": (52, 4), "height": (56, 4),
          "plane_count": (60, 4), "offset0": (64, 4), "stride0": (68, 4), "row_bytes0": (72, 4),
          "rows0": (76, 4), "offset1": (80, 4), "stride1": (84, 4), "row_bytes1": (88, 4),
          "rows1": (92, 4), "frame_bytes": (128, 4), "rate_num": (132, 4), "rate_den": (136, 4),
          "colour": (140, 4), "first_sequence": (144, 8), "newest": (256, 8), "futex": (264, 4),
          "state": (268, 4), "heartbeat": (272, 8), "epoch": (280, 4)}
SLOT = {"lock": (0, 4), "flags": (4, 4), "sequence": (8, 8), "source": (16, 8), "serial": (24, 8),
        "captured": (32, 8), "published": (64, 8), "checksum": (72, 8), "measures": (80, 8)}
# With these changed, a frame may include the headers of slots.
MOVES_FRAMES = {"header_bytes", "data_offset", "slot_stride", "slot_count", "ring_bytes"}
FOURCCS = [int.from_bytes(name, "little") for name in
           (b"R8  ", b"NV12", b"YUYV", b"BG24", b"XR24", b"R16 ", b"Y10 ", b"\x1b[2J")]
REPLIES = ("sound", "garbage", "short", "error", "no fds", "pipe", "zero", "directory", "file",
           "many fds", "mute", "slow", "close", "flood")
CLIENTS = ("python", "fftdsrc", "fftd-view", "fftd-pipewire")


def some_number(rng, size):
    return rng.choice((0, 1, 2, 3, 63, 64, 127, 128, 4095, 4096, 4097, 2 ** 31 - 1, 2 ** 31,
                       2 ** 32 - 1, 2 ** 63, 2 ** 64 - 1, rng.getrandbits(8 * size),
                       *FOURCCS)) % (1 << 8 * size)


def some_edit(rng, live):
    if rng.random() < 0.7:
        name = rng.choice(sorted(HEADER))
        return ["header", name, some_number(rng, HEADER[name][1]), live]
    name = rng.choice(sorted(SLOT))
    return ["slot", name, some_number(rng, SLOT[name][1]), live]


def choose_ring(rng):
    ring = {"reply": "sound", "edits": [], "layout": rng.choice(("GREY", "NV12")), "sealed": True}
    kind = rng.choice(("edits", "edits", "live", "live", "reply", "truncated", "cut", "sound"))
    if kind in ("edits", "live"):
        ring["edits"] = [some_edit(rng, kind == "live") for _ in range(rng.choice((1, 1, 2, 3)))]
    elif kind == "reply":
        ring["reply"] = rng.choice(REPLIES)
    elif kind == "truncated":  # while it is mapped: a reader would get SIGBUS
        ring |= {"sealed": rng.random() < 0.3, "truncate": rng.choice((0, 1, 4096, 8192, 1 << 30))}
    elif kind == "cut":  # before it is sent
        ring |= {"sealed": rng.random() < 0.7, "size": rng.choice((0, 1, 320, 4096, 8192, 20479))}
    return ring


def choose(rng):
    return {"client": rng.choice(CLIENTS), "rings": [choose_ring(rng) for _ in range(5)]}


# ---- the fake daemon ----

def layout_of(name):
    if name == "GREY":
        planes, fourcc, size = [Plane(0, 64, 64, 48)], FOURCCS[0], 3072
    else:
        planes, fourcc, size = [Plane(0, 64, 64, 48), Plane(3072, 64, 64, 24)], FOURCCS[1], 4608
    return Format(fourcc, 64, 48, len(planes), (Plane * MAX_PLANES)(*planes), size, 30, 1, 2, 2, 2,
                  1)


class FakeDaemon:
    """`with FakeDaemon(directory, ring):` serves any number of clients of the socket frames, and
    publishes a frame every hundredth of a second."""

    def __init__(self, directory, ring):
        self.ring = ring
        self.fd, self.memory, self.slot_bytes = self.make(ring)
        self.sequence = 1
        self.attached = float("inf")  # since when a client has the ring
        self.path = directory / "frames"
        self.path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.clients, self.wakes, self.files = [], [], []
        self.is_over = False
        self.thread = threading.Thread(target=self.serve)

    def make(self, ring):
        sound = make_ring(layout_of(ring["layout"]))
        size = os.fstat(sound).st_size
        slot_bytes = (size - PAGE) // SLOTS
        fd = os.memfd_create("hostile", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        memory = mmap.mmap(fd, size)
        memory[:] = os.pread(sound, size, 0)
        os.close(sound)
        for slot in range(SLOTS):
            at = PAGE + slot * slot_bytes
            memory[at + 128:at + slot_bytes] = bytes([PIXEL]) * (slot_bytes - 128)
        self.apply(memory, slot_bytes, live=False)
        if "size" in ring:
            memory.close()
            memory = None
            os.ftruncate(fd, ring["size"])
        if ring["sealed"]:
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return fd, memory, slot_bytes

    def apply(self, memory, slot_bytes, live):
        for where, name, value, is_live in self.ring["edits"]:
            if is_live != live:
                continue
            offset, size = (HEADER if where == "header" else SLOT)[name]
            places = [0] if where == "header" else [PAGE + slot * slot_bytes
                                                    for slot in range(SLOTS)]
            for place in places:
                memory[place + offset:place + offset + size] = value.to_bytes(size, "little")

    def publish(self):
        if self.memory is None:
            return
        self.sequence += 1
        slot = self.sequence % SLOTS
        at = PAGE + slot * self.slot_bytes
        struct.pack_into("=IIQQQq", self.memory, at, 2 * self.sequence, 0, self.sequence,
                         self.sequence, 1, time.monotonic_ns())
        struct.pack_into("=QIIq", self.memory, 256, self.sequence << 6 | slot,
                         self.sequence & 0xffffffff, LIVE, time.monotonic_ns())

    def serve(self):
        has_truncated = False
        while not self.is_over:
            ready, _, _ = select.select([self.listener, *self.clients], [], [], 0.01)
            for each in ready:
                with contextlib.suppress(OSError):
                    if each is self.listener:
                        self.clients.append(each.accept()[0])
                    else:
                        self.answer(each)
            self.publish()
            if self.memory is not None and time.monotonic() > self.attached + RING_SECONDS / 4:
                self.apply(self.memory, self.slot_bytes, live=True)
                if "truncate" in self.ring and not has_truncated:
                    has_truncated = True
                    # This process must not touch what is cut off, either.
                    self.memory.close()
                    self.memory = None
                    with contextlib.suppress(OSError):  # a seal forbids it
                        os.ftruncate(self.fd, self.ring["truncate"])
            for wake in self.wakes:
                with contextlib.suppress(OSError):
                    wake.send(b"x", socket.MSG_DONTWAIT)

    def answer(self, client):
        request = client.recv(MESSAGE.size)
        if not request or self.ring["reply"] == "close":
            self.clients.remove(client)
            client.close()
            return
        magic, kind, *_ = MESSAGE.unpack(request)
        reply = MESSAGE.pack(magic, kind, 0, 0, 1, b"")
        wake, other = socket.socketpair()
        self.wakes.append(wake)
        self.files.append(other)
        fds = [self.fd, other.fileno()] if kind == ATTACH else []
        self.attached = min(self.attached, time.monotonic())
        how = self.ring["reply"]
        if how == "mute":
            return
        if how == "slow":
            time.sleep(0.3)
        elif how == "garbage":
            reply = os.urandom(MESSAGE.size)
        elif how == "short":
            reply = reply[:7]
        elif how == "error":
            reply = MESSAGE.pack(magic, kind, 2 ** 64 - 1, -99999, 1, b"\x1b[2J" * 26)
        elif how == "no fds":
            fds = []
        elif how == "many fds":
            fds *= 20
        elif how in ("zero", "directory", "file"):
            self.files.append(open({"zero": "/dev/zero", "directory": self.path.parent,
                                    "file": __file__}[how], "rb") if how != "directory" else
                              Descriptor(self.path.parent))
            fds[:1] = [self.files[-1].fileno()] if fds else []
        elif how == "pipe":
            fds = [fds[1]] * 2 if fds else []
        for _ in range(500 if how == "flood" else 1):
            client.sendmsg([reply], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                      array.array("i", fds))] if fds else [],
                           socket.MSG_DONTWAIT)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for each in (self.listener, *self.clients, *self.wakes, *self.files):
            each.close()
        if self.memory is not None:
            self.memory.close()
        os.close(self.fd)
        self.path.unlink(missing_ok=True)


class Descriptor:
    """Of a directory."""

    def __init__(self, path):
        self.number = os.open(path, os.O_RDONLY)

    def fileno(self):
        return self.number

    def close(self):
        os.close(self.number)


# ---- the clients ----

READER = """
import sys, time
import fftd
end = time.monotonic() + float(sys.argv[2])
found, count = set(), 0
while time.monotonic() < end:
    try:
        with fftd.Camera(sys.argv[1]) as camera:
            while time.monotonic() < end:
                if camera.wait(0.1) and (frame := camera.frame()):
                    parts = [part for plane in frame.planes for part in set(plane.tobytes())]
                    parts += set(frame.image.tobytes())
                    if frame.valid:
                        found.update(parts)
                        count += 1
                    frame.measures, frame.match, frame.computed_checksum, repr(frame)
    except (OSError, ValueError, ZeroDivisionError) as error:
        print(type(error).__name__, error, file=sys.stderr)
        time.sleep(0.05)
print(count, *sorted(found))
"""


class Client:
    """One kind of client against a row of rings. Its own methods start it and look at it."""

    stays = False  # whether one process sees all rings

    def __init__(self, directory):
        self.directory = directory
        self.process = None
        self.log_path = directory / "log"

    def run(self, command, env=None, **options):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([str(word) for word in command], stderr=log,
                                            stdin=subprocess.DEVNULL, env=env, **options)

    def log(self):
        return self.log_path.read_text(errors="replace")[-2000:]

    def check_alive(self):
        code = self.process.poll()
        check(code is None, f"crash of {self.name}", f"it ended with {code}: {self.log()}")

    def end(self, number=signal.SIGTERM):
        """It has to end in time, and not by a crash."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"hang of {self.name}", f"signal {number} did not end it: "
                                                  f"{self.log()}") from None
        check(-code not in CRASHES, f"crash of {self.name}",
              f"it ended with {code}: {self.log()}")
        check("Sanitizer" not in self.log() and "runtime error" not in self.log(),
              f"crash of {self.name}", self.log())
        return code

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def check_bytes(self, ring, found, also=()):
        """The bytes that it has shown are those of the ring."""
        if MOVES_FRAMES & {name for _, name, _, _ in ring["edits"]}:
            return
        check(set(found) <= {PIXEL, *also}, f"memory of {self.name}",
              f"it showed bytes that are not of the ring: {sorted(set(found))[:20]}")

    @staticmethod
    def is_sound(ring):
        return ring["reply"] == "sound" and not ring["edits"] and ring.keys() <= {
            "reply", "edits", "layout", "sealed"}


class Python(Client):
    name = "python"

    def see(self, ring):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "client/python"),
               "LIBFFTD": os.environ.get("FFTD_LIBRARY", str(BUILD / "libfftd.so.0"))}
        self.run([sys.executable, "-c", READER, f"{self.directory}/", RING_SECONDS], env,
                 stdout=subprocess.PIPE)
        try:
            said, _ = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure("hang of python", f"for {ring}") from None
        check(self.end() == 0, "crash of python", self.log())
        count, *found = map(int, said.split())
        self.check_bytes(ring, found)
        check(count > 0 or not self.is_sound(ring), "blind python", f"no frame: {self.log()}")


class Fftdsrc(Client):
    name = "fftdsrc"

    def see(self, ring):
        path = self.directory / "frames.raw"
        env = {**os.environ, "GST_PLUGIN_PATH": str(ROOT / "build/gstreamer")}
        self.run(["gst-launch-1.0", "-q", "--no-fault", "fftdsrc",
                  f"camera={self.directory}", "num-buffers=40",
                  "!", "filesink", f"location={path}"], env, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + RING_SECONDS * 2
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.is_sound(ring):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
            check(self.process.returncode == 0, "blind fftdsrc", self.log())
        self.end(signal.SIGKILL if self.process.poll() is None else signal.SIGTERM)
        if path.exists():
            self.check_bytes(ring, path.read_bytes(), also=(0,))
            path.unlink()


class View(Client):
    name = "fftd-view"
    stays = True

    def start(self):
        # By its name it finds the daemon in a directory of this name.
        self.run([BUILD / "fftd-view", "--name", "front", "--listen", "127.0.0.1:0"],
                 {**os.environ, "XDG_RUNTIME_DIR": str(self.directory.parents[1])})
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(r"on http://127.0.0.1:(\d+)/", self.log())):
            self.check_alive()
            check(time.monotonic() < deadline, "hang of fftd-view", "it does not listen")
            time.sleep(0.01)
        self.port = int(found[1])

    def get(self, path, seconds):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read(200000)
        except TimeoutError:
            return None, b""
        except (OSError, http.client.HTTPException) as error:
            self.check_alive()
            return type(error).__name__, b""
        finally:
            connection.close()

    def see(self, ring):
        deadline = time.monotonic() + (PATIENCE if self.is_sound(ring) else RING_SECONDS)
        has_seen = False
        while time.monotonic() < deadline and not (has_seen and self.is_sound(ring)):
            for path in ("snapshot.jpg", "spectrum", "comparison"):
                status, body = self.get(f"/camera/front/{path}", 0.5)
                self.check_alive()
                if path == "snapshot.jpg" and status == 200 and body:
                    has_seen = True
                    self.check_picture(ring, body)
        check(has_seen or not self.is_sound(ring), "blind fftd-view", self.log())
        status, body = self.get("/api/cameras", PATIENCE)
        self.check_alive()
        check(status == 200, "hang of fftd-view", f"/api/cameras: {status}")
        json.loads(body)

    def check_picture(self, ring, body):
        """One colour; which one depends on the format that the ring pretends to have."""
        try:
            from PIL import Image  # pylint: disable=import-outside-toplevel
        except ImportError:
            return
        picture = numpy.asarray(Image.open(io.BytesIO(body)).convert("RGB"), int)
        if not MOVES_FRAMES & {name for _, name, _, _ in ring["edits"]}:
            spread = (picture.max((0, 1)) - picture.min((0, 1))).max()
            check(spread <= 6, "memory of fftd-view", f"it is not of one colour: {spread}")


class Pipewire(Client):
    """With a PipeWire of its own, and another program that takes the frames."""

    name = "fftd-pipewire"
    stays = True

    def start(self):
        self.desktop = Desktop(self.directory.parents[1], self.directory.parents[1])
        node = self.desktop.run([BUILD / "fftd-pipewire", "--name", self.directory], "node")
        self.process, self.log_path = node.process, node.log_path
        self.node = f"fftd.{self.directory.name}"
        self.consumer = None

    def close(self):
        super().close()
        if hasattr(self, "desktop"):
            self.desktop.finish()

    def check_consumer(self, ring):
        frames = self.consumer.path.read_bytes() if self.consumer.path.exists() else b""
        self.check_bytes(ring, frames, also=(0,))

    def consume(self, count):
        path = self.directory / f"frames{len(self.desktop.processes)}"
        self.consumer = self.desktop.keep(Consumer(self.node, self.desktop.env, path, count))

    def gets_frames(self, seconds):
        self.consume(3)
        deadline = time.monotonic() + seconds
        while self.consumer.process.poll() is None and time.monotonic() < deadline:
            self.check_alive()
            time.sleep(0.02)
        is_done = self.consumer.process.poll() == 0 and self.consumer.path.stat().st_size > 0
        self.consumer.kill()
        return is_done

    def see(self, ring):
        if not self.is_sound(ring):
            deadline = time.monotonic() + RING_SECONDS
            while time.monotonic() < deadline:
                self.check_alive()
                time.sleep(0.05)
            self.check_consumer(ring)
            return
        deadline = time.monotonic() + PATIENCE
        while "is the video source" not in self.log():
            self.check_alive()
            check(time.monotonic() < deadline, "blind fftd-pipewire", self.log())
            time.sleep(0.02)
        # A program that connects while the format changes may fail or wait: then another one has to
        # get frames. The last one stays.
        while not self.gets_frames(PATIENCE / 6):
            check(time.monotonic() < deadline, "blind fftd-pipewire",
                  f"{self.log()}\n{self.consumer.log[-1000:]}")
        self.check_consumer(ring)
        self.consume(-1)


KINDS = {"python": Python, "fftdsrc": Fftdsrc, "fftd-view": View, "fftd-pipewire": Pipewire}
NO_ANSWER = Refusal("org.fftd.Error.Failed", "\x1b[2J no")


@functools.lru_cache(maxsize=None)
def lack(client):
    """Why a client cannot run here."""
    if client == "fftdsrc" and (not shutil.which("gst-launch-1.0") or
                                not (ROOT / "build/gstreamer").exists()):
        return "the GStreamer element is not built"
    if client == "fftd-pipewire" and not all(map(shutil.which, ("pipewire", "wireplumber",
                                                                "gst-launch-1.0"))):
        return "PipeWire is not installed"
    if client.startswith("fftd-") and not (BUILD / client).exists():
        return "it is not built"
    return None


def run(episode):
    """Returns the Failure, or None."""
    if lack(episode["client"]):
        return None
    top = pathlib.Path(tempfile.mkdtemp(prefix="fftd-campaign-"))
    directory = top / "fftd/front"
    directory.mkdir(parents=True)
    client = KINDS[episode["client"]](directory)
    sound = {"reply": "sound", "edits": [], "layout": "GREY", "sealed": True}
    try:
        with HostileControl(directory, dict.fromkeys(("GetAll", "GetStats"), NO_ANSWER)):
            if client.stays:
                client.start()
            for ring in (*([sound] if client.stays else []), *episode["rings"], sound):
                with FakeDaemon(directory, ring):
                    client.see(ring)
            if client.stays:
                client.end()
    except Failure as failure:
        return failure
    except (AssertionError, OSError) as error:
        return Failure(f"blind {client.name}", f"{error}")
    finally:
        client.close()
        shutil.rmtree(top, ignore_errors=True)
    return None
