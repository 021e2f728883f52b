"""Tests of fftd-mqtt with Debian's broker, mosquitto."""

import json
import pathlib
import queue
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, wait_until

PROGRAM = BUILD / "fftd-mqtt"
BROKER = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/sbin:/bin")
MARK = "\x1f"


@pytest.fixture(scope="module", autouse=True)
def needs_broker():
    if not PROGRAM.exists():
        pytest.skip("fftd-mqtt is not built: libmosquitto-dev is missing")
    if BROKER is None or shutil.which("mosquitto_sub") is None:
        pytest.skip("mosquitto and mosquitto-clients are not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Broker:
    """A mosquitto of its own. Stopped in order, it keeps retained messages and sessions."""

    def __init__(self, folder, *lines):
        self.port = free_port()
        self.path = folder / "mosquitto.conf"
        self.path.write_text("\n".join([
            f"listener {self.port} 127.0.0.1", "persistence true",
            f"persistence_location {folder}/", "user root",
            *(lines or ["allow_anonymous true"])]) + "\n")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([BROKER, "-c", self.path], stderr=subprocess.DEVNULL)

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(listens, "the broker")

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()


class Subscriber:
    """All messages of a broker, in the order in which they came: (topic, text)."""

    def __init__(self, port, *arguments):
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", "mosquitto_sub", "-p", str(port), "-q", "1", "-c", "-i", "test",
             "-d", "-t", "#", "-F", f"%t{MARK}%p", *arguments], stdout=subprocess.PIPE, text=True,
            encoding="latin-1", bufsize=1)
        self.came = queue.Queue()
        self.seen = []
        subscribed = threading.Event()
        threading.Thread(target=self.read, args=(subscribed,), daemon=True).start()
        assert subscribed.wait(PATIENCE)  # what is published before is not seen


    def read(self, subscribed):
        for line in self.process.stdout:
            topic, mark, text = line.rstrip("\n").partition(MARK)
            if mark:  # other lines are the rest of a picture, and what -d says
                self.came.put((topic, text))
            elif line.startswith("Subscribed"):
                subscribed.set()

    def until(self, condition, what):
        """Waits for a message on which condition(topic, text) holds, and returns its text."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.seen.append(self.came.get(timeout=max(0, deadline - time.monotonic())))
            except queue.Empty:
                pytest.fail(f"waited in vain for {what}; seen: "
                            + repr([(topic, text[:80]) for topic, text in self.seen[-20:]]))
            if condition(*self.seen[-1]):
                return self.seen[-1][1]

    def until_topic(self, topic, text=None):
        return self.until(lambda t, x: t == topic and text in (None, x), f"{text!r} on {topic}")

    def until_json(self, topic, **values):
        def has(came, text):
            return came == topic and values.items() <= json.loads(text).items()

        return json.loads(self.until(has, f"{values} on {topic}"))


@pytest.fixture
def begin(tmp_path):
    """begin(kind, argument...) makes something whose process ends with the test."""
    made = []

    def make(kind, *arguments):
        made.append(kind(*arguments))
        return made[-1]

    yield make
    for each in made:
        process = getattr(each, "process", each)
        process.kill()
        process.wait()


@pytest.fixture
def broker(begin, tmp_path):
    return begin(Broker, tmp_path)


@pytest.fixture
def bridge(begin, runtime_dir):
    """bridge(port, argument...) starts fftd-mqtt for the test's daemon, as the camera `front`."""
    def start(port, *arguments, **more):
        return begin(lambda: subprocess.Popen(
            [PROGRAM, "--name", runtime_dir, "--id", "front", "--broker", f"127.0.0.1:{port}",
             *arguments], stderr=subprocess.PIPE, text=True, **more))
    return start


def publish(broker, topic, text, *arguments):
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-m", text,
                    *arguments], check=True, timeout=PATIENCE)


def test_the_camera_is_told(start, broker, begin, bridge):
    subscriber = begin(Subscriber, broker.port)
    daemon = start("--set", "output.measures=true", "--filter",
                   "gaussian-blur:sigma=1 | match:image=corner.txt,show=false")
    daemon.wait_for_socket("control-watch")
    bridge(broker.port, "--period", "1", "--picture", "1")
    subscriber.until_topic("fftd/front/availability", "online")
    state = subscriber.until_json("fftd/front/state", State="online", PublishedSerial=1)
    assert state["Filter"].startswith("gaussian-blur:sigma=1") and state["Rate"] > 0
    measures = json.loads(subscriber.until_topic("fftd/front/measures"))
    assert 0 < measures["mean"] < 255
    (name, _, _, score), = json.loads(subscriber.until_topic("fftd/front/matches"))
    assert name == "corner.txt" and 0 < score <= 1
    assert subscriber.until_topic("fftd/front/picture").startswith("\x89PNG")
    # A change is told when frames have it, and a daemon that ends.
    daemon.ctl("filter", "set", "box-blur:radius=2")
    event = subscriber.until_json("fftd/front/event", event="filter", Serial=2)
    assert event["Filter"].startswith("box-blur")
    assert 0 <= time.time() - event["time_ms"] / 1000 < PATIENCE
    daemon.stop()
    subscriber.until_json("fftd/front/event", event="daemon ended")
    start()
    subscriber.until_topic("fftd/front/availability", "online")


def test_home_assistant_finds_it(start, broker, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    process = bridge(broker.port, "--allow-changes", "--picture", "1")
    expected = {"homeassistant/sensor/fftd_front/sharpness/config",
                "homeassistant/camera/fftd_front/picture/config",
                "homeassistant/select/fftd_front/preset/config"}
    found = {}

    def are_all(topic, text):  # a broker that has them already sends them in an order of its own
        if topic.startswith("homeassistant/"):
            found[topic] = json.loads(text)
        return expected <= found.keys() and len(found) > 10

    subscriber.until(are_all, "discovery")
    assert found["homeassistant/sensor/fftd_front/sharpness/config"]["state_topic"] == (
        "fftd/front/measures")
    assert found["homeassistant/camera/fftd_front/picture/config"]["topic"] == "fftd/front/picture"
    select = found["homeassistant/select/fftd_front/preset/config"]
    assert "moire" in select["options"] and select["command_topic"] == "fftd/front/filter/set"
    assert select["command_template"] == "preset:{{ value }}"
    devices = [each["device"]["identifiers"] for each in found.values()]
    assert devices == [["fftd_front"]] * len(found)
    ids = [each["unique_id"] for each in found.values()]
    assert len(set(ids)) == len(ids) > 10
    # The next start removes what it no longer offers.
    process.terminate()
    assert process.wait(PATIENCE) == 0
    bridge(broker.port)
    for topic in ("camera/fftd_front/picture", "select/fftd_front/preset"):
        subscriber.until_topic(f"homeassistant/{topic}/config", "")


def test_large_pictures_have_room(start, broker, begin, bridge):
    """The limit is that of the service's unit, for its data instead of all of its memory."""
    if "thread" in BUILD.name or "address" in BUILD.name:
        pytest.skip("a sanitizer takes more")
    unit = (pathlib.Path(__file__).parents[2] / "systemd/fftd-mqtt@.service").read_text()
    limit = int(re.search(r"^MemoryMax=(\d+)M$", unit, re.M)[1]) << 20
    daemon = start(*FAST_KERNELS, "--set", "output.watch_unfiltered=true", source="pattern:noise",
                   size="3840x2160", fps="1")
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port, "-T", "fftd/front/measures")
    bridge(broker.port, "--picture", "1",
           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    subscriber.until_topic("fftd/front/picture")


def test_changes_are_answered(start, broker, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    bridge(broker.port, "--allow-changes", "--group", "hall")
    subscriber.until_topic("fftd/front/availability", "online")
    publish(broker, "fftd/front/filter/set", "box-blur:radius=3")
    answer = subscriber.until_json("fftd/front/filter/result", Serial=2)
    assert answer["request"] == "box-blur:radius=3" and answer["before"] == "none"
    subscriber.until_json("fftd/front/event", event="filter", Serial=2)
    publish(broker, "fftd/hall/filter/set", "gaussian-blur:sigma=-1")
    assert "sigma" in subscriber.until_json("fftd/front/filter/result")["error"]
    publish(broker, "fftd/hall/filter/set", "preset:moire")
    subscriber.until_json("fftd/front/filter/result", request="preset:moire", Serial=3)
    subscriber.until_topic("fftd/front/preset", "moire")
    for request in ("preset:nonsense", "mask:image=/nonsense.pgm"):
        publish(broker, "fftd/front/filter/set", request)
        assert "nonsense" in subscriber.until_json("fftd/front/filter/result",
                                                   request=request)["error"]
    publish(broker, "fftd/front/filter/set", "x" * 70000)  # too long: dropped
    publish(broker, "fftd/front/filter/set", "none")
    subscriber.until_json("fftd/front/filter/result", request="none", Serial=4)


def test_a_retained_filter_is_obeyed_once(start, broker, begin, bridge):
    """It is what cameras should have that come later, but not with each new connection."""
    daemon = start()
    daemon.wait_for_socket("control-watch")
    publish(broker, "fftd/hall/filter/set", "box-blur:radius=3", "-r")
    subscriber = begin(Subscriber, broker.port)
    bridge(broker.port, "--allow-changes", "--group", "hall")
    subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=3", Serial=2)
    daemon.ctl("filter", "set", "none")
    broker.end(signal.SIGTERM)
    broker.start()
    subscriber.until_topic("fftd/front/availability", "online")
    publish(broker, "fftd/front/filter/set", "box-blur:radius=4")
    subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=4", Serial=4)
    publish(broker, "fftd/hall/filter/set", "box-blur:radius=3", "-r")  # said again: obeyed
    subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=3", Serial=5)


@pytest.mark.parametrize("daemon_is_first", [True, False])
def test_a_camera_s_own_retained_filter_wins(start, broker, begin, bridge, daemon_is_first):
    """MQTT does not say which of two retained messages is the newer one."""
    publish(broker, "fftd/front/filter/set", "box-blur:radius=3", "-r")
    publish(broker, "fftd/hall/filter/set", "preset:moire", "-r")
    subscriber = begin(Subscriber, broker.port)
    if daemon_is_first:
        start().wait_for_socket("control-watch")
    bridge(broker.port, "--allow-changes", "--group", "hall")
    if not daemon_is_first:
        for request in ("preset:moire", "box-blur:radius=3"):
            answer = subscriber.until_json("fftd/front/filter/result", request=request)
            assert "does not run" in answer["error"]
        start()
    answer = subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=3",
                                   Serial=3 if daemon_is_first else 2)
    assert answer["before"].startswith("bandstop" if daemon_is_first else "none")
    publish(broker, "fftd/front/filter/set", "none")
    subscriber.until_json("fftd/front/filter/result", request="none",
                          Serial=answer["Serial"] + 1)


def test_nothing_is_changed_unless_it_is_allowed(start, broker, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    bridge(broker.port)
    subscriber.until_topic("fftd/front/availability", "online")
    publish(broker, "fftd/front/filter/set", "box-blur:radius=3", "-r")
    subscriber.until_topic("fftd/front/filter/set")
    daemon.ctl("filter", "set", "box-blur:radius=5")
    # The request came first, and made no serial.
    subscriber.until_json("fftd/front/event", event="filter", Serial=2)
    assert "radius=5" in daemon.ctl_json("status")["Filter"]


def test_a_bridge_joins_two_brokers(start, broker, begin, bridge, tmp_path):
    """The camera is at a site's broker, and who watches and changes it at another one."""
    folder = tmp_path / "site"
    folder.mkdir()
    site = begin(Broker, folder, "allow_anonymous true", "connection site",
                 f"address 127.0.0.1:{broker.port}", "topic fftd/# both 1")
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    bridge(site.port, "--allow-changes", "--group", "hall")
    subscriber.until_topic("fftd/front/availability", "online")
    publish(broker, "fftd/hall/filter/set", "box-blur:radius=3", "-r")
    subscriber.until_json("fftd/front/filter/result", Serial=2)
    subscriber.until_json("fftd/front/event", event="filter", Serial=2)


def test_a_change_waits_for_the_daemon(start, broker, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    bridge(broker.port, "--allow-changes")
    subscriber.until_topic("fftd/front/availability", "online")
    daemon.stop()
    subscriber.until_topic("fftd/front/availability", "offline")
    for radius in (3, 4):
        publish(broker, "fftd/front/filter/set", f"box-blur:radius={radius}")
        answer = subscriber.until_json("fftd/front/filter/result",
                                       request=f"box-blur:radius={radius}")
        assert "does not run" in answer["error"]
    start()
    subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=4", Serial=2)
    subscriber.until_json("fftd/front/event", event="filter", Serial=2)
    numbers = [json.loads(text)["number"] for topic, text in subscriber.seen
               if topic == "fftd/front/event"]
    # The subscriber may have come after the first ones.
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_change_is_tried_again_until_the_daemon_answers(start, broker, begin, bridge):
    """A daemon that starts on a busy machine may not answer in time, and one may end before it has
    answered. One error tells of it, not one for each attempt."""
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    bridge(broker.port, "--allow-changes")
    subscriber.until_topic("fftd/front/availability", "online")
    daemon.signal(signal.SIGSTOP)
    publish(broker, "fftd/front/filter/set", "box-blur:radius=3")
    answer = subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=3")
    assert "does not answer" in answer["error"]
    time.sleep(5)  # it is tried more than once
    daemon.signal(signal.SIGCONT)
    answer = subscriber.until_json("fftd/front/filter/result")
    assert answer.get("Serial") == 2, answer
    subscriber.until_json("fftd/front/event", event="filter", Serial=2)
    daemon.signal(signal.SIGSTOP)
    publish(broker, "fftd/front/filter/set", "box-blur:radius=4")
    time.sleep(0.5)  # fftd-mqtt waits for its answer
    daemon.process.kill()
    daemon.process.wait()
    answer = subscriber.until_json("fftd/front/filter/result", request="box-blur:radius=4")
    assert "does not" in answer["error"]
    start()
    answer = subscriber.until_json("fftd/front/filter/result")
    assert (answer["request"], answer.get("Serial")) == ("box-blur:radius=4", 2), answer


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_broker_may_come_later(start, tmp_path, begin, runtime_dir, host):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    broker = begin(Broker, tmp_path)
    broker.end(signal.SIGTERM)
    process = begin(lambda: subprocess.Popen(
        [PROGRAM, "--name", runtime_dir, "--id", "front", "--broker", f"{host}:{broker.port}"]))
    time.sleep(1.5)
    broker.start()
    subscriber = begin(Subscriber, broker.port)
    subscriber.until_topic("fftd/front/availability", "online")
    process.terminate()
    assert process.wait(PATIENCE) == 0
    subscriber.until_topic("fftd/front/availability", "offline")


def test_a_killed_bridge_is_offline(start, broker, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    process = bridge(broker.port)
    subscriber.until_topic("fftd/front/availability", "online")
    process.kill()
    subscriber.until_topic("fftd/front/availability", "offline")
    process = bridge(broker.port)
    subscriber.until_topic("fftd/front/availability", "online")
    process.terminate()
    assert process.wait(PATIENCE) == 0
    subscriber.until_topic("fftd/front/availability", "offline")


def test_no_event_is_lost_with_the_broker(start, broker, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    process = bridge(broker.port)
    subscriber.until_json("fftd/front/event", event="filter", Serial=1)
    broker.end(signal.SIGKILL)
    for serial in range(2, 6):
        daemon.ctl("filter", "set", f"box-blur:radius={serial}")
        daemon.wait_until(
            lambda serial=serial: daemon.ctl_json("status")["PublishedSerial"] == serial, "frames")
    time.sleep(1)  # fftd-mqtt reads them, on a busy machine some later
    process.send_signal(signal.SIGSTOP)
    broker.start()

    def is_back():
        publish(broker, "ping", "")
        return not subscriber.came.empty()

    wait_until(is_back, "the subscriber, for whom the broker keeps nothing")
    process.send_signal(signal.SIGCONT)
    for serial in range(2, 6):
        subscriber.until_json("fftd/front/event", event="filter", Serial=serial)
    assert json.loads(subscriber.until_topic("fftd/front/state"))["PublishedSerial"] == 5


def test_a_broker_that_cannot_be_reached(tmp_path, bridge):
    """The program prints the reason once, and keeps trying."""
    def first_line(port, *arguments):
        process = bridge(port, *arguments)
        assert select.select([process.stderr], [], [], PATIENCE)[0]
        return process.stderr.readline()

    port = free_port()
    assert first_line(port) == (f"fftd-mqtt: cannot reach the broker at 127.0.0.1, port {port}: "
                                "Connection refused; trying again\n")
    with socket.create_server(("127.0.0.1", 0)) as broken:
        threading.Thread(target=lambda: broken.accept()[0].close(), daemon=True).start()
        assert "TLS" in first_line(broken.getsockname()[1], "--ca", tmp_path)


@pytest.mark.parametrize("answer, is_tls", [(b"", True), (b"\x20\x02\x00\x00" + bytes(2), False)])
def test_a_broken_broker_may_come_back(tmp_path, bridge, answer, is_tls):
    """One that is restarted may end the connection within TLS's handshake, and a proxy may answer
    with nonsense. libmosquitto gives up then."""
    with socket.create_server(("127.0.0.1", 0)) as broken:
        broken.settimeout(PATIENCE)
        bridge(broken.getsockname()[1], *(("--ca", tmp_path) if is_tls else ()))
        for _ in range(3):
            with broken.accept()[0] as connection:
                connection.settimeout(PATIENCE)
                assert connection.recv(100)
                connection.sendall(answer)


def test_a_mute_broker_delays_no_end(start, begin, bridge):
    daemon = start()
    daemon.wait_for_socket("control-watch")
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        process = bridge(mute.getsockname()[1])
        with mute.accept()[0]:
            daemon.ctl("filter", "set", "box-blur:radius=3")
            process.terminate()
            assert process.wait(PATIENCE) == 0


def test_a_password_is_used(start, tmp_path, begin, bridge):
    passwords = tmp_path / "passwords"
    passwords.write_text("")
    subprocess.run(["mosquitto_passwd", "-b", passwords, "front", "secret"], check=True,
                   capture_output=True)
    broker = begin(Broker, tmp_path, f"password_file {passwords}", "allow_anonymous false")
    subscriber = begin(Subscriber, broker.port, "-u", "front", "-P", "secret")
    daemon = start()
    daemon.wait_for_socket("control-watch")
    refused = bridge(broker.port, "--user", "front", env={"FFTD_MQTT_PASSWORD": "wrong"})
    assert "refuses: " in refused.stderr.readline()
    refused.kill()
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    bridge(broker.port, "--user", "front", "--password-file", secret)
    subscriber.until_topic("fftd/front/availability", "online")


def test_tls_is_used(start, tmp_path, begin, runtime_dir):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                    "-out", certificate, "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    broker = begin(Broker, tmp_path, f"keyfile {key}", f"certfile {certificate}",
                   "allow_anonymous true")
    subscriber = begin(Subscriber, broker.port, "-h", "localhost", "--cafile", str(certificate))
    daemon = start()
    daemon.wait_for_socket("control-watch")
    begin(lambda: subprocess.Popen([PROGRAM, "--name", runtime_dir, "--id", "front", "--broker",
                                    f"localhost:{broker.port}", "--ca", certificate]))
    subscriber.until_topic("fftd/front/availability", "online")


@pytest.mark.parametrize("arguments, text", [
    (["--broker", "host:0"], "1 to 65535"),
    (["--id", "a/b"], "letters, digits"),
    (["--prefix", "a/#"], "levels of a topic"),
    (["--period", "0"], "1 to 86400"),
    (["--group", "hall"], "--allow-changes"),
    (["--nonsense"], "no such option"),
    (["--id"], "expected a value"),
    (["more"], "no operand"),
])
def test_wrong_options_are_errors(arguments, text):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    assert done.returncode == 64 and text in done.stderr, done.stderr


def test_a_missing_certificate_is_an_error(tmp_path):
    done = subprocess.run([PROGRAM, "--ca", tmp_path / "missing.pem"], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 78 and "missing.pem: No such file" in done.stderr
