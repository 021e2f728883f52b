"""Tests of the Debian packages, from which the programs of all tests here were installed: upgrade,
removal and purge. Whatever happens, they are installed again for the other tests."""

import http.client
import pathlib
import re
import shutil

import pytest
from commands import PATIENCE, run
from conftest import figures, watched

PACKAGES = pathlib.Path("/share/packages")
CACHE = pathlib.Path("/var/cache/fftd")


def package(name):
    return next(PACKAGES.glob(f"{name}_*.deb"))


def repacked(original, directory, old, new):
    """The same package with other fields."""
    tree, result = directory / "tree", directory / f"new-{original.name}"
    run("dpkg-deb", "-R", original, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(f"^{old}", new, control.read_text(), flags=re.M))
    run("dpkg-deb", "-Znone", "-b", tree, result)
    shutil.rmtree(tree)
    return result


def newer(original, directory):
    """The same package with a higher version."""
    return repacked(original, directory, "Version: ", "Version: 9:")


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


# Their elements are not in this machine, so that their processes only wait, and their packages
# depend on nothing: dpkg defers triggers of a package without what it depends on.
WAITS = """[Unit]
AssertPathExists=
[Service]
ExecStart=
ExecStart=/bin/sleep infinity
"""
STREAM, LOOPBACK, VIEW = "fftd-stream@cam.service", "fftd-loopback@cam.service", "fftd-view.service"
UNITS = (STREAM, LOOPBACK, VIEW)
NAMES = ("fftd-stream", "fftd-loopback", "fftd-view", "gstreamer1.0-fftd")


@pytest.fixture(name="packed")
def packed_fixture(tmp_path):
    return {name: repacked(package(name), tmp_path, "Depends: ", "X-Depends: ") for name in NAMES}


def pids():
    """The process of each unit; 0: it does not run."""
    return [int(run("systemctl", "show", "--value", "--property=MainPID", unit).stdout)
            for unit in UNITS]


def ask_view():
    connection = http.client.HTTPConnection("127.0.0.1", 8787, timeout=PATIENCE)
    connection.request("GET", "/")
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture(name="waiting")
def waiting_fixture():
    folders = [pathlib.Path(f"/run/systemd/system/fftd-{name}@.service.d")
               for name in ("stream", "loopback")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "waits.conf").write_text(WAITS)
    yield
    run("systemctl", "stop", *UNITS, "fftd-view.socket", check=False)
    run("dpkg", "-P", *NAMES)
    for folder in folders:
        shutil.rmtree(folder)
    run("systemctl", "daemon-reload")


@pytest.mark.usefixtures("waiting")
def test_services_follow_their_packages(packed, tmp_path):
    upgrades = tmp_path / "newer"
    upgrades.mkdir()
    run("dpkg", "-i", *packed.values())
    assert pids() == [0, 0, 0]
    assert run("systemctl", "is-active", "fftd-view.socket", check=False).stdout.strip() == \
        "inactive"
    run("systemctl", "start", STREAM, LOOPBACK, "fftd-view.socket")
    assert ask_view() == 200
    first = pids()
    assert all(first)

    # What is upgraded runs anew, and so does what has loaded the upgraded element.
    run("dpkg", "-i", newer(packed["gstreamer1.0-fftd"], upgrades))
    second = pids()
    assert all(second) and [a != b for a, b in zip(first, second)] == [True, True, False]
    for number, name in enumerate(NAMES[:3]):
        before = pids()
        run("dpkg", "-i", newer(packed[name], upgrades))
        if name == "fftd-view":
            assert ask_view() == 200
        after = pids()
        assert all(after) and [a != b for a, b in zip(before, after)] == \
            [i == number for i in range(3)]
        assert not pathlib.Path(f"/proc/{before[number]}").exists()

    # A service that is stopped is not started.
    run("systemctl", "stop", STREAM)
    run("dpkg", "-i", packed["fftd-stream"])
    assert pids()[0] == 0

    # Removed, nothing of it runs, and nothing listens.
    run("systemctl", "start", STREAM)
    last = pids()
    run("dpkg", "-r", *NAMES)
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in last)
    with pytest.raises(ConnectionRefusedError):
        ask_view()
