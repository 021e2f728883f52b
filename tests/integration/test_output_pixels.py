"""The pixels of a named output are bit for bit those of a separate daemon with the same filter, for
every kind of filter and every frame of a clip."""

import contextlib
import os
import pathlib
import sys
import threading

import numpy
import pytest

from client import Reader
from conftest import BUILD
from test_outputs import of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/demo"))
import filters  # noqa: E402, pylint: disable=wrong-import-position

WIDTH, HEIGHT, FRAMES, RATE = 160, 136, 30, 10
# Without `noise`, a separate thread designs the filter of wiener again for each estimate. The frame
# from which the new filter is used depends on the machine, in a separate daemon as well.
SETTLED = {"wiener:blur=disk,size=1.5": "wiener:blur=disk,size=1.5,noise=0.01"}
# The example of each kind, and chains for other techniques and other paths of past frames.
CHAINS = [SETTLED.get(kind["example"], kind["example"]) for kind in filters.read_kinds(BUILD)] + [
    "gaussian-blur:sigma=9", "lowpass:shape=ideal,cutoff=0.2", "convolve:kernel=1 2 1/2 4 2/1 2 1",
    "denoise:sigma=9,temporal=8", "stabilise:model=similarity"]
# A camera has at most 7 named outputs. Neighbours in the list, such as auto-notch and deflicker,
# are in different groups: a camera that searches for both does not look for waves in every frame,
# and so finds them later.
GROUPS = [CHAINS[first::-(-len(CHAINS) // 7)] for first in range(-(-len(CHAINS) // 7))]


def make_clip():
    """Returns a scene that moves, with waves, noise, and light that flickers along the rows."""
    random = numpy.random.default_rng(31)
    shape = HEIGHT + 20, WIDTH + 20
    falloff = numpy.maximum(numpy.hypot(*numpy.meshgrid(
        *map(numpy.fft.fftfreq, shape), indexing="ij")), 1 / WIDTH)
    scene = numpy.fft.ifft2(numpy.fft.fft2(random.normal(size=shape)) / falloff).real
    scene = 115 + 25 * scene / scene.std()
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    wave = 12 * numpy.cos(2 * numpy.pi * (0.183 * x + 0.051 * y))
    frames = []
    for i in range(FRAMES):
        down, right = 10 + random.integers(-4, 5, 2)
        light = 1 + 0.1 * numpy.sin(2 * numpy.pi * (y / HEIGHT / 3 + i) * 10 / RATE * 1.03)
        frames.append(scene[down:, right:][:HEIGHT, :WIDTH] * light + wave +
                      random.normal(0, 2, wave.shape))
    return numpy.clip(numpy.rint(frames), 0, 255).astype(numpy.uint8)


CAPTURED = [frame.tobytes() for frame in make_clip()]


def feed(pipe):
    for frame in CAPTURED:
        pipe.write(b"FRAME\n" + frame)


@pytest.fixture
def play(start, tmp_path):
    """play(argument..., count=N) starts a daemon and returns the frames of main and of N outputs.
    The clip is written to a pipe after all readers have connected, so that none misses the first
    frame."""
    filters.write_images(tmp_path / "images", WIDTH, HEIGHT)
    env = {"FFTD_IMAGE_DIR": str(tmp_path / "images")}

    def play_clip(*arguments, count=0):
        theirs, ours = os.pipe()
        daemon = start("--set", "output.lossless=true", *arguments, source="pipe:-", size=None,
                       fps="max", stdin=theirs, env=env)
        os.close(theirs)
        taken = {name: [] for name in ("main", *(f"o{i}" for i in range(count)))}
        with contextlib.ExitStack() as stack:
            pipe = stack.enter_context(os.fdopen(ours, "wb", buffering=0))
            pipe.write(b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono\n" % (WIDTH, HEIGHT, RATE))
            readers = {name: stack.enter_context(Reader(
                daemon if name == "main" else of(daemon, name), lossless=True)) for name in taken}
            threading.Thread(target=feed, args=(pipe,), daemon=True).start()

            def is_complete():
                for name, frames in taken.items():
                    if len(frames) < FRAMES and readers[name].wait(20) > 0:
                        while frame := readers[name].take():
                            assert frame.source_sequence == len(frames)
                            frames.append(frame.planes[0])
                return all(len(frames) == FRAMES for frames in taken.values())

            daemon.wait_until(is_complete, "the last frame")
        assert daemon.wait() == 0
        return taken
    return play_clip


@pytest.mark.parametrize("chains", GROUPS, ids=lambda chains: chains[0].partition(":")[0])
def test_pixels_are_those_of_a_daemon_of_its_own(play, chains):
    assert not {"auto-notch", "deflicker"} <= set(chains)
    groups = ", ".join(f'{{ name = "o{i}"; filter = "{chain}"; }}'
                       for i, chain in enumerate(chains))
    main, *found = play("--set", f"outputs=( {groups} )", count=len(chains)).values()
    assert main == CAPTURED
    for chain, frames in zip(chains, found, strict=True):
        own = play("--filter", chain)["main"]
        assert [i for i in range(FRAMES) if own[i] != frames[i]] == [], chain
        assert sum(map(bytes.__ne__, own, CAPTURED)) >= FRAMES // 2, f"{chain} does nothing"
