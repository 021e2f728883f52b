"""The guides of docs/CLIENTS.md."""

import pathlib
import re

TEXT = pathlib.Path(__file__).resolve().parents[2] / "docs/CLIENTS.md"
FRAMES = 100  # after so many each guide ends


def guides():
    """Returns the title, the language and the text of each."""
    found = []
    for section in TEXT.read_text().split("\n## ")[1:]:
        title = section.partition("\n")[0]
        found += [(title, *block)
                  for block in re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)]
    return found


def command(language, text):
    """Returns what runs a guide."""
    if language == "python":
        return ["/usr/bin/python3", "-c", text]
    return ["bash", "-c", text]
