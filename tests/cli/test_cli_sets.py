"""`calprobe sets`: the sentence first, every format, a table from elsewhere, another run, mistakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from calprobe.cli.app import cli

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["sets", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_sentence_says_what_sets_come_to() -> None:
    printed = " ".join(run(RUNS / "clm", "--coverage", 0.8).split())
    first = json.loads(run(RUNS / "clm", "--coverage", 0.8, "--json"))["sets"][0]["rules"][0]
    size, options, coverage = first["mean_size"], first["mean_options"], first["coverage"]["value"]
    says = (
        f"the set of {size:.1f} candidates (of {options:.1f}) holds the right one in {100 * coverage:.3g} % of 16 cases"
    )
    assert f"{says} (promised 80 %; rule lac, checked on the other half)." in printed


def test_csv_has_the_numbers_of_json() -> None:
    rows = list(csv.DictReader(io.StringIO(run(RUNS / "clm", "--rule", "lac,naive", "--format", "csv"))))
    rules = json.loads(run(RUNS / "clm", "--rule", "lac,naive", "--json"))["sets"][0]["rules"]
    of_rule = {
        row["rule"]: row for row in rows if row.get("metric") == "coverage" and row["rule"] and not row.get("size")
    }
    for rule in rules:
        assert float(of_rule[rule["rule"]]["value"]) == pytest.approx(rule["coverage"]["value"])
    assert rules[1]["expected"] is None  # naive promises nothing


def test_a_table_decides_which_answers_to_withhold(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.random(1000).round(6)
    right = rng.random(1000) < p
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["p,y", *(f"{a},{int(b)}" for a, b in zip(p, right, strict=True))]) + "\n", "utf-8")
    columns = ("--score", "p", "--correct", "y")
    (found,) = json.loads(run(path, *columns, "--json"))["withheld"]
    # P(wrong and above t) = (1 - t)^2 / 2 = 0.1 at t = 0.553.
    assert found["threshold"] == pytest.approx(0.553, abs=0.08)
    assert found["answer_if"] == "above"
    assert found["coverage"]["value"] == 1 - found["wrong"] / found["units"]
    (again,) = json.loads(run(path, *columns, "--on", path, "--json"))["withheld"]
    assert (again["calibrated"], again["units"]) == (1000, 1000)
    assert "% are right or withheld" in " ".join(run(path, *columns).split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--coverage", "2"), "--coverage must lie between 0 and 1"),
        (("--rule", "lax"), "--rule: no 'lax'"),
        (("--score", "p"), "are of tables"),
        (("--by", "group"), "--by group"),
        (("--on", str(RUNS / "audit")), "has no mini, which"),
    ],
)
def test_mistakes_are_refused(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli, ["sets", str(RUNS / "clm"), *arguments])
    assert message in result.output + str(result.exception)
    assert result.exit_code != 0
