"""A minimal D-Bus client for raw bytes on the control socket: little-endian."""

import contextlib
import os
import socket
import struct

from conftest import PATIENCE

PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, SIGNATURE = 1, 2, 3, 4, 5, 8
CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
NO_REPLY = 1
SO_PEEK_OFF = 42
CAMERA = "org.fftd.Camera1"
PROPERTIES = "org.freedesktop.DBus.Properties"
NUMBERS = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d",
           "h": "I"}
ALIGNMENT = {"y": 1, "g": 1, "v": 1, "n": 2, "q": 2, "x": 8, "t": 8, "d": 8, "(": 8, "{": 8}


def pad(data, to):
    return data + b"\0" * (-len(data) % to)


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def complete_types(signature):
    """Splits a signature: "sa{sv}u" is "s", "a{sv}", "u"."""
    while signature:
        length, depth = 0, 0
        while True:
            letter = signature[length]
            depth += (letter in "({") - (letter in ")}")
            length += 1
            if depth == 0 and letter != "a":
                break
        yield signature[:length]
        signature = signature[length:]


def put(data, kind, value):
    """Appends one complete value: dictionaries for a{..}, (signature, value) for a variant."""
    data += b"\0" * (-len(data) % ALIGNMENT.get(kind[0], 4))
    if kind in NUMBERS:
        data += struct.pack("<" + NUMBERS[kind], value)
    elif kind in ("s", "o"):
        data += text(value)
    elif kind == "g":
        data += bytes([len(value)]) + value.encode() + b"\0"
    elif kind == "v":
        put(data, "g", value[0])
        put(data, *value)
    elif kind[0] == "a":
        place = len(data)
        data += bytes(4)
        data += b"\0" * (-len(data) % ALIGNMENT.get(kind[1], 4))
        begin = len(data)
        for item in value.items() if isinstance(value, dict) else value:
            put(data, kind[1:], item)
        struct.pack_into("<I", data, place, len(data) - begin)
    else:
        for each, item in zip(complete_types(kind[1:-1]), value, strict=True):
            put(data, each, item)


def body(values, signature):
    """Strings, u32 and arrays of doubles need no signature."""
    if signature is None:
        signature = "".join({int: "u", list: "ad"}.get(type(value), "s") for value in values)
    data = bytearray()
    for kind, value in zip(complete_types(signature), values, strict=True):
        put(data, kind, value)
    return bytes(data), signature


def call(member, *values, signature=None, interface=CAMERA, path="/org/fftd/camera", serial=1,
         flags=0):
    """Returns the bytes of a method call."""
    data, signature = body(values, signature)
    fields = b""
    for code, kind, value in ((PATH, "o", path), (INTERFACE, "s", interface),
                              (MEMBER, "s", member)):
        fields = pad(fields, 8) + bytes([code, 1]) + kind.encode() + b"\0" + text(value)
    if signature:
        fields = pad(fields, 8) + bytes([SIGNATURE, 1]) + b"g\0"
        fields += bytes([len(signature)]) + signature.encode() + b"\0"
    head = struct.pack("<cBBBIII", b"l", CALL, flags, 1, len(data), serial, len(fields))
    return pad(head + fields, 8) + data


class Message:
    def __init__(self, head, fields, data):
        self.type = head[1]
        self.serial, = struct.unpack_from("<I", head, 8)
        self.fields = fields
        self.data = data

    @property
    def error(self):
        return self.fields.get(ERROR_NAME)

    @property
    def message(self):
        """Returns the first string of the body."""
        length, = struct.unpack_from("<I", self.data)
        return self.data[4:4 + length].decode()

    @property
    def number(self):
        return struct.unpack_from("<Q", self.data)[0]

    @property
    def numbers(self):
        """Returns the doubles of the body's array."""
        length, = struct.unpack_from("<I", self.data)
        return list(struct.unpack_from(f"<{length // 8}d", self.data, 8))

    @property
    def strings(self):
        """Returns the strings of the body's array."""
        end, at, found = 4 + struct.unpack_from("<I", self.data)[0], 4, []
        while at < end:
            at += -at % 4
            length, = struct.unpack_from("<I", self.data, at)
            found.append(self.data[at + 4:at + 4 + length].decode())
            at += 5 + length
        return found


class Peer:
    """A connection, with the handshake done unless disabled."""

    def __init__(self, daemon, name="control", handshake=True, timeout=PATIENCE):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(f"{daemon.runtime_dir}/{name}")
        self.buffer = b""
        self.serial = 0
        if handshake:
            self.send(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
            assert self.line().startswith(b"OK ")
            self.send(b"NEGOTIATE_UNIX_FD\r\n")
            assert self.line() == b"AGREE_UNIX_FD"
            self.send(b"BEGIN\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def take(self, size):
        while len(self.buffer) < size:
            self.more()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def receive(self):
        head = self.take(16)
        body_length, _, fields_length = struct.unpack("<III", head[4:])
        raw = self.take(fields_length + -fields_length % 8)[:fields_length]
        fields, at = {}, 0
        while at < fields_length:
            at += -at % 8
            code, length = raw[at], raw[at + 1]
            kind = raw[at + 2:at + 2 + length].decode()
            at += 3 + length
            if kind in "so":
                at += -at % 4
                size, = struct.unpack_from("<I", raw, at)
                fields[code] = raw[at + 4:at + 4 + size].decode()
                at += 5 + size
            elif kind == "g":
                fields[code] = raw[at + 1:at + 1 + raw[at]].decode()
                at += 2 + raw[at]
            else:
                at += -at % 4
                fields[code], = struct.unpack_from("<I", raw, at)
                at += 4
        return Message(head, fields, self.take(body_length))

    def edit(self, *changes, based_on=0, fade_frames=0):
        """Calls EditFilter with changes, which are lists of words."""
        return self.call("EditFilter", changes, based_on, fade_frames, signature="aastu")

    def call(self, member, *values, **where):
        """Returns the reply and skips signals before it."""
        self.serial += 1
        self.send(call(member, *values, serial=self.serial, **where))
        return self.reply(self.serial)

    def get(self, name):
        """Returns the value of a property that is a number, a boolean or a string. This is quicker
        than running fftd-ctl."""
        data = self.call("Get", CAMERA, name, interface=PROPERTIES).data
        kind = data[1:2].decode()
        if kind == "s":
            return data[8:-1].decode()
        value, = struct.unpack_from("<" + NUMBERS[kind], data, 3 + -3 % ALIGNMENT.get(kind, 4))
        return bool(value) if kind == "b" else value

    def reply(self, serial):
        while True:
            message = self.receive()
            if message.fields.get(REPLY_SERIAL) == serial:
                return message

    def answers(self):
        """Returns the number of replies that are ready to be received, and leaves them there. There
        may be signals before them."""
        data, timeout = self.buffer, self.socket.gettimeout()
        self.socket.settimeout(0)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, 0)
        with contextlib.suppress(BlockingIOError):
            while part := self.socket.recv(65536, socket.MSG_PEEK):
                data += part
        self.socket.setsockopt(socket.SOL_SOCKET, SO_PEEK_OFF, -1)
        self.socket.settimeout(timeout)
        count = at = 0
        while at + 16 <= len(data):
            body_length, _, fields_length = struct.unpack_from("<III", data, at + 4)
            kind = data[at + 1]
            at += 16 + fields_length + -fields_length % 8 + body_length
            count += kind in (RETURN, ERROR) and at <= len(data)
        return count

    def is_closed(self):
        """Waits until the daemon closes the connection."""
        try:
            while True:
                self.more()
        except (EOFError, ConnectionError):
            return True


class Keeper(Peer):
    """A peer that keeps the descriptors it receives, until the end of the test."""

    def __init__(self, *arguments, **options):
        self.descriptors = []
        super().__init__(*arguments, **options)

    def __exit__(self, *_):
        super().__exit__()
        self.close_descriptors()

    def close_descriptors(self):
        while self.descriptors:
            os.close(self.descriptors.pop())

    def more(self):
        data, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 16)
        self.descriptors += descriptors
        if not data:
            raise EOFError
        self.buffer += data
