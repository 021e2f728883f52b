#!/usr/bin/python3
"""Plots the results of make bench-techniques: time of a frame over the radius of the filter.

    tests/bench/techniques.py build/bench/techniques.jsonl docs/techniques-DEVICE.png

A ring marks the technique that is chosen before any is measured. A GPU has frames alone and, beside
them, frames in flight. It needs gnuplot.
"""

import json
import subprocess
import sys

HEAD = """\
set terminal pngcairo size {width},{height} font "sans,10"
set output "{output}"
set multiplot layout {rows},{columns} title "{device}" noenhanced
set logscale y
set grid
set key left top reverse Left noenhanced
set xlabel "radius of the filter, pixels"
set ylabel "ms a frame"
"""
COLOURS = {"fused": 1, "direct": 2, "tiles": 3, "staged": 4, "half rate": 7}
MODES = {"ms": "", "flight_ms": ", in flight"}


def block(points):
    return "".join(f"{x} {y}\n" for x, y in sorted(points)) + "e\n"


def panel(rows, size, filter_name, time):
    rows = [row for row in rows if row["size"] == size and row["filter"] == filter_name]
    curves, data = [], []
    if not rows:
        return "set multiplot next\n"
    for technique, colour in COLOURS.items():
        points = [(row["radius"], row[time]) for row in rows if row["technique"] == technique]
        if points:
            curves.append(f'"-" with linespoints lc {colour} pt 7 ps 0.6 title "{technique}"')
            data.append(block(points))
    chosen = [(row["radius"], row[time]) for row in rows if row["chosen"]]
    curves.append('"-" with points lc rgb "black" pt 6 ps 1.6 title "chosen"')
    data.append(block(chosen))
    title = f"{size}, {filter_name}{MODES[time]}"
    return f'set title "{title}"\nplot ' + ", ".join(curves) + "\n" + "".join(data)


def main():
    source, output = sys.argv[1:]
    with open(source, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    filters = list(dict.fromkeys(row["filter"] for row in rows))
    columns = [(size, time) for size in sizes for time in MODES if time in rows[0]]
    script = HEAD.format(output=output, device=rows[0]["device"], rows=len(filters),
                         columns=len(columns), width=480 * len(columns), height=360 * len(filters))
    script += "".join(panel(rows, size, name, time) for name in filters for size, time in columns)
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


if __name__ == "__main__":
    main()
