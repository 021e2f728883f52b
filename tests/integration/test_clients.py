"""Tests of the interfaces for other programs: the examples and the Python module."""

import errno
import gc
import grp
import importlib.util
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import time

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, needs_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


@pytest.fixture(scope="session")
def fftd_module():
    pytest.importorskip("numpy", reason="python3-numpy is not installed")
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return fftd


@pytest.fixture
def open_camera(start, fftd_module):
    """open_camera(argument...) starts a daemon and attaches to it."""
    cameras = []

    def open_it(*arguments, **keywords):
        daemon = start(*arguments, **keywords)
        daemon.wait_for_socket("frames")
        cameras.append(fftd_module.Camera(str(daemon.runtime_dir)))
        assert cameras[-1].wait(PATIENCE), daemon.log
        return daemon, cameras[-1]

    yield open_it
    for camera in cameras:
        camera.close()


# ---- the examples ----

@pytest.mark.parametrize("name, compiler, line", [
    ("reader.c", ["cc", "-std=c99"], ": 160x120, mean "),
    ("poll_reader.c", ["cc", "-std=c99"], " with filter 1, "),
    ("reader.cc", ["c++", "-std=c++11"], ": 160x120, mean of the first row "),
])
def test_example(start, tmp_path, name, compiler, line):
    if "san" in BUILD.name:
        pytest.skip("links with a library that is not sanitized")
    program = tmp_path / "reader"
    subprocess.run([*compiler, *WARNINGS, f"-I{ROOT}/client/include", "-o", program,
                    ROOT / "client" / "examples" / name, BUILD / "libfftd.a"], check=True)
    daemon = start()
    daemon.wait_for_socket("frames")
    with subprocess.Popen(["stdbuf", "-oL", program, daemon.runtime_dir], text=True,
                          stdout=subprocess.PIPE) as reading:
        said = [reading.stdout.readline() for _ in range(20)]
        reading.kill()
    assert all(line in each for each in said), said


def test_example_is_cplusplus_too(tmp_path):
    subprocess.run(["c++", "-std=c++11", *WARNINGS, "-c", f"-I{ROOT}/client/include",
                    "-x", "c++", ROOT / "client" / "examples" / "reader.c",
                    "-o", tmp_path / "reader.o"], check=True)


def test_example_changes_the_filter(start, tmp_path):
    if "san" in BUILD.name:
        pytest.skip("no part of it is ours")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsystemd"], check=True,
                           capture_output=True, text=True).stdout.split()
    program = tmp_path / "set_filter"
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", *WARNINGS, "-o", program,
                    ROOT / "client" / "examples" / "set_filter.c", *flags], check=True)
    daemon = start()
    daemon.wait_for_socket()

    def change(chain):
        return subprocess.run([program, f"unix:path={daemon.runtime_dir}/control", chain],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)

    done = change("gaussian-blur:sigma=2")
    assert (done.returncode, done.stdout) == (0, "serial 2\n"), done.stderr
    assert daemon.ctl_json("status")["Filter"].startswith("gaussian-blur:sigma=2")
    done = change("gaussian-blur:sigma=two")
    assert done.returncode == 1 and "sigma" in done.stderr and done.stdout == ""


# ---- why a camera cannot be opened ----

def why_not(fftd_module, name):
    with pytest.raises(OSError) as caught:
        fftd_module.Camera(str(name))
    return caught.value.errno, caught.value.strerror


def test_the_error_says_what_would_be_right(start, fftd_module, runtime_dir):
    code, text = why_not(fftd_module, runtime_dir)
    assert code == errno.ENOENT and f"there is no {runtime_dir}/frames" in text
    code, text = why_not(fftd_module, ".hidden")
    assert code == errno.EINVAL and "expected at most 64 characters" in text
    daemon = start("--set", "output.max_clients=2")
    daemon.wait_for_socket("frames")
    with fftd_module.Camera(str(runtime_dir)), fftd_module.Camera(str(runtime_dir)):
        code, text = why_not(fftd_module, runtime_dir)
        assert code == errno.EUSERS and "output.max_clients" in text
    daemon.process.kill()
    daemon.wait()
    code, text = why_not(fftd_module, runtime_dir)
    assert code == errno.ECONNREFUSED and "has ended" in text


@needs_root
def test_the_error_names_the_group_that_may_read(fftd_module, runtime_dir):
    runtime_dir.parent.chmod(0o755)
    runtime_dir.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(runtime_dir / "frames"))
        listener.listen()
        os.chown(runtime_dir / "frames", 0, grp.getgrnam("video").gr_gid)
        (runtime_dir / "frames").chmod(0o660)
        os.setegid(65534)
        os.seteuid(65534)
        try:
            code, text = why_not(fftd_module, runtime_dir)
        finally:
            os.seteuid(0)
            os.setegid(0)
    assert code == errno.EACCES and "user 0, the group video" in text, text


# ---- the Python module ----

def test_the_filter_is_changed_from_python(open_camera, fftd_module, monkeypatch):
    monkeypatch.setenv("FFTD_CTL", str(BUILD / "fftd-ctl"))
    _, camera = open_camera()
    before = camera.frame() or next(iter(camera))
    serial = camera.set_filter("box-blur:radius=2")
    assert serial == before.filter_serial + 1
    assert camera.status["Filter"].startswith("box-blur:radius=2")
    assert any(frame.filter_serial >= serial for frame in camera)
    name = camera._handle.name  # pylint: disable=protected-access
    with pytest.raises(fftd_module.ControlError) as caught:
        camera.set_filter("box-blur:radius=-2")
    assert caught.value.code == 65 and name in str(caught.value) and "radius" in str(caught.value)
    assert camera.status["Filter"].startswith("box-blur:radius=2")
    monkeypatch.setenv("FFTD_CTL", "/nowhere/fftd-ctl")
    with pytest.raises(FileNotFoundError, match="/nowhere/fftd-ctl"):
        camera.set_filter("none")


def test_errors_name_the_camera(fftd_module, tmp_path):
    with pytest.raises(FileNotFoundError, match="/camera9/"):
        fftd_module.Camera(str(tmp_path / "camera9") + "/")


def test_measures_make_a_table(open_camera):
    _, camera = open_camera("--set", "output.measures=true")
    found = []
    for frame in camera:
        if frame.measures is not None:
            found.append(frame.measures)
        if len(found) == 5:
            break
    import numpy  # pylint: disable=import-outside-toplevel
    table = numpy.array([measures.record for measures in found])
    assert table.dtype.names == tuple(name for name, _ in found[0]._fields_)
    assert list(table["mean"]) == [numpy.float32(measures.mean) for measures in found]


def test_the_module_has_the_version_of_the_library(fftd_module):
    versions = [line.split()[2] for line in (ROOT / "Makefile").read_text().splitlines()
                if line.startswith("VERSION :=")]
    project = (ROOT / "client" / "python" / "pyproject.toml").read_text()
    assert versions == [fftd_module.__version__] and f'version = "{versions[0]}"' in project


def test_pip_installs_the_module(fftd_module, tmp_path):
    """Without a network: build isolation would fetch setuptools."""
    del fftd_module
    for module in ("pip", "setuptools"):  # importing setuptools would change this process
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"python3-{module} is not installed")
    source = tmp_path / "python"
    shutil.copytree(ROOT / "client" / "python", source,
                    ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation",
                    "--no-deps", "--no-index", "--target", tmp_path / "site", source], check=True)
    assert (tmp_path / "site" / "fftd.py").read_bytes() == (source / "fftd.py").read_bytes()


def test_images_have_their_shapes(open_camera):
    shapes = {"GREY": ((120, 160), "uint8"), "Y12": ((120, 160), "uint16"),
              "YUYV": ((120, 160, 2), "uint8"), "RGB24": ((120, 160, 3), "uint8"),
              "NV12": ((120, 160), "uint8")}
    for name, (shape, dtype) in shapes.items():
        daemon, camera = open_camera(*FAST_KERNELS, "--set", f"camera.format={name}")
        frame = camera.frame()
        assert frame.image.shape == shape
        assert frame.image.dtype == dtype
        assert frame.image.std() > 0
        camera.close()
        daemon.stop()


def test_frames_come_in_order_and_read_only(open_camera):
    _, camera = open_camera()
    numbers = [frame.sequence for frame, _ in zip(camera.frames(every=True), range(20))]
    assert numbers == list(range(numbers[0], numbers[0] + 20))
    frame = next(iter(camera))
    assert frame.source_sequence >= 0 and frame.published_ns > frame.captured_ns
    assert repr(frame) == f"<fftd.Frame {frame.sequence}: NV12 160x120>"
    with pytest.raises(ValueError):
        frame.image[0, 0] = 1
    with pytest.raises(AttributeError):
        frame.nonsense  # pylint: disable=pointless-statement


def test_any_time_can_be_waited_for(open_camera):
    _, camera = open_camera()
    # Milliseconds that would be 0 in 32 bits, a negative number, and no number at all.
    for seconds in (2**32 / 1000, 3e6, float("inf"), None):
        for _ in range(3):
            camera.frame()
            assert camera.wait(seconds)


def test_a_held_frame_does_not_change(open_camera):
    _, camera = open_camera("--set", "output.checksum=true")
    frame = next(iter(camera))
    with frame.held():
        before = frame.copy()
        for _ in zip(camera, range(20)):
            pass
        assert frame.valid
        assert frame.computed_checksum == frame.checksum
        assert all((a == b).all() for a, b in zip(before, frame.planes))
    for _ in zip(camera, range(20)):
        pass
    assert not frame.valid
    assert frame.copy() is None


def test_arrays_outlive_everything(open_camera):
    daemon, camera = open_camera()
    frame = camera.frame()
    image = frame.image
    part = image[10:20, 10:20]
    camera.close()
    camera.close()
    daemon.stop()
    with pytest.raises(ValueError):
        frame.valid  # pylint: disable=pointless-statement
    with pytest.raises(ValueError):
        camera.wait(0)
    del frame, image
    assert part.sum() > 0  # or it crashes here


def count_mapped_rings():
    """The mappings of rings in this process, in which other tests have had readers."""
    gc.collect()
    return pathlib.Path("/proc/self/maps").read_text().count("fftd-ring")


def test_nothing_is_kept_mapped_for_nobody(open_camera):
    before = count_mapped_rings()
    _, camera = open_camera()
    for frame, _ in zip(camera, range(30)):
        assert frame.image.mean() > 0
    camera.wait(0)
    del frame
    assert not camera._handle.pinned  # pylint: disable=protected-access
    assert count_mapped_rings() > before
    camera.close()
    assert count_mapped_rings() <= before


# The collector can end an array at any bytecode of any function, in the thread that runs it. This
# ends one at the first bytecode of pinning and releasing, then one at the second, and so on.
ENDING_ARRAYS = """
import copy
import sys
import fftd

camera = fftd.Camera(sys.argv[1])
assert camera.wait(60)
frame = camera.frame()
spare, countdown = [], 0

def trace(frame, event, argument):
    global countdown
    if frame.f_code.co_filename != fftd.__file__:
        return None
    frame.f_trace_opcodes = True
    if event == "opcode":
        countdown -= 1
        if countdown == 0:
            spare.clear()
    return trace

end = 0
while countdown <= 0:
    end += 1
    spare.append(copy.copy(frame).image)
    other = copy.copy(frame)
    countdown = end
    sys.settrace(trace)
    other.image
    camera.wait(0)
    sys.settrace(None)
    assert end < 5000
camera.wait(0)
del frame, other
spare.clear()
camera.close()
assert end > 100, end
assert "fftd-ring" not in open("/proc/self/maps").read()
"""


def test_an_array_may_end_at_any_moment(start, fftd_module):
    daemon = start()
    daemon.wait_for_socket("frames")
    done = subprocess.run([sys.executable, "-c", ENDING_ARRAYS, daemon.runtime_dir],
                          timeout=5 * PATIENCE,
                          env=dict(os.environ, PYTHONPATH=os.path.dirname(fftd_module.__file__)),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_select_and_state(open_camera, fftd_module):
    daemon, camera = open_camera()
    camera.frame()
    assert select.select([camera], [], [], PATIENCE)[0] == [camera]
    assert camera.wait(PATIENCE)
    assert camera.state == fftd_module.LIVE
    assert camera.epoch == 1
    assert camera.format.width == 160
    daemon.stop()
    with pytest.raises(BrokenPipeError):
        while camera.wait(0.05):
            camera.frame()
    assert camera.state == fftd_module.OFFLINE


def test_a_short_wait_waits(open_camera):
    """If time-outs were rounded down to whole milliseconds, the loop would never sleep."""
    _, camera = open_camera()
    assert camera.wait(PATIENCE)
    camera.frame()
    begin = time.monotonic()
    assert camera.wait(0.0004) or time.monotonic() - begin >= 0.0004


def test_no_such_camera(fftd_module):
    with pytest.raises(FileNotFoundError):
        fftd_module.Camera("/nonexistent/camera")
