"""output.size: published frames are smaller, made of the lowest frequencies of captured ones."""

import re

import numpy
import pytest

from client import Reader
from test_outputs import ctl_json, of

WIDTH, HEIGHT = 160, 120
SIZE = ("--set", "output.size=80x40")
RANDOM = numpy.random.default_rng(11)


def engine_lengths(status):
    """The padded size of the captured plane."""
    found = re.search(r"160x120 in (\d+)x(\d+)", status["Engine"])
    return int(found[1]), int(found[2])


def axis(samples, length, padded, edge):
    """The factors of the samples of a line from its frequencies, of which the last part falls to 0
    by a raised cosine."""
    frequency = numpy.fft.fftfreq(padded) * padded
    part = abs(frequency) / padded * 2 * length / samples
    gain = 0.5 + 0.5 * numpy.cos(numpy.pi * numpy.clip((part - 1 + edge) / edge, 0, 1)) \
        if edge > 0 else (part < 1).astype(float)
    place = (numpy.arange(samples) + 0.5) * length / samples - 0.5
    return numpy.exp(2j * numpy.pi * place[:, None] * frequency / padded) * gain


def smaller(plane, padded, size, edge=0.1):
    """The model of a smaller picture, in double precision; the border is a mirror."""
    height, width = plane.shape
    pad_x, pad_y = padded[0] - width, padded[1] - height
    # The second half of the padding continues the near edge.
    before = (pad_y // 2, pad_x // 2)
    extended = numpy.pad(plane, ((before[0], pad_y - before[0]), (before[1], pad_x - before[1])),
                         mode="reflect")
    extended = numpy.roll(extended, (-before[0], -before[1]), (0, 1))
    spectrum = numpy.fft.fft2(extended) / (padded[0] * padded[1])
    return (axis(size[1], height, padded[1], edge) @ spectrum
            @ axis(size[0], width, padded[0], edge).T).real


def recording(tmp_path, frame):
    path = tmp_path / "recording.raw"
    path.write_bytes(frame.tobytes())
    return path


def first_frame(daemon):
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        return reader.next()


def plane(frame, index, columns):
    return numpy.frombuffer(frame.planes[index], numpy.uint8).reshape(-1, columns)


def test_frames_are_the_lowest_frequencies(start, tmp_path):
    picture = RANDOM.integers(60, 196, (HEIGHT, WIDTH), numpy.uint8)
    daemon = start(*SIZE, "--set", "camera.format=GREY", "--set", "camera.loop=true",
                   source=f"file:{recording(tmp_path, picture)}", size=f"{WIDTH}x{HEIGHT}")
    frame = first_frame(daemon)
    assert (frame.width, frame.height) == (80, 40)
    status = daemon.ctl_json("status")
    expected = smaller(picture.astype(float), engine_lengths(status), (80, 40))
    # Half a step, to which floats are rounded.
    assert numpy.abs(plane(frame, 0, 80) - expected).max() <= 0.501
    shown = status["Format"]
    assert (shown["width"], shown["height"]) == (80, 40)
    assert (shown["captured_width"], shown["captured_height"]) == (WIDTH, HEIGHT)
    assert re.search(r"^published +GREY 80x40, made of 160x120$", daemon.ctl("status").stdout, re.M)


def test_a_key_changes_the_edge_of_the_frequencies(start, tmp_path):
    """Each output has its own edge; all of them share one load."""
    edges = {"auto": 0.1, "wide": 0.5, "narrow": 0.001}
    picture = RANDOM.integers(60, 196, (HEIGHT, WIDTH), numpy.uint8)
    groups = ", ".join(f'{{ name = "{name}"; size = "80x60"; edge = {value}; }}'
                       for name, value in zip(edges, ('"auto"', 0.5, 0.001)))
    daemon = start("--set", "camera.format=GREY", "--set", "camera.loop=true", "--set",
                   f"outputs=( {groups} )", source=f"file:{recording(tmp_path, picture)}",
                   size=f"{WIDTH}x{HEIGHT}")
    found = []
    for name, edge in edges.items():
        daemon.wait_for_socket(f"outputs/{name}/frames")
        with Reader(of(daemon, name)) as reader:
            found.append(plane(reader.next(), 0, 80))
            padded = engine_lengths(ctl_json(daemon, name, "status"))
        expected = smaller(picture.astype(float), padded, (80, 60), edge)
        assert numpy.abs(found[-1] - expected.clip(0, 255)).max() <= 0.501, name
    assert all((a != b).any() for a, b in zip(found, found[1:] + found[:1]))


def test_colour_that_is_not_filtered_becomes_smaller(start, tmp_path):
    """The filter removes all of luma but its mean, and nothing of chroma."""
    luma = RANDOM.integers(0, 256, (HEIGHT, WIDTH), numpy.uint8)
    chroma = numpy.empty((HEIGHT // 2, WIDTH), numpy.uint8)
    chroma[:, 0::2], chroma[:, 1::2] = 90, 170
    chroma[:, WIDTH // 2::2] = 140
    daemon = start(*SIZE, "--set", "camera.format=NV12", "--set", "camera.loop=true",
                   "--filter", "gaussian-blur:sigma=30",
                   source=f"file:{recording(tmp_path, numpy.vstack([luma, chroma]))}",
                   size=f"{WIDTH}x{HEIGHT}")
    frame = first_frame(daemon)
    assert numpy.ptp(plane(frame, 0, 80)) < 16
    both = plane(frame, 1, 80).reshape(20, 40, 2)
    assert abs(both[:, 2:16, 0].astype(int) - 90).max() <= 2
    assert abs(both[:, 24:38, 0].astype(int) - 140).max() <= 2
    assert (both[..., 1] == 170).all()


def test_filters_change_and_fade(start):
    daemon = start(*SIZE)
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        daemon.ctl("filter", "set", "--fade", "5", "gaussian-blur:sigma=2")
        frames = reader.take_until(lambda frame: frame.filter_serial == 2)
        assert {(frame.width, frame.height) for frame in frames} == {(80, 40)}


@pytest.mark.parametrize("size, text", [
    ("80x61", "120 rows cannot become 61: the nearest that can be had are "),
    ("320x120", "frames of 160x120 cannot become 320x120: expected at most their size"),
    ("81x60", "NV12 of 160x120 cannot become 81x60: expected multiples of 2x2")])
def test_sizes_that_cannot_be_had(fftd, size, text):
    planes = "luma-only" if size == "80x61" else "luma"
    result = fftd("--source", "pattern:moire", "--size", f"{WIDTH}x{HEIGHT}",
                  "--set", "camera.format=NV12", "--set", f"engine.planes={planes}",
                  "--set", f"output.size={size}")
    assert result.returncode != 0 and text in result.stderr


def test_views_and_snapshots_from_before_are_refused(start, fftd, tmp_path):
    daemon = start(*SIZE)
    daemon.wait_for_socket("frames")
    first_frame(daemon)
    result = daemon.ctl("view", "spectrum", check=False)
    assert result.returncode != 0
    assert "no view can show output.size = 80x40" in result.stderr
    result = daemon.ctl("snapshot", "before", "-o", str(tmp_path / "before.png"), check=False)
    assert result.returncode != 0 and "frames of 160x120 become 80x40" in result.stderr
    daemon.ctl("snapshot", "after", "-o", str(tmp_path / "after.png"))
    assert (tmp_path / "after.png").exists()
    daemon.stop()
    result = fftd(*SIZE, "--source", "pattern:moire", "--set", "engine.view=peaks")
    assert result.returncode == 78 and "engine.view = peaks: expected picture" in result.stderr


def test_another_source_keeps_the_size(start, tmp_path):
    """Frames of another camera become as small, if they can; otherwise the first camera stays."""
    path = tmp_path / "fftd.conf"

    def configure(size):
        path.write_text(f'''camera = {{ source = "pattern:moire"; size = "{size}"; fps = 30.0; }};
            output = {{ size = "80x40"; }};
            engine = {{ cache_dir = "none"; tune = "off"; }};''')

    configure("160x120")
    daemon = start("--config", str(path), source=None, size=None, fps=None)
    first_frame(daemon)
    configure("320x240")
    daemon.ctl("reload")
    shown = daemon.ctl_json("status")["Format"]
    assert (shown["width"], shown["captured_width"]) == (80, 320)
    configure("64x48")
    result = daemon.ctl("reload", check=False)
    assert result.returncode != 0
    assert "frames of 64x48 cannot become 80x40: expected at most their size" in result.stderr
    assert daemon.ctl_json("status")["Format"]["captured_width"] == 320
