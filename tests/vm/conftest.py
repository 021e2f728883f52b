"""Fixtures for the test machine: vivid, and the daemon as a service of the real systemd."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import time

import pytest
import vivid
from commands import PATIENCE, run
from dbus_peer import MEMBER, SIGNAL, Peer

# Most tests use these frames; they are small, because an emulated processor is slow at arithmetic.
SIZE = "320x180"
CLAIMS = pathlib.Path(os.environ["CLAIMS"])
figures = []  # measurements of tests, one per line


def pytest_terminal_summary(terminalreporter):
    for line in figures:
        terminalreporter.write_line(line)


def tell_host(line):
    """Prints a line, which tests/vm/test.sh shows at once and the console's log keeps."""
    pathlib.Path("/dev/console").write_text(f"tests: {line}\n")


def at_work():
    """Returns the seconds for which the processor was not idle. They are the cost of a test in an
    emulated machine, which skips idle time."""
    user, nice, system, _, _, irq, softirq = (
        int(word) for word in pathlib.Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def claim(name):
    try:
        (CLAIMS / name.replace("/", "_")).mkdir()
    except FileExistsError:
        return False
    return True


def pytest_configure(config):
    config.addinivalue_line("markers", "together: one machine runs all tests of the file, "
                                       "because they share a daemon or its compiled kernels")


def piece(item):
    """Returns the name of the unit that a machine claims: a test, or a file of tests."""
    return item.location[0] if item.get_closest_marker("together") else item.nodeid


def run_piece(items):
    for item, following in zip(items, items[1:] + [None]):
        tell_host(item.nodeid)
        begin, worked = time.monotonic(), at_work()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        tell_host(f"{time.monotonic() - begin:.1f} s, {at_work() - worked:.1f} s of them at work: "
                  f"{item.nodeid}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Several machines run these tests in parallel, and each claims tests that no other has
    claimed. The next test is not known in advance, so shared fixtures end with each claimed
    unit."""
    if session.testsfailed:
        return None  # to be collected, even: for pytest to tell
    for name, items in itertools.groupby(session.items, piece):
        if claim(name):
            run_piece(list(items))
    return True


def pytest_runtest_logreport(report):
    if not report.passed:
        tell_host(f"{report.outcome}: {report.nodeid}")
    for line in report.longreprtext.splitlines():
        tell_host(f"    {line}")


class Service:
    """fftd@NAME.service with a configuration for the test."""

    def __init__(self, name):
        self.name = name
        self.unit = f"fftd@{name}.service"
        self.config = pathlib.Path(f"/etc/fftd/{name}.conf")
        self.runtime_dir = f"/run/fftd/{name}"
        self.clients = []
        self.begin = time.time()

    def configure(self, source, filter="none", camera="", engine="", output="", size=SIZE,
                  fps=30.0):
        """All filters share one margin without tuning, because kernels take minutes to compile."""
        self.config.write_text(f'camera = {{ source = "{source}"; size = "{size}"; '
                               f'fps = {fps:.1f}; {camera} }};\nfilter = "{filter}";\n'
                               f'engine = {{ margin = 24; tune = "off"; compile_ahead = false; '
                               f'{engine} }};\n'
                               f'output = {{ checksum = true; {output} }};\n')

    def systemctl(self, verb, check=True):
        done = run("systemctl", verb, self.unit, check=False)
        assert not check or done.returncode == 0, f"systemctl {verb}: {done.stderr}{self.journal}"
        return done

    def show(self, name):
        return run("systemctl", "show", "--value", f"--property={name}", self.unit).stdout.strip()

    @property
    def journal(self):
        """Returns the journal of the service in this test."""
        return run("journalctl", "--no-pager", "-o", "cat", f"--unit={self.unit}",
                   f"--since=@{self.begin:.6f}").stdout

    @property
    def pid(self):
        return int(self.show("MainPID"))

    def ctl(self, *arguments, check=True):
        return run("fftd-ctl", "--name", self.name, *arguments, check=check)

    def status(self):
        return json.loads(self.ctl("--json", "status").stdout)

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not (value := condition()):
            assert time.monotonic() < deadline, f"waited in vain for {what}\n{self.journal}"
            time.sleep(0.1)
        return value

    def wait_for_state(self, *states):
        return self.wait_for(lambda: self.status()["State"] in states, f"state {states}")

    def wait_for_frames(self, count=5):
        """Until so many more frames are published; more than were under way."""
        before = self.status()["Counters"]["published"]
        self.wait_for(lambda: self.status()["Counters"]["published"] > before + count, "frames")

    def frame(self):
        """Returns the bytes of the next published frame, without padding."""
        return run("fftd-ctl", "--name", self.name, "frames", "--raw", "-n", "1", text=False).stdout

    def set_filter(self, chain):
        self.ctl("filter", "set", "--timeout=600", chain)  # an emulated compiler takes long

    def wait_for_filter(self):
        """Waits until frames of the newest filter are published."""
        def published():
            status = self.status()
            return status["PublishedSerial"] == status["Serial"]
        self.wait_for(published, "frames of the newest filter")

    def watch(self, frames=10**9, seconds=10 * PATIENCE):
        """Starts a client that checks consecutive frames (tests/tools/watch.c)."""
        client = subprocess.Popen(["./watch", self.name, str(frames), str(seconds)],
                                  stdout=subprocess.PIPE, text=True)
        self.clients.append(client)
        return client

    def end(self):
        for client in self.clients:
            client.kill()
        self.systemctl("stop", check=False)
        run("systemctl", "stop", *(f"fftd-{kind}@{self.name}.socket"
                                   for kind in ("frames", "watch", "control")), check=False)
        run("systemctl", "reset-failed", self.unit, check=False)
        self.config.unlink(missing_ok=True)


def watched(client):
    """Returns the report of a client of Service.watch."""
    try:
        output, _ = client.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"a client still waits for frames after {PATIENCE} s") from None
    return json.loads(output)


class States:
    """Listens to the state of a service on D-Bus."""

    def __init__(self, service):
        self.peer = Peer(service, "control-watch")
        self.peer.call("GetStats")  # makes sure that it listens
        self.state = service.status()["State"]

    def wait_for(self, *states):
        """Checks that the reported changes of state are exactly these."""
        heard = []
        deadline = time.monotonic() + PATIENCE
        while heard[-1:] != [states[-1]]:
            assert time.monotonic() < deadline, f"waited in vain for {states}, heard {heard}"
            message = self.peer.receive()
            if (message.type, message.fields.get(MEMBER)) == (SIGNAL, "PropertiesChanged"):
                told = re.search(rb"State\0\x01s\0+.\0\0\0([a-z]+)\0", message.data)
                if told and told[1].decode() != self.state:
                    self.state = told[1].decode()
                    heard.append(self.state)
        assert heard == list(states)


# v4l2.c and formats.c test both kinds of V4L2's interface. The daemon above it sees no difference,
# so most of its tests have one of them.
KINDS = ["single", "multi"] if os.environ.get("VM_KINDS") == "both" else ["multi"]


@pytest.fixture(params=KINDS)
def camera(request):
    """vivid, multi-planar unless a test says otherwise."""
    with vivid.Vivid(request.param) as loaded:
        yield loaded


@pytest.fixture
def single():
    """vivid, single-planar."""
    with vivid.Vivid("single") as loaded:
        yield loaded


@pytest.fixture
def service():
    made = Service("cam")
    yield made
    made.end()
