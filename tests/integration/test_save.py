"""Tests of `fftd-ctl filter save`, which keeps the running chain in the daemon's configuration."""

import json
import os
import shutil
import stat
import subprocess

import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE, needs_root
from hostile_control import HostileControl

CHAIN = "notch:at=0.21/0.13,width=0.02 | notch:at=-0.13/0.21,width=0.02 | sharpen:amount=0.5"
TEXT = """# The camera at the door.
camera = {
    source = "pattern:moire"; size = "160x120";    # small
    fps = 60.0;
    controls = { brightness = 3; };
};

// What it is filtered with:
%s
output: { slots = 8, checksum = true }  /* the end */
"""
LISTS = 'filter = ( { type = "lowpass"; cutoff = 0.2; } ) ; # at first'
TESTERS = 65534


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "door.conf"
    path.write_text(TEXT % LISTS)
    return path


@pytest.fixture
def begin(start, path):
    """Starts the daemon with the configuration. No option overrides what can be saved."""
    def begin_daemon(*arguments, **options):
        daemon = start("--config", path, *arguments, source=None, size=None, fps=None, **options)
        daemon.wait_for_log("online")
        return daemon
    return begin_daemon


def raw(daemon):
    return daemon.ctl("filter", "show", "--raw").stdout


def assert_refused(daemon, path, code, *texts, arguments=()):
    before = path.read_bytes() if path.is_file() else None
    names = sorted(os.listdir(path.parent))
    done = daemon.ctl("filter", "save", "--config", path, *arguments, check=False)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert all(text in done.stderr for text in texts), done.stderr
    assert sorted(os.listdir(path.parent)) == names
    assert before is None or path.read_bytes() == before


def test_a_saved_chain_survives_a_restart(begin, path):
    os.chmod(path, 0o640)
    daemon = begin()
    daemon.ctl("filter", "set", CHAIN)
    shown = raw(daemon)
    said = daemon.ctl("filter", "save", "--config", path).stdout
    assert said == f"filter 2 is saved in {path}\n"
    # Only the value has changed, and each of its lines has one stage.
    stages = shown.strip().split(" | ")
    lines = [f'"{" | " if n > 0 else ""}{stage}"' for n, stage in enumerate(stages)]
    assert path.read_text() == TEXT % ("filter = " + "\n         ".join(lines) + " ; # at first")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent).count(path.name) == 1
    assert not [name for name in os.listdir(path.parent) if "new" in name]
    # A reload of what was saved is no change, and neither is saving it again.
    daemon.ctl("reload")
    assert raw(daemon) == shown
    state = path.stat()
    again = daemon.ctl_json("filter", "save", "--config", path)
    assert again == {"File": str(path), "Changed": False, "filter": shown.strip()}
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (state.st_ino, state.st_mtime_ns)
    assert daemon.stop() == 0

    daemon = begin()
    assert raw(daemon) == shown
    with Reader(daemon) as reader:
        assert reader.next().filter_serial == 1


def test_a_chain_that_adapts_is_saved_as_it_is(begin, path):
    """`filter keep` before it saves what was found."""
    path.write_text('camera = { source = "pattern:moire"; size = "160x120"; }')
    daemon = begin("--filter", "auto-notch")
    done = daemon.ctl("filter", "save", "--config", path)
    assert "option for filter, which it uses instead" in done.stderr  # at each start
    assert 'filter = "auto-notch:' in path.read_text().splitlines()[-1]


def test_controls_are_saved_on_request(begin, path):
    """Those that the daemon sets whenever it opens the camera."""
    daemon = begin("--set", "camera.controls=brightness=5, contrast=7")
    assert daemon.ctl_json("status")["Controls"] == "brightness=5, contrast=7"
    daemon.ctl("filter", "set", "gain:ac=0.5")
    daemon.ctl("filter", "save", "--config", path)
    assert "    controls = { brightness = 3; };\n" in path.read_text()
    done = daemon.ctl("filter", "save", "--all", "--config", path)
    assert done.stdout == f"filter 2 and the camera's controls are saved in {path}\n"
    assert '    controls = "brightness=5, contrast=7";\n' in path.read_text()
    assert 'filter = "gain:dc=1,ac=0.5" ; # at first\n' in path.read_text()


def test_what_cannot_be_saved(begin, path, tmp_path):
    daemon = begin()
    daemon.ctl("filter", "set", "gain:ac=0.5")
    (tmp_path / "link.conf").symlink_to(path)
    (tmp_path / "broken.conf").write_text("filter = ;")
    (tmp_path / "wrong.conf").write_text('name = "x";\nfliter = "none";')
    (tmp_path / "folder.conf").mkdir()
    os.mkfifo(tmp_path / "pipe.conf")
    assert_refused(daemon, tmp_path / "none.conf", 66, "none.conf: No such file")
    assert_refused(daemon, tmp_path / "link.conf", 66, "it is a link: name the file")
    assert_refused(daemon, tmp_path / "folder.conf", 66, "cannot read")
    assert_refused(daemon, tmp_path / "pipe.conf", 66, "cannot read")
    assert_refused(daemon, tmp_path / "broken.conf", 78, "broken.conf:1: syntax error")
    assert_refused(daemon, tmp_path / "wrong.conf", 78, "wrong.conf:2: unknown key fliter")
    for arguments in (["filter", "save", "preset.conf", "--all"], ["filter", "show", "--all"],
                      ["filter", "set", "none", "--config", "x"], ["status", "--all"]):
        assert daemon.ctl(*arguments, check=False).returncode == 64


def test_a_daemon_without_a_configuration(start, path):
    daemon = start()
    daemon.wait_for_log("online")
    done = daemon.ctl("filter", "save", check=False)
    assert (done.returncode, daemon.ctl_json("status")["ConfigFile"]) == (78, "")
    assert "the daemon reads no configuration" in done.stderr
    # Any other can get the chain.
    daemon.ctl("filter", "set", "gain:ac=0.5")
    daemon.ctl("filter", "save", "--config", path)
    assert 'filter = "gain:dc=1,ac=0.5" ;' in path.read_text()


def test_only_a_chain_that_can_be_made_is_saved(start_faulty, faults, path, tmp_path):
    daemon = start_faulty("--config", path, "--set", f"engine.cache_dir={tmp_path / 'cache'}",
                          "--set", "engine.tune=off", source=None, size=None, fps=None)
    daemon.wait_for_log("online")
    faults.begin("compile")
    daemon.change("filter", "set", "shift:by=3/2")
    saving = daemon.begin_ctl("filter", "save", "--config", path)
    assert saving.stderr.readline() == "fftd-ctl: filter 2 is being prepared\n"
    assert path.read_text() == TEXT % LISTS
    faults.end()
    stdout, _ = saving.communicate(timeout=PATIENCE)
    assert (saving.returncode, stdout) == (0, f"filter 2 is saved in {path}\n")
    assert 'filter = "shift:by=3/2' in (saved := path.read_text())
    # The first of several programs is compiled, and the next is not.
    faults.begin("compile")
    daemon.change("filter", "set", "denoise | shift:by=3/2")
    saving = daemon.begin_ctl("filter", "save", "--config", path)
    assert saving.stderr.readline() == "fftd-ctl: filter 3 is being prepared\n"
    faults.begin("build -11")
    assert "filter 3 cannot be used" in saving.communicate(timeout=PATIENCE)[1]
    assert (saving.returncode, path.read_text()) == (65, saved)
    faults.end()
    # The chain that is in use again is the one that was saved.
    assert daemon.ctl("filter", "save", "--config", path).stdout == \
        f"filter 2 is already in {path}\n"


def test_another_users_daemon_does_not_choose_the_file(runtime_dir, path):
    """It could name any that only root may write."""
    runtime_dir.mkdir()
    told = {"ConfigFile": ("s", str(path)), "Filter": ("s", "gain:dc=1,ac=0.5"),
            "Serial": ("t", 1), "PublishedSerial": ("t", 1), "State": ("s", "online")}

    def save(**changes):
        answer = ("a{sv}", {**told, **changes})
        with HostileControl(runtime_dir, {"GetAll": answer}):
            done = subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", runtime_dir, "filter",
                                   "save", *(["--config", path] if changes else [])],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
        (runtime_dir / "control").unlink()
        return done

    if os.geteuid() == 0:  # who may write more than the daemon
        done = save()
        assert done.returncode == 77 and "name the file with --config FILE" in done.stderr
    # What it says cannot become more than a value, or one that fftd would not accept.
    for evil in ('none"; name = "evil', "none\nname = 1", "lowpass", "\x1b[2J", "preset:no-such"):
        done = save(Filter=("s", evil))
        assert done.returncode in (78, 64), evil
        assert "\x1b" not in done.stderr
        assert path.read_text() == TEXT % LISTS


@needs_root
def test_the_file_keeps_its_owner_and_only_who_may_write_can_save(start, runtime_dir):
    """Copies of the programs, because other users may have no access to the tree."""
    shared = runtime_dir.parent
    folder = shared / "etc"
    folder.mkdir()
    shared.chmod(0o755)
    for program in ("fftd", "fftd-ctl"):
        shutil.copy(BUILD / program, shared / program)
    path = folder / "door.conf"
    path.write_text(TEXT % LISTS)
    os.chown(path, TESTERS, TESTERS)
    os.chmod(path, 0o604)
    daemon = start("--config", path, source=None, size=None, fps=None)
    daemon.wait_for_log("online")
    daemon.ctl("filter", "set", "gain:ac=0.5")
    daemon.ctl("filter", "save", "--config", path)
    about = path.stat()
    assert (about.st_uid, about.st_gid, stat.S_IMODE(about.st_mode)) == (TESTERS, TESTERS, 0o604)

    def save_as(user):
        for socket in ("control", "control-watch"):
            os.chmod(daemon.runtime_dir / socket, 0o666)
        daemon.runtime_dir.chmod(0o755)
        return subprocess.run([shared / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, "filter",
                               "save", "--config", path], user=user, group=user, extra_groups=[],
                              capture_output=True, text=True, timeout=PATIENCE, check=False,
                              cwd="/", env=env)

    # They have no access to the files in the options of sanitizers either.
    env = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
    daemon.ctl("filter", "set", "gain:ac=0.25")
    saved = path.read_bytes()
    refused = save_as(TESTERS - 1)  # may read it
    assert refused.returncode == 77 and path.read_bytes() == saved
    refused = save_as(TESTERS)  # the owner of the file, but not of its directory
    assert refused.returncode == 77 and path.read_bytes() == saved
    os.chown(folder, TESTERS, TESTERS)
    done = save_as(TESTERS)
    assert done.returncode == 0, done.stderr
    assert 'filter = "gain:dc=1,ac=0.25" ;' in path.read_text()


@needs_root
def test_the_service_has_its_file_by_name(start, path, tmp_path):
    """/etc/fftd/NAME.conf is the file of fftd@NAME, whoever says so."""
    script = 'mount -t tmpfs tmpfs /etc/fftd && mount -t tmpfs tmpfs /run && cp "$0" /etc/fftd/ ' \
        '&& exec "$@"'
    made = not os.path.exists("/etc/fftd")
    if made:
        os.mkdir("/etc/fftd")
    try:
        mounting = ["unshare", "-m", "sh", "-c", script, path]
        if subprocess.run([*mounting, "true"], check=False).returncode != 0:
            pytest.skip("mounting a file system is not permitted here")
        daemon = start("--config", "/etc/fftd/door.conf", *FAST_KERNELS, source=None, size=None,
                       fps=None, wrapper=mounting)
        daemon.wait_for_log("online")
        daemon.ctl("filter", "set", "gain:ac=0.5")
        inside = ["nsenter", "-m", "-r", "-t", str(daemon.pid)]
        name = daemon.runtime_dir.name
        link = f"mkdir -p /run/fftd && ln -s {daemon.runtime_dir} /run/fftd/door"
        subprocess.run([*inside, "sh", "-c", link], check=True)
        assert name
        done = subprocess.run([*inside, BUILD / "fftd-ctl", "--json", "--name", "door", "filter",
                               "save"], capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["File"] == "/etc/fftd/door.conf"
        saved = subprocess.run([*inside, "cat", "/etc/fftd/door.conf"], capture_output=True,
                               text=True, check=True).stdout
        assert 'filter = "gain:dc=1,ac=0.5" ; # at first\n' in saved
    finally:
        if made:
            os.rmdir("/etc/fftd")


def test_a_full_disk_leaves_the_file(begin, path):
    """The limit of a file's size stands for it; tests of real ones are faults_disk.py."""
    daemon = begin()
    daemon.ctl("filter", "set", "gain:ac=0.5")
    script = 'trap "" XFSZ; ulimit -f 0; exec "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", BUILD / "fftd-ctl", "--runtime-dir",
                           daemon.runtime_dir, "filter", "save", "--config", path],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode in (70, 71, 73, 74), done.stderr
    assert path.read_text() == TEXT % LISTS
    assert not [name for name in os.listdir(path.parent) if "new" in name]
