"""Tests of fftd-ctl watch, on a terminal of the test's own (a pty), with a real daemon."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from client import Reader
from conftest import BUILD, FAST_KERNELS, PATIENCE

BLOCKS = "▁▂▃▄▅▆▇█"
END = "\033[?2026l"  # of a picture
LEAVES = "\033[?25h\033[?1049l"


class Terminal:
    """A terminal on which one program runs."""

    def __init__(self, *command, columns=120, rows=40, locale="C.UTF-8"):
        try:
            self.keyboard, side = pty.openpty()
        except OSError as error:
            pytest.skip(f"no terminals without /dev/ptmx and /dev/pts: {error}")
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self.keyboard)
        self.written = ""
        self.process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side,
                                        start_new_session=True, preexec_fn=self.take_terminal,
                                        env=dict(os.environ, LC_ALL=locale))
        os.close(side)

    @staticmethod
    def take_terminal():
        """Makes the terminal that of the session, so that Ctrl-C has an effect."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, columns, rows):
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.keyboard, keys)

    def read(self):
        """Reads what there is, and waits a moment if there is nothing."""
        if not select.select([self.keyboard], [], [], 0.2)[0]:
            return
        try:
            self.written += os.read(self.keyboard, 65536).decode(errors="replace")
        except OSError:  # the program has ended
            time.sleep(0.05)

    @property
    def lines(self):
        """What the terminal shows: the newest picture that is complete."""
        last = self.written.split(END)[-2].split("\033[H")[-1].split("\r\n\033[J")[0]
        text = re.sub(r"\033\[[?0-9;]*[A-Za-z]", "", last)
        return [line.rstrip("\r") for line in text.split("\n")]

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while END not in self.written or not condition(self.lines):
            assert time.monotonic() < deadline, f"waited in vain for {what}:\n{self.written}"
            self.read()
        return self.lines

    def wait_for_text(self, text):
        return self.wait_for(lambda lines: any(text in line for line in lines), repr(text))

    def wait_for_end(self):
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.written
            self.read()
        while select.select([self.keyboard], [], [], 0)[0]:
            try:
                self.written += os.read(self.keyboard, 65536).decode(errors="replace")
            except OSError:
                break
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.keyboard)


@pytest.fixture
def watch(runtime_dir):
    """watch(...) runs fftd-ctl watch on a terminal."""
    terminals = []

    def run(**options):
        terminals.append(Terminal(BUILD / "fftd-ctl", "--runtime-dir", runtime_dir, "watch",
                                  **options))
        return terminals[-1]

    yield run
    for terminal in terminals:
        terminal.close()


@pytest.fixture
def daemon(start):
    running = start(*FAST_KERNELS, "--name", "front", "--set", "output.measures=true",
                    "--filter", "gaussian-blur:sigma=2")
    running.wait_until(lambda: running.ctl_json("stats")["Measures"], "measures")
    return running


def row(lines, label):
    found = [line for line in lines if line.startswith(label + " ")]
    assert len(found) == 1, lines
    return found[0][17:]


def assert_restored(terminal):
    assert terminal.wait_for_end() == 0, terminal.written
    assert terminal.written.rstrip().endswith(LEAVES)
    assert termios.tcgetattr(terminal.keyboard) == terminal.modes


def test_what_is_shown(daemon, watch):
    terminal = watch()
    lines = terminal.wait_for(lambda lines: sum(block in line for line in lines
                                                for block in BLOCKS) > 2, "charts")
    assert lines[0].startswith("front: online")
    assert "test scene moire" in row(lines, "camera")
    assert row(lines, "filter") == "gaussian-blur:sigma=2"
    assert "160x120" in row(lines, "format")
    assert re.match(r"[0-9.]+ per second", row(lines, "rate"))
    assert re.match(r"[0-9.]+ cycles/pixel", row(lines, "sharpness"))
    assert re.match(r"0 ", row(lines, "clients").replace(",", " "))

    with Reader(daemon) as reader:  # a counter rises
        reader.next()
        terminal.wait_for_text("clients_attached +1 (1)")
    daemon.ctl("filter", "set", "lowpass:cutoff=0.25")
    terminal.wait_for(lambda lines: row(lines, "filter").startswith("lowpass"), "the filter")
    terminal.press(b"x")  # does nothing
    terminal.press(b"q")
    assert_restored(terminal)


def test_lines_fit_the_terminal_and_follow_its_size(daemon, watch):
    terminal = watch(columns=24, rows=6)
    terminal.wait_for_text("front: online")
    assert max(len(line) for line in terminal.lines) == 24
    assert len(terminal.lines) == 6
    terminal.resize(100, 40)
    lines = terminal.wait_for(lambda lines: len(lines) > 8, "a larger picture")
    assert 24 < max(len(line) for line in lines) <= 100
    terminal.press(b"\x03")  # Ctrl-C
    assert_restored(terminal)
    assert daemon.stop() == 0


def test_a_terminal_without_unicode_gets_ascii(daemon, watch):
    terminal = watch(locale="C")
    terminal.wait_for_text("sharpness")
    terminal.press(b"q")
    assert_restored(terminal)
    assert terminal.written.isascii()
    assert daemon.stop() == 0


def test_a_restart_is_survived(daemon, watch, start):
    terminal = watch()
    terminal.wait_for_text("front: online")
    assert daemon.stop() == 0
    terminal.wait_for_text("no daemon answers; waiting for it")
    terminal.wait_for_text("the daemon has ended at ")
    start(*FAST_KERNELS, "--name", "front")
    lines = terminal.wait_for_text("front: online")
    assert any("connected to the daemon again at " in line for line in lines)
    assert not any(line.startswith("sharpness") for line in lines)
    terminal.press(b"q")
    assert_restored(terminal)


def test_it_needs_a_terminal_and_a_daemon(runtime_dir, watch):
    program = f"fftd-ctl --runtime-dir '{runtime_dir}'"
    for option, text in (([], f"use `{program} stats --watch` there"),
                         (["--json"], f"use `{program} --json stats --watch`")):
        done = subprocess.run([BUILD / "fftd-ctl", "--runtime-dir", runtime_dir, *option, "watch"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 64 and text in done.stderr and done.stdout == ""
    terminal = watch()
    assert terminal.wait_for_end() == 69
    assert "no daemon is running in" in terminal.written and "\033" not in terminal.written
