#!/usr/bin/python3
"""Prints costs.inc, the items of cost_midgard (cost.h):
    tests/mali/costs.py FORMS COMPILER
FORMS and COMPILER are as in counts.py. An item that was counted in several kernels is their mean.
A kernel with a loop, which one stage should not have, is left out and reported.
Also prints, to the standard error, the numbers of the planner's table in daemon/transform/plan.c:
for each radix the cycles of both directions of a stage at the image, inside, last down columns,
first along rows and in the middle, in float and in half precision.
"""
import collections
import sys

import counts

HEAD = """\
/* Written by `make mali-costs`: {words, accesses} of an item for each radix, as compiled for a
 * Mali-T760 with 16 work registers, spills included (tests/mali/costs.py). */"""


def mean(numbers):
    return sum(numbers) / len(numbers)


def count_items(forms):
    """Returns {(precision, axis, place, direction): {radix: [(words, accesses), ...]}}."""
    items = collections.defaultdict(lambda: collections.defaultdict(list))
    for form in forms:
        for kernel in form.kernels:
            *place, radix = kernel.stage.split()
            work = counts.work_of_item(kernel)
            if work is None:
                print(f"costs.py: {kernel.stage} has {len(kernel.stats.loops)} loops: left out",
                      file=sys.stderr)
            else:
                items[tuple(place)][int(radix)].append(work)
    return items


PLACES = [("COLUMNS", "FIRST"), ("COLUMNS", "INNER"), ("COLUMNS", "LAST"), ("ROWS", "FIRST"),
          ("ROWS", "LAST")]


def cycles(items, precision, place, radix):
    """Returns those of both directions: two words of arithmetic or one access each; 0: none."""
    both = [items[precision, *place, direction].get(radix)
            for direction in ("FORWARD", "INVERSE")]
    return sum(max(mean([work[0] for work in works]) / 2, mean([work[1] for work in works]))
               for works in both if works)


def print_table(items, file):
    for radix in sorted(items["FLOAT", "COLUMNS", "FIRST", "FORWARD"], reverse=True):
        numbers = [[f"{cycles(items, precision, place, radix):g}" for place in PLACES]
                   for precision in ("FLOAT", "HALF")]
        print(f"{radix}: " + ", ".join("{" + ", ".join(each) + "}" for each in numbers), file=file)


def main(forms, compiler):
    print(HEAD)
    items = count_items(counts.read_forms(forms, compiler, ["--stages"], None))
    print_table(items, sys.stderr)
    for place, by_radix in sorted(items.items()):
        print("".join(f"[COST_{index}]" for index in place), "= {")
        for radix, works in sorted(by_radix.items()):
            words, accesses = map(mean, zip(*works))
            print(f"    [{radix}] = {{{words:.4g}, {accesses:.4g}}},")
        print("},")


if __name__ == "__main__":
    main(*sys.argv[1:])
