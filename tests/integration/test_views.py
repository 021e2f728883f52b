"""Views: what clients read instead of the filtered picture, against models in double precision that
are written from the formulas of the manual and share no code with the daemon."""

import json
import re

import numpy
import pytest

from client import Reader
from conftest import FAST_KERNELS
from dbus_peer import Peer
from model import (ARGUMENTS, HEIGHT, WIDTH, Model, chain, distance, edge_levels, pixels,
                   write_scene)
from png import Png

FLAG_VIEW = 32
FILTER = 1.5, 0.8
BLACK_DB, WHITE_DB = -120, -20


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("views") / "scene.y4m"
    return path, write_scene(path)


@pytest.fixture
def start_clip(start, clip):
    """All daemons have the same kernels, which are compiled once."""
    def start_daemon(*arguments):
        daemon = start(*ARGUMENTS, *FAST_KERNELS, "--filter", chain(*FILTER), *arguments,
                       source=f"file:{clip[0]}", size=None, fps=None)
        daemon.wait_for_log("online")
        daemon.wait_for_socket()
        return daemon
    return start_daemon


@pytest.fixture
def daemon(start_clip):
    return start_clip()


def frames_of(daemon, view):
    """Chooses a view; returns the frames before the change, and those from it on."""
    with Reader(daemon) as reader:
        newest = daemon.ctl_json("filter", "show")["Serial"]
        first = reader.take_until(lambda frame: frame.filter_serial >= newest)[-1]
        serial = daemon.change("view", view)
        *before, after = reader.take_until(lambda frame: frame.filter_serial > newest)
        assert after.filter_serial == serial
        return [first, *before], [after, reader.next()]


def nearest_pixel(length, padded):
    """Of each frequency, in the order of numpy's transform."""
    return (numpy.floor(numpy.arange(padded) * length / padded + 0.5).astype(int)
            + length // 2) % length


def spectrum_levels(model, response):
    """What a client should read, before it is rounded."""
    magnitude = numpy.abs(model.spectrum * response) / model.spectrum.size / 255
    greatest = numpy.zeros((HEIGHT, WIDTH))
    rows, columns = (nearest_pixel(length, padded)
                     for length, padded in zip((HEIGHT, WIDTH), magnitude.shape))
    numpy.maximum.at(greatest, (rows[:, None], columns[None, :]), magnitude)
    with numpy.errstate(divide="ignore"):
        decibels = 20 * numpy.log10(greatest)
    return 255 * numpy.clip((decibels - BLACK_DB) / (WHITE_DB - BLACK_DB), 0, 1)


def test_views_follow_each_other_frame_by_frame(daemon, clip, record_property):
    """Each frame is the picture or a view as its serial and its flag say."""
    _, scene = clip
    model = Model(scene, daemon.ctl_json("status")["Engine"])
    picture = numpy.rint(model.filtered(model.response(*FILTER)))

    before, after = frames_of(daemon, "difference")
    published = pixels(before[0])
    assert distance(published, picture) <= 1
    for frame in before:
        assert not frame.flags & FLAG_VIEW
        assert distance(pixels(frame), published) == 0
    expected = numpy.clip(128 + 2 * (scene.astype(float) - published), 0, 255)
    assert numpy.ptp(expected) > 60
    for frame in after:
        assert frame.flags & FLAG_VIEW
        assert distance(pixels(frame), expected) == 0

    before, after = frames_of(daemon, "spectrum")
    assert all(distance(pixels(frame), expected) == 0 for frame in before)
    levels = spectrum_levels(model, model.response(*FILTER))
    assert numpy.unravel_index(levels.argmax(), levels.shape) == (HEIGHT // 2, WIDTH // 2)
    assert levels.min() < 100
    errors = [distance(pixels(frame), levels) for frame in after]
    assert all(frame.flags & FLAG_VIEW for frame in after)
    record_property("figures", f"spectrum: at most {max(errors):.3f} steps from the model")
    assert max(errors) <= 0.55

    # Another filter leaves the view as it is.
    daemon.ctl("filter", "set", chain(0.5, 1))
    serial = daemon.ctl_json("filter", "show")["Serial"]
    with Reader(daemon) as reader:
        frame = reader.take_until(lambda frame: frame.filter_serial >= serial)[-1]
    assert distance(pixels(frame), spectrum_levels(model, model.response(0.5, 1))) <= 0.55
    daemon.ctl("filter", "set", chain(*FILTER))

    _, after = frames_of(daemon, "picture")
    for frame in after:
        assert not frame.flags & FLAG_VIEW
        assert distance(pixels(frame), published) == 0


def test_edges_are_those_of_the_published_picture(daemon, record_property):
    before, after = frames_of(daemon, "edges")
    expected = edge_levels(pixels(before[0]))
    assert not before[0].flags & FLAG_VIEW and after[0].flags & FLAG_VIEW
    errors = [distance(pixels(frame), expected) for frame in after]
    record_property("figures", f"edges: at most {max(errors):.3f} from the model, "
                    f"{100 * (expected > 0).mean():.0f} % of the pixels")
    assert max(errors) <= 0.501 and expected.max() > 15
    assert 0.1 < (expected > 0).mean() < 0.6
    assert all((pixels(frame)[expected == 0] == 0).all() for frame in after)


def test_the_view_is_shown_and_changed_by_those_who_may(daemon, clip, tmp_path):
    assert daemon.ctl("view").stdout == "picture\n"
    with Peer(daemon, "control-watch") as watcher:
        refused = watcher.call("SetView", "difference")
        assert "AccessDenied" in refused.error
    serial = daemon.ctl_json("filter", "show")["Serial"]
    refused = daemon.ctl("view", "differnce", check=False)
    assert refused.returncode == 65
    for word in ("differnce", "picture", "difference", "spectrum", "peaks", "edges", "motion"):
        assert word in refused.stderr
    assert daemon.ctl_json("filter", "show")["Serial"] == serial

    assert daemon.ctl("view", "difference").stdout.split()[:2] == ["filter", str(serial + 1)]
    daemon.wait_until(lambda: daemon.ctl("view").stdout == "difference\n", "the view")
    assert daemon.ctl_json("view") == {"View": "difference", "PublishedView": "difference"}
    assert re.search("^view +difference$", daemon.ctl("status").stdout, re.M)

    # A snapshot still has the captured picture.
    daemon.ctl("snapshot", "before", "-o", str(tmp_path / "before.png"))
    before = Png((tmp_path / "before.png").read_bytes())
    rows = numpy.array([[before.pixel(x, y) for x in range(WIDTH)] for y in range(0, HEIGHT, 30)])
    assert distance(rows[:, :, 1], clip[1][::30]) == 0


def test_the_configuration_chooses_the_view(start_clip, tmp_path):
    path = tmp_path / "fftd.conf"
    path.write_text('engine = { view = "spectrum"; };\n')
    daemon = start_clip("--config", str(path))
    with Reader(daemon) as reader:
        assert reader.next().flags & FLAG_VIEW
    path.write_text('engine = { view = "picture"; };\n')
    daemon.ctl("reload")
    daemon.wait_for_log("reloaded: engine.view = picture")
    with Reader(daemon) as reader:
        reader.take_until(lambda frame: not frame.flags & FLAG_VIEW)
    # A client's choice lasts until the file asks for another one.
    daemon.ctl("view", "difference")
    path.write_text('engine = { view = "pictures"; };\n')
    refused = daemon.ctl("reload", check=False)
    assert refused.returncode == 78 and "engine.view" in refused.stderr
    assert json.loads(daemon.ctl("view", "--json").stdout)["View"] == "difference"
