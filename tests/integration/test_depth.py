"""engine.depth = 16: luma is published as Y16, which keeps what lies between two grey levels."""

import subprocess

import numpy
import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS
from png import Png
from test_outputs import of

WIDTH, HEIGHT, WHITE = 96, 64, 65535
DEEP = (*FAST_KERNELS, "--set", "engine.depth=16")
GAIN = "gain:dc=0.3,ac=0.3"


def noise(folder, name):
    """A recording of one frame of noise, as arguments of a daemon; and its luma, 0 .. 1."""
    random = numpy.random.default_rng(4)
    shape = (HEIGHT * 3 // 2 if name == "NV12" else HEIGHT, WIDTH)
    bits = {"Y10": 10, "Y12": 12}.get(name, 8)
    frame = random.integers(0, 1 << bits, shape).astype("<u2" if bits > 8 else numpy.uint8)
    path = folder / "recording.raw"
    path.write_bytes(frame.tobytes())
    settings = ("--set", f"camera.format={name}", "--set", "camera.loop=true")
    scene = {"source": f"file:{path}", "size": f"{WIDTH}x{HEIGHT}", "fps": "30"}
    return settings, scene, frame[:HEIGHT] / ((1 << bits) - 1)


def samples(frame):
    assert len(frame.planes) == 1
    return numpy.frombuffer(frame.planes[0], "<u2").reshape(frame.height, frame.width)


@pytest.mark.parametrize("name, planes", [("GREY", "luma"), ("Y10", "luma"), ("Y12", "all"),
                                          ("NV12", "luma-only")])
def test_clients_get_16_bits(start, tmp_path, name, planes):
    settings, scene, luma = noise(tmp_path, name)
    daemon = start(*DEEP, *settings, "--set", f"engine.planes={planes}", "--filter", GAIN, **scene)
    with Reader(daemon) as reader:
        got = samples(reader.next())
    assert numpy.abs(got - 0.3 * luma * WHITE).max() < 0.51
    status = daemon.ctl_json("status")
    assert status["Format"]["name"] == "Y16" and status["Format"]["captured"] == name

    # Snapshots, which show the upper 8 bits, have both pictures in that format.
    for state, factor in (("before", 1), ("after", 0.3)):
        daemon.ctl("snapshot", state, "-o", str(tmp_path / "shot.png"))
        shot = Png((tmp_path / "shot.png").read_bytes())
        rows = numpy.array([[shot.pixel(x, y)[0] for x in range(WIDTH)] for y in range(HEIGHT)])
        assert numpy.abs(rows - factor * luma * 255).max() <= 1, state


def test_an_output_has_a_depth_of_its_own(start, tmp_path):
    settings, scene, luma = noise(tmp_path, "GREY")
    daemon = start(*FAST_KERNELS, *settings, "--set", f"filter={GAIN}", "--set",
                   f'outputs=( {{ name = "deep"; depth = 16; filter = "{GAIN}"; }} )', **scene)
    with Reader(daemon) as reader:
        main = numpy.frombuffer(reader.next().planes[0], numpy.uint8).reshape(HEIGHT, WIDTH)
    with Reader(of(daemon, "deep")) as reader:
        deep = samples(reader.next())
    assert numpy.abs(main - 0.3 * luma * 255).max() <= 0.51
    assert numpy.abs(deep - 0.3 * luma * WHITE).max() <= 0.51


def test_colour_is_refused(start):
    daemon = start(*DEEP, "--set", "camera.format=NV12")
    assert daemon.wait() == 78
    assert "NV12 has colour, which cannot be published with 16 bits: expected engine.depth = " \
           "auto, or engine.planes = luma-only" in daemon.log


def test_a_stack_has_more_bits_than_its_frames(tmp_path):
    """Noise dithers what 8 bits would round; the mean of 256 frames finds it again."""
    random = numpy.random.default_rng(8)
    y, x = numpy.mgrid[:HEIGHT, :WIDTH]
    scene = 100 + 30 * numpy.sin(x / 9) * numpy.cos(y / 7) + x / 40
    frames = numpy.rint(scene + random.normal(0, 2, (256, HEIGHT, WIDTH)))
    (tmp_path / "in.raw").write_bytes(frames.astype(numpy.uint8).tobytes())

    def error(depth, dtype, step):
        out = tmp_path / f"{depth}.raw"
        subprocess.run([BUILD / "fftd-ctl", "convert", tmp_path / "in.raw", out, "--size",
                        f"{WIDTH}x{HEIGHT}", "--pixel-format", "GREY", "--filter",
                        "stack:frames=256", "--set", "engine.tune=off", "--set",
                        f"engine.depth={depth}"], check=True, timeout=600)
        last = numpy.fromfile(out, dtype).reshape(-1, HEIGHT, WIDTH)[-1] / step
        return numpy.sqrt(numpy.mean((last - scene)[8:-8, 8:-8] ** 2))
    shallow, deep = error("auto", numpy.uint8, 1), error("16", "<u2", 257)
    print(f"# figures: rms error {shallow:.3f} grey levels with 8 bits, {deep:.3f} with 16")
    assert deep < 0.25 < shallow
