"""Runs the built daemon, without installing it, in a temporary runtime directory."""

import contextlib
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

import pytest

BUILD = pathlib.Path(os.environ.get("FFTD_BUILD", "build")).resolve()
DEVICE = os.environ.get("FFTD_DEVICE", "auto")
# Sanitizers keep freed memory and sleep at exit.
SANITIZED = BUILD.name.startswith("san-")
# The first build of a kernel takes seconds, and longer with sanitizers. Working code never takes
# this long.
PATIENCE = 120
# For daemons whose frames have a size or format of their own, where the technique does not matter:
# these kernels build fastest.
FAST_KERNELS = ("--set", "engine.technique=staged")
# For tests of figures that need nearly every frame of a recording; tests/unit has the same code
# with frames that wait for it.
needs_every_frame = pytest.mark.skipif("thread" in BUILD.name,
                                       reason="ThreadSanitizer lets too many frames be missed")
# For tests that act as other users, or make device nodes. tests/tools/run.py runs them with sudo.
needs_root = pytest.mark.needs_root

# What these look at is the same in every build, and their daemons start the same threads as those
# of the other tests.
SAME_THREADS = {"test_bus_budget", "test_calibrate", "test_ctl", "test_deflicker", "test_demosaic",
                "test_edit", "test_filter_plot", "test_filters", "test_filters_doc", "test_formats",
                "test_images", "test_openmetrics", "test_presets", "test_report", "test_runner",
                "test_undistort", "test_units"}


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: acts as other users")


def lack_of_root():
    """Returns why this process cannot act as other users, if so."""
    if os.geteuid() != 0:
        return "needs root, or sudo without a password"
    # A container can have a root without these capabilities, or without other users.
    with tempfile.NamedTemporaryFile() as file:
        try:
            os.chown(file.name, 65534, 65534)
            subprocess.run(["true"], user=65533, group=65533, extra_groups=[], check=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"this root may not act as other users: {getattr(error, 'strerror', error)}"
    return None


# After this time a test hangs. It is longer than several waits of nearly PATIENCE seconds each.
TEST_SECONDS = 3000 if SANITIZED else 900


@pytest.fixture(autouse=True)
def limit_time():
    """Ends a test that hangs; a file whose tests take longer has a fixture of this name."""
    def end(*_):
        raise TimeoutError(f"the test was still running after {TEST_SECONDS} s")
    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pytest_collection_modifyitems(items):
    lack = None
    if any(item.get_closest_marker("needs_root") for item in items):
        lack = lack_of_root()
    for item in items:
        if lack and item.get_closest_marker("needs_root"):
            item.add_marker(pytest.mark.skip(reason=lack))
        if "thread" in BUILD.name and item.module.__name__.rpartition(".")[2] in SAME_THREADS:
            item.add_marker(pytest.mark.skip(reason="no other threads than in other tests"))


def wait_until(condition, what):
    """Polls for a condition that other processes cannot wait for, and returns its value."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return value


class Child:
    """A process of a test: `process` is its subprocess.Popen."""

    @property
    def pid(self):
        return self.process.pid

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE):
        """Waits for it to end and returns its exit code."""
        return self.process.wait(timeout)

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()


class Daemon(Child):
    """One fftd process. It is killed at the end of the test if it still runs."""

    def __init__(self, runtime_dir, log_path, arguments, env, wrapper=(), pass_fds=(),
                 stdin=subprocess.DEVNULL):
        self.runtime_dir = runtime_dir
        self.log_path = log_path
        self.log_file = open(log_path, "ab")
        # Daemons that compile for changes which nobody makes would keep the others waiting.
        command = [*wrapper, BUILD / "fftd", "--runtime-dir", runtime_dir, "--device", DEVICE,
                   "--set", "engine.compile_ahead=false", *arguments]
        self.process = subprocess.Popen(command, stdin=stdin, pass_fds=pass_fds,
                                        stdout=subprocess.DEVNULL, stderr=self.log_file, env=env)

    @property
    def log(self):
        return self.log_path.read_text()

    def wait_until(self, condition, what):
        """The same while the daemon runs. A failure shows its log."""
        deadline = time.monotonic() + PATIENCE
        while not (value := condition()):
            assert self.process.poll() is None, f"fftd ended, waiting for {what}:\n{self.log}"
            assert time.monotonic() < deadline, f"waited in vain for {what}:\n{self.log}"
            time.sleep(0.01)
        return value

    def wait_for_log(self, text):
        self.wait_until(lambda: text in self.log, repr(text))

    def wait_for_socket(self, name="control"):
        """Waits until the daemon listens, which is shortly after the socket exists."""
        kind = socket.SOCK_SEQPACKET if name.endswith("frames") else socket.SOCK_STREAM

        def listens():
            with socket.socket(socket.AF_UNIX, kind) as probe:
                return probe.connect_ex(str(self.runtime_dir / name)) == 0

        self.wait_until(listens, f"the socket {name}")

    def ctl(self, *arguments, check=True):
        """Runs fftd-ctl against this daemon. `filter set` waits for the compiler, which takes
        minutes on a busy machine."""
        self.wait_for_socket()
        compiles = arguments[:2] == ("filter", "set") and "--timeout" not in arguments
        if compiles:
            arguments = (*arguments[:2], "--timeout", str(3 * PATIENCE), *arguments[2:])
        done = subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", self.runtime_dir, *arguments],
                              capture_output=True, text=True, check=False,
                              timeout=(4 if compiles else 1) * PATIENCE)
        assert not check or done.returncode == 0, f"fftd-ctl {arguments}: {done.stderr}\n{self.log}"
        return done

    def begin_ctl(self, *arguments):
        """Starts fftd-ctl and returns its process, whose output can be read."""
        self.wait_for_socket()
        return subprocess.Popen([BUILD / "fftd-ctl", "--runtime-dir", self.runtime_dir, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ctl_json(self, *arguments):
        return json.loads(self.ctl("--json", *arguments).stdout)

    def change(self, *arguments):
        """Changes the filter or the view. Returns its serial at once, for tests that wait for its
        frames themselves."""
        return self.ctl_json(*arguments, "--no-wait")["Serial"]

    def descriptors(self):
        found = []
        for path in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.append(os.readlink(path))
        return sorted(found)

    def of_threads(self, name):
        """Returns the text of that file in /proc for each thread that has not ended by then."""
        found = []
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found.append((task / name).read_text())
        return found

    def memory_bytes(self, kind="VmRSS"):
        """What of that kind is resident: one of the fields of /proc/PID/status, see proc(5). A
        process that has ended has none."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{kind}:\s*(\d+) kB$", status, re.M)
        return int(found[1]) << 10 if found else 0


@pytest.fixture
def runtime_dir():
    # pytest's own directories can be too deep for a socket's name.
    path = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    yield path / "run"
    shutil.rmtree(path)


@pytest.fixture
def start(runtime_dir, tmp_path):
    """start(argument..., env={...}) starts a daemon on a small test scene; wrapper is a command
    that exec()s it."""
    daemons = []

    def start_daemon(*arguments, env=None, source="pattern:moire", size="160x120", fps="60",
                     **launching):
        daemon = Daemon(runtime_dir, tmp_path / f"log{len(daemons)}",
                        [*(["--source", source] if source else []),
                         *(["--size", size] if size else []),
                         *(["--fps", fps] if fps else []), *arguments],
                        dict(os.environ, **(env or {})), **launching)
        daemons.append(daemon)
        return daemon

    yield start_daemon
    for daemon in daemons:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
        daemon.log_file.close()


class Faults:
    """The faults of OpenCL, one per line, in the format of tests/faults/opencl.c."""

    def __init__(self, path):
        self.path = path
        self.env = {"LD_PRELOAD": str(BUILD / "tests/tools/faulty_opencl.so"),
                    "FFTD_FAULTS": str(path),
                    # A sanitizer must be loaded first, because this library is not sanitized.
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
                                    + ":verify_asan_link_order=0"}

    def begin(self, *lines):
        part = self.path.with_suffix(".part")
        part.write_text("".join(line + "\n" for line in lines))
        part.rename(self.path)

    def end(self):
        self.path.unlink()


@pytest.fixture
def faults(tmp_path):
    library = BUILD / "tests/tools/faulty_opencl.so"
    if not library.exists():  # the loader would go on without it, and nothing would fail
        pytest.fail(f"there is no {library}: `make test-programs` builds it")
    return Faults(tmp_path / "faults")


@pytest.fixture
def start_faulty(start, faults):
    """start, with an OpenCL library that fails as `faults` requests."""
    def start_daemon(*arguments, env=None, **options):
        return start(*arguments, env={**faults.env, **(env or {})}, **options)
    return start_daemon


@pytest.fixture
def fftd(runtime_dir):
    """fftd(argument...) runs fftd until it ends; wrapper is a command that starts it."""

    def run(*arguments, env=None, wrapper=()):
        return subprocess.run([*wrapper, BUILD / "fftd", "--runtime-dir", runtime_dir, *arguments],
                              capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=dict(os.environ, **(env or {})))

    return run
