"""The commands of a page, with what it shows below each, and the files that it has a reader write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = ".."  # a line that stands for any number of lines
# A fenced block: its language, the file that it is (title="..."), its text.
BLOCK = re.compile(r'^```(?P<language>\w*)(?: title="(?P<file>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)


def commands_of(page: str) -> Iterator[tuple[str, str]]:
    """Each command of calprobe behind a prompt, with the output shown below it."""
    for block in BLOCK.finditer(page):
        if block["language"] in ("", "console", "text"):
            for shown in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, _, output = shown.partition("\n")
                if command.startswith("calprobe "):
                    yield command, output


def write_files(page: str, folder: Path) -> None:
    """The files of a page, written below a folder."""
    for block in BLOCK.finditer(page):
        if block["file"]:
            file = folder / block["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block["text"], encoding="utf-8")
