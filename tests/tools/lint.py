#!/usr/bin/python3
"""The rules of the tree, checked. Speaks TAP, one test a rule; tests/tools/run.py counts them.

    lint.py quick       the rules that take seconds: formatting, includes, headers, scripts, kernels
    lint.py warnings    gcc's, clang's, clang-tidy's and cppcheck's warnings
    lint.py analyzer    clang's analyzer, which takes minutes

`make lint` runs `quick` and `warnings`, `make lint-quick` the first alone, `make lint-analyzer` the
last. All three set LINT_FLAGS to the build's flags.
"""

import ast
import concurrent.futures
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import lint_tree
from lint_tree import files

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = shlex.split(os.environ.get("LINT_FLAGS", "")) + ["-Itests", "-Iclient", "-std=c11"]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

KERNEL_FLAGS = ["-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-fsyntax-only", "-Xclang",
                "-finclude-default-header", "-Wall", "-Werror",
                # Functions and names that only some plans use.
                "-Wno-unused-function", "-Wno-unused-variable"]


def run(*command, env=None):
    """The output of a command that fails; nothing if it succeeds."""
    done = subprocess.run([str(word) for word in command], text=True, errors="replace", env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return [] if done.returncode == 0 else done.stdout.splitlines() or [f"{command[0]} failed"]


def run_all(commands):
    """The same for several commands, on all processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(itertools.chain.from_iterable(pool.map(lambda each: run(*each), commands)))


def scripts(interpreter):
    def begins_so(path):
        with open(path, "rb") as file:
            return re.match(rb"#!\S*" + interpreter.encode() + rb"\b", file.readline())
    return [path for path in files() if os.path.isfile(path) and begins_so(path)]


def check_format():
    return run("clang-format", "--dry-run", "-Werror", *files("*.c", "*.h", "*.cl"))


def check_targets():
    """Each target that make knows has one help line, and documents name only such targets."""
    found, helped = [], set()
    for path in files("Makefile", "*.mk"):
        for number, line in enumerate(open(path), 1):
            if named := re.match(r"\.PHONY: (?!_)(.*)", line):
                target = re.fullmatch(r"([a-z-]+) ## \S.*", named[1])
                if not target:
                    found.append(f"{path}:{number}: expected one target and its help: "
                                 "`.PHONY: NAME ## what it does`")
                elif target[1] in helped:
                    found.append(f"{path}:{number}: {target[1]} has a help line already")
                else:
                    helped.add(target[1])
    for path in files("*.md"):
        for number, line in enumerate(open(path), 1):
            for command in re.findall(r"(?:`|^    )make ([^`#]*)", line):
                # The words after those with = up to two spaces, which end a command in a table.
                words = re.split(r"  |[;&|]", command)[0].split()
                found += [f"{path}:{number}: make has no target {word}" for word in words
                          if re.fullmatch(r"[a-z][a-z-]*", word) and word not in helped]
    return found


def check_headers():
    """Every header compiles on its own; the installed ones in C++, too."""
    return run_all([
        *(["gcc", *FLAGS, *WARNINGS, "-fsyntax-only", "-x", "c", path]
          for path in files("daemon/*.h", "client/*.h", "tests/*.h")),
        *(["g++", "-std=c++11", "-Iclient/include", *WARNINGS, "-Wpedantic", "-fsyntax-only",
           "-x", "c++", path] for path in files("client/include/*.h"))])


def check_script_names():
    """A script's name ends in its language, except where another name is expected: .ci/run, and the
    scripts of Debian packages."""
    named = re.compile(r"\.ci/run|debian/\S+\.(pre|post)(inst|rm)")
    endings = {"sh": ".sh", "bash": ".sh", "python3": ".py"}
    return [f"{path}: a script's name ends in {ending}"
            for interpreter, ending in endings.items() for path in scripts(interpreter)
            if not path.endswith(ending) and not named.fullmatch(path)]


def check_run_bits():
    """A file that names its interpreter can be run, and a file that can be run names it."""
    found = []
    for path in files():
        if not os.path.isfile(path) or os.path.islink(path):
            continue
        with open(path, "rb") as file:
            is_script = file.read(2) == b"#!"
        if is_script != bool(os.stat(path).st_mode & 0o100):
            found.append(f"{path}: begins with #!, but has no run bit: chmod +x" if is_script else
                         f"{path}: has a run bit, but does not begin with #!: chmod -x")
    return found


def check_shell():
    return run("shellcheck", *scripts("sh"), *scripts("bash"))


def check_python():
    found = []
    for path in {*scripts("python3"), *files("*.py")}:
        text = pathlib.Path(path).read_text()
        try:
            ast.parse(text, path)
        except SyntaxError as error:
            found.append(str(error))
        found += [f"{path}:{number}: longer than 100 columns"
                  for number, line in enumerate(text.splitlines(), 1) if len(line) > 100]
    return found


def check_kernels():
    """The whole source, as a driver gets it, for each kind of device and of sample."""
    writer = os.environ.get("KERNEL_WRITER", "build/tests/tools/kernels")
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([writer, directory], text=True, capture_output=True)
        if done.returncode != 0:
            return [f"{writer} ends with {done.returncode}", *done.stderr.splitlines()]
        return run_all([["clang", *KERNEL_FLAGS, path] for path in done.stdout.splitlines()])


def check_warnings(compiler, opt):
    """Compiles what the build has compiled, each file with its own flags, without linking it."""
    build = f"build/warnings-{compiler.split()[0]}"
    targets = [f"{build}/obj/{path[:-2]}.o" for path in files("*.c")
               if os.path.exists(f"build/obj/{path[:-2]}.o")]
    if f"{build}/obj/daemon/main.o" not in targets:
        return ["build/obj/daemon/main.o is missing: run make all test-programs first"]
    # One command compiles and links these. clang -fsyntax-only ignores what is for the linker.
    targets += [f"{build}/tests/tools/faulty_{pathlib.Path(path).stem}.so"
                for path in files("tests/faults/*.c")] + [f"{build}/tests/tools/mali_t760.so"]
    return run("make", "-s", "-k", f"-j{os.cpu_count()}", f"CC={compiler}", f"OPT={opt} -Werror",
               f"BUILD={build}", *targets)


def check_tidy(checks, *patterns):
    def command(path):
        # core/error.c defines what tests/tools/analyzer.h replaces.
        before = [] if path == "daemon/core/error.c" else ["-include", "tests/tools/analyzer.h"]
        return ["clang-tidy", "--quiet", f"--checks={checks}", path, "--", *FLAGS, *before]
    said = run_all(map(command, files(*patterns)))
    return [line for line in said if not re.match(r"\d+ warnings? |Suppressed |Use -header", line)]


def check_cppcheck():
    return run("cppcheck", "--enable=warning,performance,portability", "--inline-suppr", "--quiet",
               "--std=c11", "--library=gtk", "--error-exitcode=1",
               "--suppress=missingIncludeSystem", f"-j{os.cpu_count()}", "-Idaemon",
               "-Iclient/include", "-Iclient", "-Itests", *files("*.c"))


QUICK = [
    ("every file is formatted", check_format),
    ("no circle of includes", lint_tree.check_include_circles),
    ("no circle of calls", lambda: lint_tree.check_call_circles("build")),
    ("includes go down the layers", lint_tree.check_layers),
    ("libraries have their folders", lint_tree.check_libraries),
    ("one place opens files for writing", lint_tree.check_writers),
    ("files of daemon/ are short", lint_tree.check_lengths),
    ("README.md lists every folder", lint_tree.check_rooms),
    ("structs of daemon/ are narrow or say why", lint_tree.check_structs),
    ("structs of client/ have names of their own", lint_tree.check_struct_names),
    ("every target has its help", check_targets),
    ("what only computes makes no system call", lint_tree.check_pure),
    ("headers stand alone", check_headers),
    ("scripts have an ending", check_script_names),
    ("scripts can be run", check_run_bits),
    ("shell scripts are clean", check_shell),
    ("python files parse and fit", check_python),
    ("kernels compile without a warning", check_kernels),
]
WARNINGS_OF_TOOLS = [
    # gcc finds some of its warnings only while it optimises, clang nearly all of them before.
    ("gcc has no warning", lambda: check_warnings("gcc", "-O2 -g0")),
    ("clang has no warning", lambda: check_warnings(
        "clang -fsyntax-only -Wno-unused-command-line-argument", "-O2")),
    ("clang-tidy has no finding", lambda: check_tidy("-clang-analyzer-*", "*.c")),
    ("cppcheck has no finding", check_cppcheck),
]
# It takes twenty times as long as the rest of clang-tidy. Sanitizers and valgrind watch the tests'
# own code.
ANALYZER = [
    ("clang's analyzer has no finding",
     lambda: check_tidy("-bugprone-*,-cert-*,-misc-*,-performance-*,-portability-*,-readability-*",
                        "daemon/*.c", "client/*.c")),
]


def main():
    os.chdir(ROOT)
    checks = {"quick": QUICK, "warnings": WARNINGS_OF_TOOLS,
              "analyzer": ANALYZER}.get(" ".join(sys.argv[1:]))
    if checks is None:
        sys.exit(__doc__)
    print(f"1..{len(checks)}")
    failed = False
    for number, (name, check) in enumerate(checks, 1):
        said = check()
        print(f"{'not ok' if said else 'ok'} {number} - {name}",
              *list(dict.fromkeys(said))[:200], sep="\n# ", flush=True)
        failed = failed or bool(said)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
