"""Installs the packages of another architecture, FFTD_ARCH, in a tree with that architecture's
libraries and PoCL, and runs what they install with qemu-user: a daemon filters 300 frames, and
clients read them. What dpkg itself runs is of this machine's architecture.
"""

import json
import os
import pathlib
import shutil
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
INSTALLED = ("libfftd0", "fftd", "gstreamer1.0-fftd")
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
    """The same package with a lower version."""
    tree = directory / original.name
    subprocess.run(["dpkg-deb", "-R", original, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("Version: ", "Version: 0.0~"))
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
    for name in ("fftd", "fftd-ctl"):
        assert finish(emulated(f"/usr/bin/{name}", "--version")) == f"{name} {version}\n"
    assert "camera = {" in finish(emulated("/usr/bin/fftd", "--check", "--config",
                                           "/etc/fftd/default.conf"))
    assert "Portable Computing Language" in finish(emulated("/usr/bin/fftd", "--list-devices"))


def watch_program():
    """tests/tools/watch.c for the other architecture, with the library of the package."""
    place = BUILD_TREE / "build/watch"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "client/include", place / "include")
    shutil.copy(ROOT / "tests/tools/watch.c", place)
    for name in ("libfftd0", "libfftd-dev"):
        subprocess.run(["dpkg-deb", "-x", package(name), place], check=True)
    subprocess.run(["chroot", BUILD_TREE, f"{TRIPLET}-gcc", "-D_GNU_SOURCE", "-std=c11",
                    "-I/build/watch/usr/include", "-o", "/build/watch/watch",
                    "/build/watch/watch.c", f"-L/build/watch/usr/lib/{TRIPLET}", "-lfftd"],
                   check=True)
    shutil.copy(place / "watch", TREE / "packages")
    shutil.rmtree(place)


def test_300_filtered_frames(tree):
    watch_program()
    daemon = emulated("/usr/bin/fftd", "--source", "pattern:scene", "--size", "64x48",
                      "--filter", "gaussian-blur:sigma=2", "--runtime-dir", "/run/test",
                      "--set", "engine.build_timeout=600", "--set", "engine.tune=off",
                      "--set", "output.checksum=true")
    try:
        deadline = time.monotonic() + PATIENCE
        status = {}
        while status.get("State") != "online":
            assert daemon.poll() is None, daemon.communicate()
            assert time.monotonic() < deadline, "the daemon publishes no frames"
            time.sleep(0.5)
            client = emulated("/usr/bin/fftd-ctl", "--runtime-dir", "/run/test", "--json", "status")
            output, _ = client.communicate(timeout=PATIENCE)
            status = json.loads(output) if client.returncode == 0 else {}
        client = emulated("/packages/watch", "/run/test", FRAMES, PATIENCE)
        found = json.loads(finish(client))
        assert found["frames"] == FRAMES and found["torn"] == found["corrupt"] == 0
        finish(emulated("/usr/bin/fftd-ctl", "--runtime-dir", "/run/test", "filter", "set", "none"))
        assert "none" in finish(emulated("/usr/bin/fftd-ctl", "--runtime-dir", "/run/test",
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
