"""Accuracy-rejection curves of asked runs, of the cells and rows that their reliability diagrams are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calprobe.cells.asked import Asked, AskedCell
from calprobe.curves.accuracy_rejection import AccuracyRejection, RejectionLine, rejection_line
from calprobe.measures.asked_options import AskedOptions
from calprobe.metrics import ordinal_confidence
from calprobe.metrics.rejection import THRESHOLDS
from calprobe.studies.asked.reliability_curves import asked_lines, samples_of_set
from calprobe.studies.asked.results import SetReport


def asked_rejection(
    runs: Sequence[Asked], options: AskedOptions, estimators: Sequence[str] | None
) -> AccuracyRejection:
    """The accuracy-rejection curves of runs, a line for each set and estimator, pooled over the usual variants.

    Unlike a reliability diagram it can be of an uncertainty: its ranks stand for it, from 0, least sure, to 1,
    and it has no points by threshold. Resamples draw complete questions where a question has several answers.

    Args:
        runs: one or several.
        options: reading rules, resamples.
        estimators: None: those that `report` draws.
    Raises:
        UsageError: an estimator that no run has, and where parse rates leave no cell.
    """
    rejection = AccuracyRejection(tuple(asked_lines(runs, options, estimators, _all, _lines)), ())
    return rejection if estimators is None else rejection.only(estimators)


def _all(cell: AskedCell) -> Sequence[str]:
    return tuple(cell.confidences)


def _lines(
    report: SetReport, cells: Mapping[str, AskedCell], options: AskedOptions, estimators: Sequence[str] | None
) -> Iterator[RejectionLine]:
    """The lines of a set."""
    uncertain = {
        name
        for cell in cells.values()
        for name, estimator in cell.estimators.items()
        if estimator.scale == "uncertainty"
    }
    for name, (confidence, correct, questions) in samples_of_set(report, cells, options, estimators, _all).items():
        if len(confidence):
            clusters = questions if len(np.unique(questions)) < len(questions) else None
            ranked = name in uncertain
            sureness = ordinal_confidence(confidence, uncertainty=True) if ranked else confidence
            lead = (report.name, report.name, name, ())
            thresholds = () if ranked else THRESHOLDS
            yield rejection_line(lead, (sureness, correct), options.resampling, clusters, thresholds)
