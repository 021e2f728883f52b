"""fftd-view: pictures from before the filter beside those after it, and clips."""

import concurrent.futures
import contextlib
import email
import json
import re
import shutil
import socket
import subprocess
import time

import numpy as np
import pytest

from conftest import BUILD, wait_until
from test_view_control import Control
from test_view_http import (IS_SANITIZED, QUIET, pixels_of, runtime_dir,  # noqa: F401 (fixtures)
                            view)

pytestmark = pytest.mark.skipif(not (BUILD / "fftd-view").exists(),
                                reason="fftd-view is not built: libmicrohttpd is missing")

UNFILTERED = ("--set", "output.watch_unfiltered=true")


def parts_of(answer):
    """{name: JPEG} of multipart/form-data, as Python's own parser takes it apart."""
    head = f"Content-Type: {answer.getheader('Content-Type')}\r\n\r\n".encode()
    return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in email.message_from_bytes(head + answer.body).get_payload()}


def luma_of(jpeg):
    return pixels_of(jpeg) @ (0.299, 0.587, 0.114)


@pytest.mark.parametrize("name", ["NV21", "XRGB32"])
def test_a_comparison_is_of_one_frame(start, view, name):
    start(*UNFILTERED, *QUIET, "--set", f"camera.format={name}", source="pattern:scene",
          size="163x121", fps="15").wait_for_log("online")
    web = view("--quality", "98")
    sequences = set()

    def newer():
        answer = web.get("/camera/front/comparison")
        assert answer.status == 200
        return answer.getheader("Fftd-Sequence") not in sequences and answer
    for _ in range(2):
        answer = wait_until(newer, "another frame")
        parts = parts_of(answer)
        before, after = luma_of(parts["before"]), luma_of(parts["after"])
        # The scene moves, and without a filter both are the same picture.
        assert before.std() > 20 and np.abs(before - after).mean() < 1
        sequences.add(answer.getheader("Fftd-Sequence"))


def test_a_comparison_shows_what_the_filter_does(start, view):
    start(*UNFILTERED, "--filter", "gain:ac=0", source="pattern:scene",
          size="320x240").wait_for_log("online")
    parts = parts_of(view("--quality", "98").get("/camera/front/comparison"))
    before, after = luma_of(parts["before"]), luma_of(parts["after"])
    assert before.std() > 20 and after.std() < 1
    assert abs(before.mean() - after.mean()) < 3


def test_watchers_see_no_unfiltered_picture(start, view):
    start(*QUIET).wait_for_log("online")
    answer = view().get("/camera/front/comparison")
    assert answer.status == 403 and b"output.watch_unfiltered" in answer.body
    assert b"JFIF" not in answer.body


def test_with_control_a_comparison_needs_the_token(start, view):
    start(*UNFILTERED, *QUIET).wait_for_log("online")
    web = view("--control", "--name", "other")
    for headers in ({}, {"Authorization": "Bearer " + "0" * 32}):
        assert web.get("/camera/front/comparison", **headers).status == 401
    token = {"Authorization": f"Bearer {Control(web).token}"}
    assert set(parts_of(web.get("/camera/front/comparison", **token))) == {"before", "after"}
    answer = web.get("/camera/other/comparison", **token)
    assert answer.status == 503 and b"systemctl start fftd@other" in answer.body


def test_browsers_share_comparisons(start, view):
    """The daemon copies at most five pairs a second, however many browsers ask for them."""
    daemon = start(*UNFILTERED, *QUIET, "--set", "camera.idle=pause", source="pattern:noise",
                   size="320x240", fps="60")
    daemon.wait_for_log("engine: ")  # it may pause before its first frame
    web = view()

    def look(_):
        seen = []
        for _ in range(10):
            answer = web.get("/camera/front/comparison")
            assert answer.status == 200
            seen.append((answer.getheader("Fftd-Sequence"), answer.body))
            time.sleep(0.1)
        return seen

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        seen = [pair for pairs in pool.map(look, range(8)) for pair in pairs]
    took = time.monotonic() - began
    assert 2 <= len({sequence for sequence, _ in seen}) <= 1 + 5 * took
    assert len(dict(seen)) == len(set(seen)), "one frame has two pictures"
    # No frame of the ring was read for it, and nobody looks now.
    assert daemon.ctl_json("status")["Clients"] == 0
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")


# ---- clips ----

needs_ffmpeg = pytest.mark.skipif(not shutil.which("ffprobe"), reason="ffmpeg is missing")


def packets_of(path):
    """What FFmpeg reads in the file: its stream, and its packets in order."""
    done = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams",
                           "-show_packets", path], capture_output=True, check=True, text=True)
    assert not done.stderr, done.stderr
    told = json.loads(done.stdout)
    return told["streams"][0], told["packets"]


def duration_of(path):
    """In seconds, from the first picture to the last one."""
    times = [float(packet["pts_time"]) for packet in packets_of(path)[1]]
    return times[-1] - times[0]


@needs_ffmpeg
def test_a_clip_has_the_pictures_at_their_times(start, view, tmp_path):
    start(*QUIET, source="pattern:scene", size="320x240", fps="20").wait_for_log("online")
    answer = view("--quality", "95").get("/camera/front/clip.mkv?seconds=2")
    assert answer.status == 200 and answer.getheader("Content-Type") == "video/x-matroska"
    path = tmp_path / "clip.mkv"
    path.write_bytes(answer.body)
    stream, packets = packets_of(path)
    assert (stream["codec_name"], stream["width"], stream["height"]) == ("mjpeg", 320, 240)
    times = np.array([float(packet["pts_time"]) for packet in packets])
    # Frames are captured every 50 ms, and some may have been left out.
    assert times[0] == 0 and 1 < times[-1] < 2 and 3 <= len(times) <= 40
    steps = np.diff(times) / 0.05
    assert np.all(steps > 0.5) and np.abs(steps - np.round(steps)).mean() < 0.2
    # Every picture is whole, and they differ.
    frames = tmp_path / "frames"
    frames.mkdir()
    done = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-vsync", "passthrough",
                           frames / "%03d.png"], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    pictures = [luma_of(file.read_bytes()) for file in sorted(frames.iterdir())]
    assert len(pictures) == len(times) and all(each.std() > 20 for each in pictures)
    assert np.abs(pictures[0] - pictures[-1]).mean() > 1


def test_other_lengths_are_refused(start, view):
    start(*QUIET).wait_for_log("online")
    web = view()
    for seconds in ("0", "61", "-1", "1.5", "", "x", "99999999999999999999", "2%20"):
        answer = web.get(f"/camera/front/clip.mkv?seconds={seconds}")
        assert answer.status == 400 and b"1 to 60" in answer.body, seconds


def test_a_browser_that_stops_reading_a_clip_keeps_no_memory(start, view):
    """It gets the newest picture when it reads again, and the clip ends at its time."""
    start(*QUIET, source="pattern:noise", size="640x480", fps="30").wait_for_log("online")
    web = view("--quality", "95")
    with web.stream() as stream, web.connect() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        peer.sendall(b"GET /camera/front/clip.mkv?seconds=4 HTTP/1.0\r\nHost: localhost\r\n\r\n")
        head = peer.recv(4096)
        assert head.startswith(b"HTTP/1.1 200") or head.startswith(b"HTTP/1.0 200")
        end = time.monotonic() + 4
        for _ in range(15):
            stream.next()
        before = most = web.threads_and_memory()[1]
        sent = 0
        while sent < 8e6 or time.monotonic() < end:
            sent += len(stream.next()[1])
            most = max(most, web.threads_and_memory()[1])
        assert IS_SANITIZED or most < before + 2e6
        clip = head
        while part := peer.recv(65536):
            clip += part
    # Of about 120 frames the clip has only those that the sockets' buffers held.
    assert 1 <= clip.count(b"\xff\xd8\xff\xe0") < 60
    assert len(re.findall(b"V_MJPEG", clip)) == 1


def test_clips_are_counted_as_streams(start, view):
    start(*QUIET).wait_for_log("online")
    web = view()
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            peer = stack.enter_context(web.connect())
            peer.sendall(b"GET /camera/front/clip.mkv?seconds=60 HTTP/1.1\r\n"
                         b"Host: localhost\r\n\r\n")
            assert peer.recv(12) == b"HTTP/1.1 200"
        answer = web.get("/camera/front/clip.mkv")
        assert answer.status == 503 and b"too many streams" in answer.body
