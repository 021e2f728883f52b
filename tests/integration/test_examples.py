"""What a newcomer copies first works as it is written: the examples of README.md, of the manual
pages and of the library's header."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from conftest import BUILD, PATIENCE, SANITIZED

np = pytest.importorskip("numpy", reason="python3-numpy is not installed")
# pylint: disable-next=wrong-import-position
from moire import amplitudes, luma  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))

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
    assert done.stderr.startswith("cannot open the camera: there is no /run/fftd/front/frames")


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


# ---- the filters ----

def filter_commands(text, verbs="set"):
    """Returns the words after fftd-ctl of each line of a text that changes the filter."""
    text = text.replace(r"\e", "\\").replace(r"\-", "-").replace("\\\n", "")
    lines = re.findall(rf"^(?:\.Dl|) *fftd-ctl (.*filter (?:{verbs}) .*)$", text, re.M)
    return [shlex.split(re.sub("--name front ", "", line), comments=True) for line in lines]


def documents():
    """Returns the name and the text of each that shows how to set a filter."""
    for path in "README.md", "docs/man/fftd-ctl.1", "docs/man/fftd.8":
        yield path, (ROOT / path).read_text()
    for command in ["fftd", "--help"], ["fftd-ctl", "filter", "--help"]:
        yield " ".join(command), subprocess.run([BUILD / command[0], *command[1:]], check=True,
                                                capture_output=True, text=True).stdout


@pytest.fixture
def scene(start):
    """The daemon and a reader of the scene that README.md starts without a camera."""
    if SANITIZED:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    daemon = start("--filter", "none", "--set", "camera.format=GREY", size="320x240")
    daemon.wait_for_socket("frames")
    with fftd.Camera(str(daemon.runtime_dir)) as camera:
        yield daemon, camera


def test_no_documented_filter_makes_moire_stronger(scene):
    daemon, camera = scene
    before = amplitudes(luma(camera, 1))
    assert before.min() > 10
    for document, text in documents():
        commands = filter_commands(text)
        assert commands, document
        for number, words in enumerate(commands):
            after = amplitudes(luma(camera, daemon.change(*words)))
            print(f"# figures: {document}: {' '.join(words)}: {after.round(1)}")
            assert np.hypot.reduce(after) < 1.01 * np.hypot.reduce(before), (document, words)
            # The first one of these two is to remove it.
            if number == 0 and document in ("README.md", "docs/man/fftd-ctl.1"):
                assert after.max() < 0.1 * before.min(), words


def test_the_manuals_next_example_works_after_the_first(scene):
    daemon, camera = scene
    before = amplitudes(luma(camera, 1))
    commands = filter_commands((ROOT / "docs/man/fftd-ctl.1").read_text(), "set|edit")
    assert [words[1] for words in commands] == ["set", "edit"]
    for words in commands:
        serial = daemon.change(*words)
    assert amplitudes(luma(camera, serial)).max() < 0.1 * before.min()
