"""What was published, row by row: each claim with the range of figures that would reproduce it."""

import dataclasses
from typing import Callable, Optional

import caches
import front_end
from results import Figure, estimate, exactly

INF = float("inf")


@dataclasses.dataclass
class Claim:
    text: str
    published: str
    low: Optional[float]  # None: a figure without a verdict
    high: float
    measure: Callable  # of the results and a device: a Figure or None
    launches: bool = False  # the time of launches is part of the claim
    strict: bool = False  # a figure outside the range refutes it; otherwise it is less or more


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
    group: str
    title: str


@dataclasses.dataclass
class Row:
    number: int
    title: str
    text: str
    claims: list
    plots: list = dataclasses.field(default_factory=list)
    untested: str = ""
    picture: Picture = None  # that another program of the same target has drawn


def faster(row, group, slow, fast, x=None):
    """How many times as fast `fast` is as `slow`."""
    return lambda results, device: results.ratio(device, row, group, slow, fast, x)


def is_faster(text, row, group, slow, fast, x=None, published="faster", launches=False):
    return Claim(text, published, 1, INF, faster(row, group, slow, fast, x), launches)


def crossover(row, group, slow, fast):
    """The smallest size from which `fast` is the faster one at every larger size; infinite: it
    never is. The interval reaches from where it may be to where it certainly is."""
    def measure(results, device):
        ratios = [(x, results.ratio(device, row, group, slow, fast, x))
                  for x in results.sizes(device, row, group, slow, fast)]
        ratios = [(x, ratio) for x, ratio in ratios if ratio is not None]
        if not ratios:
            return None
        found = []
        for bound in ("value", "high", "low"):
            first = INF
            for x, ratio in reversed(ratios):
                if getattr(ratio, bound) <= 1:
                    break
                first = x
            found.append(first)
        return Figure(*found)
    return measure


def counted(row, group, technique, field, unit=1):
    """What was counted, in a unit, such as 1e6 bytes."""
    def measure(results, device):
        value = results.value(device, row, group, technique, field)
        return exactly(value / unit if value is not None else None)
    return measure


def count_ratio(row, group, over, under, field):
    def measure(results, device):
        counts = [results.value(device, row, group, technique, field)
                  for technique in (over, under)]
        return exactly(counts[0] / counts[1]) if all(counts) else None
    return measure


def count_difference(row, group, more, less, field, unit=1, x=None):
    def measure(results, device):
        counts = [results.value(device, row, group, technique, field, x)
                  for technique in (more, less)]
        return exactly((counts[0] - counts[1]) / unit) if None not in counts else None
    return measure


def fewer(text, row, group, more, less, *fields, published="fewer"):
    """Counted on oclgrind's simulated device."""
    def measure(results, device):
        counts = [[results.value(device, row, group, technique, field) for field in fields]
                  for technique in (more, less)]
        if any(count is None for each in counts for count in each):
            return None
        return exactly(sum(counts[0]) / sum(counts[1]))
    return Claim(text, published, 1, INF, measure, strict=True)


def width(text, row, group, technique):
    """The mean bytes of a store to global memory: less than a line of a cache is a partial write.
    """
    def measure(results, device):
        stores, size = (results.value(device, row, group, technique, field)
                        for field in ("stores", "store_bytes"))
        return exactly(size / stores) if stores else None
    return Claim(text, "-", None, INF, measure)


# ---- Intel ----

AXIS, RGB = "one axis of 512x256", "RGB, forward and inverse"
FFTD_TWIDDLES, FURTHER = "fftd's twiddles, RGB", "further optimisations, RGB"
SLM_REAL = "SLM, zero imaginary part not read"

ROW_1 = Row(1, "Intel: a pass per dispatch, or an axis per dispatch in local memory", """
UAV is a dispatch for each butterfly pass, from buffers to buffers. SLM is a dispatch for each
axis: a group loads each number of a line once into local memory, and all passes work there, the
first one in bit-reversed order. Traffic is counted: the kernels are built a second time with an
atomic counter in every access to a buffer. Two of the article's figures give SLM's traffic with
different bytes of a pixel; counting tells which of them it is. fftd moves bytes or floats, half of
the spectrum and no idle channel.
""", [
    Claim("UAV reads, MB", "75.5", 75, 76, counted(1, AXIS, "UAV", "read_bytes", 1e6), strict=True),
    Claim("UAV writes, MB", "37.7", 37, 38, counted(1, AXIS, "UAV", "written_bytes", 1e6),
          strict=True),
    Claim("SLM reads, MB", "4.2", 4.1, 4.3, counted(1, AXIS, "SLM", "read_bytes", 1e6),
          strict=True),
    Claim("SLM writes, MB", "4.2", 4.1, 4.3, counted(1, AXIS, "SLM", "written_bytes", 1e6),
          strict=True),
    Claim("SLM reads 512 x 256 x 2 times, bytes", "16 in one figure", 16, 16,
          counted(1, AXIS, "SLM", "read_bytes", 512 * 256 * 2), strict=True),
    Claim("SLM reads 512 x 256 x 2 times, bytes", "4 in another figure", 4, 4,
          counted(1, AXIS, "SLM", "read_bytes", 512 * 256 * 2), strict=True),
    Claim("UAV reads more than SLM without the zero imaginary part, times", "36", 35, 37,
          count_ratio(1, AXIS, "UAV", SLM_REAL, "read_bytes"), strict=True),
    Claim("UAV writes more than SLM, times", "8", 7.5, 8.5,
          count_ratio(1, AXIS, "UAV", "SLM", "written_bytes"), strict=True),
    is_faster("SLM is faster than UAV, times", 1, RGB, "UAV, computed", "SLM, computed"),
    is_faster("SLM is faster than UAV with tables, times", 1, RGB, "UAV, lookup table",
              "SLM, lookup table"),
    is_faster("fftd is faster than SLM with tables, times", 1, RGB, "SLM, lookup table",
              "fftd, fused", published="-", launches=True),
], [Plot("passes.png", "bars", RGB, RGB)])

ROW_2 = Row(2, "Intel: twiddles from a table, or computed", """
The table has the indices of both inputs, the cosine and the sine for each number of each pass,
which every line reads again. The article's times, 14,323 us computed and 18,079.5 us with the
table, are of SLM: their number of invocations is that of four axes of 512 x 512. On its integrated
GPU the arithmetic units were idle while they waited for memory. The times of both techniques with
both kinds of twiddles are in row 1. fftd's fused technique reads its twiddles once a butterfly of a
larger radix.
""", [
    Claim("the table adds to what an axis of 512x256 reads, MB", "18.9", 18.8, 19,
          count_difference(1, AXIS, "SLM, lookup table", "SLM", "read_bytes", 1e6), strict=True),
    Claim("SLM: computing is faster than the table, times", "1.26", 1.13, 1.4,
          faster(1, RGB, "SLM, lookup table", "SLM, computed")),
    is_faster("UAV: computing is faster than the table, times", 1, RGB, "UAV, lookup table",
              "UAV, computed", published="-"),
    is_faster("SLM: native functions are faster than the table, times", 1, RGB,
              "SLM, lookup table", "SLM, computed by native functions", published="-"),
    is_faster("fftd fused: computing is faster than reading, times", 2, FFTD_TWIDDLES,
              "fused, read", "fused, computed", published="-"),
], untested="the share of time in which execution units are active (33.0 and 17.9 %) or stalled "
            "(66.2 and 81.4 %). It needs an Intel GPU's hardware counters, which cannot be had "
            "here.")

ROW_3 = Row(3, "Intel: further optimisations that the article leaves open", """
Each change alone, all with tables and lines in local memory. Packing spreads the imaginary parts
of the three colours over the idle channel and a two-channel buffer: 24 instead of 32 bytes a
pixel. fftd needs neither, since it transforms planes of real samples as half as many complex
numbers.
""", [
    is_faster("packing is faster, times", 3, FURTHER, "SLM: idle channel, float source and result",
              "packed without an idle channel", published="expected to be"),
    is_faster("reading the source's bytes directly is faster than through a float copy, times", 3,
              FURTHER, "source bytes, through a float copy", "source bytes, read directly",
              published="expected to be"),
    is_faster("writing bytes directly is faster than through a float copy, times", 3, FURTHER,
              "result bytes, through a float copy", "result bytes, written directly",
              published="expected to be"),
    is_faster("all three together are faster, times", 3, FURTHER,
              "SLM: idle channel, float source and result",
              "packed, bytes read and written directly", published="-"),
    is_faster("fftd with bytes is faster than all three together, times", 3, FURTHER,
              "packed, bytes read and written directly", "fftd, bytes", published="-",
              launches=True),
], [Plot("further.png", "bars", FURTHER, FURTHER)])

# ---- ARM: one dimension ----

LINE, LINES, ALONE = "one line", "lines in a dispatch", "twiddle kernel alone, lines of 4096"
SCALAR, WIDE = "CPU, scalar radix 2", "vectorised radix 2, 1024 bits an item"

ROW_4 = Row(4, "ARM: a vectorised radix-2 transform", """
One line of 2^6 to 2^17 points in four kernels: two-point butterflies, four-point ones, a generic
stage of 256 or 1024 bits an item, where one set of twiddles serves four spans, and the last
stage. The scalar program on the processor is plain C, with tables. A single line is one launch a
stage, and so a device with fast arithmetic is bound by launches up to large sizes; with large
sizes a line of 2^22 points is added. fftd has no transform of one dimension; the mixed-radix
pipeline with tables stands in for it.
""", [
    Claim("points from which the device is faster than the scalar program", "4096 .. 8192",
          4096, 8192, crossover(4, LINE, SCALAR, WIDE), launches=True),
    Claim("131072 points: faster than the scalar program, times", "above 7", 7, INF,
          faster(4, LINE, SCALAR, WIDE, 131072), launches=True),
    is_faster("1024 bits an item instead of 256, times as fast", 4, LINE,
              "vectorised radix 2, 256 bits an item", WIDE),
    is_faster("mixed radix instead of vectorised radix 2, times as fast", 4, LINE, WIDE,
              "mixed radix, tables", published="-", launches=True),
    is_faster("131072 points: faster than FFTW on one thread, times", 4, LINE,
              "CPU, FFTW, one thread", WIDE, 131072, published="-", launches=True),
], [Plot("one-line.png", "lines", LINE, "one line, radix 2", "points")])

ROW_5 = Row(5, "ARM: mixed radix, and where twiddles are computed", """
Index maps and digit reversal as published; each radix has a first-stage kernel that loads vectors.
Twiddles are computed by a kernel of their own, whose ky is derived through the map from n to k or
simplified, with the angle of a step as an argument; or they are merged into the butterflies, one
dispatch a stage; or, which the articles do not try, they are read from tables. Merging saves a
dispatch for each stage after the first, and with it a read and a write of every number. A dispatch
has 4 lines with small sizes, 16, or 256 with large ones; the twiddle kernel alone has 64, or 4096
with large sizes.
""", [
    Claim("the twiddle kernel alone: simplified, times as fast", "1.6 .. 1.7", 1.5, 1.8,
          faster(5, ALONE, "through k", "simplified")),
    *[Claim(f"{n} points: merged into the butterflies, times as fast", "about 1.5", 1.35, 1.65,
            faster(5, LINES, "radix 4, twiddle kernel simplified", "radix 4, twiddles merged", n))
      for n in (256, 4096, 65536)],
    Claim("65536 points: dispatches that merging saves", "a stage less one", 7, 7,
          count_difference(5, LINES, "radix 4, twiddle kernel simplified",
                           "radix 4, twiddles merged", "dispatches", x=65536), strict=True),
    fewer("merging: fewer loads and stores, times", 5, LINES, "radix 4, twiddle kernel simplified",
          "radix 4, twiddles merged", "loads", "stores"),
    fewer("radix 4 instead of 2: fewer loads and stores, times", 5, LINES,
          "radix 2, twiddles merged", "radix 4, twiddles merged", "loads", "stores"),
    Claim("65536 points: traffic that merging saves, MB", "-", None, INF,
          count_difference(5, LINES, "radix 4, twiddle kernel simplified",
                           "radix 4, twiddles merged", "moved_bytes", 1e6, 65536)),
    *[Claim(f"{n} points: radix 4 instead of 2, times as fast", "1.7", 1.5, 1.9,
            faster(5, LINES, "radix 2, twiddles merged", "radix 4, twiddles merged", n))
      for n in (16384, 65536)],
    Claim("65536 points: dispatches that radix 4 instead of 2 saves", "half of the stages", 8, 8,
          count_difference(5, LINES, "radix 2, twiddles merged", "radix 4, twiddles merged",
                           "dispatches", x=65536), strict=True),
    *[is_faster(f"{n} points: radices to 8 instead of 4, times as fast", 5, LINES,
                "radix 4, twiddles merged", "radix 8, 4 and 2, twiddles merged", n, "-")
      for n in (16384, 65536)],
    *[is_faster(f"{n} points: tables instead of merged sines, times as fast", 5, LINES,
                "radix 4, twiddles merged", "radix 4, tables", n, "-") for n in (16384, 65536)],
], [Plot("mixed-radix.png", "lines", LINES, "mixed radix", "points")])

# ---- ARM: two dimensions ----

ELEMENTS, BLOCKS = "element by element", "blocks of 2x2, out of place"
IN_PLACE = "blocks of 2x2, in place"
TRANSPOSITION, ODD = "transposition alone", "transposition of odd sizes"
CACHES = caches.GROUP
RADICES, SIDES = "mixed radix and radix 2, pixels a side", (120, 1000, 3000)


def steps(side):
    name = f"steps, {side}x{side}"
    host, element = "all rows in a launch, host transposes", f"transposed on the GPU, {ELEMENTS}"
    return [is_faster(f"{side}x{side}: {text}, times as fast", 6, name, slow, fast,
                      launches=text.startswith("rows"))
            for text, slow, fast in (
                ("rows launched together instead of one by one",
                 "GPU, a launch per row, host transposes", host),
                ("transposed on the GPU instead of the host", host, element),
                ("blocks of 2x2 instead of single elements", element, BLOCKS),
                ("in place instead of out of place", BLOCKS, IN_PLACE),
                ("groups by hand instead of the driver's choice", IN_PLACE,
                 f"{IN_PLACE}, groups by hand"))]


def ablation(size):
    name = f"ablation, {size}"
    chain = ["their pipeline, with tables", "digit reversal dropped", "+ transposes merged",
             "+ real input", "+ load, product and store fused",
             "+ stages fused through local memory"]
    found = [is_faster(f"{size}: {after.lstrip('+ ')}, times as fast", 6, name, before, after,
                       published="open question", launches=True)
             for before, after in zip(chain, chain[1:])]
    return found + [is_faster(f"{size}: fftd is faster than their pipeline, times", 6, name,
                              chain[0], "fftd, fused", published="-", launches=True)]


ROW_6 = Row(6, "ARM: two dimensions, and the closing question", """
The steps are cumulative as published: a plain program on the CPU, kernels launched for each row,
all rows in one launch, the transpose on the GPU by single elements, by blocks of 2x2, in place,
and with groups set by hand: 2x4 where they divide the blocks, otherwise 1x2, otherwise what the
driver chooses. Twiddles are computed in the butterflies, as published; only the plain program has
a table. All steps filter a picture of 8 bits. As a transpose is a small part of them, it is
measured alone as well, with forms that the article does not have. Its stores and the misses of
caches are counted, as a Mali's hardware counters would: stores by oclgrind, and misses by
cachegrind, with the caches of a Mali-T760 and items that run one after another, which a GPU's do
not.

Mixed radix takes any size; radix 2 needs a picture that is padded to powers of two, so that its
time grows in steps. Both have tables here.

The article closes with a question: what would it bring to drop the digit reversal, and to merge
the transpose? The ablation changes one thing at a time, from their pipeline, with tables, to ours.
Dropped digit reversal: each stage writes to another buffer in the order that needs none. Merged
transposes: columns are transformed where they are, with neighbouring work-items on neighbouring
columns. Real input: a row of 2 n samples is transformed as n complex numbers. Fused: the first
stage loads bytes, the first inverse stage multiplies, the last one stores bytes. Through local
memory: rows, columns and rows in three dispatches.
""", [claim for side in SIDES for claim in steps(side)] + [
    is_faster("transposition alone: blocks of 2x2 instead of single elements, times as fast", 6,
              TRANSPOSITION, ELEMENTS, BLOCKS),
    is_faster("transposition alone: in place instead of out of place, times as fast", 6,
              TRANSPOSITION, BLOCKS, IN_PLACE),
    is_faster("transposition alone: groups by hand, out of place, times as fast", 6, TRANSPOSITION,
              BLOCKS, f"{BLOCKS}, groups by hand"),
    is_faster("transposition alone: groups by hand, in place, times as fast", 6, TRANSPOSITION,
              IN_PLACE, f"{IN_PLACE}, groups by hand"),
    is_faster("transposition alone: blocks of 2x2 instead of 4x4, times as fast", 6, TRANSPOSITION,
              "blocks of 4x4, out of place", BLOCKS),
    *[width(f"transposition alone: bytes of a store, {form}", 6, TRANSPOSITION, form)
      for form in (ELEMENTS, BLOCKS, "blocks of 4x4, out of place")],
    *[fewer(f"transposition alone: {text}, fewer misses of the {cache} cache, times", 6, CACHES,
            more, less, f"{cache}_misses")
      for text, more, less in (("blocks of 2x2 instead of single elements", ELEMENTS, BLOCKS),
                               ("in place instead of out of place", BLOCKS, IN_PLACE))
      for cache in ("first", "last")],
    *[is_faster(f"{side}x{side}: mixed radix instead of radix 2, times as fast", 6, RADICES,
                "radix 2, padded to powers of two", "mixed radix", side) for side in SIDES],
] + ablation("640x480") + ablation("1000x1000") + ablation("1920x1080"),
    [Plot("radices.png", "lines", RADICES, "a filtered square", "pixels a side"),
     Plot("ablation-640x480.png", "bars", "ablation, 640x480", "640x480, from theirs to ours"),
     Plot("ablation-1920x1080.png", "bars", "ablation, 1920x1080",
          "1920x1080, from theirs to ours")],
    "all of this on the Mali-T760 itself; `make bench-articles DEVICE=mali` on an RK3288 would "
    "test it. Power cannot be measured here.")

# ---- ARM: convolution ----

GUIDE, KERNELS = "the guide's RGB kernel of 3x3", "size of the kernel"
AROUND, STEPS = "around a kernel of 5x5, pixels", "steps of a frame in fftd, pixels"
SPATIAL, SEPARABLE = "spatial, vector loads of 4 pixels", "separable, vector loads of 4 pixels"
COPIES = ["map", "copy", "unmap"]
OVERHEAD = COPIES + ["arguments", "enqueue", "gap"]
FRAMES = (("160x120", 160 * 120), ("640x480", 640 * 480), ("1920x1080", 1920 * 1080))


def share_of_copies(x):
    """The share of the time around a kernel that is not the kernel's."""
    def measure(results, device):
        ratio = results.ratio(device, 7, AROUND, "kernel of 5x5 alone", "+ copied in and out", x)
        return ratio and Figure(1 - ratio.value, 1 - ratio.high, 1 - ratio.low)
    return measure


def frame_ratio(x, over, under):
    """The time of some steps of fftd's frame divided by that of others, frame by frame."""
    def measure(results, device):
        times = [results.frames(device, 7, STEPS, x, names) for names in (over, under)]
        if any(each is None for each in times):
            return None
        count = min(map(len, times))
        above, below = times[0][:count], times[1][:count]
        return estimate(above[below > 0] / below[below > 0])
    return measure


def largest_of_buffers(x):
    """The time of copying divided by the longer one of mapping and unmapping."""
    def measure(results, device):
        ratios = [frame_ratio(x, ["copy"], [step])(results, device) for step in ("map", "unmap")]
        ratios = [ratio for ratio in ratios if ratio is not None]
        return min(ratios, key=lambda ratio: ratio.value, default=None)
    return measure


GUIDE_STEPS = ["plain", "addresses computed once", "clamp()", "saturating conversion",
               "vector loads, 8 bytes an item"]

ROW_7 = Row(7, "ARM: spatial convolution, and what surrounds a kernel", """
First the guide's kernel of 3x3 on pixels of three bytes, in its order, each improvement on top of
the one before. In the plain one addresses and indices are computed for each of the three channels,
and sums are short integers that are divided after the loops.

Then kernels of 3x3 to 63x63 on a grey picture of 640x480 (with small sizes 320x240, with large ones
1920x1080): spatial convolution with vector loads, the same in two passes, and fftd with the same
kernel. A larger kernel costs fftd a wider margin, and saves lines of the spectrum in which its
response is negligible.

The next table adds to a kernel of 5x5 what surrounds it in a program. On PoCL the frame is in the
memory of the host already, and a copy is a copy in that memory. The last one has the steps of a
frame in fftd, as `fftd-ctl stats` shows them: a frame of bytes from the memory of the host to the
memory of the host, alone. Its first line is the whole frame. What is sent and received overlaps
with what the processor does.

The guide says that driver overhead is a small part of the whole, which is taken as less than half
here, and that copying is the largest part of preparing buffers. Its rule is that the processor is
the better place where overheads are like the execution time. fftd compares whole frames: a search
for settings ends with frames on the device and on the CPU device, and with `engine.device = "auto"`
they are filtered on the CPU device where it takes less than 0.9 of the time.
""", [
    *[is_faster(f"3x3, RGB: {after}, times as fast", 7, GUIDE, before, after)
      for before, after in zip(GUIDE_STEPS, GUIDE_STEPS[1:])],
    *[fewer(f"3x3, RGB: {after}, fewer instructions, times", 7, GUIDE, before, after,
            "instructions") for before, after in zip(GUIDE_STEPS, GUIDE_STEPS[1:])],
    fewer("3x3, RGB: vector loads, fewer loads and stores, times", 7, GUIDE, *GUIDE_STEPS[-2:],
          "loads", "stores"),
    is_faster("63x63: the FFT is faster than spatial convolution, times", 7, KERNELS, SPATIAL,
              "fftd, fused", 63, "at a large radius", True),
    is_faster("63x63: the FFT is faster than a separable kernel, times", 7, KERNELS, SEPARABLE,
              "fftd, fused", 63, "at a large radius", True),
    Claim("size from which the FFT is faster than spatial convolution", "-", None, INF,
          crossover(7, KERNELS, SPATIAL, "fftd, fused")),
    Claim("size from which the FFT is faster than a separable kernel", "-", None, INF,
          crossover(7, KERNELS, SEPARABLE, "fftd, fused")),
    *[Claim(f"{name}: share of copies in and out around a kernel of 5x5",
            "overhead is a small part", -INF, 0.5, share_of_copies(x), launches=True, strict=True)
      for name, x in FRAMES],
    *[Claim(f"{name}: share of all overhead in fftd's frame", "overhead is a small part", 0, 0.5,
            frame_ratio(x, OVERHEAD, ["whole frame"]), strict=True) for name, x in FRAMES],
    *[Claim(f"{name}: copying, in units of mapping or unmapping",
            "copying is the largest part of preparing buffers", 1, INF, largest_of_buffers(x))
      for name, x in FRAMES],
    *[Claim(f"{name}: overhead of fftd's frame, in units of its kernels' time", "-", None, INF,
            frame_ratio(x, OVERHEAD, ["kernels"])) for name, x in FRAMES],
], [Plot("convolution.png", "lines", KERNELS, "spatial convolution and FFT",
         "size of the kernel"),
    Plot("overhead.png", "lines", AROUND, "around a kernel", "pixels"),
    Plot("steps.png", "lines", STEPS, "steps of a frame in fftd", "pixels")],
    "cache maintenance, which is part of mapping on a device that shares memory without coherence. "
    "A Mali board and its driver's counters would show it.")

# ---- OpenVX ----

BYTES = ("results of 8 bits, 160x120", "results of 8 bits, 640x480")
DEMOSAICING, PHOTOGRAPHS, REMAP = "demosaicing", "photographs", "remap"
ONE = "a pixel an item"
FORMS = ("fftd, fused", "fftd, staged", "fftd, fused, half-precision spectrum")
FRONT_END, FRONT_END_STEPS = front_end.GROUP, list(front_end.STEPS)


def equal_to_others(technique):
    """The smallest share of bytes, at any size, that are equal on this device and another one."""
    def measure(results, device):
        pairs = [results.compare(device, other, 8, name, technique)
                 for other in results.devices if other != device for name in BYTES]
        return exactly(min((pair[0] for pair in pairs if pair), default=None))
    return measure


def least_equal(technique):
    """The smallest share of bytes, at any size, that are the rounded exact result."""
    def measure(results, device):
        shares = [results.value(device, 8, name, technique, "equal") for name in BYTES]
        return exactly(min((share for share in shares if share is not None), default=None))
    return measure


def least_gain(results, device):
    """What gradients bring on the photograph on which they bring the least, in dB."""
    lines = [lines for (d, r, g, _), lines in results.groups.items()
             if (d, r, g) == (device, 8, PHOTOGRAPHS)]
    gains = [line["gradients_psnr"] - line["bilinear_psnr"]
             for group in lines for line in group.values()]
    return exactly(min(gains, default=None))


ROW_8 = Row(8, "OpenVX: the same result everywhere, and a better demosaicing", """
fftd's bytes of one picture are compared with the rounded result in double precision, and byte by
byte with those of every other device, oclgrind's simulator among them, at 160x120 and 640x480. The
worse size counts. Where two devices differ in float, the exact value is close to the middle between
two bytes. In half precision, small differences of float arithmetic decide which of two neighbouring
numbers is stored. Demosaicing by gradients of the known colour (Malvar, He and Cutler) is measured
beside the bilinear one of OpenVX's example: its time on each device, and the PSNR of both, which is
no device's, in double precision on photographs of scikit-image.

Its remap is measured with four samples that the kernel reads and interpolates, and with an image
that the texture unit interpolates. Frames come into buffers, so that a texture unit needs a copy
of each; its places are exact, because fftd's table has them in 1/32 of a pixel.

The front end of OpenVX's example is a chain of fftd: a mosaic, of which
`engine.planes = "luma-only"` publishes the luma, the remap as `undistort`, the Gaussian as
`convolve`, and the pseudo-Canny (Sobel, then only the greatest gradient across an edge) as the
view `edges`. The daemon runs on a chart as a lens that bends lines shows it; its pictures are
compared with a model of the graph in double precision. The graph rounds to 8 bits after each node,
and a chain of fftd once at its end, so that its pictures are nearer to the exact ones than to those
of such a graph.
""", [
    *[Claim(f"{technique}: share of bytes that are the rounded result in double precision",
            "identical", 0.999, 1, least_equal(technique), strict=True) for technique in FORMS],
    *[Claim(f"{technique}: share of bytes that every other device has, too", "identical", 1, 1,
            equal_to_others(technique), strict=True) for technique in FORMS],
    Claim("gradients gain over bilinear on every photograph, dB", "-", 0.5, INF, least_gain),
    is_faster("bilinear is faster than gradients, times", 8, DEMOSAICING, "gradients", "bilinear",
              published="-"),
    is_faster("remap: the texture unit instead of four samples, times as fast", 8, REMAP,
              f"by the kernel, {ONE}", f"by the texture unit, {ONE}", published="-"),
    is_faster("remap: the texture unit with a copy instead of four samples, times as fast", 8,
              REMAP, f"by the kernel, {ONE}", "by the texture unit, the frame copied to it",
              published="-"),
    *[Claim(f"front end, {step}: share of pixels that are those of the exact graph", "-", 0.999, 1,
            lambda results, device, s=step: exactly(
                results.value(device, 8, FRONT_END, s, "equal")), strict=True)
      for step in FRONT_END_STEPS],
    Claim(f"front end, {FRONT_END_STEPS[-1]}: share of pixels that are those of a graph which "
          "rounds after each node", "-", None, INF,
          lambda results, device: exactly(results.value(device, 8, FRONT_END, FRONT_END_STEPS[-1],
                                                        "equal_rounding"))),
], picture=Picture(
    "front-end.png", FRONT_END, "The chain of the front end, as the daemon published it: a mosaic, "
    "its luma, undistorted and smoothed, and its edges (drawn brighter, and wider)"))

# ---- ARM: the hints ----

HINTS = [
    ("fewer dispatches of more dimensions", "row 6, all rows in a launch"),
    ("larger blocks, as far as registers and the cache allow",
     "row 6, blocks of 2x2 beside single numbers and 4x4"),
    ("pad to remove branches",
     "row 6, odd sizes, with rows padded by one number, and with branches at the edges"),
    ("access along the layout", "row 6, transposes merged: neighbours work on neighbours"),
    ("return early instead of computing a packed index",
     "row 6, in place: half of the work-items return at once, or an item computes its block"),
    ("independent work-items",
     "row 6, a dispatch a stage beside stages whose items wait for each other in local memory"),
    ("more than one pixel a work-item", "row 4, 1024 bits instead of 256; row 7, vector loads"),
    ("vector loads", "row 7, vector loads of 8 bytes"),
    ("set the local size by hand", "row 6, groups by hand instead of the driver's choice"),
]

ROW_9 = Row(9, "ARM: the hints of part 3", """
Each hint, and the row that measured it; below the table what is in no other row.

""" + "\n".join(["| hint | measured in |", "| --- | --- |"]
                + [f"| {hint} | {where} |" for hint, where in HINTS]), [
    is_faster("rows padded by one number instead of branches, times as fast", 6, ODD,
              "branches at odd edges, blocks of 2x2", "padded by one number, blocks of 2x2"),
    is_faster("early return instead of a packed index, times as fast", 6, TRANSPOSITION,
              f"{IN_PLACE}, packed index", IN_PLACE),
    *[is_faster(f"{size}: independent items instead of stages in local memory, times as fast", 6,
                f"ablation, {size}", "+ stages fused through local memory",
                "+ load, product and store fused") for size in ("640x480", "1920x1080")],
], untested="power, and a Mali's own hardware counters, which cannot be had here. What simulators "
            "count instead, instructions, accesses of memory and misses of caches, is in rows 5 "
            "to 7.")

ROWS = [ROW_1, ROW_2, ROW_3, ROW_4, ROW_5, ROW_6, ROW_7, ROW_8, ROW_9]
