"""Outputs that are added and removed while the daemon runs."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time

import numpy
import pytest

from client import Reader
from conftest import BUILD, PATIENCE, SANITIZED, wait_until
from dbus_peer import ERROR, RETURN, Peer
from dbus_peer import call as message
from test_outputs import ctl, ctl_json, of, pixels, published
from test_survival import Keeper, die

HEIGHT, WIDTH = 120, 160


def add(peer, **values):
    return peer.call("AddOutput", {name: str(value) for name, value in values.items()},
                     signature="a{ss}")


def remove(peer, name):
    return peer.call("RemoveOutput", name)


def names(daemon):
    return daemon.ctl_json("status")["OutputNames"]


def threads(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/task"))


def is_denied(reply):
    return reply.type == ERROR and reply.error == "org.freedesktop.DBus.Error.AccessDenied"


# ---- frames ----

def recording(tmp_path, count=20):
    frames = numpy.random.default_rng(7).integers(0, 256, (count, HEIGHT, WIDTH), numpy.uint8)
    path = tmp_path / "recording.raw"
    path.write_bytes(frames.tobytes())
    return path, frames


class Taker(threading.Thread):
    """Takes every frame of a ring that waits for it."""

    def __init__(self, daemon):
        super().__init__()
        self.reader = Reader(daemon, lossless=True)
        self.frames, self.is_over = [], False
        self.start()

    def run(self):
        while not self.is_over and self.reader.wait(200) >= 0:
            while (frame := self.reader.take()) and not self.is_over:
                self.frames.append((frame.source_sequence, pixels(frame).copy()))

    def end(self):
        self.is_over = True
        self.join()
        self.reader.__exit__()


@pytest.mark.parametrize("chain", ["none", "gaussian-blur:sigma=9"])
def test_other_readers_miss_nothing_while_outputs_come_and_go(start, tmp_path, chain):
    """A ring that waits for its readers shows whether a frame was left out. With a blur main gets
    another engine meanwhile, which shares its load; of what it makes only the rounding differs."""
    path, frames = recording(tmp_path)
    daemon = start("--set", "camera.format=GREY", "--set", "output.lossless=true", "--set",
                   "camera.loop=true", "--set", "output.slots=8", "--filter", chain,
                   source=f"file:{path}",
                   size=f"{WIDTH}x{HEIGHT}", fps="max")
    daemon.wait_for_socket("frames")
    daemon.wait_for_socket()
    takers = [Taker(daemon) for _ in range(3)]
    try:
        wait_until(lambda: all(len(each.frames) > 20 for each in takers), "frames")
        with Peer(daemon) as peer:
            for i in range(3):
                assert add(peer, name="half", filter="gain:dc=0.5,ac=0.5").type == RETURN
                half = Taker(of(daemon, "half"))
                wait_until(lambda taker=half: len(taker.frames) > 20, "frames of the output")
                for sequence, picture in half.frames:
                    expected = frames[sequence % len(frames)] / 2
                    assert numpy.abs(picture - expected).max() <= 0.51, (i, sequence)
                numbers = [sequence for sequence, _ in half.frames]
                assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
                assert remove(peer, "half").type == RETURN
                half.end()
        last = max(each.frames[-1][0] for each in takers)
        wait_until(lambda: all(each.frames[-1][0] > last + 10 for each in takers), "frames")
    finally:
        for each in takers:
            each.end()
    for each in takers:
        numbers = [sequence for sequence, _ in each.frames]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        expected = {sequence % len(frames): picture for sequence, picture in
                    each.frames[:len(frames)]} if chain != "none" else dict(enumerate(frames))
        for sequence, picture in each.frames:
            difference = numpy.abs(picture.astype(int) - expected[sequence % len(frames)])
            assert difference.max() <= (chain != "none"), sequence


def test_frames_are_paired_with_those_of_main(start):
    daemon = start("--set", "camera.format=GREY", "--set", "output.slots=64",
                   source="pattern:noise", fps="20")
    daemon.wait_for_socket()
    with Peer(daemon) as peer, Reader(daemon) as main:
        main.next()
        assert add(peer, name="small", size="80x60", planes="luma-only").type == RETURN
        assert names(daemon) == ["main", "small"]
        with Reader(of(daemon, "small")) as small:
            assert (small.next().width, small.format.height) == (80, 60)
            wanted = {frame.source_sequence: frame for frame in
                      small.take_until(lambda frame, first=small.next().sequence:
                                       frame.sequence > first + 20)}
            whole = {frame.source_sequence: frame for frame in
                     main.take_until(lambda frame: frame.source_sequence >= max(wanted))}
            common = set(wanted) & set(whole)
            assert len(common) > 5
            for number in common:
                assert wanted[number].captured_ns == whole[number].captured_ns
                blocks = pixels(whole[number]).astype(float)
                blocks = blocks.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).mean((1, 3))
                likeness = numpy.corrcoef(blocks.ravel(), pixels(wanted[number]).ravel())[0, 1]
                assert likeness > 0.6, number


def test_the_command_adds_and_removes(start):
    daemon = start("--set", "camera.format=GREY")
    daemon.wait_for_socket()
    daemon.ctl("output", "add", "small", "--size", "80x60", "--fps", "12.5", "--set",
               "planes=luma-only", "gain:dc=0.5,ac=0.5", "gaussian-blur:sigma=1")
    listed = daemon.ctl("output", "list").stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["NAME", "main", "small"]
    status = ctl_json(daemon, "small", "status")
    assert status["Filter"] == "gain:dc=0.5,ac=0.5 | gaussian-blur:sigma=1"
    with Reader(of(daemon, "small")) as small:
        assert small.next().width == 80
    again = daemon.ctl("output", "add", "small", check=False)
    assert again.returncode == os.EX_DATAERR
    assert "there is an output small: expected another name" in again.stderr
    size = daemon.ctl("output", "add", "b", "--size", "80x61", check=False)
    assert size.returncode == os.EX_DATAERR and "the nearest that can be had are" in size.stderr
    daemon.ctl("output", "remove", "small")
    gone = daemon.ctl("output", "remove", "small", check=False)
    assert gone.returncode == os.EX_UNAVAILABLE
    for wrong in (("add",), ("remove",), ("remove", "a", "b"), ("list", "a"), ("keep", "a"),
                  ("remove", "a", "--fps", "3"), ("add", "a", "--set", "planes")):
        assert daemon.ctl("output", *wrong, check=False).returncode == os.EX_USAGE, wrong
    other = ctl(daemon, "small", "output", "add", "c", check=False)
    assert other.returncode != 0
    assert daemon.ctl_json("output", "list")[0]["Name"] == "main"


def load_of(status):
    found = re.search(r", load (\d+),", status["Engine"])
    return found and int(found[1])


def test_an_added_output_shares_the_load_of_main(start):
    """Main was alone, and had none."""
    daemon = start("--set", "camera.format=GREY", "--filter", "gaussian-blur:sigma=9",
                   "--set", "engine.technique=fused")
    daemon.wait_for_socket()
    with Reader(daemon) as main, Peer(daemon) as peer:
        main.next()
        assert load_of(daemon.ctl_json("status")) is None
        assert add(peer, name="small", size="80x60", planes="luma-only",
                   filter="gaussian-blur:sigma=3").type == RETURN
        with Reader(of(daemon, "small")) as small:
            small.next()
            wait_until(lambda: load_of(daemon.ctl_json("status")), "a load of main")
            wait_until(lambda: load_of(daemon.ctl_json("status")) ==
                       load_of(ctl_json(daemon, "small", "status")), "one load")
            last = small.next().sequence
            small.take_until(lambda frame: frame.sequence > last + 3)
        main.take_until(lambda frame, last=main.next().sequence: frame.sequence > last + 3)
        assert remove(peer, "small").type == RETURN
        wait_until(lambda: load_of(daemon.ctl_json("status")) is None, "main alone")
        main.take_until(lambda frame, last=main.next().sequence: frame.sequence > last + 3)


# ---- the end ----

def test_readers_of_a_removed_output_see_its_end(start):
    daemon = start()
    daemon.wait_for_socket()
    with Peer(daemon) as peer, Reader(daemon) as main:
        main.next()
        assert add(peer, name="small", size="80x60").type == RETURN
        with Reader(of(daemon, "small")) as small:
            small.next()
            assert remove(peer, "small").type == RETURN
            assert not (daemon.runtime_dir / "outputs").exists()
            assert names(daemon) == ["main"]

            def has_ended():
                small.take_rest()
                return small.wait(100) < 0
            wait_until(has_ended, "the end")
        gone = peer.call("GetStats", path="/org/fftd/camera/outputs/small")
        assert gone.error == "org.freedesktop.DBus.Error.UnknownObject"
        absent = ctl(daemon, "small", "status", check=False)
        assert absent.returncode == os.EX_UNAVAILABLE
        assert "the camera has no output small" in absent.stderr
        main.take_until(lambda frame, last=main.next().sequence: frame.sequence > last + 5)
        # The name is free at once.
        assert add(peer, name="small", size="40x30", planes="luma-only").type == RETURN
        with Reader(of(daemon, "small")) as small:
            assert small.next().width == 40


def test_a_stuck_reader_of_a_removed_output_costs_nothing(start):
    daemon = start()
    daemon.wait_for_socket()
    with Peer(daemon) as peer, Reader(daemon) as main, contextlib.ExitStack() as stack:
        main.next()
        begin, alone = None, settled(daemon)[1]
        for i in range(6):
            assert add(peer, name="small").type == RETURN
            daemon.wait_for_socket("outputs/small/frames")
            mute = subprocess.Popen([BUILD / "fftd-ctl", "--runtime-dir",
                                     daemon.runtime_dir / "outputs/small", "frames", "--raw",
                                     "-o", "/dev/null"], stderr=subprocess.DEVNULL)
            stack.callback(mute.wait)
            stack.callback(mute.kill)
            wait_until(lambda: published(daemon, "small") > 0, "frames")
            os.kill(mute.pid, signal.SIGSTOP)
            assert remove(peer, "small").type == RETURN
            main.take_until(lambda frame, last=main.next().sequence: frame.sequence > last + 3)
            wait_until(lambda: threads(daemon) <= alone, "the end of the output")
            if i == 1:
                begin = settled(daemon)
        wait_until(lambda: is_no_more(daemon, begin), "descriptors and threads")
        assert daemon.ctl_json("status")["State"] == "online"


def count_of(daemon):
    return len(daemon.descriptors()), threads(daemon)


def is_no_more(daemon, before):
    """Less is no leak: what was counted before may have been about to end."""
    return all(now <= then for now, then in zip(count_of(daemon), before, strict=True))


def settled(daemon):
    """Descriptors and threads, once they have not changed for a while."""
    def count():
        return count_of(daemon)
    newest, since = count(), time.monotonic()
    while time.monotonic() < since + 1:
        time.sleep(0.1)
        if (now := count()) != newest:
            newest, since = now, time.monotonic()
    return newest


def test_two_hundred_outputs_leave_nothing(start, tmp_path):
    # PoCL's compiler keeps some 150 MB from its first kernel on. With a cache of its own the daemon
    # compiles at once, and not when it first needs a kernel that no other test has left there.
    daemon = start(env={"POCL_CACHE_DIR": str(tmp_path / "pocl")})
    daemon.wait_for_socket()
    with Peer(daemon) as peer, Reader(daemon) as main:
        main.next()

        def come_and_go(count, reads):
            for i in range(count):
                reply = add(peer, name="small", size="80x60", planes="luma-only")
                while reply.type == ERROR and reply.error == "org.fftd.Error.Busy":
                    time.sleep(0.05)  # those before are still in the driver
                    reply = add(peer, name="small", size="80x60", planes="luma-only")
                assert reply.type == RETURN, reply.message
                if reads and i % 10 == 0:
                    with Reader(of(daemon, "small")) as small:
                        small.next()
                assert remove(peer, "small").type == RETURN
            main.take_until(lambda frame, last=main.next().sequence: frame.sequence > last + 3)

        alone = settled(daemon)[1]

        def have_ended():
            return threads(daemon) <= alone

        # Outputs end when the driver lets them, and the driver opens files of its own at first.
        come_and_go(30, True)
        wait_until(have_ended, "the end of the first outputs")
        before = settled(daemon)
        shared, own = daemon.memory_bytes("RssShmem"), daemon.memory_bytes("RssAnon")
        come_and_go(200, True)
        wait_until(have_ended, "the end of all outputs")
        wait_until(lambda: is_no_more(daemon, before), "descriptors")
        # A leaked ring is some 100 kB of shared memory; a leaked slot of an engine is over 2 MB of
        # the daemon's own. PoCL's LLVM keeps some 20 kB for each program that it loads, and the
        # memory that the allocator cannot give back comes to 10 to 45 MB.
        assert daemon.memory_bytes("RssShmem") < shared + (2 << 20)
        if not SANITIZED:  # a sanitizer keeps what is freed
            assert daemon.memory_bytes("RssAnon") < own + (96 << 20)
        assert daemon.ctl_json("status")["State"] == "online"


def test_nothing_of_a_removed_output_is_kept(start, runtime_dir):
    keeper = Keeper(runtime_dir.parent / "notify", runtime_dir)
    try:
        daemon = start(**keeper.hand_over())
        daemon.wait_for_socket()
        with Peer(daemon) as peer, Reader(daemon) as main:
            main.next()
            for name in ("first", "second"):
                assert add(peer, name=name).type == RETURN
            with Reader(of(daemon, "first")) as first, Reader(of(daemon, "second")) as second:
                first.next()
                second.next()
                keeper.wait_for(lambda: len(keeper.names) == 6, "three rings and three clients")
                assert remove(peer, "first").type == RETURN
                keeper.wait_for(lambda: not [each for each in keeper.names if "first" in each],
                                "what is left without the first")
                assert len(keeper.names) == 4
                die(daemon)
                # Only the configuration names outputs for the next process.
                start(**keeper.hand_over())
                main.next()
                keeper.wait_for(lambda: not [each for each in keeper.names if "second" in each],
                                "what is left of main alone")
    finally:
        keeper.close()


# ---- refusals ----

LONG = 400 * "x"


@pytest.mark.parametrize("values, text", [
    ({}, "an output has no name"),
    ({"name": ""}, "outputs.name = '': expected letters, digits and hyphens"),
    ({"name": "main"}, "outputs.name = main: expected letters"),
    ({"name": "../x"}, "outputs.name = ../x: expected letters"),
    ({"name": "a/b"}, "outputs.name = a/b: expected letters"),
    ({"name": "a_b"}, "outputs.name = a_b: expected letters"),
    ({"name": "-a"}, "outputs.name = -a: expected letters"),
    ({"name": "\x1b[31m"}, "expected letters"),
    ({"name": LONG}, "expected letters"),
    ({"name": "taken"}, "there is an output taken: expected another name"),
    ({"name": "a", "colour": "red"}, "unknown key colour of an output: expected name, size"),
    ({"name": "a", "size": "0x0"}, "outputs.size = 0x0: expected"),
    ({"name": "a", "size": "80x61", "planes": "luma-only"},
     "120 rows cannot become 61: the nearest that can be had are "),
    ({"name": "a", "size": "320x120"}, "frames of 160x120 cannot become 320x120"),
    ({"name": "a", "fps": "-1"}, "outputs.fps = -1: expected"),
    ({"name": "a", "edge": "0.6"}, "outputs.edge = 0.6: expected a number 0.001 .. 0.5"),
    ({"name": "a", "depth": "9"}, "outputs.depth = 9: expected"),
    ({"name": "a", "filter": "nonsense"}, "nonsense"),
    ({"name": "a", "filter": "convolve:file=/etc/passwd"}, ""),
])
def test_what_cannot_be_had_changes_nothing(start, values, text):
    daemon = start("--set", 'outputs=( { name = "taken"; } )')
    daemon.wait_for_socket()
    with Reader(daemon) as main, Peer(daemon) as peer:
        main.next()
        before = settled(daemon)
        for _ in range(3):
            refused = add(peer, **values)
            assert refused.type == ERROR and refused.error == "org.fftd.Error.InvalidOutput"
            assert text in refused.message, refused.message
        assert names(daemon) == ["main", "taken"]
        assert settled(daemon) == before
        assert os.listdir(daemon.runtime_dir / "outputs") == ["taken"]
        main.next()


def test_outputs_are_limited(start):
    daemon = start("--set", "engine.memory=64")
    daemon.wait_for_socket()
    with Reader(daemon) as main, Peer(daemon) as peer:
        main.next()
        for i in range(7):
            assert add(peer, name=f"o{i}", size="40x30", planes="luma-only").type == RETURN, i
        refused = add(peer, name="o7")
        assert refused.error == "org.fftd.Error.InvalidOutput"
        assert refused.message == "the camera has 8 outputs: expected no more"
        assert remove(peer, "o3").type == RETURN
        assert names(daemon) == ["main", "o0", "o1", "o2", "o4", "o5", "o6"]
        # The numbers of the others have not changed: each still has its own frames.
        assert ctl_json(daemon, "o6", "status")["OutputName"] == "o6"
        absent = remove(peer, "o3")
        assert absent.error == "org.fftd.Error.NoSuchOutput"
        assert absent.message == "the camera has no output o3"
        kept = remove(peer, "main")
        assert kept.error == "org.fftd.Error.InvalidOutput"


# The memory of main and of two outputs, but not of three.
LIMITED = "--set", "engine.memory=130", "--set", "engine.technique=fused"
BLUR = "gaussian-blur:sigma=9"


def add_all(peer):
    """Adds outputs until one is refused. Returns the others' names, and the refusal."""
    had = []
    while (reply := add(peer, name=f"o{len(had)}", filter=BLUR)).type == RETURN:
        had.append(f"o{len(had)}")
    return had, reply


def test_memory_of_all_outputs_is_limited(start):
    """Main, which was alone, takes more beside others: what can be added counts that."""
    daemon = start(*LIMITED, "--filter", BLUR, size="640x480")
    daemon.wait_for_socket()
    with Reader(daemon) as main, Peer(daemon) as peer:
        main.next()
        had, refused = add_all(peer)
        assert had and refused.error == "org.fftd.Error.InvalidOutput"
        assert "the limit is 130" in refused.message and "engine.memory" in refused.message
        assert names(daemon) == ["main", *had]

        def is_added():
            reply = add(peer, name=had[0], filter=BLUR)
            assert reply.type == RETURN or reply.error in ("org.fftd.Error.Busy",
                                                           "org.fftd.Error.InvalidOutput")
            return reply.type == RETURN
        for _ in range(2):
            # All of them are built, and main has its load.
            for name in had:
                with Reader(of(daemon, name)) as reader:
                    reader.next()
            wait_until(lambda: load_of(daemon.ctl_json("status")), "a load of main")
            # Once an output has ended, its memory is free for the same output again.
            assert remove(peer, had[0]).type == RETURN
            wait_until(is_added, "the memory")
        main.take_until(lambda frame, last=main.next().sequence: frame.sequence > last + 3)
        status = daemon.ctl_json("status")
        assert status["State"] == "online", status
        assert "cannot" not in daemon.log and "needs" not in daemon.log


def test_what_can_be_added_can_be_configured(start, tmp_path):
    """The file may name what could be added, and no more."""
    daemon = start(*LIMITED, "--filter", BLUR, size="640x480")
    daemon.wait_for_socket()
    with Reader(daemon) as main, Peer(daemon) as peer:
        main.next()
        had, _ = add_all(peer)
    assert daemon.stop() == 0
    config = tmp_path / "camera.conf"
    lines = [f'{{ name = "{name}"; filter = "{BLUR}"; }}' for name in (*had, "more")]
    write(config, *lines[:-1])
    again = start("--config", config, *LIMITED, "--filter", BLUR, size="640x480")
    again.wait_for_log("online")
    assert again.stop() == 0
    write(config, *lines)
    refused = start("--config", config, *LIMITED, "--filter", BLUR, size="640x480")
    assert refused.wait() == os.EX_CONFIG
    assert "the limit is 130" in refused.log


def test_an_output_of_a_camera_that_is_lost(start, tmp_path):
    """It is added without frames, and begins with the camera; another one ends meanwhile."""
    path, _ = recording(tmp_path)
    away = tmp_path / "away"
    path.rename(away)
    daemon = start("--wait", "--set", "camera.format=GREY", "--set", "camera.loop=true",
                   source=f"file:{path}", size=f"{WIDTH}x{HEIGHT}")
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "lost", "the loss")
    with Peer(daemon) as peer:
        for name in ("small", "gone"):
            assert add(peer, name=name, size="80x60", planes="luma-only").type == RETURN
            assert ctl_json(daemon, name, "status")["State"] == "lost"
        # Whether the size can be had is known once there are frames.
        assert add(peer, name="odd", size="80x61", planes="luma-only").type == RETURN
        assert remove(peer, "gone").type == RETURN
        assert names(daemon) == ["main", "small", "odd"]
        assert remove(peer, "odd").type == RETURN
        away.rename(path)
        with Reader(daemon) as main, Reader(of(daemon, "small")) as small:
            assert main.next().width == WIDTH
            assert small.next().width == 80
        assert daemon.ctl_json("status")["State"] == "online"
        assert names(daemon) == ["main", "small"]


def test_watchers_change_no_outputs(start):
    daemon = start()
    for name in ("control", "control-watch"):
        daemon.wait_for_socket(name)
    with Peer(daemon, "control-watch") as watcher, Peer(daemon) as peer:
        assert is_denied(add(watcher, name="a"))
        assert add(peer, name="a").type == RETURN
        assert is_denied(remove(watcher, "a"))
        # Objects come and go on connections that were there before.
        seen = watcher.call("GetStats", path="/org/fftd/camera/outputs/a")
        assert seen.type == RETURN
        assert remove(peer, "a").type == RETURN
        assert watcher.call("GetStats", path="/org/fftd/camera/outputs/a").type == ERROR
    assert names(daemon) == ["main"]


# ---- at once ----

def test_two_changers_at_once(start):
    daemon = start()
    daemon.wait_for_socket()
    with Reader(daemon) as main:
        main.next()
        problems = []

        def change(own):
            with Peer(daemon) as peer:
                for i in range(25):
                    for name in ("shared", own):
                        reply = remove(peer, name) if i % 2 else add(peer, name=name)
                        allowed = {None, "org.fftd.Error.InvalidOutput", "org.fftd.Error.Busy",
                                   "org.fftd.Error.NoSuchOutput"}
                        if reply.type == ERROR and reply.error not in allowed:
                            problems.append(reply.message)
                    peer.call("SetFilter", "gain:dc=0.9", path="/org/fftd/camera/outputs/shared")

        changers = [threading.Thread(target=change, args=(name,)) for name in ("a", "b")]
        for each in changers:
            each.start()
        for each in changers:
            each.join(PATIENCE)
        assert not problems
        # A change of an output that is removed meanwhile is never one of main.
        assert daemon.ctl_json("status")["Filter"] == "none"
        main.next()
        with Peer(daemon) as peer:
            for name in names(daemon)[1:]:
                assert remove(peer, name).type == RETURN
    assert not (daemon.runtime_dir / "outputs").exists()


def test_an_output_during_a_change_of_the_source(start, tmp_path):
    config = tmp_path / "camera.conf"
    config.write_text('camera = { size = "160x120"; };\n')
    daemon = start("--config", config, size=None)
    daemon.wait_for_socket()
    with Reader(daemon) as main, Peer(daemon) as peer, Peer(daemon) as other:
        main.next()
        for i in range(6):
            width = 160 if i % 2 else 320
            config.write_text(f'camera = {{ size = "{width}x120"; }};\n')
            other.serial += 1
            other.send(message("Reload", serial=other.serial))
            reply = add(peer, name="small")
            while reply.type == ERROR:
                assert reply.error == "org.fftd.Error.Busy", reply.message
                time.sleep(0.02)
                reply = add(peer, name="small")
            assert other.reply(other.serial).type == RETURN
            with Reader(of(daemon, "small")) as small:
                assert small.take_until(lambda frame: frame.width == width)
            reply = remove(peer, "small")
            assert reply.type == RETURN, reply.message
        main.take_until(lambda frame: frame.width == 160)


# ---- reloads ----

def write(config, *outputs, camera=""):
    config.write_text(f"{camera}outputs = ( {', '.join(outputs)} );\n")


def test_a_reload_changes_the_outputs(start, tmp_path):
    config = tmp_path / "camera.conf"
    write(config, '{ name = "a"; filter = "gain"; }', '{ name = "b"; }', '{ name = "c"; }')
    daemon = start("--config", config)
    daemon.wait_for_socket("outputs/c/frames")
    daemon.wait_for_socket()
    with contextlib.ExitStack() as stack, Peer(daemon) as peer:
        a, b, c = (stack.enter_context(Reader(of(daemon, name))) for name in "abc")
        for each in (a, b, c):
            each.next()
        assert add(peer, name="live").type == RETURN
        # c is gone, but not what was added; b is smaller; a has another filter, and d is new.
        write(config, '{ name = "d"; }', '{ name = "b"; size = "80x60"; }',
              '{ name = "a"; filter = "gain:dc=0.5,ac=0.5"; }')
        daemon.ctl("reload")
        wait_until(lambda: sorted(names(daemon)) == ["a", "b", "d", "live", "main"],
                   "the new list")
        assert sorted(os.listdir(daemon.runtime_dir / "outputs")) == ["a", "b", "d", "live"]
        a.take_until(lambda frame: frame.filter_serial == 2)  # the same connection
        with Reader(of(daemon, "b")) as smaller, Reader(of(daemon, "d")) as new:
            assert smaller.next().width == 80 and new.next().width == 160

        b.take_until(lambda frame: frame.width == 80)  # libfftd has connected again

        def has_ended():
            c.take_rest()
            return c.wait(100) < 0
        wait_until(has_ended, "the end of c")
        assert "output c ends, which the configuration does not have" in daemon.log
        assert "takes effect at the next start" not in daemon.log
        before = daemon.log
        daemon.ctl("reload")  # the same list
        assert "output" not in daemon.log[len(before):]
        # What the file has named once ends with it.
        write(config, '{ name = "live"; }')
        daemon.ctl("reload")
        wait_until(lambda: names(daemon) == ["main", "live"], "the output that was added")
        write(config)
        daemon.ctl("reload")
        wait_until(lambda: names(daemon) == ["main"], "an empty list")
    assert daemon.stop() == 0
    assert not (daemon.runtime_dir / "outputs").exists()


def test_a_reload_with_an_output_that_cannot_be_had_changes_nothing(start, tmp_path):
    config = tmp_path / "camera.conf"
    write(config, '{ name = "a"; }')
    daemon = start("--config", config)
    daemon.wait_for_socket("outputs/a/frames")
    daemon.wait_for_socket()
    with Reader(daemon) as main:
        main.next()
        write(config, '{ name = "b"; }', '{ name = "c"; size = "80x61"; planes = "luma-only"; }',
              camera='filter = "gain:dc=0.5";\n')
        failed = daemon.ctl("reload", check=False)
        assert failed.returncode == os.EX_CONFIG
        assert "output c: " in failed.stderr and "the nearest that can be had are" in failed.stderr
        assert names(daemon) == ["main", "a"]
        assert daemon.ctl_json("status")["Filter"] == "none"


def test_all_places_are_used_again_by_a_reload(start, tmp_path):
    """Each output begins once those before it have ended."""
    config = tmp_path / "camera.conf"

    def list_of(size):
        write(config, *(f'{{ name = "o{i}"; size = "{size}"; planes = "luma-only"; }}'
                        for i in range(7)))
    list_of("80x60")
    daemon = start("--config", config)
    daemon.wait_for_socket("outputs/o6/frames")
    daemon.wait_for_socket()
    with Reader(daemon) as main:
        main.next()
        list_of("40x30")
        daemon.ctl("reload")
        wait_until(lambda: len(names(daemon)) == 8, "all of them")
        with Reader(of(daemon, "o6")) as reader:
            assert reader.next().width == 40
        assert "cannot begin" not in daemon.log
        main.next()


def test_outputs_follow_another_source(start, tmp_path):
    config = tmp_path / "camera.conf"
    write(config, '{ name = "a"; }', camera='camera = { size = "160x120"; };\n')
    daemon = start("--config", config, size=None)
    daemon.wait_for_socket("outputs/a/frames")
    daemon.wait_for_socket()
    with Reader(daemon) as main:
        main.next()
        write(config, '{ name = "b"; size = "160x120"; planes = "luma-only"; }',
              camera='camera = { size = "320x240"; };\n')
        daemon.ctl("reload")
        wait_until(lambda: names(daemon) == ["main", "b"], "the new list")
        with Reader(of(daemon, "b")) as reader:
            assert reader.next().width == 160
        main.take_until(lambda frame: frame.width == 320)
