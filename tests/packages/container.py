"""The recipes of docs/CONTAINERS.md: builds the image of config/container with podman,
and runs a daemon and clients in containers. BASE, a tar file, is what the image is made of."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STORE = ROOT / "build/container"
BASE = STORE / "base.tar"
PATIENCE_S = 600
GROUP = 4242  # of the host's service
# Limits that need no privilege, for a machine that is a container itself.
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=2000:2000"]
RUNTIME = ["--runtime", shutil.which("runc")] if shutil.which("runc") else []


def podman(*arguments, check=True):
    done = subprocess.run(["podman", "--root", STORE / "root", "--runroot", STORE / "run",
                           "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", *RUNTIME,
                           *map(str, arguments)], text=True, capture_output=True, check=False,
                          timeout=PATIENCE_S)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def run(*arguments, check=True):
    return podman("run", *LIMITS, "--network", "host", *arguments, check=check)


@pytest.fixture(name="image", scope="module")
def image_fixture():
    podman("import", BASE, "fftd-base")
    podman("build", *LIMITS, "--network", "host", "--build-arg", "BASE=localhost/fftd-base", "-t",
           "fftd", "-f", ROOT / "config/container/Containerfile", ROOT / "build/deb")
    run("-d", "--name", "front", "-v", "fftd:/run/fftd", "fftd", "--name", "front", "--runtime-dir",
        "/run/fftd/front", "--source", "pattern:scene", "--size", "160x120", "--filter",
        "lowpass:cutoff=0.1")
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = podman("exec", "front", "fftd-ctl", "--name", "front", "--json", "status",
                      check=False)
        if done.returncode == 0 and json.loads(done.stdout)["State"] == "online":
            break
        assert time.monotonic() < deadline, done.stderr + podman("logs", "front").stderr
        time.sleep(0.5)
    yield "fftd"
    podman("rm", "-f", "-t", "1", "front")
    podman("volume", "rm", "-f", "fftd")


def frames(*arguments, check=True):
    """What a client in a container of its own says about 100 frames."""
    return run("--rm", *arguments, "--entrypoint", "fftd-ctl", "fftd", "--name", "front", "frames",
               "-n", "100", "-o", "/dev/null", check=check)


def test_a_client_in_another_container(image):
    assert image and "100 frames" in frames("-v", "fftd:/run/fftd", "--user", "1000").stderr


def test_another_user_is_refused(image):
    done = frames("-v", "fftd:/run/fftd", "--user", "1001", check=False)
    assert image and done.returncode != 0 and "ermission denied" in done.stderr, done.stderr


# systemd passes descriptors from 3 on.
DAEMON = 'LISTEN_PID=$$ exec "$@" 3<&20 4<&21 5<&22'
SOCKETS = (("frames", socket.SOCK_SEQPACKET), ("control", socket.SOCK_STREAM),
           ("control-watch", socket.SOCK_STREAM))


@pytest.fixture(name="service")
def service_fixture():
    """A daemon whose sockets are for a group, as systemd makes those of fftd@front."""
    folder = pathlib.Path("/run/fftd-test-container/front")
    folder.mkdir(parents=True)
    for number, (name, kind) in enumerate(SOCKETS, 20):
        with socket.socket(socket.AF_UNIX, kind) as listener:
            listener.bind(str(folder / name))
            listener.listen(64)
            os.chown(folder / name, 0, GROUP)
            (folder / name).chmod(0o660)
            os.dup2(listener.fileno(), number)
    process = subprocess.Popen(
        ["bash", "-c", DAEMON, "bash", ROOT / "build/fftd", "-q", "--runtime-dir", folder,
         "--source", "pattern:scene", "--size", "160x120"], pass_fds=(20, 21, 22),
        env=dict(os.environ, LISTEN_FDS="3", LISTEN_FDNAMES=":".join(name for name, _ in SOCKETS)))
    yield folder
    process.kill()
    process.wait()
    for number in (20, 21, 22):
        os.close(number)
    shutil.rmtree(folder.parent)


def test_a_client_of_the_hosts_service(image, service):
    mount = ["-v", f"{service}:/run/fftd/front", "--user", "1000"]
    done = frames(*mount, check=False)
    assert image and done.returncode != 0 and "ermission denied" in done.stderr, done.stderr
    assert "100 frames" in frames(*mount, "--group-add", GROUP).stderr
