"""The command of a unit file, as systemd starts it."""

import pathlib
import re
import shlex

SYSTEMD = pathlib.Path(__file__).resolve().parents[2] / "systemd"


def command_of(name, instance, settings):
    """Returns the words of ExecStart= of a template for an instance; settings are what its
    EnvironmentFile= says."""
    text = (SYSTEMD / name).read_text().replace("\\\n", " ").replace("%i", instance)
    environment = {}
    for line in re.findall(r"^Environment=(.*)$", text, re.M):
        environment.update(word.split("=", 1) for word in shlex.split(line))
    environment.update(settings)
    words = []
    for word in shlex.split(re.search(r"^ExecStart=(.*)$", text, re.M)[1]):
        if word[0] == "$" and word[1] != "{":
            words += shlex.split(environment[word[1:]])
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return words
