"""The rebuilt techniques of the articles are right, and a mistake in a kernel is found; what
write.py says of figures follows from their intervals."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy
import pytest

import caches
import claims
import counts
import front_end
import photographs
import write
from results import Figure, Results, estimate

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ.get("FFTD_BUILD", "build")) / "tests/bench/articles"
DOCS = HERE.parents[2] / "docs"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


# ---- the techniques ----

@pytest.mark.parametrize("row", range(1, 9))
def test_every_technique_of_a_row_is_right(row):
    done = run("--quick", str(row))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right, " in done.stdout
    assert "failed: " not in done.stdout


@pytest.mark.parametrize("arguments, text", [
    (["9"], "9: expected"), (["--group", "no such group"], "no group"),
    (["--sizes", "huge"], "--sizes: expected"), (["--json", "file"], "--json needs --commit")])
def test_arguments_that_would_measure_nothing_are_errors(arguments, text):
    done = run("--quick", *arguments)
    assert done.returncode != 0 and text in done.stderr


# In each file one mistake; the rest of the driver must find it.
MUTATIONS = {
    "UAV copies its input": (
        "intel.cl", "line + n * along, scale * butterfly(a, b, in.w) COUNTERS_PASSED",
        "line + n * along, load_source(in_re, in_im, line + n * along COUNTERS_PASSED) "
        "COUNTERS_PASSED", ["1", "--group", "RGB"], "the error of the spectrum"),
    "twiddles of intel.cl are swapped": (
        "intel.cl", "in.w = (float2)(c, s);", "in.w = (float2)(s, c);",
        ["1", "--group", "one axis"], "the error of the spectrum"),
    "a kernel of intel.cl does not compile": (
        "intel.cl", "struct inputs {", "struct inputs ", ["1", "--group", "one axis"],
        "CL_BUILD_PROGRAM_FAILURE"),
    "twiddles of arm.cl are swapped": (
        "arm.cl", "return a * turn.x + TURN(a) * turn.y;", "return a * turn.y + TURN(a) * turn.x;",
        ["5", "--group", "lines"], "the error of the result"),
    "a stage of arm.cl does nothing": (
        "arm.cl", "LEGS_##R(GET) dft_##R(x); ", "LEGS_##R(GET) ; ", ["6", "--group", "mixed radix"],
        "the error of the result"),
    "a kernel of arm.cl does not compile": (
        "arm.cl", "kernel void transpose(", "kernel void transpose_(", ["6", "--group", "steps"],
        "CL_INVALID_KERNEL_NAME"),
    "a convolution copies its input": (
        "convolution.cl", "vstore8(convert_uchar8_sat(sum / scale), 0, out",
        "vstore8(vload8(0, in + x + 3 + (y + 1) * PITCH), 0, out", ["7", "--group", "the guide"],
        "the error of the result"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_in_a_kernel_is_found(tmp_path, name):
    file, right, wrong, arguments, text = MUTATIONS[name]
    for path in HERE.glob("*.cl"):
        shutil.copy(path, tmp_path)
    source = (tmp_path / file).read_text()
    assert source.count(right) == 1, f"{file} no longer has {right}"
    (tmp_path / file).write_text(source.replace(right, wrong))
    done = run("--quick", "--kernels", str(tmp_path), *arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    assert text in done.stderr


# ---- the models in Python ----

def test_a_wrong_picture_of_the_front_end_is_named():
    lines = [{"technique": "luma", "equal": 1.0}, {"technique": "edges", "equal": 0.99}]
    assert [text.partition(":")[0] for text in front_end.wrong_steps(lines)] == ["edges"]
    assert front_end.wrong_steps([{"technique": "nothing", "equal": float("nan")}])


def test_demosaicing_keeps_what_it_knows_and_slopes():
    y, x = numpy.mgrid[:32, :48].astype(float)
    slope = numpy.stack([40 + x, 60 + 2 * y, 80 + x + y], axis=2)
    mosaic = photographs.mosaic_of(slope)
    for method in photographs.WEIGHTS:
        result = photographs.demosaiced(mosaic, method)
        assert numpy.array_equal(photographs.mosaic_of(result), mosaic)
        assert numpy.abs(result - slope)[4:-4, 4:-4].max() <= 0.5


# ---- counts ----

def test_accesses_are_counted_with_the_technique_that_ran():
    output = """technique: 6|transposition|1024|element by element
Instructions executed for kernel 'transpose_elements':
            2048 - add
            1024 - load global (8192 bytes)
              16 - load local (64 bytes)
technique: 6|transposition|1024|with branches
               3 - call _Z7vstore4Dv4_fmPU3AS1f()
               5 - call _Z7vload16mPU3AS1Kh()
               7 - call _Z12vload_half4mPU3AS1KDh()
"""
    elements, branches = counts.parse(output).values()
    assert elements == {"instructions": 3088, "loads": 1024, "load_bytes": 8192, "stores": 0,
                        "store_bytes": 0}
    assert branches == {"instructions": 15, "loads": 12, "load_bytes": 5 * 16 + 7 * 8,
                        "stores": 3, "store_bytes": 48}


def test_misses_are_those_of_the_kernel():
    text = """events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=arm.cl
fn=transpose
10 9 9 9 5 3 2 5 4 1
11 9 9 9 5 30 20 5 40 10
fn=main
12 9 9 9 5 1000 1000 5 1000 1000
fn=exchange_blocks
13 9 9 9 5 100 0 5 0 0
summary: 1 1 1 1 1 1 1 1 1
"""
    assert caches.misses_of(text, "transpose") == (177, 33)


# ---- verdicts ----

def claim(low, high, published="faster", **fields):
    return claims.Claim("a claim", published, low, high, None, **fields)


@pytest.mark.parametrize("figure, of, word", [
    (Figure(1.2, 1.1, 1.3), claim(1, claims.INF), "reproduced"),
    (Figure(1.2, 1.1, 1.3), claim(1, claims.INF, "-"), "yes"),
    (Figure(0.8, 0.7, 0.9), claim(1, claims.INF), "refuted"),
    (Figure(1.2, 0.9, 1.3), claim(1, claims.INF), "not decided"),
    (Figure(1.01, 0.98, 1.03), claim(1, claims.INF), "no difference"),
    (Figure(1.01, 1.01, 1.01), claim(1, claims.INF), "reproduced"),
    (Figure(1, 1, 1), claim(1, claims.INF), "no difference"),
    (Figure(1.2, 1.1, 1.3, True), claim(1, claims.INF), "not decided, launches"),
    (Figure(1.2, 1.1, 1.3, True), claim(1, claims.INF, launches=True), "reproduced"),
    (Figure(1.25, 1.2, 1.3), claim(1.13, 1.4, "1.26"), "reproduced"),
    (Figure(1.25, 1.1, 1.3), claim(1.13, 1.4, "1.26"), "not decided"),
    (Figure(1.08, 1.05, 1.1), claim(1.13, 1.4, "1.26"), "less"),
    (Figure(0.5, 0.4, 0.6), claim(1.13, 1.4, "1.26"), "refuted"),
    (Figure(2, 1.9, 2.1), claim(1.13, 1.4, "1.26"), "more"),
    (Figure(9, 9, 9), claim(7.5, 8.5, "8", strict=True), "refuted"),
    (Figure(0.92, 0.9, 0.95), claim(-claims.INF, 0.5, strict=True), "refuted"),
    (Figure(claims.INF, 4096, claims.INF), claim(4096, 8192), "refuted"),
    (Figure(2, 2, 2), claim(None, claims.INF), None),
])
def test_a_verdict_is_about_the_whole_interval(figure, of, word):
    assert write.judge(figure, of) == word


def test_an_interval_needs_enough_pairs_and_holds_the_ratio():
    noise = numpy.random.RandomState(7).normal(1, 0.2, 31)
    figure = estimate(1.2 * noise)
    assert figure.low < 1.2 < figure.high and figure == estimate(1.2 * noise)
    assert figure.high - figure.low > 0.05
    assert estimate(numpy.full(14, 1.2)) is None
    assert estimate(numpy.full(15, 1.2)).low == pytest.approx(1.2)


def line(technique, turns_ms, dispatches=1, state="ok", **fields):
    return {"technique": technique, "state": state, "turns_ms": turns_ms, "dispatches": dispatches,
            "why": "", "read_bytes": None, "written_bytes": None, "moved_bytes": None, **fields}


def store(folder, groups, launch_ms=0.001):
    """groups: {(row, group, x): lines}"""
    groups = {(7, "launches", 0): [line("a launch", [256 * launch_ms] * 15, 256)], **groups}
    with open(folder / "articles-test.jsonl", "w", encoding="utf-8") as file:
        run_line = {"bench": "articles", "device": "NVIDIA X", "machine": "m", "load": 0.1,
                    "date": "2000-01-01", "commit": "c", "sizes": "large"}
        file.write(json.dumps(run_line) + "\n")
        for (row, name, x), lines in groups.items():
            for each in lines:
                file.write(json.dumps({"row": row, "group": name, "x": x, **each}) + "\n")
    return Results(folder)


def test_ratios_are_of_pairs_at_the_largest_common_size(tmp_path):
    load = numpy.linspace(1, 9, 15)  # of the machine, the same for both turns of a round
    results = store(tmp_path, {
        (6, "g", 1): [line("slow", [5.0] * 15), line("fast", [1.0] * 15)],
        (6, "g", 2): [line("slow", list(3 * load)), line("fast", list(2 * load))],
        (6, "g", 3): [line("slow", [1.0] * 15), line("fast", [], state="failed")]})
    figure = results.ratio("NVIDIA", 6, "g", "slow", "fast")
    assert figure == Figure(1.5, 1.5, 1.5, False)
    assert results.ratio("NVIDIA", 6, "g", "slow", "fast", 3) is None


def test_launches_decide_nothing_about_kernels(tmp_path):
    results = store(tmp_path, {(6, "g", 1): [line("slow", [0.0018] * 15),
                                             line("fast", [0.0015] * 15)]})
    assert results.ratio("NVIDIA", 6, "g", "slow", "fast").launches


def test_a_technique_that_never_wins_is_refuted(tmp_path):
    groups = {(4, claims.LINE, x): [line(claims.SCALAR, [1.0] * 15, 0),
                                    line(claims.WIDE, [2.0 + x] * 15)] for x in (1, 2)}
    results = store(tmp_path, groups)
    found = claims.ROW_4.claims[0]
    figure = found.measure(results, "NVIDIA")
    assert figure.value == claims.INF
    assert write.verdict(figure, found) == "never: refuted"
    assert "never: refuted" in write.document(results)


def test_the_document_is_what_the_results_say():
    results = Results(DOCS / "results")
    if not results.files:
        pytest.skip("docs/results has no articles-*.jsonl: make bench-articles writes one")
    assert all(run_line["sizes"] != "quick" for device, runs in results.runs.items()
               for run_line in runs if device != "oclgrind"), "sizes that mean nothing"
    assert (DOCS / "ARTICLES.md").read_text() == write.document(results)
