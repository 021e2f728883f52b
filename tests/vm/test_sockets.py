"""Tests of the service's sockets, users and sandbox, and of the udev rule, with the real
systemd."""

import grp
import os
import pathlib
import pwd
import re
import stat
import subprocess

import pytest
import vivid
from commands import PATIENCE, run
from conftest import Service

SOCKETS = {"frames": "fftd", "control-watch": "fftd", "control": "fftd-admin"}
# Users without an account. Neither is 65534, as which a user namespace shows all it does not know.
SOMEBODY, ANOTHER = 4321, 4322


@pytest.fixture
def running(service):
    service.configure("pattern:moire")
    service.systemctl("start")
    service.wait_for_state("online")
    return service


def as_user(user, groups):
    return {"user": user, "group": user,
            "extra_groups": [grp.getgrnam(name).gr_gid for name in groups]}


def ctl_as(service, groups, *arguments, user=SOMEBODY):
    """Runs fftd-ctl as a user with these groups."""
    return subprocess.run(["fftd-ctl", "--name", service.name, *arguments],
                          capture_output=True, text=True, timeout=PATIENCE, **as_user(user, groups))


def test_who_may_what(running):
    for name, group in SOCKETS.items():
        about = os.stat(f"/run/fftd/{running.name}/{name}")
        assert stat.S_IMODE(about.st_mode) == 0o660, name
        assert (about.st_uid, grp.getgrgid(about.st_gid).gr_name) == (0, group), name

    assert ctl_as(running, [], "status").returncode == 77
    assert ctl_as(running, [], "frames", "-n", "1").returncode == 77
    assert "online" in ctl_as(running, ["fftd"], "status").stdout
    assert ctl_as(running, ["fftd"], "frames", "-n", "3", "-o", "/tmp/x.y4m").returncode == 0
    refused = ctl_as(running, ["fftd"], "filter", "set", "lowpass:cutoff=0.1")
    assert refused.returncode == 77 and f"/run/fftd/{running.name}/control" in refused.stderr
    assert ctl_as(running, ["fftd-admin"], "filter", "set", "--no-wait",
                  "lowpass:cutoff=0.1").returncode == 0
    assert f"user {SOMEBODY}" in running.journal


def test_a_user_leaves_places_to_others(service):
    """One user opens connections until the daemon refuses one. Another user is still served."""
    service.configure("pattern:moire", output="max_clients = 8;")
    service.systemctl("start")
    service.wait_for_state("online")
    readers = []
    try:
        for count in range(1, 5):
            readers.append(subprocess.Popen(["fftd-ctl", "--name", service.name, "frames"],
                                            stdout=subprocess.DEVNULL,
                                            **as_user(SOMEBODY, ["fftd"])))
            service.wait_for(lambda: service.status()["Clients"] == count, f"client {count}")
        frames = ("frames", "-n", "3", "-o", "/dev/null")
        refused = ctl_as(service, ["fftd"], *frames)
        assert refused.returncode == os.EX_TEMPFAIL, refused.stderr
        served = ctl_as(service, ["fftd"], *frames, user=ANOTHER)
        assert served.returncode == 0, served.stderr
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()


def test_the_process_can_do_little(running):
    status = dict(line.split(":", 1) for line in
                  pathlib.Path(f"/proc/{running.pid}/status").read_text().splitlines())
    assert set(status["Uid"].split()) == {str(pwd.getpwnam("fftd").pw_uid)}
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[capabilities], 16) == 0, capabilities
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"  # filtered
    root = pathlib.Path(f"/proc/{running.pid}/root")
    mounts = pathlib.Path(f"/proc/{running.pid}/mounts").read_text().splitlines()
    written = {line.split()[1] for line in mounts
               if "rw" in line.split()[3].split(",") and line.split()[2] in ("ext4", "tmpfs")}
    assert written == {"/tmp", "/var/tmp", "/var/cache/fftd", "/var/lib/fftd",
                       f"/run/fftd/{running.name}/outputs", "/dev/shm"}
    assert list((root / "home").iterdir()) == []


NEEDED = {"read its configuration", "open its camera", "open a GPU", "write its cache",
          "write a temporary file", "open /dev/null", "open a local socket", "read /proc/cpuinfo"}


def test_the_sandbox_lets_nothing_else_be_opened(service):
    """A process in the daemon's sandbox tries all actions of probe.py before the daemon starts."""
    folder = pathlib.Path(f"/run/systemd/system/{service.unit}.d")
    drop_in = folder / "probe.conf"
    secret = pathlib.Path("/home/somebody/secret")
    run("modprobe", "vgem")  # a GPU without hardware
    run("udevadm", "settle")
    assert pathlib.Path("/dev/dri/card0").exists()
    try:
        with vivid.Vivid("single") as camera:
            service.configure(f"v4l2:{camera.device}")
            folder.mkdir(parents=True)
            drop_in.write_text(f"[Service]\nExecStartPre=/usr/bin/python3 /run/tests/probe.py "
                               f"{service.config} {camera.device}\n")
            secret.parent.mkdir()
            for readable in (secret, pathlib.Path("/tmp/another")):
                readable.write_text("for everybody")
                readable.chmod(0o666)
            run("systemctl", "daemon-reload")
            service.systemctl("start")
            service.wait_for_state("online")
            service.systemctl("stop")
    finally:
        drop_in.unlink()
        folder.rmdir()
        run("systemctl", "daemon-reload")
        run("modprobe", "-r", "vgem")
    said = [line.split(": ") for line in service.journal.splitlines() if line.startswith("probe: ")]
    answers = {what: answer for _, what, answer in said}
    assert len(answers) > 30
    assert {what for what, answer in answers.items() if answer == "yes"} == NEEDED


def test_exposure_is_low(running):
    """systemd rates the unit with all settings that apply to it."""
    table = run("systemd-analyze", "security", "--no-pager", running.unit).stdout
    exposure = re.search(r"Overall exposure level.*: ([\d.]+)", table)
    print(exposure[0])
    assert float(exposure[1]) <= 1.5, table


def test_stopping_takes_the_sockets_along(running):
    running.systemctl("stop")
    running.wait_for(lambda: not any(os.path.exists(f"/run/fftd/{running.name}/{name}")
                                     for name in SOCKETS), "the sockets to go")
    assert running.ctl("status", check=False).returncode == 69


def test_a_client_starts_it(service):
    service.configure("pattern:moire")
    run("systemctl", "start", f"fftd-watch@{service.name}.socket")
    assert service.show("ActiveState") == "inactive"
    service.wait_for_state("online")
    assert service.show("ActiveState") == "active"


def test_a_second_daemon_is_refused(running):
    done = run("fftd", "--runtime-dir", f"/run/fftd/{running.name}", "--source", "pattern:bars",
               check=False)
    assert done.returncode == 75 and f"/run/fftd/{running.name}" in done.stderr
    assert running.status()["State"] == "online"


def test_a_killed_daemon_comes_back(running):
    before = running.pid
    run("kill", "-KILL", before)
    running.wait_for(lambda: running.show("NRestarts") == "1" and
                     running.ctl("status", check=False).returncode == 0, "the restart")
    assert running.pid != before
    running.wait_for_state("online")


def test_a_wrong_configuration_is_not_tried_again(service):
    service.configure("pattern:bars", filter="lowpass:cutoff=7")
    service.systemctl("start", check=False)
    assert service.show("Result") == "exit-code"
    assert service.show("ExecMainStatus") == "78"
    assert service.show("NRestarts") == "0"


def test_without_configuration_nothing_starts(service):
    service.config.unlink(missing_ok=True)
    service.systemctl("start")
    assert service.show("ConditionResult") == "no"


def test_a_camera_that_appears_starts_its_instance():
    with vivid.Vivid("single") as camera:
        name = os.path.basename(camera.device)
    service = Service(name)
    service.configure(f"v4l2:/dev/{name}")
    try:
        with vivid.Vivid("single"):
            service.wait_for(lambda: service.show("ActiveState") == "active", "the service")
            service.wait_for_state("online")
            service.systemctl("stop")
    finally:
        service.config.unlink()
