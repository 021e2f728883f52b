"""fftd-ctl filter plot: the image against responses computed here from their formulas."""

import os

import numpy
import pytest

from conftest import FAST_KERNELS
from png import Png
from test_ctl import assert_refused

# The image, as the manual page describes it, and the plane and the profile in it.
WIDTH, HEIGHT, SIDE, TOP, PLANE_LEFT, PROFILE_LEFT = 1303, 608, 512, 32, 96, 754
MEAN, RANGE, WHITE = (0, 0, 128), (160, 200, 240), (255, 255, 255)


@pytest.fixture
def daemon(start):
    daemon = start(*FAST_KERNELS)
    daemon.wait_for_socket()
    return daemon


# ---- the formulas ----

def gaussian_pass(d):
    """1 at d = 0, and half of the power is left at d = 1."""
    return 2.0 ** (-d * d / 2)


def gaussian_stop(d):
    return 1 - (1 - 0.5 ** 0.5) ** (d * d)


def lowpass(fx, fy):
    return gaussian_pass(numpy.hypot(fx, fy) / 0.1)


def notch(fx, fy):
    """Of width 0.08 at 0.25, -0.125, beside a gain that goes beyond 1."""
    return 1.5 * gaussian_stop(numpy.minimum(numpy.hypot(fx - 0.25, fy + 0.125),
                                             numpy.hypot(fx + 0.25, fy - 0.125)) / 0.04)


def wedge(fx, fy):
    """30 degrees from the x axis towards the y axis, 20 degrees wide."""
    off = (numpy.degrees(numpy.arctan2(fy, fx)) - 30 + 90) % 180 - 90
    return numpy.where(numpy.hypot(fx, fy) == 0, 1, gaussian_pass(off / 10))


def directional(fx, fy):
    """0.5 and -0.5 are the same frequency, so both get the mean."""
    return numpy.where(abs(fx) == 0.5, (wedge(fx, fy) + wedge(-fx, fy)) / 2,
                       numpy.where(abs(fy) == 0.5, (wedge(fx, fy) + wedge(fx, -fy)) / 2,
                                   wedge(fx, fy)))


def faint(fx, fy):
    return numpy.where(numpy.hypot(fx, fy) == 0, 0, 0.003)


CHAINS = [
    ("lowpass:cutoff=0.1", lowpass, 1),
    ("notch:at=0.25/-0.125,width=0.08 | gain:dc=-1.5,ac=-1.5", notch, 2),
    ("directional:angle=30,width=20", directional, 1),
    ("gain:dc=0,ac=0.003", faint, 0.005),
]


@pytest.mark.parametrize("chain, response, end", CHAINS, ids=[each[1].__name__ for each in CHAINS])
def test_the_plane_and_the_profile_show_the_response(daemon, tmp_path, chain, response, end):
    daemon.ctl("filter", "plot", tmp_path / "plot.png", *chain.split(" | "))
    plot = Png((tmp_path / "plot.png").read_bytes())
    assert (plot.width, plot.height) == (WIDTH, HEIGHT)
    pixels = numpy.array([list(row) for row in plot.rows]).reshape(HEIGHT, WIDTH, 3)

    fx, fy = numpy.meshgrid(numpy.arange(SIDE) / SIDE - 0.5, numpy.arange(SIDE) / SIDE - 0.5)
    plane = pixels[TOP:TOP + SIDE, PLANE_LEFT:PLANE_LEFT + SIDE]
    assert (plane == plane[..., :1]).all(), "the plane is grey"
    assert abs(plane[..., 0] - 255 * abs(response(fx, fy)) / end).max() < 1

    angles = numpy.arange(0, numpy.pi, numpy.pi / 360)
    rows = numpy.arange(SIDE)[:, None]
    for column in range(0, SIDE + 1, 16):
        around = response(column / 1024 * numpy.cos(angles), column / 1024 * numpy.sin(angles))
        least, mean, greatest = (TOP + SIDE - 1 - (SIDE - 1) * value / end for value in (
            around.min(), around.mean(), around.max()))
        shown = pixels[TOP:TOP + SIDE, PROFILE_LEFT + column]
        line, area = (shown == MEAN).all(1), (shown == RANGE).all(1)
        assert line[min(max(round(mean) - TOP, 0), SIDE - 1)]
        outside = (rows[:, 0] + TOP < greatest - 2) | (rows[:, 0] + TOP > least + 2)
        assert (line | area)[~outside & (rows[:, 0] + TOP > greatest) &
                             (rows[:, 0] + TOP < least)].all()
        assert not area[outside].any()


def test_without_a_chain_it_is_the_filter_in_use(daemon, tmp_path):
    daemon.ctl("filter", "set", "notch:at=0.1/0.2,width=0.05", "sharpen:amount=2")
    before = daemon.ctl_json("filter", "show")
    assert daemon.ctl("filter", "plot", tmp_path / "used.png").stdout == f"{tmp_path}/used.png\n"
    daemon.ctl("filter", "plot", tmp_path / "same.png", before["Filter"])
    daemon.ctl("filter", "plot", tmp_path / "none.png", "none")
    daemon.ctl("filter", "plot", tmp_path / "preset.png", "preset:moire")
    used, same, none, preset = ((tmp_path / f"{name}.png").read_bytes()
                                for name in ("used", "same", "none", "preset"))
    assert used == same and len({used, none, preset}) == 3
    assert daemon.ctl_json("filter", "show") == before


@pytest.mark.parametrize("chain", ["lowpas:cutoff=0.1", "lowpass:cutoff=0.7", "preset:nowhere",
                                   "lowpass:cutoff=0.1 | notch:at=0.25/0", "x" * 9000])
def test_a_bad_chain_is_refused_as_when_it_is_set(daemon, tmp_path, chain):
    (tmp_path / "kept.png").write_text("precious")
    set_said = daemon.ctl("filter", "set", chain, check=False)
    for name in ("new.png", "kept.png"):
        done = daemon.ctl("filter", "plot", tmp_path / name, chain, check=False)
        assert_refused(done, 65)
        assert done.stderr.replace("filter plot", "filter set") == set_said.stderr
    assert [path.name for path in tmp_path.glob("*.png*")] == ["kept.png"]
    assert (tmp_path / "kept.png").read_text() == "precious"


def test_an_existing_file_is_replaced_and_a_link_is_not_followed(daemon, tmp_path):
    target, planted = tmp_path / "target", tmp_path / "planted.png"
    target.write_text("precious")
    planted.symlink_to(target)
    for _ in range(2):
        daemon.ctl("filter", "plot", planted)
        assert Png(planted.read_bytes()).width == WIDTH
    assert target.read_text() == "precious" and not planted.is_symlink()
    assert_refused(daemon.ctl("filter", "plot", "/none/plot.png", check=False), 73, "/none")
    assert_refused(daemon.ctl("filter", "plot", tmp_path, check=False), 73, str(tmp_path))
    assert list(tmp_path.glob("*.new-*")) == []
    if os.path.exists("/dev/full"):
        assert_refused(daemon.ctl("filter", "plot", "/dev/full", check=False), 74, "/dev/full")
