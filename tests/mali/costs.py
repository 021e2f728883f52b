#!/usr/bin/python3
"""Prints daemon/transform/midgard_costs.inc, the items of cost_midgard (daemon/transform/cost.h):
    tests/mali/costs.py FORMS COMPILER
FORMS and COMPILER are as in counts.py. An item that was counted in several kernels is their mean.
A kernel with a loop, which one stage should not have, is left out and reported.
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


def main(forms, compiler):
    print(HEAD)
    for place, by_radix in sorted(count_items(counts.read_forms(forms, compiler,
                                                                ["--stages"], None)).items()):
        print("".join(f"[COST_{index}]" for index in place), "= {")
        for radix, works in sorted(by_radix.items()):
            words, accesses = map(mean, zip(*works))
            print(f"    [{radix}] = {{{words:.4g}, {accesses:.4g}}},")
        print("},")


if __name__ == "__main__":
    main(*sys.argv[1:])
