"""engine.planes = "luma-only": whatever is captured, clients get its luma as GREY."""

import numpy
import pytest

from client import Reader
from conftest import FAST_KERNELS
from png import Png

WIDTH, HEIGHT = 96, 64
LUMA_ONLY = (*FAST_KERNELS, "--set", "engine.planes=luma-only")
RANDOM = numpy.random.default_rng(3)


def grey(frame):
    """The frame, which has one plane of one byte a pixel."""
    assert len(frame.planes) == 1
    return numpy.frombuffer(frame.planes[0], numpy.uint8).reshape(frame.height, frame.width)


def luma_of_colours(rgb):
    return rgb @ [0.299, 0.587, 0.114]


def captured(name):
    """A frame of noise in a format, and its luma."""
    if name in ("YUYV", "UYVY"):
        frame = RANDOM.integers(0, 256, (HEIGHT, WIDTH, 2), numpy.uint8)
        return frame, frame[..., int(name == "UYVY")]
    if name in ("NV12", "YUV420"):
        frame = RANDOM.integers(0, 256, (HEIGHT * 3 // 2, WIDTH), numpy.uint8)
        return frame, frame[:HEIGHT]
    if name in ("RGB24", "XBGR32"):
        frame = RANDOM.integers(0, 256, (HEIGHT, WIDTH, 3 if name == "RGB24" else 4), numpy.uint8)
        return frame, luma_of_colours(frame[..., :3] if name == "RGB24" else frame[..., 2::-1])
    if name == "Y12":
        frame = RANDOM.integers(0, 4096, (HEIGHT, WIDTH)).astype("<u2")
        return frame, frame
    assert name == "SGRBG12"  # the same colours everywhere, and so in every pixel
    frame = numpy.empty((HEIGHT, WIDTH), "<u2")
    frame[0::2, 0::2] = frame[1::2, 1::2] = 2000
    frame[0::2, 1::2], frame[1::2, 0::2] = 3500, 400
    return frame, numpy.full((HEIGHT, WIDTH), luma_of_colours(numpy.array([3500, 2000, 400]))
                             * 255 / 4095)


@pytest.mark.parametrize("name", ["YUYV", "UYVY", "NV12", "YUV420", "RGB24", "XBGR32", "Y12",
                                  "SGRBG12"])
def test_clients_get_the_captured_luma(start, tmp_path, name):
    recording, luma = captured(name)
    path, shown = tmp_path / "recording.raw", "Y12" if name == "Y12" else "GREY"
    path.write_bytes(recording.tobytes())
    daemon = start(*LUMA_ONLY, "--set", f"camera.format={name}", "--set", "camera.loop=true",
                   source=f"file:{path}", size=f"{WIDTH}x{HEIGHT}", fps="30")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        frame = reader.next()
    if shown == "Y12":
        got = numpy.frombuffer(frame.planes[0], "<u2").reshape(HEIGHT, WIDTH)
    else:
        got = grey(frame)
    # Half a step where the luma is no whole number, which the device computes in floats.
    assert numpy.abs(got - luma).max() <= 0.501
    status = daemon.ctl_json("status")
    assert status["Format"]["name"] == shown and status["Format"]["captured"] == name

    # A snapshot before the filter is in the published format, too.
    daemon.ctl("snapshot", "before", "-o", str(tmp_path / "before.png"))
    before = Png((tmp_path / "before.png").read_bytes())
    rows = numpy.array([[before.pixel(x, y)[0] for x in range(WIDTH)] for y in range(HEIGHT)])
    assert numpy.abs(rows - (luma / 4095 * 255 if shown == "Y12" else luma)).max() <= 1


@pytest.mark.parametrize("technique", ["fused", "staged"])
@pytest.mark.parametrize("memory", ["mmap", "userptr"])
def test_scenes_lose_their_colour_alone(start, memory, technique):
    """Both daemons draw the same scene; one publishes NV12, the other its luma."""
    arguments = ("--set", "camera.format=NV12", "--set", f"camera.memory={memory}",
                 "--set", f"engine.technique={technique}", "--filter", "gaussian-blur:sigma=1")
    daemon = start(*arguments, source="pattern:bars", size="128x64")
    with Reader(daemon) as reader:
        colour = reader.next()
    daemon.stop()
    assert len(colour.planes) == 2
    daemon = start(*arguments, "--set", "engine.planes=luma-only", source="pattern:bars",
                   size="128x64")
    with Reader(daemon) as reader:
        assert reader.next().planes == [colour.planes[0]]
        # Chroma neither has to stay nor can: pixels may be moved, and views follow.
        daemon.ctl("filter", "set", "undistort:fx=110,fy=110,cx=64,cy=32,k1=-0.2")
        serial = daemon.ctl_json("filter", "show")["Serial"]
        moved = reader.take_until(lambda frame: frame.filter_serial >= serial)[-1]
        assert numpy.ptp(grey(moved)) > 100 and moved.planes != [colour.planes[0]]
        serial = daemon.change("view", "difference")
        view = reader.take_until(lambda frame: frame.filter_serial >= serial)[-1]
        assert numpy.abs(grey(view).astype(int) - 128).max() <= 1
    assert daemon.ctl_json("stats")["Copies"]["pass"] == [0, 0]


def test_other_values_are_refused(start, tmp_path):
    path = tmp_path / "fftd.conf"
    path.write_text('engine = { planes = "luma_only"; };\n')
    daemon = start("--config", str(path))
    assert daemon.wait() == 78
    for text in ("engine.planes", "luma_only", "luma", "all", "luma-only", f"{path}:1"):
        assert text in daemon.log


def test_a_reload_leaves_it_to_the_next_start(start, tmp_path):
    """Frames of another format would end the clients' view of the camera."""
    path = tmp_path / "fftd.conf"
    path.write_text("")
    daemon = start("--config", str(path), *FAST_KERNELS, "--set", "camera.format=NV12")
    with Reader(daemon) as reader:
        assert len(reader.next().planes) == 2
        path.write_text('engine = { planes = "luma-only"; };\n')
        daemon.ctl("reload")
        daemon.wait_for_log("engine.planes = luma-only takes effect at the next start; until then "
                            "it stays luma")
        assert len(reader.next().planes) == 2


def test_single_samples_of_a_mosaic_cannot_be_recorded(start, tmp_path):
    recording, _ = captured("SGRBG12")
    path = tmp_path / "recording.raw"
    path.write_bytes(recording.tobytes())
    daemon = start(*LUMA_ONLY, "--set", "camera.format=SGRBG12", "--set", "camera.loop=true",
                   source=f"file:{path}", size=f"{WIDTH}x{HEIGHT}", fps="30")
    refused = daemon.ctl("calibrate", "dark", "-n", "2", "-o", str(tmp_path / "dark.pgm"),
                         check=False)
    assert refused.returncode == 65 and "luma-only" in refused.stderr
    assert not (tmp_path / "dark.pgm").exists()
