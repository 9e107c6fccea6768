"""Set-size curves: the numbers of `calprobe sets`, of runs of both kinds, drawn and written."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from calprobe.analysis import SetOptions, answer_sets
from calprobe.cli.app import cli
from calprobe.curves import plot
from calprobe.curves.curve import CurveOptions
from calprobe.curves.set_sizes import PROMISED, set_sizes
from calprobe.errors import UsageError

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"


def test_points_are_the_sets_of_the_study() -> None:
    found = set_sizes(RUNS / "clm")
    assert [line.rule for line in found.lines] == ["lac", "aps", "naive"]
    options = SetOptions(coverage=0.8, rules=("lac", "aps", "naive"))
    rules = answer_sets(RUNS / "clm", options=options).sets[0].rules
    at = PROMISED.index(0.8)
    for line, rule in zip(found.lines, rules, strict=True):
        assert line.mean_size[at] == rule.sets.mean_size
        assert (line.coverage[at], line.low[at]) == (rule.sets.coverage.value, rule.sets.coverage.low)
        assert line.mean_options == rule.sets.mean_options
    assert (found.lines[0].mean_size[1:] >= found.lines[0].mean_size[:-1]).all()
    assert list(found.frame().columns) == list(found.COLUMNS)


def test_it_is_of_one_estimator_with_probabilities() -> None:
    with pytest.raises(UsageError, match="a curve of set sizes is of one, got base, mixture"):
        set_sizes(RUNS / "clm", CurveOptions(estimators=("base", "mixture")))
    with pytest.raises(UsageError, match="margin has no probabilities of candidates"):
        set_sizes(RUNS / "clm", CurveOptions(estimators=("margin",)))


def test_it_is_drawn_for_one_run_and_for_several() -> None:
    assert len(plot(set_sizes(RUNS / "clm")).axes) == 2
    assert len(plot(set_sizes([RUNS / "clm", RUNS / "mlm"])).axes) == 6


def test_a_run_of_label_probabilities_has_it_too(tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    arguments = ["curve", str(RUNS / "labels"), "--kind", "set-sizes", "--out", str(path)]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(path)
    assert set(table["rule"]) == {"lac", "aps", "naive"}
    assert set(table["run"]) == {"mini headings", "mini plain", "mini sentence", "mini tags"}
    refused = CliRunner().invoke(cli, ["curve", str(RUNS / "wording"), "--kind", "set-sizes", "--out", str(path)])
    assert "no label probabilities to make sets of; ask with --collect labels" in str(refused.exception)
