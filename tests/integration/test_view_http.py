"""fftd-view: the daemon's frames over HTTP, and what is refused. All sockets are loopback's."""

import contextlib
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import numpy as np
import pytest

from client import Reader, Recorder
from conftest import BUILD, FAST_KERNELS, PATIENCE, wait_until

try:
    from PIL import Image
except ImportError:
    Image = None

# Sanitizers keep memory of their own for each byte.
IS_SANITIZED = "thread" in BUILD.name or "address" in BUILD.name

pytestmark = [pytest.mark.skipif(not (BUILD / "fftd-view").exists(),
                                 reason="fftd-view is not built: libmicrohttpd is missing"),
              pytest.mark.skipif(Image is None, reason="python3-pil is missing")]

MAX_PER_ADDRESS = 128  # of server.c
QUIET = ("--filter", "none", *FAST_KERNELS)


@pytest.fixture
def runtime_dir():
    """Where fftd-view finds the daemon `front` by its name."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    (path / "fftd").mkdir()
    yield path / "fftd/front"
    shutil.rmtree(path)


class View:
    """One fftd-view process on a free port, or on a UNIX socket."""

    def __init__(self, runtime_dir, arguments, log_path, program=BUILD / "fftd-view", **options):
        self.log_path = log_path
        self.process = subprocess.Popen(
            [program, "--name", "front", *arguments], stdin=subprocess.DEVNULL,
            stderr=open(log_path, "wb"),
            env=dict(os.environ, XDG_RUNTIME_DIR=str(runtime_dir.parents[1])), **options)
        deadline = time.monotonic() + PATIENCE
        while "listening on" not in (log := log_path.read_text()):
            assert self.process.poll() is None and time.monotonic() < deadline, log
            time.sleep(0.01)
        found = re.search(r"on http://127.0.0.1:(\d+)/", log)
        self.port = int(found[1]) if found else None

    def connect(self, timeout=PATIENCE):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, headers={name.replace("_", "-"): value
                                                  for name, value in headers.items()})
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def cameras(self):
        return {camera["name"]: camera for camera in
                json.loads(self.get("/api/cameras").body)["cameras"]}

    def raw(self, request):
        """The status of the answer to these bytes, and all that came."""
        with self.connect() as peer:
            peer.sendall(request)
            answer = b""
            while part := peer.recv(65536):
                answer += part
        return int(answer.split()[1]), answer

    def stream(self):
        return Stream(self)

    def threads_and_memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return (int(re.search(r"Threads:\s+(\d+)", status)[1]),
                int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


class Stream:
    """The parts of a stream: (sequence, JPEG)."""

    def __init__(self, view):
        self.connection = http.client.HTTPConnection("127.0.0.1", view.port, timeout=PATIENCE)
        self.connection.request("GET", "/camera/front/stream.mjpeg")
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.getheader("Content-Type").startswith("multipart/x-mixed-replace")
        assert self.answer.readline() == b"--fftd\r\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def next(self):
        headers = http.client.parse_headers(self.answer)
        jpeg = self.answer.read(int(headers["Content-Length"]))
        assert self.answer.read(len(b"\r\n--fftd\r\n")) == b"\r\n--fftd\r\n"
        return int(headers["Fftd-Sequence"]), jpeg


@pytest.fixture
def view(runtime_dir, tmp_path):
    """view(argument...) starts fftd-view; it must end without an error."""
    views = []

    def start_view(*arguments, listen="127.0.0.1:0"):
        views.append(View(runtime_dir, ["--listen", listen, *arguments],
                          tmp_path / f"view{len(views)}"))
        return views[-1]

    yield start_view
    for each in views:
        if each.process.poll() is None:
            assert each.stop() == 0, each.log_path.read_text()


def pixels_of(jpeg):
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"), float)


# ---- what is shown ----

def expected_rgb(frame, name):
    """The frame's planes as RGB, for the formats that the test uses."""
    shape = frame.height, frame.width
    if name == "GREY":
        return np.repeat(np.frombuffer(frame.planes[0], np.uint8).reshape(*shape, 1), 3, 2)
    if name == "RGB24":
        return np.frombuffer(frame.planes[0], np.uint8).reshape(*shape, 3)
    if name == "YUYV":
        y, u, v = (np.frombuffer(frame.planes[0], np.uint8).reshape(shape[0], -1)[:, at::step]
                   for at, step in ((0, 2), (1, 4), (3, 4)))
        u, v = (np.repeat(each, 2, 1).astype(float) - 128 for each in (u, v))
    else:  # NV12
        y = np.frombuffer(frame.planes[0], np.uint8).reshape(shape)
        pairs = np.frombuffer(frame.planes[1], np.uint8).reshape(shape[0] // 2, -1, 2)
        u, v = (np.repeat(np.repeat(pairs[..., i], 2, 0), 2, 1).astype(float) - 128
                for i in range(2))
    full = frame.full_range
    y = y.astype(float) if full else (y - 16.0) * 255 / 219
    u, v = (each if full else each * 255 / 224 for each in (u, v))
    red, blue = {1: (0.2126, 0.0722), 9: (0.2627, 0.0593)}.get(frame.matrix, (0.299, 0.114))
    green = 1 - red - blue
    rgb = [y + 2 * (1 - red) * v,
           y - 2 * blue * (1 - blue) / green * u - 2 * red * (1 - red) / green * v,
           y + 2 * (1 - blue) * u]
    return np.clip(np.stack(rgb, 2), 0, 255)


@pytest.mark.parametrize("name", ["GREY", "RGB24", "YUYV", "NV12"])
def test_the_stream_shows_the_published_frames(start, view, name):
    daemon = start("--set", f"camera.format={name}", *QUIET, source="pattern:scene", size="320x240",
                   fps="15")
    with Recorder(daemon) as reader:
        reader.next()
        web = view("--quality", "98")
        shown = {}
        with web.stream() as stream:
            frame = reader.next()
            while len(shown) < 2 or frame.sequence not in shown:
                sequence, jpeg = stream.next()
                shown[sequence] = jpeg
                if frame.sequence < sequence:
                    frame = reader.take_until(lambda frame: frame.sequence >= sequence)[-1]
    layout = daemon.ctl_json("status")["Format"]
    frame.full_range, frame.matrix = reader_colours(daemon)
    assert (frame.width, frame.height) == (layout["width"], layout["height"])
    difference = pixels_of(shown[frame.sequence]) - expected_rgb(frame, name)
    # 35 dB: JPEG of this quality, whose chroma has half the resolution.
    assert np.sqrt(np.mean(difference ** 2)) < 255 / 10 ** (35 / 20)
    assert abs(np.mean(difference)) < 1
    assert len(set(shown.values())) == len(shown), "the picture does not move"


@pytest.mark.parametrize("name", ["Y10", "NV21", "XRGB32"])
def test_frames_of_odd_size(start, view, name):
    start("--set", f"camera.format={name}", *QUIET, source="pattern:scene",
          size="163x121").wait_for_log("online")
    answer = view().get("/camera/front/snapshot.jpg")
    picture = pixels_of(answer.body)
    assert answer.status == 200 and abs(picture.shape[1] - 163) <= 1 and picture.std() > 20
    # Nothing from beyond the edge: the last column and row go on from those before.
    assert np.abs(picture[:, -1] - picture[:, -2]).mean() < 12
    assert np.abs(picture[-1] - picture[-2]).mean() < 12


def reader_colours(daemon):
    with Reader(daemon) as reader:
        return reader.format.full_range, reader.format.matrix


def test_a_snapshot_and_the_spectrum(start, view):
    start("--filter", "none", source="pattern:moire", size="512x512",
          fps="30").wait_for_log("online")
    web = view()
    snapshot = web.get("/camera/front/snapshot.jpg")
    assert snapshot.status == 200 and pixels_of(snapshot.body).shape == (512, 512, 3)
    spectrum = web.get("/camera/front/spectrum")
    level = pixels_of(spectrum.body)[..., 0]
    assert level.shape == (512, 512)
    # A real picture has the same power at opposite frequencies; JPEG adds its error.
    assert np.abs(level[1:, 1:] - level[:0:-1, :0:-1]).mean() < 6
    # The greatest peak, away from the middle, is where NumPy finds it in the snapshot, within 6 dB.
    y, x = np.mgrid[-256:256, -256:256]
    far = np.hypot(x, y) > 25
    luma = pixels_of(snapshot.body)[..., 0]
    window = np.outer(np.hanning(512), np.hanning(512))
    power = np.abs(np.fft.fftshift(np.fft.fft2((luma - luma.mean()) * window)))
    wanted = np.unravel_index(np.argmax(power * far), power.shape)
    assert level[wanted] >= np.max(level * far) - 17 and np.median(level) < 128


WORDS = ("spectrum", "spectrum-room", "snapshot", "stream", "clip", "comparison", "filter",
         "filters", "camera", "cameras", "api", "app")


def test_cameras_may_be_named_like_paths(start, view, runtime_dir):
    """Each path is of the camera that one of its segments names, and of what the last one names."""
    start("--filter", "none", source="pattern:bars").wait_for_log("online")
    for name in WORDS:
        (runtime_dir.parent / name).symlink_to(runtime_dir)
    web = view(*(argument for name in WORDS for argument in ("--name", name)))
    assert set(web.cameras()) == {"front", *WORDS}
    for name in WORDS:
        assert pixels_of(web.get(f"/camera/{name}/snapshot.jpg").body).shape == (120, 160, 3), name
        assert pixels_of(web.get(f"/camera/{name}/spectrum").body).shape == (512, 512, 3), name
        for part in ("filters", "filter", "comparison"):
            for method in "GET", "POST":
                assert web.get(f"/camera/{name}/{part}", method=method).status == \
                    web.get(f"/camera/front/{part}", method=method).status


def test_what_is_told_about_a_camera(start, view):
    daemon = start("--filter", "gaussian-blur:sigma=2", fps="30")
    web = view("--name", "other")
    daemon.wait_until(lambda: web.cameras()["front"]["state"] == "online", "the state online")
    told = daemon.wait_until(lambda: (c := web.cameras()["front"])["rate"] > 0 and c, "a rate")
    assert told["filter"] == "gaussian-blur:sigma=2" and told["view"] == "picture"
    assert told["format"]["width"] == 160 and told["latency_p99_ms"] >= told["latency_p50_ms"] > 0
    assert web.cameras()["other"]["state"] == "absent"
    assert "systemctl start fftd@other" in web.cameras()["other"]["reason"]
    assert web.get("/camera/other/snapshot.jpg").status == 503


def test_outputs_that_come_and_go(start, view):
    """The list follows them, and one that is named can be looked at while it exists."""
    daemon = start("--filter", "none")
    web = view("--name", "front:small")

    def state():
        return web.cameras()["front:small"]["state"]
    wait_until(lambda: web.cameras()["front"].get("outputs") == ["main"], "the daemon")
    assert state() == "absent"
    for width in (80, 40):
        daemon.ctl("output", "add", "small", "--size", f"{width}x{width * 3 // 4}", "--set",
                   "planes=luma-only")
        wait_until(lambda: state() != "absent", "the output")
        wait_until(lambda: web.cameras()["front"]["outputs"] == ["main", "small"], "its name")
        # 503 until the first frame; a snapshot of the output before may be 0.25 s old.
        wait_until(lambda: (got := web.get("/camera/front:small/snapshot.jpg")).status == 200 and
                   Image.open(io.BytesIO(got.body)).size == (width, width * 3 // 4), "its picture")
        # As the page writes the name.
        assert web.get("/camera/front%3Asmall/snapshot.jpg").status == 200
        daemon.ctl("output", "remove", "small")
        wait_until(lambda: state() == "absent", "its end")
        wait_until(lambda: web.cameras()["front"]["outputs"] == ["main"], "its end in the list")


def test_a_camera_whose_daemon_accepts_no_connection(runtime_dir, view):
    """The request waited for the handshake until fftd-view closed its connection, unanswered."""
    runtime_dir.mkdir()
    (runtime_dir / "frames").touch()  # by which the camera is found
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(runtime_dir / "control-watch"))
        mute.listen()
        web = view("--name", "other")
        for _ in range(2):
            told = web.cameras()
            assert told["front"]["state"] == "absent", told["front"]
            assert "does not answer" in told["front"]["reason"]
            assert "systemctl start fftd@other" in told["other"]["reason"]


def test_browsers_share_one_reader(start, view):
    """Each frame is encoded once; one that does not read gets fewer frames and delays nobody."""
    daemon = start(*QUIET, size="640x480", source="pattern:noise", fps="20")
    daemon.wait_for_log("online")
    web = view()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(web.stream()) for _ in range(4)]
        stopped = stack.enter_context(web.connect())
        stopped.sendall(b"GET /camera/front/stream.mjpeg HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = streams[0].next()
        assert daemon.ctl_json("status")["Clients"] == 1
        sequences, files = [first[0]], dict([first])
        for _ in range(5):
            for sequence, jpeg in (streams[0].next() for _ in range(5)):
                sequences.append(sequence)
                assert files.setdefault(sequence, jpeg) == jpeg
            # The others have the same files. Nobody has read them meanwhile, so they lag or skip.
            # One that does not read for 10 s would lose its connection.
            for stream in streams[1:]:
                for sequence, jpeg in (stream.next() for _ in range(2)):
                    assert files.setdefault(sequence, jpeg) == jpeg
        assert sequences == sorted(set(sequences))
        # main, HTTP, the camera's frames, its state, comparisons; ThreadSanitizer has one, too
        threads, memory = web.threads_and_memory()
        assert threads <= 5 + ("thread" in BUILD.name)
    assert IS_SANITIZED or memory < 64e6


def test_fps_limits_pictures(start, view):
    start(*QUIET, fps="60").wait_for_log("online")
    web = view("--fps", "5")
    began = time.monotonic()
    with web.stream() as stream:
        sequences = [stream.next()[0] for _ in range(12)]
    # After a gap two pictures may be close to each other.
    assert time.monotonic() - began >= 10 / 5
    # Pictures that come in time have 12 frames from one to the next; on a busy machine not all do.
    assert min(np.diff(sequences)) <= 18, sequences


def test_nobody_looking_costs_nothing(start, view):
    daemon = start("--set", "camera.idle=pause", *QUIET, fps="30")
    daemon.wait_for_log("engine: ")  # it may pause before its first frame
    web = view()
    with web.stream() as stream:
        stream.next()
        daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "a reader")
        assert daemon.ctl_json("status")["Clients"] == 1
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")
    assert daemon.ctl_json("status")["Clients"] == 0
    # Asking for the state does not wake the camera.
    assert web.cameras()["front"]["state"] == "paused"
    last = daemon.ctl_json("status")["Sequence"]
    answer = web.get("/camera/front/snapshot.jpg")
    assert answer.status == 200
    assert int(answer.getheader("Fftd-Sequence")) > last, "a picture from before the pause"


def test_a_killed_daemon_comes_back(start, view):
    daemon = start(*QUIET, fps="30")
    daemon.wait_for_log("online")
    web = view()
    with web.stream() as stream:
        stream.next()
        daemon.process.kill()
        daemon.wait()
        assert web.cameras()["front"]["state"] == "absent"
        start(*QUIET, fps="30")
        assert stream.next()[1] != b""
    deadline = time.monotonic() + PATIENCE
    while web.cameras()["front"]["state"] != "online":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_unix_socket(start, view, tmp_path):
    start(*QUIET)
    path = tmp_path / "socket"
    web = view(listen=str(path))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(path))
        peer.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 200")
    assert web.stop() == 0 and not path.exists()


def test_systemd_passes_the_socket(runtime_dir):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = subprocess.Popen(
            ["bash", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" 3<&"$1"', BUILD / "fftd-view",
             str(listener.fileno())], pass_fds=[listener.fileno()],
            env=dict(os.environ, XDG_RUNTIME_DIR=str(runtime_dir.parents[1])))
        try:
            with socket.create_connection(listener.getsockname(), PATIENCE) as peer:
                peer.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
                assert peer.recv(100).startswith(b"HTTP/1.1 200")
        finally:
            process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_camera_of_a_directory(start, view, runtime_dir, tmp_path, monkeypatch):
    """As fftd-ctl finds it, also relative to the working directory."""
    daemon = start(*QUIET)
    daemon.wait_for_log("online")
    link = tmp_path / "elsewhere"
    link.symlink_to(daemon.runtime_dir)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nobody").mkdir()
    web = view("--runtime-dir", f"{link}/", "--runtime-dir", "nobody", "--control")
    listed = web.cameras()
    assert set(listed) == {"front", "elsewhere", "nobody"}
    assert listed["elsewhere"]["state"] == "online"
    assert "no daemon is running in ./nobody" in listed["nobody"]["reason"]
    assert web.get("/camera/elsewhere/snapshot.jpg").body.startswith(b"\xff\xd8")
    token = re.search("token=([0-9a-f]+)", web.log_path.read_text())[1]
    kinds = web.get("/camera/elsewhere/filters", Authorization=f"Bearer {token}")
    assert kinds.status == 200 and b"gaussian-blur" in kinds.body
    # Commands that the page shows name the directory, which only changers are told.
    assert json.loads(kinds.body)["runtime_dir"] == str(daemon.runtime_dir.resolve())
    assert str(daemon.runtime_dir).encode() not in web.get("/api/cameras").body


@pytest.mark.parametrize("arguments, code, named", [
    (["--listen", "0.0.0.0:8787"], 64, "0.0.0.0:8787"),
    (["--listen", "[::]:8787"], 64, "this machine alone"),
    (["--listen", "8787"], 64, "127.0.0.1:PORT"),
    (["--name", "a/b"], 64, "a/b"),
    (["--name", "a", "--name", "a"], 64, "twice"),
    (["--runtime-dir", ""], 64, "whose name has only letters"),
    (["--runtime-dir", "/run/a b"], 64, "/run/a b"),
    (["--runtime-dir", "/"], 64, "whose name has only letters"),
    (["--runtime-dir", "/run/a", "--name", "a"], 64, "twice"),
    (["--runtime-dir", "/" + 5000 * "a"], 64, "too long"),
    (["--fps", "0"], 64, "1 to 240"),
    (["--quality", "101"], 64, "1 to 100"),
    (["--host", "a:80"], 64, "a:80"),
    (["--such"], 64, "--such"),
    (["--listen", "/nonexistent/socket"], 69, "/nonexistent/socket"),
])
def test_options_that_are_refused(arguments, code, named):
    done = subprocess.run([BUILD / "fftd-view", *arguments], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == code and named in done.stderr and done.stderr.count("\n") == 1


def test_scripts_have_no_lookbehind(view):
    """One expression that looks behind is an error of syntax in Safari before 16.4, which then runs
    nothing of the page."""
    web, names, seen = view(), ["app.js"], set()
    while names:
        script = web.get(f"/{names.pop()}").body.decode()
        assert not re.search(r"\(\?<[=!]", script)
        names += set(found := re.findall(r'(?:from|import) "\./(\w+\.js)"', script)) - seen
        seen.update(found)
    assert {"dom.js", "zoom.js", "cards.js"} <= seen


# ---- what is refused ----

HEADERS = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
           "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


def test_every_answer_keeps_other_sites_out(view):
    web = view()
    for path in ("/", "/app.js", "/style.css", "/api/cameras", "/nothing"):
        answer = web.get(path)
        assert all(answer.getheader(name) == value for name, value in HEADERS.items())
        policy = answer.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
    page = web.get("/").body.decode()
    assert "http:" not in page and "https:" not in page  # nothing from elsewhere
    assert not re.search(r"<script>|style=|\son\w+=", page)  # nothing that the policy forbids


def test_other_hosts_and_origins(view):
    web = view("--host", "cameras.example")
    own = f"127.0.0.1:{web.port}"
    for host, status in [("localhost", 200), ("LOCALHOST:80", 200), ("[::1]:8787", 200),
                         ("cameras.example", 200), (own, 200), ("evil.example", 421),
                         ("127.0.0.1.evil.example", 421), ("localhost.evil.example", 421),
                         ("localhost:80@evil.example", 421), ("", 421)]:
        assert web.get("/", Host=host).status == status, host
    for origin, status in [(f"http://{own}", 200), (f"https://{own}", 200), ("null", 403),
                           ("http://evil.example", 403), (f"http://{own}.evil.example", 403),
                           ("http://127.0.0.1:1", 403)]:
        assert web.get("/api/cameras", Origin=origin).status == status, origin
    for site, status in [("same-origin", 200), ("none", 200), ("same-site", 403),
                         ("cross-site", 403)]:
        assert web.get("/api/cameras", Sec_Fetch_Site=site).status == status, site
    assert web.get("/", Sec_Fetch_Site="cross-site").status == 200  # a link from elsewhere
    assert web.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")[0] == 400
    assert web.raw(b"GET / HTTP/1.0\r\n\r\n")[0] == 400
    assert web.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n")[0] == 400


@pytest.mark.parametrize("path", [
    "/../etc/passwd", "/%2e%2e/etc/passwd", "//", "/app.js/", "/app.js%00", "/%61pp.js", "/APP.JS",
    "/camera/", "/camera/front", "/camera/front/", "/camera/../camera/front/spectrum",
    "/camera/other/spectrum", "/camera/front/spectrum/..", "/camera//spectrum",
    "/camera/fron/spectrum", "/camera/front2/spectrum", "/camera/front//spectrum",
    "//camera/front/spectrum", "/:file", "/camera/:camera/spectrum", "/api/cameras/", "/api",
    "/api//cameras", "/camera/front/spectru", "/camera/front/spectrum2", "/camera/%66ront/spectrum",
    "http://evil.example/", "/" + "a" * 8000, "/index.html", "/.git/config"])
def test_other_paths_do_not_exist(view, path):
    web = view()
    status, answer = web.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                             "Connection: close\r\n\r\n".encode())
    assert status == 404 and b"root:" not in answer


def test_other_methods_and_bodies(view):
    web = view()
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"):
        answer = web.get("/api/cameras", method=method)
        assert answer.status == 405 and answer.getheader("Allow") == "GET, HEAD"
    assert web.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")[0] == 400
    assert web.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"0\r\n\r\n")[0] == 400
    for path in ("/", "/api/cameras", "/camera/front/stream.mjpeg", "/camera/front/snapshot.jpg"):
        answer = web.get(path, method="HEAD")
        assert answer.status == 200 and not answer.body


def test_slow_and_endless_requests_end(start, view):
    """None of them lasts, whatever it sends, and the stream of another browser goes on."""
    start(*QUIET, fps="30").wait_for_log("online")
    web = view()
    before = web.threads_and_memory()[1]
    with web.stream() as stream, contextlib.ExitStack() as stack:
        slow = [stack.enter_context(web.connect()) for _ in range(3)]
        slow[0].sendall(b"GET / HTTP/1.1\r\n")                       # and then nothing
        slow[1].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")    # and then drop by drop
        slow[2].sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n")
        endless = stack.enter_context(web.connect())
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            endless.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
            for _ in range(16000):  # more than the buffers of both sockets take
                endless.sendall(b"A: " + b"a" * 1000 + b"\r\n")
            pytest.fail("16 MB of headers were taken")
        began, alive = time.monotonic(), set(slow)
        while alive:
            assert time.monotonic() < began + PATIENCE, "a slow request still has its connection"
            for _ in range(15):
                stream.next()  # fails if the stream stops meanwhile
            for peer in list(alive):
                try:
                    peer.sendall(b"a" if peer is slow[1] else b"")
                    peer.settimeout(0.01)
                    while peer.recv(4096):
                        pass
                    alive.discard(peer)
                except TimeoutError:
                    pass
                except OSError:
                    alive.discard(peer)
    assert IS_SANITIZED or web.threads_and_memory()[1] < before + 16e6


def has_ended(peer):
    try:
        return peer.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_many_connections(view):
    """They are bounded, they end, and then the page is there again."""
    web = view()
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(web.connect()) for _ in range(300)]
        refused = set()
        while len(refused) < len(peers) - MAX_PER_ADDRESS:
            descriptors = len(list(pathlib.Path(f"/proc/{web.process.pid}/fd").iterdir()))
            assert descriptors <= MAX_PER_ADDRESS + 20
            refused |= {peer for peer in set(peers) - refused if has_ended(peer)}
            time.sleep(0.05)

        def is_answered():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return web.get("/").status == 200
            return False
        wait_until(is_answered, "the page")
        assert len(peers) == 300


def test_streams_are_bounded(start, view):
    start(*QUIET, fps="30").wait_for_log("online")
    web = view()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(web.stream()) for _ in range(64)]
        refused = web.get("/camera/front/stream.mjpeg")
        assert refused.status == 503 and refused.getheader("Retry-After")
        assert web.get("/camera/front/snapshot.jpg").status == 200
        streams[0].next()
    deadline = time.monotonic() + PATIENCE
    while web.get("/camera/front/stream.mjpeg", method="HEAD").status != 200:
        assert time.monotonic() < deadline
    # The places are free again.
    while True:
        try:
            with web.stream() as stream:
                assert stream.next()
            break
        except AssertionError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
