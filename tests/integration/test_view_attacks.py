"""fftd-view under a thousand connections at once that never ask a whole question."""

import concurrent.futures
import itertools
import pathlib
import resource
import selectors
import socket
import struct
import time

import pytest

from conftest import BUILD, PATIENCE
from test_view_control import Control
from test_view_http import IS_SANITIZED, QUIET, runtime_dir, view  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(not (BUILD / "fftd-view").exists(),
                                reason="fftd-view is not built: libmicrohttpd is missing")

CONNECTIONS, ADDRESSES = 1000, 8
MOST = 192       # CONNECTIONS_MAX of connections.h
ATTACK_S = 2
DRIP_S = 0.05    # between two bytes of a slow request
FILLING = b"a" * 4000


class Attacker:
    """One connection. `head` is sent first, and then `more`: at once if it is long, drop by drop
    if it is short, never if it is empty."""

    def __init__(self, kind, head, more, port, source):
        self.kind, self.more, self.unsent = kind, more, head
        self.answer = b""
        self.was_refused = False
        self.next_time = 0
        self.socket = socket.socket()
        self.socket.setblocking(False)
        # Its end is a reset. libmicrohttpd sees an orderly end that comes with the last data only
        # when the request's time is over.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.bind((source, 0))
        self.socket.connect_ex(("127.0.0.1", port))

    def has_more(self, now):
        if not self.unsent and self.more and now >= self.next_time:
            self.unsent = self.more
            self.next_time = now + (DRIP_S if len(self.more) == 1 else 0)
        return bool(self.unsent)

    def turn(self, events):
        """Writes and reads once. False: the server has ended it."""
        try:
            if events & selectors.EVENT_READ:
                if not (part := self.socket.recv(4096)):
                    return False
                self.answer += part
            if events & selectors.EVENT_WRITE and self.has_more(time.monotonic()):
                self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


def kinds_of(web, token):
    """(kind, head, more, the statuses that the server may answer)"""
    change = (f"POST /camera/front/filter HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
              f"Origin: http://127.0.0.1:{web.port}\r\nContent-Type: application/json\r\n"
              f"Authorization: Bearer {token}\r\n")
    return [
        ("idle", "", b"", set()),
        ("slow", "GET / HTTP/1.1\r\nHost: localhost\r\nA: ", b"a", set()),
        ("slow body", f"{change}Content-Length: 1000\r\n\r\n", b" ", set()),
        ("endless path", "GET /", FILLING, {414}),
        ("endless header", "GET / HTTP/1.1\r\nHost: localhost\r\nA: ", FILLING, {431}),
        ("endless headers", "GET / HTTP/1.1\r\nHost: localhost\r\n", b"A: " + FILLING + b"\r\n",
         {431}),
        ("endless body", f"{change}Content-Length: 999999999999\r\n\r\n", FILLING, {413}),
        ("endless chunks", f"{change}Transfer-Encoding: chunked\r\n\r\n",
         b"fa0\r\n" + FILLING + b"\r\n", {411}),
        ("endless body without the token", "POST /camera/front/filter HTTP/1.1\r\nHost: localhost"
         "\r\nContent-Length: 9999\r\n\r\n", FILLING, {403}),
        ("endless body of a question", "GET /api/cameras HTTP/1.1\r\nHost: localhost\r\n"
         "Content-Length: 999999999999\r\n\r\n", FILLING, {400}),
    ]


def attack(web, kinds, sources, seconds):
    """Keeps CONNECTIONS open for this long, each made again when the server ends it. Returns the
    statuses for each kind, and how many descriptors the server had at most."""
    statuses = {kind: set() for kind, *_ in kinds}
    most = count = 0
    makers = itertools.cycle(itertools.product(sources, kinds))
    with selectors.DefaultSelector() as selector:
        def add():
            source, (kind, head, more, _) = next(makers)
            attacker = Attacker(kind, head.encode(), more, web.port, source)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if head else 0)
            selector.register(attacker.socket, events, attacker)

        def remove(attacker):
            selector.unregister(attacker.socket)
            attacker.socket.close()
            if attacker.answer:
                statuses[attacker.kind].add(int(attacker.answer.split()[1]))

        for _ in range(CONNECTIONS):
            add()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)  # leaves processors to those who are attacked
            for key, events in selector.select(0):
                if not key.data.turn(events):
                    remove(key.data)
                    add()
                    count += 1
            most = max(most, len(descriptors_of(web)))
        for key in list(selector.get_map().values()):
            remove(key.data)
    print(f"{count} connections were made again, at most {most} descriptors: {statuses}")
    return statuses, most


def descriptors_of(web):
    return list(pathlib.Path(f"/proc/{web.process.pid}/fd").iterdir())


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CONNECTIONS + 200:
        pytest.skip(f"this process may have {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def wait_for_end(web, descriptors, stream):
    """Until the server has closed all connections of an attack, and nothing else."""
    deadline = time.monotonic() + PATIENCE
    while (count := len(descriptors_of(web))) != descriptors:
        assert time.monotonic() < deadline, f"{count} descriptors, {descriptors} before"
        stream.next()


def published(daemon):
    return daemon.ctl_json("stats")["Counters"]["published"], time.monotonic()


def rate(first, last):
    return (last[0] - first[0]) / (last[1] - first[1])


def test_a_thousand_connections(start, view, many_descriptors):
    """They are bounded, each gets its status, nothing of them is left, and neither the daemon nor a
    browser that was there before has fewer frames."""
    daemon = start(*QUIET, fps="30")
    web = view("--control")
    kinds = kinds_of(web, Control(web).token)
    sources = [f"127.0.0.{number}" for number in range(2, 2 + ADDRESSES)]
    with web.stream() as stream:
        stream.next()
        descriptors = len(descriptors_of(web))
        # The first attack is for memory that is taken once.
        attack(web, kinds, sources, ATTACK_S / 2)
        wait_for_end(web, descriptors, stream)
        threads, memory = web.threads_and_memory()
        clients = daemon.ctl_json("status")["Clients"]

        begin = published(daemon)
        stream.read_for(1)
        before = rate(begin, published(daemon))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            begin, pictures = published(daemon), pool.submit(stream.read_for, ATTACK_S)
            statuses, most = attack(web, kinds, sources, ATTACK_S)
            during = rate(begin, published(daemon))
        seen = len(pictures.result()) / ATTACK_S
        print(f"{before:.1f} frames a second before, {during:.1f} meanwhile, {seen:.1f} seen")
        assert during > 0.9 * before and seen > 0.7 * before
        for kind, *_, allowed in kinds:
            assert statuses[kind] == allowed, kind
        assert most <= MOST + descriptors + 8  # which are being closed
        wait_for_end(web, descriptors, stream)
        after = web.threads_and_memory()
        assert after[0] == threads
        assert IS_SANITIZED or after[1] < memory + 4e6  # what is free between what is not
        assert daemon.ctl_json("status")["Clients"] == clients
    assert web.get("/").status == 200
    assert daemon.ctl("filter", "show", "--raw").stdout.strip() == "none"
