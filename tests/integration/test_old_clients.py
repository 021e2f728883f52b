"""Clients as they were built at the beginning of version 0.1.0 read today's daemon, whose camera
has outputs, templates, measures and motion. What they know of the interface is written down here,
and is never changed: a test that fails says that older clients fail."""

import mmap
import os
import shutil
import struct
import subprocess

import pytest

from client import Reader
from conftest import BUILD, PATIENCE, wait_until
from test_attacks import FramesClient
from test_outputs import of

MAGIC = int.from_bytes(b"FFTDRING", "little")
MEASURES, MATCH = 8, 16
SIZE = WIDTH, HEIGHT = 160, 120

# The same in C: the declarations that such a program was compiled with.
PROGRAM = r"""
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
struct plane { uint32_t offset, stride, row_bytes, rows; };
struct format {
    uint32_t fourcc, width, height, plane_count;
    struct plane plane[4];
    uint32_t frame_bytes, rate_num, rate_den;
    uint8_t primaries, transfer, matrix, full_range;
};
struct frame {
    uint64_t sequence, source_sequence, filter_serial;
    int64_t captured_ns, dequeued_ns, submitted_ns, finished_ns, published_ns;
    uint64_t missed, checksum;
    uint32_t flags, lock, slot, ring;
    const struct format *format;
    const uint8_t *plane[4];
    uint32_t stride[4];
};
struct match { float x, y, score; uint32_t reserved; };
struct fftd;
int fftd_open(struct fftd **ret, const char *name);
void fftd_close(struct fftd *camera);
int fftd_wait(struct fftd *camera, int timeout_ms);
int fftd_frame(struct fftd *camera, struct frame *ret);
bool fftd_frame_valid(const struct fftd *camera, const struct frame *frame);
uint64_t fftd_frame_checksum(const struct frame *frame);
int fftd_frame_match(const struct fftd *camera, const struct frame *frame, struct match *ret);
int fftd_hold(struct fftd *camera, const struct frame *frame);
int fftd_release(struct fftd *camera, const struct frame *frame);

int main(int count, char **argument)
{
    struct fftd *camera;
    unsigned frames = 0, matched = 0;
    if (count != 2 || fftd_open(&camera, argument[1]) < 0)
        return 1;
    while (frames < 30 || matched == 0) {
        struct frame frame;
        struct match match;
        if (fftd_wait(camera, 60000) != 1)
            return 2;
        if (fftd_frame(camera, &frame) < 0 || fftd_hold(camera, &frame) < 0)
            continue;
        if (fftd_frame_checksum(&frame) != frame.checksum || !fftd_frame_valid(camera, &frame) ||
            frame.format->width != 160 || frame.stride[0] < 160)
            return 3;
        frames++;
        if (fftd_frame_match(camera, &frame, &match) == 0)
            matched += match.score > 0 && match.reserved == 0;
        if (fftd_release(camera, &frame) < 0)
            return 4;
    }
    fftd_close(camera);
    printf("%u frames\n", frames);
    return 0;
}
"""


@pytest.fixture
def daemon(start):
    """Each frame has everything that a slot may have."""
    chain = " | ".join(["match:image=corner.txt,show=false"] * 16)
    daemon = start("--set", "camera.format=GREY", "--set", "output.checksum=true", "--set",
                   "output.measures=true", "--set", "output.motion=32", "--set",
                   'outputs=( { name = "small"; size = "80x60"; }, { name = "edges"; filter = '
                   '"gradient"; } )', "--filter", chain, source="pattern:scene", fps="20")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        # MOTION, MATCHES and SIMILARITY came later.
        reader.take_until(lambda frame: frame.flags & 64 and frame.flags & 2048)
    return daemon


def fnv(memory, offset, layout):
    """The checksum of one plane."""
    first, stride, row_bytes, rows = layout
    sum_ = 0xcbf29ce484222325
    for row in range(rows):
        for byte in memory[offset + first + row * stride:][:row_bytes]:
            sum_ = ((sum_ ^ byte) * 0x100000001b3) & (1 << 64) - 1
    return sum_


def read_slot(ring):
    """Returns one frame, read as the first ring.h says; None: it was overwritten."""
    slots, data_offset, stride = struct.unpack_from("<IIQ", ring, 24)
    header_bytes, = struct.unpack_from("<I", ring, 12)
    newest, = struct.unpack_from("<Q", ring, 256)
    assert newest & 63 < slots
    slot = header_bytes + (newest & 63) * stride
    lock, flags, sequence = struct.unpack_from("<IIQ", ring, slot)
    whole = bytes(ring[slot:slot + stride])
    if lock & 1 or sequence != newest >> 6 or struct.unpack_from("<I", ring, slot)[0] != lock:
        return None
    checksum, = struct.unpack_from("<Q", whole, 72)
    assert fnv(whole, data_offset, struct.unpack_from("<IIII", ring, 48 + 16)) == checksum
    return flags, struct.unpack_from("<fffI", whole, 128)


@pytest.mark.parametrize("output", [None, "edges"])
def test_a_reader_without_the_library_reads_on(daemon, output):
    client = FramesClient(of(daemon, output) if output else daemon)
    descriptor = client.attach()
    ring = mmap.mmap(descriptor, os.fstat(descriptor).st_size, prot=mmap.PROT_READ)
    assert struct.unpack_from("<QIIQ", ring, 0) == (MAGIC, 1, 4096, len(ring))
    assert struct.unpack_from("<4sIII", ring, 48) == (b"R8  ", WIDTH, HEIGHT, 1)
    frames = []

    def read():
        if struct.unpack_from("<Q", ring, 256)[0] != 0 and (frame := read_slot(ring)):
            frames.append(frame)
        return len(frames) >= 5

    wait_until(read, "frames")
    flags, match = frames[-1]
    assert flags & MEASURES
    if output:  # its chain looks for no template
        assert not flags & MATCH
    else:
        assert flags & MATCH and 0 < match[2] <= 1 and match[3] == 0
    os.close(descriptor)
    client.close()


def test_a_program_of_older_headers_runs_with_the_library(daemon, tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None or "san" in BUILD.name:
        pytest.skip("no compiler, or a sanitized library")
    (tmp_path / "client.c").write_text(PROGRAM)
    subprocess.run([compiler, "-o", tmp_path / "client", tmp_path / "client.c",
                    BUILD / "libfftd.so.0"], check=True)
    done = subprocess.run([tmp_path / "client", daemon.runtime_dir], text=True,
                          capture_output=True, env={**os.environ, "LD_LIBRARY_PATH": str(BUILD)},
                          check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout.split()[1:]) == (0, ["frames"]), done
