"""Tests of fftdsrc, the GStreamer element, in pipelines of gst-launch-1.0."""

import os

import pytest

from client import MAX_PLANES, Format, Plane, Reader, Recorder
from conftest import FAST_KERNELS, PATIENCE
from gstreamer import finish, launch, plugin_dir, rows_of_file  # pylint: disable=unused-import
from hostile_daemon import HostileDaemon


def start_daemon(start, *arguments, **keywords):
    daemon = start(*FAST_KERNELS, *arguments, **keywords)
    daemon.wait_for_socket("frames")
    return daemon


@pytest.mark.parametrize("name, caps", [("NV12", "NV12"), ("YVU420", "YV12"), ("RGB24", "RGB"),
                                        ("GREY", "GRAY8")])
def test_frames_arrive_as_they_are(start, launch, tmp_path, name, caps):
    daemon = start_daemon(start, "--set", f"camera.format={name}", source="pattern:bars",
                          size="162x120")
    path = tmp_path / "frames"
    said = finish(launch(f"fftdsrc camera={daemon.runtime_dir} num-buffers=5 ! filesink "
                         f"location={path}", "-v"))
    assert f"format=(string){caps}" in said
    assert "framerate=(fraction)60/1" in said
    with Reader(daemon) as reader:
        frame = b"".join(reader.next().planes)
        assert b"".join(rows_of_file(path.read_bytes(), reader.format)) == 5 * frame


def test_the_element_can_be_named_for_its_camera(start, launch, runtime_dir):
    start_daemon(start)
    # A name cannot contain a '/', so the directory is that of a user.
    (runtime_dir.parent / "fftd").mkdir()
    (runtime_dir.parent / "fftd" / "front").symlink_to(runtime_dir)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime_dir.parent)
    try:
        finish(launch("fftdsrc name=front num-buffers=3 ! fakesink"))
    finally:
        del os.environ["XDG_RUNTIME_DIR"]


def test_timestamps_follow_the_camera(start, launch):
    daemon = start_daemon(start, fps="50")
    said = finish(launch(f"fftdsrc camera={daemon.runtime_dir} num-buffers=30 ! fakesink "
                         "silent=false", "-v"))
    times = [line.split("pts: ")[1].split(",")[0] for line in said.splitlines() if "pts: " in line]
    seconds = [float(time.split(":")[2]) for time in times if time != "none"]
    assert len(seconds) == 30
    assert seconds == sorted(seconds)
    assert 0.4 < seconds[-1] - seconds[0] < 60


def test_timestamps_are_exact(start, launch):
    """All frames of a pipeline are as far from their captured_ns, to the nanosecond."""
    daemon = start_daemon(start, "--set", "output.slots=64", fps="20")
    pipeline = launch(f"fftdsrc camera={daemon.runtime_dir} num-buffers=20 ! fakesink "
                      "silent=false", "-v")
    captured, distances = {}, set()
    with Recorder(daemon) as recorder:  # the ring's three seconds may be over when it has ended
        said = finish(pipeline)
    while not recorder.taken.empty():
        frame = recorder.taken.get()
        captured[frame.sequence] = frame.captured_ns
    for line in said.splitlines():
        if "pts: " in line and "offset: " in line:
            hours, minutes, seconds = line.split("pts: ")[1].split(",")[0].split(":")
            whole, fraction = seconds.split(".")
            sequence = int(line.split("offset: ")[1].split(",")[0])
            pts_ns = int(fraction) + 10**9 * (int(whole) + 60 * (int(minutes) + 60 * int(hours)))
            if pts_ns > 0 and sequence in captured:  # the first was captured before the start
                distances.add(captured[sequence] - pts_ns)
    assert len(distances) == 1, distances


def test_a_slow_pipeline_gets_copies_and_stops_nobody(start, launch):
    daemon = start_daemon(start)
    with Reader(daemon) as reader:
        pipeline = launch(f"fftdsrc camera={daemon.runtime_dir} num-buffers=40 ! "
                          "queue max-size-buffers=30 max-size-bytes=0 max-size-time=0 ! "
                          "identity sleep-time=30000 ! fakesink sync=false")
        before = reader.next().sequence
        finish(pipeline)
        assert reader.next().sequence > before + 20


def test_a_daemon_may_come_back_with_another_size(start, launch, runtime_dir):
    daemon = start_daemon(start)
    pipeline = launch(f"fftdsrc camera={runtime_dir} ! fakesink silent=false", "-v")

    def read_until(text):
        while line := pipeline.stdout.readline():
            if text in line:
                return True
        return False

    assert read_until("width=(int)160")
    assert read_until("chain")
    daemon.stop()
    start_daemon(start, size="320x200")
    assert read_until("width=(int)320")
    assert read_until("chain")


NV12 = int.from_bytes(b"NV12", "little")


def layout_of(planes, frame_bytes, rate=(30, 1)):
    return Format(NV12, 64, 32, len(planes), (Plane * MAX_PLANES)(*planes), frame_bytes, *rate,
                  2, 2, 2, 0)


LUMA, CHROMA = Plane(0, 64, 64, 32), Plane(2048, 64, 64, 16)


@pytest.mark.parametrize("planes", [
    [LUMA],                                     # GStreamer would look for chroma behind the frame
    [LUMA, CHROMA, CHROMA],
    [LUMA, Plane(3000, 64, 64, 1)],             # the same, row by row
    [Plane(0, 32, 32, 32), CHROMA],
    [LUMA, Plane(2048, 2**31 + 64, 64, 1)],
])
def test_a_format_without_its_planes_is_refused(launch, tmp_path, planes):
    with HostileDaemon(tmp_path, layout_of(planes, 3072)):
        pipeline = launch(f"fftdsrc camera={tmp_path} num-buffers=1 ! fakesink")
        said, _ = pipeline.communicate(timeout=PATIENCE)
    assert pipeline.returncode == 1, said
    assert "Frames of format 'NV12' have no equivalent in GStreamer." in said


def test_the_name_of_an_unknown_format_cannot_command_the_terminal(launch, tmp_path):
    layout = layout_of([LUMA], 3072)
    layout.fourcc = int.from_bytes(b"\x1b[2J", "little")
    with HostileDaemon(tmp_path, layout):
        pipeline = launch(f"fftdsrc camera={tmp_path} num-buffers=1 ! fakesink")
        said, _ = pipeline.communicate(timeout=PATIENCE)
    assert "Frames of format 'unknown' have no equivalent in GStreamer." in said
    assert "0x4a325b1b" in said and "\x1b" not in said


@pytest.mark.parametrize("rate", [(30, 0), (2**32 - 1, 1), (0, 0)])
def test_a_rate_that_is_none_is_no_rate(launch, tmp_path, rate):
    with HostileDaemon(tmp_path, layout_of([LUMA, CHROMA], 3072, rate)):
        said = finish(launch(f"fftdsrc camera={tmp_path} num-buffers=1 ! fakesink", "-v"))
    assert "framerate=(fraction)0/1" in said
    assert "CRITICAL" not in said


def test_no_such_camera(launch):
    pipeline = launch("fftdsrc camera=/nonexistent/camera ! fakesink")
    said, _ = pipeline.communicate(timeout=PATIENCE)
    assert pipeline.returncode != 0
    assert "Cannot open the camera '/nonexistent/camera'" in said
    assert "No such file or directory" in said
