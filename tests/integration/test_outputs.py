"""Named outputs: several pictures of one camera, each with a filter, a size, a rate and readers of
its own."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import types

import numpy
import pytest

from client import Reader, Recorder
from conftest import BUILD, PATIENCE, wait_until
from test_survival import Keeper, die

WIDTH, HEIGHT = 160, 120
HALF = "gain:dc=0.5,ac=0.5"
OUTPUTS = """outputs=( { name = "raw"; planes = "luma-only"; },
                       { name = "small"; size = "80x60"; planes = "luma-only"; } )"""
# Noise, of which no two frames are alike: what is paired wrongly differs everywhere.
NOISE = {"source": "pattern:noise", "fps": "20"}
SLOTS = ("--set", "output.slots=64")


def of(daemon, output):
    """An output as a Reader expects a daemon."""
    folder = daemon.runtime_dir / "outputs" / output

    def wait_for_socket(name):
        daemon.wait_for_socket(f"outputs/{output}/{name}")

    return types.SimpleNamespace(runtime_dir=folder, wait_for_socket=wait_for_socket,
                                 log_path=daemon.log_path, log="")


def ctl(daemon, output, *arguments, check=True):
    daemon.wait_for_socket()
    done = subprocess.run([BUILD / "fftd-ctl", "--runtime-dir",
                           daemon.runtime_dir / "outputs" / output, *arguments],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert not check or done.returncode == 0, f"{arguments}: {done.stderr}\n{daemon.log}"
    return done


def ctl_json(daemon, output, *arguments):
    return json.loads(ctl(daemon, output, "--json", *arguments).stdout)


def published(daemon, output):
    return ctl_json(daemon, output, "status")["FramesPublished"]


def uploads(daemon):
    """How many frames were copied for the device, for main and for `small`."""
    return [stats["Copies"]["upload"][0]
            for stats in (daemon.ctl_json("stats"), ctl_json(daemon, "small", "stats"))]


def test_frames_are_loaded_where_they_were_captured(start):
    """Main holds them in the source's memory, and `small` shares its load; on other devices than a
    processor they are copied for that."""
    chain = "gaussian-blur:sigma=6"
    daemon = start("--filter", chain, "--set", "engine.technique=fused", "--set",
                   f'outputs=( {{ name = "small"; size = "80x60"; filter = "{chain}"; }} )',
                   size=f"{WIDTH}x{HEIGHT}", **NOISE)
    with Reader(daemon), Reader(of(daemon, "small")):
        wait_until(lambda: published(daemon, "small") > 0, "a frame")
        if not daemon.ctl_json("status")["Device"].startswith("pthread-"):
            pytest.skip("the OpenCL device is not PoCL")

        def copies_none():
            before, first = uploads(daemon), published(daemon, "small")
            wait_until(lambda: published(daemon, "small") > first + 10, "more frames")
            return uploads(daemon) == before
        wait_until(copies_none, "frames that are not copied")



def pixels(frame):
    return numpy.frombuffer(frame.planes[0], numpy.uint8).reshape(frame.height, frame.width)


def key(frame):
    return frame.source_sequence, frame.captured_ns


# ---- pairs ----

def check_pair(main, raw, small, halved):
    """One captured frame in all three. `halved`: the serials of main with which it has half of the
    level."""
    whole = pixels(raw).astype(float)
    expected = whole / 2 if main.filter_serial in halved else whole
    assert numpy.abs(pixels(main) - expected).max() <= 0.51, key(main)
    if small:
        blocks = whole.reshape(HEIGHT // 2, 2, WIDTH // 2, 2).mean((1, 3))
        likeness = numpy.corrcoef(blocks.ravel(), pixels(small).ravel())[0, 1]
        assert likeness > 0.6, key(main)  # of two frames it is 0.03


def check_pairs(readers, halved, least):
    """Matches what the readers have taken by the source's numbers."""
    taken = [{key(frame): frame for frame in reader.all} for reader in readers]
    for frames in taken:
        numbers = [number for number, _ in frames]
        times = [time for _, time in frames]
        assert len(set(times)) == len(times)
        assert times == sorted(times) and len(numbers) == len(times)
    common = set(taken[0]) & set(taken[1]) & set(taken[2])
    for pair in common:
        check_pair(*(frames[pair] for frames in taken), halved)
    # Times of one capture have one number, in every output.
    by_time = {}
    for frames in taken:
        for number, time in frames:
            assert by_time.setdefault(time, number) == number
    assert len(common) >= least
    return len(common)


def record(reader, until):
    """Takes frames until there is one of at least this sequence."""
    reader.all += reader.take_until(lambda frame: frame.sequence >= until)


def take_after(reader, time_ns, count=1):
    """Takes frames until so many of them were captured at this time or later. Returns the time of
    the last one."""
    later = 0

    def is_last(frame):
        nonlocal later
        later += frame.captured_ns >= time_ns
        return later == count

    reader.all += reader.take_until(is_last)
    return reader.all[-1].captured_ns


@pytest.fixture
def keeper(runtime_dir):
    made = Keeper(runtime_dir.parent / "notify", runtime_dir)
    (runtime_dir / "outputs").mkdir()
    yield made
    made.close()


def test_frames_of_all_outputs_are_paired_under_changes_and_a_restart(start, keeper):
    arguments = ("--set", "camera.format=GREY", "--set", OUTPUTS, *SLOTS)
    daemon = start(*arguments, **NOISE, **keeper.hand_over())
    halved = set()
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Recorder(each))
                   for each in (daemon, of(daemon, "raw"), of(daemon, "small"))]
        for reader in readers:
            reader.all = []
            record(reader, 1)
        for i in range(20):
            serial = daemon.change("filter", "set", HALF if i % 2 == 0 else "none")
            if i % 2 == 0:
                halved.add(serial)
            ctl(daemon, "small", "filter", "set", "--no-wait",
                "none" if i % 2 else "gaussian-blur:sigma=0.5")
        for reader in readers:
            record(reader, 40)
        begin = max(reader.all[-1].captured_ns for reader in readers)
        end = max(take_after(reader, begin, 30) for reader in readers)
        for reader in readers:
            take_after(reader, end)
        small = ctl_json(daemon, "small", "status")
        assert small["Serial"] == 21 and ctl_json(daemon, "raw", "status")["Serial"] == 1
        keeper.wait_for(lambda: len(keeper.names) == 6, "three rings and three clients")
        assert [name for name in keeper.names if "ring" in name] == ["ring", "ring-raw",
                                                                     "ring-small"]
        assert {name.rpartition("-")[0] for name in keeper.names if "client" in name} == {
            "client", "client-raw", "client-small"}
        before = check_pairs(readers, halved, 20)
        last = [reader.all[-1].sequence for reader in readers]

        die(daemon)
        died = time.monotonic_ns()
        successor = start(*arguments, **NOISE, **keeper.hand_over())
        # The engines are ready one after another. Thirty frames of the last one are waited for.
        begin = max(take_after(reader, died) for reader in readers)
        end = max(take_after(reader, begin, 30) for reader in readers)
        for reader in readers:
            take_after(reader, end)
            reader.all = [frame for frame in reader.all if frame.captured_ns > died]
        assert [reader.epoch for reader in readers] == [2, 2, 2]
        for reader, sequence in zip(readers, last):
            numbers = [frame.sequence for frame in reader.all]
            assert len(set(numbers)) == len(numbers) and min(numbers) > sequence
            # The first filter of a process has serial 1.
            assert {frame.filter_serial for frame in reader.all} == {1}
        check_pairs(readers, set(), 10)
        assert before >= 20
        assert successor.stop() == 0


def test_a_ring_of_an_output_that_is_no_more_is_forgotten(start, keeper):
    daemon = start("--set", OUTPUTS, **keeper.hand_over())
    with Reader(of(daemon, "raw")) as reader:
        reader.next()
        keeper.wait_for(lambda: len(keeper.names) == 4, "three rings and a client")
        die(daemon)
    daemon = start(**keeper.hand_over())
    with Reader(daemon) as reader:
        reader.next()
        keeper.wait_for(lambda: not [name for name in keeper.names if "raw" in name or
                                     "small" in name], "what is left of main alone")


# ---- readers ----

def test_an_output_without_readers_costs_nothing(start):
    daemon = start("--set", OUTPUTS)
    with Reader(daemon) as reader:
        reader.take_until(lambda frame: frame.sequence >= 20)
        assert published(daemon, "small") == published(daemon, "raw") == 0
        with Reader(of(daemon, "small")) as small:
            assert small.next().width == 80
            assert published(daemon, "small") > 0 and published(daemon, "raw") == 0
        wait_until(lambda: ctl_json(daemon, "small", "status")["Clients"] == 0, "no reader")
        reader.take_until(lambda frame, last=reader.next().sequence: frame.sequence > last + 5)
        after = published(daemon, "small")
        reader.take_until(lambda frame, last=reader.next().sequence: frame.sequence > last + 10)
        assert published(daemon, "small") == after


def test_a_camera_that_pauses_runs_for_any_output(start):
    daemon = start("--set", OUTPUTS, "--set", "camera.idle=pause")
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")
    before = daemon.ctl_json("status")["FramesPublished"]
    with Reader(of(daemon, "small")) as small:
        first = small.next()
        small.take_until(lambda frame: frame.sequence >= first.sequence + 20)
        assert ctl_json(daemon, "small", "status")["State"] == "online"
        assert daemon.ctl_json("status")["State"] == "paused"
        assert daemon.ctl_json("status")["FramesPublished"] == before
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "paused", "the pause")


def test_a_reader_that_does_not_read_delays_no_other_output(start):
    daemon = start("--set", OUTPUTS)
    with contextlib.ExitStack() as stack:
        main = stack.enter_context(Reader(daemon))
        for _ in range(3):
            mute = subprocess.Popen([BUILD / "fftd-ctl", "--runtime-dir",
                                     daemon.runtime_dir / "outputs/small", "frames", "--raw",
                                     "-o", "/dev/null"], stderr=subprocess.DEVNULL)
            stack.callback(mute.wait)
            stack.callback(mute.kill)
            wait_until(lambda: published(daemon, "small") > 0, "frames")
            os.kill(mute.pid, signal.SIGSTOP)
        stopped = published(daemon, "small")
        first = main.next().sequence
        main.take_until(lambda frame: frame.sequence >= first + 60)
        assert published(daemon, "small") > stopped  # nor its own
        assert daemon.ctl_json("status")["State"] == "online"


def test_all_outputs_share_the_limit_of_clients(start):
    daemon = start("--set", OUTPUTS, "--set", "output.max_clients=2")
    wait_until(lambda: ctl(daemon, "small", "frames", "-n", "1", "-o", "/dev/null",
                           check=False).returncode == 0, "a frame")
    # A look whether a socket is there would count as a client.
    main, raw = (types.SimpleNamespace(runtime_dir=folder, wait_for_socket=lambda name: None)
                 for folder in (daemon.runtime_dir, daemon.runtime_dir / "outputs/raw"))
    wait_until(lambda: ctl_json(daemon, "small", "status")["Clients"] == 0, "no client")
    with Reader(main), Reader(raw):
        refused = ctl(daemon, "small", "frames", "-n", "1", "-o", "/dev/null", check=False)
        assert refused.returncode == os.EX_TEMPFAIL
        assert ctl_json(daemon, "raw", "status")["Clients"] == 1
    wait_until(lambda: ctl_json(daemon, "raw", "status")["Clients"] == 0, "no client")
    ctl(daemon, "small", "frames", "-n", "1", "-o", "/dev/null")


def test_the_only_place_is_free_as_soon_as_its_client_has_left(start):
    """The daemon may see the next connection before the end of the last one, of another output."""
    daemon = start("--set", OUTPUTS, "--set", "output.max_clients=1")
    folders = [daemon.runtime_dir, *(daemon.runtime_dir / "outputs" / name
                                     for name in ("raw", "small"))]
    for name in ("raw", "small"):
        wait_until(lambda: ctl(daemon, name, "frames", "-n", "1", "-o", "/dev/null",
                               check=False).returncode == 0, "a frame")
    for i in range(60):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as leaving:
            leaving.connect(str(folders[i % 3] / "frames"))
        # Not through wait_for_socket, whose look would be another such client.
        with Reader(types.SimpleNamespace(runtime_dir=folders[i // 3 % 3],
                                          wait_for_socket=lambda name: None)) as reader:
            assert reader.wait() == 1


def test_frames_of_an_output_are_no_more_than_it_may_have(start):
    daemon = start("--set", 'outputs=( { name = "slow"; fps = 10; } )', fps="60")
    with Reader(of(daemon, "slow")) as reader:
        times = []
        for frame in reader.frames():
            times.append(frame.captured_ns / 1e9)
            if len(times) == 20:
                break
    assert times[-1] - times[0] >= 0.1 * (len(times) - 1) - 0.03


def test_a_source_that_waits_does_so_for_every_output(start, tmp_path):
    """From the first frame of the later reader on, both have all frames of the recording."""
    count = 60
    frames = numpy.random.default_rng(3).integers(0, 256, (count, HEIGHT, WIDTH), numpy.uint8)
    path = tmp_path / "recording.raw"
    path.write_bytes(frames.tobytes())
    daemon = start("--set", 'outputs=( { name = "raw"; } )', "--set", "camera.format=GREY",
                   "--set", "output.lossless=true", "--set", "output.slots=8",
                   source=f"file:{path}", size=f"{WIDTH}x{HEIGHT}", fps="max")
    with Reader(of(daemon, "raw"), lossless=True) as raw, Reader(daemon, lossless=True) as main:
        taken = {}
        for name, reader in (("raw", raw), ("main", main)):
            taken[name] = {}

        def take(name, reader):
            if reader.wait(100) > 0:
                while frame := reader.take():
                    taken[name][frame.source_sequence] = pixels(frame).copy()

        def is_complete():
            for name, reader in (("raw", raw), ("main", main)):
                take(name, reader)
            return all(count - 1 in each for each in taken.values())

        wait_until(is_complete, "the last frame")
    first = min(taken["raw"])
    assert first < count // 2
    assert sorted(taken["main"]) == list(range(count))
    assert sorted(taken["raw"]) == list(range(first, count))
    for number, picture in taken["raw"].items():
        assert (picture == frames[number]).all() and (taken["main"][number] == picture).all()


# ---- loads ----

def load_of(daemon, output=None):
    """The number of the load that an output's engine uses; None: it has one of its own."""
    status = ctl_json(daemon, output, "status") if output else daemon.ctl_json("status")
    found = re.search(r", load (\d+),", status["Engine"])
    return found and found.group(1)


def test_outputs_that_transform_share_a_load(start, tmp_path):
    """Whatever main does, the pixels of the smaller pictures stay the same, as long as they share
    its load; and they join another one if main begins it."""
    width, height = 320, 240
    path = tmp_path / "picture.raw"
    path.write_bytes(numpy.random.default_rng(29).integers(0, 256, width * height,
                                                           numpy.uint8).tobytes())
    daemon = start("--set", "camera.format=GREY", "--set", "camera.loop=true",
                   "--set", 'outputs=( { name = "half"; size = "160x120"; },'
                   ' { name = "half-again"; size = "160x120"; filter = "gradient"; },'
                   ' { name = "own"; filter = "median"; } )', "--filter", "gaussian-blur:sigma=8",
                   source=f"file:{path}", size=f"{width}x{height}", fps="20")

    def is_shared():
        return load_of(daemon) is not None and \
            load_of(daemon) == load_of(daemon, "half") == load_of(daemon, "half-again")

    with Reader(of(daemon, "half")) as half, Reader(of(daemon, "half-again")) as again:
        daemon.wait_until(is_shared, "one load for three outputs")
        assert load_of(daemon, "own") is None
        readers = (half, again)
        for reader in readers:
            reader.take_rest()
        first = [reader.next() for reader in readers]
        planes = [frame.planes for frame in first]
        shared = load_of(daemon)
        for i in range(6):
            daemon.change("filter", "set", f"gaussian-blur:sigma={6 + i % 2}")
            for reader, expected in zip(readers, planes):
                for frame in reader.take_until(
                        lambda frame, last=reader.next().sequence: frame.sequence > last + 2):
                    assert frame.planes == expected
        assert load_of(daemon) == shared and is_shared()
        daemon.change("filter", "set", "gaussian-blur:sigma=30")
        daemon.wait_until(lambda: load_of(daemon) != shared and is_shared(), "main's next load")
        for reader, expected in zip(readers, planes):
            # Other padded lengths, with which the border goes on differently.
            reader.take_rest()
            found, wanted = (numpy.frombuffer(each[0], numpy.uint8).astype(int)
                             for each in (reader.next().planes, expected))
            assert numpy.abs(found - wanted).mean() < 0.5
        daemon.change("filter", "set", "median")
        daemon.wait_until(lambda: load_of(daemon) is None, "a load of main's own")
        for reader in readers:
            reader.take_until(lambda frame, last=reader.next().sequence: frame.sequence > last + 5)


def test_what_adapts_is_found_once_for_the_outputs_that_ask_for_it(start):
    """Both see the same frames, of which one removes nothing."""
    daemon = start("--set", 'outputs=( { name = "clean"; filter = "auto-notch"; } )',
                   fps="30")
    with Reader(of(daemon, "clean")) as clean, Reader(daemon) as main:
        clean.next()
        daemon.wait_until(lambda: daemon.ctl_json("status")["Adaptation"].get("waves"), "waves")
        main.take_rest()
        clean.take_rest()
        plain = {key(frame): frame for frame in main.take_until(
            lambda frame, last=main.next().sequence: frame.sequence > last + 30)}
        pairs = [(plain[key(frame)], frame) for frame in clean.take_until(
            lambda frame: frame.captured_ns > max(plain)[1]) if key(frame) in plain]
        assert pairs
        for whole, part in pairs[-3:]:
            assert numpy.std(pixels(part)) < 0.9 * numpy.std(pixels(whole))


# ---- the source ----

def test_another_source_is_for_all_outputs_or_none(start, tmp_path):
    config = tmp_path / "camera.conf"
    text = ('camera = {{ source = "pattern:moire"; size = "{}"; fps = 30; }};\n'
            'outputs = ( {{ name = "small"; size = "80x60"; }}, {{ name = "full"; }} );\n')
    config.write_text(text.format("160x120"))
    daemon = start("--config", config, source=None, size=None, fps=None)
    with Reader(daemon) as main, Reader(of(daemon, "small")) as small, \
            Reader(of(daemon, "full")) as full:
        assert [(r.next().width, r.format.height) for r in (main, small, full)] == \
            [(160, 120), (80, 60), (160, 120)]
        config.write_text(text.format("192x128"))
        daemon.ctl("reload")
        main.take_until(lambda frame: frame.width == 192)
        full.take_until(lambda frame: frame.width == 192)
        small.take_rest()
        assert small.next().width == 80
        # Smaller than the small output.
        config.write_text(text.format("64x48"))
        failed = daemon.ctl("reload", check=False)
        assert failed.returncode == os.EX_CONFIG and "output small" in failed.stderr, failed.stderr
        for reader, width in ((main, 192), (small, 80), (full, 192)):
            reader.take_rest()
            assert reader.next().width == width
        assert daemon.ctl_json("status")["Format"]["captured_width"] == 192


# ---- configurations ----

@pytest.mark.parametrize("outputs, expected", [
    ('"small"', "outputs: expected ( { name ="),
    ("( 1 )", "outputs has a value: expected ( { name ="),
    ('( { size = "80x60"; } )', "an output has no name"),
    ('( { name = "main"; } )', "outputs.name = main: expected letters, digits and hyphens"),
    ('( { name = "a_b"; } )', "outputs.name = a_b: expected letters"),
    ('( { name = "a/b"; } )', "outputs.name = a/b: expected letters"),
    ('( { name = "a"; }, { name = "a"; } )', "two outputs are named a"),
    ('( { name = "a"; colour = 1; } )', "unknown key colour of an output: expected name, size"),
    ('( { name = "a"; size = "80"; } )', "outputs.size = 80: expected WIDTHxHEIGHT"),
    ('( { name = "a"; fps = 0; } )', "outputs.fps = 0: expected a number 0.01 .. 1000"),
    ('( { name = "a"; fps = "10"; } )', "is in quotes"),
    ('( { name = "a"; planes = "none"; } )', "outputs.planes = none: expected one of"),
    ('( { name = "a"; filter = "bogus"; } )', "bogus"),
    ("( " + ", ".join(f'{{ name = "o{i}"; }}' for i in range(8)) + " )",
     "outputs has 8 entries: expected at most 7"),
])
def test_bad_outputs_are_named(fftd, tmp_path, outputs, expected):
    config = tmp_path / "camera.conf"
    config.write_text(f"\noutputs = {outputs};\n")
    refused = fftd("--config", config, "--check")
    assert refused.returncode == os.EX_CONFIG
    assert f"{config}:2: " in refused.stderr and expected in refused.stderr, refused.stderr


def test_outputs_that_the_frames_do_not_suit_end_the_start(fftd):
    larger = fftd("--source", "pattern:moire", "--size", "160x120",
                  "--set", 'outputs=( { name = "large"; size = "320x240"; } )')
    assert larger.returncode == os.EX_CONFIG
    assert "output large: " in larger.stderr and "320x240" in larger.stderr


def test_memory_is_limited_for_all_outputs_together(fftd, start):
    """One output fits, and eight do not."""
    size = {"size": "640x480", "fps": "5"}
    daemon = start(**size)
    with Reader(daemon) as reader:
        reader.next()
        used = daemon.ctl_json("status")["Memory"]["host"]
    assert daemon.stop() == 0
    limit = used // 2 ** 20 + 16
    outputs = ", ".join(f'{{ name = "o{i}"; filter = "gaussian-blur:sigma=9"; }}' for i in range(7))
    refused = fftd("--source", "pattern:moire", "--size", "640x480",
                   "--set", f"engine.memory={limit}", "--set", f"outputs=( {outputs} )")
    assert refused.returncode == os.EX_CONFIG
    assert "other outputs " in refused.stderr, refused.stderr
    assert re.search(rf"the limit is {limit}(\.0)? MiB \(engine.memory\)", refused.stderr)


# ---- control ----

def test_commands_take_an_output(start, tmp_path):
    daemon = start("--set", OUTPUTS)
    listed = daemon.ctl("output", "list").stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["NAME", "main", "raw", "small"]
    assert [each["Name"] for each in daemon.ctl_json("output", "list")] == ["main", "raw", "small"]
    assert daemon.ctl_json("status")["OutputNames"] == ["main", "raw", "small"]
    with Reader(of(daemon, "small")) as reader:
        shown = ctl(daemon, "small", "filter", "set", "gaussian-blur:sigma=1")
        assert "filter 2" in shown.stdout + shown.stderr or "2" in shown.stdout
        reader.take_until(lambda frame: frame.filter_serial == 2)
        ctl(daemon, "small", "filter", "edit", "set", "gaussian-blur.sigma=2")
        status = ctl_json(daemon, "small", "status")
        assert status["Filter"] == "gaussian-blur:sigma=2"
        assert (status["Serial"], status["PublishedSerial"], status["OutputName"]) == \
            (3, 3, "small")
        assert daemon.ctl_json("status")["Serial"] == 1
        assert daemon.ctl_json("status")["Filter"] == "none"
        assert ctl(daemon, "small", "status").stdout.startswith("camera    default:small, online")
        picture = tmp_path / "after.png"
        ctl(daemon, "small", "snapshot", "after", "-o", picture)
        assert picture.read_bytes()[16:24] == (80).to_bytes(4, "big") + (60).to_bytes(4, "big")
    wait_until(lambda: ctl_json(daemon, "small", "status")["State"] == "paused", "no reader")
    waiting = ctl(daemon, "small", "filter", "set", "gaussian-blur:sigma=3")
    assert "ready for the next frame" in waiting.stdout + waiting.stderr
    ctl(daemon, "small", "snapshot", "after", "-o", tmp_path / "again.png")
    assert ctl_json(daemon, "small", "status")["PublishedSerial"] == 4
    kept = ctl(daemon, "small", "filter", "save", check=False)
    assert kept.returncode == os.EX_USAGE and "edit `outputs`" in kept.stderr
    for words in (("status",), ("frames", "-n", "1"), ("filter", "set", "none")):
        absent = ctl(daemon, "absent", *words, check=False)
        assert absent.returncode == os.EX_UNAVAILABLE
        assert "the camera has no output absent: `fftd-ctl --runtime-dir " \
            f"'{daemon.runtime_dir}' output list`" in absent.stderr


def test_a_name_with_a_colon_is_an_output(start, runtime_dir, tmp_path):
    """Where a user's own cameras are."""
    named = tmp_path / "u"
    (named / "fftd").mkdir(parents=True)
    (named / "fftd/front").symlink_to(runtime_dir)
    daemon = start("--set", OUTPUTS)
    daemon.wait_for_socket("outputs/small/frames")
    daemon.wait_for_socket()

    def run(name, *words):
        return subprocess.run([BUILD / "fftd-ctl", "--name", name, *words], text=True, check=False,
                              capture_output=True, timeout=PATIENCE,
                              env=dict(os.environ, XDG_RUNTIME_DIR=str(named)))

    assert json.loads(run("front:small", "--json", "status").stdout)["OutputName"] == "small"
    assert json.loads(run("front:main", "--json", "status").stdout)["OutputName"] == "main"
    frames = run("front:small", "frames", "--raw", "-n", "2", "-o", str(tmp_path / "frames.raw"))
    assert frames.returncode == 0, frames.stderr
    assert pathlib.Path(tmp_path / "frames.raw").stat().st_size == 2 * 80 * 60
    for wrong in ("front:a/b", "front:a_b", ":small", "front:a:b"):
        assert run(wrong, "status").returncode == os.EX_USAGE, wrong
    absent = run("front:absent", "status")
    assert "no output absent: `fftd-ctl --name front output list`" in absent.stderr
    absent = run("rear:small", "status")
    assert absent.returncode == os.EX_UNAVAILABLE
    assert "no daemon named rear is running" in absent.stderr
