"""The pages of the tour on trust: their commands that read a run do so, on a small run in its place."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from commands import calprobe
from sources import ROOT

from calprobe import replies as calprobe_replies

PAGES = ("when-to-trust", "which-answers", "worth-answering")
COMMAND = re.compile(r"(?:^\$ |`)(calprobe (?:threshold|sets|stakes|curve) [^`\n]+)", re.MULTILINE)
RUN = ROOT / "tests" / "golden" / "runs" / "clm"


def commands(page: str) -> list[list[str]]:
    """The commands of a page that read the run, and what they make of it."""
    text = (ROOT / "docs" / "tour" / f"{page}.md").read_text("utf-8")
    found = [shlex.split(command)[1:] for command in COMMAND.findall(text)]
    return [words for words in found if "runs/clm" in words]


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(RUN, tmp_path / "runs" / "clm")
    monkeypatch.chdir(tmp_path)
    assert commands(page)
    for words in commands(page):
        few = ["--bootstrap", "0"] if words[0] in ("stakes", "curve") else []
        done = calprobe(*words, *few)
        if "is not written: there is no threshold" in done.stderr:
            continue  # of so few facts
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr.strip()[-300:]}"


def test_the_script_of_the_page_on_graders_writes_grades_that_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "tests" / "golden" / "runs" / "wording", tmp_path / "runs" / "smol")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda _: "y")
    every = calprobe_replies("runs/smol")
    monkeypatch.setattr("calprobe.replies", lambda _: every[every["paraphrase"] == 0])  # the page has one wording
    text = (ROOT / "docs" / "tour" / "another-grader.md").read_text("utf-8")
    (script,) = re.findall(r"```python\n(import json\n.*?)```", text, re.DOTALL)
    exec(script, {})
    done = calprobe("grade", "runs/smol", "--grades", "by-hand.jsonl")
    assert done.returncode == 0, done.stderr
    assert "imported" in done.stdout + done.stderr
