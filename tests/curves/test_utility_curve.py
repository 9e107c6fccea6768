"""Utility curves: against loops and the table of stakes, of runs of both kinds, drawn and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calprobe
from calprobe.cli.app import cli
from calprobe.curves import plot
from calprobe.curves.curve import CurveOptions
from calprobe.curves.utility_curve import GRID, utility
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, mean_draws, utilities, utility_curve

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
QUICK = CurveOptions(ReportOptions(resampling=Resampling(60)))


def test_points_are_means_of_utilities_with_the_usual_intervals() -> None:
    rng = np.random.default_rng(0)
    confidence, correct, clusters = rng.random(80), rng.random(80) < 0.6, np.repeat(np.arange(20), 4)
    for labels in (None, clusters):
        curve = utility_curve(confidence, correct, [0.0, 0.4, 0.8], Resampling(200), labels)
        for at, stakes in enumerate((0.0, 0.4, 0.8)):
            worth = utilities(confidence, correct, stakes)
            drawn = mean_draws(worth, Resampling(200), labels).difference()
            assert curve.utility[at] == pytest.approx(worth.mean())
            assert (curve.low[at], curve.high[at]) == pytest.approx((drawn.low, drawn.high), abs=1e-9)
            assert curve.answered[at] == (confidence >= stakes).mean()
    nothing = utility_curve([], [], [0.5])
    assert np.isnan(nothing.utility).all()


def test_a_run_of_scores_has_a_line_for_each_estimator() -> None:
    found = utility(RUNS / "clm", QUICK)
    assert [line.estimator for line in found.lines] == ["base", "margin", "average_min"]
    rows = calprobe.confidences(RUNS / "clm").query("estimator == 'base'")
    base = found.lines[0].curve
    assert base.utility[0] == rows["correct"].mean()  # at no stakes
    worth = utilities(rows["confidence"].to_numpy(), rows["correct"].to_numpy(), 0.5)
    assert base.utility[50] == pytest.approx(worth.mean())
    assert (GRID[50], len(GRID), GRID[-1]) == (0.5, 91, 0.9)
    assert list(found.frame().columns) == list(found.COLUMNS)
    with pytest.raises(UsageError, match="chance: an order, no probability"):
        utility(RUNS / "clm", CurveOptions(estimators=("chance",)))


def test_it_is_drawn_for_one_run_and_for_several() -> None:
    alone = plot(utility(RUNS / "clm", QUICK))
    assert len(alone.axes) == 1
    assert len(alone.axes[0].get_lines()) == 3 + 1 + 1  # estimators, always, never
    both = plot(utility([RUNS / "clm", RUNS / "mlm"], QUICK).only(["base"]))
    assert len(both.axes) == 1
    assert len(both.axes[0].get_lines()) == 2 + 2 + 1


def test_a_run_of_replies_has_it_too(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    arguments = ["curve", str(RUNS / "audit"), "--kind", "utility", "--estimator", "label", "--out", str(path)]
    result = CliRunner().invoke(cli, [*arguments, "--bootstrap", "20"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    table = pd.read_csv(path)
    assert set(table["estimator"]) == {"label"}
    assert (table["low"] <= table["utility"] + 1e-12).all()
