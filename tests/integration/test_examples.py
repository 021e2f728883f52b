"""What a newcomer copies first works as it is written: the examples of README.md, of the manual
pages and of the library's header."""

import os
import pathlib
import re
import subprocess

import pytest

from conftest import BUILD, PATIENCE, SANITIZED

ROOT = pathlib.Path(__file__).resolve().parents[2]

# ---- the example in C ----

PROGRAM = """
#include <fftd/fftd.h>
#include <stdio.h>
#include <string.h>

static int frames;
static int look(const unsigned char *pixels)
{
    return printf("frame %%d: %%d\\n", ++frames, pixels[0]);
}
#define look_at(pixels, stride, format) ((void)(stride), (void)(format), look(pixels))
#define use(pixels, ...)                look(pixels)
#define discard()                       puts("overwritten")

int main(void)
{
%s
    return 0;
}
"""


def c_example(path):
    """Returns the lines of C that open a camera and read its frames."""
    text = (ROOT / path).read_text()
    if path.endswith(".md"):
        return re.search(r"^```c\n(.*?)^```$", text, re.M | re.S)[1]
    if path.endswith(".3"):
        block = re.search(r"^\.Sh EXAMPLES\n\.Bd -literal\n(.*?)^\.Ed$", text, re.M | re.S)[1]
        return block.replace(r"\e", "\\").replace(r"\-", "-")
    return "\n".join(re.findall(r"^ \*     (.*)$", text.partition("*/")[0], re.M))


@pytest.fixture(params=["README.md", "docs/man/libfftd.3", "client/include/fftd/fftd.h"])
def c_program(request, tmp_path):
    if SANITIZED:
        pytest.skip("links with a library that is not sanitized")
    source, program = tmp_path / "example.c", tmp_path / "example"
    source.write_text(PROGRAM % c_example(request.param))
    subprocess.run(["cc", "-O2", "-std=c99", "-Wall", "-Wextra", "-Werror",
                    f"-I{ROOT}/client/include", "-o", program, source, BUILD / "libfftd.a"],
                   check=True)
    return program


def test_the_c_example_names_an_absent_camera(c_program, tmp_path):
    done = subprocess.run([c_program], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 1, done
    assert done.stderr == "cannot open the camera: No such file or directory\n"


def test_the_c_example_reads_frames(c_program, start, runtime_dir):
    start().wait_for_socket("frames")
    (runtime_dir.parent / "fftd").mkdir()
    (runtime_dir.parent / "fftd/front").symlink_to(runtime_dir)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime_dir.parent)}
    with subprocess.Popen(["stdbuf", "-oL", c_program], text=True, stdout=subprocess.PIPE,
                          env=environment) as reading:
        said = [reading.stdout.readline() for _ in range(5)]
        reading.kill()
    assert "frame 1: " in said[0] and all(said), said
