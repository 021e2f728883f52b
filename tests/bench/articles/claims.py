"""What was published, row by row: each claim with the range of figures that would reproduce it."""

import dataclasses
from typing import Callable

import front_end

INF = float("inf")
AXIS = "one axis of 512x256"
RGB = "512x512 RGB, forward and inverse"
TWIDDLES = "twiddles, 512x512 RGB"
FURTHER = "further optimisations, 512x512 RGB"
FRONT_END, FRONT_END_STEPS = front_end.GROUP, list(front_end.STEPS)


@dataclasses.dataclass
class Claim:
    text: str
    published: str
    low: float
    high: float
    measure: Callable  # of the results and a device: a figure or None


@dataclasses.dataclass
class Plot:
    file: str
    kind: str  # "bars" of one group, "lines" over the sizes of a group
    group: str
    title: str
    x_label: str = ""


@dataclasses.dataclass
class Picture:
    file: str
    title: str


@dataclasses.dataclass
class Row:
    number: int
    title: str
    text: str
    claims: list
    plots: list = dataclasses.field(default_factory=list)
    untested: str = ""
    always: bool = False
    picture: Picture = None  # that another program of the same target has drawn


def faster(row, group, slow, fast, x=None):
    """How many times as fast `fast` is as `slow`."""
    return lambda results, device: results.ratio(device, row, group, slow, fast, x=x)


def megabytes(row, group, technique, field):
    def measure(results, device):
        value = results.value(device, row, group, technique, field)
        return value / 1e6 if value is not None else None
    return measure


def fewer(group, over, under, field):
    return lambda results, device: results.ratio(device, 1, group, over, under, field)


def table_megabytes(results, device):
    with_table = results.value(device, 1, AXIS, "SLM, lookup table", "read_bytes")
    without = results.value(device, 1, AXIS, "SLM, an axis per dispatch", "read_bytes")
    return (with_table - without) / 1e6 if with_table and without else None


UAV, SLM = "UAV, a pass per dispatch", "SLM, an axis per dispatch"
SLM_ONCE = "SLM, each number loaded once"
SLM_REAL = "SLM, loaded once, zero imaginary part not read"

ROW_1 = Row(1, "Intel: a pass per dispatch, or an axis per dispatch in local memory", """
Traffic is counted: the kernels are built a second time with an atomic counter in every access to
a buffer. UAV moves what the article says. SLM as it is described, with a first pass that reads
bit-reversed, reads both inputs of each number from the buffer, and so twice what the article
says; only if each number is first copied to local memory are the 4.2 MB found again. UAV writes 9
times as much as SLM and not 8 times. It reads 18 times as much as SLM with one copy, and 36 times
if only SLM leaves out the imaginary part that is known to be zero. Neither the 4 nor the 16 of
two of its figures comes out of counting. fftd moves bytes or floats, half of the spectrum and no
idle channel.
""", [
    Claim("UAV reads, MB", "75.5", 75, 76, megabytes(1, AXIS, UAV, "read_bytes")),
    Claim("UAV writes, MB", "37.7", 37, 38, megabytes(1, AXIS, UAV, "written_bytes")),
    Claim("SLM reads as described, MB", "4.2", 4.1, 4.3, megabytes(1, AXIS, SLM, "read_bytes")),
    Claim("SLM reads with one copy, MB", "4.2", 4.1, 4.3,
          megabytes(1, AXIS, SLM_ONCE, "read_bytes")),
    Claim("SLM writes, MB", "4.2", 4.1, 4.3, megabytes(1, AXIS, SLM, "written_bytes")),
    Claim("UAV reads more than SLM with one copy of real parts, times", "36", 35, 37,
          fewer(AXIS, UAV, SLM_REAL, "read_bytes")),
    Claim("UAV writes more than SLM, times", "8", 7.5, 8.5, fewer(AXIS, UAV, SLM, "written_bytes")),
    Claim("SLM is faster than UAV, times", "faster", 1.05, INF,
          faster(1, RGB, UAV, SLM)),
    Claim("SLM is faster than UAV with tables, times", "faster", 1.05, INF,
          faster(1, RGB, "UAV, lookup table", "SLM, lookup table")),
    Claim("fftd is faster than SLM with tables, times", "-", 1.05, INF,
          faster(1, RGB, "SLM, lookup table", "fftd, fused")),
], [Plot("passes.png", "bars", RGB, RGB)])

ROW_2 = Row(2, "Intel: twiddles from a table, or computed", """
The table has the indices of both inputs, the cosine and the sine for each number of each pass,
which every line reads again. On the published integrated GPU computing won, because its
arithmetic units were idle while they waited for memory. On PoCL `sincos` is a call of a library
function for every number of every pass, while the table stays in the cache of the processor:
there the table wins by far. `native_sin` and `native_cos` are between the two. fftd's fused
technique reads its twiddles once a butterfly of a larger radix, so that the kind of twiddle
hardly matters for it.
""", [
    Claim("the table adds to what an axis of 512x256 reads, MB", "18.9", 18.8, 19,
          table_megabytes),
    Claim("UAV: computing is faster than the table, times", "1.26", 1.13, 1.4,
          faster(2, TWIDDLES, "UAV, lookup table", "UAV, computed")),
    Claim("SLM: computing is faster than the table, times", "1.26", 1.13, 1.4,
          faster(2, TWIDDLES, "SLM, lookup table", "SLM, computed")),
    Claim("SLM: native functions are faster than the table, times", "-", 1.13, INF,
          faster(2, TWIDDLES, "SLM, lookup table", "SLM, computed by native functions")),
    Claim("fftd fused: computing is faster than reading, times", "-", 1.05, INF,
          faster(2, TWIDDLES, "fftd fused, read", "fftd fused, computed")),
], [Plot("twiddles.png", "bars", TWIDDLES, TWIDDLES)],
    "the share of time in which execution units are active (33.0 and 17.9 %) or stalled (66.2 and "
    "81.4 %). It needs an Intel GPU's hardware counters, for example through its GPU profiler.")

ROW_3 = Row(3, "Intel: further optimisations that the article leaves open", """
Each change alone, all with tables and lines in local memory. Packing spreads the imaginary parts
of the three colours over the idle channel and a two-channel buffer: 24 instead of 32 bytes a
pixel. fftd needs neither, since it transforms planes of real samples as half as many complex
numbers.
""", [
    Claim("packing is faster, times", "expected to be", 1.05, INF,
          faster(3, FURTHER, "SLM: idle channel, float source and result",
                 "packed without an idle channel")),
    Claim("reading the source's bytes directly is faster than through a float copy, times",
          "expected to be", 1.05, INF,
          faster(3, FURTHER, "source bytes, through a float copy",
                 "source bytes, read directly")),
    Claim("writing bytes directly is faster than through a float copy, times",
          "expected to be", 1.05, INF,
          faster(3, FURTHER, "result bytes, through a float copy",
                 "result bytes, written directly")),
    Claim("all three together are faster, times", "-", 1.05, INF,
          faster(3, FURTHER, "SLM: idle channel, float source and result",
                 "packed, bytes read and written directly")),
    Claim("fftd with bytes is faster than all three together, times", "-", 1.05, INF,
          faster(3, FURTHER, "packed, bytes read and written directly", "fftd, bytes")),
], [Plot("further.png", "bars", FURTHER, FURTHER)])


def steps(size):
    name = f"steps, {size}"
    element, blocks = "transposed on the GPU, element by element", "blocks of 2x2, out of place"
    by_row, host = "GPU, a launch per row, host transposes", "all rows in a launch, host transposes"
    found = [
        ("rows launched together instead of one by one", by_row, host),
        ("transposed on the GPU instead of the host", host, element),
        ("blocks of 2x2 instead of single elements", element, blocks),
        ("in place instead of out of place", blocks, "blocks of 2x2, in place"),
        ("blocks of 2x2 instead of 4x4", "blocks of 4x4, out of place", blocks),
        ("groups of 2x4 instead of the driver's choice", blocks, "blocks of 2x2, groups of 2x4"),
    ]
    return [Claim(f"{size}: {text}, times as fast", "faster", 1.05, INF,
                  faster(6, name, slow, fast)) for text, slow, fast in found]


def ablation(size):
    name = f"ablation, {size}"
    chain = ["their pipeline, 2x2 blocks", "digit reversal dropped", "+ transposes merged",
             "+ real input", "+ load, product and store fused",
             "+ stages fused through local memory"]
    found = [Claim(f"{size}: {after.lstrip('+ ')}, times as fast", "open question", 1.05, INF,
                   faster(6, name, before, after)) for before, after in zip(chain, chain[1:])]
    return found + [Claim(f"{size}: fftd is faster than their pipeline, times", "-", 1.05, INF,
                          faster(6, name, chain[0], "fftd, fused"))]


ROW_6 = Row(6, "ARM: two dimensions, and the closing question", """
The steps are cumulative as published: a plain program on the CPU, kernels launched for each row,
all rows in one launch, the transpose on the GPU, and its forms. All of them filter a picture of 8
bits. Odd sizes have rows padded by one number, so that blocks of 2x2 never run over. 641 and 479
are primes, which their radices cannot factor; fftd extends such a picture by its border mode to
the next size that can be factored.

The article closes with a question: what would it bring to drop the digit reversal, and to merge
the transpose? The ablation changes one thing at a time, from their pipeline to ours. Dropped
digit reversal: each stage writes to another buffer in the order that needs none. Merged
transposes: columns are transformed where they are, with neighbouring work-items on neighbouring
columns. Real input: a row of 2 n samples is transformed as n complex numbers. Fused: the first
stage loads bytes, the first inverse stage multiplies, the last one stores bytes. Through local
memory: rows, columns and rows in three dispatches.
""", steps("120x120") + steps("1000x1000") + steps("3000x3000") + ablation("640x480")
    + ablation("1000x1000") + ablation("1920x1080"),
    [Plot("ablation-640x480.png", "bars", "ablation, 640x480", "640x480, from theirs to ours"),
     Plot("ablation-1920x1080.png", "bars", "ablation, 1920x1080",
          "1920x1080, from theirs to ours")],
    "all of this on the Mali-T760 itself; `make bench-articles DEVICE=mali` on an RK3288 would "
    "test it.")

LINE, LINES = "one line", "16 lines"
ALONE = "twiddle kernel alone, 64 lines of 4096"
SCALAR, WIDE = "CPU, scalar radix 2", "vectorised radix 2, 1024 bits an item"


def crossover(row, group, slow, fast):
    """The smallest size from which `fast` is the faster one at every larger size."""
    def measure(results, device):
        found = None
        other = dict(results.series(device, row, group, slow))
        for x, ms in reversed(results.series(device, row, group, fast)):
            if x not in other:
                continue
            if ms > other[x]:
                break
            found = x
        return found
    return measure


ROW_4 = Row(4, "ARM: a vectorised radix-2 transform", """
One line of 2^6 to 2^17 points in four kernels: two-point butterflies, four-point ones, a generic
stage of 256 or 1024 bits an item, where one set of twiddles serves four spans, and the last
stage. The scalar program on the processor is plain C, with tables. A single line is one launch a
stage, and so a device with fast arithmetic is bound by launches up to large sizes. fftd has no
transform of one dimension; the mixed-radix pipeline with tables stands in for it.
""", [
    Claim("points from which the device is faster than the scalar program", "4096 .. 8192",
          4096, 8192, crossover(4, LINE, SCALAR, WIDE)),
    Claim("131072 points: faster than the scalar program, times", "above 7", 7, INF,
          faster(4, LINE, SCALAR, WIDE, x=131072)),
    Claim("131072 points: 1024 bits an item instead of 256, times as fast", "faster", 1.05, INF,
          faster(4, LINE, "vectorised radix 2, 256 bits an item", WIDE, x=131072)),
    Claim("131072 points: mixed radix instead of vectorised radix 2, times as fast", "-", 1.05, INF,
          faster(4, LINE, WIDE, "mixed radix, tables", x=131072)),
    Claim("131072 points: faster than FFTW on one thread, times", "-", 1.05, INF,
          faster(4, LINE, "CPU, FFTW, one thread", WIDE, x=131072)),
], [Plot("one-line.png", "lines", LINE, "one line, radix 2", "points")])

ROW_5 = Row(5, "ARM: mixed radix, and where twiddles are computed", """
Index maps and digit reversal as published; radices 2, 3, 4, 5, 7 and 8, each with a first-stage
kernel that loads vectors. Twiddles are computed by a kernel of their own, whose ky is derived
through the map from n to k or simplified, with the angle of a step as an argument; or they are
merged into the butterflies, one dispatch a stage; or, which the articles do not try, they are
read from tables. 16 lines in each dispatch.
""", [
    Claim("the twiddle kernel alone: simplified, times as fast", "1.6 .. 1.7", 1.5, 1.8,
          faster(5, ALONE, "through k", "simplified")),
    *[Claim(f"{n} points: merged into the butterflies, times as fast", "about 1.5", 1.35, 1.65,
            faster(5, LINES, "radix 4, twiddle kernel simplified", "radix 4, twiddles merged",
                   x=n)) for n in (256, 4096, 65536)],
    *[Claim(f"{n} points: radix 4 instead of 2, times as fast", "1.7", 1.5, 1.9,
            faster(5, LINES, "radix 2, twiddles merged", "radix 4, twiddles merged", x=n))
      for n in (16384, 65536)],
    *[Claim(f"{n} points: radices to 8 instead of 4, times as fast", "-", 1.05, INF,
            faster(5, LINES, "radix 4, twiddles merged", "radix 8, 4 and 2, twiddles merged", x=n))
      for n in (16384, 65536)],
    *[Claim(f"{n} points: tables instead of merged sines, times as fast", "-", 1.05, INF,
            faster(5, LINES, "radix 4, twiddles merged", "radix 4, tables", x=n))
      for n in (16384, 65536)],
], [Plot("mixed-radix.png", "lines", LINES, "16 lines", "points")])

KERNELS, AROUND = "size of the kernel, 640x480", "around a kernel of 5x5, pixels"
FFT = "fftd, fused, any kernel"


def share(x, with_it):
    """The share of the time that is not the kernel's."""
    def measure(results, device):
        ratio = results.ratio(device, 7, AROUND, "kernel of 5x5 alone", with_it, x=x)
        return 1 - ratio if ratio is not None else None
    return measure


STEPS = "steps of a frame in fftd, pixels"
COPIES = ["map", "copy", "unmap"]
OVERHEAD = COPIES + ["arguments", "enqueue", "gap"]


def steps_ratio(x, over, under):
    """The time of some steps of fftd's frame divided by that of others; what a device does not
    report is left out."""
    def measure(results, device):
        above, below = ([results.value(device, 7, STEPS, step, x=x) for step in steps]
                        for steps in (over, under))
        total = sum(ms or 0 for ms in below)
        return sum(ms or 0 for ms in above) / total if total else None
    return measure


def chain(*techniques):
    return [(f"5x5: {after}, times as fast", before, after)
            for before, after in zip(techniques, techniques[1:])]


ROW_7 = Row(7, "ARM: spatial convolution, and what surrounds a kernel", """
Kernels of 3x3 to 63x63 on a picture of 640x480, each improvement of the guide on top of the one
before, beside fftd's whole filter, whose time is the same for every kernel. The second table adds
to a 5x5 kernel what surrounds it in a program. Overheads are the difference of two lines of one
run; on PoCL the frame is in the memory of the host already, and a copy is a copy in that memory.
The third table has the steps of a frame in fftd, as `fftd-ctl stats` shows them: a frame of bytes
from the memory of the host to the memory of the host, alone. Its first line is the whole frame.
What is sent and received overlaps with what the processor does.

The guide's rule is that the processor is the better place where overheads are like the execution
time. On a fast GPU overheads exceed the kernels at every size, and the GPU wins all the same. So
fftd compares whole frames: a search for settings ends with frames on the device and on the CPU
device, and `fftd-ctl status` shows a hint where the CPU takes less than 0.9 of the time.
""", [
    *[Claim(text, "faster", 1.05, INF, faster(7, KERNELS, slow, fast, x=5))
      for text, slow, fast in chain("plain", "common subexpressions removed", "clamp()",
                                    "saturating conversion", "vector loads, 4 pixels",
                                    "separable, two passes, vector loads")],
    Claim("size of the kernel from which the FFT beats vector loads", "large radius", 3, 63,
          crossover(7, KERNELS, "vector loads, 4 pixels", FFT)),
    Claim("size of the kernel from which the FFT beats a separable kernel", "large radius", 3, 63,
          crossover(7, KERNELS, "separable, two passes, vector loads", FFT)),
    Claim("640x480: share of copies in and out in the time", "copies dominate", 0.5, 1,
          share(640 * 480, "+ copied in and out")),
    Claim("1920x1080: share of copies in and out in the time", "copies dominate", 0.5, 1,
          share(1920 * 1080, "+ copied in and out")),
    *[Claim(f"{name}: share of map, copy and unmap in the overhead of fftd's frame",
            "copies dominate", 0.5, 1, steps_ratio(x, COPIES, OVERHEAD))
      for name, x in (("320x240", 320 * 240), ("1280x720", 1280 * 720))],
    *[Claim(f"{name}: overhead of fftd's frame, in units of its kernels' time",
            "at 1 or more, use the CPU", 0, 1, steps_ratio(x, OVERHEAD, ["kernels"]))
      for name, x in (("320x240", 320 * 240), ("1280x720", 1280 * 720))],
    Claim("640x480: share of launching row by row", "fewer launches", 0.05, 1,
          share(640 * 480, "the kernel launched for each row")),
], [Plot("convolution.png", "lines", KERNELS, "spatial convolution and FFT, 640x480",
         "size of the kernel"),
    Plot("overhead.png", "lines", AROUND, "around a kernel", "pixels"),
    Plot("steps.png", "lines", STEPS, "steps of a frame in fftd", "pixels")],
    "cache maintenance, which is part of mapping on a device that shares memory without coherence. "
    "A Mali board and its driver's counters would show it.")

BYTES, DEMOSAICING = "results of 8 bits, 160x120", "demosaicing, 640x480"
LARGE_BYTES = "results of 8 bits, 640x480"


def equal_to_others(technique):
    """The share of bytes that are equal on this device and on the one that differs most from it."""
    def measure(results, device):
        pairs = [results.compare(device, other, 8, BYTES, technique)
                 for other in results.devices if other != device]
        return min((pair[0] for pair in pairs if pair), default=None)
    return measure


def gain(results, device):
    """What gradients bring, in dB."""
    values = [results.value(device, 8, DEMOSAICING, technique, "psnr")
              for technique in ("gradients", "bilinear")]
    return values[0] - values[1] if None not in values else None


ROW_8 = Row(8, "OpenVX: the same result everywhere, and a better demosaicing", """
fftd's bytes of one picture are compared with the rounded result in double precision, and byte by
byte with those of every other device, oclgrind's simulator among them. Where two devices differ in
float, the exact value is close to the middle between two bytes. In half precision, small
differences of float arithmetic decide which of two neighbouring numbers is stored. Demosaicing by
gradients of the known colour (Malvar, He and Cutler) is measured beside the bilinear one of
OpenVX's example, which is fftd's: PSNR on a drawn scene with rings, edges and slowly changing
colours. The scene is harder than most photographs.

The front end of OpenVX's example is a chain of fftd: a mosaic, of which
`engine.planes = "luma-only"` publishes the luma, the remap as `undistort`, the Gaussian as
`convolve`, and the pseudo-Canny (Sobel, then only the greatest gradient across an edge) as the
view `edges`. The daemon runs on a chart as a lens that bends lines shows it; its pictures are
compared with a model of the graph in double precision. The graph rounds to 8 bits after each node,
and a chain of fftd once at its end, so that its pictures are nearer to the exact ones than to those
of such a graph.
""", [
    *[Claim(f"{technique}: share of bytes that are the rounded result in double precision",
            "identical", 0.999, 1,
            lambda results, device, t=technique: results.value(device, 8, LARGE_BYTES, t, "equal"))
      for technique in ("fftd, fused", "fftd, staged", "fftd, fused, half-precision spectrum")],
    *[Claim(f"{technique}: share of bytes that every other device has, too", "identical", 1, 1,
            equal_to_others(technique))
      for technique in ("fftd, fused", "fftd, staged", "fftd, fused, half-precision spectrum")],
    Claim("gradients gain over bilinear, dB", "-", 0.5, INF, gain),
    Claim("bilinear is faster than gradients, times", "-", 1.05, INF,
          faster(8, DEMOSAICING, "gradients", "bilinear")),
    *[Claim(f"front end, {step}: share of pixels that are those of the exact graph", "-", 0.999, 1,
            lambda results, device, s=step: results.value(device, 8, FRONT_END, s, "equal"))
      for step in FRONT_END_STEPS],
    Claim(f"front end, {FRONT_END_STEPS[-1]}: share of pixels that are those of a graph which "
          "rounds after each node", "-", 0.999, 1,
          lambda results, device: results.value(device, 8, FRONT_END, FRONT_END_STEPS[-1],
                                                "equal_rounding")),
], picture=Picture("front-end.png", "The chain of the front end, as the daemon published it: a "
                   "mosaic, its luma, undistorted and smoothed, and its edges (drawn brighter, and "
                   "wider)"))

HINTS = [
    ("fewer dispatches of more dimensions",
     "row 6, all rows in a launch; row 7, a launch for each row"),
    ("larger blocks, as far as registers and the cache allow",
     "row 6, blocks of 2x2 beside single numbers and 4x4"),
    ("pad to remove branches",
     "row 6, 225x175, with rows padded by one number, and with branches at odd edges"),
    ("access along the layout", "row 6, transposes merged: neighbours work on neighbours"),
    ("return early instead of computing a packed index",
     "row 6, in place: half of the work-items return at once, or an item computes its block"),
    ("more than one pixel a work-item", "row 4, 1024 bits instead of 256; row 7, vector loads"),
    ("vector loads", "row 7, vector loads of 4 pixels"),
    ("set the local size by hand", "row 6, groups of 2x4 and 1x2 instead of the driver's choice"),
]

ROW_9 = Row(9, "ARM: the hints of part 3", """
Each hint, and the row that measured it.

""" + "\n".join(["| hint | measured in |", "| --- | --- |"]
                + [f"| {hint} | {where} |" for hint, where in HINTS]), [
    Claim("all rows in a launch, 1000x1000, times as fast", "faster", 1.05, INF,
          faster(6, "steps, 1000x1000", "GPU, a launch per row, host transposes",
                 "all rows in a launch, host transposes")),
    Claim("blocks of 2x2 instead of single numbers, 3000x3000, times as fast", "faster", 1.05, INF,
          faster(6, "steps, 3000x3000", "transposed on the GPU, element by element",
                 "blocks of 2x2, out of place")),
    Claim("columns in place instead of transposes, 1920x1080, times as fast", "-", 1.05, INF,
          faster(6, "ablation, 1920x1080", "digit reversal dropped", "+ transposes merged")),
    *[Claim(f"early return instead of a packed index, {size}, times as fast", "faster", 1.05, INF,
            faster(6, f"steps, {size}", "blocks of 2x2, in place, packed index",
                   "blocks of 2x2, in place")) for size in ("1000x1000", "3000x3000")],
    Claim("rows padded by one number instead of branches, 225x175, times as fast", "faster", 1.05,
          INF, faster(6, "steps, 225x175", "blocks of 2x2, branches at odd edges",
                      "blocks of 2x2, out of place")),
    Claim("vector loads, 15x15, times as fast", "faster", 1.05, INF,
          faster(7, KERNELS, "saturating conversion", "vector loads, 4 pixels", x=15)),
    Claim("groups of 2x4, 3000x3000, times as fast", "faster", 1.05, INF,
          faster(6, "steps, 3000x3000", "blocks of 2x2, out of place",
                 "blocks of 2x2, groups of 2x4")),
], always=True)

ROWS = [ROW_1, ROW_2, ROW_3, ROW_4, ROW_5, ROW_6, ROW_7, ROW_8, ROW_9]
