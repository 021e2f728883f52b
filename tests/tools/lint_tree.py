#!/usr/bin/python3
"""The rules of lint.py about the shape of the tree: what includes what, what calls what, who makes
no system call, and how long a file, how wide a struct may be. Each check returns its findings as
lines of text.

    lint_tree.py    prints the folders by layer, and all findings
"""

import collections
import functools
import os
import pathlib
import re
import subprocess

# From the top. An include goes from a layer to a lower one, or stays in its folder.
LAYERS = [
    {"daemon"},  # main.c, options.c and what prints
    {"daemon/bus"},
    {"daemon/camera"},
    {"daemon/designer"},
    {"daemon/engine", "daemon/config", "daemon/observer"},
    {"daemon/engine/denoiser", "daemon/engine/field"},
    {"daemon/transform", "daemon/estimators", "daemon/estimators/flicker", "daemon/filters/kinds"},
    {"daemon/estimators/motion", "daemon/filters", "daemon/gpu", "daemon/capture", "daemon/ring",
     "daemon/gstreamer"},
    {"daemon/service"},
    {"daemon/core"},
    {"client/fftd-ctl", "client/fftd-view", "client/fftd-pipewire", "client/fftd-mqtt",
     "client/gstreamer", "client/examples"},
    {"client/fftd-view/http"},
    {"client/recording", "client/diagnosis", "client/vibration"},
    {"client/common", "client/calibration"},
    {"client/pictures"},
    {"client/libfftd"},
    {"client/include/fftd"},
]
# Which folders include a library's headers, and nothing else does.
LIBRARIES = {
    "CL": {"daemon/gpu"},
    "gst": {"daemon/gstreamer", "client/gstreamer"},
    "libconfig": {"daemon/config"},
    "libv4l": {"daemon/capture"},
    "png": {"daemon/config", "client/pictures"},
    "systemd": {"daemon", "daemon/bus", "daemon/ring", "daemon/service", "client/common",
                "client/examples", "client/fftd-ctl", "client/fftd-mqtt", "client/fftd-view",
                "client/fftd-view/http"},
}
# What the daemon includes of client/.
SHARED = {"client/include/fftd/ring", "client/include/fftd/formats"}
# What its clients include of daemon/.
SHARED_BY_DAEMON = {f"daemon/core/{name}" for name in ("client_limits", "clock", "dft", "order",
                                                    "secret", "text")}
# What one file or folder alone includes in addition: estimators and filters only compute, and so
# does the parser of Y4M.
SHARED_WITH = {
    "client/diagnosis": {f"daemon/estimators/{name}" for name in
                         ("flicker/flicker", "flicker/flicker_frame", "measures",
                          "motion/motion", "periodic", "wave_fit")}
                        | {"daemon/core/normal", "daemon/filters/filter"},
    "client/calibration/average": {"daemon/core/format"},
    "client/recording/input": {"daemon/capture/y4m"},
}
# These only compute: they make no system call.
PURE = ["daemon/core", "daemon/filters", "daemon/estimators", "client/diagnosis"]
# What they may include of the C library, and which of its functions they may not call: none of them
# reads or writes anything but memory. The clock is core/clock.h's alone.
PURE_HEADERS = {"complex", "errno", "float", "limits", "locale", "math", "stdarg", "stdatomic",
                "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "strings"}
CLOCK_HEADERS = PURE_HEADERS | {"pthread", "time"}
PURE_FORBIDDEN = (r"\b(FILE|stdin|stdout|stderr)\b|\b(v?f?printf|f?puts|putchar|perror|fopen|"
                  r"fdopen|tmpfile|open_memstream|remove|rename|getenv|secure_getenv|setenv|putenv|"
                  r"system|exit|_Exit|abort|atexit|setlocale|mkstemp|realpath)\s*\(")
# Who opens files for writing: whatever a user names, and the entries of the daemon's own cache, in
# a directory whose owner and mode it has checked. Nothing else does, so that nothing follows a link
# or fills a pipe that another user has planted.
WRITERS = {"client/common/output.c", "daemon/gpu/cache.c"}
WRITING = re.compile(r"\bO_(CREAT|TRUNC|APPEND|TMPFILE)\b|"
                     r"\b(creat(64)?|mk(o?s)?temps?(64)?|tmpfile(64)?)\s*\(|"
                     r'\bf(re)?open(64)?\s*\((?!\s*"/dev/null")[^;]*,(?!\s*"r[be]*")[^,;]+\)')
MAX_LINES = 500
MAX_FIELDS = 20

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(fftd/[^>]+)>)', re.MULTILINE)
INCLUDE_PATHS = ["daemon", "client/include", "client"]
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                               re.DOTALL)


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--",
                             *patterns], check=True, capture_output=True, text=True)
    return [path for path in listed.stdout.splitlines() if os.path.exists(path)]


@functools.cache
def sources():
    return [path for path in files("daemon", "client") if path.endswith((".c", ".h"))]


def code_of(path):
    """A file's text with blanks for comments and strings."""
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]),
                                 pathlib.Path(path).read_text())


def node_of(path):
    """A header and its .c are one node."""
    return os.path.splitext(path)[0]


def find_include(path, name):
    for folder in [os.path.dirname(path), *INCLUDE_PATHS]:
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(found):
            return found
    return None  # a generated file


@functools.cache
def includes():
    """Which nodes each node includes. That private.h and NAME_private.h include the public header
    which they complete, and are included by its .c, makes no circle: it is left out."""
    graph = collections.defaultdict(set)
    for path in sources():
        graph[node_of(path)]
        for quoted, angled in INCLUDE.findall(pathlib.Path(path).read_text()):
            found = find_include(path, quoted or angled)
            if found and node_of(found) != node_of(path):
                graph[node_of(path)].add(node_of(found))
    for node in [node for node in graph if node.endswith("private")]:
        graph[node] = {other for other in graph[node] if node not in graph[other]
                       or os.path.dirname(node) != os.path.dirname(other)}
    return dict(graph)


def folders_of(graph):
    """The same graph, of folders."""
    folders = collections.defaultdict(set)
    for node, others in graph.items():
        folders[os.path.dirname(node)] |= {os.path.dirname(other) for other in others}
    for folder, others in folders.items():
        others.discard(folder)
    return folders


def shortest_path(graph, start, end, inside):
    """From start to end, through at least one edge and `inside` only; None if there is none."""
    came_from, queue = {}, collections.deque([start])
    while queue:
        node = queue.popleft()
        for other in sorted(graph.get(node, set()) & inside):
            if other == end:
                path = [end, node]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if other not in came_from and other != start:
                came_from[other] = node
                queue.append(other)
    return None


def circles(graph):
    """One circle, the shortest, through each node that is on one."""
    found = {}
    for node in sorted(graph):
        circle = shortest_path(graph, node, node, set(graph))
        if circle:
            found.setdefault(frozenset(circle), " -> ".join(circle))
    return list(found.values())


def longest_path(graph, start, end):
    """Of a graph without circles; an empty list if there is no path."""
    if start == end:
        return [end]
    paths = [longest_path(graph, other, end) for other in sorted(graph.get(start, ()))]
    longest = max(paths, key=len, default=[])
    return [start, *longest] if longest else []


def check_include_circles():
    """No header leads back to itself, and no folder to itself."""
    graph = includes()
    return circles(graph) + circles(folders_of(graph))


def is_shared(node, other):
    """Whether a client's node may include another one, of the daemon."""
    return other in SHARED_BY_DAEMON or any(other in SHARED_WITH.get(place, ())
                                            for place in (node, os.path.dirname(node)))


def check_layers():
    layer_of = {folder: number for number, layer in enumerate(LAYERS) for folder in layer}
    graph = includes()
    folders = folders_of(graph)
    found = [f"{folder}: belongs to no layer: add it to LAYERS in tests/tools/lint_tree.py"
             for folder in folders if folder not in layer_of]
    for node, others in sorted(graph.items()):
        for other in sorted(others):
            above, below = os.path.dirname(node), os.path.dirname(other)
            if above != below and below in layer_of and \
                    layer_of.get(above, -1) >= layer_of[below] and not is_shared(node, other):
                found.append(f"{node} includes {other}, which is not in a lower layer")
        if node.startswith("daemon/"):
            found += [f"{node} includes {other}: the daemon shares only ring.h and formats.h"
                      for other in sorted(others)
                      if other.startswith("client/") and other not in SHARED]
        if node.startswith("client/"):
            found += [f"{node} includes {other}: a client shares only what SHARED_BY_DAEMON and "
                      "SHARED_WITH name"
                      for other in sorted(others)
                      if other.startswith("daemon/") and not is_shared(node, other)]
    return found


def check_libraries():
    """Only the folders of LIBRARIES include a library, and libfftd none but libc."""
    found = []
    for path in sources():
        folder = os.path.dirname(path)
        for name in re.findall(r"^\s*#\s*include\s+<([^>]+)>", pathlib.Path(path).read_text(),
                               re.MULTILINE):
            library = re.match(r"(libconfig|libv4l|[a-z]+(?=[/.]))", name, re.IGNORECASE)
            allowed = LIBRARIES.get(library[1] if library else "")
            if allowed is not None and folder not in allowed:
                found.append(f"{path} includes <{name}>, expected only in "
                             f"{', '.join(sorted(allowed))}")
            if folder == "client/libfftd" and not re.match(r"[a-z0-9_]+\.h|(fftd|linux|sys)/",
                                                           name):
                found.append(f"{path} includes <{name}>: libfftd depends on nothing but libc")
    return found


def check_pure():
    found = []
    for path in files(*(f"{folder}/*.[ch]" for folder in PURE)):
        allowed = CLOCK_HEADERS if path == "daemon/core/clock.h" else PURE_HEADERS
        for number, line in enumerate(code_of(path).splitlines(), 1):
            include = re.match(r"\s*#\s*include\s+<(.*)\.h>", line)
            if include and include[1] not in allowed:
                found.append(f"{path}:{number}: {line.strip()}: this folder makes no system call")
            if re.search(PURE_FORBIDDEN, line):
                found.append(f"{path}:{number}: {line.strip()}: "
                             "this folder only reads and writes memory")
    return found


def check_writers():
    """Only WRITERS open files for writing; also a mode of fopen that is no text counts as one."""
    found = []
    for path in sources():
        # Comments are blanked, strings are not: they have the mode.
        text = COMMENT_OR_STRING.sub(lambda match: match[0] if match[0][0] in "\"'" else
                                     re.sub(r"[^\n]", " ", match[0]),
                                     pathlib.Path(path).read_text())
        found += [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0].split('(')[0]}: "
                  "expected output_open of client/common/output.h"
                  for match in WRITING.finditer(text) if path not in WRITERS]
    return found


def check_lengths():
    found = []
    for path in files("daemon"):
        lines = pathlib.Path(path).read_text().count("\n")
        if lines > MAX_LINES:
            found.append(f"{path}: {lines} lines, at most {MAX_LINES} expected")
    return found


def check_rooms():
    """README.md's table links to every folder of daemon/ and client/, where readers look."""
    text = pathlib.Path("README.md").read_text()
    folders = {"/".join(path.split("/")[:2]) for path in sources() if path.count("/") > 1}
    folders |= {"/".join(path.split("/")[:2]) for path in files("client/*/*.py")}
    return [f"README.md: {folder} is missing from the source layout"
            for folder in sorted(folders) if f"]({folder}" not in text]


def matching_brace(text, start):
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text) - 1


def count_fields(body):
    """Of a struct's body without comments. A nested struct is one field; one without a name counts
    as its own fields."""
    count, at = 0, 0
    while (end := re.compile(r"[;{]").search(body, at)) is not None:
        declaration = body[at:end.start()]
        if end[0] == "{":
            close = matching_brace(body, end.start())
            at = body.find(";", close) + 1 or len(body)
            declaration = body[close + 1:at - 1]
            if not declaration.strip():
                count += count_fields(body[end.start() + 1:close])
                continue
        else:
            at = end.end()
        flat = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", declaration))
        count += 1 + flat.count(",") if declaration.strip() else 0
    return count


def wide_structs(path):
    """The line, name and number of fields of each struct that is too wide and gives no reason in
    a comment beside it or right above it, "fields: ..."."""
    text = pathlib.Path(path).read_text()
    excused = set()  # lines that a struct with a reason may begin on

    def blank(match):
        if match[0].startswith(("/*", "//")) and "fields:" in match[0]:
            first = text.count("\n", 0, match.start())
            excused.update(range(first, first + match[0].count("\n") + 2))
        return re.sub(r"[^\n]", " ", match[0])
    code = COMMENT_OR_STRING.sub(blank, text)
    for struct in re.finditer(r"\b(?:struct|union)\b\s*(\w*)[^;{}()=]*\{", code):
        line = code.count("\n", 0, struct.start())
        fields = count_fields(code[struct.end():matching_brace(code, struct.end() - 1)])
        if fields > MAX_FIELDS and line not in excused:
            yield line + 1, struct[1] or "(unnamed)", fields


def check_structs():
    return [f"{path}:{line}: struct {name} has {fields} fields, at most {MAX_FIELDS} expected, or "
            'a comment "fields: ..." above it with the reason'
            for path in sources() if path.startswith("daemon/")
            for line, name, fields in wide_structs(path)]


def check_struct_names():
    """No two structs of client/ have one name."""
    found, first = [], {}
    for path in sources():
        if path.startswith("client/"):
            text = COMMENT_OR_STRING.sub("", pathlib.Path(path).read_text())
            for name in re.findall(r"\b(?:struct|union)\s+(\w+)\s*\{", text):
                if name in first:
                    found.append(f"{path}: struct {name} is also defined in {first[name]}")
                first.setdefault(name, path)
    return found


def calls(build):
    """Which files' functions and data each file uses, by the object files in build/obj."""
    built = {f"{build}/obj/{node_of(path)}.o": node_of(path)
             for path in sources() if path.endswith(".c")}
    objects = [path for path in built if os.path.exists(path)]
    if not objects:
        return {}
    listed = subprocess.run(["nm", "-A", "-P", "-g", *objects], check=True, capture_output=True,
                            text=True).stdout
    defined, used = {}, collections.defaultdict(set)
    for path, name, kind, *_ in map(str.split, listed.splitlines()):
        node = built[path.rstrip(":")]
        side = node.split("/")[0]  # the daemon and its clients may both use a name
        if kind in "Uwv":
            used[node].add((side, name))
        elif name != "main":
            defined[side, name] = node
    return {node: {defined[name] for name in names if name in defined}
            for node, names in used.items()}


def with_includes(graph):
    """The calls of the daemon's files with their includes. A file that is declared in the header of
    its caller is on a circle of this graph, although neither includes nor calls alone form one."""
    return {node: others | graph.get(node, set()) for node, others in includes().items()
            if node.startswith("daemon/")}


def check_call_circles(build):
    graph = calls(build)
    if not graph:
        return [f"{build} has no object files"]
    return list(dict.fromkeys(circles(graph) + circles(with_includes(graph))))


def main():
    os.chdir(pathlib.Path(__file__).resolve().parents[2])
    graph = includes()
    folders = folders_of(graph)
    for number, layer in enumerate(LAYERS, 1):
        for folder in sorted(layer):
            below = sorted(folders[folder])
            print(f"layer {number:2}  {folder:20} includes {', '.join(below) or 'nothing below'}")
    findings = {"circles of includes": check_include_circles(),
                "circles of calls, in build/": check_call_circles("build"),
                "includes that do not go down": check_layers(),
                "system calls where none are allowed": check_pure(),
                "files opened for writing": check_writers(),
                "long files": check_lengths(),
                "folders that README.md does not list": check_rooms(),
                "wide structs": check_structs(),
                "structs with one name": check_struct_names()}
    for name, found in findings.items():
        print(f"{name}:", *found or ["none"], sep="\n    ")


if __name__ == "__main__":
    main()
