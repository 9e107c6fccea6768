"""Curves of a table of scores: the numbers of `metrics`, whatever the order of its rows."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.cells.cell import Cell
from calprobe.cells.table import table_cell
from calprobe.curves.table_curves import table_calibration, table_rejection, table_utility
from calprobe.errors import UsageError
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.metrics import Resampling, ace, reject_by_rank, utilities

NONE = Resampling(0)
GENERATOR = np.random.default_rng(5)
P = GENERATOR.random(60).round(2)
RIGHT = (GENERATOR.random(60) < P).astype(np.int64)


def cell_of(order: np.ndarray) -> Cell:
    scores = {"p": P[order], "entropy": -3 * P[order]}
    return table_cell(ScoredAnswers(scores, RIGHT[order]), "answers", lambda name: name == "entropy")


def test_curves_are_those_of_its_columns_in_any_order() -> None:
    for order in (np.arange(60), np.arange(60)[::-1]):
        rejection = table_rejection(cell_of(order), NONE)
        assert [line.estimator for line in rejection.lines] == ["p", "entropy"]
        expected = reject_by_rank(P, RIGHT)
        for line in rejection.lines:
            np.testing.assert_allclose(line.by_rank.accuracy, expected.accuracy)
        assert [len(line.by_threshold.curve.threshold) for line in rejection.lines] == [11, 0]


def test_reliability_is_of_confidences_alone() -> None:
    table = cell_of(np.arange(60))
    (line,) = table_calibration(table.only(["p"]), 5, NONE).lines
    assert line.ace.value.value == pytest.approx(float(ace(P, RIGHT, 5)))
    with pytest.raises(UsageError, match=r"entropy is no confidence in \[0, 1\]"):
        table_calibration(table, 5, NONE)


def test_utility_is_of_confidences_alone() -> None:
    table = cell_of(np.arange(60))
    (line,) = table_utility(table.only(["p"]), NONE).lines
    assert line.curve.utility[75] == pytest.approx(utilities(P, RIGHT, 0.75).mean())
    with pytest.raises(UsageError, match=r"entropy is no confidence .* has no utility at stakes"):
        table_utility(table, NONE)
