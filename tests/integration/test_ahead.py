"""Tests of what is compiled in idle time (engine.compile_ahead)."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from client import Reader
from conftest import BUILD, PATIENCE, wait_until
from test_outputs import of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/demo"))
import filters  # noqa: E402, pylint: disable=wrong-import-position

AHEAD = ("--set", "engine.compile_ahead=true", "--set", "engine.tune=off")


def children(daemon, what=b""):
    """Returns the processes that compile for a daemon and have `what` in their command lines: a
    dictionary from process numbers to command lines."""
    found = {}
    for text in daemon.of_threads("children"):
        for pid in text.split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"--compile-ahead=" in command and what in command:
                    found[int(pid)] = command
    return found


def shares_of(pid):
    """Returns the processes that share the work of this one."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in text.split()]


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def compiling(start, tmp_path):
    """A daemon, and the process that compiles for it."""
    daemon = start(*AHEAD, "--set", f"engine.cache_dir={tmp_path / 'cache'}")
    daemon.wait_for_log("online")
    pid, = daemon.wait_until(lambda: children(daemon), "a process that compiles")
    return daemon, pid


def test_it_gives_way_to_everybody_and_to_each_change(compiling):
    daemon, pid = compiling
    daemon.wait_until(lambda: os.sched_getscheduler(pid) == os.SCHED_IDLE, "the lowest priority")
    daemon.wait_until(lambda: not is_running(pid) or
                      pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text() == "1000\n",
                      "a score for the killer")
    shares = []
    if len(os.sched_getaffinity(0)) > 1:
        shares = daemon.wait_until(lambda: shares_of(pid), "a process that shares the work")
    daemon.change("filter", "set", "gain:ac=0.5")
    for each in (pid, *shares):
        daemon.wait_until(lambda each=each: not is_running(each), "its end")
    daemon.ctl("filter", "set", "gain:ac=0.25")
    assert not children(daemon)
    assert daemon.stop() == 0


def test_a_crash_of_the_compiler_is_not_repeated(compiling):
    daemon, pid = compiling
    os.kill(pid, signal.SIGSEGV)
    daemon.wait_until(lambda: not is_running(pid), "its end")
    daemon.wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "that it is reaped")
    time.sleep(3)  # it is looked for once a second
    assert not children(daemon)
    assert daemon.ctl_json("status")["State"] == "online"


@pytest.mark.parametrize("crashes", [False, True], ids=["hangs", "crashes"])
def test_a_compiler_that_fails_beside_the_frames_fails_the_change(start_faulty, faults, tmp_path,
                                                                  crashes):
    """With PoCL, a daemon that compiled the same itself would filter no frame and not return."""
    daemon = start_faulty(*AHEAD, "--set", f"engine.cache_dir={tmp_path / 'cache'}", "--set",
                          f"engine.build_timeout={3600 if crashes else 10}")
    with Reader(daemon) as reader:
        reader.next()
        faults.begin("compile")
        waiting = daemon.begin_ctl("filter", "set", "shift:by=3/2", f"--timeout={PATIENCE}")
        pid, = daemon.wait_until(lambda: children(daemon, b"shift"), "a process that compiles")
        if crashes:
            os.kill(pid, signal.SIGSEGV)
        _, said = waiting.communicate(timeout=PATIENCE)
        assert waiting.returncode == 65  # EX_DATAERR, as for other filters that cannot be made
        why = "was killed by signal 11" if crashes else "within 10 s (engine.build_timeout)"
        assert "filter 2 cannot be used" in said and why in said
        while reader.take():
            pass
        assert reader.next().filter_serial == 1
        faults.end()
        # The next attempts may also take longer than that, but what they have compiled is kept.
        daemon.wait_until(lambda: daemon.ctl("filter", "set", "shift:by=3/2", check=False)
                          .returncode == 0, "the filter")
    status = daemon.ctl_json("status")
    assert (status["State"], status["Counters"]["engine_failures"]) == ("online", 0)
    assert daemon.stop() == 0


def test_it_knows_the_sizes_of_outputs(start, tmp_path):
    """Engines of a camera with several outputs may share loads, and have other programs then."""
    for outputs, sizes in (('{ name = "a"; size = "80x60"; }, { name = "b"; size = "40x30"; }',
                            b"+80x60+40x30@"), ('{ name = "a"; }', b"+0x0@")):
        daemon = start(*AHEAD, "--set", f"engine.cache_dir={tmp_path / 'cache'}", "--set",
                       f"outputs=( {outputs} )")
        # Before it there may be one for a filter that is waited for.
        daemon.wait_until(lambda d=daemon, s=sizes: children(d, s), "a process that compiles")
        daemon.signal(signal.SIGKILL)
        daemon.wait()


def kernels(folder):
    """What PoCL has compiled."""
    return set(folder.rglob("*.so"))


def test_an_added_output_is_compiled_beside_the_frames(start, tmp_path):
    """PoCL runs no kernel while it compiles one, so another process does it."""
    pocl = tmp_path / "pocl"
    pocl.mkdir()
    daemon = start(*AHEAD, "--set", f"engine.cache_dir={tmp_path / 'cache'}", "--set",
                   "engine.technique=fused", "--filter", "gaussian-blur:sigma=9",
                   env={"POCL_CACHE_DIR": str(pocl)})
    daemon.wait_for_log("online")
    if "pthread" not in daemon.ctl_json("status")["Device"]:
        print("skipped: the device is not PoCL's")
        pytest.skip("the device is not PoCL's")
    alone = kernels(pocl)
    daemon.ctl("output", "add", "small", "--size", "80x60", "--set", "planes=luma-only",
               "gaussian-blur:sigma=9")

    def commands():
        """Of the processes that the daemon waits for: main's, and the output's."""
        return {command for command in children(daemon).values()
                if b"=@" in command.split(b"\0")[1]}
    seen = set()
    with Reader(daemon) as main:
        while len(seen) < 2:
            seen |= commands()
            main.next()  # frames go on
    assert all(b"--filter=gaussian-blur:sigma=9" in command for command in seen)
    assert sum(b"--set=output.size=80x60" in command for command in seen) == 1
    # Now it is only these processes that compile.
    daemon.stop()
    for path in (pocl, tmp_path / "cache"):
        shutil.rmtree(path)
    pocl.mkdir()
    for command in sorted(seen):
        arguments = [argument.decode() for argument in command.split(b"\0")[1:-1]]
        arguments[0] = arguments[0].partition("@")[0]
        subprocess.run([BUILD / "fftd", *arguments], check=True, timeout=PATIENCE,
                       env={**os.environ, "POCL_CACHE_DIR": str(pocl)})
    again = start("--set", f"engine.cache_dir={tmp_path / 'cache'}", "--set", "engine.tune=off",
                  "--set", "engine.technique=fused", "--filter", "gaussian-blur:sigma=9",
                  env={"POCL_CACHE_DIR": str(pocl)})
    again.wait_for_log("online")
    before, log = kernels(pocl), again.log
    assert alone
    again.ctl("output", "add", "small", "--size", "80x60", "--set", "planes=luma-only",
              "gaussian-blur:sigma=9")
    with Reader(of(again, "small")) as reader:
        reader.next()
    wait_until(lambda: ", load " in again.ctl_json("status")["Engine"], "a load of main")
    assert kernels(pocl) == before
    assert "compiling" not in again.log[len(log):]


def test_it_ends_with_the_daemon(compiling):
    daemon, pid = compiling
    daemon.signal(signal.SIGKILL)
    daemon.wait()
    wait_until(lambda: not is_running(pid), "its end")


def test_the_next_change_compiles_nothing(start, tmp_path):
    """The process is left alone until it has compiled what a change needed without it."""
    chain = "lowpass:cutoff=0.15"  # the example of the first kind

    def change(name):
        daemon = start("--set", f"engine.cache_dir={tmp_path / name}", *options, size="64x48")
        daemon.wait_for_log("online")
        before = entries(name)
        daemon.ctl("filter", "set", chain)
        assert daemon.stop() == 0
        return daemon.log.count("compiling"), before

    def entries(name):
        return set(path.name for path in (tmp_path / name).glob("*.clbin"))

    options = ("--set", "engine.tune=off", "--set", "engine.technique=staged")
    compiled, at_first = change("without")
    needed = entries("without")
    assert compiled == 2 and at_first < needed
    with subprocess.Popen([BUILD / "fftd", "--compile-ahead=64x48:NV12", "--set",
                           f"engine.cache_dir={tmp_path / 'with'}", *options]) as process:
        wait_until(lambda: needed <= entries("with"), "the programs")
        process.kill()
    assert change("with")[0] == 0


def examples():
    """The example of each kind in docs/FILTERS.md."""
    text = (ROOT / "docs/FILTERS.md").read_text()
    return list(dict.fromkeys(re.findall(r"^Example: `([^`]*)`", text, re.M)))


@pytest.mark.parametrize("planes, not_for_them",
                         [("luma", {"stabilise", "stack", "undistort", "remap"}), ("all", set())])
def test_whatever_comes_next_was_compiled(start, tmp_path, planes, not_for_them):
    """The kinds in turn, there and back: an engine that was once wide for a filter made those after
    it wide, too, in sizes that nothing had been compiled for."""
    cache, chains = tmp_path / "cache", examples()
    options = ("--set", "engine.tune=off", "--set", f"engine.cache_dir={cache}", "--set",
               f"engine.planes={planes}")
    subprocess.run([BUILD / "fftd", "--compile-ahead=320x240:NV12,2", *options],
                   check=True, timeout=600)
    images = tmp_path / "images"  # recorded later
    filters.write_images(images, 320, 240)
    daemon = start(*options, size="320x240", env={"FFTD_IMAGE_DIR": str(images)})
    daemon.wait_for_log("online")
    before = set(path.name for path in cache.glob("*.clbin"))
    late, refused = {}, set()
    for chain in [*chains, *reversed(chains)]:
        if daemon.ctl("filter", "set", chain, check=False).returncode != 0:
            refused.add(chain.partition(":")[0])
        after = set(path.name for path in cache.glob("*.clbin"))
        if after != before:
            late.setdefault(chain, after - before)
        before = after
    assert len(chains) > 30 and not late
    assert refused == not_for_them  # kinds that move pixels would leave colours behind
    assert daemon.stop() == 0


@pytest.mark.parametrize("what", ["", "64x48", "64x48:NV12:0", "64x48:XYZ", "4x4:NV12",
                                  "99999x2:NV12", "64x48:NV12x", "64x48:NV12+",
                                  "64x48:NV12+32", "64x48:NV12+32x24x", "64x48:NV12=+32x24",
                                  "64x48:NV12@1,0", "64x48:NV12@1,-2", "64x48:NV12,999"])
def test_frames_that_it_does_not_know(fftd, what):
    done = fftd(f"--compile-ahead={what}")
    assert done.returncode in (64, 69) and done.stderr.count("\n") == 1
