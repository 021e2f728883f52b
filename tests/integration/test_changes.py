"""Changes at 30 a second: four clients check that each frame was made by exactly the filter whose
serial it carries. CHANGE_SECONDS is the length; `make test-changes` runs it for a minute."""

import functools
import os
import threading
import time

import pytest

from client import Reader
from dbus_peer import Peer
from model import ARGUMENTS, Model, chain, distance, pixels, write_scene

SECONDS = float(os.environ.get("CHANGE_SECONDS", "3"))
CHANGES_PER_SECOND = 30
CLIENTS = 4
FIRST_SERIAL = 1
NEIGHBOURS = 4


@pytest.fixture(autouse=True)
def limit_time():
    """The suite has a limit that depends on CHANGE_SECONDS."""


def filter_of(serial):
    """A blur and a gain. Those of near serials are far apart, because the steps are the ratios of a
    low-discrepancy sequence in two dimensions."""
    return 0.4 + 2 * (serial * 0.7548776662 % 1), 0.3 + 0.7 * (serial * 0.5698402910 % 1)


class Client(threading.Thread):
    """Reads every frame that it can get, up to the first one with the last serial."""

    def __init__(self, daemon, expected, last_serial):
        super().__init__()
        self.daemon_under_test = daemon
        self.expected = expected
        self.last_serial = last_serial
        self.checked = self.missed = 0
        self.serials = set()
        self.problem = None

    def check(self, frame, newest):
        assert frame.filter_serial >= newest, "a serial went back"
        error = distance(pixels(frame), self.expected(*filter_of(frame.filter_serial)))
        assert error <= 1, f"frame {frame.sequence} of filter {frame.filter_serial}: {error}"
        self.checked += 1
        self.missed += frame.missed
        self.serials.add(frame.filter_serial)

    def run(self):
        newest = 0
        try:
            with Reader(self.daemon_under_test) as reader:
                for frame in reader.frames():
                    self.check(frame, newest)
                    newest = frame.filter_serial
                    if newest == self.last_serial:
                        return
        except BaseException as problem:  # the test's own thread raises it
            self.problem = problem


def change(daemon, last_serial):
    """Makes the changes on time, and late ones at once. Returns the time it took."""
    begin = time.monotonic()
    with Peer(daemon) as peer:
        for serial in range(FIRST_SERIAL + 1, last_serial + 1):
            sigma, gain = filter_of(serial)
            answer = peer.edit(["set", "gaussian-blur", "sigma", str(sigma)],
                               ["set", "gain", "ac", str(gain)], based_on=serial - 1)
            assert answer.number == serial
            due = begin + (serial - FIRST_SERIAL) / CHANGES_PER_SECOND
            time.sleep(max(0, due - time.monotonic()))
    return time.monotonic() - begin


def test_every_frame_is_made_by_the_filter_of_its_serial(start, tmp_path, record_property):
    scene = write_scene(tmp_path / "scene.y4m")
    daemon = start(*ARGUMENTS, "--filter", chain(*filter_of(FIRST_SERIAL)),
                   source=f"file:{tmp_path}/scene.y4m", size=None, fps=None)
    daemon.wait_for_log("online")
    model = Model(scene, daemon.ctl_json("status")["Engine"])
    expected = functools.cache(lambda sigma, gain: model.filtered(model.response(sigma, gain)))
    changes = int(SECONDS * CHANGES_PER_SECOND)
    last_serial = FIRST_SERIAL + changes

    # A frame that passes the check below for its own serial fails it for its neighbours', and so
    # does one with only a half of a change.
    for serial in range(FIRST_SERIAL, min(last_serial, 100)):
        sigma, gain = filter_of(serial)
        near = [filter_of(serial + i) for i in range(1, NEIGHBOURS + 1)]
        others = near + [(near[0][0], gain), (sigma, near[0][1])]
        assert min(distance(expected(sigma, gain), expected(*other)) for other in others) > 2

    clients = [Client(daemon, expected, last_serial) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    seconds = change(daemon, last_serial)
    for client in clients:
        client.join()
    for client in clients:
        if client.problem is not None:
            raise client.problem

    applied = set().union(*(client.serials for client in clients)) - {FIRST_SERIAL}
    record_property("figures", f"{changes} changes in {seconds:.1f} s, {len(applied)} of them seen "
                    "in frames; frames checked by each client: "
                    + ", ".join(str(client.checked) for client in clients) + "; missed: "
                    + ", ".join(str(client.missed) for client in clients))
    assert all(client.checked >= SECONDS for client in clients)
    assert not daemon.ctl_json("status")["FilterProblem"]
