"""A program with a log, which a test starts, kills and starts again."""

import subprocess

from conftest import Child, wait_until


class Process(Child):
    def __init__(self, command, env, log_path):
        self.command = [str(word) for word in command]
        self.env = env
        self.log_path = log_path
        self.start()

    def start(self):
        """Also again, as Restart=always does. The log goes on."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_for_log(self, text, count=1):
        def is_said():
            assert self.process.poll() is None or text in self.log, self.log
            return self.log.count(text) >= count
        try:
            wait_until(is_said, text)
        except AssertionError:
            raise AssertionError(f"waited in vain for {text!r}:\n{self.log}") from None

    def kill(self):
        """Also one that has ended."""
        self.process.kill()
        self.process.wait()
