#!/usr/bin/python3
"""Runs the driver on oclgrind's simulated device, and adds what that counts to its results: what
hardware counters would, but for caches.

    tests/bench/articles/counts.py PROGRAM FILE COMMIT

Each line of FILE gets the instructions of a frame, and its loads and stores of global memory: how
many there were, and of how many bytes.
"""

import json
import re
import subprocess
import sys

TECHNIQUE = re.compile(r"technique: (\d+)\|(.*)\|(.*)\|(.*)")
ACCESS = re.compile(r"\s+(\d+) - (load|store) global \((\d+) bytes\)")
VECTOR = re.compile(r"\s+(\d+) - call _Z\d+v(load|store)(?:_half)?(\d+)\w*PU3AS1K?(Dh|[fh])\(")
VECTOR_BYTES = {"f": 4, "h": 1, "Dh": 2}
INSTRUCTION = re.compile(r"\s+(\d+) - ")


def parse(output):
    """{(row, group, x, technique): counts} of the driver's output between oclgrind's."""
    counts, now = {}, None
    for line in output.splitlines():
        if found := TECHNIQUE.match(line):
            key = int(found[1]), found[2], float(found[3]), found[4]
            now = counts[key] = {"instructions": 0, "loads": 0, "load_bytes": 0, "stores": 0,
                                 "store_bytes": 0}
        elif now is not None and (found := INSTRUCTION.match(line)):
            now["instructions"] += int(found[1])
            if found := ACCESS.match(line):
                now[f"{found[2]}s"] += int(found[1])
                now[f"{found[2]}_bytes"] += int(found[3])
            elif found := VECTOR.match(line):
                now[f"{found[2]}s"] += int(found[1])
                now[f"{found[2]}_bytes"] += (int(found[1]) * int(found[3]) *
                                             VECTOR_BYTES[found[4]])
    return counts


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, path, commit = sys.argv[1:]
    done = subprocess.run(["oclgrind", "--inst-counts", program, "--simulated", "--json", path,
                           "--commit", commit], stdout=subprocess.PIPE, text=True, check=True)
    counts = parse(done.stdout)
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for line in lines[1:]:
        line.update(counts[line["row"], line["group"], line["x"], line["technique"]])
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    print(f"{len(lines) - 1} techniques, {sum(line['instructions'] for line in lines[1:]):.3g} "
          "instructions")


if __name__ == "__main__":
    main()
