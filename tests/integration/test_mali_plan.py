"""Tests of what `make mali-plan` prints, and of the document that quotes it."""

import os
import pathlib
import re
import subprocess

from conftest import BUILD, PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[2]


def plan(*arguments):
    """Returns the lines of both tables without their heads."""
    done = subprocess.run([BUILD / "tests/mali/plan", *arguments], text=True, timeout=PATIENCE,
                          capture_output=True, check=True,
                          env=dict(os.environ, FFTD_PRESET_DIR=str(ROOT / "config/presets")))
    return [table.splitlines()[2:] for table in done.stdout.split("\n\n")]


def test_the_boards_document_says_what_plans_say():
    """The figures in docs/RK3288.md are those of the counts."""
    document = (ROOT / "docs/RK3288.md").read_text()
    rows = re.findall(r"^\| \d+x\d+ \| `.*` \| [\d.]+ \| [\d.]+ \| \d+ \|$", document, re.M)
    assert len(rows) >= 6
    for row in rows:
        size, chain = row.replace("`", "").split(" | ")[:2]
        assert plan(chain, size.lstrip("| "))[1] == [row]


def test_a_filter_changes_the_plan():
    """A wide filter needs padding, and a blur leaves lines out."""
    chains = ["none", "sharpen:amount=1,sigma=20", "gaussian-blur:sigma=20"]
    plans, times = plan(*chains, "640x480")
    padded = [row.split(" | ")[3] for row in plans[::2]]
    bare, wide, blurred = (float(row.split(" | ")[2]) for row in times)
    assert int(padded[1].split("x")[1]) > 480 + 2 * 20 and padded[2] == padded[1]
    assert bare < wide and blurred < wide
