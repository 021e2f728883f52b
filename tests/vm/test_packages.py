"""Tests of the Debian packages, from which the programs of all tests here were installed: upgrade,
removal and purge. Whatever happens, they are installed again for the other tests."""

import pathlib
import shutil

import pytest
from commands import run
from conftest import figures, watched

PACKAGES = pathlib.Path("/share/packages")
CACHE = pathlib.Path("/var/cache/fftd")


def package(name):
    return next(PACKAGES.glob(f"{name}_*.deb"))


def newer(original, directory):
    """The same package with a higher version."""
    tree, result = directory / original.stem, directory / f"newer-{original.name}"
    run("dpkg-deb", "-R", original, tree)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("Version: ", "Version: 9:"))
    run("dpkg-deb", "-Znone", "-b", tree, result)
    return result


def version(name):
    return run("dpkg-query", "-W", "-f", "${Version}", name).stdout


def steepness(frame):
    """How sharp the edges of a picture are: the squares of the differences of neighbours. The
    frame is NV12, of which the luma comes first."""
    luma = frame[:len(frame) * 2 // 3]
    return sum((left - right) ** 2 for left, right in zip(luma, luma[1:]))


@pytest.fixture(name="packages")
def packages_fixture(tmp_path):
    shutil.copytree(CACHE, tmp_path / "cache")  # of kernels, which take minutes to compile
    yield
    run("dpkg", "--force-confmiss", "-i", package("libfftd0"), package("fftd"))
    shutil.rmtree(CACHE)
    shutil.copytree(tmp_path / "cache", CACHE)
    run("chown", "-R", "fftd:fftd", CACHE)


def files_left():
    """What is on the disk and belongs to fftd, apart from the journal."""
    found = run("find", "/etc", "/usr", "/var/cache", "/var/lib/systemd", "/run/fftd", "-xdev",
                "-name", "*fftd*", check=False).stdout
    return found.split()


def test_upgrade_removal_and_purge(single, service, packages, tmp_path):
    service.configure(f"v4l2:{single.device}", filter="gaussian-blur:sigma=2")
    service.systemctl("start")
    service.wait_for_state("online")
    pid, before = service.pid, version("fftd")

    # The client stays connected while its daemon and its library are replaced.
    client = service.watch(300)
    service.wait_for_frames()
    run("dpkg", "-i", *(newer(package(name), tmp_path) for name in ("fftd", "libfftd0")))
    assert version("fftd") == version("libfftd0") == f"9:{before}"
    service.wait_for(lambda: service.pid not in (0, pid), "the new daemon")
    found = watched(client)
    figures.append(f"300 frames during an upgrade: {found}")
    assert found["frames"] == 300 and len(found["epochs"]) == 2
    assert found["torn"] == found["corrupt"] == found["unchecked"] == 0

    blurred = steepness(service.frame())
    service.set_filter("sharpen:amount=1,sigma=2")
    service.wait_for_filter()
    assert steepness(service.frame()) > 2 * blurred

    # Removed, it does not run, and leaves its configuration and its cache.
    run("dpkg", "-r", "fftd")
    assert run("systemctl", "is-active", service.unit, check=False).stdout.strip() != "active"
    assert not pathlib.Path("/usr/bin/fftd").exists()
    assert service.config.exists() and CACHE.exists()

    # Purged, it leaves what the administrator has written, and the library, which is another
    # package.
    run("dpkg", "-P", "fftd")
    assert [file for file in files_left() if "libfftd" not in file] == ["/etc/fftd"]
    assert list(service.config.parent.iterdir()) == [service.config]
    service.config.unlink()
    service.config.parent.rmdir()
    run("dpkg", "-P", "libfftd0")
    assert files_left() == []
