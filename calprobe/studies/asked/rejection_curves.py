"""Accuracy-rejection curves of an asked run, of the cells and rows that its reliability diagrams are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calprobe.cells.asked import AskedCell
from calprobe.curves.accuracy_rejection import AccuracyRejection, RejectionLine, rejection_line
from calprobe.measures.options import ReportOptions
from calprobe.metrics import ordinal_confidence
from calprobe.metrics.rejection import THRESHOLDS
from calprobe.studies.asked.pooled_samples import run_lines, samples_of_set
from calprobe.studies.asked.results import AskedRunReport, SetReport


def run_rejection(
    run: AskedRunReport, options: ReportOptions, estimators: Sequence[str] | None = None
) -> AccuracyRejection:
    """The curves of one run, a line for each set and estimator; None: those that a report draws."""
    return AccuracyRejection(tuple(run_lines(run, options, rejection_lines, estimators)), ())


def every_estimator(cell: AskedCell) -> Sequence[str]:
    """An uncertainty has ranks, too."""
    return tuple(cell.confidences)


def rejection_lines(
    report: SetReport, cells: Mapping[str, AskedCell], options: ReportOptions, estimators: Sequence[str] | None
) -> Iterator[RejectionLine]:
    """The lines of a set."""
    uncertain = {
        name
        for cell in cells.values()
        for name, estimator in cell.estimators.items()
        if estimator.scale == "uncertainty"
    }
    for name, (confidence, correct, questions) in samples_of_set(
        report, cells, options, estimators, every_estimator
    ).items():
        if len(confidence):
            clusters = questions if len(np.unique(questions)) < len(questions) else None
            ranked = name in uncertain
            sureness = ordinal_confidence(confidence, uncertainty=True) if ranked else confidence
            lead = (report.name, report.name, name, ())
            thresholds = () if ranked else THRESHOLDS
            yield rejection_line(lead, (sureness, correct), options.resampling, clusters, thresholds)
