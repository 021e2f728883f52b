"""A fake daemon's control socket, whose answers the test chooses."""

import array
import contextlib
import socket
import struct
import threading

from dbus_peer import (ERROR, ERROR_NAME, MEMBER, REPLY_SERIAL, RETURN, SIGNATURE, Peer,
                       complete_types, pad, put)

UNIX_FDS = 9


def message(kind, serial, fields, signature="", values=(), fds=0):
    data, head = bytearray(), b""
    for each, value in zip(complete_types(signature), values, strict=True):
        put(data, each, value)
    fields = {**fields, SIGNATURE: ("g", signature), UNIX_FDS: ("u", fds)}
    for code, (type_, value) in fields.items():
        field = bytearray([code])
        put(field, "v", (type_, value))
        # The value is aligned within the header, where each field begins at a multiple of 8.
        head = pad(head, 8) + field
    start = struct.pack("<cBBBIII", b"l", kind, 1, 1, len(data), serial, len(head))
    return pad(start + head, 8) + bytes(data)


class Failure:
    """An answer that is an error."""

    def __init__(self, name, text_):
        self.name = name
        self.text = text_


class HostileControl(Peer):
    """`with HostileControl(directory, {"GetStats": ("a{sv}", value, ...)}):` answers each method's
    calls, until the end of the block. `fds` go with an answer whose signature has an h."""

    def __init__(self, directory, answers, fds=()):  # pylint: disable=super-init-not-called
        self.answers = answers
        self.fds = fds
        self.calls = []  # (member, body), in their order
        self.socket = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(directory / "control"))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        for each in filter(None, (self.listener, self.socket)):
            with contextlib.suppress(OSError):  # the other end may be closed
                each.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                self.socket, _ = self.listener.accept()
                self.buffer = b""
                with self.socket, contextlib.suppress(EOFError, OSError):
                    self.serve_client()

    def serve_client(self):
        answers = {b"\0AUTH EXTERNAL": b"DATA", b"DATA": b"OK " + b"0" * 32,
                   b"NEGOTIATE_UNIX_FD": b"AGREE_UNIX_FD"}
        while (line := self.line()) != b"BEGIN":
            self.send(answers.get(line, b"OK " + b"0" * 32) + b"\r\n")
        while True:
            call = self.receive()
            self.calls.append((call.fields[MEMBER], call.data))
            self.answer(call.fields[MEMBER], call.serial)

    def answer(self, member, serial):
        answer = self.answers.get(member, Failure("org.freedesktop.DBus.Error.UnknownMethod", "?"))
        fields = {REPLY_SERIAL: ("u", serial)}
        if isinstance(answer, Failure):
            fields[ERROR_NAME] = ("s", answer.name)
            self.send(message(ERROR, 1, fields, "s", (answer.text,)))
            return
        signature, *values = answer
        fds = list(self.fds) if "h" in signature else []
        data = message(RETURN, 1, fields, signature, values, len(fds))
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.socket.sendmsg([data], control)
        self.send(data[sent:])
