"""Tests of output.motion: the field of motion that frames of a real daemon carry."""

import math
import re

import pytest

from conftest import FAST_KERNELS
from test_measures import fftd_module  # pylint: disable=unused-import

numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
WIDTH, HEIGHT, BLOCK = 192, 144, 32
PAN = numpy.array([1.5, -2.25])  # pixels a frame
THING = slice(48, 112), slice(64, 144)  # rows and columns of what stands still before it
FRAMES = 24


def texture(random, shape):
    """Noise that falls with frequency, as a function of the frequency plane."""
    fy, fx = numpy.fft.fftfreq(shape[0])[:, None], numpy.fft.rfftfreq(shape[1])[None, :]
    size = 1 / (0.02 + numpy.hypot(fy, fx)) * (numpy.hypot(fy, fx) < 0.3)
    spectrum = size * numpy.exp(2j * math.pi * random.random(size.shape))
    picture = numpy.fft.irfft2(spectrum, shape)
    return spectrum / picture.std() * 40, fy, fx


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A scene that pans by fractions of a pixel, behind a thing that stands still."""
    random = numpy.random.default_rng(7)
    spectrum, fy, fx = texture(random, (HEIGHT, WIDTH))
    thing = numpy.fft.irfft2(texture(random, (HEIGHT, WIDTH))[0], (HEIGHT, WIDTH))
    path = tmp_path_factory.mktemp("motion") / "clip.y4m"
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Cmono\n" % (WIDTH, HEIGHT))
        for i in range(FRAMES):
            shift = numpy.exp(-2j * math.pi * i * (PAN[0] * fx + PAN[1] * fy))
            picture = 128 + numpy.fft.irfft2(spectrum * shift, (HEIGHT, WIDTH))
            picture[THING] = 128 + thing[THING]
            picture += random.normal(0, 3, picture.shape)
            file.write(b"FRAME\n" + numpy.rint(picture.clip(0, 255)).astype(numpy.uint8).tobytes())
    return path


def play(start, path, *arguments):
    daemon = start(*FAST_KERNELS, *arguments, "--set", "camera.loop=true", source=f"file:{path}",
                   size=None, fps=None)
    daemon.wait_for_socket("frames")
    return daemon


def test_fields_are_those_of_the_scene(start, fftd_module, clip):
    daemon = play(start, clip, "--set", "output.motion=32", "--filter", "gaussian-blur:sigma=5")
    checked = 0
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            motion = frame.motion
            if motion is None or not motion.confidence.any():
                continue
            assert motion.block == BLOCK
            assert motion.vectors.shape == (8, 11, 2)
            assert frame.measures is not None  # a field belongs to a measured picture
            assert motion.captured_ns <= frame.captured_ns
            apart = round((motion.captured_ns - motion.since_ns) * 25e-9)
            if not 1 <= apart <= 4:
                continue  # the machine is busy
            sure = motion.confidence >= motion.SURE
            middle = sure[4, 5] and sure[3, 4]
            around = sure.copy()
            around[1:-1, 2:-2] = False
            error = numpy.abs(motion.vectors[around] - apart * PAN).max(-1)
            if sure.sum() < sure.size / 3 or not error.size:
                continue  # the clip has begun again
            assert numpy.median(error) < 0.1
            if middle:
                assert numpy.abs(motion.vectors[4, 5]).max() < 0.1
            checked += 1
            if checked == 5:
                break
    assert daemon.stop() == 0


def read_fields(start, module, path, *arguments):
    """Returns the times and fields of all frames of a clip whose source waits for the reader, the
    daemon and its status."""
    daemon = start(*FAST_KERNELS, "--set", "output.motion=32", "--set", "output.lossless=true",
                   *arguments, source=f"file:{path}", size=None, fps="max")
    daemon.wait_for_socket("frames")
    fields = []
    with module.Camera(str(daemon.runtime_dir), lossless=True) as camera:
        for frame in camera.frames(every=True):
            fields.append((frame.captured_ns, frame.motion))
            if len(fields) == FRAMES - 1:
                break
        status = daemon.ctl_json("status")
    daemon.stop()
    return fields, daemon, status


def dispatches(engine):
    return int(re.search(r"(\d+) dispatches", engine)[1])


def dispatches_without(start, path):
    """Those of a daemon that finds no motion."""
    daemon = play(start, path, "--set", "engine.device=cpu")
    engine = daemon.wait_until(lambda: daemon.ctl_json("status")["Engine"], "an engine")
    assert daemon.stop() == 0
    return dispatches(engine)


def test_a_processor_finds_the_field_of_each_frame(start, fftd_module, clip):
    """It does if its owner says so. No frame has the field of another picture, and only in that of
    the first frame, which has none before it, nothing is sure."""
    fields, daemon, status = read_fields(start, fftd_module, clip, "--set",
                                         "output.motion_by=device", "--set", "engine.device=cpu")
    assert status["Motion"] == "found by the device, for each frame"
    assert "warning: output.motion_by" not in daemon.log
    assert dispatches(status["Engine"]) > dispatches_without(start, clip)
    assert not fields[0][1].confidence.any()
    for (before_ns, _), (captured_ns, motion) in zip(fields, fields[1:]):
        assert (motion.captured_ns, motion.since_ns) == (captured_ns, before_ns)
        sure = motion.confidence >= motion.SURE
        sure[1:-1, 2:-2] = False  # the thing
        error = numpy.abs(motion.vectors[sure] - PAN).max(-1)
        assert error.size > 20 and numpy.median(error) < 0.1


@pytest.mark.parametrize("arguments, why", (
    ((), "the device has no memory of its own"),
    (("--set", "output.motion_by=auto"), "the device has no memory of its own"),
    (("--set", "output.motion_by=observer"), "output.motion_by = observer"),
))
def test_the_observer_finds_fields_on_a_processor(start, fftd_module, clip, arguments, why):
    """It does unless the owner says otherwise. No kernels of motion run."""
    _, daemon, status = read_fields(start, fftd_module, clip, "--set", "engine.device=cpu",
                                    *arguments)
    assert status["Motion"].startswith(f"found by the observer, for some frames ({why}")
    assert dispatches(status["Engine"]) == dispatches_without(start, clip)
    assert "warning: output.motion_by" not in daemon.log


def test_colours_have_no_field_of_the_device(start):
    """The log says so, and what could be changed; frames go on."""
    daemon = start(*FAST_KERNELS, "--set", "output.motion=16", "--set", "output.motion_by=device",
                   "--set", "camera.format=XRGB32", "--set", "engine.planes=all")
    daemon.wait_for_log("output.motion_by = device: the observer finds motion instead, for some "
                        "frames: colours that are filtered one by one have no luma; "
                        'set engine.planes = "luma"')
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "frames")
    assert "one by one" in daemon.ctl("status").stdout
    assert daemon.stop() == 0


def observers(daemon):
    """The number of the observer's threads."""
    return daemon.of_threads("comm").count("observer\n")


def test_it_costs_nothing_when_off(start, fftd_module, clip):
    """No thread looks at frames, slots have no room for fields, and no frame carries one."""
    daemon = play(start, clip)
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            assert frame.motion is None and frame.measures is None
            if frame.sequence >= 8:
                break
    assert observers(daemon) == 0
    assert daemon.stop() == 0

    daemon = play(start, clip, "--set", "output.measures=true")
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            assert frame.motion is None
            if frame.measures is not None:
                break
    assert observers(daemon) == 1
    assert daemon.stop() == 0


def arrow(vector, block):
    """The pixels of an arrow's shaft, from the middle of its block; a dot for small motion."""
    length = math.hypot(*vector)
    end = vector * (min(4, block / length) if length >= 0.25 else 0)
    steps = int(numpy.abs(end).max() + 0.5)
    return [numpy.floor(end * i / max(steps, 1) + 0.5).astype(int) for i in range(steps + 1)]


def test_the_scene_pans(start, fftd_module, clip):
    """What stands still before it covers a fifth of the picture, and changes nothing."""
    daemon = play(start, clip, "--set", "output.motion=32")
    found = []
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            motion, scene = frame.motion, frame.similarity
            if motion is None or scene is None:
                assert scene is None or frame.measures is not None
                continue
            if 1 <= round((motion.captured_ns - motion.since_ns) * 25e-9) <= 4:
                found.append((scene.x, scene.y, scene.angle, scene.zoom))
            if len(found) == 9:
                break
        daemon.wait_until(lambda: daemon.ctl_json("stats")["Measures"].keys() >= {
            "scene_x", "scene_y", "scene_angle", "scene_zoom", "scene_agreement"}, "the scene")
    # Where the clip begins again, another motion may be found.
    x, y, angle, zoom = numpy.median(found, 0)
    assert math.hypot(x - PAN[0], y - PAN[1]) < 0.1
    assert abs(angle) < 0.05 and abs(zoom - 1) < 1e-3
    assert daemon.stop() == 0


def test_the_view_draws_the_field_of_its_frame(start, fftd_module, clip):
    daemon = play(start, clip, "--set", "output.motion=32", "--filter", "gaussian-blur:sigma=1")
    serial = daemon.change("view", "motion")
    checked = 0
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            motion, planes = frame.motion, frame.copy()
            if frame.filter_serial < serial or motion is None or not motion.confidence.any():
                continue
            if planes is None:
                continue  # it was overwritten before it was copied
            picture = planes[0]
            sure = numpy.argwhere(motion.confidence >= motion.SURE)
            shafts = {tuple(BLOCK // 2 * (place[::-1] + 1) + point) for place in sure
                      for point in arrow(motion.vectors[tuple(place)], BLOCK)}
            inside = [(x, y) for x, y in shafts if 0 <= x < WIDTH and 0 <= y < HEIGHT]
            # Halves of a pixel may be rounded otherwise.
            white = numpy.mean([picture[y, x] == 255 for x, y in inside]) if inside else 1
            assert white > 0.95, white
            assert len(sure) == 0 or (picture == 0).sum() > 4 * len(sure)  # borders
            checked += len(sure) > 10
            if checked == 5:
                break
    assert daemon.ctl("view").stdout == "motion\n"
    assert daemon.stop() == 0


def test_a_view_of_motion_needs_fields(start, clip):
    daemon = play(start, clip)
    refused = daemon.ctl("view", "motion", check=False)
    assert refused.returncode == 65 and "expected output.motion = 16, 32 or 64" in refused.stderr
    assert daemon.ctl("view").stdout == "picture\n"
    assert daemon.stop() == 0


def test_a_block_must_fit(start, fftd_module):
    """Of pictures that are smaller than a block, frames and measures go on without fields."""
    daemon = start(*FAST_KERNELS, "--set", "output.motion=64", source="pattern:scene", size="80x48")
    daemon.wait_for_socket("frames")
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            assert frame.motion is None
            if frame.measures is not None:
                break
    assert daemon.stop() == 0
    assert "expected pictures of at least 64 x 64" in daemon.log
