"""Installs the packages of another architecture, FFTD_ARCH, in a tree with that architecture's
libraries and PoCL, and runs what they install with qemu-user: a daemon filters 300 frames, and
clients read them. What dpkg itself runs is of this machine's architecture.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCH = os.environ["FFTD_ARCH"]
PACKAGES = ROOT / f"build/deb-{ARCH}"
BUILD_TREE = ROOT / f"build/deb-tree/{ARCH}"
TREE = ROOT / f"build/deb-root/{ARCH}"
QEMU, TRIPLET = {"armhf": ("qemu-arm-static", "arm-linux-gnueabihf"),
                 "arm64": ("qemu-aarch64-static", "aarch64-linux-gnu")}[ARCH]
# Without those for all architectures, whose programs are scripts: in a tree of two architectures
# they would need the other one's packages.
INSTALLED = ("libfftd0", "fftd", "fftd-view", "fftd-gst", "fftd-pipewire", "gstreamer1.0-fftd")
RUNTIME_DIR = "/run/fftd/test"
WIDTH, HEIGHT = 64, 48
FRAMES = 300
PATIENCE = 200

# The linker of PoCL is a program of the other architecture, which the kernel does not execute.
LINKER = f"""#!/bin/sh
exec /usr/bin/{QEMU} /usr/bin/{TRIPLET}-ld.bfd "$@"
"""


def started(*command, **more):
    """Starts a command of the tree, which sees the machine's processes and processors."""
    mounts = 'mount -t proc proc "$0/proc"; mount --rbind /sys "$0/sys"; exec chroot "$0" "$@"'
    # In qemu-user, readdir() of 32-bit programs without large files fails, and with it the search
    # of the OpenCL loader for ICD files.
    return subprocess.Popen(
        ["unshare", "--mount", "sh", "-ec", mounts, TREE, "env", "-i", "HOME=/root",
         "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd",
         *map(str, command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def finish(process):
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, output + errors
    return output + errors


def run(*command):
    return finish(started(*command))


def emulated(*command):
    return started(QEMU, *command)


def package(name):
    return next(PACKAGES.glob(f"{name}_*_{ARCH}.deb"))


def older(original, directory):
    """The same package with a lower version, which depends on that version of the others."""
    tree = directory / original.name
    subprocess.run(["dpkg-deb", "-R", original, tree], check=True)
    control = tree / "DEBIAN/control"
    version = original.name.split("_")[1]
    control.write_text(control.read_text().replace("Version: ", "Version: 0.0~")
                       .replace(f"(= {version})", f"(= 0.0~{version})"))
    subprocess.run(["dpkg-deb", "-Znone", "-b", tree, directory / f"older-{original.name}"],
                   check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)


@pytest.fixture(name="tree", scope="module")
def tree_fixture(tmp_path_factory):
    """The older packages, with everything they depend on and nothing else but PoCL."""
    directory = tmp_path_factory.mktemp("older")
    for name in INSTALLED:
        older(package(name), directory)
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.parent.mkdir(parents=True, exist_ok=True)
    native = subprocess.run(["dpkg", "--print-architecture"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    done = subprocess.run(
        [ROOT / "tests/tools/bootstrap.sh", TREE, "--variant=apt",
         f"--architectures={native},{ARCH}", f"--include=pocl-opencl-icd:{ARCH}",
         '--aptopt=APT::Install-Recommends "false"', "--dpkgopt=force-unsafe-io",
         "--dpkgopt=path-exclude=/usr/share/doc/*",
         f'--customize-hook=mkdir "$1/packages" && cp {directory}/*.deb "$1/packages"',
         '--customize-hook=chroot "$1" sh -c "apt-get install -y /packages/older-*.deb"'],
        text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copy(f"/usr/bin/{QEMU}", TREE / "usr/bin")
    for name in ("ld", f"{TRIPLET}-ld"):
        (TREE / "usr/bin" / name).unlink()
        (TREE / "usr/bin" / name).write_text(LINKER)
        (TREE / "usr/bin" / name).chmod(0o755)
    for name in INSTALLED:
        shutil.copy(package(name), TREE / "packages")
    yield TREE
    shutil.rmtree(TREE)


def versions():
    listing = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\n", *INSTALLED)
    return {line.split()[1] for line in listing.splitlines() if line.endswith(f" {ARCH}")}


def test_upgrade(tree):
    version = package("fftd").name.split("_")[1]
    assert versions() == {f"0.0~{version}"}
    config = tree / "etc/fftd/default.conf"
    config.write_text(config.read_text() + "\n# the administrator's\n")
    run("dpkg", "-i", *(f"/packages/{package(name).name}" for name in INSTALLED))
    assert versions() == {version}
    assert config.read_text().endswith("# the administrator's\n")


def test_programs_start(tree):
    version = package("fftd").name.split("_")[1]
    for name in ("fftd", "fftd-ctl", "fftd-view", "fftd-pipewire"):
        assert finish(emulated(f"/usr/bin/{name}", "--version")) == f"{name} {version}\n"
    # The daemon's helper says that it is not for people, once its libraries are there.
    helper = emulated("/usr/libexec/fftd/fftd-gst")
    assert "fftd starts this program" in helper.communicate(timeout=PATIENCE)[1]
    assert helper.returncode == os.EX_USAGE
    assert "camera = {" in finish(emulated("/usr/bin/fftd", "--check", "--config",
                                           "/etc/fftd/default.conf"))
    assert "Portable Computing Language" in finish(emulated("/usr/bin/fftd", "--list-devices"))


def picture_in_browser():
    """What fftd-view answers to a browser that asks for a picture."""
    view = emulated("/usr/bin/fftd-view", "--name", "test", "--listen", "127.0.0.1:0")
    try:
        said = view.stderr.readline()
        port = re.search(r"http://127.0.0.1:(\d+)/", said)
        assert port, said
        connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=PATIENCE)
        connection.request("GET", "/camera/test/snapshot.jpg")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        view.terminate()
        view.communicate(timeout=PATIENCE)


def test_300_filtered_frames(tree):
    subprocess.run([ROOT / "tests/packages/client.sh", BUILD_TREE, f"{TRIPLET}-gcc", PACKAGES,
                    TREE / "packages/watch"], check=True)
    (tree / "run/fftd").mkdir(exist_ok=True)
    daemon = emulated("/usr/bin/fftd", "--source", "pattern:scene", "--size", f"{WIDTH}x{HEIGHT}",
                      "--filter", "gaussian-blur:sigma=2", "--runtime-dir", RUNTIME_DIR,
                      "--set", "engine.build_timeout=600", "--set", "engine.tune=off",
                      "--set", "output.checksum=true")
    try:
        deadline = time.monotonic() + PATIENCE
        status = {}
        while status.get("State") != "online":
            assert daemon.poll() is None, daemon.communicate()
            assert time.monotonic() < deadline, "the daemon publishes no frames"
            time.sleep(0.5)
            client = emulated("/usr/bin/fftd-ctl", "--runtime-dir", RUNTIME_DIR, "--json", "status")
            output, _ = client.communicate(timeout=PATIENCE)
            status = json.loads(output) if client.returncode == 0 else {}
        client = emulated("/packages/watch", RUNTIME_DIR, FRAMES, PATIENCE)
        found = json.loads(finish(client))
        assert found["frames"] == FRAMES and found["torn"] == found["corrupt"] == 0
        status, picture = picture_in_browser()
        assert status == 200 and picture[:2] == b"\xff\xd8" and picture[-2:] == b"\xff\xd9"
        size = picture.index(b"\xff\xc0") + 5  # behind the marker of the frame
        assert struct.unpack_from(">HH", picture, size) == (HEIGHT, WIDTH)
        finish(emulated("/usr/bin/fftd-ctl", "--runtime-dir", RUNTIME_DIR, "filter", "set", "none"))
        assert "none" in finish(emulated("/usr/bin/fftd-ctl", "--runtime-dir", RUNTIME_DIR,
                                         "filter", "show"))
    finally:
        daemon.terminate()
        daemon.wait(PATIENCE)


def test_removal_and_purge(tree):
    run("dpkg", "-r", *INSTALLED)
    assert not (tree / "usr/bin/fftd").exists() and (tree / "etc/fftd/default.conf").exists()
    run("dpkg", "-P", *INSTALLED)
    left = [str(path) for folder in ("etc", "usr", "var/cache", "var/lib/systemd", "run")
            for path in (tree / folder).rglob("*fftd*")]
    assert not left
