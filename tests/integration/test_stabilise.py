"""Tests of stabilise with the real daemon: what is left of the motion of a shaken recording."""

import time

import numpy
import pytest

from client import Reader
from conftest import PATIENCE, needs_every_frame
from test_auto_notch import FRAMES, HEIGHT, WIDTH, pixels, write_recording

TOP, LEFT = 72, 96  # of a frame in the scene


def draw_scene(random):
    """A periodic picture of 512 x 384: noise whose power falls with frequency, and edges."""
    fy, fx = numpy.meshgrid(numpy.fft.fftfreq(384), numpy.fft.fftfreq(512), indexing="ij")
    spectrum = numpy.fft.fft2(random.normal(0, 1, fx.shape)) / (0.01 + numpy.hypot(fx, fy))
    smooth = numpy.fft.ifft2(spectrum).real
    y, x = numpy.mgrid[:384, :512]
    return 120 + 25 * smooth / smooth.std() + 40 * ((x // 64 + y // 48) % 2)


def draw_path(random):
    """Pixels to the right and down: waves of 0.07 to 0.3 cycles a frame, which join where the
    recording begins again, and noise."""
    turns = 2 * numpy.pi * numpy.arange(FRAMES) / FRAMES
    waves = random.integers(FRAMES // 15, 3 * FRAMES // 10, (3, 2))
    return random.normal(0, 0.5, (FRAMES, 2)) + 1.5 * sum(
        numpy.sin(numpy.multiply.outer(turns, wave) + random.uniform(0, 6, 2)) for wave in waves)


def enlarge(picture, factor):
    """The same periodic picture with `factor` samples for each pixel along both axes."""
    spectrum = numpy.fft.fftshift(numpy.fft.fft2(picture))
    margins = [((factor - 1) * length // 2,) * 2 for length in picture.shape]
    large = numpy.fft.ifft2(numpy.fft.ifftshift(numpy.pad(spectrum, margins)))
    return large.real * factor ** 2


def draw_turning_frames(random):
    """As draw_frames, but the frame also turns by up to two degrees about its middle."""
    large, path = enlarge(draw_scene(random), 4), draw_path(random)
    angles = numpy.radians(draw_path(random)[:, 0] / 3)
    y, x = numpy.mgrid[:HEIGHT, :WIDTH] - numpy.array([HEIGHT / 2, WIDTH / 2])[:, None, None]
    for (right, down), angle in zip(path, angles):
        cos, sin = numpy.cos(angle), numpy.sin(angle)
        u = LEFT + WIDTH / 2 + cos * (x - right) + sin * (y - down)
        v = TOP + HEIGHT / 2 + cos * (y - down) - sin * (x - right)
        moved = large[numpy.rint(4 * v).astype(int) % large.shape[0],
                      numpy.rint(4 * u).astype(int) % large.shape[1]]
        yield moved + random.normal(0, 2, (HEIGHT, WIDTH))


def draw_frames(random):
    scene, path = draw_scene(random), draw_path(random)
    fy, fx = numpy.meshgrid(*map(numpy.fft.fftfreq, scene.shape), indexing="ij")
    for x, y in path:
        ramp = numpy.exp(-2j * numpy.pi * (fx * x + fy * y))
        moved = numpy.fft.ifft2(numpy.fft.fft2(scene) * ramp).real
        yield moved[TOP:TOP + HEIGHT, LEFT:LEFT + WIDTH] + random.normal(0, 2, (HEIGHT, WIDTH))


def motion(last, new):
    """Pixels by which a picture has moved: the peak of the phase correlation, and from there Gauss
    and Newton's method on its middle."""
    hann = numpy.outer(*map(numpy.hanning, new.shape))
    cross = numpy.fft.fft2((new - new.mean()) * hann) * \
        numpy.fft.fft2((last - last.mean()) * hann).conj()
    peak = numpy.fft.ifft2(cross / numpy.abs(cross)).real.argmax()
    at = numpy.array([(place + length // 2) % length - length // 2 for place, length in
                      zip(numpy.unravel_index(peak, new.shape), new.shape)][::-1], float)
    inside = (slice(24, -24), slice(24, -24))
    window = numpy.outer(*(numpy.hanning(length) for length in last[inside].shape))
    fy, fx = numpy.meshgrid(*map(numpy.fft.fftfreq, new.shape), indexing="ij")
    # Both are smoothed first, so that differences are linear in the distance.
    smooth = numpy.exp(-2 * numpy.pi ** 2 * 4 * (fx ** 2 + fy ** 2))
    last, spectrum = (f(numpy.fft.fft2(picture) * smooth) for f, picture in
                      ((lambda s: numpy.fft.ifft2(s).real, last), (lambda s: s, new)))
    for _ in range(20):
        turns = fx * at[0] + fy * at[1]
        back = numpy.fft.ifft2(spectrum * numpy.exp(2j * numpy.pi * turns)).real
        slopes = numpy.stack([numpy.gradient(back, axis=axis)[inside] for axis in (1, 0)])
        off = (back - last)[inside]
        normal = numpy.einsum("ayx,byx,yx->ab", slopes, slopes, window)
        at -= numpy.linalg.solve(normal, numpy.einsum("ayx,yx,yx->a", slopes, off, window))
    return at


def turn(last, new):
    """The motion of the right half less that of the left one, across; in degrees."""
    half = last.shape[1] // 2
    left, right = motion(last[:, :half], new[:, :half]), motion(last[:, half:], new[:, half:])
    return numpy.degrees((right - left)[1:] / half)


def rms_motion(reader, count, motion=motion):
    """Between frames that follow each other in the recording, in pixels; with `turn`, degrees."""
    moved, last = [], None
    while len(moved) < count:
        frame = reader.next()
        picture = pixels(frame).astype(float)
        if last is not None and frame.source_sequence == last[0] + 1:
            moved.append(motion(last[1], picture))
        last = frame.source_sequence, picture
    return numpy.sqrt(numpy.mean(numpy.sum(numpy.square(moved), 1)))


def wait_for_rms_motion(reader, most, motion=motion):
    """Waits for frames with so little motion, and returns it. On a busy machine the recording's
    next frame may be taken late, and then it counts as captured late."""
    deadline, found = time.monotonic() + PATIENCE, []
    while not found or found[-1] >= most:
        assert time.monotonic() < deadline, f"{found}, expected less than {most:.2f}"
        found.append(rms_motion(reader, 20, motion))
    return found[-1]


@needs_every_frame
@pytest.mark.parametrize("lens", ["none", f"undistort:fx=99,fy=99,cx={WIDTH // 2},cy={HEIGHT // 2},"
                                          "zoom=2"])
def test_a_shaken_recording_stands_still(start, tmp_path, lens):
    """Also if a lens is undone before frames are moved."""
    write_recording(tmp_path / "recording.y4m", list(draw_frames(numpy.random.default_rng(4))))
    # As at 30 frames a second with a third of the time constant.
    daemon = start("--set", "camera.loop=true", "--set", "output.slots=16",
                   "--set", "engine.technique=staged", "--filter", lens,
                   source=f"file:{tmp_path}/recording.y4m", size=None, fps="10")
    daemon.wait_for_log("online")
    with Reader(daemon) as reader:
        before = rms_motion(reader, 20)
        chain = "stabilise:time=1.5" if lens == "none" else f"{lens} | stabilise:time=1.5"
        serial = daemon.change("filter", "set", chain)
        while reader.next().filter_serial != serial:
            pass
        for _ in range(30):
            reader.next()
        after = wait_for_rms_motion(reader, before / 4)
        print(f"# figures: motion from frame to frame {before:.2f} px before, {after:.2f} px after")
        assert before > 1.5
        # Without the stage nothing is moved any more.
        serial = daemon.change("filter", "set", lens)
        while reader.next().filter_serial != serial:
            pass
        assert rms_motion(reader, 15) > before / 2


@needs_every_frame
def test_a_turning_recording_stands_still(start, tmp_path):
    frames = list(draw_turning_frames(numpy.random.default_rng(5)))
    write_recording(tmp_path / "recording.y4m", frames)
    daemon = start("--set", "camera.loop=true", "--set", "output.slots=16",
                   "--filter", "none", source=f"file:{tmp_path}/recording.y4m", size=None,
                   fps="10")
    daemon.wait_for_log("online")
    with Reader(daemon) as reader:
        before = rms_motion(reader, 20, turn)
        for change in ("stabilise:time=1.5", "stabilise:time=1.5,limit=32,model=similarity"):
            serial = daemon.change("filter", "set", change)
            while reader.next().filter_serial != serial:
                pass
            for _ in range(30):
                reader.next()
            if "similarity" not in change:  # a shift leaves rotation as it is
                assert rms_motion(reader, 20, turn) > before / 2
        after = wait_for_rms_motion(reader, before / 4, turn)
        moved = wait_for_rms_motion(reader, 0.7)
        print(f"# figures: turns from frame to frame {before:.3f} degrees before, {after:.3f} "
              f"after, and {moved:.2f} px of motion")
        assert before > 0.3


@pytest.mark.parametrize("chain, message", [
    ("stabilise:model=turn", "expected shift or similarity"),
    ("stabilise:model=similarity | deflicker", "expected one of both in a chain, "
     "or stabilise with model = shift"),
    ("stabilise:limit=0.5", "limit = 0.5 is out of range: expected 1 .. 64 px"),
    ("stabilise | stabilise", "stage 2: the chain has stabilise already"),
])
def test_what_is_refused(fftd, chain, message):
    done = fftd("--check", "--filter", chain)
    assert done.returncode != 0 and message in done.stderr
