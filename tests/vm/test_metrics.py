"""Tests of fftd-metrics@.service: the file that node_exporter serves, while the camera's service
and this one are killed and stopped."""

import os
import pathlib
import pwd
import re
import stat

import pytest
from conftest import Service
from commands import run
from test_view import DYNAMIC_USERS, groups_of, status_of

FILE = pathlib.Path("/run/fftd-metrics/cam/fftd.prom")


def read():
    """The metrics as node_exporter reads them: as another user."""
    nobody = pwd.getpwnam("nobody")
    os.setegid(nobody.pw_gid)
    os.seteuid(nobody.pw_uid)
    try:
        return FILE.read_text() if FILE.exists() else ""
    finally:
        os.seteuid(0)
        os.setegid(0)


def value(name):
    """Of a metric of the camera; None: it has none."""
    found = re.search(rf'^{name}{{name="cam"}} (\S+)$', read(), re.M)
    return float(found[1]) if found else None


@pytest.fixture
def metrics(service):
    service.configure("pattern:bars")
    made = Service("cam")
    made.unit = "fftd-metrics@cam.service"
    yield made
    run("systemctl", "stop", made.unit, check=False)


def test_each_side_may_be_killed(metrics, service):
    # The camera's service is not there yet, and this one does not start it.
    metrics.systemctl("start")
    metrics.wait_for(lambda: value("fftd_up") == 0, "the state of a camera without a daemon")
    assert service.show("ActiveState") == "inactive"
    service.systemctl("start")
    service.wait_for_state("online")
    metrics.wait_for(lambda: value("fftd_up") == 1, "the daemon")
    assert value("fftd_frames_published_total") > 0
    process = metrics.pid
    user, = set(status_of(process)["Uid"].split())
    assert int(user) in DYNAMIC_USERS and groups_of(process) == {"fftd"}
    assert stat.S_IMODE(FILE.stat().st_mode) == 0o644

    # The daemon is killed, and systemd starts another one.
    first = value("fftd_start_time_seconds")
    run("systemctl", "kill", "-s", "KILL", "--kill-who=main", service.unit)
    metrics.wait_for(lambda: (value("fftd_start_time_seconds") or first) > first, "the next daemon")
    assert value("fftd_up") == 1 and metrics.pid == process

    # This service is killed, and systemd starts it again.
    run("systemctl", "kill", "-s", "KILL", "--kill-who=main", metrics.unit)
    metrics.wait_for(lambda: metrics.pid not in (0, process) and value("fftd_up") == 1,
                     "the next file")
    assert service.show("NRestarts") == "1"

    # The camera's service is stopped with its sockets: that is told, and changes nothing.
    process = metrics.pid
    service.end()
    metrics.wait_for(lambda: value("fftd_up") == 0, "the end of the daemon")
    assert service.show("ActiveState") == "inactive" and metrics.pid == process

    # The file is removed, because node_exporter would go on serving an old one.
    metrics.systemctl("stop")
    assert not FILE.exists()
