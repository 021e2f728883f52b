"""fftd-view --control: the page alone changes filters over HTTP, as far as the daemon lets it."""

import concurrent.futures
import email
import http.client
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path
from unittest.mock import ANY

import pytest

from conftest import BUILD, PATIENCE, SANITIZED, needs_root, wait_until
from dbus_peer import Peer
from hostile_control import Failure, HostileControl
from test_view_http import QUIET, View, runtime_dir, view  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not (BUILD / "fftd-view").exists(),
                                reason="fftd-view is not built: libmicrohttpd is missing")

MOST_BYTES = 40 * 1024  # CHANGE_REQUEST_BYTES of change_request.h


class Control:
    """A browser that has the token."""

    def __init__(self, web):
        self.port = web.port
        self.token = re.search(r"#token=([0-9a-f]{32})\n", web.log_path.read_text())[1]

    def post(self, body, path="/camera/front/filter", **headers):
        """Headers that are None are left out."""
        sent = {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/json",
                "Authorization": f"Bearer {self.token}"}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {name: value for name, value in sent.items()
                                                if value is not None})
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def change(self, *changes, **more):
        answer = self.post({"changes": changes, **more})
        assert answer.status == 200, answer.text
        return json.loads(answer.text)


@pytest.fixture
def front(start):
    daemon = start("--filter", "gaussian-blur:sigma=2")
    daemon.wait_for_socket()
    return daemon


def shown(daemon):
    return daemon.ctl("filter", "show", "--raw").stdout.strip()


# ---- what can be done ----

def test_a_change_is_made_and_told(front, view):
    control = Control(view("--control"))
    told = control.change(["add", "notch:at=0.25/0,width=0.02"])
    assert told["filter"] == shown(front) and told["serial"] == told["filter_serial"] == 2
    assert [stage["kind"] for stage in told["stages"]] == ["gaussian-blur", "notch"]
    told = control.change(["set", "1", "sigma", "3"], ["move", "2", "1"], serial=2)
    assert told["stages"][1]["parameters"]["sigma"] == 3 and told["serial"] == 3
    assert control.change(["replace", "preset:moire"], fade=5)["filter"] == shown(front)
    assert control.change(["replace", "none"])["stages"] == []


def test_the_table_of_filters_is_the_daemons(front, view):
    web = view("--control")
    answer = web.get("/camera/front/filters", Authorization=f"Bearer {Control(web).token}")
    told = json.loads(answer.body)
    assert told["kinds"] == front.ctl_json("filter", "kinds")
    cards = web.get("/cards.js").body.decode()
    for kind in told["kinds"]:
        assert re.search(rf"^    {kind['group']}: ", cards, re.M), \
            f"GROUPS of cards.js has no {kind['group']}, which {kind['name']} is for"
    presets = json.loads(subprocess.run([BUILD / "fftd", "--list-presets", "--json"], check=True,
                                        capture_output=True).stdout)
    assert [(each["name"], each["summary"]) for each in told["presets"]] == \
        [(each["name"], each["summary"]) for each in presets]
    for each, listed in zip(told["presets"], presets):
        # Some name images that this machine does not have.
        assert each["problem"] if each["name"] == "fixed-pattern" else \
            each["filter"] == listed["filter"] and not each["problem"]


def test_responses_are_those_of_the_chains(front, view):
    web = view("--control")
    answer = Control(web).post({"changes": [["lowpass:cutoff=0.2"], ["gain:ac=3"], ["nothing"]]},
                               "/camera/front/responses")
    low, gain, none = json.loads(answer.text)["responses"]
    assert len(low) == len(gain) == 21 * 11 and none == []
    assert low[10 * 21 + 10] == 1 and low[10 * 21 + 14] == pytest.approx(0.5 ** 0.5, abs=0.001)
    assert gain[0] == 3
    assert shown(front) == "gaussian-blur:sigma=2"


def test_the_list_says_what_the_page_needs(front, view):
    web = view("--control")
    listed = json.loads(web.get("/api/cameras").body)
    assert listed["control"] is True
    assert listed["cameras"][0]["stages"] == front.ctl_json("filter", "show")["FilterStages"]
    assert listed["cameras"][0]["filter_serial"] == front.ctl_json("filter", "show")["Serial"]
    assert json.loads(view().get("/api/cameras").body)["control"] is False


def test_a_view_is_published(front, view):
    web = view("--control")
    control = Control(web)
    front.wait_for_log("online")
    answer = control.post({"changes": [["difference"]]}, "/camera/front/view")
    assert json.loads(answer.text)["serial"] == front.ctl_json("status")["Serial"]
    wait_until(lambda: web.cameras()["front"]["view"] == "difference", "the view")
    refused = control.post({"changes": [["nothing"]]}, "/camera/front/view")
    assert refused.status == 422 and "difference" in refused.text
    assert control.post({"changes": [["picture"]]}, "/camera/front/view",
                        Authorization=None).status == 401
    assert web.cameras()["front"]["view"] == "difference"


def test_the_list_says_when_a_change_is_in_force(start, view):
    """A camera with one frame a second uses a change a second later."""
    front = start("--filter", "gaussian-blur:sigma=2", fps="1")
    front.wait_for_log("online")
    web = view("--control")
    control = Control(web)
    wait_until(lambda: web.cameras()["front"]["pending"] == "", "a frame")
    waited = set()
    for sigma in range(3, 9):
        serial = control.change(["set", "1", "sigma", str(sigma)])["serial"]

        def is_in_force(serial=serial):
            camera = web.cameras()["front"]
            if camera["filter_serial"] == serial:
                waited.add(camera["pending"])
                assert (camera["pending"] == "") == (camera["serial"] >= serial)
            return camera["serial"] >= serial
        wait_until(is_in_force, "the change")
    assert waited == {"", "is being prepared"}


def test_what_was_found_needs_the_token(start, view):
    front = start("--filter", "auto-notch", source="pattern:moire", size="320x240", fps="30")
    front.wait_for_log("online")
    web = view("--control")
    headers = {"Authorization": f"Bearer {Control(web).token}"}
    waves = wait_until(lambda: json.loads(web.get("/camera/front/found", **headers).body)
                       ["adaptation"].get("waves"), "a wave")
    assert {"fx", "fy", "amplitude"} <= set(waves[0])
    # The list is for everybody.
    assert web.cameras()["front"]["adaptation"] == {"observed": ANY, "withheld": True}
    assert web.get("/camera/front/found").status == 401
    assert view().get("/camera/front/found", **headers).status == 403


# ---- what is saved for every start ----

SAVE = "/camera/front/save"


@pytest.fixture
def saver(start, tmp_path):
    """saver(argument...) starts a daemon that may save, into tmp_path / "state"."""
    def begin(*arguments, **options):
        daemon = start("--filter", "gaussian-blur:sigma=2", "--set", "control.allow_save=true",
                       *arguments, env={"STATE_DIRECTORY": str(tmp_path / "state")}, **options)
        daemon.wait_for_log("online")
        return daemon
    return begin


def test_a_filter_is_saved_for_every_start(saver, view):
    front = saver()
    web = view("--control")
    control = Control(web)
    file = front.ctl_json("status")["SavedFile"]
    listed = web.get("/api/cameras").body.decode()
    assert json.loads(listed)["cameras"][0]["can_save"] is True
    assert file and file not in listed, "watchers learn the path"
    assert web.get(SAVE).status == 405
    for headers, status in OTHER_REQUESTS:
        assert control.post({}, SAVE, **headers).status == status, headers
    assert not os.path.exists(file), "a request that was refused has saved"
    serial = control.change(["set", "1", "sigma", "3"])["serial"]
    wait_until(lambda: web.cameras()["front"]["serial"] >= serial, "the change")
    for is_changed in (True, False):
        answer = control.post({}, SAVE)
        assert (answer.status, json.loads(answer.text)) == \
            (200, {"file": file, "is_changed": is_changed})
    assert front.ctl_json("status")["SavedKeys"] == ["filter"]
    with open(file, encoding="utf-8") as saved:
        assert "gaussian-blur:sigma=3" in saved.read()


def test_a_filter_that_is_not_in_use_is_not_saved(saver, view):
    """A camera with one frame a second uses a change a second later."""
    front = saver(fps="1")
    control = Control(view("--control"))
    file = front.ctl_json("status")["SavedFile"]
    sigmas = iter(range(3, 40))

    def refused():
        control.change(["set", "1", "sigma", str(next(sigmas))])
        answer = control.post({}, SAVE)
        return answer.status != 200 and answer
    os.makedirs(os.path.dirname(file))
    answer = wait_until(refused, "a filter that is not in use yet")
    assert answer.status == 503 and "not in use yet" in answer.text, answer.text
    assert answer.getheader("Retry-After") and answer.text.count("\n") == 1
    wait_until(lambda: control.post({}, SAVE).status == 200, "the filter in use")
    with open(file, encoding="utf-8") as saved:
        assert shown(front) in saved.read()


def test_what_the_administrator_does_not_allow_is_not_saved(front, view):
    web = view("--control")
    assert web.cameras()["front"]["can_save"] is False
    answer = Control(web).post({}, SAVE)
    assert answer.status == 403 and "control.allow_save = true" in answer.text


def test_only_the_filter_of_the_main_output_is_saved(saver, view):
    front = saver("--set", 'outputs=( { name = "small"; } )')
    web = view("--control", "--name", "front:small")
    assert {name: camera["can_save"] for name, camera in web.cameras().items()} == \
        {"front": True, "front:small": False}
    answer = Control(web).post({}, "/camera/front:small/save")
    assert answer.status == 422 and "only the filter of main" in answer.text
    assert front.ctl_json("status")["SavedKeys"] == []


def test_without_the_option_nothing_is_saved(saver, view):
    front = saver()
    web = view()
    control = Control(view("--control"))
    control.port = web.port
    assert control.post({}, SAVE).status == 403
    assert front.ctl_json("status")["SavedKeys"] == []


# ---- controls of the camera ----

CONTROLS = "/camera/front/controls"
BRIGHTNESS = {"name": ("s", "brightness"), "label": ("s", "Brightness"), "type": ("s", "integer"),
              "minimum": ("x", 0), "maximum": ("x", 255), "step": ("x", 1), "default": ("x", 128),
              "read_only": ("b", False), "inactive": ("b", False), "value": ("x", 130)}
LINES = {"name": ("s", "power_line_frequency"), "type": ("s", "menu"), "value": ("x", 1),
         "menu": ("a(xs)", [(0, "Disabled"), (1, "50 Hz")])}


@pytest.fixture
def played(runtime_dir):
    """Where the test plays the daemon `front`, which is found by its socket of frames."""
    runtime_dir.mkdir()
    (runtime_dir / "frames").touch()
    return runtime_dir


def get_controls(control, web):
    return web.get(CONTROLS, Authorization=f"Bearer {control.token}")


def test_controls_are_listed_and_set(played, view):
    web = view("--control")
    control = Control(web)
    answers = {"ListControls": ("aa{sv}", [BRIGHTNESS, LINES]), "SetControls": ("",)}
    with HostileControl(played, answers) as daemon:
        answer = get_controls(control, web)
        assert answer.status == 200, answer.body
        brightness, lines = json.loads(answer.body)["controls"]
        assert brightness == {name: value for name, (_, value) in BRIGHTNESS.items()}
        assert (lines["value"], lines["menu"]) == (1, [[0, "Disabled"], [1, "50 Hz"]])
        daemon.calls.clear()
        answer = control.post({"changes": [["brightness", "130"], ["power_line_frequency", "1"]]},
                              CONTROLS + "/set")
        assert answer.status == 200, answer.text
        assert json.loads(answer.text)["controls"][0] == brightness
        (first, body), (second, _) = daemon.calls
        assert (first, second) == ("SetControls", "ListControls")
        assert body.index(b"brightness\0") < body.index(b"130\0") < \
            body.index(b"power_line_frequency\0") < body.index(b"1\0", body.index(b"_freq"))
        answers["SetControls"] = Failure("org.fftd.Error.InvalidControl", "brightness: 300 is more")
        answer = control.post({"changes": [["brightness", "300"]]}, CONTROLS + "/set")
        assert (answer.status, answer.text) == (422, "brightness: 300 is more\n")


def test_controls_that_are_no_pairs_are_refused(played, view):
    control = Control(view("--control"))
    with HostileControl(played, {"SetControls": ("",)}) as daemon:
        for changes in ([["brightness"]], [["a", "1"], ["b", "2", "3"]]):
            answer = control.post({"changes": changes}, CONTROLS + "/set")
            assert answer.status == 422 and f"change {len(changes)}: expected a control" in \
                answer.text
        assert not daemon.calls, "a part of them was set"


def test_who_may_see_and_set_controls(front, view):
    web = view("--control")
    control = Control(web)
    assert web.get(CONTROLS).status == 401
    assert web.get(CONTROLS + "/set").status == 405
    for headers, status in OTHER_REQUESTS:
        answer = control.post({"changes": [["brightness", "1"]]}, CONTROLS + "/set", **headers)
        assert answer.status == status, headers
    answer = get_controls(control, web)
    assert answer.status == 422 and b"has no controls" in answer.body
    plain = view()
    assert plain.get(CONTROLS, Authorization=f"Bearer {control.token}").status == 403


def test_the_service_may_start_the_threads_of_16_cameras(view):
    unit = (Path(__file__).parents[2] / "systemd/fftd-view.service").read_text()
    web = view("--control", *[word for i in range(15) for word in ("--name", f"camera{i}")])
    control = Control(web)
    assert len(web.cameras()) == 16
    control.post({}, "/camera/camera3/problems/search")  # one more thread, until it has failed
    threads, _ = web.threads_and_memory()
    print(f"{threads} threads")
    assert 64 < threads + 1 < int(re.search("^TasksMax=([0-9]+)$", unit, re.M)[1])


# ---- problems ----

def problems(control, web, camera="front"):
    """Returns the state of the search for problems, and the names of its parts."""
    answer = web.get(f"/camera/{camera}/problems", Authorization=f"Bearer {control.token}")
    if answer.status != 200:
        return answer.status, answer.body.decode()
    parts = email.message_from_bytes(b"Content-Type: " + answer.headers["Content-Type"].encode() +
                                     b"\r\n\r\n" + answer.body).get_payload()
    named = {part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True)
             for part in parts}
    return json.loads(named.pop("state")), named


def search(control, web, camera="front"):
    """Waits for what a search says at its end."""
    answer = control.post({}, f"/camera/{camera}/problems/search")
    assert answer.status == 200, answer.text
    return wait_until(lambda: (found := problems(control, web, camera)) and
                      (not isinstance(found[0], dict) or "doing" not in found[0]) and found,
                      "the end of the search")


def test_problems_are_those_of_diagnose(start, view):
    front = start(*QUIET, source="pattern:moire", size="320x240", fps="30")
    front.wait_for_log("online")
    web = view("--control")
    control = Control(web)
    status, said = problems(control, web)
    assert status == 409 and "nobody has looked" in said
    state, parts = search(control, web)
    told = front.ctl_json("diagnose")
    assert [each["kind"] for each in state["findings"]] == \
        [each["Kind"] for each in told["Findings"]] != []
    assert state["frames"] == told["Frames"] and state["chain"].count("|") == \
        told["Chain"].count("|")
    for number in range(len(state["findings"])):
        assert parts[f"before{number}"].startswith(b"\x89PNG")
        assert parts[f"after{number}"] != parts[f"before{number}"]
    # The filter stays as it is, and so does what was found.
    assert shown(front) == "none"
    assert problems(control, web)[0] == state


def test_only_who_has_the_token_finds_problems(front, view):
    web = view("--control")
    control = Control(web)
    assert web.get("/camera/front/problems").status == 401
    assert control.post({}, "/camera/front/problems/search", Authorization=None).status == 401
    assert control.post({}, "/camera/front/problems/search", Origin=None).status == 403
    assert web.get("/camera/front/problems/search").status == 405
    assert view().get("/camera/front/problems").status == 403
    assert problems(control, web)[0] == 409, "nothing of this has begun a search"


def test_a_search_ends_with_what_it_looks_at(front, view):
    """A daemon that is mute, one that is not there, and fftd-view itself."""
    web = view("--control", "--name", "other")
    control = Control(web)
    status, said = search(control, web, "other")
    assert status == 503 and "no daemon named other" in said
    control.post({}, "/camera/front/problems/search")
    wait_until(lambda: problems(control, web)[0].get("done"), "a frame")
    os.kill(front.pid, signal.SIGSTOP)
    try:
        # While one camera is waited for, nothing else waits.
        answer = control.post({}, "/camera/other/problems/search")
        assert answer.status == 409 and "camera front" in answer.text
        assert problems(control, web)[0]["doing"] == "looking at frames"
        status, said = wait_until(lambda: (found := problems(control, web)) and
                                  found[0] == 503 and found, "the end of the search")
        assert "does not answer" in said
    finally:
        os.kill(front.pid, signal.SIGCONT)
    control.post({}, "/camera/front/problems/search")
    began = time.monotonic()
    web.process.terminate()
    assert web.process.wait(PATIENCE) == 0
    assert time.monotonic() - began < 30 * (3 if SANITIZED else 1), "90 frames were waited for"


def test_two_browsers_change_at_once(front, view):
    """Each change is made as a whole, one after the other, unless it is for an older chain."""
    control = Control(view("--control"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda i: control.change(["add", f"gain:ac={1 + i / 100}"])["serial"],
                             range(20)))
    assert sorted(told) == list(range(2, 22))
    assert len(front.ctl_json("filter", "show")["FilterStages"]) == 21
    serial = max(told)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda sigma: control.post(
            {"changes": [["set", "1", "sigma", sigma]], "serial": serial}), ["4", "5"]))
    assert sorted(answer.status for answer in answers) == [200, 409]
    refused, = (answer.text for answer in answers if answer.status == 409)
    assert str(serial) in refused and str(serial + 1) in refused


# ---- what is refused, and changes nothing ----

OTHER_REQUESTS = [
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": None}, 403),
    ({"Sec_Fetch_Site": "cross-site"}, 403),
    ({"Host": "evil.example"}, 421),
    ({"Authorization": None}, 401),
    ({"Authorization": "Bearer "}, 401),
    ({"Authorization": "Bearer " + "0" * 32}, 401),
    ({"Authorization": "Basic cm9vdDpyb290"}, 401),
    ({"Content_Type": None}, 415),
    ({"Content_Type": "text/plain"}, 415),
    ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ({"Content_Type": "application/jsonp"}, 415),
]


def test_other_requests_are_refused(front, view):
    control = Control(view("--control"))
    for headers, status in OTHER_REQUESTS:
        answer = control.post({"changes": [["replace", "none"]]}, **headers)
        assert answer.status == status and answer.text.count("\n") == 1, headers
        assert (answer.getheader("WWW-Authenticate") == "Bearer") == (status == 401)
    assert shown(front) == "gaussian-blur:sigma=2"


def test_the_token_is_compared_as_a_whole(front, view):
    control = Control(view("--control"))
    for wrong in (control.token[:-1], control.token + "0", control.token.upper(),
                  control.token[1:] + control.token[0], f" {control.token}"):
        if wrong != control.token:
            answer = control.post({"changes": [["replace", "none"]]},
                                  Authorization=f"Bearer {wrong}")
            assert answer.status == 401, wrong
    assert view("--control") and shown(front) == "gaussian-blur:sigma=2"


def test_each_start_has_its_own_token(view):
    assert Control(view("--control")).token != Control(view("--control")).token


def test_other_methods_and_lengths_are_refused(front, view):
    web = view("--control")
    control = Control(web)
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
        answer = web.get("/camera/front/filter", method=method)
        assert answer.status == 405 and answer.getheader("Allow") == "POST"
    assert control.post({}, path="/camera/front/filters").status == 405
    head = (f"POST /camera/front/filter HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
            f"Origin: http://127.0.0.1:{web.port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {control.token}\r\n")
    for length, status in (("", 411), ("Transfer-Encoding: chunked\r\n", 411),
                           (f"Content-Length: {MOST_BYTES + 1}\r\n", 413),
                           ("Content-Length: 999999999999999999999\r\n", 413)):
        got, _ = web.raw(f"{head}{length}\r\n".encode())
        assert got in (status, 400) and (got == status or "9999" in length)
    assert shown(front) == "gaussian-blur:sigma=2"
    padded = json.dumps({"changes": [["replace", "none"]]}).encode().ljust(MOST_BYTES)
    assert control.post(padded + b" ").status == 413
    assert control.post(padded).status == 200


# What is sent, and what the answer says of it. Newer versions of json-c themselves refuse bytes
# that are not UTF-8, and large numbers.
GARBAGE = [
    (b"", "complete"), (b"garbage", "byte 1"), (b"\xff\xfe", "byte 1"), (b"[" * 9000, "byte 5"),
    (b'{"changes": [["replace", "none"]]} x', "byte 36"), (b'{"changes": [["remove"', "complete"),
    (b'{"changes": [["remove", "\xc0\x80"]]}', "text|utf-8"),
    (b'\0{"changes": [["remove", "1"]]}', ""),
    ({}, "changes"), ([], "object"), ({"changes": []}, "1 .. 64"), ({"changes": "x"}, "1 .. 64"),
    ({"changes": [["replace", "none"]] * 65}, "1 .. 64"), ({"changes": [[]]}, "change 1"),
    ({"changes": [["replace", "none"], ["a"] * 5]}, "change 2"),
    ({"changes": [["remove", 1]]}, "change 1"), ({"changes": [["remove", None]]}, "change 1"),
    ({"changes": [["replace", "none\0x"]]}, "change 1"),
    ({"changes": [["replace", "\ufffe"]]}, "text"), ({"changes": [{"a": "b"}]}, "change 1"),
    ({"changes": [["replace", "none"]], "serial": -1}, "serial"),
    ({"changes": [["replace", "none"]], "serial": 2 ** 64}, "serial|number"),
    ({"changes": [["replace", "none"]], "serial": 1.5}, "serial"),
    ({"changes": [["replace", "none"]], "serial": "1"}, "serial"),
    ({"changes": [["replace", "none"]], "fade": 2 ** 32}, "fade"),
    ({"changes": [["replace", "none"]], "chages": []}, "expected an object"),
]


def test_garbage_is_refused(front, view):
    control = Control(view("--control"))
    for body, words in GARBAGE:
        answer = control.post(body)
        assert answer.status == 400 and re.search(words, answer.text), (body, answer.text)
        assert answer.text.count("\n") == 1
    assert shown(front) == "gaussian-blur:sigma=2"


WRONG_CHANGES = [
    ([["add", "wobble"]], ["wobble"]),
    ([["set", "1", "sigma", "-1"]], ["sigma", "-1"]),
    ([["remove", "7"]], ["7"]),
    ([["replace", "none"], ["add", "lowpass:cutoff=0.7"]], ["change 2", "0.7"]),
    ([["add", "gain:ac=1"]] * 64, ["32"]),
    ([["explode"]], ["explode"]),
    ([["replace", "preset:../../etc/passwd"]], ["preset"]),
    ([["replace", "x" * 39000]], ["too long"]),
]


def test_the_daemon_says_what_is_wrong(front, view):
    control = Control(view("--control"))
    for changes, words in WRONG_CHANGES:
        answer = control.post({"changes": changes})
        assert answer.status == 422 and all(word in answer.text for word in words), answer.text
    assert shown(front) == "gaussian-blur:sigma=2"


def test_without_the_option_nothing_changes(front, view):
    web = view()
    control = Control(view("--control"))
    for _ in range(2):
        control.port = web.port
        answer = control.post({"changes": [["replace", "none"]]})
        assert answer.status == 403 and "--control" in answer.text
        assert web.get("/camera/front/filters",
                       Authorization=f"Bearer {control.token}").status == 403
    assert shown(front) == "gaussian-blur:sigma=2"


@needs_root
def test_without_the_control_group_nothing_changes(start, runtime_dir, tmp_path):
    """A user whom the daemon does not let change anything, as its socket's permissions say."""
    nobody = 65534
    daemon = start(*QUIET)
    daemon.wait_for_socket()
    program = runtime_dir.parents[1] / "fftd-view"
    shutil.copy(BUILD / "fftd-view", program)
    for path in (runtime_dir, runtime_dir.parent, runtime_dir.parents[1]):
        os.chown(path, nobody, nobody)
    web = View(runtime_dir, ["--control", "--listen", "127.0.0.1:0"], tmp_path / "view",
               program=program, user=nobody, group=nobody, extra_groups=[])
    try:
        answer = Control(web).post({"changes": [["replace", "none"]]})
        assert answer.status == 403 and "fftd-admin" in answer.text
    finally:
        assert web.stop() == 0


# ---- the daemon ends, and does not answer ----

def test_a_daemon_that_is_gone_and_back(front, start, view):
    control = Control(view("--control"))
    control.change(["set", "1", "sigma", "3"])
    front.process.kill()
    front.wait()
    answer = control.post({"changes": [["replace", "none"]]})
    assert answer.status == 503 and "systemctl start fftd@front" in answer.text
    assert answer.getheader("Retry-After")
    again = start(*QUIET)
    again.wait_for_socket()
    assert control.change(["add", "gain:ac=2"])["filter"] == shown(again)


def test_a_daemon_that_does_not_answer(front, view):
    """Its changes end with words, and the state of the others is shown meanwhile."""
    web = view("--control", "--name", "other")
    control = Control(web)
    control.change(["set", "1", "sigma", "3"])
    front.process.send_signal(19)  # SIGSTOP
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(control.post, {"changes": [["replace", "none"]]})
            assert control.post({"changes": [["remove", "1"]]},
                                path="/camera/other/filter").status == 503
            assert pending.result(PATIENCE).status == 503
        assert "does not answer" in pending.result().text
    finally:
        front.process.send_signal(18)


def test_a_call_that_waits_ends_with_the_program(front, view):
    web = view("--control")
    control = Control(web)
    control.change(["set", "1", "sigma", "3"])
    front.process.send_signal(19)
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            pending = [pool.submit(control.post, {"changes": [["replace", "none"]]})
                       for _ in range(3)]
            time.sleep(0.3)
            assert web.stop() == 0
            for each in pending:
                try:
                    assert each.result(PATIENCE).status == 503
                except (OSError, http.client.HTTPException):
                    pass
    finally:
        front.process.send_signal(18)


@pytest.mark.skipif(SANITIZED, reason="sanitizers keep freed memory")
def test_the_daemons_signals_take_no_memory(front, view):
    """Each change of the filter is announced to fftd-view, which does not ask for it."""
    web = view("--control")
    control = Control(web)
    control.change(["replace", " | ".join(["convolve:kernel=" + "/".join(["1 2 3 4 5"] * 5)] * 32)])

    def change(count):
        with Peer(front) as peer:
            for i in range(count):
                assert peer.edit(["set", "1", "normalise", ["none", "sum"][i % 2]]).number
                if i % 10 == 0:
                    web.cameras()
                    control.change(["set", "2", "normalise", "sum"])
                    time.sleep(0.05)

    change(50)
    before = web.threads_and_memory()[1]
    change(300)
    assert web.threads_and_memory()[1] < before + 2e6


# ---- the token ----

def run_view(runtime_dir, **environment):
    return subprocess.Popen(
        [BUILD / "fftd-view", "--control", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
        text=True, env=dict(os.environ, XDG_RUNTIME_DIR=str(runtime_dir.parents[1]),
                            **environment))


def test_under_systemd_the_token_is_in_a_file(runtime_dir):
    folder = runtime_dir.parent
    planted = folder / "address"
    planted.symlink_to(folder / "elsewhere")
    process = run_view(runtime_dir, RUNTIME_DIRECTORY=str(folder), INVOCATION_ID="1",
                       JOURNAL_STREAM="8:1")
    lines = process.stderr.readline() + process.stderr.readline()
    process.terminate()
    assert process.wait(PATIENCE) == 0
    assert "token=" not in lines + process.stderr.read() and str(planted) in lines
    assert stat.S_IMODE(planted.lstat().st_mode) == 0o600 and not planted.is_symlink()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{32}\n", planted.read_text())
    assert not (folder / "elsewhere").exists()


@pytest.mark.parametrize("environment, code", [
    ({"INVOCATION_ID": "1", "JOURNAL_STREAM": "8:1"}, 78),
    ({"RUNTIME_DIRECTORY": "/nonexistent"}, 73),
])
def test_a_token_that_cannot_be_told_is_refused(runtime_dir, environment, code):
    process = run_view(runtime_dir, **environment)
    text = process.stderr.read()
    assert process.wait(PATIENCE) == code and "token=" not in text and text.count("\n") == 1
