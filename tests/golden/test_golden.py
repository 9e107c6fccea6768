"""What commands print and write of runs that are kept here, against what they gave before.

`make golden` writes all outputs anew; the difference that git shows then names every number that a change has changed.
Numbers may differ in their last bits, which are a processor's own, and those that do are not written anew; printed
digits may not.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from commands import calprobe
from golden.cases import CASES
from proofs import few_of

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected"
WRITE = os.environ.get("CALPROBE_GOLDEN") == "write"
LAST_BITS = 1e-9  # relative; a printed number has four digits, one of JSON all seventeen
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the runs, in which commands are typed as a user would."""
    for name in ("questions.jsonl", "replies.jsonl"):
        shutil.copy(HERE / name, tmp_path)
    shutil.copytree(HERE / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output(lines: tuple[str, ...], out: Path) -> str:
    for line in lines:
        done = calprobe(*line.format(out=out).split())
        assert done.returncode == 0, done.stderr
    return out.read_text("utf-8") if "{out}" in lines[-1] else done.stdout


def is_close(now: float, before: float) -> bool:
    return now == pytest.approx(before, rel=LAST_BITS, abs=1e-12)


def renewed(before: str, now: str) -> str:
    """The output of now, in which numbers that differ from those of before in their last bits alone are as before."""
    return "\n".join(_lines(before.split("\n"), now.split("\n")))


def _lines(before: list[str], now: list[str]) -> Iterator[str]:
    words_before, words = ([NUMBER.sub("#", line) for line in lines] for lines in (before, now))
    if words == words_before:
        blocks = [("equal", 0, len(now), 0, len(now))]
    else:
        blocks = SequenceMatcher(None, words_before, words).get_opcodes()
    for kind, first, last, start, end in blocks:
        if kind == "equal":
            yield from (_line(*pair) for pair in zip(before[first:last], now[start:end], strict=True))
        else:
            yield from now[start:end]


def _line(before: str, now: str) -> str:
    known = iter(NUMBER.findall(before))

    def number(found: re.Match[str]) -> str:
        old = next(known)
        return old if is_close(float(found.group()), float(old)) else found.group()

    return NUMBER.sub(number, now)


def test_a_number_that_is_the_same_is_not_written_anew() -> None:
    before, now = '{"a": 0.5000000000000001,\n"c": -1.25e-3}\n', '{"a": 0.5,\n"b": 3.5,\n"c": -1.5e-3}\n'
    assert renewed(before, now) == '{"a": 0.5000000000000001,\n"b": 3.5,\n"c": -1.5e-3}\n'
    assert renewed("0.5000000000000001", "0.5") == "0.5000000000000001"


def apart(text: str) -> tuple[list[str], list[float]]:
    """The words of an output, and its numbers with a point."""
    return NUMBER.sub("#", text).splitlines(), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("name", few_of(CASES, "overview.json".__ne__))
def test_the_output_is_as_it_was(name: str, folder: Path) -> None:
    now = output(CASES[name], folder / f"out{Path(name).suffix}")
    if WRITE:
        EXPECTED.mkdir(exist_ok=True)
        kept = EXPECTED / name
        kept.write_text(renewed(kept.read_text("utf-8"), now) if kept.exists() else now, "utf-8")
    before = (EXPECTED / name).read_text("utf-8")
    words, numbers = apart(now)
    words_before, numbers_before = apart(before)
    assert words == words_before
    assert numbers == pytest.approx(numbers_before, rel=LAST_BITS, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("-glance.txt")])
def test_a_first_look_is_one_screen(name: str) -> None:
    """Of the outputs as they are kept, which the test above holds equal to what is printed."""
    lines = (EXPECTED / name).read_text("utf-8").splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


def test_every_kept_output_is_of_a_case() -> None:
    assert {file.name for file in EXPECTED.iterdir()} == set(CASES)
