"""The steps of the campaign. Each has a function that chooses its arguments, plain values that JSON
can hold, from a random generator and what the daemon told of itself, and one that takes the step.
What it says of the result is what must be true of any daemon in any state."""

import contextlib
import errno
import os
import pathlib
import signal
import subprocess
import time

import reference
import values
from conftest import BUILD
from dbus_peer import CAMERA, ERROR, RETURN, call
from world import PATIENCE, PROPERTIES, Failure, body_of, check

DENIED = "org.freedesktop.DBus.Error.AccessDenied"
INVALID_ARGS = "org.freedesktop.DBus.Error.InvalidArgs"
STEPS = {}  # name: (weight, choose, take)

# Whether a method may change something, and so is refused to watchers. Introspection has to show
# exactly these: a method without a row fails the campaign. Snapshot is refused to them unless
# output.watch_unfiltered is set.
METHODS = {
    "SetFilter": True, "EditFilter": True, "AddOutput": True, "RemoveOutput": True,
    "SetView": True, "Reload": True, "SetControls": True,
    "Save": True, "Tune": True, "StopTuning": True, "Snapshot": None, "SnapshotAfter": False,
    "ListControls": False, "GetStats": False, "GetTuning": False, "ListFilters": False,
    "ListPresets": False, "GetPreset": False, "GetResponse": False,
}


def step(weight, choose, flavour=None):
    """flavour: only in episodes with these faults."""
    def keep(take):
        STEPS[take.__name__] = weight, choose, take, flavour
        return take
    return keep


def nobody(_rng, _facts):
    return []


def who(rng):
    """A user and a socket: mostly those who may."""
    return rng.choice(((0, "control"), (0, "control"), (1, "control"), (1, "control"),
                       (0, "control-watch"), (1, "control-watch"), (2, "control-watch"),
                       (3, "control-watch"), (2, "control"), (3, "control"), (4, "control"),
                       (4, "control-watch")))


def some_user(rng):
    return rng.choice((0, 1, 1, 2, 2, 3, 3, 4))


def user_of(world, number):
    return world.users[number % len(world.users)]


def change(world, number, name, member, *arguments, words=None, **where):
    """Calls a method that changes something. A watcher is refused. words: what the error has to
    say, of a call that must fail; None: it may be done or refused. Returns the reply."""
    reply = world.call(user_of(world, number), name, member, *arguments, **where)
    if reply is None:
        world.observe()
        return None
    if name == "control-watch" and METHODS[member]:
        check(reply.error == DENIED, "permission",
              f"a watcher calls {member}: {reply.error or 'done'}")
        world.expect_same(f"{member} of a watcher")
        return reply
    if words is not None:
        check(reply.type == ERROR, "accepted", f"{member}{arguments} was accepted")
        check(words in reply.message or cut(words) in reply.message or
              (world.allocations and "memory" in reply.message), "error text",
              f"{member}{arguments}: {reply.message!r} does not say {words!r}")
    if reply.type == ERROR:
        world.expect_same(f"{member}{arguments}, which was refused,")
    return reply


def cut(words):
    """What the quoted form of a long or odd text begins with."""
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in words)[:12]


def new_serial(world, reply):
    """After a change of the filter or the view that was done."""
    if reply is None or reply.type != RETURN or not world.runs:
        return
    before = world.last
    world.observe()
    if world.runs and before:
        check(reply.number > before["Serial"], "serial",
              f"the reply has {reply.number} after {before['Serial']}")
        # One that could not be made is withdrawn.
        check(max(world.last["Serial"], world.last["FailedSerial"]) >= reply.number, "serial",
              f"the reply has {reply.number}, the status {world.last['Serial']}")


# ---- the filter ----

def choose_filter(rng, facts):
    kind = rng.random()
    if kind < 0.35:
        return [*who(rng), rng.choice(values.EXACT), None]
    if kind < 0.45:
        return [*who(rng), "preset:" + rng.choice(facts.presets), None]
    if kind < 0.75:
        return [*who(rng), values.chain(rng, facts.kinds), None]
    return [*who(rng), *values.bad_chain(rng, facts.kinds)]


@step(14, choose_filter)
def set_filter(world, number, name, chain, words):
    reply = change(world, number, name, "SetFilter", chain, words=words)
    new_serial(world, reply)
    if chain in values.EXACT and name == "control" and reply and world.allocations is None:
        check(reply.type == RETURN, "refused", f"{chain}: {reply.message if reply.error else ''}")


def choose_edit(rng, facts):
    changes, words = [], None
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(facts.kinds)
        stage, _ = values.stage(rng, kind)
        position = str(rng.choice((1, 1, 2, 3, 0, -1, 99, "x")))
        param = rng.choice(kind["parameters"] or [{"name": "none", "type": "boolean"}])
        changes.append(rng.choice((
            ["replace", rng.choice(values.EXACT)], ["replace", stage], ["add", stage],
            ["add", stage, position], ["remove", position], ["remove", kind["name"]],
            ["move", position, "1"], ["restart"],
            ["set", rng.choice((position, kind["name"])), param["name"],
             values.valid_value(rng, param)],
            ["set", "1", param["name"], values.invalid_value(rng, param)])))
    if rng.random() < 0.15:
        word = rng.choice(("explode", "", "Replace"))
        changes = [[word] if word else []]
        words = word
    return [*who(rng), changes, rng.choice(("any", "any", "current", "stale")),
            rng.choice((0, 0, 0, 1, 5, 30, 100000)), words]


@step(12, choose_edit)
def edit_filter(world, number, name, changes, based_on, fade, words):
    serial = world.last["Serial"] if world.last else 1
    based = {"any": 0, "current": serial, "stale": serial + 7}[based_on]
    if based_on == "stale":
        words = str(based)
    reply = change(world, number, name, "EditFilter", changes, based, fade, signature="aastu",
                   words=words if len(changes) == 1 or based_on == "stale" else None)
    if reply and based_on == "stale" and name == "control":
        check(reply.error == "org.fftd.Error.FilterChanged", "serial", f"based on {based}")
    new_serial(world, reply)


def choose_view(rng, _facts):
    valid = rng.choice(("picture", "picture", "difference", "spectrum", "peaks", "edges"))
    bad = rng.choice(("bogus", "Picture", "x" * 300))
    return [*who(rng), *((valid, None) if rng.random() < 0.8 else (bad, bad))]


@step(4, choose_view)
def set_view(world, number, name, view, words):
    reply = change(world, number, name, "SetView", view, words=words)
    if words is None and reply is not None and name == "control" and not world.allocations:
        check(reply.type == RETURN, "refused", f"the view {view}: {reply.error}")
    new_serial(world, reply)


def choose_response(rng, facts):
    points = rng.choice((0, 1, 16, 256, 257))
    fx = [round(rng.uniform(-0.5, 0.5), 3) for _ in range(points)]
    fy = fx[1:] if rng.random() < 0.1 else fx[::-1]
    if rng.random() < 0.1:
        fx = [0.7] * points
    return [*who(rng), rng.choice((rng.choice(values.EXACT), values.chain(rng, facts.kinds),
                                   values.bad_chain(rng, facts.kinds)[0])), fx, fy]


@step(5, choose_response)
def get_response(world, number, name, chain, fx, fy):
    reply = world.call(user_of(world, number), name, "GetResponse", chain, fx, fy,
                       signature="sadad")
    if reply is None:
        return
    is_wrong = len(fx) != len(fy) or len(fx) > 256 or any(abs(f) > 0.5 for f in fx + fy)
    if is_wrong:
        check(reply.type == ERROR, "accepted", f"frequencies {len(fx)}, {len(fy)}")
    if reply.type == RETURN:
        check(len(reply.numbers) == len(fx) and all(m >= 0 for m in reply.numbers), "reply",
              f"the response of {chain}")


def choose_preset(rng, facts):
    return [*who(rng), rng.choice((rng.choice(facts.presets), "nothing", "../moire"))]


@step(3, choose_preset)
def get_preset(world, number, name, preset):
    reply = world.call(user_of(world, number), name, "GetPreset", preset)
    if reply is not None and reply.type == RETURN:
        _, chain, problem = body_of(reply)
        check(bool(chain) != bool(problem), "reply", f"the preset {preset}: {chain}, {problem}")


@step(4, nobody)
def there_and_back(world):
    """Another filter and the same one again make the same picture, if the same engine does it."""
    world.settle()
    chain, engine = world.last and world.last["Filter"], world.last and world.last["Engine"]
    if not world.runs or (before := world.still_picture()) is None:
        return
    owner = world.users[0]
    for each in ("none" if chain != "none" else "convolve:kernel=1.5", chain):
        if (reply := world.call(owner, "control", "SetFilter", each)) is None or \
                reply.type == ERROR:
            return  # an image may have changed, or there is no memory
        world.observe()
        world.settle()
    if not world.runs or world.last["Engine"] != engine or values.MUTABLE_IMAGE in chain:
        return
    after = world.still_picture()
    if after is not None and after.size == before.size:
        world.pixels_checked += 1
        check(abs(after - before).max() <= 1 or "16" in world.last["Format"].get("name", ""),
              "pixels", f"{chain} made another picture before another filter")


# ---- reading ----

def choose_reading(rng, facts):
    return [*who(rng), rng.choice([name for name in facts.methods if METHODS.get(name) is False and
                                   name not in ("SnapshotAfter", "GetResponse", "GetPreset")])]


@step(6, choose_reading)
def read(world, number, name, member):
    reply = world.call(user_of(world, number), name, member)
    if reply is None:
        return
    allowed = member == "ListControls"  # the source may have none, or be gone
    check(reply.type == RETURN or allowed or world.allocations, "refused",
          f"{member}: {reply.error}")


@step(3, lambda rng, facts: [*who(rng), rng.choice(facts.properties + ["Nothing"])])
def get_property(world, number, name, which):
    reply = world.call(user_of(world, number), name, "Get", CAMERA, which, interface=PROPERTIES)
    if reply is not None and not world.allocations:
        check((reply.type == RETURN) == (which != "Nothing"), "reply", f"Get {which}")


@step(2, lambda rng, facts: [*who(rng), rng.choice(facts.properties)])
def set_property(world, number, name, which):
    """No property can be written."""
    reply = world.call(user_of(world, number), name, "Set", CAMERA, which, ("s", "x"),
                       interface=PROPERTIES, signature="ssv")
    if reply is not None:
        check(reply.type == ERROR, "permission", f"{which} was written")
        world.expect_same(f"Set {which}")


# ---- outputs ----

def choose_output(rng, _facts):
    name = rng.choice((*values.ADDED_OUTPUTS, "main", "", "../x", "a_b", 60 * "n"))
    size = rng.choice((None, None, "16x16", "80x61", "0x0", "8192x8192", "x"))
    return [*who(rng), rng.random() < 0.6, name, size, rng.choice(("none", *values.EXACT))]


@step(5, choose_output)
def change_output(world, number, socket, adds, name, size, chain):
    """Outputs come and go; main is what it was, whether this is done or refused."""
    if adds:
        wanted = {"name": name, "filter": chain, **({"size": size} if size else {})}
        change(world, number, socket, "AddOutput", wanted, signature="a{ss}")
    else:
        change(world, number, socket, "RemoveOutput", name)
    if world.runs:
        world.expect_same("a change of the outputs")


# ---- wrong calls ----

def choose_wrong(rng, facts):
    signature, arguments = rng.choice((("", []), ("s", ["x"]), ("u", [7]), ("t", [2 ** 63]),
                                       ("v", [["s", "x"]]), ("as", [["a", "b"]]),
                                       ("aas", [[["replace"]]]), ("ad", [[0.5]]),
                                       ("a{ss}", [{"a": "b"}]), ("ss", ["a", "b"]),
                                       ("aastu", [[["set"]], 0, 0]), ("s", ["x" * 60000])))
    return [*who(rng), rng.choice(facts.methods + ["Explode"]), signature, arguments]


@step(5, choose_wrong)
def wrong_call(world, number, name, member, signature, arguments):
    """Any method with any types. What fits by chance may be done."""
    if signature == facts_signature(member) and METHODS.get(member) is not False:
        return
    arguments = [tuple(each) if signature == "v" else each for each in arguments]
    reply = world.call(user_of(world, number), name, member, *arguments, signature=signature)
    if reply is not None and signature != facts_signature(member):
        check(reply.type == ERROR, "accepted", f"{member} with the types {signature!r}")
        world.expect_same(f"{member} with the types {signature!r}")


SIGNATURES = {}  # of each method, as introspection shows them


def facts_signature(member):
    return SIGNATURES.get(member)


@step(3, lambda rng, facts: [*who(rng), rng.randbytes(rng.choice((1, 16, 200, 5000))).hex(),
                             rng.random() < 0.5])
def garbage(world, number, name, data, is_handshaken):
    """Bytes instead of a message: that connection ends, and nothing else."""
    user = user_of(world, number)
    peer = world.peer(user, name)
    if peer is None:
        return
    try:
        peer.send(bytes.fromhex(data))
        if is_handshaken:
            peer.send(bytes.fromhex(data))
    except OSError as error:
        check(error.errno in (errno.EPIPE, errno.ECONNRESET), "hang", f"{error}")
    peer.__exit__()
    world.peers.pop((user.name, name), None)
    world.expect_same("garbage")


@step(3, lambda rng, facts: [*who(rng), rng.randint(1, 12)])
def leave(world, number, name, calls):
    """Asks for much and goes without reading the answers."""
    user = user_of(world, number)
    peer = world.peer(user, name)
    if peer is None:
        return
    try:
        for each in range(calls):
            peer.serial += 1
            peer.send(call(("GetStats", "ListFilters", "SnapshotAfter")[each % 3],
                           serial=peer.serial))
    except OSError:
        pass
    peer.__exit__()
    world.peers.pop((user.name, name), None)
    world.observe()


# ---- snapshots ----

@step(7, lambda rng, _: [*who(rng), rng.random() < 0.5, rng.random() < 0.3])
def snapshot(world, number, name, with_before, keeps):
    member = "Snapshot" if with_before else "SnapshotAfter"
    world.keeps_loans = keeps
    try:
        reply = world.call(user_of(world, number), name, member)
    finally:
        world.keeps_loans = False
    if reply is None:
        return
    if with_before and name == "control-watch" and not world.unfiltered:
        check(reply.error == DENIED, "permission", f"a watcher's Snapshot: {reply.error}")
    elif reply.type == ERROR:
        check(reply.error in ("org.fftd.Error.NotOnline", "org.fftd.Error.Busy",
                              "org.fftd.Error.Failed") or world.allocations, "refused",
              f"{member}: {reply.error}: {reply.message}")
    else:
        layout = body_of(reply)[-2]
        check(layout["width"] > 0 and layout["height"] > 0, "reply", f"{member}: {layout}")
    world.observe()


@step(2, nobody)
def release_loans(world):
    world.release_loans()


# ---- readers ----

@step(5, lambda rng, _: [some_user(rng)])
def open_reader(world, number):
    if len(world.readers) < 6:
        world.open_reader(user_of(world, number))


@step(3, lambda rng, _: [rng.randrange(6)])
def close_reader(world, which):
    if world.readers:
        world.readers.pop(which % len(world.readers)).__exit__()


@step(6, lambda rng, _: [rng.choice((0.02, 0.1, 0.3))])
def look(world, seconds):
    """Takes frames for a while, and checks them."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and world.runs:
        for reader in world.readers[:1]:
            reader.wait(20)
        time.sleep(0 if world.readers else 0.02)
        world.drain()
    world.observe()


@step(5, nobody)
def settle(world):
    world.settle()


# ---- controls, tuning ----

def choose_controls(rng, _facts):
    names = ("brightness", "exposure", "bogus", "a b", "")
    return [*who(rng), {rng.choice(names): rng.choice(("1", "x", "", "-99999999999"))
                        for _ in range(rng.choice((1, 1, 2)))}]


@step(3, choose_controls)
def set_controls(world, number, name, wanted):
    """Test scenes and files have no controls."""
    reply = change(world, number, name, "SetControls", wanted, signature="a{ss}")
    if reply is not None:
        check(reply.type == ERROR, "accepted", f"controls {wanted}")


@step(2, lambda rng, _: [*who(rng), rng.choice(("quick", "quick", "exhaustive", "bogus", ""))])
def tune(world, number, name, depth):
    change(world, number, name, "Tune", depth,
           words=None if depth in ("quick", "exhaustive") else depth)
    if world.runs and name == "control":
        time.sleep(0.05)
        change(world, number, name, "StopTuning")


def choose_save(rng, _facts):
    keys = rng.choice((["filter"], ["filter"], ["camera.controls"], ["filter", "camera.controls"],
                       [], ["bogus"], ["filter", "name"]))
    return [*who(rng), keys]


@step(4, choose_save)
def save(world, number, name, keys):
    """What is saved is in force at the next reload or start, in the place of the file's."""
    words = None if keys and set(keys) <= {"filter", "camera.controls"} else "expected filter"
    if not world.config.get("control.allow_save", False):
        words = "control.allow_save"
    change(world, number, name, "Save", keys, signature="as", words=words)
    world.expect_same("Save")


# ---- the configuration and the source ----

def reload(world, config, words=None, by_signal=False):
    """Writes the configuration and reloads it as root. words: what the error has to say, of one
    that must be refused. Afterwards the source is the new one, or still the old one."""
    before, old = world.last, world.config
    world.write_config(config)
    world.candidates |= {config["camera.source"]}
    world.drains_left = 0  # until the source is settled
    world.may_end = world.may_end or config.get("camera.loop") is False
    if by_signal and world.runs:
        world.daemon.signal(signal.SIGHUP)
    reply = world.call(world.users[0], "control", "Reload")
    if reply is None or not world.runs:
        world.observe()
        return
    if words is not None:
        check(reply.type == ERROR, "accepted", f"the configuration with {words!r} was accepted")
        check(cut(words) in reply.message or (world.allocations and "memory" in reply.message),
              "error text", f"Reload: {reply.message!r} does not say {words!r}")
    now = world.properties() if reply.type == ERROR else None
    # The reload by signal may get memory that the reload by call did not.
    has_changed = (now is not None and words is None and by_signal and world.allocations and
                   before["Source"] != now["Source"] == config["camera.source"])
    if reply.type == ERROR and not has_changed:
        check(reply.error == "org.fftd.Error.InvalidConfiguration" or world.allocations,
              "error text", f"Reload: {reply.error}")
        world.write_config(old)
        check(now["Source"] == before["Source"], "reload",
              f"a reload that failed changed the source from {before['Source']} to "
              f"{now['Source']}")
        if words is not None:
            world.expect_same("a reload that failed")
        world.settle_source(old["camera.source"])
        world.observe()
        return
    world.config = config
    world.observe()
    if world.runs:
        check(world.last["Source"] == config["camera.source"], "reload",
              f"the source is {world.last['Source']} after a reload to {config['camera.source']}")
    # Frames of the source before may still be on their way.
    world.settle_source(config["camera.source"])


def choose_reload(rng, _facts):
    changes, words = {}, None
    for key in rng.sample(sorted(values.KEYS), rng.choice((1, 1, 2, 4))):
        valid, _ = values.KEYS[key]
        if valid and key not in values.SOURCE_KEYS:
            changes[key] = rng.choice(valid)
    if rng.random() < 0.5:
        key = rng.choice(sorted(values.KEYS))
        changes[key] = rng.choice(values.KEYS[key][1])
        words = "output" if key == "outputs" else key.rpartition(".")[2]
    return [changes, words, rng.random() < 0.2]


@step(6, choose_reload)
def reload_keys(world, changes, words, by_signal):
    reload(world, {**world.config, **changes}, words, by_signal)


def choose_source(rng, _facts):
    changes = {}
    kind = rng.choice(("still", "still", "still", "pattern", "pattern", "mutable", "gst", "absent"))
    if kind == "pattern":
        uri = "pattern:" + rng.choice(("bars", "zoneplate", "noise", "moire", "scene"))
        for key in values.SOURCE_KEYS:
            if rng.random() < 0.4:
                changes[key] = rng.choice(values.KEYS[key][0])
        changes.setdefault("camera.size", "64x48")
    elif kind == "still":
        uri = f"still:{rng.randrange(3)}"
    elif kind == "mutable":
        uri = "mutable"
    elif kind == "gst":
        uri = "gst:" + rng.choice((
            "videotestsrc is-live=true ! video/x-raw,format=GRAY8,width=64,height=48",
            "videotestsrc num-buffers=20 ! video/x-raw,format=GRAY8,width=64,height=48",
            "videotestsrc ! identity error-after=5", "videotestsrc ! nothing",
            "filesrc location=/dev/null ! decodebin", "videotestsrc ! fakesink", "(", "",
            "videotestsrc ! video/x-raw,width=64,height=48 ! identity sleep-time=2000000"))
    else:
        uri = rng.choice(("file:/nowhere.y4m", "file:/dev/zero", "file:/proc/self/mem", "file:/",
                          "v4l2:/dev/null", "v4l2:/dev/video99", "pattern:bogus", "bogus:x"))
    return [uri, changes, rng.random() < 0.2]


@step(9, choose_source)
def change_source(world, uri, changes, by_signal):
    if uri.startswith("still:"):
        uri = world.still(int(uri[-1]))
    elif uri == "mutable":
        uri = f"file:{world.mutable}"
    config = {key: value for key, value in world.config.items() if key not in values.SOURCE_KEYS}
    reload(world, {**config, **changes, "camera.source": uri}, by_signal=by_signal)


@step(2, lambda rng, _: [rng.choice((1, 3, 20))])
def source_that_ends(world, count):
    """A recording that is played once: the daemon ends with it, and is started again."""
    path = world.directory / "once.y4m"
    reference.write_clip(path, (64, 48), 1, count=count)
    config = {**{key: value for key, value in world.config.items()
                 if key not in values.SOURCE_KEYS},
              "camera.loop": False, "camera.source": f"file:{path}"}
    reload(world, config)
    if not world.runs or world.config.get("camera.loop") is not False:
        restart_if_ended(world)
        return
    deadline = time.monotonic() + PATIENCE / 6
    while world.runs and time.monotonic() < deadline:  # it may pause, or be broken
        world.observe()
        time.sleep(0.02)
    restart_if_ended(world)


def restart_if_ended(world):
    """Restarts a daemon that was allowed to end, with a source that lasts. Faults are removed: they
    would end it again, and the remaining steps would do nothing."""
    if world.alive():
        return
    world.ended()
    world.calm()
    world.config = {**world.config, "camera.loop": True, "camera.source": world.still(0)}
    world.write_config(world.config)
    world.start()


@step(6, lambda rng, _: [rng.choice(("shrink", "grow", "vanish", "garbage", "restore", "header",
                                     "empty", "other size", "replace")), rng.random() < 0.3])
def spoil_clip(world, how, is_image):
    """The file of a source or of a filter changes while it is used."""
    path = world.images / values.MUTABLE_IMAGE if is_image else world.mutable
    if how == "vanish":
        path.unlink(missing_ok=True)
    elif how == "restore" or not path.exists():
        if is_image:
            path.write_bytes(b"P5 3 3 255\n" + bytes(range(1, 10)))
        else:
            reference.write_clip(path, (64, 48), 9, count=8)
    elif how == "shrink":
        os.truncate(path, path.stat().st_size // 2)
    elif how == "grow":
        with open(path, "ab") as file:
            file.write(b"FRAME\n" + bytes(100000))
    elif how == "garbage":
        with open(path, "r+b") as file:
            file.seek(path.stat().st_size // 3)
            file.write(b"\xff\x00garbage" * 50)
    elif how == "header":
        with open(path, "r+b") as file:
            file.write(b"YUV4MPEG2 W99999 H-1" if not is_image else b"P5 60000 60000")
    elif how == "empty":
        os.truncate(path, 0)
    elif how == "other size":
        reference.write_clip(path, (80, 60), 9, count=4)
    else:
        part = path.with_suffix(".part")
        reference.write_clip(part, (64, 48), 10, count=2)
        part.rename(path)
    look(world, 0.1)


@step(3, lambda rng, _: [int(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)))])
def kill_pipeline(world, number):
    """The process of a gst: source dies or hangs."""
    for path in pathlib.Path(f"/proc/{world.daemon.pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has just ended
            for pid in path.read_text().split():
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "fftd-gst\n":
                    os.kill(int(pid), number)
    look(world, 0.1)


# ---- the process ----

@step(2, lambda rng, _: [int(rng.choice((signal.SIGKILL, signal.SIGTERM)))])
def end(world, number):
    """It is killed or stopped, and started again with what the service manager has kept."""
    if world.runs:
        world.restart(number)


@step(1, lambda rng, _: [rng.choice((0.01, 0.1, 0.5))])
def pause(world, seconds):
    """SIGSTOP, and later SIGCONT."""
    if not world.runs:
        return
    world.daemon.signal(signal.SIGSTOP)
    time.sleep(seconds)
    world.daemon.signal(signal.SIGCONT)
    world.observe()


@step(2, lambda rng, _: [rng.choice((["status"], ["stats"], ["stats", "--prometheus"],
                                     ["filter", "show"], ["filter", "kinds"], ["list"],
                                     ["camera", "controls"], ["--json", "status"],
                                     ["snapshot", "--output", "DIRECTORY"],
                                     ["frames", "--raw", "--count", "2", "-o", "/dev/null"],
                                     ["filter", "set", "bogus"], ["view", "bogus"]))])
def ctl(world, arguments):
    """fftd-ctl ends with a code of sysexits, and never without a word."""
    arguments = [str(world.directory) if word == "DIRECTORY" else word for word in arguments]
    if arguments[0] == "frames" and world.last and world.last["State"] != "online":
        return
    try:
        limit = 10 if arguments[0] == "frames" else PATIENCE  # sd-bus gives up after 25 s
        done = subprocess.run(["timeout", str(limit), BUILD / "fftd-ctl", "--runtime-dir",
                               world.runtime_dir, *arguments], capture_output=True, text=True,
                              timeout=2 * PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise Failure("hang", f"fftd-ctl {arguments}") from None
    if done.returncode == 124 and arguments[0] == "frames":
        return  # there are no frames
    check(done.returncode in range(0, 79), "fftd-ctl", f"{arguments}: {done}")
    check(done.returncode == 0 or done.stderr, "fftd-ctl", f"{arguments}: {done.returncode}")
    world.observe()


# ---- what is wrong with the surroundings ----

FAULTS = ("enqueue -5 0 1", "finish -5 0 1", "build -11", "context -2", "slow 50", "enqueue -5",
          "finish -5", "enqueue -4 3 2", "build -11 0 1", "compile")


@step(8, lambda rng, _: [rng.sample(FAULTS, rng.choice((1, 1, 2)))], "opencl")
def begin_faults(world, lines):
    part = world.directory / "part"
    part.write_text("".join(line + "\n" for line in lines))
    part.rename(world.faults)
    look(world, 0.1)


@step(6, nobody, "opencl")
def end_faults(world):
    world.calm()
    look(world, 0.1)


@step(8, lambda rng, _: [rng.choice((True, False))], "import")
def refuse_imports(world, is_refused):
    path = world.directory / "imports.refuse"
    if is_refused:
        path.write_text("")
    else:
        path.unlink(missing_ok=True)
    look(world, 0.05)


@step(20, lambda rng, _: [rng.randrange(60)], "allocations")
def fail_allocation(world, left):
    world.allocations.arm(1, left)  # of the daemon itself


@step(10, lambda rng, _: [rng.choice((0, 1, -1, 3600, -3600, 10 ** 9, -10 ** 9, 2 ** 31))], "clock")
def set_clock(world, offset):
    """The clock of the day jumps by that many seconds."""
    world.clock.write_text(f"{offset}\n")
    look(world, 0.05)
