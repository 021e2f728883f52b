#!/usr/bin/python3
"""Runs the suites of tests one after another, and sums up.

    suites.py gate                 what must pass before a change lands: .ci/run
    suites.py all [--from SUITE]   everything, before a release: make test-all

The table below is in the order in which suites run: what is quick and finds most comes first.
`gate` runs all its suites whatever fails, so that one run shows every failure. `all` stops at the
first suite that fails, and says how to go on from there. Both end with the time that each suite
took, with all that was built for it, and with the line

    N passed, N failed, N skipped

Each suite that ends adds a line to $RESULTS/history: the commit, the suite, and what passed.
"""

import argparse
import datetime
import shlex
import subprocess
import sys
import time
import typing

import run


class Suite(typing.NamedTuple):
    names: str  # of its results
    gate: typing.Optional[str]  # make's arguments; None: only in `all`
    all: typing.Optional[str] = None  # make's arguments, if they are others


# Which suite is in the gate follows from what it has caught that no quicker one had: docs/results/
# 2026-11-26-gate.md.
SUITES = [
    Suite("unit gpu integration lint-quick", "test",
          "test FFTD_TEST_LAYOUTS=all FFTD_TEST_IMAGES=largest OPTIMISE=yes"),
    Suite("lint", "_lint", "lint"),  # in the gate, lint-quick has run
    Suite("articles", "test-articles"),
    Suite("model", "test-model"),
    Suite("unit-address-undefined", "-j2 SAN=address,undefined test-unit FFTD_TEST_CLIPS=one",
          "-j2 SAN=address,undefined test-unit"),
    Suite("unit-thread", "-j2 SAN=thread test-unit"),
    Suite("cross", "test-cross CROSS_TESTS='format libfftd ring ring_survival text v4l2_layout'",
          "test-cross"),
    Suite("widths", "test-widths"),
    Suite("faults", "test-faults"),
    Suite("campaign", "test-campaign SECONDS=60 SEED='1 2 3'", "test-campaign SECONDS=600"),
    Suite("mali-daemon", "test-mali-daemon"),
    Suite("oclgrind", "test-oclgrind OCLGRIND_TESTS='transform engine'", "test-oclgrind"),
    Suite("integration-address-undefined",
          "-j2 SAN=address,undefined test-integration INTEGRATION_TESTS='attacks camera control "
          "daemon gst_source hostile survival view_http'",
          "-j2 SAN=address,undefined test-integration"),
    Suite("vm", "test-vm VM_PROGRAMS=v4l2 VM_TESTS='test_faults.py and not mixed or "
          "test_restart.py or test_sockets.py or test_service.py or test_packages.py'", "test-vm"),
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


def run_suite(suite, arguments):
    """Runs one row of the table, with all that is built for it. Returns whether it passed."""
    print(f"\n==== make {arguments}", flush=True)
    names = suite.names.split()
    for name in names:
        (run.RESULTS / f"{name}.json").unlink(missing_ok=True)
    start = time.monotonic()
    subprocess.run(["make", "--no-print-directory", "-s", *shlex.split(arguments)],
                   stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    passed = True
    for name in names:
        result = run.read_result(run.RESULTS / f"{name}.json")
        note(current_commit(), name, result, seconds)
        passed = passed and not run.count(result["cases"], run.FAILED)
    return passed, seconds


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

    times, ended = [], []
    for suite, arguments in rows:
        passed, seconds = run_suite(suite, arguments)
        times.append((suite.names, seconds))
        ended += suite.names.split()
        if not passed and not gate:
            break

    print("\n==== the sum")
    for names, seconds in times:
        print(f"{names:40} {seconds:6.0f} s with all that was built for it")
    print(f"{'all':40} {sum(seconds for _, seconds in times):6.0f} s")
    cases = run.sum_up(ended)
    if len(times) < len(rows):
        print(f"{ended[-1]} failed; to go on from there: make test-all FROM={ended[-1]}",
              file=sys.stderr)
    return 1 if run.count(cases, run.FAILED) else 0


if __name__ == "__main__":
    sys.exit(main())
