"""Commands, each with a bound: no test may wait for ever, and whatever it waits for in vain is
named."""

import subprocess

# A kernel's first build takes most of a minute; nothing that works waits for this.
PATIENCE = 120


def run(*command, check=True, text=True, **more):
    """Runs it to its end; what it wrote is in the result. One that hangs in a driver can not even
    be killed: it is left behind."""
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
