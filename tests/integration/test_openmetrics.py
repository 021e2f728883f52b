"""Tests of fftd-ctl stats --openmetrics and --prometheus. The parsers of Prometheus's client
library read both formats, and promtool, if it is installed, checks the latter."""

import math
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from client import Reader
from conftest import BUILD, PATIENCE

FLEET = pathlib.Path(__file__).resolve().parents[2] / "config/fleet"
STAGES = {"capture", "wait", "upload", "kernel", "download", "publish", "total"}


@pytest.fixture
def daemon(start):
    running = start("--name", "front")
    running.wait_until(lambda: running.ctl_json("stats")["Counters"]["published"] > 20, "frames")
    return running


def parse(text):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser",
                                 reason="python3-prometheus-client is not installed")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def value(family, **labels):
    found = [sample.value for sample in family.samples if labels.items() <= sample.labels.items()]
    assert len(found) == 1, (labels, family)
    return found[0]


def test_metrics_say_what_stats_say(daemon):
    with Reader(daemon) as reader:
        reader.next()
        before = daemon.ctl_json("stats")
        families = parse(daemon.ctl("stats", "--openmetrics").stdout)
        after = daemon.ctl_json("stats")
    for family in families.values():
        assert family.documentation
        assert all(sample.labels["name"] == "front" for sample in family.samples)
    published = value(families["fftd_frames_published"])
    assert before["Counters"]["published"] <= published <= after["Counters"]["published"]
    assert value(families["fftd_clients"]) == 1
    assert value(families["fftd_clients_attached"]) == after["Counters"]["clients_attached"]
    assert value(families["fftd_filter_serial"]) == after["PublishedSerial"]
    assert value(families["fftd_filter_desired_serial"]) == after["Serial"]
    assert value(families["fftd_up"]) == 1
    age_s = time.time() - value(families["fftd_start_time_seconds"])
    assert 0 < age_s < 2 * PATIENCE
    assert value(families["fftd_state"], state="online") == 1
    assert sum(sample.value for sample in families["fftd_state"].samples) == 1
    assert {sample.labels["reason"] for sample in families["fftd_frames_dropped"].samples} == \
        {"error", "stale", "engine"}
    for step, counts in after["Copies"].items():
        for family, first, last in zip(("fftd_copies", "fftd_copied_bytes"),
                                       before["Copies"][step], counts):
            assert first <= value(families[family], step=step) <= last
    for member, family in (("Overhead", "fftd_overhead_seconds"),
                           ("StepTimes", "fftd_step_seconds")):
        for step, (frames, spent_ns) in before[member].items():
            for suffix, first, last in (("_count", frames, after[member][step][0]),
                                        ("_sum", spent_ns / 1e9, after[member][step][1] / 1e9)):
                exported, = (sample.value for sample in families[family].samples
                             if sample.labels["step"] == step and sample.name.endswith(suffix))
                assert first <= exported <= last
    # Every counter of the daemon is exported, including those unknown to fftd-ctl.
    assert sum(family.type == "counter" for family in families.values()) == \
        len(after["Counters"]) - len(("dropped_stale", "dropped_engine", "held_slots")) + \
        len(("fftd_copies", "fftd_copied_bytes"))


def test_histograms_are_those_of_stats(daemon):
    text = daemon.ctl("stats", "--openmetrics").stdout
    stats = daemon.ctl_json("stats")["Latency"]
    family = parse(text)["fftd_latency_seconds"]
    assert (family.type, family.unit) == ("histogram", "seconds")
    for stage in STAGES:
        samples = [sample for sample in family.samples if sample.labels["stage"] == stage]
        buckets = [(float(sample.labels["le"]), sample.value) for sample in samples
                   if sample.name.endswith("_bucket")]
        count, = [sample.value for sample in samples if sample.name.endswith("_count")]
        total, = [sample.value for sample in samples if sample.name.endswith("_sum")]
        assert buckets == sorted(buckets) and buckets[-1] == (math.inf, count)
        assert 0 < count <= stats[stage]["count"]
        # The mean is in whole nanoseconds, rounded down.
        assert 0 <= total <= (stats[stage]["mean_ns"] + 1) * 1e-9 * stats[stage]["count"] + 1e-9
        # At most one in twenty is above the 99th percentile; the numbers differ by a few frames.
        p99_s = stats[stage]["p99_ns"] / 1e9
        assert count - next(below for edge, below in buckets if edge >= p99_s) <= 0.05 * count + 2


def test_the_text_format_says_the_same(daemon):
    """Compares names, types, help and series. TYPE and HELP name the series in the text
    format, and the family in OpenMetrics."""
    parser = pytest.importorskip("prometheus_client.parser",
                                 reason="python3-prometheus-client is not installed")
    text = daemon.ctl("stats", "--prometheus").stdout
    found = {family.name: family for family in parser.text_string_to_metric_families(text)}
    expected = parse(daemon.ctl("stats", "--openmetrics").stdout)
    assert found.keys() == expected.keys()
    for name, family in found.items():
        assert (family.type, family.documentation) == \
            (expected[name].type, expected[name].documentation)
        assert [(sample.name, sample.labels) for sample in family.samples] == \
            [(sample.name, sample.labels) for sample in expected[name].samples]
    assert "# TYPE fftd_frames_published_total counter\n" in text
    assert "# EOF" not in text
    # Debian's package has 96 MB, so tests/tools/deps.sh does not install it.
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["fftd-alerts.yml", "grafana.json"])
def test_alerts_and_dashboard_ask_only_for_what_is_exported(daemon, name):
    text = daemon.ctl("stats", "--prometheus").stdout
    exported = set(re.findall(r"^(fftd_\w+)", text, re.M))
    asked = re.findall(r"\bfftd_\w+", (FLEET / name).read_text())
    assert len(set(asked)) > 7
    assert set(asked) <= exported
    states = re.findall(r'^fftd_state{.*state="(\w+)"', text, re.M)
    named = re.findall(r'state=~?\\?"([\w|]+)', (FLEET / name).read_text())
    assert named and {state for found in named for state in found.split("|")} <= set(states)


def test_a_file_is_replaced_in_one_step(daemon, tmp_path):
    path = tmp_path / "fftd.prom"
    path.write_text("old")
    daemon.ctl("stats", "--openmetrics", "-o", path)
    first = parse(path.read_text())
    daemon.ctl("stats", "--openmetrics", "-o", path, "--watch=0.2", "-n", "3")
    second = parse(path.read_text())
    daemon.ctl("stats", "--prometheus", "-o", path)
    assert path.read_text().startswith("# TYPE fftd_up gauge\n")
    assert value(second["fftd_frames_published"]) > value(first["fftd_frames_published"])
    assert list(tmp_path.glob("fftd.prom*")) == [path]
    refused = daemon.ctl("stats", "--openmetrics", "-o", tmp_path / "none" / "x.prom", check=False)
    assert refused.returncode == 73 and "none/x.prom" in refused.stderr


def test_the_file_says_when_the_daemon_is_gone_and_back(start, runtime_dir, tmp_path):
    path, daemon = tmp_path / "fftd.prom", None
    watch = subprocess.Popen([BUILD / "fftd-ctl", "--runtime-dir", runtime_dir, "--name", "front",
                              "stats", "--openmetrics", "--watch=0.05", "-o", path])

    def wait_for(what):
        deadline = time.monotonic() + PATIENCE
        while not (path.exists() and what(families := parse(path.read_text()))):
            log = daemon.log if daemon else ""
            assert watch.poll() is None and time.monotonic() < deadline, log
            time.sleep(0.01)
        return families

    try:
        gone = wait_for(lambda families: value(families["fftd_up"], name="front") == 0)
        assert list(gone) == ["fftd_up"]
        daemon = start("--name", "front")
        first = wait_for(lambda families: value(families["fftd_up"], name="front") == 1)
        daemon.process.kill()
        daemon.wait()  # the next one finds its runtime directory free
        assert list(wait_for(lambda families: value(families["fftd_up"]) == 0)) == ["fftd_up"]
        daemon = start("--name", "front")
        second = wait_for(lambda families: value(families["fftd_up"]) == 1)
    finally:
        watch.kill()
        watch.wait()
    assert value(second["fftd_start_time_seconds"]) > value(first["fftd_start_time_seconds"])


@pytest.mark.parametrize("arguments, text", [
    (["stats", "--openmetrics", "--json"],
     "only one of --openmetrics, --prometheus, --csv and --json"),
    (["stats", "--openmetrics", "--prometheus"], "only one of"),
    (["stats", "--openmetrics", "--watch"], "--output"),
    (["stats", "--prometheus", "--watch"], "--output"),
    (["stats", "-o", "x"], "--output needs --openmetrics or --prometheus"),
    (["status", "--openmetrics"], "status does not take --openmetrics"),
    (["status", "--prometheus"], "status does not take --prometheus"),
])
def test_wrong_usage(arguments, text):
    done = subprocess.run([BUILD / "fftd-ctl", *arguments], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 64 and text in done.stderr
