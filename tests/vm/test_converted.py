"""Tests with cameras that offer only a format which libv4l2 converts. Published luma is compared
with the scene, filtered in double precision (scene.py)."""

import json
import pathlib
import re
import subprocess

import pytest
from commands import run
from loopback import Loopback

pytestmark = pytest.mark.together  # all have the same compiled kernels

WIDTH, HEIGHT = 320, 176  # of scene.py
PIXELS = WIDTH * HEIGHT
FILTER = "gaussian-blur:sigma=2"
SCENES = [{kind: pathlib.Path(f"/share/scenes/{number}.{kind}").read_bytes()
           for kind in ("grey", "blurred", "jpeg")} for number in range(3)]


def error(found, wanted):
    """Returns the mean and the largest difference of two planes."""
    differences = [abs(a - b) for a, b in zip(found, wanted, strict=True)]
    return sum(differences) / len(differences), max(differences)


def start(service, camera):
    offered = run("v4l2-ctl", "-d", camera.device, "--list-formats").stdout
    assert re.findall(r"\[\d+\]: '(....)'", offered) == [camera.pixelformat]
    service.configure(f"v4l2:{camera.device}", filter=FILTER, size=f"{WIDTH}x{HEIGHT}")
    service.systemctl("start")
    service.wait_for_state("online")
    now = service.status()["Format"]
    assert (now["name"], now["width"], now["height"]) == ("YUV420", WIDTH, HEIGHT)
    listed, = json.loads(run("fftd-ctl", "--json", "devices").stdout)["cameras"]
    assert listed["choice"]["format"] == "YUV420"


def luma(service):
    return service.frame()[:PIXELS]


def wait_for_picture(service, wanted, mean, most):
    """Waits until published frames are the picture, within these errors."""
    found = []

    def arrived():
        found.append(error(luma(service), wanted))
        return found[-1][0] <= mean and found[-1][1] <= most
    try:
        service.wait_for(arrived, "the picture")
    except AssertionError as failure:
        raise AssertionError(f"errors (mean, largest) {found[-3:]}: expected at most "
                             f"({mean}, {most})") from failure


def test_mjpeg_is_decoded(service):
    with Loopback("MJPG", WIDTH, HEIGHT, SCENES[0]["jpeg"]) as camera:
        try:
            start(service, camera)
            for scene in SCENES:
                camera.frame = scene["jpeg"]
                wait_for_picture(service, scene["blurred"], 1, 5)
        finally:
            service.end()
    assert service.show("NRestarts") == "0"


def damage(jpeg):
    """Returns a frame for each way in which a picture arrives damaged and libv4l2 refuses it. One
    that is cut within its picture would be decoded, with the rest grey."""
    size = jpeg.index(b"\xff\xc0") + 5  # the height in the header of the picture
    return {"cut": jpeg[:jpeg.index(b"\xff\xda")],
            "garbage": bytes(i * 151 >> 3 & 255 for i in range(len(jpeg))),
            "another size": jpeg[:size] + (HEIGHT // 2).to_bytes(2, "big") + jpeg[size + 2:],
            "empty": b""}


def dropped(service):
    counters = service.status()["Counters"]
    return counters["dropped_error"] + counters["source_lost"]


def test_damaged_jpegs_are_dropped(service, tmp_path):
    """Frames go on, each damaged one is counted, and nothing is published but whole pictures."""
    good = SCENES[0]["jpeg"]
    frames = tmp_path / "frames"
    with Loopback("MJPG", WIDTH, HEIGHT, good) as camera:
        try:
            start(service, camera)
            wait_for_picture(service, SCENES[0]["blurred"], 1, 5)
            with open(frames, "wb") as file, subprocess.Popen(
                    ["fftd-ctl", "--name", service.name, "frames", "--raw"], stdout=file) as reader:
                service.wait_for(lambda: frames.stat().st_size, "frames")
                for kind, frame in damage(good).items():
                    before = dropped(service)
                    camera.show_once([frame, good, frame, frame, good])
                    service.wait_for(lambda: dropped(service) >= before + 3,
                                     f"three dropped frames: {kind}")
                camera.frame = SCENES[1]["jpeg"]
                wait_for_picture(service, SCENES[1]["blurred"], 1, 5)
                reader.terminate()
            assert service.status()["Counters"]["stalls"] == 0
        finally:
            service.end()
    assert service.show("NRestarts") == "0"
    data = frames.read_bytes()
    frame_bytes = PIXELS * 3 // 2
    pictures = {data[at:at + PIXELS] for at in range(0, len(data) - frame_bytes + 1, frame_bytes)}
    for picture in pictures:
        assert min(error(picture, scene["blurred"])[0] for scene in SCENES[:2]) <= 1


def as_yvyu(grey):
    return b"".join(bytes((value, 128)) for value in grey)


def as_rgb565(grey):
    return b"".join((value >> 3 << 11 | value >> 2 << 5 | value >> 3).to_bytes(2, "little")
                    for value in grey)


@pytest.mark.parametrize("pixelformat, convert, scale, offset, most", [
    ("YVYU", as_yvyu, 1, 0, 1),
    # Five bits of red and blue, and a smaller range of luma than of RGB.
    ("RGBP", as_rgb565, 219 / 255, 16, 8),
])
def test_pixels_are_converted(service, pixelformat, convert, scale, offset, most):
    scene = SCENES[1]
    wanted = [round(offset + scale * value) for value in scene["blurred"]]
    with Loopback(pixelformat, WIDTH, HEIGHT, convert(scene["grey"])) as camera:
        try:
            start(service, camera)
            wait_for_picture(service, wanted, most / 2, most)
        finally:
            service.end()
