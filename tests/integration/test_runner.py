"""tests/tools/run.py: what it counts."""

import json
import os
import pathlib
import subprocess

import pytest

RUN = pathlib.Path(__file__).parents[1] / "tools" / "run.py"

# Each of these would pass if it ran once more.
UNSTEADY = """#!/bin/sh
echo 1..2
echo "ok 1 - steady"
if [ -e "$0.ran" ]; then echo "ok 2 - unsteady"; exit 0; fi
touch "$0.ran"
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
    assert not first
"""


def run(tmp_path, *arguments):
    env = dict(os.environ, RESULTS=str(tmp_path / "results"))
    return subprocess.run([RUN, *arguments], capture_output=True, text=True, env=env, cwd=tmp_path,
                          timeout=120)


def program(tmp_path, text):
    path = tmp_path / "program"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_a_program_that_fails_has_failed(tmp_path):
    done = run(tmp_path, "suite", program(tmp_path, UNSTEADY))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "suite: 1 passed, 1 failed, 0 skipped"


def test_a_pytest_case_that_fails_has_failed(tmp_path):
    (tmp_path / "test_unsteady.py").write_text(UNSTEADY_PYTEST)
    done = run(tmp_path, "suite", "--pytest", "test_unsteady.py")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "suite: 1 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("text, limit_s, failed", [
    ("echo 1..2; echo 'ok 1 - a'; kill -SEGV $$", "60", "1 of 2 tests never reported"),
    ("echo 1..1; echo 'ok 1 - a'; exit 3", "60", "ends well: the program exited with 3"),
    ("true", "60", "runs a test: it ran none"),
    ("echo 1..1; exec sleep 100", "2", "the program was still running after 2.0 s"),
])
def test_a_program_must_end_as_it_announced(tmp_path, text, limit_s, failed):
    done = run(tmp_path, "suite", "--timeout", limit_s,
               program(tmp_path, f"#!/bin/bash\n{text}\n"))
    assert done.returncode == 1
    assert failed in done.stdout


def test_the_sum_has_each_suite_and_ends_with_one_line(tmp_path):
    run(tmp_path, "one", program(tmp_path, "#!/bin/sh\necho 1..1; echo 'ok 1 - a'\n"))
    run(tmp_path, "two", "--skip", "no camera")
    done = run(tmp_path, "--sum", "one", "two")
    assert done.returncode == 0
    assert "skipped: two: two: no camera" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed, 1 skipped"
    done = run(tmp_path, "--sum", "one", "three")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_parts_are_merged(tmp_path):
    run(tmp_path, "one", program(tmp_path, "#!/bin/sh\necho 1..1; echo 'ok 1 - a'\n"))
    run(tmp_path, "two", program(tmp_path, UNSTEADY))
    parts = [str(tmp_path / f"results/{name}.json") for name in ("one", "two")]
    done = run(tmp_path, "suite", "--merge", *parts)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "suite: 2 passed, 1 failed, 0 skipped"
    cases = json.loads((tmp_path / "results/suite.json").read_text())["cases"]
    assert [each["status"] for each in cases] == ["passed", "passed", "failed"]
