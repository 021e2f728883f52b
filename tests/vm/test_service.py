"""Tests of the daemon as a systemd service with the kernel's test camera."""

import pathlib
import signal
import time

import pytest

from commands import run
from conftest import figures, watched

FILTERS = [
    "lowpass:shape=gaussian,cutoff=0.1",
    "gaussian-blur:sigma=2",
    "notch:at=0.25/0,width=0.02",
    "sharpen:amount=1,sigma=2",
]


@pytest.mark.parametrize("camera", ["single", "multi"], indirect=True)
def test_a_client_reads_every_frame(camera, service):
    """No frame of 300 at 30 per second is lost or torn while the filter changes.

    All of the filters have the same kernels, because to compile others takes all of an emulated
    processor for seconds."""
    service.configure(f"v4l2:{camera.device}", filter=FILTERS[0], engine='technique = "fused";')
    service.systemctl("start")
    service.wait_for_state("online")
    client = service.watch(300)
    for chain in FILTERS[1:]:
        time.sleep(2)
        service.set_filter(chain)
    found = watched(client)
    figures.append(f"300 frames, {camera.planes}-planar: {found}")
    assert found["frames"] == 300
    assert found["missed"] == found["torn"] == found["corrupt"] == found["unchecked"] == 0
    assert found["source_lost"] == 0
    assert len(found["serials"]) == len(FILTERS) and found["backwards"] == 0
    assert 9.5 < found["seconds"] < 10.5
    assert service.show("NRestarts") == "0"


def test_reload_and_stop(camera, service):
    source = f"v4l2:{camera.device}"
    service.configure(source, filter="none")
    service.systemctl("start")
    assert service.show("ActiveState") == "active"
    pid = service.pid

    service.configure(source, filter="lowpass:shape=gaussian,cutoff=0.125")
    service.systemctl("reload")
    assert "0.125" in service.ctl("filter", "show").stdout

    # An invalid file changes nothing, and the error is reported.
    service.configure(source, filter="lowpass:cutoff=7")
    service.systemctl("reload", check=False)
    service.wait_for(lambda: "cutoff" in service.journal, "the reason in the journal")
    assert "0.125" in service.ctl("filter", "show").stdout
    assert service.pid == pid

    start = time.monotonic()
    service.systemctl("stop")
    assert time.monotonic() - start < 2
    assert service.show("Result") == "success"
    assert service.show("ExecMainStatus") == "0"


def test_frames_stop_and_come_again(camera, service):
    service.configure(f"v4l2:{camera.device}", camera="stall_timeout = 1.0;")
    service.systemctl("start")
    service.wait_for_state("online")
    pid = service.pid

    camera.stall(True)
    service.wait_for_state("stalled", "lost")
    assert service.show("ActiveState") == "active"
    camera.stall(False)
    service.wait_for_state("online")
    found = watched(service.watch(30))
    assert found["frames"] == 30 and found["torn"] == found["corrupt"] == 0
    assert service.pid == pid
    assert service.show("NRestarts") == "0"


def test_a_compiler_is_killed_because_memory_runs_out(camera, service):
    """fftd's processes that compile have this score. Frames go on, and systemd does not stop the
    service."""
    service.configure(f"v4l2:{camera.device}")
    service.systemctl("start")
    service.wait_for_state("online")
    pid = service.pid
    group = pathlib.Path("/sys/fs/cgroup" + service.show("ControlGroup"))
    used = int((group / "memory.current").read_text())
    (group / "memory.max").write_text(str(used + (64 << 20)))

    compiler = run("sh", "-c", "echo 1000 > /proc/self/oom_score_adj && echo $$ > $0 && "
                   "exec tail /dev/zero", group / "cgroup.procs", check=False)
    assert compiler.returncode == -signal.SIGKILL, compiler.stderr
    service.wait_for(lambda: "OOM killer" in service.journal, "systemd's notice")
    found = watched(service.watch(30))
    assert found["frames"] == 30 and found["torn"] == found["corrupt"] == 0
    assert (service.show("ActiveState"), service.pid) == ("active", pid)
    assert service.show("NRestarts") == "0"
