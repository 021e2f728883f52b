#!/usr/bin/python3
"""Many cameras, a media server, a Prometheus and one page, on this machine and without root.

    fleet.py BUILD PROGRAMS [--cameras N] [--seconds S] [--restart-after S]

Each camera is a daemon of its own on a test scene, with a process that publishes it to the media
server and one that writes its metrics, as the units fftd@, fftd-stream@ and fftd-metrics@ run them
on a board. PROGRAMS/bin has what programs.sh has found. The configuration of Prometheus is that of
config/fleet, with shorter times.

A daemon that is killed is started again when Prometheus has noticed. Everything ends with Ctrl-C,
after SECONDS, or with the process that has started this one."""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
CONFIG = TESTS.parent / "config/fleet"
INTEGRATION = TESTS / "integration"
sys.path.insert(0, str(INTEGRATION))
from unit import command_of  # noqa: E402 pylint: disable=wrong-import-position
SIZE, FPS = "320x240", "12"
# Chains whose kernels are the same, so that they are compiled once.
SCENES = (("moire", "notch:at=0.21/0.13,width=0.12 | notch:at=-0.13/0.21,width=0.12"),
          ("scene", "sharpen:amount=1,sigma=1.5"),
          ("zoneplate", "lowpass:cutoff=0.2"),
          ("bars", "gaussian-blur:sigma=2"))
ENCODER = ("x264enc tune=zerolatency speed-preset=superfast threads=1 bitrate=300 "
           f"key-int-max={FPS} ! h264parse config-interval=-1")
# Shorter intervals than those of config/fleet. Alerts that wait for minutes keep their own.
INTERVAL_S, PENDING_S = 1, 2
PATIENCE_S = 120
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


def die_with_parent(number, parent):
    libc.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def free_port(preferred):
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return probe.getsockname()[1]
    raise OSError("no free port")


class Child:
    """A process that is started again when it ends, unless `is_daemon`."""

    def __init__(self, fleet, name, command, is_daemon=False):
        self.fleet, self.name, self.is_daemon = fleet, name, is_daemon
        self.command = [str(word) for word in command]
        self.log = fleet.logs / f"{name}.log"
        self.log.unlink(missing_ok=True)
        self.not_before_s = 0.0
        self.start()

    def start(self):
        parent = os.getpid()
        self.not_before_s = time.monotonic() + 1
        # A session of its own: Ctrl-C is for this process, which ends the others in order.
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.fleet.env,
                start_new_session=True, preexec_fn=lambda: die_with_parent(signal.SIGKILL, parent))

    def has_ended(self):
        return self.process.poll() is not None

    def spent_s(self):
        """Time of processors that the process has taken."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Fleet:
    def __init__(self, build, programs, cameras):
        self.build, self.programs = build, programs
        self.names = [f"camera{i + 1}" for i in range(cameras)]
        self.logs = programs / "log"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fftd-fleet-"))
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder),
                        GST_PLUGIN_PATH=str(build / "gstreamer"))
        self.port = {}
        self.children = []
        self.alerts = set()

    def add(self, name, *command, **options):
        self.children.append(Child(self, name, command, **options))

    # ---- what a board has ----

    def compile_kernels(self):
        """So that the daemons do not do it all at once."""
        subprocess.run([self.build / "fftd", "-q", "--runtime-dir", self.folder / "first",
                        *self.camera(*SCENES[0]), "--frames", "1"], check=True, env=self.env)

    @staticmethod
    def camera(scene, chain):
        return ("--source", f"pattern:{scene}", "--size", SIZE, "--fps", FPS, "--filter", chain)

    def add_camera(self, index, name):
        metrics = self.folder / "metrics" / name
        metrics.mkdir(parents=True)
        self.add(name, self.build / "fftd", "--name", name,
                 *self.camera(*SCENES[index % len(SCENES)]), is_daemon=True)
        self.add(f"{name}-metrics", self.build / "fftd-ctl", "--name", name, "stats",
                 "--prometheus", f"--watch={INTERVAL_S}", "-o", metrics / "fftd.prom")
        self.add(f"{name}-stream", *command_of(
            "fftd-stream@.service", name,
            {"ENCODER": ENCODER, "URL": f"{self.url('rtsp')}{name}/in"}))

    # ---- what all boards share ----

    def url(self, what):
        return f"{'rtsp' if what == 'rtsp' else 'http'}://127.0.0.1:{self.port[what]}/"

    def configure_prometheus(self):
        folder = self.folder / "prometheus"
        folder.mkdir()
        text = (CONFIG / "prometheus.yml").read_text()
        (folder / "prometheus.yml").write_text(
            re.sub(r"_interval: \S+", f"_interval: {INTERVAL_S}s", text))
        text = (CONFIG / "fftd-alerts.yml").read_text()
        (folder / "fftd-alerts.yml").write_text(
            re.sub(r" for: (30s|1m)\n", f" for: {PENDING_S}s\n", text))
        (folder / "fftd-boards.yml").write_text(
            f"- targets: ['127.0.0.1:{self.port['exporter']}']\n")
        return folder

    def start(self):
        for what, preferred in (("view", 8787), ("rtsp", 8554), ("prometheus", 9090),
                                ("exporter", 9100)):
            self.port[what] = free_port(preferred)
        self.compile_kernels()
        self.add("rtsp-server", INTEGRATION / "rtsp_server.py", self.port["rtsp"], *self.names)
        for index, name in enumerate(self.names):
            self.add_camera(index, name)
        programs, folder = self.programs / "bin", self.configure_prometheus()
        self.add("exporter", programs / "prometheus-node-exporter", "--log.level=warn",
                 f"--web.listen-address=127.0.0.1:{self.port['exporter']}",
                 f"--collector.textfile.directory={self.folder}/metrics/*")
        assets = self.programs / "root/usr/share/prometheus/web"
        self.add("prometheus", programs / "prometheus", "--log.level=warn",
                 f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port['prometheus']}",
                 *([f"--web.local-assets={assets}/"] if assets.exists() else []))
        self.add("view", self.build / "fftd-view", "--listen", f"127.0.0.1:{self.port['view']}",
                 *(word for name in self.names for word in ("--name", name)))

    def ask(self, path):
        """The data of an answer of Prometheus, or None."""
        with contextlib.suppress(OSError, ValueError), \
                urllib.request.urlopen(self.url("prometheus") + path, timeout=5) as answer:
            return json.load(answer)["data"]
        return None

    def seen(self):
        """Cameras that Prometheus knows to be online."""
        data = self.ask("api/v1/query?query=fftd_state%7Bstate=%22online%22%7D==1")
        return {result["metric"]["name"] for result in data["result"]} if data else set()

    # ---- while it runs ----

    def firing(self):
        data = self.ask("api/v1/alerts")
        if data is None:
            return self.alerts
        return {(alert["labels"]["alertname"], alert["labels"].get("name", ""))
                for alert in data["alerts"] if alert["state"] == "firing"}

    def watch(self, restart_after_s):
        """Says which alerts begin and end, and starts again what has ended."""
        now_s = time.monotonic()
        firing = self.firing()
        for alert, name in sorted(firing - self.alerts):
            print(f"alert {alert} {name} fires", flush=True)
        for alert, name in sorted(self.alerts - firing):
            print(f"alert {alert} {name} has ended", flush=True)
        for child in self.children:
            if child.is_daemon and ("FftdDaemonGone", child.name) in firing - self.alerts:
                child.not_before_s = now_s + restart_after_s
            if child.is_daemon and ("FftdDaemonGone", child.name) not in firing:
                continue
            if child.has_ended() and now_s >= child.not_before_s:
                child.start()
                if child.is_daemon:
                    print(f"{child.name} is started again", flush=True)
        self.alerts = firing

    def wait_until_seen(self):
        deadline_s = time.monotonic() + PATIENCE_S
        while self.seen() != set(self.names):
            for child in self.children:
                if child.is_daemon and child.has_ended():
                    sys.exit(f"fleet.py: {child.name} has ended: {child.log.read_text()}")
            if time.monotonic() > deadline_s:
                sys.exit(f"fleet.py: Prometheus does not see all cameras; see {self.logs}")
            self.watch(0)
            time.sleep(0.2)

    def spent(self):
        """The same of all that run, by what they are: camera, metrics, stream, view, ..."""
        found = {}
        for child in self.children:
            kind = re.sub(r"^camera\d+-?", "", child.name) or "daemon"
            if not child.has_ended():
                found.setdefault(kind, []).append(child.spent_s())
        return found

    def stop(self):
        for child in self.children:
            if not child.has_ended():
                child.process.terminate()
        deadline_s = time.monotonic() + 5
        for child in self.children:
            try:
                child.process.wait(max(0.1, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
        shutil.rmtree(self.folder)


def explain(fleet):
    first = next(child for child in fleet.children if child.is_daemon)
    print(f"""
{len(fleet.names)} cameras, {SIZE} at {FPS} frames a second. To open:
  {fleet.url('view')}  the cameras, live
  {fleet.url('prometheus')}alerts  the alerts
  {fleet.url('prometheus')}graph?g0.expr=fftd_frame_rate_hertz&g0.tab=0  their frame rates
  {fleet.url('rtsp')}{fleet.names[0]}  up to {fleet.names[-1]}, for ffplay, for example
To see an alert, kill a daemon: kill -9 {first.process.pid}
Logs are in {fleet.logs}. Ctrl-C ends all of it.
""", flush=True)


def say_costs(before, after, seconds):
    print(f"Processor time in {seconds:.0f} s, as a share of one processor:")
    for kind, spent in after.items():
        if len(spent) == len(before.get(kind, [])) and seconds > 0:
            share = (sum(spent) - sum(before[kind])) / seconds / len(spent)
            print(f"  {kind:<12} {share:7.2%}{' each' if len(spent) > 1 else ''}", flush=True)


def main():
    die_with_parent(signal.SIGTERM, os.getppid())
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--cameras", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0, help="0: until Ctrl-C")
    parser.add_argument("--restart-after", type=float, default=10,
                        help="of a daemon, in seconds after its alert fired")
    options = parser.parse_args()
    # sys.exit in a handler unwinds to the end below.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    fleet = Fleet(options.build.resolve(), options.programs.resolve(), options.cameras)
    try:
        fleet.start()
        fleet.wait_until_seen()
        explain(fleet)
        before, begin_s = fleet.spent(), time.monotonic()
        while options.seconds <= 0 or time.monotonic() < begin_s + options.seconds:
            fleet.watch(options.restart_after)
            time.sleep(0.5)
        say_costs(before, fleet.spent(), time.monotonic() - begin_s)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        fleet.stop()


if __name__ == "__main__":
    main()
