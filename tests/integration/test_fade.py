"""Tests of fades with the real engine: each frame is the blend that is its turn, for every client,
also while engines are rebuilt, and the wrong number of frames changes nothing."""

import pathlib

import pytest

from client import Recorder
from dbus_peer import Peer
from model import ARGUMENTS, Model, chain, distance, pixels, write_scene

BLENDED = 4
# The frames of two seconds, so that a busy machine misses none.
FPS = "30"
# One technique, so that the model's padding is that of every filter.
SLOTS = ("--set", "output.slots=64", "--set", "engine.technique=fused")
OLD, NEW, NEWER = (0.5, 1), (2.5, 0.4), (1, 0.7)


@pytest.fixture
def scene(tmp_path):
    return write_scene(tmp_path / "scene.y4m")


@pytest.fixture
def daemon(start, scene, tmp_path):
    assert scene.size > 0  # it has been written
    daemon = start(*ARGUMENTS, *SLOTS, "--filter", chain(*OLD), source=f"file:{tmp_path}/scene.y4m",
                   size=None, fps=FPS)
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    return daemon


@pytest.fixture
def model(daemon, scene):
    return Model(scene, daemon.ctl_json("status")["Engine"])


def fade(daemon, filter_, frames, *arguments):
    return daemon.change("filter", "set", "--fade", str(frames), chain(*filter_), *arguments)


def take_fade(reader, serial, frames):
    """Returns the frames of a fade, and two more."""
    taken = [frame for frame in reader.take_until(lambda frame: frame.filter_serial == serial)
             if frame.filter_serial == serial]
    last = taken[0].sequence + frames + 1
    return taken + reader.take_until(lambda frame: frame.sequence >= last)


def blend(old, new, weight):
    return old + weight * (new - old)


def assert_fade(model, frames, old, new, count):
    """old and new are responses."""
    first = frames[0].sequence
    for frame in frames:
        turn = frame.sequence - first + 1
        expected = model.filtered(blend(old, new, min(turn / count, 1)))
        assert distance(pixels(frame), expected) <= 1, f"frame {turn} of {count}"
        assert bool(frame.flags & BLENDED) == (turn < count)


def test_every_client_sees_each_blend_in_its_turn(daemon, model):
    with Recorder(daemon) as one, Recorder(daemon) as other:
        one.next(), other.next()
        serial = fade(daemon, NEW, 20)
        seen = [take_fade(reader, serial, 20) for reader in (one, other)]
    for frames in seen:
        assert len(frames) > 15
        assert_fade(model, frames, model.response(*OLD), model.response(*NEW), 20)


def test_a_change_during_a_fade_begins_at_the_blend_in_use(daemon, model):
    with Recorder(daemon) as reader:
        before = fade(daemon, NEW, 300)
        frames = reader.take_until(lambda frame: frame.filter_serial == before)
        frames += [reader.next() for _ in range(10)]
        serial = fade(daemon, NEWER, 10)
        frames += take_fade(reader, serial, 10)
    first = {number: next(frame.sequence for frame in frames if frame.filter_serial == number)
             for number in (before, serial)}
    weight = (first[serial] - first[before]) / 300  # of the last frame before
    assert weight > 10 / 300
    begin = blend(model.response(*OLD), model.response(*NEW), weight)
    assert_fade(model, [frame for frame in frames if frame.filter_serial == serial], begin,
                model.response(*NEWER), 10)


@pytest.mark.parametrize("command", [
    ["filter", "preset", "soften"], ["filter", "add", "gain:dc=1,ac=0.5"],
    ["filter", "remove", "gain"], ["filter", "edit", "remove", "gain", "set", "1.sigma=2"],
    ["set", "gain.ac", "0.2"]], ids=lambda command: " ".join(command[:2]))
def test_every_change_can_fade(daemon, command):
    presets = pathlib.Path(__file__).resolve().parents[2] / "config/presets"
    command = [sorted(presets.iterdir())[0].stem if word == "soften" else word
               for word in command]
    with Recorder(daemon) as reader:
        reader.next()
        serial = daemon.change(*command, "--fade=5")
        frames = take_fade(reader, serial, 5)
    first = frames[0].sequence
    assert {frame.sequence - first: bool(frame.flags & BLENDED) for frame in frames} == \
        {frame.sequence - first: frame.sequence - first < 4 for frame in frames}


def test_a_fade_of_none_is_none(daemon, model):
    with Recorder(daemon) as reader:
        for frames in (0, 1):
            serial = fade(daemon, (NEW, NEWER)[frames], frames)
            frame = reader.take_until(lambda frame: frame.filter_serial == serial)[-1]
            expected = model.filtered(model.response(*(NEW, NEWER)[frames]))
            assert distance(pixels(frame), expected) <= 1
            assert not frame.flags & BLENDED


@pytest.mark.parametrize("frames, code, text", [
    ("301", 65, "301 frames is out of range: expected 0 .. 300"),
    ("4294967295", 65, "0 .. 300"), ("4294967296", 64, "--fade"), ("-1", 64, "--fade"),
    ("x", 64, "--fade"), ("1.5", 64, "--fade"), ("", 64, "--fade")])
def test_a_wrong_number_of_frames_changes_nothing(daemon, frames, code, text):
    before = daemon.ctl_json("filter", "show")
    done = daemon.ctl("filter", "set", f"--fade={frames}", "none", check=False)
    assert done.returncode == code
    assert text in done.stderr
    assert daemon.ctl_json("filter", "show") == before
    assert daemon.ctl("filter", "show", "--fade=3", check=False).returncode == 64
    assert daemon.ctl("status", "--fade=3", check=False).returncode == 64


def test_the_engine_is_rebuilt_for_a_fade(start, scene, tmp_path):
    """A wider filter needs more padding. The fade begins on the new engine at the old filter; a
    second one, which needs still more, waits for its end."""
    daemon = start(*SLOTS, "--set", "camera.loop=true", "--set", "engine.border=mirror", "--filter",
                   chain(*OLD), source=f"file:{tmp_path}/scene.y4m", size=None, fps=FPS)
    daemon.wait_for_log("online")
    wide, wider = (4, 0.8), (8, 0.6)
    with Recorder(daemon) as reader:
        reader.next()
        engines = [daemon.ctl_json("status")["Engine"]]
        serial = fade(daemon, wide, 60)
        frames = reader.take_until(lambda frame: frame.filter_serial == serial)
        engines.append(daemon.ctl_json("status")["Engine"])
        last = fade(daemon, wider, 8)
        frames += take_fade(reader, last, 8)
        engines.append(daemon.ctl_json("status")["Engine"])
    assert len(set(engines)) == 3
    models = [Model(scene, engine) for engine in engines]
    for number, model, old, new, count in ((serial, models[1], OLD, wide, 60),
                                           (last, models[2], wide, wider, 8)):
        assert_fade(model, [frame for frame in frames if frame.filter_serial == number],
                    model.response(*old), model.response(*new), count)
    numbers = [frame.filter_serial for frame in frames]
    assert numbers == sorted(numbers)


def test_a_real_filter_fades_into_a_complex_one_and_back(daemon, scene):
    with Recorder(daemon) as reader:
        reader.next()
        there = daemon.change("filter", "add", "shift:by=3/0", "--fade=12")
        frames = take_fade(reader, there, 12)
        engine = daemon.ctl_json("status")["Engine"]
        assert "complex" in engine
        back = daemon.change("filter", "remove", "shift", "--fade=12")
        frames += take_fade(reader, back, 12)
    model = Model(scene, engine)
    still = model.response(*OLD)
    moved = still * model.shift ** 3
    for serial, old, new in ((there, still, moved), (back, moved, still)):
        assert_fade(model, [frame for frame in frames if frame.filter_serial == serial], old, new,
                    12)


def test_a_device_that_fails_cuts_a_fade_short(start_faulty, faults, scene, tmp_path):
    daemon = start_faulty(*ARGUMENTS, *SLOTS, "--filter", chain(*OLD),
                          source=f"file:{tmp_path}/scene.y4m", size=None, fps=FPS)
    daemon.wait_for_log("online")
    model = Model(scene, daemon.ctl_json("status")["Engine"])
    with Recorder(daemon) as reader:
        reader.next()
        serial = fade(daemon, NEW, 300)
        reader.take_until(lambda frame: frame.filter_serial == serial)
        faults.begin("enqueue -5 0 1")
        last = reader.take_until(lambda frame: not frame.flags & BLENDED)[-1]
        assert last.filter_serial == serial
        assert distance(pixels(last), model.filtered(model.response(*NEW))) <= 1
        assert daemon.ctl_json("stats")["Counters"]["engine_failures"] == 1


def test_changes_while_fading_leave_the_last(daemon, model):
    """Fades that follow each other faster than they end."""
    with Recorder(daemon) as reader, Peer(daemon) as peer:
        for i in range(60):
            serial = peer.edit(["replace", chain(*(OLD, NEW, NEWER)[i % 3])],
                               fade_frames=5 + i % 40).number
        count = 5 + 59 % 40
        frames = take_fade(reader, serial, count)
    expected = model.filtered(model.response(*NEWER))
    assert distance(pixels(frames[-1]), expected) <= 1
    assert not frames[-1].flags & BLENDED
