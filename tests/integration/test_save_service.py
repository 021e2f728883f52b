"""Tests of the method Save: the daemon keeps the filter in a file of its own, if it may."""

import os
import shutil
import stat
import subprocess

import pytest

from client import Reader
from conftest import BUILD, PATIENCE, needs_root, wait_until
from dbus_peer import Peer, call

TEXT = """# The camera at the door.
camera = { source = "pattern:moire"; size = "160x120"; fps = 60.0; };
filter = "%s";  # what it is filtered with
control = { allow_save = %s; };
"""
FILE, NOBODY = "gain:dc=1,ac=0.5", 65534
DENIED = "org.freedesktop.DBus.Error.AccessDenied"
FAILED = "org.fftd.Error.Failed"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "etc" / "door.conf"
    path.parent.mkdir()
    path.write_text(TEXT % (FILE, "true"))
    return path


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def begin(start, path, state):
    def begin_daemon(*arguments, env=None, **options):
        daemon = start("--config", path, *arguments, source=None, size=None, fps=None,
                       env={"STATE_DIRECTORY": str(state), **(env or {})}, **options)
        daemon.wait_for_log("online")
        return daemon
    return begin_daemon


def raw(daemon):
    return daemon.ctl("filter", "show", "--raw").stdout.strip()


def call_save(daemon, *keys, socket="control"):
    with Peer(daemon, socket) as peer:
        return peer.call("Save", list(keys) or ["filter"], signature="as")


def check(path, state, *arguments, env=None):
    done = subprocess.run([BUILD / "fftd", "--check", "--config", path, *arguments],
                          env={**os.environ, "STATE_DIRECTORY": str(state), **(env or {})},
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done


def lines_of(text, key):
    """The lines of a key in what --check prints, from its summary on."""
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip().startswith(f"{key} = "))
    while at > 0 and lines[at - 1].strip().startswith("#"):
        at -= 1
    return "\n".join(lines[at:at + 3])


def test_a_changer_saves_without_writing_the_configuration(begin, path, state):
    before = path.read_bytes()
    daemon = begin()
    assert daemon.ctl_json("status")["SavedKeys"] == []
    assert "saved" not in daemon.ctl("status").stdout
    daemon.ctl("filter", "set", "shift:by=3/2 | sharpen:amount=0.5")
    chain = raw(daemon)
    saved = state / "default.conf"
    assert daemon.ctl("filter", "save").stdout == f"filter 2 is saved in {saved}\n"
    assert path.read_bytes() == before
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600 and os.listdir(state) == [saved.name]
    # Both status and the next start say so, and whoever checks the configuration.
    assert f"saved     filter: {saved} goes before the configuration\n" in daemon.ctl(
        "status").stdout
    assert daemon.ctl_json("status")["SavedKeys"] == ["filter"]
    shown = lines_of(check(path, state).stdout, "filter")
    assert f"# (saved in {saved})" in shown and f'filter = "{chain}"' in shown
    # To save it again changes nothing, and a reload does not go back.
    about = saved.stat()
    assert daemon.ctl("filter", "save").stdout == f"filter 2 is already in {saved}\n"
    assert (saved.stat().st_ino, saved.stat().st_mtime_ns) == (about.st_ino, about.st_mtime_ns)
    daemon.ctl("reload")
    assert raw(daemon) == chain
    assert daemon.stop() == 0
    daemon = begin()
    assert raw(daemon) == chain and f"filter is the one that was saved in {saved}" in daemon.log
    with Reader(daemon) as reader:
        assert reader.next().filter_serial == 1


def test_the_last_who_spoke_is_obeyed(begin, path, state):
    daemon = begin()
    daemon.ctl("filter", "set", "gain:ac=0.25")
    daemon.ctl("filter", "save")
    saved = state / "default.conf"
    # The administrator edits another key: what was saved counts.
    path.write_text(path.read_text().replace("60.0", "50.0"))
    daemon.ctl("reload")
    assert raw(daemon) == "gain:dc=1,ac=0.25"
    # ... and now the filter, which is written in another way, but not another one.
    path.write_text(path.read_text().replace(FILE, "gain: ac=0.5"))
    daemon.ctl("reload")
    assert raw(daemon) == "gain:dc=1,ac=0.25"
    path.write_text(path.read_text().replace("gain: ac=0.5", "gain:ac=0.125"))
    daemon.ctl("reload")
    assert raw(daemon) == "gain:dc=1,ac=0.125"
    assert daemon.ctl_json("status")["SavedKeys"] == []
    said = "filter is ignored: the configuration has another one since it was saved"
    daemon.wait_for_log(f"{saved}: {said}")
    done = check(path, state)
    assert said in done.stderr and "(saved in" not in done.stdout
    # A save replaces what is ignored, and needs no file if the configuration says the same.
    assert daemon.ctl("filter", "save").stdout.endswith(f"is already in {saved}\n")
    assert not saved.exists() and check(path, state).stderr == ""


def test_controls_are_saved_beside_the_filter(begin, path, state):
    daemon = begin("--set", "camera.controls=brightness=5, contrast=7")
    daemon.ctl("filter", "set", "gain:ac=0.25")
    daemon.ctl("filter", "save")
    done = daemon.ctl("filter", "save", "--all")
    assert "option for camera.controls, which it uses instead" in done.stderr
    assert "filter 2 and the camera's controls are saved in" in done.stdout
    assert daemon.ctl_json("status")["SavedKeys"] == ["filter", "camera.controls"]
    shown = check(path, state).stdout
    assert 'controls = "brightness=5, contrast=7"' in lines_of(shown, "controls")
    # One key is saved, and the other stays.
    daemon.ctl("filter", "set", "gain:ac=0.125")
    daemon.ctl("filter", "save")
    shown = check(path, state).stdout
    assert 'controls = "brightness=5, contrast=7"' in lines_of(shown, "controls")
    assert 'filter = "gain:dc=1,ac=0.125"' in lines_of(shown, "filter")
    # An option goes before both.
    shown = check(path, state, "--filter", "none").stdout
    assert 'filter = "none"' in lines_of(shown, "filter") and "saved" not in lines_of(
        shown, "filter")


def test_only_who_may_change_may_save_and_only_if_it_is_allowed(begin, path, state):
    daemon = begin()
    watcher = call_save(daemon, socket="control-watch")
    assert watcher.error == DENIED and not state.exists()
    for keys in (["output.frames"], ["filter", "name"], [""], ["x" * 5000]):
        answer = call_save(daemon, *keys)
        assert "expected filter or camera.controls" in answer.message and not state.exists()
    with Peer(daemon, "control") as peer:
        assert "no key: expected" in peer.call("Save", [], signature="as").message
    path.write_text(TEXT % (FILE, "false"))
    # Allowed until it is reloaded, but not by the file that is read then.
    assert call_save(daemon).message == "control.allow_save is no longer true"
    daemon.ctl("reload")
    assert daemon.ctl_json("status")["SavedFile"] == ""
    answer = call_save(daemon)
    assert answer.error == DENIED and "control.allow_save = true" in answer.message
    # A key that is taken back takes back what was saved, too.
    state.mkdir()
    (state / "default.conf").write_text(
        f'filter = "gain:ac=0.25"; instead_of = {{ filter = "{FILE}"; }};')
    assert f'filter = "{FILE}"' in check(path, state).stdout
    path.write_text(TEXT % (FILE, "true"))
    daemon.ctl("reload")
    assert raw(daemon) == "gain:dc=1,ac=0.25"


def test_what_is_being_prepared_is_not_saved(start_faulty, faults, path, state, tmp_path):
    daemon = start_faulty("--config", path, "--set", f"engine.cache_dir={tmp_path / 'cache'}",
                          "--set", "engine.tune=off", source=None, size=None, fps=None,
                          env={"STATE_DIRECTORY": str(state)})
    daemon.wait_for_log("online")
    faults.begin("compile")
    daemon.change("filter", "set", "shift:by=3/2")
    answer = call_save(daemon)
    assert answer.error == "org.fftd.Error.Busy" and "filter 2 is not in use yet" in answer.message
    saving = daemon.begin_ctl("filter", "save")  # which waits
    assert saving.stderr.readline() == "fftd-ctl: filter 2 is being prepared\n"
    assert not state.exists()
    faults.end()
    assert "filter 2 is saved in" in saving.communicate(timeout=PATIENCE)[0]
    assert 'filter = "shift:by=3/2' in (state / "default.conf").read_text()


@pytest.mark.parametrize("text, said", [
    ("filter = ;", "default.conf:1: syntax error"),
    ('filter = "bogus"; instead_of = { filter = "%s"; };' % FILE, "unknown filter bogus"),
    ('filter = "none";', "filter is ignored: the configuration has another one"),
    ('filter = "none"; instead_of = { filter = "bogus"; };', "filter is ignored"),
    ("\0", "zero byte"),
    ("# " + 300 * 1024 * "x", "too large"),
], ids=["syntax", "value", "no-reason", "other-reason", "zero", "large"])
def test_a_spoilt_file_is_ignored(begin, path, state, text, said):
    """The camera starts with what the administrator wrote, and the next save mends the file."""
    state.mkdir()
    (state / "default.conf").write_text(text)
    daemon = begin()
    assert raw(daemon) == FILE and said in daemon.log
    assert daemon.ctl_json("status")["SavedKeys"] == []
    daemon.ctl("filter", "set", "gain:ac=0.25")
    daemon.ctl("filter", "save")
    assert check(path, state).stderr == ""
    assert 'filter = "gain:dc=1,ac=0.25"' in check(path, state).stdout


def test_where_there_is_no_place(path, state, tmp_path, start):
    """A directory that others may write, a file, and no directory at all."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "file").write_text("")
    for place, said in ((tmp_path / "open", "expected no write permission for group and others"),
                        (tmp_path / "file", "Not a directory")):
        daemon = start("--config", path, source=None, size=None, fps=None,
                       env={"STATE_DIRECTORY": str(place)})
        daemon.wait_for_log("online")
        daemon.ctl("filter", "set", "gain:ac=0.25")
        answer = call_save(daemon)
        assert answer.error == FAILED and said in answer.message
        assert daemon.ctl_json("status")["SavedKeys"] == []
        assert daemon.stop() == 0
    assert os.listdir(tmp_path / "open") == [] and not state.exists()


@needs_root
def test_a_daemon_that_may_write_nothing_else(path, state, start, runtime_dir):
    """As the service: another user, who may read the configuration and not write it."""
    shared = runtime_dir.parent
    shared.chmod(0o755)
    shutil.copy(BUILD / "fftd", shared / "fftd")
    etc, state = shared / "etc", shared / "state"
    etc.mkdir()
    shutil.copy(path, etc / "door.conf")
    (etc / "door.conf").chmod(0o644)
    for folder in (runtime_dir, state):
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
    env = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
    log = open(shared / "log", "wb")
    with log, subprocess.Popen([shared / "fftd", "--config", etc / "door.conf", "--runtime-dir",
                                runtime_dir, "--name", "door"], user=NOBODY, group=NOBODY,
                               extra_groups=[], stderr=log, cwd="/",
                               env={**env, "STATE_DIRECTORY": str(state), "HOME": "/",
                                    "POCL_CACHE_DIR": str(state / "pocl")}) as process:
        try:
            wait_until(lambda: "online" in (shared / "log").read_text(), "the daemon")
            ctl = [BUILD / "fftd-ctl", "--runtime-dir", runtime_dir]
            subprocess.run([*ctl, "filter", "set", "gain:ac=0.25"], check=True, timeout=PATIENCE,
                           capture_output=True)
            before = (etc / "door.conf").stat()
            done = subprocess.run([*ctl, "filter", "save"], capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            assert done.stdout == f"filter 2 is saved in {state}/door.conf\n", done.stderr
            assert (state / "door.conf").stat().st_uid == NOBODY
            after = (etc / "door.conf").stat()
            assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
        finally:
            process.terminate()


def test_a_kill_leaves_the_old_or_the_new(begin, path, state):
    """Killed at any moment of the saving."""
    saved = state / "default.conf"
    for number in range(6):
        daemon = begin()
        chain = f"gain:dc=1,ac={(number + 1) / 16:g}"
        before = saved.read_text() if saved.exists() else None
        daemon.ctl("filter", "set", chain)
        with Peer(daemon, "control") as peer:
            peer.send(call("Save", ["filter"], signature="as"))
            if number % 2:
                wait_until(lambda: saved.exists() and saved.read_text() != before, "the file")
            daemon.process.kill()
            daemon.wait()
        text = saved.read_text() if saved.exists() else None
        assert text == before or f'filter = "{chain}"' in text
        assert check(path, state).stderr == ""
    assert set(os.listdir(state)) <= {"default.conf", "default.conf.new"}
