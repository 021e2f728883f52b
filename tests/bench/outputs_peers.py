#!/usr/bin/python3
"""Other ways to make a picture smaller, beside the pictures of fftd: processor time and quality.

    outputs_peers.py          prints a table; FFTD_BUILD is the build folder, FFTD_DEVICE the device
    outputs_peers.py PICTURE  draws what some of them make of a zone plate, and how far that is from
                              the ideal low-pass

Quality is of 8 bits, whose rounding allows 58.9 dB, and -45 to -47 dB of what is folded. The
picture is noise whose power falls with the square of the frequency. Folded is what a zone plate
leaves where its frequency along an axis is at least half above what the result can have, relative
to the plate. A long filter leaves more next to frequencies that it keeps, because those of a plate
change fast.
"""

import ctypes
import ctypes.util
import os
import pathlib
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import outputs  # noqa: E402  pylint: disable=wrong-import-position

WIDTH, HEIGHT = outputs.WIDTH, outputs.HEIGHT
FRAMES = 60
MARGIN = 16  # samples at the edges, beyond which each way continues differently
NV12, BICUBIC, LANCZOS, AREA = 23, 4, 0x200, 0x20  # libavutil/pixfmt.h, libswscale/swscale.h
TJPF_GRAY = 6  # turbojpeg.h


class Missing(Exception):
    """A package that is not installed."""


def library(name):
    path = ctypes.util.find_library(name)
    if path is None:
        raise Missing(f"lib{name}")
    return ctypes.CDLL(path)


def timed(work, frames=FRAMES):
    """Returns what the work returns, and the milliseconds of processor time that it takes."""
    ret = work()
    begin = time.process_time()
    for _ in range(frames):
        work()
    return ret, (time.process_time() - begin) / frames * 1000


# ---- ways to make a frame of NV12 smaller: each returns luma, U, and milliseconds ---------------

def planes_of(frame, size):
    width, height = size
    pixels = numpy.frombuffer(frame, numpy.uint8)
    luma = pixels[:width * height].reshape(height, width)
    return luma, pixels[width * height:].reshape(height // 2, width // 2, 2)[..., 0]


def swscale(flags):
    def scale(frame, size):
        sws = library("swscale")
        sws.sws_getContext.restype = ctypes.c_void_p
        context = ctypes.c_void_p(sws.sws_getContext(WIDTH, HEIGHT, NV12, *size, NV12, flags,
                                                     None, None, None))
        out = ctypes.create_string_buffer(size[0] * size[1] * 3 // 2)
        source = ctypes.create_string_buffer(frame, len(frame))

        def pointers(buffer, width, height):
            at = ctypes.addressof(buffer)
            return ((ctypes.c_void_p * 4)(at, at + width * height),
                    (ctypes.c_int * 4)(width, width))
        arguments = *pointers(source, WIDTH, HEIGHT), 0, HEIGHT, *pointers(out, *size)
        _, each = timed(lambda: sws.sws_scale(context, *arguments))
        sws.sws_freeContext(context)
        return *planes_of(out.raw, size), each
    return scale


def opencv(frame, size):
    try:
        import cv2  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Missing("python3-opencv") from error
    cv2.setNumThreads(1)
    pixels = numpy.frombuffer(frame, numpy.uint8)
    luma = pixels[:WIDTH * HEIGHT].reshape(HEIGHT, WIDTH)
    both = pixels[WIDTH * HEIGHT:].reshape(HEIGHT // 2, WIDTH // 2, 2)
    half = size[0] // 2, size[1] // 2
    (luma, both), each = timed(lambda: (cv2.resize(luma, size, interpolation=cv2.INTER_AREA),
                                        cv2.resize(both, half, interpolation=cv2.INTER_AREA)))
    return luma, both[..., 0], each


def run_pipeline(path, scale, sink):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!",
                        "rawvideoparse", "format=nv12", f"width={WIDTH}", f"height={HEIGHT}", "!",
                        *scale, *sink], check=True, stdout=subprocess.DEVNULL)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise Missing("gstreamer1.0-tools or -plugins-base") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def videoscale(method):
    def scale(frame, size):
        with tempfile.TemporaryDirectory() as folder:
            one, many, out = (pathlib.Path(folder) / name for name in ("one", "many", "out"))
            one.write_bytes(frame)
            many.write_bytes(frame * FRAMES)
            element = ["videoscale", f"method={method}", "add-borders=false", "!",
                       f"video/x-raw,width={size[0]},height={size[1]}", "!"]
            run_pipeline(one, element, ["filesink", f"location={out}"])
            seconds = run_pipeline(many, element, ["fakesink"]) - run_pipeline(many, [],
                                                                               ["fakesink"])
            return *planes_of(out.read_bytes(), size), seconds / FRAMES * 1000
    return scale


def jpeg(frame, size):
    """Luma alone, of a picture of the highest quality: the decoder leaves frequencies out."""
    turbo = library("turbojpeg")
    for name in ("tjInitCompress", "tjInitDecompress"):
        getattr(turbo, name).restype = ctypes.c_void_p
    handle = ctypes.c_void_p(turbo.tjInitCompress())
    at, length = ctypes.c_void_p(), ctypes.c_ulong()
    turbo.tjCompress2(handle, frame, WIDTH, 0, HEIGHT, TJPF_GRAY, ctypes.byref(at),
                      ctypes.byref(length), 3, 100, 0)
    out = ctypes.create_string_buffer(size[0] * size[1])
    decoder = ctypes.c_void_p(turbo.tjInitDecompress())
    _, each = timed(lambda: turbo.tjDecompress2(decoder, at, length, out, size[0], 0, size[1],
                                                TJPF_GRAY, 0))
    for each_handle in (handle, decoder):
        turbo.tjDestroy(each_handle)
    turbo.tjFree(at)
    return numpy.frombuffer(out.raw, numpy.uint8).reshape(size[1], size[0]), None, each


def own_ms(size):
    """Returns the processor time of a frame, of all threads, that an output of this size adds to a
    daemon which only passes captured frames on. Turns with and without the output alternate."""
    more = [outputs.measure(None, [size], True, FRAMES, "none")[0] -
            outputs.measure(None, [], True, FRAMES, "none")[0] for _ in range(3)]
    return statistics.median(more)


def fftd(frame, size):
    """Returns the output of a daemon. own_ms() measures its time."""
    with tempfile.TemporaryDirectory() as folder:
        path, run = pathlib.Path(folder) / "frame", pathlib.Path(folder) / "run"
        path.write_bytes(frame)
        with subprocess.Popen(
                [outputs.BUILD / "fftd", "--runtime-dir", run, "--device", outputs.DEVICE,
                 "--source", f"file:{path}", "--size", f"{WIDTH}x{HEIGHT}", "--fps", "10", "--set",
                 "camera.format=NV12", "--set", "camera.loop=true", "--set",
                 f"output.size={size[0]}x{size[1]}", "--set", "engine.compile_ahead=false"],
                stderr=subprocess.DEVNULL) as daemon:
            try:
                reader = outputs.Reader(run)
                reader.close()
                shot = subprocess.run([outputs.BUILD / "fftd-ctl", "--runtime-dir", run, "frames",
                                       "--count", "1", "--raw"], check=True,
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL).stdout
                return *planes_of(shot, size), None
            finally:
                daemon.terminate()


WAYS = (("fftd", fftd), ("swscale, bicubic", swscale(BICUBIC)),
        ("swscale, lanczos", swscale(LANCZOS)), ("swscale, area", swscale(AREA)),
        ("OpenCV, INTER_AREA", opencv), ("videoscale, bilinear", videoscale("bilinear")),
        ("videoscale, lanczos", videoscale("lanczos")), ("libjpeg-turbo, scaled", jpeg))


# ---- quality -------------------------------------------------------------------------------

def noise(width, height):
    random = numpy.random.default_rng(1)
    frequency = numpy.hypot(numpy.fft.fftfreq(height)[:, None], numpy.fft.rfftfreq(width))
    frequency[0, 0] = 1
    plane = numpy.fft.irfft2(numpy.fft.rfft2(random.standard_normal((height, width))) / frequency,
                             (height, width))
    return numpy.clip(numpy.rint(128 + 40 * plane / plane.std()), 0, 255).astype(numpy.uint8)


def from_middle(width, height):
    return [numpy.arange(side) - (side - 1) / 2 for side in (width, height)]


def plate(width, height):
    """At half the height from the middle, its frequency is half the sampling rate."""
    x, y = from_middle(width, height)
    wave = numpy.cos(numpy.pi * (x ** 2 + y[:, None] ** 2) / height)
    return numpy.rint(127.5 + 127.5 * wave).astype(numpy.uint8)


def frame_of(draw):
    chroma = numpy.repeat(draw(WIDTH // 2, HEIGHT // 2)[..., None], 2, axis=2)
    return draw(WIDTH, HEIGHT).tobytes() + chroma.tobytes()


def ideal(plane, size):
    """The lowest frequencies alone, sampled at the middles of what each sample covers."""
    for axis, side in ((0, size[1]), (1, size[0])):
        plane = numpy.moveaxis(plane.astype(float), axis, 0)
        length = plane.shape[0]
        spectrum = numpy.fft.fft(numpy.concatenate([plane, plane[::-1]]), axis=0)[:side]
        # The phase of half a captured sample, and of half a sample of the result.
        k = numpy.arange(side).reshape(-1, *[1] * (plane.ndim - 1))
        cosines = (spectrum * numpy.exp(-1j * numpy.pi * k / (2 * length))).real / (2 * length)
        at = (2 * numpy.arange(side)[:, None] + 1) * numpy.arange(side) * numpy.pi / (2 * side)
        weight = numpy.where(numpy.arange(side) == 0, 1, 2)
        plane = numpy.moveaxis(numpy.cos(at) * weight @ cosines, 0, axis)
    return plane


def psnr(got, wanted):
    inner = (slice(MARGIN, -MARGIN),) * 2
    error = got[inner] - numpy.clip(wanted, 0, 255)[inner]
    return 10 * numpy.log10(255 ** 2 / numpy.mean(error ** 2))


def folded(got, ratio):
    height, width = got.shape
    x, y = from_middle(width, height)
    frequency = numpy.maximum(abs(x), abs(y[:, None])) / height * 2 * ratio
    beyond = (frequency > 1.5) & (frequency < ratio)
    beyond[:MARGIN], beyond[-MARGIN:] = False, False
    rest = got[beyond].astype(float)
    return 10 * numpy.log10(numpy.mean((rest - rest.mean()) ** 2) / (127.5 ** 2 / 2))


def row(way, size):
    picture, zones = frame_of(noise), frame_of(plate)
    *planes, each = way(picture, size)
    cells = [f"{own_ms(size) if way is fftd else each:.2f}"]
    captured = planes_of(picture, (WIDTH, HEIGHT))
    for got, wanted, zone in zip(planes, captured, way(zones, size)[:2]):
        if got is None:
            cells += ["", ""]
            continue
        small = got.shape[::-1]
        cells += [f"{psnr(got, ideal(wanted, small)):.1f}",
                  f"{folded(zone, wanted.shape[0] / got.shape[0]):.1f}"]
    return cells


# ---- a picture -----------------------------------------------------------------------------

DRAWN = ("fftd", "swscale, lanczos", "swscale, bicubic", "OpenCV, INTER_AREA",
         "videoscale, bilinear")
DRAWN_GAP, DRAWN_GAIN, DRAWN_STEP = 8, 4, 8  # fewer greys: a smaller file


def png(pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def drawing():
    """The upper right of the plate's luma at half the size; below, the distance from the ideal."""
    zones, size = frame_of(plate), outputs.HALF
    wanted = ideal(planes_of(zones, (WIDTH, HEIGHT))[0], size)
    side = size[1] // 2
    part = (slice(0, side), slice(size[0] // 2, size[0] // 2 + side))
    columns = []
    for name in DRAWN:
        got = dict(WAYS)[name](zones, size)[0].astype(float)
        away = numpy.clip(128 + DRAWN_GAIN * (got - wanted), 0, 255)
        columns += [numpy.concatenate([got[part], numpy.full((DRAWN_GAP, side), 255.), away[part]]),
                    numpy.full((2 * side + DRAWN_GAP, DRAWN_GAP), 255.)]
    levels = numpy.rint(numpy.concatenate(columns[:-1], axis=1) / DRAWN_STEP) * DRAWN_STEP
    return numpy.clip(levels, 0, 255).astype(numpy.uint8)


def main():
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_bytes(png(drawing()))
        return
    for size in (outputs.HALF, outputs.QUARTER):
        print(f"\n{WIDTH}x{HEIGHT} NV12 to {size[0]}x{size[1]}\n\n"
              "| way | processor time a frame, ms | luma: PSNR from the ideal low-pass, dB "
              "| folded, dB | chroma: PSNR | folded |\n| --- | --- | --- | --- | --- | --- |")
        for name, way in WAYS:
            try:
                print(f"| {name} | {' | '.join(row(way, size))} |", flush=True)
            except Missing as error:
                print(f"| {name} | skipped: {error} is missing | | | | |", flush=True)


if __name__ == "__main__":
    main()
