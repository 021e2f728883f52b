"""Tests of fftd-view's package and units: the cameras' page behind a socket of the real systemd, in
its sandbox. `curl` is Python's own HTTP client, as root, outside of the sandbox."""

import grp
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import stat

import pytest
from commands import PATIENCE, run
from conftest import figures

pytestmark = pytest.mark.together

UNIT, SOCKET = "fftd-view.service", "fftd-view.socket"
PORT = 8787
OPTIONS = pathlib.Path("/etc/default/fftd-view")
ADDRESS = pathlib.Path("/run/fftd-view-control/address")
# Users that systemd makes for DynamicUser=.
DYNAMIC_USERS = range(61184, 65520)


def show(name, unit=UNIT):
    return run("systemctl", "show", "--value", f"--property={name}", unit).stdout.strip()


def begin(*options, **drop_ins):
    """Writes the options and a drop-in for each of service and socket, and starts the socket."""
    OPTIONS.write_text(f"FFTD_VIEW_OPTIONS={' '.join(options)}\n")
    for kind, text in drop_ins.items():
        folder = pathlib.Path(f"/run/systemd/system/fftd-view.{kind}.d")
        folder.mkdir(parents=True)
        (folder / "test.conf").write_text(f"[{kind.capitalize()}]\n{text}\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", SOCKET)


def end():
    run("systemctl", "stop", SOCKET, UNIT, check=False)
    run("systemctl", "reset-failed", UNIT, check=False)
    OPTIONS.unlink(missing_ok=True)
    for path in pathlib.Path("/run/systemd/system").glob("fftd-view.*.d"):
        (path / "test.conf").unlink()
        path.rmdir()
    run("systemctl", "daemon-reload")


@pytest.fixture(scope="module", autouse=True)
def package():
    """The package is installed for these tests, and leaves nothing."""
    run("dpkg", "-i", next(pathlib.Path("/share/packages").glob("fftd-view_*.deb")))
    yield
    run("dpkg", "-P", "fftd-view")
    found = run("find", "/etc", "/usr", "/run", "/var/lib", "-xdev", "-name", "*fftd-view*",
                check=False).stdout
    assert found.split() == []


@pytest.fixture(name="front")
def front_fixture(service):
    service.configure("pattern:moire")
    service.systemctl("start")
    service.wait_for_state("online")
    yield service
    end()


def ask(path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=PATIENCE)
    connection.request(method, path, body, headers={name.replace("_", "-"): value
                                                    for name, value in headers.items()})
    answer = connection.getresponse()
    answer.body = answer.read()
    connection.close()
    return answer


def pictures(count):
    """The numbers of the first frames of the stream."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=PATIENCE)
    connection.request("GET", "/camera/cam/stream.mjpeg")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.readline() == b"--fftd\r\n"
    numbers = []
    for _ in range(count):
        headers = http.client.parse_headers(answer)
        jpeg = answer.read(int(headers["Content-Length"]))
        assert jpeg[:3] == b"\xff\xd8\xff" and jpeg[-2:] == b"\xff\xd9"
        assert answer.read(len(b"\r\n--fftd\r\n")) == b"\r\n--fftd\r\n"
        numbers.append(int(headers["Fftd-Sequence"]))
    connection.close()
    return numbers


def change(token, chain):
    return ask("/camera/cam/filter", "POST", json.dumps({"changes": [["replace", chain]]}),
               Origin=f"http://127.0.0.1:{PORT}", Content_Type="application/json",
               Authorization=f"Bearer {token}")


def status_of(pid):
    return dict(line.split(":", 1) for line in
                pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())


def groups_of(pid):
    return {grp.getgrgid(int(number)).gr_name for number in status_of(pid)["Groups"].split()
            if int(number) not in DYNAMIC_USERS}


def test_the_first_browser_starts_it(front):
    begin("--name", "cam")
    assert show("ActiveState") == "inactive"
    page = ask("/")
    assert page.status == 200 and b"<html" in page.body
    assert show("ActiveState") == "active" and show("NRestarts") == "0"
    listed = json.loads(ask("/api/cameras").body)
    assert listed["control"] is False and listed["cameras"][0]["state"] == "online"
    numbers = pictures(5)
    assert numbers == sorted(set(numbers))
    assert change("0" * 32, "gain:ac=2").status == 403
    assert front.ctl("filter", "show", "--raw").stdout.strip() == "none"
    # It leaves the camera as soon as nobody looks.
    front.wait_for(lambda: front.status()["Clients"] == 0, "the end of its reading")
    # A crash is a pause for browsers: the socket stays.
    before = show("MainPID")
    run("kill", "-KILL", before)
    assert pictures(1)[0] > numbers[-1]
    assert show("MainPID") != before and show("NRestarts") == "1"


def test_the_process_can_do_little(front):
    begin("--name", "cam")
    ask("/")
    pid = show("MainPID")
    status = status_of(pid)
    user, = set(status["Uid"].split())
    assert int(user) in DYNAMIC_USERS and groups_of(pid) == {"fftd"}
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[capabilities], 16) == 0, capabilities
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    mounts = pathlib.Path(f"/proc/{pid}/mounts").read_text().splitlines()
    written = {line.split()[1] for line in mounts
               if "rw" in line.split()[3].split(",") and line.split()[2] in ("ext4", "tmpfs")}
    assert written == {"/tmp", "/var/tmp", "/run/fftd-view-control", "/dev/shm"}
    interfaces = pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    files = [os.readlink(path) for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    assert all(re.match(r"/dev/null$|socket:|anon_inode:|pipe:|/memfd:", name) for name in files), \
        files


# What is left of tests/vm/probe.py in this sandbox; the daemon's configuration is no secret.
ALLOWED = {"read its configuration", "write a temporary file", "open /dev/null",
           "open a local socket"}


def test_the_sandbox_lets_nothing_else_be_opened(front):
    """A process in this sandbox tries what probe.py tries in the daemon's."""
    begin("--name", "cam", service=f"ExecStartPre=/usr/bin/python3 /run/tests/probe.py "
                                   f"{front.config} /dev/video0")
    assert ask("/").status == 200
    said = run("journalctl", "--no-pager", "-o", "cat", f"--unit={UNIT}",
               f"--since=@{front.begin:.6f}").stdout
    answers = dict(re.findall(r"^probe: (.*): (yes|no)$", said, re.M))
    assert len(answers) > 30
    assert {what for what, answer in answers.items() if answer == "yes"} == ALLOWED


def test_filters_are_changed_with_control_alone(front):
    """The unit's comment says how: the option, and the group."""
    begin("--name", "cam", "--control", service="SupplementaryGroups=fftd-admin")
    assert json.loads(ask("/api/cameras").body)["control"] is True
    pid = show("MainPID")
    assert groups_of(pid) == {"fftd", "fftd-admin"}
    about = ADDRESS.stat()
    assert about.st_uid in DYNAMIC_USERS and stat.S_IMODE(about.st_mode) == 0o600
    assert stat.S_IMODE(ADDRESS.parent.stat().st_mode) == 0o700
    token = re.fullmatch(rf"http://127\.0\.0\.1:{PORT}/#token=([0-9a-f]{{32}})\n",
                         ADDRESS.read_text())[1]
    for wrong in ("", "0" * 32):
        assert change(wrong, "gain:ac=2").status == 401
    answer = change(token, "gaussian-blur:sigma=2")
    assert answer.status == 200, answer.body
    assert front.ctl("filter", "show", "--raw").stdout.strip() == "gaussian-blur:sigma=2"
    front.wait_for_filter()
    assert f"user {about.st_uid}" in front.journal
    assert token not in run("journalctl", "--no-pager", "-b").stdout
    run("systemctl", "restart", UNIT)
    assert token not in ADDRESS.read_text()
    assert change(token, "none").status == 401
    run("systemctl", "stop", SOCKET, UNIT)
    assert not ADDRESS.parent.exists(), "the token is still there"


def test_without_the_group_nothing_is_changed(front):
    begin("--name", "cam", "--control")
    ask("/")
    token = ADDRESS.read_text().strip().rpartition("=")[2]
    answer = change(token, "gain:ac=2")
    assert answer.status == 403 and b"fftd-admin" in answer.body
    assert front.ctl("filter", "show", "--raw").stdout.strip() == "none"


def test_a_socket_with_a_group_of_its_own(front):
    """As fftd-view.socket says it is done."""
    begin("--name", "cam", socket="ListenStream=\nListenStream=/run/fftd-view/http\n"
                                  "SocketGroup=www-data\nSocketMode=0660")
    about = os.stat("/run/fftd-view/http")
    assert stat.S_IMODE(about.st_mode) == 0o660
    assert grp.getgrgid(about.st_gid).gr_name == "www-data"
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE)
        peer.connect("/run/fftd-view/http")
        peer.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 200")
    with socket.socket() as peer:
        assert peer.connect_ex(("127.0.0.1", PORT)) != 0
    with pytest.raises(PermissionError), socket.socket(socket.AF_UNIX) as peer:
        os.setegid(pwd.getpwnam("nobody").pw_gid)
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            peer.connect("/run/fftd-view/http")
        finally:
            os.seteuid(0)
            os.setegid(0)
    end()
    shutil.rmtree("/run/fftd-view", ignore_errors=True)  # systemd made it for the socket


def test_exposure_is_low(front):
    begin("--name", "cam", service="SupplementaryGroups=fftd-admin")
    table = run("systemd-analyze", "security", "--no-pager", UNIT).stdout
    exposure = re.search(r"Overall exposure level.*: ([\d.]+)", table)
    figures.append(f"{UNIT}: {exposure[0]}")
    assert float(exposure[1]) <= 1.5, table


def test_wrong_options_are_not_tried_again(front):
    begin("--fps", "0")
    with socket.create_connection(("127.0.0.1", PORT), PATIENCE) as peer:
        peer.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        front.wait_for(lambda: show("ActiveState") == "failed", "its end")
    assert show("ExecMainStatus") == "64" and show("NRestarts") == "0"
