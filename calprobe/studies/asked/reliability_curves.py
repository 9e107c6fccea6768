"""Reliability curves of an asked run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calprobe.cells.asked import AskedCell
from calprobe.curves.calibration_curve import METRICS, Calibration, CalibrationLine, calibration_line
from calprobe.measures.options import ReportOptions
from calprobe.metrics import ACE_BINS, Resampling, bootstrap_many, standard_metrics
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
