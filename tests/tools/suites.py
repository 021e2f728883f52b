#!/usr/bin/python3
"""Runs the suites of tests, and sums up.

    suites.py gate                 what must pass before a change lands: .ci/run
    suites.py all [--from SUITE]   everything, before a release: make test-all

The table below is in the order in which suites begin: what is quick and finds most comes first.
`gate` runs all its suites whatever fails, so that one run shows every failure. `all` runs one after
another, stops at the first that fails, and says how to go on from there. Both end with the time
that each suite took, with all that was built for it, and with the line

    N passed, N failed, N skipped

Each suite that ends adds a line to $RESULTS/history: the commit, the suite, and what passed.
"""

import argparse
import concurrent.futures
import datetime
import shlex
import subprocess
import sys
import tempfile
import time
import typing

import run


class Suite(typing.NamedTuple):
    names: str  # of its results
    gate: typing.Optional[str]  # make's arguments; None: only in `all`
    all: typing.Optional[str] = None  # make's arguments, if they are others
    beside: bool = False  # in the gate it runs beside those that follow


# Which suite is in the gate follows from what it has caught that no quicker one had: docs/results/
# 2026-11-26-gate.md.
SUITES = [
    Suite("unit gpu integration lint-quick", "test",
          "test FFTD_TEST_LAYOUTS=all FFTD_TEST_IMAGES=largest OPTIMISE=yes"),
    Suite("lint", "_lint", "lint"),  # in the gate, lint-quick has run
    Suite("unit-address-undefined", "-j2 SAN=address,undefined test-unit FFTD_TEST_CLIPS=one",
          "-j2 SAN=address,undefined test-unit"),
    Suite("oclgrind", "test-oclgrind OCLGRIND_TESTS='transform engine'", "test-oclgrind"),
    # This one waits and downloads for half of its time, and those that follow use one processor.
    Suite("vm", "test-vm VM_PROGRAMS=v4l2 VM_TESTS='test_faults.py and not mixed or "
          "test_restart.py or test_sockets.py or test_service.py or test_packages.py'", "test-vm",
          beside=True),
    Suite("articles", "test-articles"),
    Suite("model", "test-model"),
    Suite("unit-thread", "-j2 SAN=thread test-unit"),
    Suite("cross", "test-cross CROSS_TESTS='format libfftd ring ring_survival text v4l2_layout'",
          "test-cross"),
    Suite("widths", "test-widths"),
    Suite("faults", "test-faults"),
    Suite("campaign", "test-campaign SECONDS=60 SEED='1 2 3'", "test-campaign SECONDS=600"),
    Suite("mali-daemon", "test-mali-daemon"),
    Suite("integration-address-undefined",
          "-j2 SAN=address,undefined test-integration INTEGRATION_TESTS='attacks camera control "
          "daemon gst_source hostile survival view_http'",
          "-j2 SAN=address,undefined test-integration"),
    Suite("lint-analyzer", None, "lint-analyzer"),
    Suite("deb", None, "test-deb"),
    Suite("trixie-unit trixie-deb", None, "test-trixie"),
    Suite("container", None, "test-container"),
    Suite("peers", None, "test-peers"),
    Suite("view-browser", None, "test-view-browser"),
    Suite("fleet", None, "test-fleet"),
    Suite("changes", None, "test-changes CHANGE_SECONDS=15"),
    Suite("pairs", None, "test-pairs PAIR_FRAMES=2000"),
    Suite("stress", None, "test-stress STRESS_SECONDS=20"),
    Suite("fuzz", None, "test-fuzz FUZZ_SECONDS=30"),
    Suite("mali-256", None, "test-mali MALI_GROUP=256"),
    Suite("mali-128", None, "test-mali MALI_GROUP=128"),
    Suite("gpu-address-undefined", None,
          "-j2 SAN=address,undefined FFTD_TEST_SIZES=small test-gpu"),
    Suite("integration-thread", None, "-j2 SAN=thread test-integration"),
    Suite("rusticl", None, "test-rusticl"),
    Suite("valgrind", None, "test-valgrind"),
    Suite("udmabuf", None, "test-udmabuf"),
]


def current_commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty=+changes"], text=True,
                          capture_output=True)
    return done.stdout.strip() or "no commit"


def note(commit, name, result, seconds):
    """One line of the history."""
    now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    line = f"{now} {commit} {name}: {run.summary(result['cases'])}, {seconds:.0f} s"
    with open(run.RESULTS / "history", "a", encoding="utf-8") as history:
        history.write(line + "\n")


def run_suite(suite, arguments, output=None):
    """Runs one row of the table, with all that is built for it. Returns whether it passed, and the
    seconds that it took."""
    print(f"\n==== make {arguments}", flush=True)
    names = suite.names.split()
    for name in names:
        (run.RESULTS / f"{name}.json").unlink(missing_ok=True)
    start = time.monotonic()
    subprocess.run(["make", "--no-print-directory", "-s", *shlex.split(arguments)],
                   stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    seconds = time.monotonic() - start
    passed = True
    for name in names:
        result = run.read_result(run.RESULTS / f"{name}.json")
        note(current_commit(), name, result, seconds)
        passed = passed and not run.count(result["cases"], run.FAILED)
    return passed, seconds


def run_beside(suite, arguments):
    """Runs a row while others run. What it prints comes as a whole when it has ended."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        result = run_suite(suite, arguments, output)
        output.seek(0)
        print(f"\n==== ended: make {arguments}\n{output.read()}", flush=True)
    return result


def run_rows(rows, gate):
    """Runs rows of the table, `all` until one fails. Returns the time of each that was run."""
    ended, beside = {}, {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for suite, arguments in rows:
            if gate and suite.beside:
                beside[suite.names] = pool.submit(run_beside, suite, arguments)
                continue
            passed, ended[suite.names] = run_suite(suite, arguments)
            if not passed and not gate:
                break
    return ended | {names: future.result()[1] for names, future in beside.items()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("which", choices=["gate", "all"])
    parser.add_argument("--from", dest="first", default="", metavar="SUITE")
    args = parser.parse_args()
    gate = args.which == "gate"
    rows = [(suite, suite.gate if gate else suite.all or suite.gate) for suite in SUITES
            if suite.gate or not gate]
    if args.first:
        names = [suite.names for suite, _ in rows]
        first = next((i for i, each in enumerate(names) if args.first in each.split()), None)
        if first is None:
            parser.error(f"no such suite: {args.first}: expected {' '.join(names)}")
        rows = rows[first:]
    run.RESULTS.mkdir(parents=True, exist_ok=True)

    start = time.monotonic()
    times = run_rows(rows, gate)
    print("\n==== the sum")
    for names, seconds in times.items():
        print(f"{names:40} {seconds:6.0f} s with all that was built for it")
    print(f"{'all':40} {time.monotonic() - start:6.0f} s")
    ended = " ".join(times).split()
    cases = run.sum_up(ended)
    if len(times) < len(rows):
        print(f"{ended[-1]} failed; to go on from there: make test-all FROM={ended[-1]}",
              file=sys.stderr)
    return 1 if run.count(cases, run.FAILED) else 0


if __name__ == "__main__":
    sys.exit(main())
