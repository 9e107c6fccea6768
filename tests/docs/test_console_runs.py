"""The commands of the pages on the models that calprobe brings print what the pages show, page by page.

What needs another model, a server or a fetched set is left out. Scores differ in their last digits between machines, so
numbers are compared within a few per cent, and those that tell time or speed not at all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import calprobe
from console_blocks import LEFT_OUT, commands_of, write_files
from sources import ROOT

DOCS = ROOT / "docs"
NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?")
# Of a time, a speed or a memory.
CLOCK = re.compile(NUMBER.pattern + r"(?= (?:s\b|seconds?\b|min\b|h\b|statements\b|statements/s|tokens\b|GiB\b))")
PROGRESS = re.compile(r"\d (?:statements|replies)/s, ")
WITHIN, SHARE = 0.012, 0.03  # how far two machines' numbers may be apart, and in parts of the number
# Pages with commands, but for those of one machine, and those whose files a reader writes (test_extending).
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "\n$ calprobe " in page.read_text("utf-8") and page.name != "doctor.md" and page.parent.name != "extend"
)
# Runs that pages read and that the quick start makes.
MADE = {
    "tiny-clm-mini": "score --model tiny-clm",
    "tiny-mlm-mini": "score --model tiny-mlm",
    "tiny-clm-paraphrases": "score --model tiny-clm --templates paraphrases",
    "tiny-mlm-paraphrases": "score --model tiny-mlm --templates paraphrases",
}


@dataclass(frozen=True)
class Example:
    """A command of a page, and what the page shows below it."""

    command: str
    shown: list[str]

    @property
    def run(self) -> str:
        """The folder of the run that it makes, by its name or by default."""
        named = re.search(r"--out (runs/\S+)", self.command)
        model = re.search(r"^calprobe (?:score|ask) .*--model (\S+)", self.command)
        return named[1] if named else f"runs/{model[1]}-mini" if model else "runs/none"

    @property
    def is_possible(self) -> bool:
        """Whether its model is one of calprobe's own, and what it reads is there."""
        models = re.findall(r"--model (\S+)", self.command)
        inputs = [
            word
            for word in self.command.split()
            if word.startswith("runs/") or word.endswith((".csv", ".jsonl", ".eval"))
        ]
        made = re.findall(r"(?:--out|>) (\S+)", self.command)
        return all(model.startswith("tiny-") for model in models) and all(
            Path(name).exists() for name in inputs if name not in made
        )


def printed_by(command: str) -> list[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"}
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.rstrip().splitlines()


def words_of(line: str) -> str:
    """The line without its numbers, and with one space where there are several."""
    return " ".join(NUMBER.sub("#", line).split())


def numbers_of(line: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(CLOCK.sub("", line))]


def is_same(printed: str, shown: str) -> bool:
    """Whether a line says the same, its numbers within what differs between machines."""
    if words_of(printed) != words_of(shown):
        return False
    pairs = zip(numbers_of(printed), numbers_of(shown), strict=True)
    return all(abs(one - other) <= max(WITHIN, SHARE * abs(other)) for one, other in pairs)


def first_difference(printed: list[str], shown: list[str]) -> str | None:
    """The first line that is shown and not printed where it should be; None if there is none."""
    printed = [line for line in "\n".join(printed).strip("\n").split("\n") if not PROGRESS.search(line)]
    at, anywhere = 0, not shown
    for line in shown:
        if PROGRESS.search(line):
            continue
        if line == LEFT_OUT:
            anywhere = True
            continue
        places = range(at, len(printed)) if anywhere else range(at, min(at + 1, len(printed)))
        found = next((place for place in places if is_same(printed[place], line)), None)
        if found is None:
            return line
        at, anywhere = found + 1, False
    return None if anywhere or at >= len(printed) else "(the page shows no more)"


@pytest.fixture(scope="module")
def made_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for name, words in MADE.items():
        assert calprobe(*words.split(), "--out", folder / "runs" / name).returncode == 0
    return folder


@pytest.mark.proof
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_pages_show_what_is_printed(
    page: Path, made_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made_runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    write_files(text, tmp_path)
    wrong, tried, of_page = [], 0, set()
    for example in (Example(command, shown.rstrip().splitlines()) for command, shown in commands_of(text)):
        if not example.is_possible:
            continue
        tried += 1
        if example.run not in of_page:
            shutil.rmtree(example.run, ignore_errors=True)
        of_page.add(example.run)
        printed = printed_by(example.command)
        if line := first_difference(printed, example.shown):
            wrong.append("\n".join([f"$ {example.command}", *printed, f"-- is shown there: {line}"]))
    assert not wrong, "\n\n".join(wrong)
    if not tried:
        pytest.skip("all its commands need another model, or files of a reader")


@pytest.mark.parametrize(
    ("shown", "difference"),
    [
        (["accuracy 0.62 (.58-.66)", "..", "done"], None),
        (["accuracy 0.71 (.58-.66)", "..", "done"], "accuracy 0.71 (.58-.66)"),
        (["accuracy of base 0.62", ".."], "accuracy of base 0.62"),
        (["accuracy 0.62 (.58-.66)", "done"], "done"),
        (["accuracy 0.62 (.58-.66)"], "(the page shows no more)"),
        (["..", "in 12 s", "done"], None),
    ],
)
def test_a_page_that_shows_something_else_is_found(shown: list[str], difference: str | None) -> None:
    assert first_difference(["accuracy 0.6158 (.578-.655)", "in 3 s", "done"], shown) == difference
