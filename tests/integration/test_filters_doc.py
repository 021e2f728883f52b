"""docs/FILTERS.md says what the program does: its text, its formulas and its pictures."""

import cmath
import math
import pathlib
import re
import sys
import tempfile
import time

import pytest

from conftest import BUILD, DEVICE, FAST_KERNELS
from dbus_peer import Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/demo"))
import filters  # noqa: E402, pylint: disable=wrong-import-position

KINDS = filters.read_kinds(BUILD)
FREQUENCIES = [(0.0, 0.0), (0.02, 0.0), (0.1, 0.0), (0.0, 0.15), (0.25, -0.125), (-0.3, 0.2),
               (-0.21, -0.13), (0.24, 0.24), (0.4, 0.4), (-0.07, 0.45)]


@pytest.fixture
def daemon(start, tmp_path):
    filters.write_images(tmp_path / "images", 160, 120)
    # Filters that move pixels do not leave colours where they are.
    daemon = start(*FAST_KERNELS, "--set", "engine.planes=all",
                   env={"FFTD_IMAGE_DIR": str(tmp_path / "images")})
    daemon.wait_for_socket()
    return daemon


def delayed(function, pause_s):
    def call(*operands, **keywords):
        time.sleep(pause_s)
        return function(*operands, **keywords)
    return call


def test_the_text_is_that_of_the_program():
    assert filters.TEXT.read_text() == filters.text(KINDS, filters.read_docs(KINDS)), \
        "run make docs-filters"


def test_each_kind_has_its_pictures():
    kinds = [kind["name"] for kind in KINDS]
    found = {path.name: path.stat().st_size for path in filters.PICTURES.iterdir()}
    assert found.keys() == {f"{kind}-{what}.png" for kind in kinds for what in
                            ("effect", "response")}
    assert sum(found.values()) < 75e3 * len(kinds) and max(found.values()) < 1e5


@pytest.mark.skipif("san" in BUILD.name, reason="a sanitized library cannot be loaded into Python")
@pytest.mark.parametrize("name", ["shift", "stack"])
def test_pictures_are_the_same_each_time(name, tmp_path, monkeypatch):
    """An object moves over the scene of `shift`, and the noise of `stack` differs from frame to
    frame."""
    kind = next(kind for kind in KINDS if kind["name"] == name)
    scene = filters.read_docs(KINDS)[name]["scene"]
    monkeypatch.setattr(filters, "PICTURES", tmp_path)
    monkeypatch.setenv("DEVICE", DEVICE)
    drawn = []
    for pause_s in (0, 0.3):
        monkeypatch.setattr(filters.Daemon, "run", delayed(filters.Daemon.run, pause_s))
        with tempfile.TemporaryDirectory(prefix="fftd-test-") as directory:
            filters.draw(BUILD, directory, kind, scene)
        drawn.append((tmp_path / f"{name}-effect.png").read_bytes())
    assert drawn[0] == drawn[1]


def test_the_page_has_small_ones():
    found = {path.name: path.read_bytes() for path in filters.PAGE.iterdir()}
    assert found == filters.page_pictures(KINDS), "run make docs-filters"
    assert sum(map(len, found.values())) < 3e4


# ---- formulas ----

def read_image(name):
    """Rows of numbers, or a PGM as text, whose white is 1."""
    lines = [line.partition("#")[0] for line in (ROOT / "config/images" / name).open()]
    if lines[0].strip() != "P2":
        return [list(map(float, line.split())) for line in lines if line.strip()]
    columns, _, white, *samples = map(int, " ".join(lines[1:]).split())
    return [[sample / white for sample in samples[at:at + columns]]
            for at in range(0, len(samples), columns)]


def image_names(rows, fx, fy):
    """What formulas call parts of an image: its mask M, its transform T, its sum S ..."""
    n, total = len(rows) * len(rows[0]), sum(map(sum, rows))

    def around(x, y):
        left, top = math.floor(x), math.floor(y)
        return sum((1 - abs(x - column)) * (1 - abs(y - row)) *
                   rows[row % len(rows)][column % len(rows[0])]
                   for column in (left, left + 1) for row in (top, top + 1))
    return {"n": n, "S": total, "d": [[each - total / n for each in row] for row in rows],
            "M": lambda x, y: around(len(rows[0]) // 2 + len(rows[0]) * x,
                                     len(rows) // 2 + len(rows) * y),
            "T": sum(each * cmath.exp(-2j * math.pi * (fx * (x - len(row) // 2) +
                                                       fy * (y - len(rows) // 2)))
                     for y, row in enumerate(rows) for x, each in enumerate(row))}

SHAPES = {  # as the introduction writes them
    "ideal": (lambda d, n: float(d <= 1), lambda d, n: float(d > 1)),
    "butterworth": (lambda d, n: 1 / math.sqrt(1 + d ** (2 * n)),
                    lambda d, n: 1 / math.sqrt(1 + d ** (-2 * n)) if d > 0 else 0),
    "gaussian": (lambda d, n: 2 ** (-d ** 2 / 2),
                 lambda d, n: 1 - (1 - math.sqrt(1 / 2)) ** (d ** 2)),
}


def evaluate(text, names):
    text = re.sub(r"\bpass\(", "pass_(", text).replace("^", "**")
    return eval(text, {"__builtins__": {}}, names)  # pylint: disable=eval-used


def distance(fx, fy, at):
    """To the nearer of two points, around the circle of frequencies."""
    return min(math.hypot(math.remainder(fx - x, 1), math.remainder(fy - y, 1))
               for x, y in (at, (-at[0], -at[1])))


def bessel(x):
    """J1, by its integral."""
    turns = [(step + 0.5) * math.pi / 200 for step in range(200)]
    return sum(math.cos(turn - x * math.sin(turn)) for turn in turns) / 200


def blur(text, parameters, names):
    """One of "B for gaussian, B for disk, B for motion", g = ... already known."""
    text = dict(reversed(each.split(" for ")) for each in text.split(", "))[parameters["blur"]]
    return evaluate(text, {**names, "J1": bessel, "f": names["f"] or 1e-9, "g": names["g"] or 1e-9})


def convolved(summand, parameters, names):
    """The sum over a kernel; the anchor turns only its phase."""
    rows = parameters["kernel"]
    scale = 1 / sum(map(sum, rows)) if parameters["normalise"] == "sum" else 1
    return abs(scale * sum(weight * evaluate(summand, {**names, "x": x, "y": y})
                           for y, row in enumerate(rows) for x, weight in enumerate(row)))


def ratio(summand, divisor, names):
    """A sum over taps divided by another one, as a function of f."""
    def total(text, f):
        return sum(evaluate(text, {**names, "n": n, "f": f}) for n in range(-40, 41))
    return lambda f: total(summand, f) / total(divisor, 0)


def computed(formula, parameters, fx, fy):
    """|H| as the formula has it. Phases are checked by test_filters.py, which sees frames.

    A formula may use fx, fy, f, pi, i, the parameters of its kind, sin, cos, exp, sqrt, abs, and
    what it defines after a comma: D(f), G(f), B(f), w(n), B, m, s or g, as below. A kind with one
    of these parameters also has: a, the angle from `angle` to (fx, fy); g and h, f along and
    across `along`; x and y of `by`; r, the distance from `at`. MORE below has further
    chains to evaluate."""
    first, *rest = re.split(r", (?=stop|\w+ at f = 0|\w+(?:\([fn]\))? = )",
                            formula.removeprefix("H = ").partition("; ")[0])
    f, shape = math.hypot(fx, fy), SHAPES[parameters.get("shape", "ideal")]
    names = {"f": f, "fx": fx, "fy": fy, "pi": math.pi, "i": 1j, "floor": math.floor, **parameters,
             **{name: getattr(cmath, name) for name in ("sin", "cos", "exp", "sqrt")},
             "abs": abs, "conj": lambda z: complex(z).conjugate(), "S": None, "T": None,
             "pass_": lambda d: shape[0](abs(d), parameters["order"]),
             "stop": lambda d: shape[1](abs(d), parameters["order"])}
    if "image" in parameters and not formula.startswith("H = 1;"):
        names |= image_names(read_image(parameters["image"]), fx, fy)
        if "kernel(" in formula:
            parameters = {**parameters, "kernel": read_image(parameters["image"])}
    if "at" in parameters:
        names["r"] = distance(fx, fy, parameters["at"])
    if "by" in parameters:
        names["x"], names["y"] = parameters["by"]
    if "along" in parameters:
        names["g"], names["h"] = {"x": (fx, fy), "y": (fy, fx)}[parameters["along"]]
    if "blur" in parameters:
        names["angle"] = math.radians(parameters["angle"])
        names["noise"] = parameters["noise"] or 0.007   # drawn responses have no estimate
    elif "angle" in parameters:
        names["a"] = math.remainder(math.degrees(math.atan2(fy, fx)) - parameters["angle"], 180)
    if "keep" in parameters:
        branches = dict(reversed(branch.removeprefix("D = ").rsplit(" ", 1)) for branch in rest
                        if branch.endswith("side"))
        names["D"] = evaluate(branches[parameters["keep"]], names)
    for each in reversed(rest):
        if special := re.fullmatch(r"(\w+) at f = 0", each):
            if f == 0:
                return abs(evaluate(special[1], names))
        elif named := re.fullmatch(r"m = (.*)", each):
            names["m"] = evaluate(named[1], names)
        elif named := re.fullmatch(r"s = (.*above.*)", each):
            names["s"] = evaluate(named[1], {**names, "above": parameters["above"] or 1e-9}).real
        elif named := re.fullmatch(r"B = (.*)", each):
            names["B"] = blur(named[1], parameters, names)
        elif named := re.fullmatch(r"g = (.*angle.*)", each):
            names["g"] = evaluate(named[1], names).real
        elif named := re.fullmatch(r"w\(n\) = (.*)", each):
            names["w"] = lambda n, named=named: evaluate(named[1], {**names, "n": n})
        elif named := re.fullmatch(r"([DG])\(f\) = sum of (.*) / sum of (.*)", each):
            names[named[1]] = ratio(named[2], named[3], names)
        elif named := re.fullmatch(r"B\(f\) = (.*)", each):
            # The limit of sin(n x) / sin(x) at 0 is n, which a small number comes close to.
            names["B"] = lambda x, named=named: evaluate(named[1], {**names, "f": x or 1e-6})
        else:  # prose about a name that is computed above, or a branch
            assert each.partition(" = ")[0] in names or each.endswith("side") or \
                "kernel" in parameters, each
    if "kernel" in parameters:
        return convolved(first.partition("S * sum of kernel(x, y) * ")[2].partition(",")[0],
                         parameters, names)
    if " * sum of d(x, y) * " in first:
        factor, _, summand = first.partition(" * sum of d(x, y) * ")
        squares = sum(each ** 2 for row in names["d"] for each in row)
        factor = evaluate(factor.replace("sum of d(x, y)^2", "squares"),
                          {**names, "squares": squares})
        return abs(factor * sum(each * evaluate(summand, {**names, "x": x, "y": y})
                                for y, row in enumerate(names["d"]) for x, each in enumerate(row)))
    return abs(evaluate(first, names))


MORE = ["lowpass:cutoff=0.2,shape=butterworth,order=3", "highpass:cutoff=0.1,shape=ideal,dc=0.5",
        "bandpass:low=0.05,high=0.3,shape=butterworth", "notch:at=0.45/0.1,width=0.3",
        "convolve:kernel=1 2 3/4 5 6,anchor=1/0,normalise=sum", "gradient:along=y,dc=0.3",
        "wiener:blur=image,image=lens-blur.txt,noise=0.01",
        "convolve:image=lens-blur.txt,normalise=sum", "mask:image=corner.txt,gain=0.5",
        "wiener:blur=motion,size=7,angle=30,noise=0.007", "wiener:size=2,noise=0.1,falloff=1.5",
        "directional:angle=-70,width=50,keep=outside,shape=butterworth,above=0.1",
        "box-blur:radius=2.3", "gaussian-blur:sigma=0.7", "sharpen:sigma=0.3",
        "gradient:sigma=0.5"]


@pytest.mark.parametrize("chain", [kind["example"].partition(" | ")[0] for kind in KINDS] +
                         MORE)
def test_the_formula_is_the_response(daemon, chain):
    """The stage as the daemon shows it has every parameter."""
    kind = daemon.ctl_json("filter", "kinds", chain.partition(":")[0])
    daemon.ctl("filter", "set", chain)
    stage, = daemon.ctl_json("filter", "show")["FilterStages"]
    with Peer(daemon) as peer:
        magnitudes = peer.call("GetResponse", chain, *map(list, zip(*FREQUENCIES))).numbers
    for (fx, fy), magnitude in zip(FREQUENCIES, magnitudes, strict=True):
        expected = computed(kind["formula"], stage["parameters"], fx, fy)
        assert magnitude == pytest.approx(expected, abs=1e-6), (fx, fy)
