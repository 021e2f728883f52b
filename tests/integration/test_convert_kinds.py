"""fftd-ctl convert with recordings that other programs have written: ffmpeg and GStreamer write and
read them, and the filtered samples are compared with a calculation in numpy."""

import json
import re
import shutil
import struct
import subprocess

import numpy
import pytest

from test_convert import convert, ffmpeg

pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
WIDTH, HEIGHT, FRAMES = 66, 50, 25
# Luma becomes half as bright: FULL and LIMITED alike, as the filter takes samples as they are.
FILTER = ("--filter", "gain:dc=0.5,ac=0.5")
SCENE = ("-f", "lavfi", "-i", f"mandelbrot=s={WIDTH}x{HEIGHT}:r=25,trim=end=1")
NUMBERED = ("-start_number", "100")


def by_ffmpeg(*options):
    return lambda path: ffmpeg(*SCENE, *options, path)


def by_gstreamer(layout, encoder):
    def write(path):
        subprocess.run(["gst-launch-1.0", "-q", "videotestsrc", "pattern=ball",
                        f"num-buffers={FRAMES}", "!",
                        f"video/x-raw,format={layout},width={WIDTH},height={HEIGHT},"
                        "framerate=25/1", "!", *encoder.split(), "!", "filesink",
                        f"location={path}"], check=True, timeout=60)
    return write


# What writes it, what it is converted to, and the samples of both in ffmpeg's words.
KINDS = {
    "mjpeg.avi": (by_ffmpeg("-c:v", "mjpeg", "-pix_fmt", "yuvj420p"), "out.mkv", "yuvj420p"),
    "yuy2.avi": (by_gstreamer("YUY2", "avimux"), "out.avi", "yuyv422"),
    "uyvy.mov": (by_ffmpeg("-c:v", "rawvideo", "-pix_fmt", "uyvy422"), "out.raw", "uyvy422"),
    "422.mkv": (by_ffmpeg("-c:v", "ffv1", "-pix_fmt", "yuv422p"), "out.mkv", "yuyv422"),
    "h264.mp4": (by_ffmpeg("-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p"), "out.mkv",
                 "yuv420p"),
    "gst.mkv": (by_gstreamer("I420", "jpegenc ! matroskamux"), "out.y4m", "yuvj420p"),
    "grey.mkv": (by_ffmpeg("-c:v", "ffv1", "-pix_fmt", "gray"), "out-%03d.pgm", "gray"),
    "grey16.mkv": (by_ffmpeg("-c:v", "ffv1", "-pix_fmt", "gray16le"), "out.mkv", "gray16le"),
    "in.y4m": (by_ffmpeg("-pix_fmt", "yuv420p"), "out.y4m", "yuv420p"),
    "in.raw": (by_ffmpeg("-f", "rawvideo", "-pix_fmt", "gray16le"), "out.raw", "gray16le"),
    "in-%03d.png": (by_ffmpeg(*NUMBERED, "-pix_fmt", "gray16be"), "out-%03d.png", "gray16le"),
    "in-%d.tif": (by_ffmpeg("-start_number", "98", "-pix_fmt", "gray16le"), "out-%d.tif",
                  "gray16le"),
    "in-%04d.bmp": (by_ffmpeg("-pix_fmt", "gray"), "out-%04d.bmp", "gray"),
    "pipe.y4m": (by_ffmpeg("-pix_fmt", "gray16le", "-strict", "-1"), "-", "gray16le"),
}


def decode(path, pixels):
    """Its frames as ffmpeg reads them: an array of samples for each."""
    raw = ("-f", "rawvideo", "-video_size", f"{WIDTH}x{HEIGHT}", "-pix_fmt", pixels)
    first = [number for number in range(200) if (path.parent / (path.name % number)).exists()] \
        if "%" in path.name else []
    data = ffmpeg(*(raw if path.suffix == ".raw" else ()),
                  *(("-start_number", first[0]) if first else ()), "-i", path, "-fps_mode",
                  "passthrough", "-f", "rawvideo", "-pix_fmt", pixels, "-")
    frames = numpy.frombuffer(data, "<u2" if "16" in pixels else "u1").reshape(FRAMES, -1)
    return frames.astype(float), first


def is_luma(pixels, samples):
    """Which samples of a frame the filter changes."""
    place = numpy.arange(samples)
    if pixels in ("yuyv422", "uyvy422"):
        return place % 2 == (pixels == "uyvy422")
    return place < WIDTH * HEIGHT


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_recording(tmp_path, name):
    """Every frame once, in order, each sample as it should be."""
    write, result, pixels = KINDS[name]
    source, target = tmp_path / name, tmp_path / result
    write(source)
    raw = ("--size", f"{WIDTH}x{HEIGHT}", "--pixel-format", "Y16") if name == "in.raw" else ()
    if result == "-":
        target = tmp_path / "out.y4m"
        with open(source, "rb") as stdin:
            target.write_bytes(convert("-", "-", *FILTER, stdin=stdin).stdout)
    else:
        done = convert(source, target, *FILTER, *raw, "--json")
        assert json.loads(done.stdout)["frames"] == FRAMES and done.stderr == b""
    before, first = decode(source, pixels)
    after, numbers = decode(target, pixels)
    luma = is_luma(pixels, before.shape[1])
    assert numpy.abs(after[:, luma] - before[:, luma] / 2).max() <= 1
    assert (after[:, ~luma] == before[:, ~luma]).all()
    # No two frames are alike, so that their order can be seen.
    assert len({frame.tobytes() for frame in before}) == FRAMES
    if "%" in name:
        assert numbers == first  # a picture keeps its number


@pytest.mark.parametrize("pixels, name, other", (
    ("gray16be", "in-%03d.png", "out-%03d.png"), ("gray16le", "in-%03d.tif", "out-%03d.tif"),
    ("gray", "in-%03d.png", "out-%03d.tif"), ("rgb24", "in-%03d.png", "out-%03d.png"),
    ("gray10le", "in.mkv", "out.mkv"), ("gray12le", "in.mkv", "out.mkv"),
    ("yuyv422", "in.avi", "out.raw"), ("yuv422p", "in.mkv", "out.mkv")))
def test_no_bit_is_lost(tmp_path, pixels, name, other):
    codec = {".mkv": ("-c:v", "ffv1"), ".avi": ("-c:v", "rawvideo")}.get(name[-4:], ())
    ffmpeg(*SCENE, *codec, *(("-start_number", "7") if "%" in name else ()), "-pix_fmt", pixels,
           tmp_path / name)
    assert convert(tmp_path / name, tmp_path / other).stderr == b""
    wanted, _ = decode(tmp_path / name, pixels)
    found, _ = decode(tmp_path / other, pixels)
    assert (wanted == found).all()


@pytest.mark.parametrize("pixels, name, text", (
    ("yuv420p10le", "in.mkv", b"yuv420p10le is read as yuv420p"),
    ("yuv444p", "in.mkv", b"yuv444p is read as yuv420p"),
    ("bgra", "in.mkv", b"bgra is read as rgb24"),
    ("gbrpf32le", "in-%02d.pfm", b"gbrpf32le is read as rgb24")))
def test_what_is_changed_is_said(tmp_path, pixels, name, text):
    codec = ("-c:v", "ffv1") if name == "in.mkv" else ()
    ffmpeg(*SCENE, *codec, "-pix_fmt", pixels, tmp_path / name)
    assert text in convert(tmp_path / name, tmp_path / "out.mkv").stderr


@pytest.mark.parametrize("pixels", ("yuv420p", "yuv422p", "rgb24"))
def test_a_turned_recording(tmp_path, pixels):
    """ffmpeg turns the frames of a camera that was held upright, in each format."""
    codec = "libx264rgb" if pixels == "rgb24" else "libx264"
    source = tmp_path / "in.mp4"
    ffmpeg(*SCENE, "-c:v", codec, "-qp", "0", "-pix_fmt", pixels, source)
    flat, turned = (struct.pack(">9i", *matrix, 0, 0, 1 << 30) for matrix in (
        (1 << 16, 0, 0, 0, 1 << 16, 0), (0, 1 << 16, 0, -1 << 16, 0, 0)))
    data = source.read_bytes()
    track = data.index(b"tkhd")
    assert data[track + 44:track + 80] == flat
    source.write_bytes(data[:track + 44] + turned + data[track + 80:])
    convert(source, tmp_path / "out.mkv")
    size = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of",
                           "csv=p=0", tmp_path / "out.mkv"], stdout=subprocess.PIPE, check=True)
    assert size.stdout.split() == [b"%d,%d" % (HEIGHT, WIDTH)]
    wanted, found = (decode(tmp_path / name, "gray")[0] for name in ("in.mp4", "out.mkv"))
    assert (wanted == found).all()


def test_a_missing_end_is_said(tmp_path):
    """ffmpeg calls what is left of an MKV complete."""
    source = tmp_path / "in.mkv"
    ffmpeg(*SCENE, "-c:v", "ffv1", "-pix_fmt", "gray", source)
    assert convert(source, tmp_path / "whole.y4m").stderr == b""
    source.write_bytes(source.read_bytes()[:source.stat().st_size // 2])
    done = convert(source, tmp_path / "out.y4m")
    assert b"but it says 1 s: frames are missing" in done.stderr


def test_a_change_of_range_is_said(tmp_path):
    """Raw frames in the pipe do not say that black is 0."""
    ffmpeg(*SCENE, "-c:v", "ffv1", "-pix_fmt", "yuv422p", "-color_range", "pc", tmp_path / "in.mkv")
    done = convert(tmp_path / "in.mkv", tmp_path / "out.mkv")
    assert b"yuv422p of full range is read as limited range" in done.stderr


def test_a_damaged_recording(tmp_path):
    """ffmpeg leaves out frames that it cannot decode. The exit code says so."""
    source = tmp_path / "in.avi"
    ffmpeg(*SCENE, "-c:v", "png", "-pix_fmt", "rgb24", source)
    data = bytearray(source.read_bytes())
    tenth = [match.start() for match in re.finditer(b"\x89PNG", data)][9]
    data[tenth + 1000:tenth + 1400] = bytes(400)
    source.write_bytes(data)
    done = convert(source, tmp_path / "out.raw", code=65)
    assert b"ffmpeg could not read all of it" in done.stderr
    frames = (tmp_path / "out.raw").stat().st_size / (WIDTH * HEIGHT * 3)
    assert FRAMES - 2 < frames < FRAMES + 1


@pytest.mark.parametrize("pixels", ("yuv420p", "yuv422p"))
def test_uneven_times(tmp_path, pixels):
    """A recording of frames at uneven times lasts as long as before, and the command says so."""
    ffmpeg(*SCENE, "-vf", "select=lt(n\\,10)+not(mod(n\\,5)),settb=1/1000", "-fps_mode", "vfr",
           "-c:v", "libx264", "-bf", "0", "-pix_fmt", pixels, tmp_path / "in.mp4")
    done = convert(tmp_path / "in.mp4", tmp_path / "out.y4m" if pixels == "yuv420p" else
                   tmp_path / "out.mkv")
    assert b"at uneven times" in done.stderr
    lengths = {}
    for path in tmp_path.iterdir():
        shown = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of",
                                "csv=p=0", path], stdout=subprocess.PIPE, check=True)
        lengths[path.stem] = float(shown.stdout)
    assert abs(lengths["in"] - lengths["out"]) < 0.1 and lengths["in"] > 0.8, lengths


@pytest.mark.parametrize("name, other", (("at-12:30:05.mkv", "out.raw"),
                                         ("at-12:30-%03d.png", "to-12:30-%03d.png")))
def test_names_with_a_colon(tmp_path, name, other):
    """ffmpeg alone would look for a protocol of this name."""
    codec = ("-c:v", "ffv1") if name.endswith("mkv") else ()
    by_ffmpeg(*codec, "-pix_fmt", "gray")(tmp_path / name)
    convert(name, other, cwd=tmp_path)
    wanted, _ = decode(tmp_path / name, "gray")
    found, _ = decode(tmp_path / other, "gray")
    assert (wanted == found).all()


def test_a_sequence_with_a_gap(tmp_path):
    """ffmpeg would end before it, without a word."""
    by_ffmpeg("-pix_fmt", "gray")(tmp_path / "in-%02d.png")
    (tmp_path / "in-09.png").unlink()
    (tmp_path / "in-001.png").write_bytes(b"")  # of another pattern
    done = convert(tmp_path / "in-%02d.png", tmp_path / "out.y4m", code=65)
    assert b"no picture with the number 9: expected all from 1 to 25" in done.stderr
    assert not (tmp_path / "out.y4m").exists()
    done = convert(tmp_path / "none-%02d.png", tmp_path / "out.y4m", code=66)
    assert b"no picture of this name" in done.stderr
    done = convert(tmp_path / "no" / "in-%02d.png", tmp_path / "out.y4m", code=66)
    assert b"no picture of this name" in done.stderr
