"""fftd-ctl convert: recordings of several kinds, bit for bit; killed and resumed; slow and broken
ends."""

import contextlib
import filecmp
import json
import mmap
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import time

import numpy
import pytest

import test_auto_notch
from conftest import BUILD, FAST_KERNELS, PATIENCE

WIDTH, HEIGHT = 64, 48
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")


def command(*arguments):
    return [BUILD / "fftd-ctl", "convert", *FAST_KERNELS, *map(str, arguments)]


def convert(*arguments, code=0, timeout=PATIENCE, **others):
    done = subprocess.run(command(*arguments), capture_output=True, timeout=timeout, check=False,
                          **others)
    assert done.returncode == code, (done.returncode, done.stderr)
    return done


def ffmpeg(*arguments):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)],
                          stdout=subprocess.PIPE, check=True).stdout


def raw_frame(number):
    """16 bits of noise, which no two frames have in common, after the frame's number."""
    chance = random.Random(number)
    return struct.pack("<I", number) + chance.randbytes(WIDTH * HEIGHT * 2 - 4)


def write_y4m(path, frames, colour="mono16"):
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s XCOLORRANGE=FULL\n" %
                   (WIDTH, HEIGHT, colour.encode()))
        for frame in frames:
            file.write(b"FRAME\n" + frame)
    return path


def numbers(path):
    """The numbers of the frames in a Y4M file."""
    size = WIDTH * HEIGHT * 2 + 6
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        begin = data.find(b"\n") + 1
        assert (len(data) - begin) % size == 0
        return [struct.unpack_from("<I", data, at + 6)[0] for at in range(begin, len(data), size)]


@pytest.fixture(name="clip")
def fixture_clip(tmp_path):
    return write_y4m(tmp_path / "in.y4m", map(raw_frame, range(60)))


def leftovers():
    """The folders of processes that have ended; other tests convert at the same time."""
    return {path for path in pathlib.Path("/tmp").glob("fftd-convert-*")
            if not pathlib.Path("/proc", path.name.split("-")[2]).exists()}


@pytest.mark.parametrize("colour, bits", (("mono", 8), ("mono10", 10), ("mono12", 12),
                                          ("mono16", 16), ("420jpeg", 8)))
def test_the_filter_none_keeps_all_bits(tmp_path, colour, bits):
    chance, before = random.Random(bits), leftovers()
    samples = WIDTH * HEIGHT * (3 if colour == "420jpeg" else 2) // 2
    frames = [chance.randbytes(samples) if bits == 8 and colour != "mono" else
              b"".join(struct.pack("<H" if bits > 8 else "<B", chance.randrange(1 << bits))
                       for _ in range(WIDTH * HEIGHT)) for _ in range(5)]
    source = write_y4m(tmp_path / "in.y4m", frames, colour)
    convert(source, tmp_path / "out.y4m")
    assert (tmp_path / "out.y4m").read_bytes() == source.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.y4m", "out.y4m"]
    assert leftovers() <= before


def test_raw_frames(tmp_path):
    frames = b"".join(map(raw_frame, range(20)))
    (tmp_path / "in.bin").write_bytes(frames)
    convert(tmp_path / "in.bin", tmp_path / "out.raw", "--size", f"{WIDTH}x{HEIGHT}",
            "--pixel-format", "Y16", "--fps", "50")
    assert (tmp_path / "out.raw").read_bytes() == frames


def test_a_filter_is_that_of_the_daemon(tmp_path, clip, start):
    """The daemon filters the file with the same samples."""
    convert(clip, tmp_path / "out.y4m", "--filter", "gaussian-blur:sigma=2")
    daemon = start(*FAST_KERNELS, "--filter", "gaussian-blur:sigma=2", "--set",
                   "output.slots=64", "--frames", "60", source=f"file:{clip}", size=None, fps=None)
    assert daemon.ctl("frames", "-n", "20", "-o", str(tmp_path / "part.y4m")).returncode == 0
    size = WIDTH * HEIGHT * 2 + 6
    cut = [tmp_path.joinpath(name).read_bytes() for name in ("out.y4m", "part.y4m")]
    every, some = ([data[at:at + size] for at in range(data.index(b"\n") + 1, len(data), size)]
                   for data in cut)
    assert len(every) == 60 and set(some) <= set(every)
    assert every[0][6:] != raw_frame(0)


@needs_ffmpeg
@pytest.mark.parametrize("name", ("out.mkv", "out.avi", "out-%04d.png", "out-%04d.tif",
                                  "out-%04d.pgm"))
def test_16_bits_through_other_files(tmp_path, clip, name):
    """There and back again."""
    convert(clip, tmp_path / name)
    convert(tmp_path / name, tmp_path / "back.raw")
    assert (tmp_path / "back.raw").read_bytes() == b"".join(map(raw_frame, range(60)))


@needs_ffmpeg
@pytest.mark.parametrize("name, options", (
    ("in.mp4", ("-pix_fmt", "yuv420p")), ("in.avi", ("-c:v", "mpeg4")),
    ("in.mkv", ("-c:v", "ffv1", "-pix_fmt", "yuv420p")), ("in.mov", ("-pix_fmt", "yuv420p")),
    ("in-%03d.png", ("-pix_fmt", "rgb24")), ("in.gif", ()), ("in.y4m", ("-pix_fmt", "yuv444p"))))
def test_each_kind_of_video_is_read(tmp_path, name, options):
    """What comes out is what ffmpeg decodes, each frame once."""
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=2", *options, tmp_path / name)
    convert(tmp_path / name, tmp_path / "out.raw")
    is_rgb = "png" in name or "gif" in name
    expected = ffmpeg("-i", tmp_path / name, "-fps_mode", "passthrough", "-f", "rawvideo",
                      "-pix_fmt", "rgb24" if is_rgb else "yuv420p", "-")
    assert (tmp_path / "out.raw").read_bytes() == expected
    convert(tmp_path / name, tmp_path / "out.mp4")
    probe = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries",
                            "stream=nb_read_frames", "-of", "csv=p=0", tmp_path / "out.mp4"],
                           stdout=subprocess.PIPE, check=True)
    assert int(probe.stdout) == 50


def test_interlacing_and_proportions_are_passed_on(tmp_path, clip):
    clip.write_bytes(clip.read_bytes().replace(b"Ip A1:1", b"It A16:15", 1))
    convert(clip, tmp_path / "out.y4m")
    assert (tmp_path / "out.y4m").read_bytes() == clip.read_bytes()


@needs_ffmpeg
@pytest.mark.parametrize("pixels", ("yuv420p", "yuyv422", "rgb24"))
def test_pixels_keep_their_proportions(tmp_path, pixels):
    """ffmpeg reads them as Y4M, which says so, or as raw frames."""
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x48:d=0.2,setsar=16/15", "-c:v", "rawvideo",
           "-pix_fmt", pixels, tmp_path / "in.nut")
    for name in ("out.mkv", "out.mp4"):
        convert(tmp_path / "in.nut", tmp_path / name)
        probe = subprocess.run(["ffprobe", "-v", "error", "-show_entries",
                                "stream=sample_aspect_ratio", "-of", "csv=p=0", tmp_path / name],
                               stdout=subprocess.PIPE, check=True)
        assert probe.stdout.strip() == b"16:15"


@needs_ffmpeg
@pytest.mark.parametrize("name", ("in.mp4", "in.mkv"))
def test_sound_may_last_longer(tmp_path, name):
    """A recording with too few frames for its time is noted, and the time is that of the video."""
    video = ("-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=2")
    ffmpeg(*video, "-f", "lavfi", "-i", "sine=d=4", "-pix_fmt", "yuv420p", tmp_path / name)
    assert not convert(tmp_path / name, tmp_path / "out.y4m").stderr
    ffmpeg(*video, "-vf", "setpts='if(gt(N,40),PTS*2,PTS)'", "-fps_mode", "passthrough",
           "-pix_fmt", "yuv420p", tmp_path / name)
    assert b"uneven times" in convert(tmp_path / name, tmp_path / "out.y4m").stderr


@pytest.mark.parametrize("slow", ("reader", "writer"))
def test_slow_ends(clip, slow):
    """Standard input and output, of which one is slow."""
    with subprocess.Popen(command("-", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        data, got = clip.read_bytes(), b""
        if os.fork() == 0:
            for at in range(0, len(data), 30000):
                run.stdin.write(data[at:at + 30000])
                run.stdin.flush()
                time.sleep(0.02 if slow == "writer" else 0)
            os._exit(0)
        run.stdin.close()
        while part := run.stdout.read(20000):
            got += part
            time.sleep(0.02 if slow == "reader" else 0)
        assert run.wait(PATIENCE) == 0
    os.wait()
    assert got == data


def test_a_reader_that_leaves_is_no_error(clip):
    with subprocess.Popen(command(clip, "-"), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as run:
        run.stdout.read(100)
        run.stdout.close()
        assert run.wait(PATIENCE) == 0
        assert run.stderr.read() == b""


@needs_ffmpeg
def test_a_reader_that_leaves_while_ffmpeg_cannot_write(tmp_path):
    """Newer versions of ffmpeg catch SIGTERM, and then wait until everything is read."""
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=320x240:r=25:d=8", tmp_path / "in.avi")
    stubborn = tmp_path / "bin/ffmpeg"
    stubborn.parent.mkdir()
    stubborn.write_text(f"#!/bin/sh\ntrap '' TERM\n{shutil.which('ffmpeg')} \"$@\" | cat\n")
    stubborn.chmod(0o755)
    environment = dict(os.environ, PATH=f"{stubborn.parent}:{os.environ['PATH']}")
    with subprocess.Popen(command(tmp_path / "in.avi", "-"), stdout=subprocess.PIPE,
                          env=environment) as run:
        run.stdout.read(100)
        run.stdout.close()
        try:
            assert run.wait(PATIENCE / 2) == 0
        finally:
            run.kill()


def test_killed_and_resumed(tmp_path):
    """However often it is killed, each frame is there once, and in order."""
    count, chance = int(os.environ.get("FFTD_TEST_RECORDING", "3000")), random.Random(3)
    out, part = tmp_path / "out.y4m", tmp_path / "out.y4m.part"
    frames = [raw_frame(n) for n in range(50)]
    source = write_y4m(tmp_path / "in.y4m", (struct.pack("<I", n) + frames[n % 50][4:]
                                             for n in range(count)))
    for _ in range(5):
        with subprocess.Popen(command(source, out, "--resume", "--filter", "none")) as run:
            size = part.stat().st_size if part.exists() else 0
            aim = size + chance.randrange(1, count // 6 * len(frames[0]))
            while run.poll() is None and (not part.exists() or part.stat().st_size < aim):
                time.sleep(0.001)
            run.kill()
    assert not out.exists()
    resumed = json.loads(convert(source, out, "--resume", "--json", timeout=900).stdout)
    assert resumed["frames"] == count and 0 < resumed["resumed_at"] < count
    assert numbers(out) == list(range(count))
    assert filecmp.cmp(out, source, shallow=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.y4m", "out.y4m"]


def test_resuming_something_else_is_refused(tmp_path):
    source = write_y4m(tmp_path / "in.y4m", map(raw_frame, range(2000)))
    out, part = tmp_path / "out.y4m", tmp_path / "out.y4m.part"
    with subprocess.Popen(command(source, out)) as run:
        while not part.exists() or part.stat().st_size < 100000:
            assert run.poll() is None
            time.sleep(0.001)
        run.send_signal(signal.SIGTERM)
        assert run.wait(PATIENCE) == os.EX_TEMPFAIL
    size = part.stat().st_size
    done = convert(source, out, "--resume", "--filter", "sharpen", code=os.EX_DATAERR)
    assert b"other options" in done.stderr and part.stat().st_size == size
    assert json.loads(convert(source, out, "--resume", "--json").stdout)["resumed_at"] > 0
    assert numbers(out)[-1] == 1999


@pytest.mark.parametrize("chain", ("stabilise", "auto-notch | denoise"))
def test_a_filter_that_remembers_is_resumed(tmp_path, chain):
    """What it makes of a frame depends on those before, so these are filtered again."""
    random, scene = numpy.random.default_rng(5), test_auto_notch.draw_scene()
    test_auto_notch.write_recording(
        tmp_path / "in.y4m", [numpy.roll(scene, n % 7, axis=1) + test_auto_notch.waves_of(n)
                              + random.normal(0, 1.5, scene.shape) for n in range(60)])
    arguments = (tmp_path / "in.y4m", tmp_path / "out.y4m", "--filter", chain)
    part = tmp_path / "out.y4m.part"
    with subprocess.Popen(command(*arguments)) as run:
        while not part.exists() or part.stat().st_size < 15 * scene.size:
            assert run.poll() is None
            time.sleep(0.001)
        run.kill()
    assert json.loads(convert(*arguments, "--resume", "--json").stdout)["resumed_at"] >= 14
    resumed = (tmp_path / "out.y4m").read_bytes()
    convert(*arguments)
    assert resumed == (tmp_path / "out.y4m").read_bytes()


def test_progress_is_for_terminals(tmp_path):
    source = write_y4m(tmp_path / "in.y4m", map(raw_frame, range(1500)))
    assert convert(source, tmp_path / "out.y4m").stderr == b""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command(source, tmp_path / "out.y4m"), stderr=theirs) as run:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # its end
            while part := os.read(ours, 1000):
                shown += part
        assert run.wait(PATIENCE) == 0
    os.close(ours)
    assert b"1500 frames" in shown


def test_progress_says_how_long_it_will_take(tmp_path):
    """Of a recording whose length is known, while a slow reader lets it wait."""
    source = write_y4m(tmp_path / "in.y4m", map(raw_frame, range(1500)))
    ours, theirs = pty.openpty()
    with subprocess.Popen(command(source, "-"), stderr=theirs, stdout=subprocess.PIPE) as run:
        os.close(theirs)
        shown = b""
        while b"left" not in shown:
            assert run.stdout.read(100000)
            while select.select([ours], [], [], 0.05)[0]:
                shown += os.read(ours, 1000)
        run.kill()
    os.close(ours)
    assert re.search(rb"\d+ of 1500 frames, \d+ a second, \d+:\d\d:\d\d left", shown)


def test_a_device_that_fails(tmp_path, clip, faults):
    """A lost frame is an error, and can be made up for."""
    faults.begin("finish -5 20 1")
    done = convert(clip, tmp_path / "out.y4m", "--filter", "lowpass:cutoff=0.1",
                   code=os.EX_SOFTWARE, env=dict(os.environ, **faults.env))
    assert b"was lost" in done.stderr and not (tmp_path / "out.y4m").exists()
    faults.end()
    arguments = (clip, tmp_path / "out.y4m", "--filter", "lowpass:cutoff=0.1", "--json")
    assert json.loads(convert(*arguments, "--resume").stdout)["resumed_at"] > 0
    whole = (tmp_path / "out.y4m").read_bytes()
    convert(*arguments)
    assert (tmp_path / "out.y4m").read_bytes() == whole and len(whole) == clip.stat().st_size


def test_the_processes_end_with_the_command(tmp_path):
    source = write_y4m(tmp_path / "in.y4m", map(raw_frame, range(3000)))
    with subprocess.Popen(command(source, "-"), stdout=subprocess.PIPE) as run:
        run.stdout.read(100)
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert len(children) == 2
        run.kill()
    deadline = time.monotonic() + PATIENCE
    while any(pathlib.Path(f"/proc/{child}/exe").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # The next command removes the directory that is left.
    convert(source, tmp_path / "out.xyz.y4m", "--filter", "none")
    assert not list(pathlib.Path("/tmp").glob(f"fftd-convert-{run.pid}-*"))


def test_nothing_is_compiled_for_later(tmp_path, clip):
    """No other filter follows, so processes that compile would only take time from the frames. They
    begin five seconds after the first engine."""
    cache = f"engine.cache_dir={tmp_path / 'cache'}"
    with subprocess.Popen(command("-", "-", "--set", cache), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:
        run.stdin.write(clip.read_bytes())
        run.stdin.flush()
        run.stdout.read(100)
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        end = time.monotonic() + 7
        while time.monotonic() < end:
            time.sleep(0.1)
            for child in children:
                for path in pathlib.Path(f"/proc/{child}/task").glob("*/children"):
                    assert path.read_text() == ""
        run.stdin.close()
        run.stdout.read()
        assert run.wait(PATIENCE) == 0


def test_before_and_after(tmp_path, clip):
    convert(clip, tmp_path / "out.raw", "--compare", "--filter", "none")
    data = (tmp_path / "out.raw").read_bytes()
    row, first = WIDTH * 2, raw_frame(0)
    assert len(data) == 60 * 2 * len(first)
    for y in range(HEIGHT):
        assert data[2 * y * row:2 * (y + 1) * row] == first[y * row:(y + 1) * row] * 2


def test_two_passes(tmp_path):
    """Drifting waves are removed from the first frame on. With one pass they are not, since nothing
    is known of them then. The test is that of auto-notch's own recording."""
    random, scene = numpy.random.default_rng(9), test_auto_notch.draw_scene()
    frames = [scene + test_auto_notch.waves_of(n) + random.normal(0, 1.5, scene.shape)
              for n in range(test_auto_notch.FRAMES)]
    test_auto_notch.write_recording(tmp_path / "in.y4m", frames)
    error = {}
    for name, options in (("none", ("--filter", "none")), ("one", ()), ("two", ("--two-pass",))):
        done = convert(tmp_path / "in.y4m", tmp_path / f"{name}.raw", "--filter",
                       test_auto_notch.NOTCH, *options)
        assert done.stdout == b"", "standard output is for frames and for --json"
        first = numpy.fromfile(tmp_path / f"{name}.raw", "u1", scene.size).reshape(scene.shape)
        error[name] = numpy.square(first - scene).mean()
        assert (tmp_path / f"{name}.raw").stat().st_size == len(frames) * scene.size
    assert error["two"] < error["one"] / 4 and error["one"] > error["none"] / 2, error


def test_two_passes_without_anything_to_find(tmp_path, clip):
    done = convert(clip, tmp_path / "out.y4m", "--two-pass", code=os.EX_DATAERR)
    assert b"adapts" in done.stderr


# ---- what is wrong ----

def test_a_truncated_recording(tmp_path, clip):
    """What is whole is converted, and the exit code says that it is not all."""
    (tmp_path / "cut.y4m").write_bytes(clip.read_bytes()[:-1000])
    done = convert(tmp_path / "cut.y4m", tmp_path / "out.y4m", code=os.EX_DATAERR)
    assert b"frame 59 is truncated" in done.stderr
    assert numbers(tmp_path / "out.y4m") == list(range(59))


def test_a_full_disk(clip):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command(clip, "-"), stdout=full, stderr=subprocess.PIPE,
                              timeout=PATIENCE, check=False)
    assert done.returncode == os.EX_IOERR and b"No space left" in done.stderr


def test_a_pipe_is_written_into(tmp_path, clip):
    """So is a device: as root, a file took the place of /dev/null."""
    path = tmp_path / "out.y4m"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    got = b""
    with subprocess.Popen(command(clip, path)) as run:
        while run.poll() is None:
            if select.select([reader], [], [], 0.1)[0]:
                with contextlib.suppress(BlockingIOError):
                    got += os.read(reader, 1 << 16)
    while part := os.read(reader, 1 << 16):
        got += part
    os.close(reader)
    assert run.returncode == 0 and got == clip.read_bytes() and path.is_fifo()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in.y4m", "out.y4m"]


@needs_ffmpeg
@pytest.mark.parametrize("name", ("out.mkv", "out.avi", "out-%03d.bmp", "none/out-%03d.png"))
def test_ffmpeg_cannot_write(tmp_path, clip, name):
    """Its files must not grow beyond 32 KiB, where it goes on as with a full disk."""
    limited = tmp_path / "bin/ffmpeg"
    limited.parent.mkdir()
    limited.write_text("#!/bin/bash\ntrap '' XFSZ\nulimit -f 32\n"
                       f"exec {shutil.which('ffmpeg')} \"$@\"\n")
    limited.chmod(0o755)
    write_y4m(clip, (os.urandom(320 * 240) for _ in range(10)), "mono")
    clip.write_bytes(clip.read_bytes().replace(b"W64 H48", b"W320 H240", 1))
    environment = dict(os.environ, PATH=f"{limited.parent}:{os.environ['PATH']}")
    done = convert(clip, tmp_path / name, code=os.EX_IOERR, env=environment)
    assert b"ffmpeg has" in done.stderr
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name, content, text", (
    ("-", b"", b"is empty"),
    ("-", b"YUV4MPEG2 W64 H48 C444\nFRAME\n", b"colour space 444"),
    ("in.y4m", b"YUV4MPEG2 W0 H48\nFRAME\n", b"no width W"),
    ("in.y4m", b"YUV4MPEG2 W64 H48 F25:1 Cmono\n", b"contains no frame"),
    ("in.y4m", b"YUV4MPEG2 W64 H48 F25:1 Cmono\nFRAMX\n" + bytes(4000), b"frame 0"),
    ("in.y4m", b"YUV4MPEG2 W64 H48 F25:1 Cmono\nFRAME\n" + bytes(40), b"frame 0 is truncated")))
def test_broken_recordings(tmp_path, name, content, text):
    (tmp_path / "in.y4m").write_bytes(content)
    with open(tmp_path / "in.y4m", "rb") as file:
        done = convert("-" if name == "-" else tmp_path / name, tmp_path / "out.y4m",
                       code=os.EX_DATAERR, stdin=file)
    assert text in done.stderr
    assert not (tmp_path / "out.y4m").exists()


@needs_ffmpeg
def test_no_recording_at_all(tmp_path):
    (tmp_path / "in.avi").write_bytes(b"RIFF nothing")
    done = convert(tmp_path / "in.avi", tmp_path / "out.y4m", code=os.EX_DATAERR)
    assert b"--size and --pixel-format" in done.stderr
    done = convert(tmp_path / "none.avi", tmp_path / "out.y4m", code=os.EX_NOINPUT)
    assert b"No such file" in done.stderr


def test_without_ffmpeg(tmp_path, clip):
    """The message says what is missing, for both directions."""
    (tmp_path / "in.avi").write_bytes(b"RIFF nothing")
    where = {"env": dict(os.environ, PATH=str(tmp_path))}
    for ends in ((tmp_path / "in.avi", tmp_path / "out.y4m"), (clip, tmp_path / "out.mkv")):
        done = convert(*ends, code=os.EX_UNAVAILABLE, **where)
        assert b"Debian package ffmpeg" in done.stderr
    assert not (tmp_path / "out.mkv.part").exists()


@pytest.mark.parametrize("arguments, code, text", (
    (("{in}", "out.xyz"), os.EX_USAGE, b"ends in .y4m"),
    (("{in}", "out.png"), os.EX_USAGE, b"out-%05d.png"),
    (("{in}", "out.mkv", "--resume"), os.EX_USAGE, b"only .y4m and .raw"),
    (("-", "out.y4m", "--two-pass"), os.EX_USAGE, b"reads the recording twice"),
    (("{in}", "out.y4m", "--size", "64x48"), os.EX_USAGE, b"--pixel-format"),
    (("{in}", "out.y4m", "--size", "64x", "--pixel-format", "Y16"), os.EX_USAGE, b"WIDTHxHEIGHT"),
    (("{in}", "out.y4m", "--size", "64x48", "--pixel-format", "Y9"), os.EX_USAGE, b"expected one"),
    (("{in}", "out.y4m", "--fps", "none"), os.EX_USAGE, b"0.1 .. 1000"),
    (("{in}", "out.y4m", "--what"), os.EX_USAGE, b"no such option: --what"),
    (("{in}",), os.EX_USAGE, b"expected IN OUT"),
    (("{in}", "out.y4m", "--filter", "blurr"), os.EX_USAGE, b"blurr"),
    (("{in}", "/proc/out.y4m"), os.EX_CANTCREAT, b"cannot create")))
def test_what_is_refused(tmp_path, clip, arguments, code, text):
    done = convert(*(clip if each == "{in}" else each for each in arguments), code=code,
                   cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert text in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.y4m"]


def test_the_source_file_names_convert(tmp_path, start):
    (tmp_path / "in.avi").write_bytes(b"RIFF nothing")
    daemon = start(source=f"file:{tmp_path / 'in.avi'}", size=None, fps=None)
    assert daemon.wait() != 0
    assert "fftd-ctl convert" in daemon.log
