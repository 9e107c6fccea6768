"""A table of scores and correctness as a cell: a unit a row, an estimator a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import numpy as np

from calprobe.arrays import check_correct
from calprobe.cells.cell import Cell, Units
from calprobe.confidence import NO_PREDICTION, Confidence, Estimator
from calprobe.confidence.types import OK
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.metrics import ordinal_confidence


def _given(_evidence: object) -> NoReturn:
    raise ValueError("a score of a table is given, not computed")


CONFIDENCE = Estimator("", "a confidence, as the table gives it", "given", _given)
SCORE = Estimator("", "the rank of a score among those of the table", "given", _given, scale="order")


UNCERTAINTY = Estimator("", "an uncertainty, as the table gives it", "given", _given, scale="uncertainty")


def table_cell(
    answers: ScoredAnswers,
    label: str,
    is_uncertainty: Callable[[str], bool] = lambda _: False,
    *,
    raw: bool = False,
) -> Cell:
    """The cell of a table. Scores in [0, 1] are confidences as they stand; of others the ranks are.

    Args:
        answers: scores by name, and correctness.
        label: the table's name.
        is_uncertainty: whether larger values of the score of a name are less sure.
        raw: keep scores as they stand in place of ranks, for thresholds that other tables share.
    Raises:
        ValueError: NaN, arrays of different lengths, or correctness other than 0 and 1.
    """
    n_rows = len(answers.correct)
    nowhere, status = np.full(n_rows, NO_PREDICTION), np.full(n_rows, OK)
    estimators: dict[str, Estimator] = {}
    confidences: dict[str, Confidence] = {}
    for name, values in answers.scores.items():
        uncertainty = is_uncertainty(name)
        is_confidence = not uncertainty and bool(((values >= 0) & (values <= 1)).all())
        estimators[name] = replace(CONFIDENCE if is_confidence else SCORE, name=name)
        if raw and uncertainty:
            estimators[name] = replace(UNCERTAINTY, name=name)
        confidence = values if is_confidence or raw else ordinal_confidence(values, uncertainty=uncertainty)
        correct = check_correct(answers.correct, len(values)) == 1
        confidences[name] = Confidence(nowhere, confidence, correct, why=status)
    units = Units(np.full(n_rows, ""), np.arange(n_rows), np.zeros(n_rows, np.int64), None)
    return Cell(label, label, "", "", units, estimators, confidences)
