"""Reads PNG images."""

import struct
import zlib


class Png:
    """Width, height and rows of an 8-bit picture, RGB or grey (the PNG specification)."""

    def __init__(self, data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        packed, at = b"", 8
        while at < len(data):
            length, kind = struct.unpack_from(">I4s", data, at)
            chunk = data[at + 8:at + 8 + length]
            assert zlib.crc32(kind + chunk) == struct.unpack_from(">I", data, at + 8 + length)[0]
            if kind == b"IHDR":
                self.width, self.height, bits, colour = struct.unpack_from(">IIBB", chunk)
                assert bits == 8 and colour in (0, 2)
                self.channels = 3 if colour == 2 else 1
            elif kind == b"IDAT":
                packed += chunk
            at += 12 + length
        self.rows = self.unfilter(zlib.decompress(packed))

    def unfilter(self, data):
        step = self.channels
        rows, above, size = [], bytes(step * self.width), step * self.width
        for y in range(self.height):
            kind = data[y * (size + 1)]
            row = bytearray(data[y * (size + 1) + 1:(y + 1) * (size + 1)])
            for i in range(size) if kind > 0 else ():
                a = row[i - step] if i >= step else 0
                b, c = above[i], above[i - step] if i >= step else 0
                row[i] = (row[i] + self.predicted(kind, a, b, c)) & 255
            rows.append(bytes(row))
            above = row
        return rows

    @staticmethod
    def predicted(kind, a, b, c):
        if kind < 4:
            return (0, a, b, (a + b) // 2)[kind]
        pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
        return a if pa <= pb and pa <= pc else b if pb <= pc else c

    def pixel(self, x, y):
        return tuple(self.rows[y][3 * x:3 * x + 3])
