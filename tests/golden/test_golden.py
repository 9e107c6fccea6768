"""What commands print and write of runs that are kept here, against what they gave before.

`make golden` writes all outputs anew; the difference that git shows then names every number that a change has changed.
Numbers may differ in their last bits, which are a processor's own; printed digits may not.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from commands import calprobe
from golden.cases import CASES

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


def apart(text: str) -> tuple[list[str], list[float]]:
    """The words of an output, and its numbers with a point."""
    return NUMBER.sub("#", text).splitlines(), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("name", CASES)
def test_the_output_is_as_it_was(name: str, folder: Path) -> None:
    now = output(CASES[name], folder / f"out{Path(name).suffix}")
    if WRITE:
        EXPECTED.mkdir(exist_ok=True)
        (EXPECTED / name).write_text(now, "utf-8")
    before = (EXPECTED / name).read_text("utf-8")
    words, numbers = apart(now)
    words_before, numbers_before = apart(before)
    assert words == words_before
    assert numbers == pytest.approx(numbers_before, rel=LAST_BITS, abs=1e-12)


def test_every_kept_output_is_of_a_case() -> None:
    assert {file.name for file in EXPECTED.iterdir()} == set(CASES)
