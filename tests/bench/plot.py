#!/usr/bin/python3
"""Plots the results of make bench: time and memory traffic over the size of the frame.

    tests/bench/plot.py build/bench.json docs/bench-DEVICE.png

It needs gnuplot. A subject that does not support a size has no point there.
"""

import json
import subprocess
import sys

SUBJECTS = [("fftd tuned float, bare", "fftd, tuned"),
            ("fftd fused float, bare", "fftd, not tuned"),
            ("VkFFT R2C, convolution", "VkFFT, convolution"), ("cuFFT R2C, CUDA graph", "cuFFT"),
            ("clFFT R2C", "clFFT"), ("FFTW r2c", "FFTW"),
            ("articles, table twiddles", "the articles' pipeline")]

HEAD = """\
set terminal pngcairo size 1200,520 font "sans,11"
set output "{output}"
set multiplot layout 1,2 title "{device}" noenhanced
set logscale xy
set grid
set key left top reverse Left noenhanced
set xlabel "pixels a frame"
set format x "%.0s %c"
set xrange [2.5e5:1e7]
"""


def points(rows, subject, value):
    """The mode to plot: frames in flight, or one at a time for slow subjects without such a
    turn."""
    best = {}
    for row in rows:
        if row["subject"] == subject and row["state"] == "ok" and row["ms"]:
            if row["mode"] != "one at a time" or row["size"] not in best:
                best[row["size"]] = row
    found = []
    for size, row in best.items():
        width, height = map(int, size.split("x"))
        y = value(row, width * height)
        if y:
            found.append((width * height, y))
    return sorted(found)


def milliseconds(row, _pixels):
    return row["ms"]


def gigabytes_a_second(row, pixels):
    traffic = row.get("bytes_per_pixel")
    return traffic and traffic * pixels / row["ms"] / 1e6


def panel(rows, label, value):
    lines, curves = [f'set ylabel "{label}"'], []
    for number, (subject, name) in enumerate(SUBJECTS, 1):
        data = points(rows, subject, value)
        if data:
            lines += [f"$d{number} << EOD", *(f"{x} {y}" for x, y in data), "EOD"]
            curves.append(f'$d{number} with linespoints lt {number} lw 2 title "{name}"')
    return [*lines, "plot " + ", ".join(curves)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [row for row in json.load(file) if row["bench"] == "fft"]
    if not rows:
        sys.exit(f"{sys.argv[1]}: it has no results of bench-fft")
    script = HEAD.format(output=sys.argv[2], device=rows[0]["device"])
    lines = panel(rows, "ms a frame", milliseconds)
    lines += panel(rows, "GB/s, counted traffic over time", gigabytes_a_second)
    subprocess.run(["gnuplot"], input=script + "\n".join(lines) + "\n", text=True, check=True)


if __name__ == "__main__":
    main()
