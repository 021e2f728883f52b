#!/usr/bin/python3
"""Measures what attacks by another user of the machine cost a running daemon and its clients.

    sudo tests/bench/attacks.py --build DIRECTORY [--only NAME...]

Each attack runs for some seconds against a daemon of its own, as user 65534. Meanwhile a client of
the user who started this program reads every frame, and new clients of user 65533 ask for one.
docs/SECURITY.md says what is promised; tests/integration/test_attacks.py tests it.
"""

import argparse
import contextlib
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "client/python"), str(ROOT / "tests/integration")]

ATTACKER, NEWCOMER = 65534, 65533
PATIENCE_S = 20
SIZE = "1280x720"
FPS = 30
DESCRIPTORS = 1024  # that the daemon may have, as in an ordinary shell

# ---- what the attacker does, for as long as it lives; `directory` has the sockets ----

attacks = {}


def attack(function):
    attacks[function.__name__] = function
    return function


class Place:
    """What dbus_peer.Peer expects of a daemon."""

    def __init__(self, directory):
        self.runtime_dir = directory


def watcher(directory, **options):
    from dbus_peer import Peer  # reads the environment of the integration tests
    return Peer(Place(directory), "control-watch", **options)


def connect(directory, name="frames"):
    kind = socket.SOCK_SEQPACKET if name == "frames" else socket.SOCK_STREAM
    connection = socket.socket(socket.AF_UNIX, kind)
    connection.connect(f"{directory}/{name}")
    return connection


def frames_request(kind, value):
    return struct.pack("<IIQiI104x", 0x46544446, kind, value, 0, 0)


def rest():
    """Keeps everything as it is."""
    while True:
        time.sleep(1)


@attack
def nothing(_):
    """No attack"""


@attack
def kept_snapshots(directory):
    """400 snapshots are requested and kept"""
    from dbus_peer import call
    peer, kept = watcher(directory), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    # Older daemons let a watcher have both pictures, and have no other method.
    has_after = peer.call("SnapshotAfter").error != "org.freedesktop.DBus.Error.UnknownMethod"
    method = "SnapshotAfter" if has_after else "Snapshot"
    for serial in range(2, 402):
        peer.send(call(method, serial=serial))
        kept += socket.recv_fds(peer.socket, 1 << 16, 16)[1]
    rest()


@attack
def descriptors_in_unfinished_messages(directory):
    """Two connections send 1,004 descriptors with messages that never end"""
    from dbus_peer import call
    unfinished = call("GetStats")
    with open("/dev/null", "rb") as null:
        peers = [watcher(directory) for _ in range(2)]
        for byte, count in zip(unfinished, (250, 250, 2)):
            for peer in peers:
                socket.send_fds(peer.socket, [bytes([byte])], [null.fileno()] * count)
        rest()


@attack
def unfinished_long_messages(directory):
    """16 connections send 127 MiB each of a message that is 1 byte longer"""
    from dbus_peer import call
    size = 127 << 20
    head = bytearray(call("GetStats")[:16])
    head[4:8] = size.to_bytes(4, "little")
    peers = []
    for _ in range(16):
        peer = watcher(directory)
        peers.append(peer)
        with contextlib.suppress(OSError):
            peer.send(bytes(head))
            for _ in range(126):
                peer.send(b"\0" * (1 << 20))
    rest()


@attack
def idle_connections(directory):
    """64 connections to the frames socket that ask for nothing, each made again when it ends"""
    connections = {}
    while True:
        for i in range(64):
            with contextlib.suppress(OSError):
                if i not in connections:
                    connections[i] = connect(directory)
                    connections[i].setblocking(False)
                if connections[i].recv(128) is not None:
                    connections.pop(i).close()
        time.sleep(0.01)


@attack
def connection_flood(directory):
    """Connections to the frames socket as fast as possible, by 8 threads, each closed at once"""
    def flood():
        while True:
            with contextlib.suppress(OSError):
                connect(directory).close()
    for _ in range(8):
        threading.Thread(target=flood, daemon=True).start()
    rest()


@attack
def idle_watchers(directory):
    """16 connections to the watch socket"""
    connections = []
    for _ in range(16):
        with contextlib.suppress(OSError):
            connections.append(watcher(directory))
    rest()


@attack
def held_slots(directory):
    """One client holds as many frames as it may, always the newest"""
    import fftd
    held = []
    with fftd.Camera(directory) as camera:
        for frame in camera.frames(every=True):
            try:
                frame.hold()
                held.append(frame)
            except OSError:
                pass


@attack
def attach_loop(directory):
    """A client attaches again and again"""
    while True:
        with contextlib.suppress(OSError):
            with connect(directory) as connection:
                for _ in range(4):
                    connection.send(frames_request(1, 1))
                    _, descriptors, _, _ = socket.recv_fds(connection, 128, 4)
                    for descriptor in descriptors:
                        os.close(descriptor)


@attack
def silent_manager(directory):
    """The same, while the service manager reads nothing"""
    attach_loop(directory)


@attack
def listed_controls(directory):
    """A watcher lists the camera's controls without a pause"""
    peer = watcher(directory)
    while True:
        peer.call("ListControls")


# ---- what the others see ----

def seconds_until(ask):
    """How long it takes until ask() returns something true."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE_S:
        with contextlib.suppress(OSError, EOFError, AssertionError):
            if ask():
                break
        time.sleep(0.01)
    return time.monotonic() - begin


def newcomer(directory):
    """Prints how long a new reader waits for its first frame, and a new watcher for an answer."""
    import dbus_peer  # noqa: F401  takes long the first time
    import fftd

    def first_frame():
        with fftd.Camera(directory) as camera:
            return camera.wait(PATIENCE_S) and camera.frame()

    def first_answer():
        with watcher(directory, timeout=PATIENCE_S) as peer:
            return peer.call("GetStats").type == 2

    print(seconds_until(first_frame), seconds_until(first_answer))


def run_as(user, options, *words):
    return subprocess.Popen([sys.executable, __file__, "--build", options.build, *words], user=user,
                            group=user, extra_groups=[], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def statm_bytes(pid):
    fields = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGESIZE")


def shared_bytes():
    """Shared memory of the whole machine: that of snapshots, too, and whoever keeps them."""
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        line = next(line for line in meminfo if line.startswith("Shmem:"))
    return int(line.split()[1]) * 1024


def memory_bytes(daemon):
    return statm_bytes(daemon.pid) + shared_bytes()


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))


def read_frames(camera, seconds, latencies):
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not camera.wait(left):
            continue
        while frame := camera.next():
            latencies.append((time.monotonic_ns() - frame.captured_ns) / 1e6)


def drain(manager):
    while True:
        for descriptor in socket.recv_fds(manager, 4096, 8)[1]:
            os.close(descriptor)


@contextlib.contextmanager
def service_manager(path, reads):
    """Takes the daemon's notifications, and descriptors for the store, or does not read them."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        if reads:
            threading.Thread(target=drain, args=(manager,), daemon=True).start()
        yield dict(os.environ, NOTIFY_SOCKET=path)


def measure(options, name):
    from latency import open_camera  # loads the library
    with tempfile.TemporaryDirectory(prefix="fftd-attack-") as base, \
            service_manager(f"{base}/notify", name != "silent_manager") as env:
        os.chmod(base, 0o755)
        directory = f"{base}/run"
        daemon = subprocess.Popen([
            "prlimit", f"--nofile={DESCRIPTORS}", f"{options.build}/fftd", "--quiet",
            "--runtime-dir", directory, "--source", "pattern:moire", "--size", SIZE,
            "--fps", str(FPS), "--filter", "gaussian-blur:sigma=3",
            "--set", "engine.compile_ahead=false", "--set",
            f"engine.device={options.device}"], env=env)
        attacker = None
        try:
            camera = open_camera(directory, daemon)
            os.chmod(directory, 0o755)
            for each in pathlib.Path(directory).iterdir():
                if each.is_socket():
                    os.chmod(each, 0o666)
            read_frames(camera, 2, [])
            memory, descriptors_before = memory_bytes(daemon), descriptors(daemon)
            attacker = run_as(ATTACKER, options, "--attack", name, directory)
            latencies = []
            read_frames(camera, options.seconds, [])
            served = run_as(NEWCOMER, options, "--newcomer", directory)
            read_frames(camera, options.seconds, latencies)
            row = {
                "frames": len(latencies) / options.seconds,
                "p99": numpy.percentile(latencies, 99) if latencies else float("nan"),
                "memory": (memory_bytes(daemon) - memory) / 2**20,
                "descriptors": descriptors(daemon) - descriptors_before,
                "new": [float(seconds) * 1e3 for seconds in
                        served.communicate(timeout=4 * PATIENCE_S)[0].split()],
            }
            camera.close()
            return row
        finally:
            if attacker is not None:
                attacker.kill()
                attacker.wait()
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def report(options, name):
    row = measure(options, name)
    print(f"{name:34} {row['frames']:8.1f} {row['p99']:8.1f} {row['memory']:8.1f} "
          f"{row['descriptors']:8} " + " ".join(f"{ms:10.0f}" for ms in row["new"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, help="the folder of fftd and libfftd.so.0")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", nargs="+", choices=attacks, default=attacks, metavar="NAME")
    parser.add_argument("--attack", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--newcomer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["LIBFFTD"] = f"{options.build}/libfftd.so.0"
    if options.attack:
        attacks[options.attack[0]](options.attack[1])
    elif options.newcomer:
        newcomer(options.newcomer)
    else:
        if os.geteuid() != 0:
            sys.exit("attacks.py: run it as root; the attacks run as other users")
        print(f"{SIZE} at {FPS} frames a second, {os.cpu_count()} processors, "
              f"load {os.getloadavg()[0]:.1f}\n"
              f"{'attack':34} {'frames/s':>8} {'p99 ms':>8} {'MiB':>8} {'descr.':>8} "
              f"{'reader ms':>9} {'watcher ms':>10}")
        for name in options.only:
            report(options, name)


if __name__ == "__main__":
    main()
