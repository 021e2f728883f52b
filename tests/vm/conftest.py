"""What tests in the test machine share: vivid, and the daemon as a service of the real systemd."""

import json
import pathlib
import subprocess
import time

import pytest
import vivid

# A kernel's first build takes seconds; nothing that works waits for this.
PATIENCE = 120
figures = []  # what tests measured, a line each


def pytest_terminal_summary(terminalreporter):
    for line in figures:
        terminalreporter.write_line(line)


def run(*command, check=True):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


class Service:
    """fftd@NAME.service with a configuration of the test's own."""

    def __init__(self, name):
        self.name = name
        self.unit = f"fftd@{name}.service"
        self.config = pathlib.Path(f"/etc/fftd/{name}.conf")

    def configure(self, source, filter="none", camera="", engine="", output=""):
        """One margin for all filters, and no tuning: what kernels take to compile is minutes."""
        self.config.write_text(f'camera = {{ source = "{source}"; size = "640x360"; fps = 30.0; '
                               f'{camera} }};\nfilter = "{filter}";\n'
                               f'engine = {{ margin = 24; tune = "off"; {engine} }};\n'
                               f'output = {{ checksum = true; {output} }};\n')

    def systemctl(self, verb, check=True):
        done = run("systemctl", verb, self.unit, check=False)
        assert not check or done.returncode == 0, f"systemctl {verb}: {done.stderr}{self.journal}"
        return done

    def show(self, name):
        return run("systemctl", "show", "--value", f"--property={name}", self.unit).stdout.strip()

    @property
    def journal(self):
        return run("journalctl", "--no-pager", "-o", "cat", f"--unit={self.unit}").stdout

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

    def set_filter(self, chain):
        self.ctl("filter", "set", chain)

    def wait_for_filter(self):
        """Until frames of the newest filter are published."""
        def published():
            status = self.status()
            return status["PublishedSerial"] == status["Serial"]
        self.wait_for(published, "frames of the newest filter")

    def watch(self, frames, seconds=PATIENCE):
        """Starts a client that checks consecutive frames (tests/tools/watch.c)."""
        return subprocess.Popen(["./watch", self.name, str(frames), str(seconds)],
                                stdout=subprocess.PIPE, text=True)


def watched(client):
    """What a client of Service.watch found."""
    output, _ = client.communicate(timeout=2 * PATIENCE)
    return json.loads(output)


@pytest.fixture(params=["single", "multi"])
def camera(request):
    """vivid, single-planar and multi-planar."""
    with vivid.Vivid(request.param) as loaded:
        yield loaded


@pytest.fixture
def service():
    made = Service("cam")
    yield made
    made.systemctl("stop", check=False)
    run("systemctl", "stop", *(f"fftd-{kind}@{made.name}.socket"
                               for kind in ("frames", "watch", "control")), check=False)
    run("systemctl", "reset-failed", made.unit, check=False)
