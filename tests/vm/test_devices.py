"""Tests that the daemon does with the kernel's cameras what `fftd-ctl devices` announces."""

import json

import vivid
from commands import run


def cameras():
    return json.loads(run("fftd-ctl", "--json", "devices").stdout)["cameras"]


def test_every_camera_is_explained():
    with vivid.Vivid(count=2) as loaded:
        listed = cameras()
        text = run("fftd-ctl", "devices").stdout
    assert [camera["source"] for camera in listed] == [f"v4l2:{path}" for path in loaded.devices]
    for camera in listed:
        assert (camera["driver"], camera["multiplanar"]) == ("vivid", False)
        supported = {offer["format"] for offer in camera["formats"] if offer["supported"]}
        assert {"GREY", "Y12", "YUYV", "NV12", "YUV420", "RGB24", "SGRBG8"} <= supported
        assert f"{camera['source']}: vivid (driver vivid, " in text
    assert text.count("fftd would choose NV12 640x360, up to 40 fps") == 2


def test_the_choice_is_what_the_daemon_makes(camera, service):
    """The daemon has a default configuration and is streaming."""
    camera.set_format(320, 180, "YUYV")
    choice = cameras()[0]["choice"]
    service.configure(f"v4l2:{camera.device}", size="auto")
    service.systemctl("start")
    service.wait_for_state("online")
    listed, = cameras()
    assert listed["multiplanar"] == (camera.planes == "multi")
    now = service.status()["Format"]
    assert (now["name"], now["width"], now["height"]) == \
        (choice["format"], choice["width"], choice["height"]) == ("NV12", 320, 180)
    service.wait_for_frames()
