#!/usr/bin/python3
"""Runs test programs, counts every test case, and adds up suites.

    run.py SUITE [--timeout S] [--jobs N] [--wrap COMMAND] PROGRAM...  speaks TAP
    run.py SUITE [--jobs N] --pytest PATH...     pytest files and folders
    run.py SUITE --skip REASON             a suite that cannot run here
    run.py SUITE --part --pytest PATH...   a part of a suite, which may have no test to run
    run.py SUITE --merge FILE...           the results of parts that were run elsewhere
    run.py --sum SUITE...                  the suites' results, and their sum

The result of a suite is one file, $RESULTS/SUITE.json (RESULTS defaults to build/results). A
program adds one failed test if it crashes, hangs, leaves out tests of its plan, or exits non-zero
without naming a failed test. A program that runs no test has failed. Lines "# figures: ..." of a
program, and the property "figures" of a pytest case, are shown even if nothing failed. The exit
code is 0 only if tests were run and none failed.

A test that fails has failed: nothing is run a second time.

Tests that are skipped for a reason that begins with "needs root" are run by root, where sudo asks
for no password: pytest's with `-m needs_root`, others with their whole program.

With --sum the last line reads exactly

    N passed, N failed, N skipped
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

RESULTS = pathlib.Path(os.environ.get("RESULTS", "build/results"))
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
EXIT_SKIPPED = 77  # of a program that cannot run here; its last line of output says why
OUTPUT_KEPT = 64 * 1024  # bytes of a failed program's output that are shown
NEEDS_ROOT = "needs root"  # how the reason of a test begins that root could run
# The variables that root's tests get, too. Caches belong to a user.
FOR_ROOT = re.compile(r"(?:FFTD|OCL|RUSTICL|CHANGE|MALI)_\w+|[A-Z]+SAN_OPTIONS|LOCPATH|RESULTS|"
                      r"POCL_EXTRA_BUILD_FLAGS")

TAP_PLAN = re.compile(r"1\.\.(\d+)")
TAP_LINE = re.compile(r"(not )?ok \d+(?: - | )?(.*)")
TAP_SKIP = re.compile(r"(.*?)\s*# SKIP\b\s*(.*)")
TAP_FIGURES = re.compile(r"# figures: (.*)")
SKIP_REASON = re.compile(r"(?:# )?skipped: (.*)")  # a cmocka test prints it before skip()


def case(name, status, detail=""):
    return {"name": name, "status": status, "detail": detail}


def count(cases, status):
    return sum(1 for each in cases if each["status"] == status)


def parse_tap(program, output):
    """The cases that a program reported, and the number that its plans announced."""
    cases, planned, reason = [], 0, ""
    for line in output.splitlines():
        if plan := TAP_PLAN.fullmatch(line):
            planned += int(plan[1])
        elif said := SKIP_REASON.fullmatch(line):
            reason = said[1]
        elif found := TAP_LINE.fullmatch(line):
            if skip := TAP_SKIP.fullmatch(found[2]):
                # cmocka puts the test's name where TAP has the reason.
                name, detail = (skip[1], skip[2]) if skip[1] else (skip[2], reason)
                cases.append(case(f"{program}: {name}", SKIPPED, detail))
            else:
                cases.append(case(f"{program}: {found[2]}", FAILED if found[1] else PASSED))
            reason = ""
    return cases, planned


def run_bounded(command, timeout, env):
    """Runs a command in its own process group. Returns its exit code (None: it timed out) and its
    output. Processes that it leaves behind are killed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=env, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        code = None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if code is None:
        output, _ = process.communicate()
    return code, output.decode(errors="replace")


def describe_exit(code, timeout):
    if code is None:
        return f"was still running after {timeout} s"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with {code}"


def run_program(path, timeout, wrap):
    program = pathlib.Path(path).name
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP")
    start = time.monotonic()
    code, output = run_bounded(wrap + [path], timeout, env)
    cases, planned = parse_tap(program, output)
    if code == EXIT_SKIPPED and not cases:
        cases.append(case(program, SKIPPED, output.strip().rpartition("\n")[2]))
    elif planned > len(cases):
        cases.append(case(f"{program}: {planned - len(cases)} of {planned} tests never reported",
                          FAILED, f"the program {describe_exit(code, timeout)}"))
    elif code != 0 and not count(cases, FAILED):
        cases.append(case(f"{program}: ends well", FAILED,
                          f"the program {describe_exit(code, timeout)}"))
    elif not cases:
        cases.append(case(f"{program}: runs a test", FAILED, "it ran none"))
    report_program(program, cases, output, time.monotonic() - start)
    return cases


def run_programs(paths, timeout, wrap, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(lambda path: run_program(path, timeout, wrap), paths), [])


def report_program(program, cases, output, seconds):
    failed = count(cases, FAILED)
    lines = [f"{'FAIL' if failed else 'ok':4} {program}: {summary(cases)} ({seconds:.1f} s)"]
    lines += [f"     {said[1]}" for line in output.splitlines()
              if (said := TAP_FIGURES.fullmatch(line))]
    if failed:
        lines.append(output[-OUTPUT_KEPT:].rstrip())
        lines += [f"     failed: {each['name']}: {each['detail']}".rstrip(": ")
                  for each in cases if each["status"] == FAILED]
    print("\n".join(lines), flush=True)


def pytest_cases(report):
    for each in ElementTree.parse(report).iter("testcase"):
        name = f"{each.get('classname')}: {each.get('name')}"
        for said in each.iter("property"):
            if said.get("name") == "figures":
                print(f"     {name}: {said.get('value')}", flush=True)
        bad = each.find("failure") if each.find("failure") is not None else each.find("error")
        skip = each.find("skipped")
        if bad is not None:
            yield case(name, FAILED, (bad.get("message") or "").split("\n")[0])
        elif skip is not None:
            yield case(name, SKIPPED, skip.get("message") or "")
        else:
            yield case(name, PASSED)


def run_pytest(suite, paths, timeout, jobs):
    """Runs pytest, and takes the cases from its JUnit report. With several jobs the tests of one
    file still run one after the other."""
    report = RESULTS / f"{suite}.xml"
    report.unlink(missing_ok=True)
    parallel = ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else []
    command = ["/usr/bin/python3", "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider",
               f"--junitxml={report}", *paths, *parallel]
    code, output = run_bounded(command, timeout, dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    print(output.rstrip(), flush=True)
    if not report.exists():
        return [case("pytest: runs the tests", FAILED, f"it {describe_exit(code, timeout)}")]
    cases = list(pytest_cases(report))
    if code != 0 and not count(cases, FAILED):
        cases.append(case("pytest: ends well", FAILED, f"it {describe_exit(code, timeout)}"))
    return cases


def may_be_root():
    try:
        return subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def run_by_root(args, cases):
    """Runs the tests that only root can run, if this user may be root. Returns all cases: those
    tests with their new results, and whatever else failed there."""
    wanted = {each["name"] for each in cases
              if each["status"] == SKIPPED and each["detail"].startswith(NEEDS_ROOT)}
    if not wanted or not may_be_root():
        return cases
    part = f"{args.suite}-root"
    path = RESULTS / f"{part}.json"
    path.unlink(missing_ok=True)
    programs = {name.partition(":")[0] for name in wanted}
    options = ["--timeout", str(args.timeout), "--jobs", str(args.jobs),
               "--wrap", shlex.join(args.wrap), *(["--pytest"] if args.pytest else [])]
    what = [each for each in args.what if args.pytest or pathlib.Path(each).name in programs]
    env = [f"{name}={value}" for name, value in os.environ.items() if FOR_ROOT.fullmatch(name)]
    print(f"by root: {len(wanted)} tests", flush=True)
    subprocess.run(["sudo", "-n", "env", *env, "PYTEST_ADDOPTS=-m needs_root", sys.executable,
                    __file__, part, "--part", *options, *what], check=False)
    done = {each["name"]: each for each in read_result(path)["cases"]}
    more = [each for name, each in done.items()
            if name not in wanted and each["status"] == FAILED]
    return [done.get(each["name"], each) if each["name"] in wanted else each
            for each in cases] + more


def summary(cases):
    return ", ".join(f"{count(cases, status)} {status}" for status in (PASSED, FAILED, SKIPPED))


def read_result(path):
    if path.exists():
        return json.loads(path.read_text())
    return {"seconds": 0, "cpu_seconds": 0, "cases": [case("ends", FAILED, f"it left no {path}")]}


def print_skipped(suite, cases):
    """One line for all tests that were skipped for the same reason, however many they are."""
    for reason, group in itertools.groupby(
            sorted((each for each in cases if each["status"] == SKIPPED),
                   key=lambda each: each["detail"]), lambda each: each["detail"]):
        first, *others = (each["name"] for each in group)
        more = f" and {len(others)} more" if others else ""
        print(f"{SKIPPED}: {suite}: {first}{more}: {reason}".rstrip(": "))


def sum_up(suites):
    """Prints the skipped tests with their reasons, one row for each suite, the failed tests and the
    sum: what matters most comes last, where a log that is cut still has it."""
    results = {suite: read_result(RESULTS / f"{suite}.json") for suite in suites}
    for suite, result in results.items():
        print_skipped(suite, result["cases"])
    for suite, result in results.items():
        print(f"{suite:24} {summary(result['cases']):40} {result['seconds']:6.0f} s, "
              f"{result['cpu_seconds']:6.0f} s of processors")
    for suite, result in results.items():
        for each in result["cases"]:
            if each["status"] == FAILED:
                print(f"{FAILED}: {suite}: {each['name']}: {each['detail']}".rstrip(": "))
    total = [each for result in results.values() for each in result["cases"]]
    print(summary(total))
    return total


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("suite", nargs="?")
    parser.add_argument("--sum", nargs="+", metavar="SUITE")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--wrap", type=shlex.split, default=[], metavar="COMMAND")
    parser.add_argument("--pytest", action="store_true")
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--skip", metavar="REASON")
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("what", nargs="*")
    args = parser.parse_intermixed_args()

    if args.sum:
        return 1 if count(sum_up(args.sum), FAILED) else 0
    if not args.suite:
        parser.error("the name of a suite is missing")
    RESULTS.mkdir(parents=True, exist_ok=True)
    start, cpu_seconds = time.monotonic(), None
    if args.skip:
        cases = [case(args.suite, SKIPPED, args.skip)]
    elif args.merge:
        parts = [read_result(pathlib.Path(path)) for path in args.what]
        cases = sum((part["cases"] for part in parts), [])
        start -= max(part["seconds"] for part in parts)
        cpu_seconds = sum(part["cpu_seconds"] for part in parts)
    elif args.pytest:
        cases = run_pytest(args.suite, args.what, args.timeout, args.jobs)
    else:
        cases = run_programs(args.what, args.timeout, args.wrap, args.jobs)
    cases = run_by_root(args, cases)
    if not cases and not args.part:
        cases = [case("has tests", FAILED, "it has none")]
    if cpu_seconds is None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_seconds = used.ru_utime + used.ru_stime
    result = {"suite": args.suite, "seconds": time.monotonic() - start, "cpu_seconds": cpu_seconds,
              "cases": cases}
    (RESULTS / f"{args.suite}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{args.suite}: {summary(cases)}")
    return 1 if count(cases, FAILED) else 0


if __name__ == "__main__":
    sys.exit(main())
