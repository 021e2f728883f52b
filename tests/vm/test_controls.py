"""Tests of vivid's controls: from the configuration, at run time, and after the camera was
absent."""

import json
import re

SETTINGS = "controls = { brightness = 200; no_such_control = 1; contrast = 999; };"


def control(camera, name):
    """Returns the value that the driver reports."""
    return camera.v4l2_ctl("-C", name).split(": ", 1)[1].strip()


def started(service, camera, settings):
    service.configure(f"v4l2:{camera.device}", camera=settings)
    service.systemctl("start")
    service.wait_for_state("online")


def test_controls_of_the_configuration_are_set(camera, service):
    told_before = service.journal.count("camera.controls: ")
    started(service, camera, SETTINGS)
    assert control(camera, "brightness") == "200"
    assert control(camera, "contrast") == "128"
    journal = service.journal
    assert journal.count("camera.controls: ") == told_before + 1
    assert "no_such_control: vivid has no such control" in journal
    assert "contrast = 999: expected 0 .. 255" in journal


def test_controls_are_listed(camera, service):
    started(service, camera, "")
    listed = {about["name"]: about
              for about in json.loads(service.ctl("--json", "camera", "controls").stdout)}
    brightness = listed["brightness"]
    assert (brightness["type"], brightness["minimum"], brightness["maximum"],
            brightness["default"], brightness["value"]) == ("integer", 0, 255, 128, 128)
    assert [0, "75% Colorbar"] in listed["test_pattern"]["menu"]
    assert listed["button"]["type"] == "button" and "value" not in listed["button"]
    assert listed["string"]["type"] == "text" and listed["string"]["value"].strip() == ""
    assert listed["bitmask"]["maximum"] == 0x80402010
    assert listed["integer_64_bits"]["type"] == "integer"
    assert listed["gain"]["inactive"] and not listed["brightness"]["inactive"]
    assert listed["read_only_integer_32_bits"]["read_only"]
    # Every control of v4l2-ctl, except arrays, is present with the same name.
    shown = {line.split()[0] for line in camera.v4l2_ctl("--list-ctrls").splitlines()
             if re.search(r"\((int|int64|bool|menu|intmenu|bitmask|button|str)\)", line)
             and "dims=" not in line}
    assert shown == set(listed)
    lines = service.ctl("camera", "controls").stdout.splitlines()
    assert len(lines) == 1 + len(listed)
    assert any(line.split()[:3] == ["brightness", "integer", "128"] and "0 .. 255" in line
               for line in lines)


def test_controls_are_set_and_set_again(camera, service):
    started(service, camera, "controls = { brightness = 200; };")
    service.ctl("camera", "set", "contrast=77", "gain_automatic=false", "gain=33",
                "test_pattern=100% Colorbar", "bitmask=0x80000000", "string=ab")
    expected = {"brightness": "200", "contrast": "77", "gain_automatic": "0", "gain": "33",
                "test_pattern": "1 (100% Colorbar)"}
    for name, value in expected.items():
        assert control(camera, name).startswith(value.split()[0]), name

    # All or no controls are set, and the error names the control, the value and the range.
    for wrong, reason in (("brightness=999", "brightness = 999: expected 0 .. 255"),
                          ("brightnes=1", "did you mean brightness?"),
                          ("test_pattern=99", "expected one of 0 (75% Colorbar)"),
                          ("read_only_integer_32_bits=1", "the control is read-only"),
                          ("boolean=maybe", "boolean = maybe: expected true or false")):
        done = service.ctl("camera", "set", "contrast=10", wrong, check=False)
        assert done.returncode == 65 and reason in done.stderr, done.stderr
        assert control(camera, "contrast") == "77"

    camera.unplug()
    service.wait_for_state("lost")
    done = service.ctl("camera", "set", "contrast=10", check=False)
    assert done.returncode == 75 and "the camera is lost" in done.stderr, done.stderr
    camera.plug_in()
    service.wait_for_state("online")
    for name, value in expected.items():
        assert control(camera, name).startswith(value.split()[0]), name

    service.configure(f"v4l2:{camera.device}", camera='controls = "brightness=90";')
    service.systemctl("reload")
    service.wait_for(lambda: control(camera, "brightness") == "90", "the new brightness")
    assert control(camera, "contrast") == "77"
    assert service.show("NRestarts") == "0"


def luma(service):
    """Returns the mean of the next frame's first plane, which must be luma."""
    now = service.status()["Format"]
    plane = service.frame()[:now["width"] * now["height"]]
    return sum(plane) / len(plane)


def test_a_control_shows_in_the_picture(camera, service):
    """vivid's brightness moves the luma of every frame."""
    started(service, camera, "")
    before = luma(service)
    service.ctl("camera", "set", "brightness=180")
    service.wait_for(lambda: abs(luma(service) - before) > 20, "another picture")
