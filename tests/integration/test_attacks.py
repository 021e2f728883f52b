"""Attacks by other users of the machine, each as it succeeded before. docs/SECURITY.md says what is
promised to whom."""

import os
import pathlib
import socket
import subprocess
import tempfile

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE

OTHER = 65534  # a user who is neither root nor the one who runs the tests
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving directories away takes root")


@pytest.fixture
def daemon(start):
    return start(*FAST_KERNELS)


@pytest.fixture
def theirs():
    """A directory that belongs to another user."""
    with tempfile.TemporaryDirectory(prefix="fftd-test-") as path:
        os.chown(path, OTHER, OTHER)
        yield pathlib.Path(path)


# ---- files and directories ----

@pytest.mark.parametrize("command", [
    ["snapshot", "after"], ["stats", "--prometheus"], ["frames", "--count", "1"]])
def test_output_does_not_follow_planted_links(daemon, tmp_path, command):
    target, planted = tmp_path / "target", tmp_path / "planted"
    target.write_text("precious")
    planted.symlink_to(target)
    daemon.ctl(*command, "--output", planted)
    assert target.read_text() == "precious"
    assert not planted.is_symlink() and planted.stat().st_size > 100
    assert sorted(path.name for path in tmp_path.iterdir() if "planted" in path.name) == ["planted"]


@pytest.mark.parametrize("path", ["/dev/stdout", "-"])
def test_output_to_stdout_writes_through_a_redirection(daemon, tmp_path, path):
    daemon.wait_for_socket()
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, "stats",
                        "--prometheus", "--output", path], stdout=out, timeout=PATIENCE, check=True)
    assert (tmp_path / "out").read_text().startswith("# TYPE")
    assert os.path.lexists("/dev/stdout")


@needs_root
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR"])
def test_caches_of_another_user_are_not_used(start, theirs, variable):
    """sudo can keep HOME. Whoever fills the cache there would have code of theirs run as root."""
    daemon = start(*FAST_KERNELS, env={"XDG_CACHE_HOME": "", variable: str(theirs)})
    daemon.wait_for_log("online")
    assert f"{variable}={theirs} is ignored: it belongs to user {OTHER}" in daemon.log
    assert list(theirs.iterdir()) == []


@needs_root
def test_a_cache_directory_that_others_may_write_is_reported(start, theirs):
    daemon = start(*FAST_KERNELS, "--set", f"engine.cache_dir={theirs}")
    daemon.wait_for_log(f"{theirs} belongs to user {OTHER}: expected user 0 or root")
    assert list(theirs.iterdir()) == []


@needs_root
def test_sockets_of_another_user_are_not_believed(theirs):
    """A root shell may have the XDG_RUNTIME_DIR of the user who called su."""
    place = theirs / "fftd" / "default"
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as fake:
        fake.bind(str(place / "control"))
        fake.listen()
        fake.settimeout(0)
        for command in (["status"], ["list"], ["frames", "-o", "/dev/null"]):
            done = subprocess.run([BUILD / "fftd-ctl", *command], text=True, capture_output=True,
                                  env={**os.environ, "XDG_RUNTIME_DIR": str(theirs)},
                                  timeout=PATIENCE, check=False)
            assert "is running" in done.stdout + done.stderr
        with pytest.raises(BlockingIOError):
            fake.accept()
