"""Tests every pixel format of fftd/formats.h through fftd-ctl, GStreamer and Python."""

import os
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import zlib

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, Daemon
from gstreamer import finish, launch, plugin_dir, rows_of_file  # pylint: disable=unused-import

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "client" / "include" / "fftd" / "formats.h").read_text()
FORMATS = re.findall(r"^    F\((\w+),", HEADER, re.MULTILINE)
MOSAICS = re.findall(r"\bM\((S\w+),", HEADER)
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))
numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")

# The size is small, because the test builds kernels for each format. It is not a multiple of four,
# so that GStreamer has to pad rows.
WIDTH, HEIGHT = 46, 30
# The colours of pattern:bars from left to right, and a column in the middle of each bar.
BARS = [[191, 191, 191], [191, 191, 0], [0, 191, 191], [0, 191, 0],
        [191, 0, 191], [191, 0, 0], [0, 0, 191], [0, 0, 0]]
COLUMNS = [int((bar + 0.5) * WIDTH / 8) for bar in range(8)]
ROW = 8


@pytest.fixture(scope="module")
def fftd_module():
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return fftd


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    """The cache of built programs. Formats with the same luma plane share a program."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=FORMATS)
def view(request, cache_dir, fftd_module, tmp_path_factory):
    """Yields (daemon, frame in Python, copy of its planes) of a still picture in each format."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    daemon = Daemon(
        directory / "run", tmp_path_factory.mktemp("log") / "log",
        ["--source", "pattern:bars", "--size", f"{WIDTH}x{HEIGHT}", "--fps", "60",
         "--set", f"camera.format={request.param}", "--set", f"engine.cache_dir={cache_dir}",
         *FAST_KERNELS], os.environ)
    try:
        daemon.wait_for_socket("frames")
        with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
            assert camera.wait(PATIENCE), daemon.log
            frame = camera.frame()
            assert request.param in (frame.format.pixels.name, *MOSAICS)
            with frame.held():
                planes = [plane.copy() for plane in frame.planes]
                frame.kept = [component.copy() for component in frame.components]
                assert frame.valid
            yield daemon, frame, planes
    finally:
        daemon.process.kill()
        daemon.process.wait()
        daemon.log_file.close()
        shutil.rmtree(directory)


def picture_of(frame):
    """The frame as (height, width, 3) of RGB, from the components that Python found."""
    pixels = frame.format.pixels
    full = [component.astype(float) for component in frame.kept]
    if len(full) == 1:
        return numpy.repeat((frame.kept[0] >> (pixels.bits - 8))[:, :, None], 3, axis=2)
    if pixels.family == 2:
        return numpy.stack(frame.kept, axis=2)
    wide = [component.repeat(pixels.sub_y, axis=0).repeat(pixels.sub_x, axis=1)[:HEIGHT, :WIDTH]
            for component in full[1:]]
    luma, blue, red = (full[0] - 16) * 255 / 219, *((c - 128) * 255 / 224 for c in wide)
    colours = [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
    return numpy.clip(numpy.rint(numpy.stack(colours, axis=2)), 0, 255)


def read_png(data):
    """An 8-bit RGB picture; see the PNG specification for its five row filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    packed, at = b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2)
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    lines = zlib.decompress(packed)
    before = bytearray(3 * width)
    picture = []
    for y in range(height):
        start = y * (3 * width + 1)
        row = bytearray(lines[start + 1:start + 1 + 3 * width])
        for i, _ in enumerate(row):
            left, above = row[i - 3] if i >= 3 else 0, before[i]
            corner = before[i - 3] if i >= 3 else 0
            guess = left + above - corner
            nearest = min((left, above, corner), key=lambda value: abs(guess - value))
            row[i] = (row[i] + [0, left, above, (left + above) // 2, nearest][lines[start]]) & 255
        picture.append(row)
        before = row
    return numpy.array(picture).reshape(height, width, 3)


def test_the_table_is_what_the_library_says(fftd_module):
    assert [each.name for each in fftd_module.pixel_formats()] == FORMATS
    assert len(FORMATS) >= 15 and len(MOSAICS) >= 16


def test_python(view):
    _, frame, planes = view
    pixels = frame.format.pixels
    assert len(planes) == pixels.plane_count == frame.format.plane_count
    assert [plane.shape for plane in planes] == [
        (plane.rows, plane.row_bytes) for plane in frame.format.plane[:pixels.plane_count]]
    assert frame.image.shape[:2] == (HEIGHT, WIDTH)
    assert frame.image.dtype == ("uint16" if pixels.bits > 8 else "uint8")
    # Every byte but the fourth one of 32-bit pixels is a sample of exactly one component.
    shapes = [component.shape for component in frame.kept]
    chroma = ((HEIGHT + pixels.sub_y - 1) // pixels.sub_y, WIDTH // pixels.sub_x)
    assert shapes == [(HEIGHT, WIDTH), chroma, chroma][:len(shapes)]
    used = sum(component.nbytes for component in frame.kept)
    unused = WIDTH * HEIGHT if pixels.name[0] == "X" else 0
    assert used + unused == sum(plane.size for plane in planes)
    expected = numpy.array(BARS)
    if len(frame.kept) == 1:
        expected = numpy.rint(expected @ [0.299, 0.587, 0.114])[:, None].repeat(3, axis=1)
    assert abs(picture_of(frame)[ROW, COLUMNS] - expected).max() <= 4


def test_fftd_ctl(view, tmp_path):
    daemon, frame, planes = view
    pixels = frame.format.pixels
    path = tmp_path / "stream"
    daemon.ctl("frames", "--raw", "--count", "2", "--output", path)
    assert path.read_bytes() == 2 * b"".join(plane.tobytes() for plane in planes)

    done = daemon.ctl("frames", "--count", "2", "--output", path, check=False)
    if pixels.y4m is None:
        assert done.returncode == 65 and pixels.name in done.stderr
    else:
        header, *frames = path.read_bytes().split(b"FRAME\n")
        assert f" C{pixels.y4m} ".encode() in header
        assert frames == 2 * [b"".join(component.tobytes() for component in frame.kept)]

    daemon.ctl("snapshot", "after", "--output", tmp_path / "after.png")
    shown = read_png((tmp_path / "after.png").read_bytes()).astype(float)
    assert abs(shown - picture_of(frame)).max() <= 2


def test_gstreamer(view, launch, tmp_path):  # pylint: disable=redefined-outer-name
    daemon, frame, planes = view
    caps = frame.format.pixels.gstreamer
    path = tmp_path / "frames"
    pipeline = launch(f"fftdsrc camera={daemon.runtime_dir} num-buffers=2 ! filesink "
                      f"location={path}", "-v")
    if caps is None:
        said, _ = pipeline.communicate(timeout=PATIENCE)
        assert "have no equivalent in GStreamer" in said
        return
    assert re.search(rf"format=\(string\){caps}\b", finish(pipeline))
    rows = list(rows_of_file(path.read_bytes(), frame.format))
    assert b"".join(rows) == 2 * b"".join(plane.tobytes() for plane in planes)


# Every order of colours and every depth is tested once; all combinations would compile for a
# minute.
@pytest.mark.parametrize("view", indirect=True, argvalues=[
    name for name in MOSAICS if name.endswith("8") or name.startswith("SRGGB")])
def test_mosaics_are_published_in_colour(view):
    _, frame, _ = view
    assert frame.format.pixels.name == "XBGR32"
    assert abs(picture_of(frame)[ROW, COLUMNS] - numpy.array(BARS)).max() <= 4
