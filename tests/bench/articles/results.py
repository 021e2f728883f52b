"""Stored results of the driver: which devices, and ratios within one run of one device."""

import glob
import json
import os

SHORT = [("Portable Computing Language", "PoCL"), ("llvmpipe", "rusticl on llvmpipe"),
         ("NVIDIA", "NVIDIA"), ("Mali", "Mali"), ("Oclgrind", "oclgrind")]


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


class Results:
    """Lines of all files. Of a group that a device has measured more than once, the newest run
    counts, because only figures of one run are compared."""

    def __init__(self, folder):
        self.files = sorted(glob.glob(os.path.join(folder, "*-articles-*.jsonl")))
        self.groups = {}
        self.machines = {}
        dates = {}
        for path in self.files:
            fresh = set()
            with open(path, encoding="utf-8") as file:
                for line in map(json.loads, file):
                    device = short_name(line["device"])
                    key = device, line["row"], line["group"], line["x"]
                    if key not in fresh:
                        self.groups[key] = {}
                        fresh.add(key)
                    self.groups[key][line["technique"]] = line
                    dates.setdefault(device, set()).add(line["date"])
                    self.machines[device] = (line["device"], line["machine"],
                                             ", ".join(sorted(dates[device])))
        self.devices = [name for _, name in SHORT if name in self.machines]
        self.devices += sorted(set(self.machines) - set(self.devices))

    def names(self, row):
        """The groups of a row, in the order in which they were measured."""
        return list(dict.fromkeys((group, x) for _, r, group, x in self.groups if r == row))

    def devices_of(self, row, name=None):
        """The devices that have measured a row, or one group of it."""
        known = {d for d, r, g, _ in self.groups if r == row and name in (None, g)}
        return [device for device in self.devices if device in known]

    def compare(self, one, other, row, name, technique):
        """The share of bytes that are equal on two devices, and the largest difference, or None."""
        lines = [self.group(device, row, name).get(technique) for device in (one, other)]
        if any(line is None or line.get("differences") is None for line in lines):
            return None
        a, b = map(differences, lines)
        off = [abs(a.get(i, 0) - b.get(i, 0)) for i in a.keys() | b.keys()]
        return 1 - sum(d > 0 for d in off) / lines[0]["count"], max(off, default=0)

    def group(self, device, row, name, x=None):
        return next((lines for (d, r, g, at), lines in self.groups.items()
                     if d == device and r == row and g == name and x in (None, at)), {})

    def value(self, device, row, name, technique, field="ms", x=None):
        line = self.group(device, row, name, x).get(technique)
        return line[field] if line and line["state"] == "ok" else None

    def ratio(self, device, row, name, over, under, field="ms", x=None):
        """A figure of one technique divided by that of another one in the same run."""
        above = self.value(device, row, name, over, field, x)
        below = self.value(device, row, name, under, field, x)
        return above / below if above is not None and below else None

    def series(self, device, row, name, technique, field="ms"):
        points = [(x, lines[technique][field]) for (d, r, g, x), lines in self.groups.items()
                  if d == device and r == row and g == name and technique in lines
                  and lines[technique]["state"] == "ok" and lines[technique][field] is not None]
        return sorted(points)
