"""The examples in the documentation that need no model print what the pages say."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_blocks import LEFT_OUT, commands_of, write_files

from calprobe.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

# What needs neither a model nor a run. Scores, and with them the last digit of an interval, differ between machines.
QUICK = ("models", "probes", "rank", "threshold --risk", "sets --coverage", "stakes answers.csv", "--help", "--version")
WORDS = tuple(f"calprobe {quick}" for quick in QUICK)


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Each quick command of the page, with the output shown below it."""
    return ((command, shown) for command, shown in commands_of(page) if command.startswith(WORDS))


def agrees(printed: str, shown: str) -> bool:
    """Whether the lines are the same, but for those that the page leaves out."""
    parts = [re.escape(line.rstrip()) if line != LEFT_OUT else r"(?:.*\n)*?.*" for line in shown.strip().splitlines()]
    lines = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    return re.fullmatch("\n".join(parts), lines) is not None


def output_of(command: str, capfd: pytest.CaptureFixture[str]) -> str:
    """What the command prints, stdout and then stderr."""
    with contextlib.suppress(SystemExit):
        main(shlex.split(command)[1:])
    printed = capfd.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_console_blocks_show_what_is_printed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "nothing-fetched"))
    write_files(text, tmp_path)
    for command, shown in examples(text):
        printed = output_of(command, capfd)
        assert agrees(printed, shown), f"{page.name}: `{command}` prints\n{printed}"


def test_there_are_examples_to_hold_the_pages_to() -> None:
    found = [command for page in PAGES for command, _ in examples(page.read_text("utf-8"))]
    assert {command.split()[1] for command in found} >= {"models", "probes", "rank"}


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("a\nb\nc\n", "a\nb\nc\n", True),
        ("a\nb\nc\n", "a\n..\n", True),
        ("a\nb\nc\n", "a\n..\nc\n", True),
        ("a\nb\nc\n", "..\nb\n", False),
        ("a\nb\nc\n", "a\nc\n", False),
        ("a.b\n", "axb\n", False),
    ],
)
def test_lines_may_be_left_out_but_not_changed(printed: str, shown: str, same: bool) -> None:
    assert agrees(printed, shown) is same
