"""A hundred cameras at one broker, on this machine: each is a daemon on a small test scene with an
fftd-mqtt of its own. The broker is Debian's mosquitto with config/fleet/mosquitto.conf, and one
mosquitto_sub lists all events, as docs/FLEET.md says.

Seconds are measured and shown beside the load, and not asserted: the tests wait for events, for as
long as more of them come."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from fleet import INTEGRATION, die_with_parent  # with INTEGRATION the next two are found
from conftest import BUILD, PATIENCE
from test_mqtt import (MARK, Broker, needs_broker,  # noqa: F401 pylint: disable=unused-import
                       publish)

assert INTEGRATION.is_dir()
ROOT = pathlib.Path(__file__).resolve().parents[2]
CAMERAS = int(os.environ.get("FLEET_CAMERAS", "100"))
AWAY_S = float(os.environ.get("FLEET_AWAY_S", "60"))
AT_ONCE = 4  # that start
FPS = "5"
YEAR_S = 365 * 86400


def wait_for(count, total, what):
    """Waits until count() is `total`. It fails when none was added for PATIENCE seconds."""
    seen, deadline_s = -1, 0
    while (now := count()) != total:
        if now != seen:
            seen, deadline_s = now, time.monotonic() + PATIENCE
        assert time.monotonic() < deadline_s, f"waited for {what}: {seen} of {total} came"
        time.sleep(0.02)


def begin(*command, **options):
    """A process that ends with this one, even if that is killed."""
    parent = os.getpid()
    return subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
        command, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: die_with_parent(signal.SIGKILL, parent), **options)


def lowpass(hundredths):
    """Filters with the same kernels, so that no change waits for PoCL's compiler."""
    return f"lowpass:shape=gaussian,cutoff={hundredths / 100:g},order=2"


class List:
    """All events and answers, in the order in which they came: (seconds, topic, message)."""

    def __init__(self, port):
        self.process = begin(
            "stdbuf", "-oL", "mosquitto_sub", "-p", str(port), "-q", "1", "-c", "-i", "list",
            "-t", "fftd/+/event", "-t", "fftd/+/filter/result", "-t", "fftd/+/availability",
            "-F", f"%t{MARK}%p", stdout=subprocess.PIPE, text=True)
        self.all = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            topic, _, text = line.rstrip("\n").partition(MARK)
            self.all.append((time.monotonic(), topic, text))

    def of(self, what, since=0):
        """What came on that topic: (seconds, camera, message)."""
        return [(when, topic.split("/")[1], text) for when, topic, text in self.all[since:]
                if topic.endswith("/" + what)]

    def answers(self, since, request):
        """The last answer of each camera to a request, and when it came. After a broker has been
        killed, answers to earlier requests come again (QoS 1). A daemon of a busy machine may not
        answer within 2 s; then another answer follows."""
        found = {}
        for when, camera, text in self.of("filter/result", since):
            answer = json.loads(text)
            if answer["request"] == request and "does not answer" not in answer.get("error", ""):
                found[camera] = when, answer
        return found

    def in_force(self, since):
        """The serials that came into force, and when the last one did, of each camera."""
        found = {}
        for when, camera, text in self.of("event", since):
            event = json.loads(text)
            if event["event"] == "filter":
                found.setdefault(camera, {})[event["Serial"]] = when
        return found

    def numbers(self):
        """The numbers of each fftd-mqtt's events, which begin at 1 again with a new process."""
        runs, seen = {}, set()
        for _, camera, text in self.of("event"):
            if (camera, text) in seen:
                continue  # QoS 1: at least once
            seen.add((camera, text))
            number = json.loads(text)["number"]
            run = runs.setdefault(camera, [])
            if number == 1 or not run:
                run.append(set())
            run[-1].add(number)
        return runs


class Camera:
    def __init__(self, folder, broker, index):
        self.name = f"camera{index}"
        self.dir = folder / self.name
        self.clock = folder / f"{self.name}.clock"
        self.broker = broker
        self.daemon = self.bridge = None

    def start_daemon(self):
        self.daemon = begin(
            BUILD / "fftd", "-q", "--runtime-dir", self.dir, "--source", "pattern:scene", "--size",
            "64x48", "--fps", FPS, "--filter", lowpass(10), "--set", "engine.compile_ahead=false",
            "--set", "engine.tune=off", "--set", "engine.technique=staged",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, OCL_ICD_VENDORS="/etc/OpenCL/vendors/pocl.icd"))

    def start_bridge(self):
        self.bridge = begin(
            BUILD / "fftd-mqtt", "--name", self.dir, "--id", self.name, "--broker",
            f"127.0.0.1:{self.broker.port}", "--allow-changes", "--group", "hall", "--period",
            "3600", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(
                os.environ, FFTD_CLOCK=str(self.clock),
                LD_PRELOAD=str(BUILD / "tests/tools/faulty_clock.so")))

    def set_filter(self, chain):
        """Ends when frames have the filter."""
        return begin(BUILD / "fftd-ctl", "--runtime-dir", self.dir, "filter", "set", chain,
                     stdout=subprocess.DEVNULL)

    def end(self):
        for process in (self.bridge, self.daemon):
            if process is not None:
                process.kill()
                process.wait()


class Fleet:
    def __init__(self, folder):
        lines = (ROOT / "config/fleet/mosquitto.conf").read_text().splitlines()
        self.broker = Broker(folder, "allow_anonymous true", *lines)
        self.list = List(self.broker.port)
        self.cameras = [Camera(folder, self.broker, i) for i in range(CAMERAS)]

    def is_online(self):
        online = {}
        for _, camera, text in self.list.of("availability"):
            online[camera] = text
        return [camera for camera in online if online[camera] == "online"]

    def start(self):
        self.start_some(self.cameras[:1])
        # Compiles the kernels of the tests' filters once, for all cameras.
        publish(self.broker, "fftd/camera0/filter/set", "preset:moire")
        wait_for(lambda: len(self.list.in_force(0).get("camera0", ())), 2, "a compiled filter")
        publish(self.broker, "fftd/camera0/filter/set", lowpass(10))
        wait_for(lambda: len(self.list.in_force(0).get("camera0", ())), 3, "the first filter")
        for first in range(1, CAMERAS, AT_ONCE):
            self.start_some(self.cameras[first:first + AT_ONCE])

    def start_some(self, cameras):
        end = len(self.is_online()) + len(cameras)
        for each in cameras:
            each.start_daemon()
            each.start_bridge()
        wait_for(lambda: len(self.is_online()), end, f"{cameras[0].name}, and those behind it")

    def end(self):
        for each in self.cameras:
            each.end()
        self.broker.end(signal.SIGKILL)
        self.list.process.kill()

    def change(self, request):
        """Changes the group. Returns the answers, and the seconds until all had answered."""
        since, start = len(self.list.all), time.monotonic()
        publish(self.broker, "fftd/hall/filter/set", request, "-r")
        wait_for(lambda: len(self.list.answers(since, request)), CAMERAS, f"answers to {request}")
        answers = self.list.answers(since, request)
        return ({camera: answer for camera, (_, answer) in answers.items()},
                max(when for when, _ in answers.values()) - start, since, start)

    def until_in_force(self, answers, since):
        """Returns when the last camera had frames with it."""
        def count():
            found = self.list.in_force(since)
            return sum(answer["Serial"] in found.get(camera, ())
                       for camera, answer in answers.items())

        wait_for(count, len(answers), "frames with the filter")
        found = self.list.in_force(since)
        return max(found[camera][answer["Serial"]] for camera, answer in answers.items())

    def check_numbers(self):
        for camera, runs in self.list.numbers().items():
            for run in runs:
                assert run == set(range(1, max(run) + 1)), f"{camera} lost an event: {sorted(run)}"


@pytest.fixture(name="fleet", scope="module")
def fleet_fixture():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fftd-mqtt-fleet-"))
    fleet = Fleet(folder)
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.end()
        shutil.rmtree(folder)


def test_a_filter_is_changed_everywhere_and_back(fleet, record_property):
    took = []
    for i in range(3):
        answers, seconds, since, start = fleet.change(lowpass(11 + i))
        assert all("Serial" in answer for answer in answers.values()), answers
        assert {answer["before"] for answer in answers.values()} == {lowpass(10 + i)}
        in_force = fleet.until_in_force(answers, since) - start
        took.append(f"{seconds:.2f}/{in_force:.2f}")
    record_property("figures", f"{CAMERAS} cameras answered / had frames with the filter after "
                    f"{', '.join(took)} s; load {os.getloadavg()[0]:.0f}")
    # Back to what each of them had.
    since = len(fleet.list.all)
    for camera, answer in answers.items():
        publish(fleet.broker, f"fftd/{camera}/filter/set", answer["before"])
    wait_for(lambda: len(fleet.list.answers(since, lowpass(12))), CAMERAS, "answers")
    assert all(answer["before"] == lowpass(13)
               for _, answer in fleet.list.answers(since, lowpass(12)).values())


def test_each_camera_says_what_is_wrong_and_keeps_its_filter(fleet):
    answers, *_ = fleet.change("lowpass:cutoff=-1")
    assert all("cutoff" in answer["error"] for answer in answers.values()), answers
    answers, _, since, _ = fleet.change("preset:moire")
    assert all(answer["before"] == lowpass(12) for answer in answers.values())
    fleet.until_in_force(answers, since)


def test_no_event_is_lost_with_the_broker(fleet):
    """It is killed while all cameras answer and tell, and is away while each is changed. The second
    time the list's reader comes back last, so that its messages wait for it."""
    for i in range(3):
        since = len(fleet.list.all)
        publish(fleet.broker, "fftd/hall/filter/set", lowpass(20 + i), "-r")
        wait_for(lambda: min(len(fleet.list.all) - since, i * CAMERAS // 2 + 1),
                 i * CAMERAS // 2 + 1, "the first messages")
        if i == 1:
            fleet.list.process.send_signal(signal.SIGSTOP)
        fleet.broker.end(signal.SIGKILL)
        for each in [camera.set_filter(lowpass(30 + i)) for camera in fleet.cameras]:
            assert each.wait(PATIENCE) == 0
        fleet.broker.start()
        if i == 1:
            time.sleep(10)
            fleet.list.process.send_signal(signal.SIGCONT)
        wait_for(lambda: len({  # the cameras whose last change is in the list
            camera for _, camera, text in fleet.list.of("event", since)
            if json.loads(text).get("Filter") == lowpass(30 + i)}), CAMERAS,
                 "events of the time without a broker")
    answers, *_ = fleet.change(lowpass(40))
    assert all("Serial" in answer for answer in answers.values()), answers
    fleet.check_numbers()


def test_cameras_that_were_away_get_the_change(fleet):
    """For a minute the first board is off, the second is cut off, and the third has no daemon."""
    off, cut, without = fleet.cameras[:3]
    since = len(fleet.list.all)
    off.end()
    os.kill(cut.bridge.pid, signal.SIGSTOP)
    without.daemon.kill()
    without.daemon.wait()
    start = time.monotonic()
    publish(fleet.broker, "fftd/hall/filter/set", lowpass(41), "-r")

    def answers():
        return {camera: answer
                for camera, (_, answer) in fleet.list.answers(since, lowpass(41)).items()}

    wait_for(lambda: len(answers()), CAMERAS - 2, "answers of the others")
    assert "does not run" in answers()[without.name]["error"]
    assert not {off.name, cut.name} & set(answers())
    time.sleep(max(0, start + AWAY_S - time.monotonic()))
    if AWAY_S > 30:  # longer than the broker waits for a sign of life
        assert {off.name, cut.name, without.name}.isdisjoint(fleet.is_online())
    os.kill(cut.bridge.pid, signal.SIGCONT)
    off.start_daemon()
    without.start_daemon()
    off.start_bridge()
    # An fftd-mqtt that is faster than its daemon says so first.
    wait_for(lambda: sum("Serial" in answer for answer in answers().values()), CAMERAS,
             "their answers")
    fleet.until_in_force(answers(), since)
    wait_for(lambda: len(fleet.is_online()), CAMERAS, "all cameras")
    fleet.check_numbers()


def test_wrong_clocks_lose_nothing(fleet):
    """A third of the boards is a year behind, a third a year ahead, and jumps back later."""
    for i, camera in enumerate(fleet.cameras):
        camera.clock.write_text(str((0, -YEAR_S, YEAR_S)[i % 3]))
    answers, _, since, _ = fleet.change(lowpass(42))
    fleet.until_in_force(answers, since)
    for camera in fleet.cameras[2::3]:
        camera.clock.write_text("0")
    fleet.broker.end(signal.SIGKILL)
    fleet.broker.start()
    answers, _, since, _ = fleet.change(lowpass(43))
    fleet.until_in_force(answers, since)
    behind = [json.loads(text)["time_ms"] / 1000 < time.time() - YEAR_S / 2
              for _, camera, text in fleet.list.of("event", since)]
    assert any(behind) and not all(behind)
    fleet.check_numbers()
