"""Who sees the picture before the filter: those who may change the filter, and others only if the
configuration says so."""

import json
import os
import statistics
import subprocess

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE
from dbus_peer import RETURN, Keeper, Peer

WIDTH, HEIGHT = 160, 120
# A picture with much detail, and a filter that leaves none of it.
HIDDEN = (*FAST_KERNELS, "--set", "camera.format=GREY", "--filter", "lowpass:cutoff=0.005,order=8")
DENIED = "org.freedesktop.DBus.Error.AccessDenied"


def detail(frame):
    """The mean difference between neighbours."""
    return statistics.fmean(abs(a - b) for a, b in zip(frame, frame[1:]))


def is_filtered(frame):
    assert len(frame) == WIDTH * HEIGHT
    return detail(frame) < 5


def snapshot(peer, method):
    """Returns the frames of a snapshot."""
    assert peer.call(method).type == RETURN
    frames = []
    for fd in peer.descriptors:
        stride = os.fstat(fd).st_size // HEIGHT  # rows begin on cache lines
        rows = [os.pread(fd, WIDTH, row * stride) for row in range(HEIGHT)]
        frames.append(b"".join(rows))
    peer.close_descriptors()
    return frames


@pytest.fixture
def start_hidden(start):
    def start_daemon(*arguments, **options):
        daemon = start(*HIDDEN, *arguments, **{"source": "pattern:noise", **options})
        daemon.wait_for_log("online")
        daemon.wait_for_socket("control-watch")
        return daemon
    return start_daemon


def test_watchers_see_only_what_the_filter_leaves(start_hidden):
    daemon = start_hidden()
    with Keeper(daemon, "control-watch") as watcher, Keeper(daemon) as changer:
        answer = watcher.call("Snapshot")
        assert answer.error == DENIED
        assert not watcher.descriptors
        for way_out in ("SnapshotAfter", f"{daemon.runtime_dir}/control", "watch_unfiltered"):
            assert way_out in answer.message
        after, = snapshot(watcher, "SnapshotAfter")
        assert is_filtered(after)
        before, after = snapshot(changer, "Snapshot")
        assert is_filtered(after)
        assert not is_filtered(before)


def test_the_configuration_may_allow_it(start_hidden, tmp_path):
    config = tmp_path / "cam.conf"
    config.write_text("output = { watch_unfiltered = true; };")
    daemon = start_hidden("--config", config)
    with Keeper(daemon, "control-watch") as watcher:
        before, after = snapshot(watcher, "Snapshot")
        assert is_filtered(after)
        assert not is_filtered(before)
        config.write_text("")
        daemon.ctl("reload")
        assert watcher.call("Snapshot").error == DENIED


def as_watcher(daemon, *arguments):
    """Runs fftd-ctl where it cannot use the socket for changes."""
    return subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, *arguments],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("images", [[], ["before"], ["spectrum"], ["side-by-side", "after"]])
def test_fftd_ctl_says_how_to_get_the_other_images(start_hidden, tmp_path, images):
    daemon = start_hidden()
    daemon.ctl("snapshot", *images, "-o", tmp_path / "changer")
    os.unlink(daemon.runtime_dir / "control")
    done = as_watcher(daemon, "snapshot", *images, "-o", tmp_path / "watcher")
    assert done.returncode == 77
    assert "output.watch_unfiltered" in done.stderr
    assert not (tmp_path / "watcher").exists()
    done = as_watcher(daemon, "snapshot", "after", "-o", tmp_path / "after.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "after.png").exists()


def test_readers_get_no_frame_between_two_filters(start_hidden, tmp_path):
    """Neither while a filter is prepared nor with another engine."""
    daemon = start_hidden()
    frames = tmp_path / "frames"
    with Peer(daemon) as changer:
        reader = subprocess.Popen([BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir,
                                   "frames", "--raw", "-n", "90", "-o", frames])
        while reader.poll() is None:
            for chain in ("gaussian-blur:sigma=16", "lowpass:cutoff=0.005,order=8"):
                serial = changer.call("SetFilter", chain).number
                daemon.wait_until(lambda: daemon.ctl_json("status")["PublishedSerial"] >= serial,
                                  "the filter")
        assert reader.returncode == 0
    data = frames.read_bytes()
    size = WIDTH * HEIGHT
    assert len(data) == 90 * size
    assert all(is_filtered(data[at:at + size]) for at in range(0, len(data), size))


@pytest.mark.parametrize("key", [None, "measures", "watch_unfiltered"])
def test_watchers_see_what_filters_find_only_if_they_may(start_hidden, key):
    """The waves and the flicker of the picture before the filter are among its measures."""
    daemon = start_hidden("--filter", "auto-notch | deflicker",
                          *(["--set", f"output.{key}=true"] if key else []))
    daemon.wait_until(lambda: "waves" in daemon.ctl_json("filter", "show")["Adaptation"],
                      "the changer's view")
    os.unlink(daemon.runtime_dir / "control")
    found = json.loads(as_watcher(daemon, "--json", "filter", "show").stdout)["Adaptation"]
    text = as_watcher(daemon, "filter", "show").stdout
    if key:
        assert found.keys() >= {"waves", "flicker"} and "withheld" not in found
        assert "withheld" not in text and "no periodic noise found" in text
    else:
        assert found.keys() == {"observed", "withheld"}
        assert "withheld" in text and "no periodic noise" not in text
        done = as_watcher(daemon, "filter", "keep")
        assert done.returncode == 77 and "permission denied" in done.stderr
