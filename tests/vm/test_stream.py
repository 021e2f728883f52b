"""Tests of what fftd-stream@ may reach, in its sandbox. GStreamer's elements are not in this
machine: a program takes the place of its command."""

import pathlib
import shutil

import pytest
from commands import run

UNIT = "fftd-stream@cam.service"
FOLDER = pathlib.Path(f"/run/systemd/system/{UNIT}.d")
# Addresses of this machine's own interface, as if servers were there. None has a server.
ADDRESSES = ("127.0.0.1", "10.1.2.3", "172.31.0.9", "192.168.7.7", "203.0.113.7", "8.8.8.8")
# A packet says at once if it may go; a connection would be tried for minutes.
TRY = """
import socket, sys
for address in sys.argv[1:]:
    try:
        socket.socket(type=socket.SOCK_DGRAM).sendto(b"", (address, 9))
        print("reach:", address, "yes", flush=True)
    except PermissionError:
        print("reach:", address, "no", flush=True)
"""


@pytest.fixture(name="try_addresses")
def try_addresses_fixture(tmp_path):
    run("dpkg", "--force-depends", "-i",
        next(pathlib.Path("/share/packages").glob("fftd-stream_*.deb")))
    program = pathlib.Path("/run/try.py")
    program.write_text(TRY)
    for address in ADDRESSES[1:]:
        run("busybox", "ip", "address", "add", f"{address}/32", "dev", "lo")

    def try_all(*settings):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / "try.conf").write_text("\n".join([
            "[Service]", "Type=oneshot", "Restart=no", "ExecStart=",
            f"ExecStart=/usr/bin/python3 {program} {' '.join(ADDRESSES)}", *settings, ""]))
        run("systemctl", "daemon-reload")
        cursor = tmp_path / "cursor"
        run("journalctl", "-n", "0", f"--cursor-file={cursor}")
        run("systemctl", "start", UNIT)
        said = run("journalctl", "-o", "cat", f"--unit={UNIT}", f"--cursor-file={cursor}").stdout
        return dict(line.split()[1:] for line in said.splitlines() if line.startswith("reach: "))

    yield try_all
    for address in ADDRESSES[1:]:
        run("busybox", "ip", "address", "del", f"{address}/32", "dev", "lo")
    shutil.rmtree(FOLDER)
    run("systemctl", "stop", UNIT, check=False)
    run("dpkg", "--force-depends", "-P", "fftd-stream")
    run("systemctl", "daemon-reload")


def test_it_reaches_private_networks_alone(try_addresses):
    def reached(answers):
        assert set(answers) == set(ADDRESSES)
        return [address for address, answer in answers.items() if answer == "yes"]

    assert reached(try_addresses()) == list(ADDRESSES[:4])
    assert reached(try_addresses("IPAddressAllow=203.0.113.7")) == list(ADDRESSES[:5])
    assert reached(try_addresses("IPAddressAllow=", "IPAddressAllow=localhost 203.0.113.7")) == \
        [ADDRESSES[0], ADDRESSES[4]]
