"""The page on faults names tests that there are, and all of those that provoke one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"


def names_in(file: str) -> set[str]:
    return set(re.findall(r"^def (test_\w+)", (ROOT / file).read_text("utf-8"), re.MULTILINE))


def test_each_named_test_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE.read_text("utf-8"))
    assert len(named) > 20
    assert [name for name in named if name[1] not in names_in(name[0])] == []


def test_each_row_names_its_test() -> None:
    rows = re.findall(r"^\| (?!fault |---)(.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [row for row in rows if "::test_" not in row] == []
