"""Changes that cannot be applied: whoever asks for one is told why, and the picture goes on as it
was, with its filter. Frames are counted after each."""

import struct

import pytest

from client import Reader
from conftest import FAST_KERNELS

WIDTH, HEIGHT = 160, 120
LENS = f"undistort:fx=120,fy=120,cx=80,cy=60,k1=-0.1,size={WIDTH}/{HEIGHT}"
DARK = "dark:image=dark.pfm"
FRAMES = 5


@pytest.fixture
def configured(start_faulty, tmp_path):
    """configured(chain) starts a daemon whose configuration `daemon.write` changes."""
    path = tmp_path / "cam.conf"
    (tmp_path / "dark.pfm").write_bytes(f"Pf\n{WIDTH} {HEIGHT}\n-1.0\n".encode() +
                                        struct.pack("<f", 0.1) * WIDTH * HEIGHT)

    def write(source, size, chain):
        size = f'size = "{size[0]}x{size[1]}"; ' if size else ""
        path.write_text(f'camera = {{ source = "{source}"; {size}}};\nfilter = "{chain}";\n')

    def start_configured(chain, *arguments):
        write("pattern:moire", (WIDTH, HEIGHT), chain)
        daemon = start_faulty("--config", path, "--set", "engine.tune=off", *FAST_KERNELS,
                              *arguments, source=None, size=None, fps=None,
                              env={"FFTD_IMAGE_DIR": str(tmp_path)})
        daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "frames")
        daemon.write = write
        return daemon

    return start_configured


def assert_goes_on(daemon, serial, chain):
    """New frames have the size, the filter and the ring of before."""
    with Reader(daemon) as reader:
        last = daemon.ctl_json("status")["Sequence"]
        for frame in reader.take_until(lambda frame: frame.sequence > last + FRAMES):
            assert (frame.width, frame.height, frame.filter_serial) == (WIDTH, HEIGHT, serial)
    status = daemon.ctl_json("status")
    assert (status["State"], status["Serial"], status["Generation"]) == ("online", serial, 1)
    assert daemon.ctl("filter", "show", "--raw").stdout.startswith(chain)


@pytest.mark.parametrize("chain", ["stabilise", "undistort:fx=120,fy=120,cx=80,cy=60"])
def test_a_chain_that_leaves_the_colour_behind(configured, chain):
    daemon = configured("gaussian-blur:sigma=1", "--set", "camera.format=NV12")
    for command in ("set", chain), ("add", chain), ("edit", "add", chain):
        refused = daemon.ctl("filter", *command, check=False)
        assert refused.returncode == 65
        assert "moves pixels, but engine.planes = luma leaves the colour of NV12 where it was " \
            "captured: expected engine.planes = all or luma-only" in refused.stderr
    assert_goes_on(daemon, 1, "gaussian-blur")
    # Nothing of it is left that a source could stumble over.
    daemon.write("pattern:moire", (128, 64), "gaussian-blur:sigma=1")
    daemon.ctl("reload")
    with Reader(daemon) as reader:
        assert (reader.next().width, reader.next().height) == (128, 64)


@pytest.mark.parametrize("chain, size, reason", [
    (LENS, (WIDTH, WIDTH), "undistort: size = 160/120 does not have the proportions of the frames"),
    (DARK, (128, 96), "dark: image dark.pfm has 160x120 pixels: expected 128x96"),
    ("sharpen", None, "frames of 7x1 cannot be filtered: expected 16x16 .. 8192x8192"),
])
def test_a_source_of_a_size_that_does_not_suit(configured, tmp_path, chain, size, reason):
    """Of a file nobody knows the size before it is opened."""
    daemon = configured(chain, "--set", "engine.planes=luma-only")
    (tmp_path / "tiny.y4m").write_bytes(b"YUV4MPEG2 W7 H1 F25:1 Ip A1:1 Cmono\nFRAME\n1234567")
    source = "pattern:moire" if size else f"file:{tmp_path / 'tiny.y4m'}"
    daemon.write(source, size, chain + ("" if size else ":amount=2"))
    done = daemon.ctl("reload", check=False)
    assert done.returncode == 78
    assert "the new source cannot be used, the previous one stays in use: " + reason in done.stderr
    assert_goes_on(daemon, 1, chain.split(":", maxsplit=1)[0])
    assert "amount=2" not in daemon.ctl("filter", "show", "--raw").stdout


def test_kernels_that_do_not_build(configured, faults):
    """Not before the compiler has failed is that known: of a filter, of a reload with one, and of a
    reload with another size."""
    daemon = configured("none", "--set", "engine.cache_dir=none")
    complex_chain = "shift:by=3/2"
    for serial, command in enumerate((("filter", "set", complex_chain), ("view", "edges")), 2):
        faults.begin("build -11")
        done = daemon.ctl(*command, check=False)
        assert done.returncode == 65
        assert f"filter {serial} cannot be used: " in done.stderr
        assert "cannot compile the kernels (CL_BUILD_PROGRAM_FAILURE)" in done.stderr
        status = daemon.ctl_json("status")
        assert (status["FailedSerial"], status["View"]) == (serial, "picture")
        assert "cannot compile the kernels" in status["FilterProblem"]
        assert f" filter {serial} cannot be used: " in daemon.ctl("status").stdout
        assert_goes_on(daemon, 1, "none")
    for size, chain in ((WIDTH, HEIGHT), complex_chain), ((128, 64), "none"):
        daemon.write("pattern:moire", size, chain)
        done = daemon.ctl("reload", check=False)
        assert done.returncode == 78
        assert "cannot be used, the previous one stays in use: " in done.stderr
        assert "cannot compile the kernels" in done.stderr
        assert_goes_on(daemon, 1, "none")
    faults.end()
    daemon.ctl("reload")
    with Reader(daemon) as reader:
        assert (reader.next().width, reader.next().height) == (128, 64)


def test_a_start_with_a_filter_that_does_not_suit(start):
    arguments = ("--filter", "stabilise", "--set", "camera.format=NV12", *FAST_KERNELS)
    reason = "stabilise moves pixels, but engine.planes = luma"
    daemon = start(*arguments)
    assert daemon.wait() == 78
    assert reason in daemon.log

    # A service waits, and says why there are no frames, until it gets another filter.
    daemon = start("--wait", *arguments)
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "failed", "the failure")
    assert reason in daemon.ctl_json("status")["StateReason"]
    daemon.ctl("filter", "set", "sharpen")
    with Reader(daemon) as reader:
        assert reader.next().filter_serial == 2
