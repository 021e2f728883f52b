"""Valid and invalid values: of each filter's parameters, as ListFilters describes them, and of each
key of the configuration. A value is invalid if no context can make it valid."""

import math

# These depend on earlier frames.
NOT_EXACT = {"auto-notch", "deflicker", "denoise", "stabilise", "stack"}
STILL_PATTERNS = ("pattern:bars", "pattern:zoneplate", "pattern:moire")
IMAGES = ("good.pgm", "mask.pgm", "large.pgm", "kernel.txt", "emboss.txt")
BAD_IMAGES = ("absent.pgm", "../secret", "cut.pgm", "empty.txt", "folder", "endless")
MUTABLE_IMAGE = "mutable.pgm"

# ---- filters ----

EXACT = ("none", "convolve:kernel=0 0 0/0 0.5 0/0 0 0", "convolve:kernel=0.25 0.5 0.25",
         "convolve:kernel=0 1 0/1 -3 1/0 1 0", "convolve:kernel=0.1 0.2 0.1/0.1 0.2 0/0 0.2 0.1",
         "convolve:kernel=0 0 1/0 0 0/0 0 0", "convolve:kernel=0 0 0 0 1/0 0 0 0 0/0 0 0 0 0",
         "convolve:kernel=0.5 0.25 0.25/0 0 0/0 0 0 | convolve:kernel=0.25 0.5 0.25",
         "convolve:kernel=-1 0 1/-2 0 2/-1 0 1", "convolve:kernel=1.5")


def number_text(value):
    return repr(round(value, 6)) if value != int(value) else str(int(value))


def number_in(rng, low, high):
    """Mostly in between, sometimes an end of the range."""
    choice = rng.random()
    if choice < 0.1:
        return low
    if choice < 0.2:
        return high
    if low > 0 and high / low > 100:
        return round(math.exp(rng.uniform(math.log(low), math.log(high))), 4) or low
    return round(rng.uniform(low, high), 3)


def valid_value(rng, param):
    kind = param["type"]
    if kind == "number":
        return number_text(number_in(rng, param["minimum"], param["maximum"]))
    if kind == "pair":
        return "/".join(number_text(number_in(rng, param["minimum"], param["maximum"]))
                        for _ in range(2))
    if kind == "choice":
        return rng.choice(param["choices"])
    if kind == "boolean":
        return rng.choice(("true", "false"))
    if kind == "kernel":
        columns, rows = rng.randint(1, 7), rng.randint(1, 7)
        return "/".join(" ".join(number_text(round(rng.uniform(-1, 1), 2)) for _ in range(columns))
                        for _ in range(rows))
    assert kind == "image", f"the campaign knows no values of the type {kind}: add them here"
    return rng.choice((*IMAGES, MUTABLE_IMAGE))


def invalid_value(rng, param):
    kind = param["type"]
    texts = ["", "?x", "1..2", "nan", "1e999", "\x07", "ä", "0x", "9" * 40, "1/2/3"]
    if kind == "number":
        texts += [number_text(param["maximum"] * 1.01 + 1), number_text(param["minimum"] - 1.5)]
    elif kind == "pair":
        texts = ["x", "1", "1/", "/", "nan/0", f"{param['maximum'] + 1}/0"]
    elif kind == "kernel":
        texts = ["x", "1 2/1", "/".join(["1"] * 8), "2000", "1 nan", ""]
    elif kind == "image":
        texts = list(BAD_IMAGES)
    return rng.choice(texts)


def stage(rng, kind, is_valid=True):
    """Returns a stage as text and, of an invalid one, the parameter that is wrong."""
    wanted = [param for param in kind["parameters"] if param["required"] or rng.random() < 0.5]
    if kind["name"] == "convolve":  # one of these two
        other = rng.choice(("kernel", "image"))
        wanted = [param for param in wanted if param["name"] not in ("kernel", "image")]
        wanted += [param for param in kind["parameters"] if param["name"] == other]
    values = {param["name"]: valid_value(rng, param) for param in wanted}
    if values.get("model") == "fisheye":
        values = {name: value for name, value in values.items()
                  if name not in ("p1", "p2", "k5", "k6")}
        wanted = [param for param in wanted if param["name"] in values]
    if not is_valid:  # this one may be wrong, too
        values = {name: "good.pgm" if value == MUTABLE_IMAGE else value
                  for name, value in values.items()}
    wrong = ""
    if not is_valid:
        if wanted and rng.random() < 0.7:
            param = rng.choice(wanted)
            wrong = param["name"]
            values[wrong] = invalid_value(rng, param)
        else:
            wrong = rng.choice(("bogus", "cutof", "kind"))
            values[wrong] = "1"
    arguments = ",".join(f"{name}={value}" for name, value in values.items())
    return f"{kind['name']}:{arguments}" if arguments else kind["name"], wrong


def chain(rng, kinds):
    return " | ".join(stage(rng, rng.choice(kinds))[0]
                      for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))))


def bad_chain(rng, kinds):
    """Returns a chain that no daemon can accept, and a word that the error has to say."""
    choice = rng.random()
    if choice < 0.1:
        return rng.choice((("bogus-kind", "bogus-kind"), ("preset:absent", "absent"),
                           ("lowpass", "cutoff"), ("none | none", "none"),
                           (" | ".join(["gain"] * 40), "")))
    kind = rng.choice(kinds)
    text, wrong = stage(rng, kind, is_valid=False)
    return text, wrong


# ---- keys of the configuration ----

# Each key of `fftd --check`: values that are valid, and values that are not. A key without a row
# fails the campaign. The source is chosen by steps of its own.
OUTPUTS = ([], [{"name": "small", "fps": 10, "filter": "gaussian-blur:sigma=1"}],
           [{"name": "edges-1", "planes": "luma-only", "depth": "16", "filter": "gradient"},
            {"name": "raw", "edge": 0.25}])
ADDED_OUTPUTS = ("a", "b", "c-1")  # names that a call may add
KEYS = {
    "name": (("default", "front-1"), ("", "a/b", "x" * 64)),
    "camera.source": ((), ("", "nothing", "bogus:1", "pattern:bogus")),
    "camera.size": (("auto", "64x48", "80x60"), ("8x8", "64", "9000x9000", "axb")),
    "camera.fps": ((30, 60, 120.5), (0, -1, 2000, "fast")),
    "camera.format": (("auto", "GREY", "NV12", "YUYV", "RGB24", "Y16", "SBGGR8"), ("RGB", "")),
    "camera.buffers": (("auto", 2, 8, 32), (1, 33, -1)),
    "camera.memory": (("auto", "mmap", "userptr", "dmabuf"), ("magic",)),
    "camera.loop": ((True,), ("yes", 2)),
    "camera.seed": ((0, 1, 2147483647), (-1, "x")),
    "camera.stall_timeout": ((1.0, 2.0, 10), (0, 4000)),
    "camera.idle": (("run", "pause"), ("sleep",)),
    "camera.controls": (("none", "brightness=1"), ("=", "a=b=c, ,")),
    "engine.device": ((), ("",)),
    "engine.precision": (("float", "half"), ("double",)),
    "engine.planes": (("luma", "all", "luma-only"), ("chroma",)),
    "engine.depth": (("auto", 16), (8, "deep")),
    "engine.demosaic": (("gradients", "bilinear"), ("cubic",)),
    "engine.view": (("picture", "difference", "spectrum", "peaks", "edges"), ("bogus",)),
    "engine.edge_low": ((0.0, 0.05), (-0.1, 1.1)),
    "engine.edge_high": ((0.0, 0.1, 1.0), (-0.1, "steep")),
    "engine.technique": (("staged", "fused", "direct", "tiles", "auto"), ("magic",)),
    "engine.border": (("mirror", "replicate", "constant", "wrap"), ("open",)),
    "engine.border_value": ((0.0, 0.5, 1.0), (-0.1, 1.1)),
    "engine.margin": ((24,), (-2, 4097, "wide")),
    "engine.in_flight": ((1, 2, 3), (0, 4)),
    "engine.frame_timeout": ((5.0, 20), (0, 3601)),
    "engine.build_timeout": ((60, 120), (0.5, "x")),
    "engine.tune": (("off", "auto"), ("on",)),
    "engine.compile_ahead": ((True, False), (2, "auto")),
    "engine.memory": (("auto", 2000, 16777216), (15, 16777217, "much")),
    "engine.cache_dir": ((), ("",)),
    "filter": (EXACT, ("bogus", "lowpass", "lowpass:cutoff=9")),
    "output.size": (("auto",), ("640", "8x8", "9000x9000")),
    "output.slots": ((4, 8, 64), (3, 65)),
    "output.checksum": ((True, False), ("maybe",)),
    "output.lossless": ((True, False), (1,)),
    "output.measures": ((True, False), (3,)),
    "output.motion": (("off", "16", "32", "64"), ("8", 3)),
    "output.motion_by": (("auto", "device", "observer"), ("gpu", True)),
    "output.max_clients": ((16, 64), (0, 1025)),
    "output.watch_unfiltered": ((True, False), ("some",)),
    "output.runtime_dir": ((), ("",)),
    "output.frames": (("unlimited", 2147483647), (0, -5)),
    "control.allow_save": ((True, True, False), ("perhaps",)),
    "outputs": (OUTPUTS, ([{"size": "64x48"}], [{"name": "main"}], [{"name": "a_b"}], "small",
                          [{"name": "a", "fps": 0}], [{"name": "a", "filter": "bogus"}],
                          [{"name": "a"}, {"name": "a"}], [{"name": "a", "color": 1}])),
}
SOURCE_KEYS = ("camera.size", "camera.fps", "camera.format", "camera.buffers", "camera.memory",
               "camera.seed")
LIVE_KEYS = (*SOURCE_KEYS, "camera.controls", "engine.view", "filter", "output.watch_unfiltered",
             "control.allow_save")


def written(value):
    """The value as libconfig reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        groups = (" ".join(f"{name} = {written(member)};" for name, member in group.items())
                  for group in value)
        return "( " + ", ".join(f"{{ {group} }}" for group in groups) + " )"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def config_text(settings):
    groups = {}
    for key, value in settings.items():
        group, _, name = key.rpartition(".")
        groups.setdefault(group, []).append(f"{name} = {written(value)};")
    lines = groups.pop("", [])
    for group, members in groups.items():
        lines += [f"{group} = {{", *(f"    {member}" for member in members), "};"]
    return "\n".join(lines) + "\n"
