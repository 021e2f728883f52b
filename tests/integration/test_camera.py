"""Tests of the frame path in the running daemon: frames, filters, shutdown and recovery."""

import collections
import itertools
import signal
import time

import pytest

from client import Reader, LIVE
from conftest import FAST_KERNELS, SANITIZED
from service_manager import ServiceManager

# The daemon waits for 0.6 s for what does not return.
END_SECONDS = 20
FILTERS = ["lowpass:shape=gaussian,cutoff=0.1", "notch:at=0.21/0.13,width=0.02", "none",
           "sharpen:amount=1,sigma=1", "gaussian-blur:sigma=2"]


def test_frames_come_in_order_with_their_times(start):
    daemon = start("--filter", FILTERS[0])
    with Reader(daemon) as reader:
        frames = list(itertools.islice(reader.frames(), 30))
        assert reader.state == LIVE
    for before, after in itertools.pairwise(frames):
        assert after.sequence == before.sequence + 1 + after.missed
        assert after.source_sequence > before.source_sequence
        assert after.published_ns >= before.published_ns
    for frame in frames:
        assert frame.filter_serial == 1
        assert (frame.captured_ns <= frame.dequeued_ns <= frame.submitted_ns
                <= frame.finished_ns <= frame.published_ns)


def test_a_frame_does_not_wait_for_the_next(start):
    daemon = start(fps="2")
    with Reader(daemon) as reader:
        frames = list(itertools.islice(reader.frames(), 4))
    # Of most frames, because the machine may be busy.
    earlier = [before.published_ns < after.captured_ns for before, after in
               itertools.pairwise(frames)]
    assert earlier.count(True) > len(earlier) / 2, earlier


def test_no_filter_changes_nothing_and_chroma_passes_through(start):
    daemon = start("--filter", "none", "--set", "camera.format=NV12")
    with Reader(daemon) as reader:
        plain = reader.next()
        daemon.ctl("filter", "set", FILTERS[0])
        filtered = reader.take_until(lambda frame: frame.filter_serial == 2)[-1]
    assert filtered.planes[0] != plain.planes[0]
    assert filtered.planes[1] == plain.planes[1]


def test_every_frame_obeys_its_filter_serial(start):
    """The scene does not move, so each filter has exactly one picture."""
    daemon = start("--filter", FILTERS[0], fps="120")
    pictures = {}
    with Reader(daemon) as reader:
        for serial, chain in enumerate(FILTERS[1:] + FILTERS, start=2):
            frames = reader.take_until(lambda frame: frame.filter_serial == serial - 1)
            daemon.ctl("filter", "set", chain)
            frames += reader.take_until(lambda frame: frame.filter_serial == serial)
            for frame in frames:
                pictures.setdefault(frame.filter_serial, set()).add(frame.digest)
            serials = [frame.filter_serial for frame in frames]
            assert serials == sorted(serials)
    assert sorted(pictures) == list(range(1, 2 * len(FILTERS) + 1))
    assert all(len(digests) == 1 for digests in pictures.values())
    assert len(set.union(*pictures.values())) == len(FILTERS)
    first_round = [pictures[serial] for serial in range(1, len(FILTERS) + 1)]
    second_round = [pictures[serial + len(FILTERS)] for serial in range(1, len(FILTERS) + 1)]
    assert first_round == second_round


def test_filters_changed_faster_than_they_can_be_made(start):
    # All filters share one padded size, so that rounding does not depend on the filters that are
    # skipped.
    margin = ("--set", "engine.margin=64")
    daemon = start(*margin, fps="120")
    last = 1
    with Reader(daemon) as reader:
        reader.next()
        for chain in FILTERS * 4:
            last = daemon.change("filter", "set", chain)
        frames = reader.take_until(lambda frame: frame.filter_serial == last)
    assert last == 1 + len(FILTERS) * 4
    daemon.stop()
    with_one = start(*margin, "--filter", FILTERS[-1])
    with Reader(with_one) as reader:
        assert reader.next().digest == frames[-1].digest


def test_a_wide_filter_gets_a_new_engine_while_frames_go_on(start):
    daemon = start("--filter", "none")
    with Reader(daemon) as reader:
        reader.next()
        engine = daemon.ctl_json("status")["Engine"]
        daemon.ctl("filter", "set", "gaussian-blur:sigma=12")
        reader.take_until(lambda frame: frame.filter_serial == 2)
        assert daemon.ctl_json("status")["Engine"] != engine
        assert daemon.ctl_json("status")["Generation"] == 1
        # Frames that arrive while there is no engine are dequeued, counted and dropped.
        assert daemon.ctl_json("stats")["Counters"]["dropped_engine"] == 0


def test_ends_after_so_many_frames(start):
    daemon = start("--frames", "25", fps="200")
    with Reader(daemon) as reader:
        assert reader.take_until(lambda frame: frame.sequence == 25)
    assert daemon.wait() == 0
    assert "25 frames" in daemon.log
    assert not daemon.runtime_dir.exists()


def write_y4m(path, width, height, frames):
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F50:1 Ip A1:1 C420\n" % (width, height))
        for index in range(frames):
            file.write(b"FRAME\n" + bytes([16 + index]) * (width * height)
                       + bytes([128]) * (width * height // 2))


@pytest.mark.parametrize("fps", [None, "max"])
def test_ends_with_its_file(start, tmp_path, fps):
    write_y4m(tmp_path / "clip.y4m", 64, 48, 10)
    daemon = start(*FAST_KERNELS, source=f"file:{tmp_path}/clip.y4m", size=None, fps=fps)
    assert daemon.wait() == 0
    assert "finished" in daemon.log


@pytest.mark.parametrize("source", ["pattern:scene", "file:clip.y4m"])
def test_unpaced_source_loses_nothing(start, tmp_path, source):
    write_y4m(tmp_path / "clip.y4m", 64, 48, 4)
    daemon = start(*FAST_KERNELS, "--set", "camera.loop=true", size="64x48", fps="max",
                   source=source.replace("file:", f"file:{tmp_path}/"))
    with Reader(daemon) as reader:
        frames = list(itertools.islice(reader.frames(), 20))
    assert all(frame.source_sequence == frame.sequence - 1 for frame in frames)
    assert "64x48, unpaced" in daemon.ctl("status").stdout
    counters = daemon.ctl_json("stats")["Counters"]
    assert counters["dropped_engine"] == counters["source_lost"] == 0


def test_begins_its_file_again(start, tmp_path):
    write_y4m(tmp_path / "clip.y4m", 64, 48, 3)
    daemon = start(*FAST_KERNELS, "--set", "camera.loop=true",
                   source=f"file:{tmp_path}/clip.y4m", size=None, fps=None)
    with Reader(daemon) as reader:
        frames = list(itertools.islice(reader.frames(), 12))
    levels = {frame.planes[0][0] for frame in frames}
    assert levels == {16, 17, 18}
    assert daemon.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_while_it_has_more_frames_than_it_can_filter(start, number):
    daemon = start("--filter", FILTERS[0], source="pattern:noise", size="640x480", fps="1000")
    with Reader(daemon) as reader:
        list(itertools.islice(reader.frames(), 10))
        daemon.signal(number)
        assert daemon.wait(END_SECONDS) == 0
        reader.take_rest()
        assert reader.wait(0) <= 0
        assert reader.state != LIVE
    assert not daemon.runtime_dir.exists()


@pytest.mark.parametrize("fault", ["compile", "hang"])
def test_ends_without_what_does_not_return(start_faulty, faults, tmp_path, fault):
    """A compiler, or a device with frames, that comes to no end as long as the daemon lives."""
    daemon = start_faulty("--set", "engine.frame_timeout=600", "--set", "engine.tune=off",
                          "--set", f"engine.cache_dir={tmp_path}")
    with Reader(daemon) as reader:
        reader.next()
        compiled = daemon.log.count("compiling")
        faults.begin(fault)
        daemon.change("filter", "set", "shift:by=3/2")  # needs another engine
        if fault == "compile":
            daemon.wait_until(lambda: daemon.log.count("compiling") > compiled, "a compiler")
        daemon.signal(signal.SIGTERM)
        assert daemon.wait(END_SECONDS) == 0
    assert not daemon.runtime_dir.exists()


def test_ends_while_it_builds_its_first_engine(start_faulty, faults):
    faults.begin("compile")
    daemon = start_faulty()
    daemon.wait_for_socket()
    daemon.signal(signal.SIGTERM)
    assert daemon.wait(END_SECONDS) == 0
    assert not daemon.runtime_dir.exists()


def test_a_killed_daemon_leaves_nothing_in_the_way(start):
    killed = start()
    with Reader(killed) as reader:
        reader.next()
        killed.process.kill()
        killed.wait()
        killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        assert (killed.runtime_dir / "frames").exists()
        successor = start("--filter", FILTERS[0])
        while (frame := reader.next()).captured_ns < killed_ns:  # left in the old ring
            pass
        assert frame.digest and reader.state == LIVE
    assert successor.stop() == 0
    assert not list(successor.runtime_dir.iterdir())


def test_reload_applies_the_filter_and_keeps_it_when_the_file_is_bad(start, tmp_path):
    config = tmp_path / "fftd.conf"
    config.write_text(f'filter = "{FILTERS[0]}";\n')
    daemon = start("--config", config)
    with Reader(daemon) as reader:
        reader.next()
        config.write_text(f'filter = "{FILTERS[1]}";\n output: {{ slots = 12; }};\n')
        daemon.signal(signal.SIGHUP)
        reader.take_until(lambda frame: frame.filter_serial == 2)
        daemon.wait_for_log("output.slots = 12 takes effect at the next start")

        config.write_text('filter = "nonsense";\n')
        daemon.signal(signal.SIGHUP)
        daemon.wait_for_log("the reload failed and changed nothing")
        assert f"{config}:1" in daemon.log
        assert reader.next().filter_serial == 2
    assert daemon.ctl_json("status")["State"] == "online"


def test_reload_changes_the_source_while_clients_read(start, tmp_path):
    config = tmp_path / "fftd.conf"

    def write(source="pattern:moire", size="160x120", fps=60, pixels="NV12", seed=1):
        config.write_text(f'camera = {{ source = "{source}"; size = "{size}"; fps = {fps}.0; '
                          f'format = "{pixels}"; seed = {seed}; }};\nfilter = "{FILTERS[0]}";\n')

    write()
    daemon = start("--config", config, *FAST_KERNELS, source=None, size=None, fps=None)
    with Reader(daemon) as reader:
        last = reader.next()
        for change, expected in (({"size": "96x64"}, (96, 64, 2)),
                                 ({"source": "pattern:bars", "size": "200x100"}, (200, 100, 2)),
                                 ({"size": "200x100", "pixels": "YUYV"}, (200, 100, 1)),
                                 ({"size": "96x64", "pixels": "SGRBG10"}, (96, 64, 1)),
                                 ({"source": "pattern:zoneplate"}, (160, 120, 2))):
            write(**change)
            daemon.ctl("reload")
            frame = reader.take_until(lambda frame: (frame.width, frame.height,
                                                     len(frame.planes)) == expected)[-1]
            assert frame.sequence > last.sequence and frame.filter_serial == 1
            last = frame
        assert daemon.ctl_json("status")["Source"] == "pattern:zoneplate"

        # A change of the rate alone keeps the ring, because the layout is the same.
        write(source="pattern:zoneplate", fps=10)
        daemon.ctl("reload")
        daemon.wait_for_log("reloaded: camera.fps = 10")
        applied_ns = time.monotonic_ns()  # frames of the old rate may wait to be read
        first = reader.take_until(lambda frame: frame.captured_ns > applied_ns)[-1]
        second = next(reader.frames())
        assert second.captured_ns - first.captured_ns > 80_000_000

        # Settings that the source refuses change nothing.
        write(source="pattern:wobble")
        refused = daemon.ctl("reload", check=False)
        assert refused.returncode == 78 and "wobble" in refused.stderr
        assert "the previous one stays in use: " in daemon.log
        assert reader.next().width == 160
        assert daemon.ctl_json("status")["Source"] == "pattern:zoneplate"
    assert daemon.ctl_json("status")["State"] == "online"
    assert "takes effect at the next start" not in daemon.log


def test_a_reload_is_applied_as_a_whole_or_not_at_all(start, tmp_path, runtime_dir):
    """The source is opened last. If that fails, the new filter is not applied either, and whoever
    asked for the reload is told: the client by an error, the service manager by its end."""
    config = tmp_path / "fftd.conf"
    manager = ServiceManager(runtime_dir.parent / "notify")

    def write(source, filters):
        config.write_text(f'camera = {{ source = "{source}"; }};\nfilter = "{filters}";\n')

    def reload_by_signal():
        daemon.signal(signal.SIGHUP)
        manager.wait_for("RELOADING=1")
        manager.wait_for("READY=1")

    write("pattern:moire", FILTERS[0])
    daemon = start("--config", config, source=None, env=manager.env)
    manager.wait_for("READY=1")
    with Reader(daemon) as reader:
        before = reader.next()
        for failures, reload in enumerate((lambda: daemon.ctl("reload", check=False).returncode,
                                           reload_by_signal), start=1):
            write("file:/nonexistent.y4m", FILTERS[1])
            assert reload() in (None, 78)
            assert daemon.log.count("the reload failed and changed nothing: ") == failures
            shown = daemon.ctl_json("status")
            assert shown["Source"] == "pattern:moire"
            assert "notch" not in daemon.ctl("filter", "show").stdout
            serial = shown["Serial"]
            after = reader.take_until(lambda frame, serial=serial: frame.filter_serial >= serial)
            assert {frame.digest for frame in after} == {before.digest}

        # Another file applies both, and no frame of the new source has the old filter.
        write("pattern:zoneplate", FILTERS[1])
        reload_by_signal()
        serial = daemon.ctl_json("status")["Serial"]
        taken = reader.take_until(lambda frame: frame.filter_serial >= serial)
        assert {frame.digest for frame in taken[:-1]} <= {before.digest}
        assert daemon.ctl_json("status")["Source"] == "pattern:zoneplate"
    assert daemon.stop() == 0


def voluntary_switches(daemon):
    """Returns how often the threads of each name went to sleep."""
    switches = collections.Counter()
    for text in daemon.of_threads("status"):
        about = dict(line.split(":\t", 1) for line in text.splitlines())
        switches[about["Name"]] += int(about["voluntary_ctxt_switches"])
    return switches


def test_nothing_is_awake_between_frames(start):
    daemon = start(fps="10")
    with Reader(daemon) as reader:
        list(itertools.islice(reader.frames(), 5))
        before = voluntary_switches(daemon)
        first = reader.next()
        list(itertools.islice(reader.frames(), 10))
        after = voluntary_switches(daemon)
        looked_ns = time.monotonic_ns()
        last = reader.take_until(lambda frame: frame.captured_ns > looked_ns)[-1]
    frames = last.sequence - first.sequence + 1
    # Each frame wakes for the source, for the engine, and for waits inside a driver.
    assert after["camera"] - before["camera"] <= 6 * frames
    assert after["designer"] - before["designer"] == 0


def test_memory_and_descriptors_stay_as_they_are(start):
    daemon = start("--filter", FILTERS[0], fps="500")
    with Reader(daemon) as reader:
        for chain in FILTERS:  # whose kernels the driver loads once, and keeps: some 7 MB
            daemon.ctl("filter", "set", chain)
        reader.take_until(lambda frame: frame.sequence >= 200)
        descriptors, memory = daemon.descriptors(), daemon.memory_bytes()
        for chain in 3 * FILTERS:
            daemon.ctl("filter", "set", chain)
        with Reader(daemon) as another:
            another.next()
        sequence = reader.next().sequence
        reader.take_until(lambda frame: frame.sequence >= sequence + 1500)
        daemon.wait_until(lambda: len(daemon.descriptors()) <= len(descriptors),
                          "fewer descriptors")
        grown = daemon.memory_bytes() - memory
        print(f"{grown >> 10} KiB more")
        assert SANITIZED or grown < 4 << 20  # 1500 frames of 29 kB, and 15 engines are far more
