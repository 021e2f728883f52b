"""Runs commands with a time limit, and names the command that exceeds it."""

import subprocess

# The first build of a kernel takes most of a minute. Working code never takes this long.
PATIENCE = 120


def run(*command, check=True, text=True, **more):
    """Runs a command and returns its result with its output. A command that hangs in a driver
    cannot be killed and is left running."""
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                               **more)
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"still running after {PATIENCE} s: {' '.join(words)}") from None
    assert not check or process.returncode == 0, f"{' '.join(words)}: {output}{errors}"
    return subprocess.CompletedProcess(words, process.returncode, output, errors)
