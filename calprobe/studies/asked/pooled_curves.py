"""Curves of an asked run, all of the same cells and rows: reliability, accuracy-rejection and utility.

Which cells and rows that is says `samples_of_set`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calprobe.cells.asked import AskedCell
from calprobe.curves.accuracy_rejection import AccuracyRejection, RejectionLine, rejection_line
from calprobe.curves.calibration_curve import METRICS, Calibration, CalibrationLine, calibration_line
from calprobe.curves.utility_curve import GRID, UtilityLine
from calprobe.measures.options import ReportOptions
from calprobe.metrics import ACE_BINS, Resampling, bootstrap_many, ordinal_confidence, standard_metrics, utility_curve
from calprobe.metrics.rejection import THRESHOLDS
from calprobe.studies.asked.pooled_samples import run_lines, samples_of_set
from calprobe.studies.asked.results import AskedRunReport, SetReport


def run_calibration(
    run: AskedRunReport, options: ReportOptions, estimators: Sequence[str] | None = None
) -> Calibration:
    """The reliability diagrams of one run, a panel for each set; None: of the estimators that a report draws."""
    return joined(run_lines(run, options, reliability_lines, estimators))


def joined(lines: Sequence[CalibrationLine]) -> Calibration:
    """The curves, whose instances are called questions only where each is one."""
    return Calibration(tuple(lines), "questions" if all(line.questions is None for line in lines) else "replies")


def reliability_lines(
    report: SetReport, cells: Mapping[str, AskedCell], options: ReportOptions, estimators: Sequence[str] | None
) -> Iterator[CalibrationLine]:
    """The curves of a set, all of the same variants and of the same rows: see `samples_of_set`.

    By default `label`, each stated confidence that some variant states well enough, and those of samples.
    """
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    samples = samples_of_set(report, cells, options, estimators, with_scale)
    for name, (confidence, correct, questions) in samples.items():
        if len(confidence):
            values = bootstrap_many(metrics, {name: (confidence, correct)}, Resampling(0))[name]
            # Twenty bins of a few questions would be a question each.
            bins = None if options.ace_bins == ACE_BINS else options.ace_bins
            yield calibration_line((report.name, report.name, name, ()), (confidence, correct), values, bins, questions)


def with_scale(cell: AskedCell) -> list[str]:
    """The estimators that a reliability diagram can be of: an uncertainty has no scale."""
    return [name for name in cell.confidences if cell.estimators[name].scale == "probability"]


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
    """The accuracy-rejection curves of a set."""
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


def utility_lines(
    report: SetReport, cells: Mapping[str, AskedCell], options: ReportOptions, estimators: Sequence[str] | None
) -> Iterator[UtilityLine]:
    """The utility curves of a set."""
    samples = samples_of_set(report, cells, options, estimators, with_scale)
    for name, (confidence, correct, questions) in samples.items():
        if len(confidence):
            clusters = questions if len(np.unique(questions)) < len(questions) else None
            curve = utility_curve(confidence, correct, GRID, options.resampling, clusters)
            yield UtilityLine(report.name, report.name, name, (), curve)
