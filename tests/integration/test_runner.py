"""tests/tools/run.py: what it counts, and what it runs a second time."""

import json
import os
import pathlib
import subprocess

import pytest

RUN = pathlib.Path(__file__).parents[1] / "tools" / "run.py"

# Fails unless it has run before.
UNSTEADY = """#!/bin/sh
echo 1..2
echo "ok 1 - steady"
if [ -e "$0.ran" ]; then echo "ok 2 - unsteady"; exit 0; fi
touch "$0.ran"
{printed}
echo "not ok 2 - unsteady"
exit 1
"""

UNSTEADY_PYTEST = """
import pathlib
def test_steady():
    pass
def test_unsteady():
    ran = pathlib.Path(__file__).with_suffix(".ran")
    first = not ran.exists()
    ran.touch()
    assert not first, "{printed}"
"""


def run(tmp_path, *arguments):
    env = dict(os.environ, RESULTS=str(tmp_path / "results"))
    return subprocess.run([RUN, *arguments], capture_output=True, text=True, env=env, cwd=tmp_path,
                          timeout=120)


def program(tmp_path, text, name="unsteady"):
    path = tmp_path / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def results(tmp_path):
    return json.loads((tmp_path / "results/suite.json").read_text())["cases"]


def test_a_program_that_fails_runs_once_more(tmp_path):
    done = run(tmp_path, "suite", program(tmp_path, UNSTEADY.format(printed="echo oh")))
    assert done.returncode == 0, done.stdout
    assert [each.get("first") for each in results(tmp_path)] == [None, "unsteady: unsteady"]
    done = run(tmp_path, "--sum", "suite")
    assert "passed at the second attempt: suite: unsteady: unsteady" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"


def test_a_program_that_fails_twice_has_failed(tmp_path):
    text = "#!/bin/sh\necho 1..1\necho 'not ok 1 - always'\nexit 1\n"
    done = run(tmp_path, "suite", program(tmp_path, text))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "suite: 0 passed, 1 failed, 0 skipped"


def test_what_runs_once_is_not_tried_again(tmp_path):
    done = run(tmp_path, "suite", "--once", program(tmp_path, UNSTEADY.format(printed="echo oh")))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "suite: 1 passed, 1 failed, 0 skipped"


def test_what_an_analyzer_reports_has_failed_at_once(tmp_path):
    text = UNSTEADY.format(printed="echo 'WARNING: ThreadSanitizer: data race (pid=1)'")
    done = run(tmp_path, "suite", program(tmp_path, text))
    assert done.returncode == 1
    assert "second attempt" not in done.stdout


def test_many_failures_are_not_repeated(tmp_path):
    paths = [program(tmp_path, UNSTEADY.format(printed=":"), f"p{i}") for i in range(4)]
    done = run(tmp_path, "suite", *paths)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "suite: 4 passed, 4 failed, 0 skipped"


@pytest.mark.parametrize("printed, code", [("oh", 0), ("ERROR: LeakSanitizer: leaks", 1)])
def test_a_pytest_case_that_fails_runs_once_more(tmp_path, printed, code):
    (tmp_path / "test_unsteady.py").write_text(UNSTEADY_PYTEST.format(printed=printed))
    done = run(tmp_path, "suite", "--pytest", "test_unsteady.py")
    assert done.returncode == code, done.stdout
    assert len(results(tmp_path)) == 2
    assert [bool(each.get("first")) for each in results(tmp_path)] == [False, code == 0]
