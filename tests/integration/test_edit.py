"""Tests of several changes at once: all of them or none, under one serial, and only of the filter
that they were made for."""

import struct
import threading

import pytest

from dbus_peer import Peer

BEFORE = "gain:dc=1,ac=0.5 | bandpass:low=0.1,high=0.2"


@pytest.fixture
def daemon(start):
    daemon = start("--filter", BEFORE)
    daemon.wait_for_log("online")
    daemon.wait_for_socket("control")
    return daemon


def kinds(daemon):
    return [stage["kind"] for stage in daemon.ctl_json("filter", "show")["FilterStages"]]


def test_changes_are_made_in_their_order_under_one_serial(daemon):
    before = daemon.ctl_json("filter", "show")["Serial"]
    serial = daemon.change(
        "filter", "edit", "add", "sharpen:amount=1", "add", "notch:at=0.25/0,width=0.1", "1",
        "move", "sharpen", "2", "remove", "gain", "set", "notch.at=-0.1/0.2", "set",
        "3.low=0.3", "set", "3.high=0.4")
    assert serial == before + 1
    assert kinds(daemon) == ["notch", "sharpen", "bandpass"]
    chain = daemon.ctl("filter", "show", "--raw").stdout
    assert "at=-0.1/0.2" in chain
    assert "low=0.3,high=0.4" in chain


def test_a_whole_chain_can_be_a_change(daemon):
    daemon.ctl("filter", "edit", "replace", "preset:moire", "add", "gain:dc=1", "1")
    first, *preset = kinds(daemon)
    daemon.ctl("filter", "preset", "moire")
    assert (first, preset) == ("gain", kinds(daemon))


@pytest.mark.parametrize("operands, code, words", [
    (["remove", "gain", "remove", "7"], 65, ["change 2 (remove 7)", "stage 7", "1 .. 1"]),
    (["add", "gain", "remove", "gain"], 65, ["change 2", "2 stages", "1 .. 3"]),
    (["set", "gain.dc=2", "add", "lowpas:cutoff=0.1"], 65, ["change 2", "did you mean lowpass?"]),
    (["add", "gain", "9", "add", "gain"], 65, ["change 1", "position 9", "1 .. 3"]),
    (["remove", "gain", "move", "bandpass", "2"], 65, ["change 2", "position 2", "1 .. 1"]),
    (["remove", "gain", "move", "bandpass", "x"], 65, ["change 2", "position x"]),
    (["set", "gain.dc=2", "set", "gain.dcc=1"], 65, ["change 2", "dcc", "ac"]),
    (["set", "bandpass.low=0.3", "set", "gain.dc=2"], 65, ["change 1", "low = 0.3", "high"]),
    (["replace", "none", "replace", "preset:nosuch"], 65, ["change 2", "nosuch"]),
    (["replace", "none", "remove", "1"], 65, ["change 2", "empty"]),
    (["set", "bandpass.low=0.3"], 65, ["low = 0.3", "high"]),
    (["add", "gain", "swap", "1"], 64, ["swap", "add, remove, move, set or replace"]),
    (["add", "gain", "remove"], 64, ["remove", "STAGE"]),
    (["add"], 64, ["add", "STAGE"]),
    (["move", "1"], 64, ["move", "STAGE NUMBER"]),
    (["set", "gain.dc"], 64, ["set", "VALUE"]),
    (["set", "dc=1"], 64, ["dc=1", "STAGE.PARAMETER"]),
    ([], 64, ["CHANGE..."]),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_one_wrong_change_undoes_all(daemon, operands, code, words):
    before = daemon.ctl_json("filter", "show")
    done = daemon.ctl("filter", "edit", *operands, check=False)
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr
    assert done.stderr.count("\n") == 1
    assert daemon.ctl_json("filter", "show") == before


@pytest.mark.parametrize("changes, words", [
    ([], ["0 changes", "1 .. 64"]),
    ([["add", "gain"], ["remove", "1"]] * 33, ["66 changes", "1 .. 64"]),
    ([[]], ["unknown change"]),
    ([["\x1b[31m"]], ["unknown change", "'?[31m'"]),
    ([["remove"]], ["1 words", "remove STAGE"]),
    ([["set", "1", "dc", "2", "3", "4"]], ["6 words", "set STAGE PARAMETER VALUE"]),
    ([["add", "gain", "0"]], ["position 0", "1"]),
    ([["add", "gain", "-1"]], ["-1"]),
    ([["add", "gain", "1e30"]], ["1e+30", "1 .. 3"]),
])
def test_changes_of_another_client_are_checked(daemon, changes, words):
    before = daemon.ctl_json("filter", "show")
    with Peer(daemon) as peer:
        answer = peer.edit(*changes)
        assert answer.error == "org.fftd.Error.InvalidFilter"
        for word in words:
            assert word in answer.message
        assert peer.edit(*[["set", "1", "dc", "2"]] * 64).number == before["Serial"] + 1


def test_a_change_for_another_filter_is_refused(daemon):
    serial = daemon.ctl_json("filter", "show")["Serial"]
    option = ("--if-serial", str(serial))
    said = daemon.ctl("filter", "add", "gain", *option).stdout
    assert said.split()[:2] == ["filter", str(serial + 1)]
    before = daemon.ctl_json("filter", "show")
    for command in (["filter", "edit", "remove", "1"], ["filter", "set", "none"],
                    ["filter", "add", "gain"], ["filter", "remove", "1"],
                    ["filter", "preset", "moire"], ["set", "1.dc=0.5"]):
        done = daemon.ctl(*command, *option, check=False)
        assert done.returncode == 75, command
        assert f"serial is {serial + 1}" in done.stderr
        assert f"for {serial}" in done.stderr
    assert daemon.ctl_json("filter", "show") == before
    for command in (["filter", "show"], ["filter", "kinds"], ["status"]):
        done = daemon.ctl(*command, *option, check=False)
        assert done.returncode == 64
        assert "--if-serial" in done.stderr
    for wrong in ("0", "-1", "x", "1.5", "99999999999999999999"):
        assert daemon.ctl("filter", "set", "none", f"--if-serial={wrong}",
                          check=False).returncode == 64


def test_no_change_is_lost_between_clients(daemon):
    """Four clients count in one parameter. Each reads it, and writes what it read plus one."""
    counts = 25

    def count():
        with Peer(daemon) as peer:
            done = 0
            while done < counts:
                shown = daemon.ctl_json("filter", "show")
                value = shown["FilterStages"][0]["parameters"]["ac"]
                answer = peer.edit(["set", "1", "ac", f"{value + 1 / 128}"],
                                   based_on=shown["Serial"])
                assert answer.error in (None, "org.fftd.Error.FilterChanged")
                done += answer.error is None

    daemon.ctl("set", "gain.ac=0")
    clients = [threading.Thread(target=count) for _ in range(4)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    value = daemon.ctl_json("filter", "show")["FilterStages"][0]["parameters"]["ac"]
    assert value == 4 * counts / 128


def test_others_hear_of_an_edit_once(daemon):
    with Peer(daemon, "control-watch") as watcher, Peer(daemon) as changer:
        watcher.call("GetStats")  # makes sure that it listens
        serial = changer.edit(["set", "gain", "dc", "0.5"], ["set", "gain", "ac", "0.25"]).number
        while True:
            message = watcher.receive()
            if struct.pack("<Q", serial) in message.data and b"FilterStages" in message.data:
                break
        assert b"dc=0.5,ac=0.25" in message.data
