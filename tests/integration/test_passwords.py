"""A password of a camera is told to nobody who may not read the configuration file: whatever a
local user can get of a daemon is searched for it, while the camera opens, fails and works."""

import contextlib
import mmap
import os
import pathlib
import re
import subprocess

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE
from dbus_peer import Peer
from service_manager import ServiceManager
from test_attacks import FramesClient
from test_gst_source import helpers_of, program  # pylint: disable=unused-import
from test_view_http import View, runtime_dir  # pylint: disable=unused-import

WORDS = "Geheim1", "Geheim2", "Geheim3", "Geheim 4", "Geheim5"
# Whatever a source may have. Elements of other plugins have no user-id: a name is as good.
URI = f"rtsp://admin:{WORDS[0]}@10.0.0.1/1?token={WORDS[1]}"
SECRET = (f'identity name="{URI}" ! identity name="user-pw={WORDS[2]}" '
          f'! identity name="pw={WORDS[3]}"')
SOURCES = {
    "opening": f"gst:videotestsrc is-live=true ! {SECRET} ! identity drop-probability=1",
    "lost": f'gst:filesrc location="{URI}&{WORDS[4]}" ! {SECRET} ! decodebin',
    "refused": f"gst:{SECRET} ! nosuchelement user-pw={WORDS[4]}",
    "online": f"gst:videotestsrc is-live=true ! {SECRET}",
}


def found(data):
    """The secrets in it; the texts of a bus and of memory are bytes."""
    text = data if isinstance(data, bytes) else data.encode()
    return [word for word in WORDS if word.encode() in text]


def get_all(daemon, socket):
    with Peer(daemon, socket) as peer:
        return peer.call("GetAll", "org.fftd.Camera1",
                         interface="org.freedesktop.DBus.Properties").data + \
            peer.call("GetStats").data


def ring_of(daemon):
    """The whole memory that a reader may map; there is none before the first frame."""
    with contextlib.closing(FramesClient(daemon)) as client:
        fd = client.attach()
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as memory:
            os.close(fd)
            return bytes(memory)


def write_config(path, source):
    text = source.replace("\\", "\\\\").replace('"', '\\"')
    path.write_text(f'camera = {{ source = "{text}"; size = "160x120"; format = "NV12"; }};\n')


def outputs(daemon, config, tmp_path):
    """Whatever another user may see of the daemon, by name."""
    control = [BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir]

    def ctl(*arguments):
        return subprocess.run([*control, *arguments], capture_output=True, timeout=2 * PATIENCE,
                              check=False, env={**os.environ, "FFTD_REPORT_CONFIG": str(config)})

    yield "log", daemon.log
    for name in "control", "control-watch":
        yield name, get_all(daemon, name)
    for command in (("status",), ("--json", "status"), ("stats",), ("stats", "--prometheus"),
                    ("stats", "--openmetrics"), ("list",), ("camera", "controls"), ("reload",),
                    ("snapshot", "-o", tmp_path), ("report",)):
        done = ctl(*command)
        yield " ".join(map(str, command)), done.stdout + done.stderr
    for pid in (daemon.pid, *helpers_of(daemon)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield f"cmdline of {pid}", pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            yield f"comm of {pid}", pathlib.Path(f"/proc/{pid}/comm").read_bytes()


@pytest.mark.skipif(not (BUILD / "fftd-view").exists(), reason="fftd-view is not built")
@pytest.mark.parametrize("state", SOURCES)
def test_no_output_has_the_password(start, runtime_dir, tmp_path, state):
    """fftd reads it from its configuration file, and once more from its command line."""
    config = tmp_path / "front.conf"
    write_config(config, SOURCES[state])
    config.chmod(0o600)
    manager = ServiceManager(tmp_path / "notify")
    daemon = start("--config", config, "--name", "front", "--wait", *FAST_KERNELS,
                   "--source", SOURCES[state], env=manager.env, source=None, size=None, fps=None)
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] ==
                      (state if state != "opening" else "starting"), state)
    status = daemon.ctl_json("status")
    assert status["Source"].startswith("gst:") and "***" in status["Source"]
    for name, text in outputs(daemon, config, tmp_path):
        assert not found(text), (name, text)
    if state == "online":
        assert not found(ring_of(daemon))
    view = View(runtime_dir, ["--listen", "127.0.0.1:0"], tmp_path / "view")
    shown = view.get("/api/cameras").body
    assert b'"front"' in shown and b"gst:" in shown or state == "online"
    assert not found(shown), shown
    assert view.stop() == 0
    assert daemon.stop() == 0
    assert not found(daemon.log)
    told = b""
    while b"STOPPING=1" not in told:
        told += manager.socket.recv(4096) + b"\n"
    assert b"STATUS=" in told and not found(told), told


def test_a_source_that_replaces_another_is_not_told_either(start, tmp_path):
    config = tmp_path / "fftd.conf"
    write_config(config, "gst:videotestsrc is-live=true")
    daemon = start("--config", config, *FAST_KERNELS, source=None, size=None, fps=None)
    daemon.wait_for_log("online")
    write_config(config, SOURCES["refused"])
    done = daemon.ctl("reload", check=False)
    assert done.returncode != 0 and "nosuchelement" in done.stderr
    assert not found(done.stderr) and not found(daemon.log)
    write_config(config, SOURCES["online"])
    daemon.ctl("reload")
    assert not found(get_all(daemon, "control-watch")) and not found(daemon.log)


def test_the_pipeline_gets_the_whole_text(start, tmp_path):
    """The text is only hidden where it is shown: this file is opened by its own name."""
    clip = tmp_path / "any?token=Geheim1"
    clip.write_bytes(bytes(10 * 160 * 120 * 3 // 2))
    source = (f'gst:filesrc location="file://{clip}" ! rawvideoparse width=160 height=120 '
              "format=nv12")
    daemon = start(*FAST_KERNELS, "--wait", source=source, size=None, fps=None)
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "lost", "the loss")
    assert 'No such file "file:///' in daemon.log and not found(daemon.log)
    assert daemon.stop() == 0
    daemon = start(*FAST_KERNELS, source=source.replace("file://", ""), size=None, fps=None)
    daemon.wait_for_log("finished: the pipeline has delivered its last frame")
    assert not found(daemon.log)


@pytest.mark.parametrize("source, words", [
    (f"rtsp://admin:{WORDS[0]}@h/1", "expected v4l2:/dev/videoN"),
    (f"{URI}", "expected v4l2:/dev/videoN"),
    ("gst:rtspsrc location=rtsp://admin:" + 300 * WORDS[0] + "@h/1", "at most 255 bytes"),
])
def test_mistakes_in_the_configuration_quote_no_password(fftd, tmp_path, source, words):
    config = tmp_path / "fftd.conf"
    write_config(config, source)
    for arguments in (("--config", config), ("--source", source),
                      ("--set", f"camera.source={source}")):
        done = fftd(*arguments)
        assert done.returncode != 0 and words in done.stderr, done.stderr
        assert not found(done.stderr)
    done = fftd(f"--source-of={source}")
    assert done.returncode == 64 and not found(done.stderr)


def test_check_prints_the_source_as_it_is(fftd):
    """Whoever runs it can read the file, and its output is a configuration."""
    done = fftd("--check", "--source", SOURCES["online"])
    assert done.returncode == 0 and len(found(done.stdout)) == 4


def test_the_readme_gives_the_file_to_the_user_of_the_service():
    root = pathlib.Path(__file__).resolve().parents[2]
    unit = (root / "systemd/fftd@.service").read_text()
    (user,) = re.findall(r"^User=(\S+)$", unit, re.MULTILINE)
    readers = re.findall(r"^SocketGroup=(\S+)$", (root / "systemd/fftd-frames@.socket").read_text(),
                         re.MULTILINE)
    for page in "README.md", "docs/RK3288.md", "docs/man/fftd.8", "client/fftd-ctl/report.sh":
        told = re.findall(r"install (.*?) /etc/fftd/default.conf", (root / page).read_text())
        assert told == [f"-m 600 -o {user}"], page
    assert readers == ["fftd"]  # a group that can read the file would include them


def test_a_file_that_everybody_can_read_is_reported(start, tmp_path):
    config = tmp_path / "fftd.conf"
    write_config(config, SOURCES["online"])
    for mode, is_reported in (0o644, True), (0o640, False), (0o600, False):
        config.chmod(mode)
        daemon = start("--config", config, *FAST_KERNELS, source=None, size=None, fps=None)
        daemon.wait_for_log("online")
        warning = ("every user can read camera.source, which seems to have a password, because "
                   f"{config} has mode 0{mode:o}")
        assert (warning in daemon.log) == is_reported, daemon.log
        assert daemon.stop() == 0
    write_config(config, "gst:videotestsrc is-live=true")
    config.chmod(0o644)
    daemon = start("--config", config, *FAST_KERNELS, source=None, size=None, fps=None)
    daemon.wait_for_log("online")
    assert "password" not in daemon.log
