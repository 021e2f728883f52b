#!/usr/bin/python3
"""A campaign against the real daemon and its clients, for as long as one likes:

    campaign.py [--replay FILE]

Without a file it makes new episodes from each seed of $CAMPAIGN_SEED in turn (without one, from the
date and the time), for $CAMPAIGN_SECONDS. FILE is the episode that a failure has left in
build/campaign.

An episode is one world (world.py), whose faults and configuration are drawn from its seed, and a
sequence of steps (steps.py) or of hostile rings (hostile.py). After each step everything is checked
that must be true of any daemon. An episode that fails is made shorter while it still fails in the
same way, and is printed as a test. The same seed gives the same steps; how they meet the daemon's
threads is chance.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/campaign"), str(ROOT / "tests/integration")]
# pylint: disable=wrong-import-position
import hostile  # noqa: E402
import steps  # noqa: E402
import values  # noqa: E402
import world  # noqa: E402
from conftest import BUILD, SANITIZED  # noqa: E402
from world import Failure, World, check  # noqa: E402

EPISODE_STEPS = 60
HOSTILE_SHARE = 0.12  # of the episodes
SHRINK_SECONDS = 90
REPEATS = 2  # how often a shorter sequence may pass before it is believed to be another one


class Facts:
    """What the daemon tells of itself: methods, properties, filters, keys, presets."""

    def __init__(self):
        with contextlib.closing(World({"faults": "none", "config": {}})) as made:
            text = made.owner("Introspect",
                              interface="org.freedesktop.DBus.Introspectable").message
            camera = text.partition('<interface name="org.fftd.Camera1">')[2]
            camera = camera.partition("</interface>")[0]
            self.methods = re.findall(r'<method name="(\w+)"', camera)
            self.properties = re.findall(r'<property name="(\w+)"', camera)
            for method in re.findall(r"<method.*?</method>", camera, re.DOTALL):
                name = re.search(r'name="(\w+)"', method)[1]
                steps.SIGNATURES[name] = "".join(re.findall(
                    r'<arg type="([^"]+)"[^>]*direction="in"', method))
            for name in re.findall(r'<method name="(\w+)"/>', camera):
                steps.SIGNATURES[name] = ""
            self.kinds = world.body_of(made.owner("ListFilters"))[0]
            self.presets = made.owner("ListPresets").strings
        self.check_rules()

    def check_rules(self):
        """What is new in the daemon needs a rule here."""
        unknown = set(self.methods) ^ set(steps.METHODS)
        check(not unknown, "rules", f"methods with no row in steps.METHODS, or rows with no method:"
                                    f" {sorted(unknown)}")
        listed = subprocess.run([BUILD / "fftd", "--check"], capture_output=True, text=True,
                                check=True).stdout
        keys, group = set(), ""
        for line in listed.splitlines():
            if found := re.match(r"(\w+) = \{", line):
                group = found[1] + "."
            elif line.startswith("}"):
                group = ""
            elif found := re.match(r"\s*(\w+) = ", line):
                keys.add(group + found[1])
        unknown = keys ^ set(values.KEYS)
        check(not unknown, "rules", f"keys with no row in values.KEYS, or rows with no key: "
                                    f"{sorted(unknown)}")
        check(self.kinds and self.presets and self.properties, "rules", "the daemon lists nothing")


# ---- episodes ----

def can_fill_disks():
    with tempfile.TemporaryDirectory() as path:
        return subprocess.run(["unshare", "-m", "sh", "-c", world.FULL_DISK, path, "blocks",
                               "true"], capture_output=True, check=False).returncode == 0


def flavours():
    """Those that can be had here, and why the others cannot."""
    left_out = {}
    if not can_fill_disks():
        left_out["disk"] = "mounting a file system is not permitted here"
    if SANITIZED:
        left_out["allocations"] = "the sanitizer has an allocator of its own"
    return [name for name in World.FLAVOURS if name not in left_out], left_out


def make_episode(seed, facts, possible):
    rng = random.Random(seed)
    if rng.random() < HOSTILE_SHARE:
        return {"hostile": hostile.choose(rng)}
    # Half of the episodes have no faults, so that every kind of call is made where it can be done.
    flavour = rng.choice(["none"] * 3 + possible)
    config = {"engine.technique": "staged"}
    for key, (valid, _) in values.KEYS.items():
        if valid and key not in (*values.SOURCE_KEYS, "filter") and rng.random() < 0.15:
            config[key] = rng.choice(valid)
    chosen = [(name, weight, choose) for name, (weight, choose, _, only) in steps.STEPS.items()
              if only in (None, flavour)]
    names = rng.choices(chosen, [weight for _, weight, _ in chosen], k=EPISODE_STEPS)
    readers = [["open_reader", user] for user in (1, 2) if rng.random() < 0.7]
    return {"setup": {"faults": flavour, "config": config},
            "steps": readers + [[name, *choose(rng, facts)] for name, _, choose in names]}


class Tally:
    """What the whole campaign has done."""

    def __init__(self):
        self.steps = collections.Counter()
        self.calls = self.pixels = self.episodes = 0
        self.slow_calls = {}
        self.begin = time.monotonic()

    def __str__(self):
        seconds = time.monotonic() - self.begin
        count = sum(self.steps.values())
        return (f"{self.episodes} episodes, {count} steps, {count / seconds:.1f} steps a second, "
                f"{self.calls} calls, {self.pixels} frames compared with their filter")


def run_episode(episode, tally, deadline=float("inf")):
    """Returns the Failure, or None."""
    if "hostile" in episode:
        tally.steps["hostile"] += len(episode["hostile"]["rings"])
        return hostile.run(episode["hostile"])
    made, taken = None, []
    try:
        made = World(episode["setup"])
        for name, *arguments in episode["steps"]:
            if time.monotonic() > deadline:
                break
            if not made.runs and name not in ("spoil_clip", "release_loans"):
                steps.restart_if_ended(made)
            made.method = name
            taken.append(name)
            steps.STEPS[name][2](made, *arguments)
            made.alive()
        if time.monotonic() < deadline:
            made.finish()
    except Failure as failure:
        failure.steps = len(taken)
        return failure
    except (AssertionError, EOFError, OSError, KeyError, ValueError, TypeError) as error:
        if made is not None and made.daemon is not None:
            # A daemon that has died is why everything else fails.
            try:
                made.alive()
                made.scan_log()
            except Failure as failure:
                return failure
        return Failure(type(error).__name__, f"{error}\n{traceback.format_exc(limit=-4)}")
    finally:
        tally.steps.update(taken)
        if made is not None:
            tally.calls += made.calls
            tally.pixels += made.pixels_checked
            for member, call in made.slow_calls.items():
                tally.slow_calls[member] = max(call, tally.slow_calls.get(member, call))
            made.close()
    return None


# ---- shorter ----

def fails_alike(episode, kind, tally):
    for _ in range(REPEATS):
        failure = run_episode(episode, tally)
        if failure is not None:
            return failure if failure.kind == kind else None
    return None


def shrink(episode, failure, tally, seconds=SHRINK_SECONDS):
    """Leaves out ever smaller parts of the sequence, and then settings, while the episode fails in
    the same way. Returns the shortest one that failed, and how."""
    deadline = time.monotonic() + seconds
    part = "rings" if "hostile" in episode else "steps"
    inner = episode.get("hostile", episode)

    def attempt(sequence, config=None):
        nonlocal inner, failure
        shorter = {**inner, part: sequence}
        if config is not None:
            shorter["setup"] = {**inner["setup"], "config": config}
        found = fails_alike({"hostile": shorter} if "hostile" in episode else shorter,
                            failure.kind, tally)
        if found is None:
            return False
        inner, failure = shorter, found
        return True

    attempt(inner[part][:failure.steps])
    size = max(1, len(inner[part]) // 2)
    while time.monotonic() < deadline:
        at, was_shorter = 0, False
        while at < len(inner[part]) and time.monotonic() < deadline:
            shorter = inner[part][:at] + inner[part][at + size:]
            if len(shorter) < len(inner[part]) and attempt(shorter):
                was_shorter = True
            else:
                at += size
        if size == 1 and not was_shorter:
            break
        size = max(1, size // 2)
    for key in list(inner.get("setup", {}).get("config", {})):
        if time.monotonic() < deadline:
            attempt(inner[part], {name: value for name, value in inner["setup"]["config"].items()
                                  if name != key})
    return ({"hostile": inner} if "hostile" in episode else inner), failure


def as_test(episode, seed, failure):
    """A file for tests/integration."""
    name = re.sub(r"\W+", "_", failure.kind).strip("_")
    lines = "\n".join(f"    {line}" for line in pretty(episode).splitlines())
    return f'''"""Found by `make campaign SEED={seed}`: {first_line(failure)}"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "campaign"))
from campaign import replay  # noqa: E402


def test_{name}_{abs(hash_of(seed))}():
    replay(
{lines})
'''


def hash_of(seed):
    return int(re.sub(r"\D", "", str(seed)) or 0)


def first_line(failure):
    return str(failure).split("\n", maxsplit=1)[0][:300].replace('"""', "'''")


def pretty(episode):
    if "hostile" in episode:
        return repr(episode)
    steps_ = ",\n".join(f"         {step!r}" for step in episode["steps"])
    return f'{{"setup": {episode["setup"]!r},\n "steps": [\n{steps_}]}}'


def replay(episode):
    """For a test: fails as the campaign did."""
    failure = run_episode(episode, Tally())
    assert failure is None, failure


# ---- the campaign ----

def report(episode, seed, failure, tally):
    print(f"FAILED: seed {seed}: {failure}", flush=True)
    episode, failure = shrink(episode, failure, tally)
    place = pathlib.Path("build/campaign")
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{seed}.json"
    path.write_text(json.dumps(episode))
    print(f"the shortest sequence that fails so; again: make campaign REPLAY={path}"
          f"\n\n{as_test(episode, seed, failure)}\n{failure}", flush=True)


def campaign(seeds, seconds, facts):
    """Runs episodes of each seed in turn. Returns how many have failed."""
    possible, left_out = flavours()
    for name, why in left_out.items():
        print(f"# figures: left out: faults of {name}: {why}")
    if lack := world.lack_of_root():
        print(f"# figures: one user instead of five: {lack}")
    tally, kinds, number = Tally(), {}, 0
    for client in hostile.CLIENTS:
        if why := hostile.lack(client):
            print(f"# figures: left out: hostile rings for {client}: {why}")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seed, turn = str(seeds[number % len(seeds)]), number // len(seeds)
        if "." not in seed or turn > 0:  # "7.3" is the fourth episode of the seed 7
            seed += f".{turn}"
        number += 1
        episode = make_episode(seed, facts, possible)
        failure = run_episode(episode, tally, deadline + 5)
        tally.episodes += 1
        if failure is None:
            continue
        if failure.kind in kinds:  # another example of what is known by now
            kinds[failure.kind] += 1
            continue
        kinds[failure.kind] = 1
        report(episode, seed, failure, tally)
    print(f"# figures: seeds {' '.join(map(str, seeds))}: {tally}")
    print("# steps: " + ", ".join(f"{name} {count}" for name, count in sorted(tally.steps.items())))
    for _, text in tally.slow_calls.values():
        print(f"# figures: finding: {text}, expected at most {world.CALL_BUDGET_MS}")
    for kind, count in kinds.items():
        print(f"# failed: {kind}: {count} episodes")
    return kinds


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--replay", metavar="FILE")
    args = parser.parse_args()
    os.umask(0o022)
    if args.replay:
        failure = run_episode(json.loads(pathlib.Path(args.replay).read_text()), Tally())
        print(failure or "it passes")
        return 1 if failure else 0
    seeds = os.environ.get("CAMPAIGN_SEED", "").split() or [time.strftime("%Y%m%d%H%M%S")]
    seconds = float(os.environ.get("CAMPAIGN_SECONDS") or 60)
    print(f"# seeds {' '.join(seeds)}: again with SEED='{' '.join(seeds)}'", flush=True)
    print("1..2")
    try:
        facts = Facts()
    except Failure as failure:
        print(f"{failure}\nnot ok 1 - every method, key and filter has a rule")
        return 1
    print("ok 1 - every method, key and filter has a rule", flush=True)
    failed = campaign(seeds, seconds, facts)
    print(f"{'not ' if failed else ''}ok 2 - everything holds that must: seeds {' '.join(seeds)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
