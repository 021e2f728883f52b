#!/usr/bin/python3
"""Prints tables of the registers, spills and instructions of the kernels on a Mali-T760:
    tests/mali/counts.py FORMS COMPILER WIDTHxHEIGHT...
FORMS is the program that launches them (forms.c), COMPILER the directory of tests/mali/compiler.sh.
Mesa compiles each kernel twice: with all 16 work registers, and with the 8 that allow 128 threads.
The last row of a plan has the largest number of registers, and the sums of the other columns.
"""
import os
import re
import subprocess
import sys

STATS = re.compile(r"SHADER-DB: .* (\d+) registers, .* (\d+) loops, (\d+):(\d+) spills:fills, "
                   r"(\d+) alu, (\d+) ldst")


def compile_all(forms, compiler, sizes, registers):
    """Returns the lines of forms.c, and the compiler's line for each kernel, in the same order."""
    build = os.path.join(os.path.abspath(compiler), "build/src")
    environment = dict(
        os.environ, LD_PRELOAD=build + "/panfrost/drm-shim/libpanfrost_noop_drm_shim.so",
        OCL_ICD_VENDORS=build + "/gallium/targets/rusticl/libRusticlOpenCL.so.1",
        PAN_GPU_ID="750", RUSTICL_ENABLE="panfrost", FFTD_DEVICE="Mali-T760",
        MESA_SHADER_CACHE_DISABLE="true", MIDGARD_MESA_DEBUG="shaderdb",
        MIDGARD_WORK_REGISTERS=str(registers))
    done = subprocess.run([forms, *sizes], env=environment, capture_output=True, text=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    stats = [tuple(map(int, found.groups())) for found in STATS.finditer(done.stderr)]
    kernels = sum(line[0] == "kernel" for line in lines)
    if done.returncode != 0 or kernels == 0 or len(stats) != kernels:
        sys.exit(f"counts.py: {forms} ends with {done.returncode}, {kernels} kernels, "
                 f"{len(stats)} of them counted:\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return lines, stats


def threads(registers):
    return 256 if registers <= 4 else 128 if registers <= 8 else 64


def together(stats):
    registers, *others = zip(*stats)
    return max(registers), *map(sum, others)


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def print_counts(name, items, full, held):
    registers, loops, spills, fills, alu, ldst = full
    print_row(name, items, registers, threads(registers), f"{spills}:{fills}",
              f"{held[2]}:{held[3]}", alu, ldst, loops)


def print_plan(name, size, padded, traffic, kernels):
    print(f"\n**{name}**: {size} in {padded}, {traffic} B/pixel\n")
    print_row("kernel", "items", "registers", "threads", "spills:fills", "held to 8", "arithmetic",
              "loads, stores", "loops")
    print_row(*["---"] * 9)
    for kernel in kernels:
        print_counts(*kernel)
    _, _, full, held = zip(*kernels)
    print_counts(f"all {len(kernels)}", "", together(full), together(held))


def main(forms, compiler, *sizes):
    lines, stats = compile_all(forms, compiler, sizes, 16)
    counted = zip(stats, compile_all(forms, compiler, sizes, 8)[1])
    plans = []
    for kind, *fields in lines:
        if kind == "form":
            plans.append((*fields, []))
        else:
            plans[-1][-1].append((*fields, *next(counted)))
    for plan in plans:
        print_plan(*plan)


if __name__ == "__main__":
    main(*sys.argv[1:])
