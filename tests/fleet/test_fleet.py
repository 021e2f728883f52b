"""make demo-fleet with three cameras: what Prometheus, a player and a browser see of it. All tests
look at one demo, and the last one ends it."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from fleet import die_with_parent

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config/fleet"
PROMTOOL = ROOT / "build/fleet/bin/promtool"
CAMERAS = [f"camera{i}" for i in (1, 2, 3)]
PATIENCE_S = 300


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          **options)


def wait_until(condition, what):
    deadline_s = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < deadline_s, f"waited in vain for {what}"
        time.sleep(0.1)
    return value


class Demo:
    def __init__(self, log):
        self.log = log
        parent = os.getpid()
        # A session of its own, so that only what make does ends it.
        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            ["make", "-s", "demo-fleet", f"DEMO_CAMERAS={len(CAMERAS)}", "DEMO_RESTART_SECONDS=0"],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log.open("wb"), stderr=subprocess.STDOUT,
            env=dict(os.environ, FFTD_INSTALL="no"), start_new_session=True,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL, parent))
        wait_until(lambda: "Ctrl-C" in self.text() or self.process.poll() is not None, "the demo")
        assert self.process.poll() is None, self.text()
        self.view, self.prometheus, self.rtsp = (
            re.search(pattern, self.text())[1] for pattern in
            (r"(http://\S+/)  the cameras", r"(http://\S+/)alerts", r"(rtsp://\S+/)"))
        self.pid = int(re.search(r"kill -9 (\d+)", self.text())[1])

    def text(self):
        return self.log.read_text()

    def ask(self, path, **parameters):
        """The data of an answer of Prometheus."""
        url = f"{self.prometheus}api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        return self.ask("query", query=expression)["result"]

    def get(self, path):
        with urllib.request.urlopen(self.view + path, timeout=PATIENCE_S) as answer:
            return answer.read()

    def processes(self):
        """What make has started, and what that has started."""
        parents = {}
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found - {self.process.pid}


def runs(pid):
    """A process that has ended may wait for its parent."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    started = Demo(tmp_path_factory.mktemp("demo") / "log")
    yield started
    started.process.kill()
    started.process.wait()


# ---- the files, without a demo ----

def test_prometheus_accepts_the_files():
    done = run(PROMTOOL, "check", "config", CONFIG / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(PROMTOOL, "check", "rules", CONFIG / "fftd-alerts.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_when_they_have_to():
    tests = ROOT / "tests/fleet/alerts_test.yml"
    done = run(PROMTOOL, "test", "rules", tests)
    assert done.returncode == 0, done.stdout + done.stderr
    alerts = set(re.findall(r"- alert: (\w+)", (CONFIG / "fftd-alerts.yml").read_text()))
    fired = set(re.findall(r"alertname: (\w+)\n +exp_alerts:", tests.read_text()))
    quiet = set(re.findall(r"alertname: (\w+)}", tests.read_text()))
    assert alerts == fired == quiet and len(alerts) >= 6


# ---- the demo ----

def test_prometheus_sees_every_camera(demo):
    assert {result["metric"]["name"] for result in demo.query("fftd_up == 1")} == set(CAMERAS)
    rates = wait_until(lambda: len(found := demo.query("fftd_frame_rate_hertz > 1")) ==
                       len(CAMERAS) and found, "frames of all cameras")
    assert {result["metric"]["name"] for result in rates} == set(CAMERAS)
    assert [group["file"].rpartition("/")[2] for group in demo.ask("rules")["groups"]] == \
        ["fftd-alerts.yml"]


def test_every_stream_delivers_frames(demo):
    """Another program than the one that publishes decodes them."""
    players = [subprocess.Popen(
        ["ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-probesize", "32768",
         "-analyzeduration", "500000", "-i", demo.rtsp + name, "-frames:v", "10", "-f", "framemd5",
         "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) for name in CAMERAS]
    streams = [player.communicate(timeout=PATIENCE_S)[0] for player in players]
    pictures = []
    for stream in streams:
        assert "#dimensions 0: 320x240" in stream
        hashes = re.findall(r"^0,.* (\w{32})$", stream, re.M)
        assert len(hashes) == 10
        pictures.append(set(hashes))
    assert len(pictures[0]) > 5, "the scene of the first camera moves"
    assert not pictures[0] & pictures[1] and not pictures[1] & pictures[2]


def test_the_page_has_every_camera(demo):
    assert b'id="cameras"' in demo.get("")
    cameras = {camera["name"]: camera for camera in json.loads(demo.get("api/cameras"))["cameras"]}
    assert list(cameras) == CAMERAS
    for name, camera in cameras.items():
        assert camera["state"] == "online" and camera["rate"] > 1
        assert demo.get(f"camera/{name}/snapshot.jpg").startswith(b"\xff\xd8\xff")


def expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def test_every_query_of_the_dashboard_has_an_answer(demo):
    """With the variables that Grafana fills in."""
    dashboard = json.loads((CONFIG / "grafana.json").read_text())
    names = {"board": ".*", "camera": ".*", "__rate_interval": "10s"}
    asked = list(expressions(dashboard))
    assert len(asked) > 10

    def unanswered():
        return [(title, text) for title, text in asked if not demo.query(
            re.sub(r"\$(\w+)", lambda found: names[found[1]], text))]

    # A rate needs two samples.
    wait_until(lambda: not unanswered(), unanswered())
    for variable in dashboard["templating"]["list"][1:]:
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                       variable["definition"]).groups()
        found = demo.query(selector.replace("$board", ".*"))
        assert len({result["metric"][label] for result in found}) == \
            (1 if variable["name"] == "board" else len(CAMERAS))


def test_a_killed_daemon_fires_an_alert_that_ends(demo):
    def firing(name):
        return {alert["labels"]["name"] for alert in demo.ask("alerts")["alerts"]
                if alert["state"] == "firing" and alert["labels"]["alertname"] == name}

    assert not firing("FftdDaemonGone") and not firing("FftdDaemonRestarted")
    os.kill(demo.pid, signal.SIGKILL)
    wait_until(lambda: "alert FftdDaemonGone camera1 fires" in demo.text(), "the alert")
    wait_until(lambda: "camera1 is started again" in demo.text(), "the daemon")
    wait_until(lambda: not firing("FftdDaemonGone"), "the end of the alert")
    assert firing("FftdDaemonRestarted") == {"camera1"}
    # The same history as Prometheus has kept it.
    fired = demo.query('count_over_time(ALERTS{alertname="FftdDaemonGone",'
                       'alertstate="firing"}[5m])')
    assert {result["metric"]["name"] for result in fired} == {"camera1"}
    wait_until(lambda: demo.query('fftd_state{name="camera1",state="online"} == 1'), "the camera")


def test_nothing_is_left_when_make_is_killed(demo):
    count = 1 + 3 * len(CAMERAS) + 4
    # The compiler of a daemon that was started again may still run.
    wait_until(lambda: len(demo.processes()) == count, f"{count} processes")
    processes = demo.processes()
    folders = {found for pid in processes for found in re.findall(
        r"XDG_RUNTIME_DIR=(\S+?/fftd-fleet-\w+)",
        pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace"))}
    folder, = map(pathlib.Path, folders)
    assert folder.is_dir()
    demo.process.kill()
    wait_until(lambda: not any(map(runs, processes)), "the end of all processes")
    assert not folder.exists()
