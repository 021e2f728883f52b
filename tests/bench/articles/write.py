#!/usr/bin/python3
"""Writes docs/ARTICLES.md and its plots from what the driver has stored, and from nothing else.

    tests/bench/articles/write.py docs/results docs/ARTICLES.md

Every figure in a table is of one run on one device, and every verdict follows from a figure's
interval and the range that is given with the claim in claims.py.
"""

import itertools
import os
import sys

from claims import INF, ROWS
from results import CONFIDENCE, LEAST_PAIRS, Results, milliseconds

EQUIVALENT = 1.05  # times: two techniques whose ratio is certainly less are equally fast
OURS = ("-", "open question", "expected to be")  # what was published where there is no figure
WORDS = ("reproduced", "less", "more", "refuted", "no difference", "not decided", "yes", "no")

HEAD = f"""\
# The published results, reproduced one by one

fftd grew from published work on FFT image filtering on small GPUs: three articles of ARM on a
mixed-radix FFT for Mali, one on a vectorised radix-2 FFT, its guide to convolution, Intel's FFT
for image processing in DirectX 11, and OpenVX. Each technique of them is rebuilt in
[tests/bench/articles](../tests/bench/articles), compared with a reference in double precision,
and then timed in turns with the others of its group and with fftd itself.

This document is written by `make docs-articles` from [docs/results](results) alone. The
techniques of a group are timed in rounds, at least {LEAST_PAIRS}. The turns of one round are a
pair, so that the load of a machine is the same for both. A ratio is the median of the pairs'
ratios; behind it is the interval in which a bootstrap of the pairs finds {CONFIDENCE} % of such
medians. Only ratios within one group of one device mean something. In tables of times a number in
brackets is the ratio of medians to the first line.

A verdict is about the claim on that device, and about the whole interval:

| verdict | the interval |
| --- | --- |
| reproduced | is inside the range in which the published figure would be found again |
| less, more | is beside it, on the published side of 1 |
| refuted | contradicts the claim |
| no difference | says that both are equally fast, within {100 * (EQUIVALENT - 1):.0f} % |
| not decided | meets both |
| yes, no | as above, where no figure was published |

Where a dispatch of both techniques took less than twice the time of a launch that does nothing, the
ratio is one of launches, and says nothing about kernels: *not decided, launches*. Such claims need
larger sizes. Sizes are those that were published, unless the table of devices says *small*, for
devices on which those would take hours, *large*, for devices on which launches would decide, or
*quick*, for a simulator that counts instructions and accesses of memory instead of time.

"""


def number(value):
    if value is None:
        return "-"
    if value == INF:
        return "never"
    if 0.999 < value < 1:
        return f"{value:.6f}"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return f"{value:.1e}"


def judge(figure, claim):
    """The word for a figure; None: the claim has no range."""
    yes, no = ("yes", "no") if claim.published in OURS else ("reproduced", "refuted")
    if claim.low is None:
        return None
    if figure.value == INF:
        return no
    if figure.launches and not claim.launches:
        return "not decided, launches"
    is_ratio_above_1 = claim.low == 1 and claim.high == INF
    if is_ratio_above_1 and figure.low == figure.high == 1:
        return "no difference"
    is_measured = figure.low < figure.high  # and not counted
    if (is_ratio_above_1 and is_measured and 1 / EQUIVALENT <= figure.low
            and figure.high <= EQUIVALENT):
        return "no difference"
    if claim.low <= figure.low and figure.high <= claim.high:
        return yes
    if figure.high < claim.low:
        return no if claim.strict or figure.high < 1 or is_ratio_above_1 else "less"
    if figure.low > claim.high:
        return no if claim.strict else "more"
    return "not decided"


def verdict(figure, claim):
    if figure is None:
        return "-"
    interval = ("" if figure.low == figure.high else
                f" ({number(figure.low)} .. {number(figure.high)})")
    word = judge(figure, claim)
    return number(figure.value) + interval + (f": {word}" if word else "")


def span(claim):
    if claim.low is None:
        return "-"
    if claim.low == claim.high:
        return number(claim.low)
    if claim.high == INF:
        return f"{number(claim.low)} and more"
    low = "" if claim.low == -INF else f"{number(claim.low)} "
    return f"{low}.. {number(claim.high)}"


def claim_table(results, row):
    figures = [[claim.measure(results, device) for device in results.devices]
               for claim in row.claims]
    used = [i for i in range(len(results.devices)) if any(line[i] for line in figures)]
    lines = ["| claim | published | range | "
             + " | ".join(results.devices[i] for i in used) + " |",
             "| --- | --- | --- |" + " --- |" * len(used)]
    for claim, line in zip(row.claims, figures):
        cells = [verdict(line[i], claim) for i in used]
        if set(cells) - {"-"}:
            lines.append(f"| {claim.text} | {claim.published} | {span(claim)} | "
                         + " | ".join(cells) + " |")
    return lines + [""] if len(lines) > 2 else []


def summary(results):
    """How many claims have which verdict on each device."""
    lines = ["| device | " + " | ".join(WORDS) + " |", "| --- |" + " --- |" * len(WORDS)]
    for device in results.devices:
        found = [judge(figure, claim) for row in ROWS for claim in row.claims
                 if (figure := claim.measure(results, device)) is not None]
        found = [word.partition(",")[0] for word in found if word]
        lines.append(f"| {device} | " + " | ".join(str(found.count(word)) for word in WORDS)
                     + " |")
    return lines + [""]


def cell(line, first_ms):
    if line is None:
        return "-"
    if line["state"] != "ok":
        return line["state"]
    ms = milliseconds(line)
    if ms is None:
        return "right"
    ratio = f" ({number(ms / first_ms)})" if first_ms else ""
    return number(ms) + ratio


def first_ms(lines, techniques):
    line = lines.get(techniques[0])
    return milliseconds(line) if line and line["state"] == "ok" else None


def shared(lines, field, unit=1):
    """A count: one number if it is the same on all devices, otherwise one for each."""
    counts = [line[field] / unit for line in lines if line["state"] == "ok" and line[field]]
    texts = [f"{count:.4g}" for count in counts]
    return " / ".join(texts if len(set(texts)) > 1 else texts[:1]) or "-"


def timed_devices(results, row, name):
    return [device for device in results.devices_of(row, name)
            if any(line["turns_ms"] for line in results.group(device, row, name).values())]


def group_table(results, row, name):
    """A simulator's column would only say that all is right."""
    devices = timed_devices(results, row, name) or results.devices_of(row, name)
    groups = {device: results.group(device, row, name) for device in devices}
    techniques = list(dict.fromkeys(t for lines in groups.values() for t in lines))
    every = [line for lines in groups.values() for line in lines.values()]
    fields = [(field, title) for field, title in (
        ("read_bytes", "MB read"), ("written_bytes", "MB written"), ("moved_bytes", "MB moved"))
              if any(line.get(field) for line in every)]
    if len(fields) == 3 and all(line["read_bytes"] for line in every):
        fields.pop()
    lines = [f"**{name}**, ms a frame:", "",
             "| technique | dispatches | "
             + " | ".join([title for _, title in fields] + devices) + " |",
             "| --- | --- |" + " --- |" * (len(fields) + len(devices))]
    for technique in techniques:
        found = [groups[device][technique] for device in devices if technique in groups[device]]
        cells = [technique, shared(found, "dispatches"),
                 *(shared(found, field, 1e6) for field, _ in fields),
                 *(cell(groups[device].get(technique), first_ms(groups[device], techniques))
                   for device in devices)]
        lines.append("| " + " | ".join(cells) + " |")
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


def endings(results, row):
    """What was refused by each device, or has failed, and why."""
    found = {}
    for (device, number_of, _, _), lines in results.groups.items():
        for technique, line in lines.items():
            if number_of == row and line["state"] != "ok":
                key = line["state"], device, line["why"][:160]
                found.setdefault(key, set()).add(technique)
    return [f"- {state} on {device}: {', '.join(sorted(names))}: {why}"
            for (state, device, why), names in sorted(found.items())] + ([""] if found else [])


# ---- plots ----

def plot_bars(results, row, name, axes, device):
    sizes = [x for d, r, g, x in results.groups if (d, r, g) == (device, row, name)]
    group = max((results.group(device, row, name, x) for x in sorted(sizes)), key=len)
    lines = [(t, milliseconds(line)) for t, line in group.items()
             if line["state"] == "ok" and line["turns_ms"]]
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


def draw_plots(results, folder):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    os.makedirs(folder, exist_ok=True)
    for row, plot in ((row, plot) for row in ROWS for plot in row.plots):
        devices = timed_devices(results, row.number, plot.group)
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
        figure.savefig(os.path.join(folder, plot.file), dpi=90, metadata={"Software": None})
        pyplot.close(figure)


# ---- the document ----

def series_table(results, row, name):
    """A group at several sizes: one table a device, techniques across."""
    lines = []
    for device in timed_devices(results, row, name):
        sizes = sorted(x for (d, r, g, x) in results.groups if (d, r, g) == (device, row, name))
        techniques = list(dict.fromkeys(t for x in sizes
                                        for t in results.group(device, row, name, x)))
        lines += [f"**{name}**, {device}, ms (ratio to the first):", "",
                  "| size | " + " | ".join(techniques) + " |",
                  "| --- |" + " --- |" * len(techniques)]
        for x in sizes:
            group = results.group(device, row, name, x)
            lines.append(f"| {x:.0f} | " + " | ".join(
                cell(group.get(t), first_ms(group, techniques)) for t in techniques) + " |")
        lines.append("")
    return lines


def photograph_table(results, row, name):
    """PSNR is no device's, and so one device's lines are everybody's."""
    lines = results.group(results.devices_of(row, name)[0], row, name)
    return [f"**{name}**, PSNR of the colours in dB:", "",
            "| photograph | bilinear | gradients |", "| --- | --- | --- |",
            *(f"| {photograph} | {line['bilinear_psnr']:.2f} | {line['gradients_psnr']:.2f} |"
              for photograph, line in lines.items()), ""]


def miss_table(results, row, name):
    lines = results.group(results.devices_of(row, name)[0], row, name)
    return [f"**{name}**, misses:", "", "| technique | first cache | last cache |",
            "| --- | --- | --- |",
            *(f"| {technique} | {line['first_misses']} | {line['last_misses']} |"
              for technique, line in lines.items()), ""]


def has(results, row, name, field):
    return any(field in line for device in results.devices_of(row, name)
               for line in results.group(device, row, name).values())


def section(results, row, folder):
    lines = [f"## {row.number}. {row.title}", "", row.text.strip(), ""]
    lines += claim_table(results, row)
    names = results.names(row.number)
    for name in dict.fromkeys(name for name, _ in names):
        if has(results, row.number, name, "bilinear_psnr"):
            lines += photograph_table(results, row.number, name)
        elif has(results, row.number, name, "first_misses"):
            lines += miss_table(results, row.number, name)
        elif len([x for other, x in names if other == name]) > 1:
            lines += series_table(results, row.number, name)
        else:
            lines += group_table(results, row.number, name)
            lines += comparison_table(results, row.number, name)
    for plot in row.plots:
        if timed_devices(results, row.number, plot.group):
            lines += [f"![{plot.title}]({folder}/{plot.file})", ""]
    if row.picture and any(name == row.picture.group for name, _ in names):
        lines += [f"![{row.picture.title}]({folder}/{row.picture.file})", "",
                  f"{row.picture.title}.", ""]
    lines += endings(results, row.number)
    if row.untested:
        lines += ["**Not tested here:** " + row.untested.strip(), ""]
    return lines


def document(results, folder="articles"):
    lines = ["| device | processor | measured | commit | sizes | load before |",
             "| --- | --- | --- | --- | --- | --- |"]
    for name in results.devices:
        runs = results.runs[name]
        fields = [", ".join(dict.fromkeys(str(run[field]) for run in runs if field in run))
                  for field in ("machine", "date", "commit", "sizes", "load")]
        lines.append(f"| {name}: {runs[0]['device']} | " + " | ".join(fields) + " |")
    names = [os.path.basename(path) for path in results.files]
    lines += ["", "From " + ", ".join(f"[{name}](results/{name})" for name in names) + ".", "",
              "How many claims of the rows below have which verdict:", "", *summary(results)]
    for row in ROWS:
        lines += section(results, row, folder)
    return HEAD + "\n".join(lines).rstrip() + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = Results(sys.argv[1])
    if not results.groups:
        sys.exit(f"{sys.argv[1]}: it has no articles-*.jsonl; make bench-articles writes one")
    draw_plots(results, os.path.join(os.path.dirname(sys.argv[2]), "articles"))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(document(results))


if __name__ == "__main__":
    main()
