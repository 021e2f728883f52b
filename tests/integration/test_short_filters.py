"""Changes between filters that are a factor, short or long, each of which has an engine of its own:
each frame is made by exactly one filter, or by the blend that is its turn, and none is missed."""

import itertools
import os
import time

import numpy
import pytest

from client import Recorder
from dbus_peer import Peer
from model import Model, distance, pixels, write_scene

BLENDED = 4
FPS = "30"
COUNT = 30  # frames of a fade, during which the engine must be asked for
# More than any of these filters reaches, so that the size of the padded frame does not matter.
ARGUMENTS = ("--set", "camera.loop=true", "--set", "engine.border=mirror", "--set",
             "engine.margin=96", "--set", "output.slots=64")
PADDED = "160x120 in 256x216"
NONE, KERNEL, SHORT, LONG = ("none", "convolve:kernel=0 1 0/1 4 1/0 1 0,normalise=sum",
                             "gaussian-blur:sigma=2", "gaussian-blur:sigma=6")
# Their band is wide, and they are too long for taps: tiles.
SHARPER, SHARPEST = "sharpen:sigma=5", "sharpen:sigma=5.5"
GAIN, BOX = "gain:dc=0.8,ac=0.8", "box-blur:radius=3"  # by the host, by running sums
TILES = "engine.technique=tiles"
SECONDS = float(os.environ.get("CHANGE_SECONDS", "3"))


def response(model, text):
    fx = numpy.fft.fftfreq(256)[None, :]
    fy = numpy.fft.fftfreq(216)[:, None]
    if text == NONE:
        return numpy.ones(model.fx.shape)
    if text == KERNEL:
        return (4 + 2 * numpy.cos(2 * numpy.pi * fx) + 2 * numpy.cos(2 * numpy.pi * fy)) / 8
    if text == GAIN:
        return numpy.full(model.fx.shape, 0.8)
    if text == BOX:
        return numpy.multiply(*(sum(numpy.cos(2 * numpy.pi * i * f) for i in range(-3, 4)) / 7
                                for f in (fx, fy)))
    blur = model.blur(float(text.split("=")[1]))
    return 2 - blur if text.startswith("sharpen") else blur


@pytest.fixture
def scene(tmp_path):
    return write_scene(tmp_path / "scene.y4m")


def begin(start, scene, tmp_path, *arguments):
    assert scene.size > 0  # it has been written
    daemon = start(*ARGUMENTS, *arguments, source=f"file:{tmp_path}/scene.y4m", size=None, fps=FPS)
    daemon.wait_for_log("online")
    daemon.wait_for_socket()
    return daemon, Model(scene, PADDED)


def assert_gapless(frames):
    numbers = [frame.sequence for frame in frames]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_each_frame_is_made_by_one_filter(start, scene, tmp_path):
    daemon, model = begin(start, scene, tmp_path, "--filter", NONE)
    filters = {1: NONE}
    engines = {}
    with Recorder(daemon) as reader:
        frames = [reader.next()]
        for before, after in itertools.permutations((NONE, KERNEL, SHORT, LONG), 2):
            for text in (before, after):
                serial = daemon.change("filter", "set", text)
                filters[serial] = text
                frames += reader.take_until(lambda frame: frame.filter_serial == serial)
                engines[text] = daemon.ctl_json("status")["Engine"].split(",")[0]
    assert engines == {NONE: "direct with a factor", KERNEL: "direct with up to 3x3 taps",
                       SHORT: "direct with up to 15 + 15 taps", LONG: "fused float"}
    assert_gapless(frames)
    for frame in frames:
        expected = model.filtered(response(model, filters[frame.filter_serial]))
        assert distance(pixels(frame), expected) <= 1, filters[frame.filter_serial]
        assert not frame.flags & BLENDED


def test_techniques_take_turns(start, scene, tmp_path):
    """Changes that do not wait for the one before: `make test-changes` makes them for a minute."""
    turns = (GAIN, KERNEL, LONG, BOX, SHARPER, SHORT, NONE)
    daemon, model = begin(start, scene, tmp_path, "--filter", NONE)
    filters = {1: NONE}
    techniques = set()
    with Recorder(daemon) as reader:
        frames = [reader.next()]
        end = None
        for text in itertools.cycle(turns):
            serial = daemon.change("filter", "set", text)
            filters[serial] = text
            if len(filters) <= len(turns) + 1:  # kernels are compiled
                frames += reader.take_until(lambda frame: frame.filter_serial == serial)
                techniques.add(daemon.ctl_json("status")["Engine"].split()[0])
                end = time.monotonic() + SECONDS
            elif time.monotonic() > end:
                break
            frames += [reader.next() for _ in range(5)]
        frames += reader.take_until(lambda frame: frame.filter_serial == serial)
    assert techniques >= {"direct", "fused"}
    assert_gapless(frames)
    for frame in frames:
        expected = model.filtered(response(model, filters[frame.filter_serial]))
        assert distance(pixels(frame), expected) <= 1, filters[frame.filter_serial]


@pytest.mark.parametrize("old, new, during, after", [
    (NONE, KERNEL, "direct with up to 3x3 taps", "direct with up to 3x3 taps"),
    (KERNEL, SHORT, ("tiles", "fused"), "direct with up to 15 + 15 taps"),
    (LONG, SHORT, "fused float", "direct with up to 15 + 15 taps"),
    (SHORT, LONG, "fused float", "fused float")])
def test_a_fade_blends_and_ends_on_the_fastest_engine(start, scene, tmp_path, old, new, during,
                                                      after):
    daemon, model = begin(start, scene, tmp_path, "--filter", old)
    with Recorder(daemon) as reader, Peer(daemon) as peer:
        reader.next()
        serial = daemon.change("filter", "set", "--fade", str(COUNT), new)
        frames = reader.take_until(lambda frame: frame.filter_serial == serial)[-1:]
        assert peer.get("Engine").startswith(during)
        first = frames[0].sequence
        frames += reader.take_until(lambda frame: frame.sequence >= first + COUNT)
        while not peer.get("Engine").startswith(after):
            frames.append(reader.next())
        frames += [reader.next() for _ in range(5)]
    assert_gapless(frames)
    for frame in frames:
        turn = frame.sequence - first + 1
        weight = min(turn / COUNT, 1)
        blend = response(model, old) * (1 - weight) + response(model, new) * weight
        assert distance(pixels(frame), model.filtered(blend)) <= 1, f"frame {turn} of {COUNT}"
        assert bool(frame.flags & BLENDED) == (turn < COUNT)


def test_a_technique_may_be_demanded(start, scene, tmp_path):
    daemon, model = begin(start, scene, tmp_path, "--filter", SHORT, "--set",
                          "engine.technique=fused")
    with Recorder(daemon) as reader:
        assert distance(pixels(reader.next()), model.filtered(response(model, SHORT))) <= 1
    assert daemon.ctl_json("status")["Engine"].startswith("fused float, columns first,")


def test_tiles_may_be_demanded(start, scene, tmp_path):
    """Between filters of tiles of one reach or two, and to one that needs the whole image."""
    daemon, model = begin(start, scene, tmp_path, "--filter", SHORT, "--set", TILES)
    filters = {1: SHORT}
    engines = {}
    with Recorder(daemon) as reader:
        frames = [reader.next()]
        for text in (SHARPER, SHARPEST, LONG, SHARPEST, SHORT):
            serial = daemon.ctl_json("filter", "set", text)["Serial"]
            filters[serial] = text
            frames += reader.take_until(lambda frame: frame.filter_serial == serial)
            engines[text] = daemon.ctl_json("status")["Engine"].split(" ")[0]
    assert engines == {SHORT: "tiles", SHARPER: "tiles", SHARPEST: "tiles", LONG: "fused"}
    assert_gapless(frames)
    for frame in frames:
        expected = model.filtered(response(model, filters[frame.filter_serial]))
        assert distance(pixels(frame), expected) <= 1, filters[frame.filter_serial]


@pytest.mark.parametrize("old, new, during, after", [
    (SHARPER, SHARPEST, "tiles", "tiles"), (SHORT, SHARPER, "tiles", "tiles"),
    (SHARPER, LONG, "fused", "fused"), (LONG, SHARPEST, "fused", "tiles")])
def test_tiles_fade(start, scene, tmp_path, old, new, during, after):
    daemon, model = begin(start, scene, tmp_path, "--filter", old, "--set", TILES)
    with Recorder(daemon) as reader, Peer(daemon) as peer:
        reader.next()
        serial = daemon.change("filter", "set", "--fade", str(COUNT), new)
        frames = reader.take_until(lambda frame: frame.filter_serial == serial)[-1:]
        assert peer.get("Engine").startswith(during)
        first = frames[0].sequence
        frames += reader.take_until(lambda frame: frame.sequence >= first + COUNT)
        while not peer.get("Engine").startswith(after):
            frames.append(reader.next())
    assert_gapless(frames)
    for frame in frames:
        turn = frame.sequence - first + 1
        weight = min(turn / COUNT, 1)
        blend = response(model, old) * (1 - weight) + response(model, new) * weight
        assert distance(pixels(frame), model.filtered(blend)) <= 1, f"frame {turn} of {COUNT}"
        assert bool(frame.flags & BLENDED) == (turn < COUNT)
