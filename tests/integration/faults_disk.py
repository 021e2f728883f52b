"""Tests of full disks, each a small tmpfs in a mount namespace of its own."""

import contextlib
import os
import pathlib
import subprocess

import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE
from faults_allocations import SYSEXITS, wait_for_start

SCRIPT = """
mount -t tmpfs -o size=64k,nr_inodes=8,mode=700 tmpfs "$0" || exit 99
case $1 in
blocks) head -c 1M /dev/zero > "$0/filling" 2>/dev/null ;;
inodes) (cd "$0" && touch 1 2 3 4 5 6 7 8) 2>/dev/null ;;
esac
shift
exec "$@"
"""


@pytest.fixture
def full(tmp_path):
    """full(what) returns the command that runs another one with full.path as a full disk: of
    "blocks", so that files can be created but not written, or of "inodes"."""
    def command(what):
        return ["unshare", *unshare, "sh", "-c", SCRIPT, path, what]

    path = tmp_path / "full"
    path.mkdir()
    command.path = path
    for unshare in (["-m"], ["-rm"]):  # of root, and of a user who may create a namespace
        if subprocess.run([*command("blocks"), "true"], capture_output=True,
                          check=False).returncode == 0:
            return command
    pytest.skip("mounting a file system is not permitted here")


def inside(daemon, path):
    """The path as the daemon sees it."""
    return pathlib.Path(f"/proc/{daemon.pid}/root{path}")


@pytest.mark.parametrize("what", ["blocks", "inodes"])
def test_the_cache_of_programs(start, full, what):
    """It stays empty, and that costs only the time of the next start."""
    daemon = start(*FAST_KERNELS, "--set", f"engine.cache_dir={full.path}", wrapper=full(what))
    with Reader(daemon) as reader:
        reader.next()
    left = [entry for entry in inside(daemon, full.path).iterdir() if entry.is_dir()]
    assert not [entry for path in left for entry in path.iterdir()]
    assert daemon.ctl_json("status")["State"] == "online"
    assert daemon.stop() == 0


def test_the_runtime_directory(fftd, full):
    done = fftd(*FAST_KERNELS, "--source", "pattern:moire", "--size", "64x48", "--runtime-dir",
                full.path, wrapper=full("inodes"))
    assert done.returncode in SYSEXITS
    assert f"{full.path}" in done.stderr and "No space left on device" in done.stderr


@pytest.mark.parametrize("command, is_whole", [
    (["snapshot", "after"], True),
    (["stats", "--prometheus"], True),
    (["stats", "--openmetrics"], True),
    (["report"], True),
    (["frames", "--raw", "--count", "50"], False),
])
@pytest.mark.parametrize("what", ["blocks", "inodes"])
def test_the_files_of_fftd_ctl(start, full, command, is_whole, what):
    """The command fails and says why. A file that is written as a whole is not left in part."""
    daemon = start(*FAST_KERNELS)
    with Reader(daemon) as reader:
        reader.next()
    script = 'path=$1; shift; "$@"; code=$?; ls "$path" >&2; exit $code'
    done = subprocess.run([*full(what), "sh", "-c", script, "sh", full.path, BUILD / "fftd-ctl",
                           "--runtime-dir", daemon.runtime_dir, *command, "-o",
                           full.path / "result"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in SYSEXITS
    assert "No space left on device" in done.stderr
    assert not is_whole or "result" not in done.stderr.partition("device\n")[2]
    assert daemon.stop() == 0


@pytest.mark.parametrize("what", ["blocks", "inodes"])
def test_what_a_changer_saves(start, full, what):
    """The call says why it failed, and what was saved before stays."""
    daemon = start(*FAST_KERNELS, "--set", "control.allow_save=true",
                   env={"STATE_DIRECTORY": str(full.path)}, wrapper=full("nothing"))
    with Reader(daemon) as reader:
        reader.next()
    state = inside(daemon, full.path)
    daemon.ctl("filter", "set", "gain:ac=0.5")
    daemon.ctl("filter", "save")
    before = (state / "default.conf").read_text()
    if what == "blocks":
        with contextlib.suppress(OSError), open(state / "filling", "wb", buffering=0) as filling:
            while filling.write(bytes(4096)):
                pass
    else:
        with contextlib.suppress(OSError):
            for number in range(8):
                (state / str(number)).touch()
    daemon.ctl("filter", "set", "gain:ac=0.25")
    done = daemon.ctl("filter", "save", check=False)
    assert done.returncode != 0 and "No space left on device" in done.stderr
    assert (state / "default.conf").read_text() == before
    assert not (state / "default.conf.new").exists()
    # With space again it can be saved.
    for entry in state.iterdir():
        if entry.name != "default.conf":
            entry.unlink()
    daemon.ctl("filter", "save")
    assert 'filter = "gain:dc=1,ac=0.25"' in (state / "default.conf").read_text()
    assert daemon.stop() == 0


def test_the_first_frame_of_a_conversion(full, tmp_path):
    """It does not fit, so that nothing is left that could be continued."""
    source = tmp_path / "in.y4m"
    source.write_bytes(b"YUV4MPEG2 W320 H240 F25:1 Cmono\n" + 3 * (b"FRAME\n" + bytes(320 * 240)))
    script = 'path=$1; shift; "$@"; code=$?; ls "$path" >&2; exit $code'
    done = subprocess.run([*full("nothing"), "sh", "-c", script, "sh", full.path,
                           BUILD / "fftd-ctl", "convert", *FAST_KERNELS, source,
                           full.path / "out.y4m"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == os.EX_IOERR
    assert done.stderr.endswith("No space left on device\n"), done.stderr
