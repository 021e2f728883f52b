#!/usr/bin/python3
"""Prints tables of what the kernels cost on a Mali-T760:
    tests/mali/counts.py FORMS COMPILER WIDTHxHEIGHT...
FORMS is the program that launches them (forms.c), COMPILER the directory of tests/mali/compiler.sh.
Mesa compiles each kernel twice: with all 16 work registers, and with the 8 that allow 128 threads.
The words of arithmetic and the accesses of a dispatch are those of its kernel, each loop as often
as forms.c says that it runs, times its items. Both sides of a branch count, unless forms.c says
which share of the items takes those between two barriers. The largest of three times is the least
that the dispatch takes: all words through the arithmetic pipes, all accesses through the
load/store pipes, all bytes through main memory. A frame takes at least their sum. The rates are
those of tests/mali/cost.c.
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys


STATS = re.compile(r"SHADER-DB: MESA_SHADER_KERNEL .* (\d+) registers, .* (\d+) loops, "
                   r"(\d+):(\d+) spills:fills, (\d+) alu, (\d+) ldst\n"
                   r"((?:SHADER-DB: (?:loop|phase) .*\n)*)")
LOOP = re.compile(r"loop (\d+) in (\d+): (\d+) alu, (\d+) ldst, once more (\d+) alu, (\d+) ldst")

PHASE = re.compile(r"phase \d+: (\d+) alu, (\d+) ldst in branches")

Loop = collections.namedtuple("Loop", "number outer alu ldst head_alu head_ldst")
Stats = collections.namedtuple("Stats", "registers spills fills alu ldst loops phases")
Kernel = collections.namedtuple("Kernel", "name items bytes trips shares stage rates stats held")
Form = collections.namedtuple("Form", "name size padded radices words accesses kernels")


def read_stats(found):
    registers, _, spills, fills, alu, ldst = map(int, found.groups()[:-1])
    loops = [Loop(*map(int, loop.groups())) for loop in LOOP.finditer(found.group(7))]
    phases = [tuple(map(int, phase.groups())) for phase in PHASE.finditer(found.group(7))]
    return Stats(registers, spills, fills, alu, ldst, loops, phases)


def compile_all(forms, compiler, sizes, registers):
    """Returns the lines of forms.c, and the counts of each kernel, in the same order."""
    build = os.path.join(os.path.abspath(compiler), "build/src")
    environment = dict(
        os.environ, LD_PRELOAD=build + "/panfrost/drm-shim/libpanfrost_noop_drm_shim.so",
        OCL_ICD_VENDORS=build + "/gallium/targets/rusticl/libRusticlOpenCL.so.1",
        PAN_GPU_ID="750", RUSTICL_ENABLE="panfrost", FFTD_DEVICE="Mali-T760",
        MESA_SHADER_CACHE_DISABLE="true", MIDGARD_MESA_DEBUG="shaderdb",
        MIDGARD_WORK_REGISTERS=str(registers))
    done = subprocess.run([forms, *sizes], env=environment, capture_output=True, text=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    stats = [read_stats(found) for found in STATS.finditer(done.stderr)]
    kernels = sum(line[0] == "kernel" for line in lines)
    if done.returncode != 0 or kernels == 0 or len(stats) != kernels:
        sys.exit(f"counts.py: {forms} ends with {done.returncode}, {kernels} kernels, "
                 f"{len(stats)} of them counted:\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return lines, stats


def read_forms(forms, compiler, sizes, held_to=8):
    """Returns the forms with their kernels, compiled with all registers and held to some; None for
    the second is faster."""
    limits = [16] if held_to is None else [16, held_to]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [*pool.map(lambda limit: compile_all(forms, compiler, sizes, limit), limits)]
    (_, *rates), *lines = runs[0][0]
    rates = [*map(float, rates)]
    counted = zip(runs[0][1], runs[-1][1])
    found = []
    for kind, *fields in lines:
        if kind == "form":
            *names, words, accesses = fields
            found.append(Form(*names, float(words), float(accesses), []))
        else:
            name, items, moved, *numbers, stage, _ = fields
            trips, shares = ([*map(float, each.split())] for each in numbers)
            found[-1].kernels.append(Kernel(name, int(items), int(moved), trips, shares, stage,
                                            rates, *next(counted)))
    return found


def work_of_item(kernel):
    """Returns the words and accesses of a mean item; None if the loops, each ending behind its
    first block, and the barriers are not those that forms.c knows."""
    alu, ldst, loops = kernel.stats.alu, kernel.stats.ldst, kernel.stats.loops
    if len(loops) != len(kernel.trips) or not all(loop.head_alu for loop in loops):
        return None
    if kernel.shares and len(kernel.shares) != len(kernel.stats.phases):
        return None
    for (phase_alu, phase_ldst), share in zip(kernel.stats.phases, kernel.shares):
        alu -= phase_alu * (1 - share)
        ldst -= phase_ldst * (1 - share)
    runs = {0: 1}
    for loop, trips in zip(loops, kernel.trips):
        outer = runs[loop.outer]
        inner = runs[loop.number] = outer * trips
        alu += loop.alu * (inner - 1) + loop.head_alu * (inner + outer - 1)
        ldst += loop.ldst * (inner - 1) + loop.head_ldst * (inner + outer - 1)
    return alu, ldst


def times(kernel, work):
    """Returns the seconds of a dispatch by each of the rates."""
    alu, ldst = work
    amounts = (alu * kernel.items, ldst * kernel.items, kernel.bytes)
    return [amount / rate for amount, rate in zip(amounts, kernel.rates)]


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def print_head(*cells):
    print_row(*cells)
    print_row(*["---"] * len(cells))


def spilled(stats):
    """Spills and fills, which say that a kernel has too few registers."""
    return f"**{stats.spills}:{stats.fills}**" if stats.spills or stats.fills else "0:0"


def threads(registers):
    return 256 if registers <= 4 else 128 if registers <= 8 else 64


def millions(number):
    return f"{number / 1e6:.1f}"


def milliseconds(seconds):
    return f"{seconds * 1e3:.2f}"


def print_kernel(kernel):
    stats, held = kernel.stats, kernel.held
    row = [kernel.name, kernel.items, stats.registers, threads(stats.registers), spilled(stats),
           spilled(held)]
    work = work_of_item(kernel)
    if work is None:
        unknown = f"unknown: {len(stats.loops)} loops, not {len(kernel.trips)}"
        if kernel.shares:
            unknown = f"unknown: {len(stats.phases) - 1} barriers, not {len(kernel.shares) - 1}"
        print_row(*row, unknown, *["?"] * 7)
        return
    time = times(kernel, work)
    print_row(*row, *(f"{each:.1f}" for each in work),
              *(millions(each * kernel.items) for each in work), millions(kernel.bytes),
              *map(milliseconds, time))


def frame(form):
    """Returns the words, accesses, bytes, the times by each rate and the least time of a frame.
    What depends on a kernel whose work is unknown is None."""
    moved = sum(kernel.bytes for kernel in form.kernels)
    works = [work_of_item(kernel) for kernel in form.kernels]
    if None in works:
        return None, None, moved, (None, None, moved / form.kernels[0].rates[2]), None
    time = [times(kernel, work) for kernel, work in zip(form.kernels, works)]
    alu, ldst = (sum(work[i] * kernel.items for kernel, work in zip(form.kernels, works))
                 for i in range(2))
    return alu, ldst, moved, tuple(map(sum, zip(*time))), sum(map(max, time))


def known(show, number):
    return "?" if number is None else show(number)


def frame_cells(form):
    alu, ldst, moved, time, least = frame(form)
    return (*(known(millions, number) for number in (alu, ldst, moved)),
            *(known(milliseconds, number) for number in time), known(milliseconds, least))


def together(stats):
    """Returns the largest number of registers, and all spills."""
    return Stats(max(each.registers for each in stats), sum(each.spills for each in stats),
                 sum(each.fills for each in stats), 0, 0, [], [])


def print_form(form):
    print(f"\n**{form.name}**: {form.size} in {form.padded}\n")
    print_head("kernel", "items", "registers", "threads", "spills:fills", "held to 8", "words",
               "accesses", "M words", "M accesses", "MB", "ms by words", "ms by accesses",
               "ms by memory")
    for kernel in form.kernels:
        print_kernel(kernel)
    alu, ldst, moved, *time, least = frame_cells(form)
    print(f"\nA frame: {alu} M words, {ldst} M accesses, {moved} MB; {time[0]}, {time[1]} and "
          f"{time[2]} ms by each, at least {least} ms.")


def model_error(form):
    """Returns by how much mali/cost.h differs from the words and accesses counted."""
    words, accesses = frame(form)[:2]
    if words is None or form.words == 0:
        return "?"
    return f"{form.words / words - 1:+.1%}, {form.accesses / accesses - 1:+.1%}"


def print_summary(size, forms):
    print(f"\n### {size}\n")
    print_head("plan", "padded", "radices", "dispatches", "registers", "spills:fills", "held to 8",
               "M words", "M accesses", "MB", "ms by words", "ms by accesses", "ms by memory",
               "at least ms", "model: words, accesses")
    for form in forms:
        full = together([kernel.stats for kernel in form.kernels])
        held = together([kernel.held for kernel in form.kernels])
        print_row(form.name, form.padded, form.radices, len(form.kernels), full.registers,
                  spilled(full), spilled(held), *frame_cells(form), model_error(form))


def main(forms, compiler, *sizes):
    found = read_forms(forms, compiler, sizes)
    for size in sizes:
        print_summary(size, [form for form in found if form.size == size])
    for form in found:
        print_form(form)


if __name__ == "__main__":
    main(*sys.argv[1:])
