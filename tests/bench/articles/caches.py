#!/usr/bin/python3
"""Counts the cache misses of ARM's transpositions with cachegrind, in caches as a Mali-T760 has
them: 16 KiB with 4 ways for each core, 256 KiB with 16 ways behind it, lines of 64 bytes.

    tests/bench/articles/caches.py PROGRAM FILE

PROGRAM is that of tests/bench/articles_caches.c. Work-items run one after another, which a GPU's do
not. The lines that are appended to FILE, of the simulator, have the misses of both caches.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import front_end

GROUP, SIDE = "caches of a transposition, 1000x1000", 1000
FIRST, LAST = "16384,4,64", "262144,16,64"
KERNELS = {"element by element": "transpose_elements", "blocks of 2x2, out of place": "transpose",
           "blocks of 4x4, out of place": "transpose_4",
           "blocks of 2x2, in place": "transpose_square"}


def misses_of(text, kernel):
    """The misses of a kernel and what it calls in a file of cachegrind: of the first cache, and of
    the last."""
    events = re.search(r"^events: (.*)$", text, re.M)[1].split()
    total, counts = dict.fromkeys(events, 0), False
    for line in text.splitlines():
        if line.startswith("fn="):
            counts = line[3:] in (kernel, "exchange_blocks")
        elif counts and line[:1].isdigit():
            for event, number in zip(events, line.split()[1:]):
                total[event] += int(number)
    return total["D1mr"] + total["D1mw"], total["DLmr"] + total["DLmw"]


def measure(program, kernel):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "out"
        subprocess.run(["valgrind", "--quiet", "--tool=cachegrind", "--cache-sim=yes",
                        f"--D1={FIRST}", f"--LL={LAST}", f"--cachegrind-out-file={path}", program,
                        kernel, str(SIDE)], check=True, stderr=subprocess.DEVNULL)
        return misses_of(path.read_text(), kernel)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = []
    for technique, kernel in KERNELS.items():
        first, last = measure(sys.argv[1], kernel)
        lines.append({"row": 6, "group": GROUP, "x": SIDE * SIDE, "technique": technique,
                      "state": "ok", "turns_ms": [], "dispatches": 1, "first_misses": first,
                      "last_misses": last})
        print(f"{technique}: {first} misses of the first cache, {last} of the last one")
    front_end.append(sys.argv[2], lines)


if __name__ == "__main__":
    main()
