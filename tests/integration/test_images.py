"""Files that are no images of filters, given to the running daemon: each is refused with a reason,
and the filter stays what it was, over the bus, at a reload and at the start."""

import os

import pytest

from client import Reader

BEFORE = "gain:dc=1"
GOOD = b"P5 3 3 255\n" + bytes(range(9))

# The content of a file, the chain that names it, and what is said.
BAD = {
    "empty": (b"", "convolve:image=empty", "image empty is empty"),
    "text": (b"hello\n", "convolve:image=text", "hello in row 1 is not a number"),
    "nan": (b"1 2\nnan 4\n", "convolve:image=nan", "nan in row 2 is not a number"),
    "nan.pfm": (b"Pf 1 1 -1\n\0\0\xc0\x7f", "mask:image=nan.pfm", "column 1 of row 1 is nan"),
    "huge": (b"P5 60000 60000 255\n", "mask:image=huge",
             "60000x60000 pixels: expected 1x1 .. 8192x8192"),
    "wide": (b"P5 256 1 255\n" + bytes(range(256)), "convolve:image=wide",
             "image wide has 256x1 pixels: expected"),
    "cut": (b"P5 9 9 65535\n12", "match:image=cut", "image cut is truncated: it has 2 of 162"),
    "rows": (b"1 2 3\n1 2\n", "convolve:image=rows", "row 2 has 2 numbers: expected 3"),
    "flat": (b"7 7\n7 7\n", "match:image=flat", "image flat is of one brightness"),
    "zero": (b"1 -1\n", "wiener:blur=image,image=zero", "the sum of image zero is 0"),
    "half.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "mask:image=half.png",
                 "image half.png is no valid PNG: it is truncated"),
    "photo.jpg": (b"\xff\xd8\xff\xe0", "mask:image=photo.jpg", "image photo.jpg is a JPEG"),
}
# Names that are no files of the directory.
OTHERS = {
    "absent": ("mask:image=absent", "unknown image absent: expected one of"),
    "outside": ("mask:image=../secret", "../secret is not the name of an image"),
    "folder": ("mask:image=folder", "is a directory: expected a regular file"),
    "pipe": ("mask:image=pipe", "is a pipe: expected a regular file"),
    "endless": ("mask:image=endless", "is a device or a socket: expected a regular file"),
}
CASES = {name: case[1:] for name, case in BAD.items()} | OTHERS


@pytest.fixture
def images(tmp_path):
    """A directory with all of them."""
    directory = tmp_path / "images"
    (directory / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(GOOD)
    (directory / "good").write_bytes(GOOD)
    for name, (content, _, _) in BAD.items():
        (directory / name).write_bytes(content)
    os.mkfifo(directory / "pipe")
    (directory / "endless").symlink_to("/dev/zero")
    return directory


def test_bad_images_change_nothing(start, images, tmp_path):
    config = tmp_path / "fftd.conf"
    config.write_text(f'filter = "{BEFORE}";\n')
    daemon = start("--config", config, env={"FFTD_IMAGE_DIR": str(images)})
    before = daemon.ctl_json("filter", "show")
    with Reader(daemon) as reader:
        for name, (chain, said) in CASES.items():
            for command in (["set", chain], ["add", chain], ["plot", tmp_path / "h.png", chain],
                            ["edit", "set", "gain.dc=0.5", "add", chain]):
                refused = daemon.ctl("filter", *command, check=False)
                assert refused.returncode == 65, (name, command)
                assert said in refused.stderr, (name, command)
            config.write_text(f'filter = "{BEFORE} | {chain}";\n output: {{ slots = 12; }};\n')
            refused = daemon.ctl("reload", check=False)
            assert refused.returncode != 0 and said in refused.stderr, name
        assert daemon.ctl_json("filter", "show") == before
        assert reader.next().filter_serial == before["Serial"]
    assert not (tmp_path / "h.png").exists()


@pytest.mark.parametrize("name", CASES)
def test_no_start_with_a_bad_image(fftd, images, name):
    chain, said = CASES[name]
    done = fftd("--check", "--filter", chain, env={"FFTD_IMAGE_DIR": str(images)})
    assert done.returncode == 64 and said in done.stderr and not done.stdout


def test_a_file_that_changes_or_vanishes(start, images):
    """What is in use stays; the next use of the name reads the file again."""
    daemon = start(env={"FFTD_IMAGE_DIR": str(images)})
    serial = daemon.change("filter", "set", "convolve:image=good,normalise=sum")
    (images / "good").write_bytes(GOOD[:-1])
    refused = daemon.ctl("filter", "add", "convolve:image=good", check=False)
    assert refused.returncode == 65 and "truncated: it has 8 of 9 bytes" in refused.stderr
    (images / "good").unlink()
    with Reader(daemon) as reader:
        reader.take_until(lambda frame: frame.filter_serial == serial)
        # The stage that is there keeps its pixels, whatever is added.
        second = daemon.change("filter", "add", "gain:dc=1")
        reader.take_until(lambda frame: frame.filter_serial == second)
    assert "image=good" in daemon.ctl("filter", "show", "--raw").stdout
