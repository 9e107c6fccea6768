"""What stands below every report of an asked run, in each of its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import calprobe
from sources import ROOT

RUN = ROOT / "tests" / "golden" / "runs" / "audit"
SAID = "new tokens of a reply at most: answer 32 (format_change 256), final 4, stated 16"


@pytest.mark.parametrize("form", ["text", "markdown", "page"])
def test_budgets_of_tokens_stand_beside_parse_rates(form: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    asked = ("--html", page) if form == "page" else ("--format", form, "--tables", "all")
    done = calprobe("report", RUN, "--bootstrap", "0", *asked)
    assert done.returncode == 0, done.stderr
    shown = page.read_text("utf-8") if form == "page" else done.stdout
    assert SAID in " ".join(shown.split())


def test_the_json_has_the_budget_of_each_stage_beside_each_parse_rate() -> None:
    found = json.loads(calprobe("report", RUN, "--bootstrap", "0", "--json").stdout)
    (disclosure,) = (run["disclosure"] for run in found.values())
    budgets, rates = disclosure["max_new_tokens"], disclosure["parse_rate"]
    assert {name: set(cells) for name, cells in budgets.items()} == {name: set(cells) for name, cells in rates.items()}
    assert budgets["mini"]["format_change"] == {
        "answer": 256,
        "final": 4,
        "stated:decimal_01": 16,
        "stated:percent_0_100": 16,
    }
    assert budgets["mini"]["fewshot_3"]["answer"] == 32
