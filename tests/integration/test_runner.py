"""tests/tools/run.py: what it counts, and what it runs with sudo."""

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


# Runs what needs root only if the sudo below has begun it.
ROOTS = """#!/bin/sh
echo 1..2
echo "ok 1 - anybodys"
if [ -n "$FAKE_ROOT" ]; then echo "$FFTD_WORD"; echo "{result} 2 - roots"; exit; fi
echo "# skipped: needs root"
echo "ok 2 # SKIP roots"
"""

ROOTS_PYTEST = """
import os
import pytest
def test_anybodys():
    assert "FAKE_ROOT" not in os.environ
@pytest.mark.needs_root
def test_roots():
    if "FAKE_ROOT" not in os.environ:
        pytest.skip("needs root, or sudo without a password")
"""

SUDO = """#!/bin/sh
[ "$1" = -n ] && shift
{asks}
FAKE_ROOT=1 exec "$@"
"""


def run(tmp_path, *arguments, **env):
    env = {**os.environ, "RESULTS": str(tmp_path / "results"), **env}
    return subprocess.run([RUN, *arguments], capture_output=True, text=True, env=env, cwd=tmp_path,
                          timeout=120)


def program(folder, text, name="program"):
    path = folder / name
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


def results(tmp_path):
    return json.loads((tmp_path / "results/suite.json").read_text())["cases"]


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
    assert [each["status"] for each in results(tmp_path)] == ["passed", "passed", "failed"]


@pytest.fixture
def sudo(tmp_path):
    """sudo(asks) makes a program sudo, which may ask for a password. Returns the variables of run()
    by which it is found."""
    def make(asks=False):
        place = tmp_path / "bin"
        place.mkdir()
        program(place, SUDO.format(asks="exit 1" if asks else ""), "sudo")
        return {"PATH": f"{place}:{os.environ['PATH']}", "FFTD_WORD": "word"}
    return make


def test_what_needs_root_runs_with_sudo(tmp_path, sudo):
    done = run(tmp_path, "suite", program(tmp_path, ROOTS.format(result="ok")), **sudo())
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "suite: 2 passed, 0 failed, 0 skipped"


def test_what_fails_with_sudo_has_failed(tmp_path, sudo):
    text = ROOTS.format(result="not ok")
    done = run(tmp_path, "suite", program(tmp_path, text), **sudo())
    assert done.returncode == 1
    assert "\nword\n" in done.stdout  # it has the variables of the tests
    assert done.stdout.splitlines()[-1] == "suite: 1 passed, 1 failed, 0 skipped"


def test_where_sudo_asks_what_needs_root_is_skipped(tmp_path, sudo):
    text = ROOTS.format(result="ok")
    done = run(tmp_path, "suite", program(tmp_path, text), **sudo(asks=True))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "suite: 1 passed, 0 failed, 1 skipped"
    assert results(tmp_path)[1]["detail"] == "needs root"


def test_what_needs_root_in_pytest_runs_with_sudo(tmp_path, sudo):
    (tmp_path / "test_roots.py").write_text(ROOTS_PYTEST)
    done = run(tmp_path, "suite", "--pytest", "test_roots.py", **sudo())
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "suite: 2 passed, 0 failed, 0 skipped"
