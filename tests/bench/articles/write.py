#!/usr/bin/python3
"""Writes docs/ARTICLES.md and its plots from what the driver has stored, and from nothing else.

    tests/bench/articles/write.py docs/results docs/ARTICLES.md

Every figure in a table is of one run on one device, and every verdict follows from a figure and
the range that is given with the claim in claims.py.
"""

import itertools
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

from claims import ROWS  # noqa: E402
from results import Results  # noqa: E402

HEAD = """\
# The published results, reproduced one by one

fftd grew from published work on FFT image filtering on small GPUs: three articles of ARM on a
mixed-radix FFT for Mali, one on a vectorised radix-2 FFT, its guide to convolution, Intel's FFT
for image processing in DirectX 11, and OpenVX. Each technique of them is rebuilt in
[tests/bench/articles](../tests/bench/articles), compared with a reference in double precision,
and then timed in turns with the others of its group and with fftd itself.

This document is written by `make bench-articles` from [docs/results](results) alone. Times are
medians of turns on shared machines, and only ratios within one group of one device mean
something. A number in brackets is the ratio to the first line. A verdict is about the claim on
that device: *reproduced* is inside the range in which the published figure would be found again,
*more* is above it, *refuted* is below it, and *no difference* is a ratio close to 1. Where nothing
was published, the verdict is *yes* or *no*.

"""


def number(value):
    if value is None:
        return "-"
    if 0.999 < value < 1:
        return f"{value:.6f}"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{value:.1e}"


def verdict(value, claim):
    if value is None:
        return "-"
    ours = claim.published in ("-", "open question", "expected to be")
    word = "yes" if ours else "reproduced"
    if value < claim.low:
        word = "no" if ours else "refuted"
        if claim.low < 1.1 and claim.high == float("inf") and value >= 1 / claim.low:
            word = "no difference"
    elif value > claim.high:
        word = "more"
    return f"{number(value)}: {word}"


def claim_table(results, row):
    # The hints of row 9 are measured in other rows.
    devices = results.devices_of(row.number) or [device for device in results.devices
                                                 if any(claim.measure(results, device) is not None
                                                        for claim in row.claims)]
    lines = ["| claim | published | range | " + " | ".join(devices) + " |",
             "| --- | --- | --- |" + " --- |" * len(devices)]
    for claim in row.claims:
        cells = [verdict(claim.measure(results, device), claim) for device in devices]
        if set(cells) == {"-"}:
            continue
        high = "" if claim.high == float("inf") else f" .. {number(claim.high)}"
        span = number(claim.low) + (high or " and more")
        lines.append(f"| {claim.text} | {claim.published} | {span} | " + " | ".join(cells) + " |")
    return lines + [""] if len(lines) > 2 else []


def cell(line, first):
    if line is None:
        return "-"
    if line["state"] != "ok":
        return "refused"
    if line["ms"] is None:
        return "right"
    ratio = f" ({number(line['ms'] / first)})" if first else ""
    return number(line["ms"]) + ratio


def group_table(results, row, name, x):
    devices = results.devices_of(row, name)
    groups = {device: results.group(device, row, name, x) for device in devices}
    techniques = list(dict.fromkeys(t for lines in groups.values() for t in lines))
    any_line = {t: min((lines[t] for lines in groups.values() if t in lines),
                       key=lambda line: line["state"] != "ok") for t in techniques}
    counted = any(line["read_bytes"] is not None for line in any_line.values())
    more = ["MB read", "MB written"] if counted else ["MB moved"]
    lines = [f"**{name}**, ms a frame:", "",
             "| technique | dispatches | " + " | ".join(more + devices) + " |",
             "| --- | --- |" + " --- |" * len(more + devices)]
    for technique in techniques:
        line = any_line[technique]
        fields = ["read_bytes", "written_bytes"] if counted else ["moved_bytes"]
        if counted and line["read_bytes"] is None and line["moved_bytes"]:
            traffic = [f"{line['moved_bytes'] / 1e6:.3g} in all", ""]
        else:
            traffic = [f"{line[f] / 1e6:.3g}" if line[f] is not None else "-" for f in fields]
        cells = []
        for device in devices:
            first = groups[device].get(techniques[0])
            cells.append(cell(groups[device].get(technique), first and first["ms"]))
        launches = str(line["dispatches"]) if line["state"] == "ok" else "-"
        row_cells = [technique, launches, *traffic, *cells]
        lines.append("| " + " | ".join(row_cells) + " |")
    return lines + [""]


def comparison_table(results, row, name):
    """Results of 8 bits of each two devices."""
    devices = results.devices_of(row, name)
    techniques = list(results.group(devices[0], row, name)) if devices else []
    rows = []
    for one, other in itertools.combinations(devices, 2):
        found = [results.compare(one, other, row, name, t) for t in techniques]
        if any(found):
            rows.append(f"| {one}, {other} | " + " | ".join(
                f"{number(pair[0])} ({pair[1]})" if pair else "-" for pair in found) + " |")
    if not rows:
        return []
    return [f"**{name}**, share of equal bytes on two devices (largest difference):", "",
            "| devices | " + " | ".join(techniques) + " |",
            "| --- |" + " --- |" * len(techniques), *rows, ""]


def refusals(results, row):
    """What each device refuses, and why."""
    found = {}
    for (device, number_of, _, _), lines in results.groups.items():
        for technique, line in lines.items():
            if number_of == row and line["state"] != "ok":
                found.setdefault((device, line["why"][:160]), set()).add(technique)
    if not found:
        return []
    return ["Refused:", ""] + [f"- {device}: {', '.join(sorted(names))}: {why}"
                               for (device, why), names in sorted(found.items())] + [""]


# ---- plots ----

def plot_bars(results, row, name, axes, device):
    lines = [(t, line["ms"]) for t, line in results.group(device, row, name).items()
             if line["state"] == "ok" and line["ms"]]
    if not lines:
        return
    times = [ms / lines[0][1] for _, ms in lines]
    axes.barh(range(len(lines)), times, color=["tab:orange" if t.startswith("fftd") else "tab:blue"
                                               for t, _ in lines])
    axes.set_yticks(range(len(lines)), [t for t, _ in lines])
    axes.invert_yaxis()
    axes.set_xlabel("time, relative to the first")


def plot_lines(results, row, name, axes, device):
    techniques = dict.fromkeys(t for (d, r, g, _), lines in results.groups.items()
                               if (d, r, g) == (device, row, name) for t in lines)
    for technique in techniques:
        points = results.series(device, row, name, technique)
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, label=technique)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylabel("ms")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=6)


def plots(results, row, folder):
    lines = []
    for plot in row.plots:
        devices = [d for d in results.devices if results.group(d, row.number, plot.group)]
        if not devices:
            continue
        figure, axes = pyplot.subplots(1, len(devices), squeeze=False, constrained_layout=True,
                                       figsize=(5.2 * len(devices), 3.4))
        for at, device in zip(axes[0], devices):
            draw = plot_bars if plot.kind == "bars" else plot_lines
            draw(results, row.number, plot.group, at, device)
            at.set_title(f"{device}: {plot.title}", fontsize=9)
            at.tick_params(labelsize=7)
            if plot.kind == "lines":
                at.set_xlabel(plot.x_label)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, plot.file)
        figure.savefig(path, dpi=90, metadata={"Software": None})
        pyplot.close(figure)
        lines += [f"![{plot.title}]({os.path.basename(folder)}/{plot.file})", ""]
    return lines


def series_table(results, row, name):
    """A group at several sizes: one table a device, techniques across."""
    lines = []
    for device in results.devices:
        sizes = sorted({x for (d, r, g, x) in results.groups if (d, r, g) == (device, row, name)})
        if not sizes:
            continue
        techniques = list(dict.fromkeys(t for x in sizes
                                        for t in results.group(device, row, name, x)))
        lines += [f"**{name}**, {device}, ms (ratio to the first):", "",
                  "| size | " + " | ".join(techniques) + " |",
                  "| --- |" + " --- |" * len(techniques)]
        for x in sizes:
            group = results.group(device, row, name, x)
            first = group.get(techniques[0])
            lines.append(f"| {x:g} | " + " | ".join(
                cell(group.get(t), first and first["ms"]) for t in techniques) + " |")
        lines.append("")
    return lines


def section(results, row, folder):
    lines = [f"## {row.number}. {row.title}", "", row.text.strip(), ""]
    lines += claim_table(results, row)
    names = results.names(row.number)
    for name in dict.fromkeys(name for name, _ in names):
        sizes = [x for other, x in names if other == name]
        if len(sizes) > 1:
            lines += series_table(results, row.number, name)
        else:
            lines += group_table(results, row.number, name, sizes[0])
            lines += comparison_table(results, row.number, name)
    lines += plots(results, row, folder)
    if row.picture and os.path.exists(os.path.join(folder, row.picture.file)):
        lines += [f"![{row.picture.title}]({os.path.basename(folder)}/{row.picture.file})", "",
                  f"{row.picture.title}.", ""]
    lines += refusals(results, row.number)
    if row.untested:
        lines += ["**Not tested here:** " + row.untested.strip(), ""]
    return lines


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = Results(sys.argv[1])
    if not results.groups:
        sys.exit(f"{sys.argv[1]}: it has no *-articles-*.jsonl; make bench-articles writes one")
    lines = ["| device | processor | measured |", "| --- | --- | --- |"]
    for name in results.devices:
        device, machine, date = results.machines[name]
        lines.append(f"| {name}: {device} | {machine} | {date} |")
    names = [os.path.basename(path) for path in results.files]
    lines += ["", "From " + ", ".join(f"[{name}](results/{name})" for name in names) + ".", ""]
    folder = os.path.join(os.path.dirname(sys.argv[2]), "articles")
    for row in ROWS:
        if row.always or results.names(row.number):
            lines += section(results, row, folder)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(HEAD + "\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
