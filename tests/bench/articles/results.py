"""Stored results: which devices, and figures with their intervals, by pairs of turns.

A file has one line for each run, with the device, the commit and the date, and after it one line
for each technique. Techniques of one group were timed in rounds; their turns of one round are a
pair. A ratio is the median of the pairs' ratios, and its interval is that of a bootstrap.
"""

import glob
import json
import os
import typing

import numpy

LEAST_PAIRS = 15
RESAMPLES = 4000
CONFIDENCE = 95  # per cent
SHORT = [("Portable Computing Language", "PoCL"), ("llvmpipe", "rusticl on llvmpipe"),
         ("NVIDIA", "NVIDIA"), ("Mali", "Mali"), ("Oclgrind", "oclgrind")]


class Figure(typing.NamedTuple):
    """A figure and what it may be. launches: launches and not kernels took most of the time."""
    value: float
    low: float
    high: float
    launches: bool = False


def exactly(value):
    """The figure of what was counted or compared, and None for None."""
    return None if value is None else Figure(value, value, value)


def estimate(pairs):
    """The median of pairs with its bootstrapped interval. None: there are too few."""
    pairs = numpy.asarray(pairs)
    if len(pairs) < LEAST_PAIRS:
        return None
    # The same seed each time, so that a document can be written again byte for byte.
    picks = numpy.random.RandomState(1).randint(0, len(pairs), (RESAMPLES, len(pairs)))
    medians = numpy.median(pairs[picks], axis=1)
    low, high = numpy.percentile(medians, [50 - CONFIDENCE / 2, 50 + CONFIDENCE / 2])
    return Figure(float(numpy.median(pairs)), float(low), float(high))


def short_name(device):
    return next((name for part, name in SHORT if part in device), device)


def differences(line):
    """How much each byte is above the rounded reference, by index, of those that differ from it."""
    found, at = {}, 0
    for part in line["differences"].split():
        sign = "+" if "+" in part else "-"
        step, amount = part.split(sign)
        at += int(step)
        found[at] = int(sign + amount)
    return found


def milliseconds(line):
    return float(numpy.median(line["turns_ms"])) if line["turns_ms"] else None


class Results:
    def __init__(self, folder):
        self.files = sorted(glob.glob(os.path.join(folder, "articles-*.jsonl")))
        self.groups = {}  # (device, row, group, x): {technique: line}
        self.runs = {}  # device: the lines of its runs
        for path in self.files:
            with open(path, encoding="utf-8") as file:
                for line in map(json.loads, file):
                    if "bench" in line:
                        device = short_name(line["device"])
                        self.runs.setdefault(device, []).append(line)
                    else:
                        key = device, line["row"], line["group"], line["x"]
                        self.groups.setdefault(key, {})[line["technique"]] = line
        self.devices = [name for _, name in SHORT if name in self.runs]
        self.devices += sorted(set(self.runs) - set(self.devices))

    def names(self, row):
        """The groups of a row, in the order in which they were measured, with their sizes."""
        return list(dict.fromkeys((group, x) for _, r, group, x in self.groups if r == row))

    def devices_of(self, row, name):
        """The devices that have measured a group."""
        known = {d for d, r, g, _ in self.groups if (r, g) == (row, name)}
        return [device for device in self.devices if device in known]

    def group(self, device, row, name, x=None):
        """Its techniques; without x at the largest size."""
        if x is None:
            x = max((at for d, r, g, at in self.groups if (d, r, g) == (device, row, name)),
                    default=None)
        return self.groups.get((device, row, name, x), {})

    def sizes(self, device, row, name, *techniques):
        """The sizes at which all these techniques have a result."""
        return sorted(x for (d, r, g, x), lines in self.groups.items()
                      if (d, r, g) == (device, row, name)
                      and all(t in lines and lines[t]["state"] == "ok" for t in techniques))

    def value(self, device, row, name, technique, field, x=None):
        sizes = [x] if x is not None else self.sizes(device, row, name, technique)[-1:]
        line = self.group(device, row, name, sizes[0]).get(technique) if sizes else None
        return line.get(field) if line and line["state"] == "ok" else None

    def ratio(self, device, row, name, over, under, x=None):
        """The time of one technique divided by that of another one, without x at the largest size
        at which both were timed."""
        sizes = self.sizes(device, row, name, over, under)
        if x is None and sizes:
            x = sizes[-1]
        if x not in sizes:
            return None
        lines = [self.group(device, row, name, x)[t] for t in (over, under)]
        figure = estimate([a / b for a, b in zip(lines[0]["turns_ms"], lines[1]["turns_ms"])])
        return figure and figure._replace(
            launches=all(self.is_launches(device, line) for line in lines))

    def is_launches(self, device, line):
        """Whether a dispatch took less than twice the time of a launch that does nothing."""
        launch = next(iter(self.group(device, 7, "launches").values()), None)
        if launch is None or not launch["turns_ms"] or not line["dispatches"]:
            return False
        return (milliseconds(line) / line["dispatches"] <
                2 * milliseconds(launch) / launch["dispatches"])

    def frames(self, device, row, name, x, steps):
        """The summed times of some steps, frame by frame. A step that the device does not report
        is left out. None: there is none."""
        lines = [self.group(device, row, name, x).get(step) for step in steps]
        turns = [line["turns_ms"] for line in lines if line and line["turns_ms"]]
        if not turns:
            return None
        return numpy.array([sum(frame) for frame in zip(*turns)])

    def compare(self, one, other, row, name, technique):
        """The share of bytes that are equal on two devices, and the largest difference, or None."""
        lines = [self.group(device, row, name).get(technique) for device in (one, other)]
        if any(line is None or line.get("differences") is None for line in lines):
            return None
        a, b = map(differences, lines)
        off = [abs(a.get(i, 0) - b.get(i, 0)) for i in a.keys() | b.keys()]
        return 1 - sum(d > 0 for d in off) / lines[0]["count"], max(off, default=0)

    def series(self, device, row, name, technique):
        return [(x, milliseconds(self.group(device, row, name, x)[technique]))
                for x in self.sizes(device, row, name, technique)
                if self.group(device, row, name, x)[technique]["turns_ms"]]
