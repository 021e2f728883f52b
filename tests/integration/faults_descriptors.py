"""Tests of a daemon that may open only a few files: it says what it lacks and exits, or it serves
as many clients as it can."""

import contextlib
import os
import pathlib
import socket
import time

import pytest

from client import Reader
from conftest import FAST_KERNELS
from faults_allocations import SYSEXITS, wait_for_start

ENOUGH = 32


def cpu_s(daemon):
    fields = pathlib.Path(f"/proc/{daemon.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def connect_many(daemon, stack):
    """Connects more often than the daemon can open files; the kernel's backlog takes the rest."""
    for name, kind in (("frames", socket.SOCK_SEQPACKET), ("control-watch", socket.SOCK_STREAM)):
        for _ in range(ENOUGH):
            client = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            client.setblocking(False)
            if client.connect_ex(str(daemon.runtime_dir / name)) != 0:
                break


@pytest.mark.parametrize("limit", range(8, ENOUGH + 1))
def test_few_descriptors(start, limit):
    daemon = start(*FAST_KERNELS, "--set", "camera.format=GREY", size="64x48", fps="30",
                   wrapper=["prlimit", f"--nofile={limit}:{limit}"])
    code = wait_for_start(daemon)
    assert f"the limit of open files is {limit}" in daemon.log
    if code is not None:
        assert code in SYSEXITS and limit < ENOUGH, daemon.log
        assert "error: " in daemon.log or "failed: " in daemon.log
        return
    with contextlib.ExitStack() as stack:
        connect_many(daemon, stack)
        before_s, begin_s = cpu_s(daemon), time.process_time()
        while time.process_time() - begin_s < 0.5:
            pass  # a loop of the daemon that never sleeps would get as much, on a busy machine too
        assert cpu_s(daemon) - before_s < 0.2
        assert daemon.process.poll() is None
    daemon.wait_until(lambda: serves(daemon, limit), "room for a client")
    assert daemon.stop() == 0


def serves(daemon, limit):
    """Whether a reader gets frames, and a client an answer. With very few descriptors it is enough
    that the log says why they do not."""
    try:
        with Reader(daemon) as reader:
            reader.next()
        answered = daemon.ctl("status", check=False).returncode == 0
    except AssertionError:
        answered = False
    return answered or (limit < ENOUGH and "Too many open files" in daemon.log)
