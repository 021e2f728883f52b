#!/usr/bin/python3
"""Applies the model of tests/mali/cost.h to a device that can measure:
    build/tests/mali/forms --time WIDTHxHEIGHT... > TIMES         on that device
    tests/mali/fit.py FORMS COMPILER TIMES
FORMS and COMPILER are as in counts.py, which counts the same kernels. A dispatch takes the largest
of the times of its words, accesses and bytes, and a fixed time. Every second plan serves to find
the three rates and the fixed time that fit best, by the mean square of the logarithms of the
quotients; the errors are those of the other plans. Words and accesses are those of a Mali-T760's
compiler, so a rate says how fast the device does what one of them does there.
"""
import math
import sys

import counts
from costs import mean

STEPS = (4, 2, 1.4, 1.1, 1.03)  # factors by which a parameter is changed


def measured(path):
    """Returns the lines of forms --time: sizes, and seconds by (form, size, padded, radices)."""
    sizes, seconds = [], {}
    with open(path, encoding="utf-8") as lines:
        for kind, *fields in (line.rstrip("\n").split("\t") for line in lines):
            if kind == "form":
                times = seconds[tuple(fields[:4])] = []
                sizes += [fields[1]] if fields[1] not in sizes else []
            elif kind == "kernel":
                times.append(float(fields[-1]))
    return sizes, seconds


def read_plans(forms, compiler, path):
    """Returns (name, [(words, accesses, bytes, seconds) of each dispatch]) of all measured plans
    whose kernels are counted. A plan that has another name, too, is there once."""
    sizes, seconds = measured(path)
    plans, seen = [], set()
    for form in counts.read_forms(forms, compiler, sizes, None):
        times = seconds.get((form.name, form.size, form.padded, form.radices))
        works = [counts.work_of_item(kernel) for kernel in form.kernels]
        key = (form.size, form.radices, len(works))
        if times is None or None in works or key in seen:
            continue
        seen.add(key)
        plans.append((f"{form.name}: {form.size}",
                      [(work[0] * kernel.items, work[1] * kernel.items, kernel.bytes, time)
                       for kernel, work, time in zip(form.kernels, works, times, strict=True)]))
    return plans


def predict(parameters, work):
    *rates, fixed = parameters
    return fixed + max(amount / rate for amount, rate in zip(work, rates))


def badness(parameters, dispatches):
    return sum(math.log(predict(parameters, work) / time) ** 2 for *work, time in dispatches)


def fit(dispatches):
    """Returns the rates and the fixed time. It begins where each rate alone explains the fastest
    dispatch, and changes one parameter at a time while that helps."""
    best = [max(dispatch[i] / dispatch[3] for dispatch in dispatches) for i in range(3)]
    best.append(min(time for *_, time in dispatches) / 4)
    least = badness(best, dispatches)
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for i in range(4):
                for factor in (step, 1 / step):
                    tried = [*best[:i], best[i] * factor, *best[i + 1:]]
                    if badness(tried, dispatches) < least * (1 - 1e-9):
                        best, least, improved = tried, badness(tried, dispatches), True
    return best


def bound(parameters, work):
    times = [amount / rate for amount, rate in zip(work, parameters)]
    return ("words", "accesses", "bytes")[times.index(max(times))]


def main(forms, compiler, path):
    plans = read_plans(forms, compiler, path)
    if len(plans) < 2:
        sys.exit(f"fit.py: {path} has {len(plans)} plans that are counted, at least 2 are needed")
    best = fit([dispatch for _, dispatches in plans[::2] for dispatch in dispatches])
    print(f"{best[0] / 1e9:.3g} G words/s, {best[1] / 1e9:.3g} G accesses/s, "
          f"{best[2] / 1e9:.3g} GB/s, {best[3] * 1e6:.3g} us a dispatch, "
          f"from {len(plans[::2])} of {len(plans)} plans\n")
    frame_errors, dispatch_errors = [], []
    counts.print_head("plan", "dispatches", "bound by", "measured ms", "model ms", "error",
                      "mean error of a dispatch", "used to fit")
    for i, (name, dispatches) in enumerate(plans):
        took = sum(time for *_, time in dispatches)
        model = sum(predict(best, work) for *work, _ in dispatches)
        off = [abs(predict(best, work) / time - 1) for *work, time in dispatches]
        bounds = [bound(best, work) for *work, _ in dispatches]
        if i % 2 != 0:
            frame_errors.append(abs(model / took - 1))
            dispatch_errors += off
        counts.print_row(name, len(dispatches),
                         ", ".join(f"{bounds.count(each)} {each}" for each in sorted({*bounds})),
                         f"{took * 1e3:.3f}", f"{model * 1e3:.3f}", f"{model / took - 1:+.0%}",
                         f"{mean(off):.0%}", "yes" if i % 2 == 0 else "no")
    print(f"\nMean error where it was not fitted: {mean(frame_errors):.0%} of a frame, "
          f"{mean(dispatch_errors):.0%} of a dispatch.")


if __name__ == "__main__":
    main(*sys.argv[1:])
