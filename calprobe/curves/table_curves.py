"""Curves of a table of scores: of each score that it has."""

from __future__ import annotations

from calprobe.cells.cell import Cell
from calprobe.curves.accuracy_rejection import AccuracyRejection, rejection_line
from calprobe.curves.calibration_curve import METRICS, Calibration, calibration_line
from calprobe.curves.utility_curve import GRID, Utility, UtilityLine
from calprobe.errors import UsageError
from calprobe.metrics import Resampling, bootstrap_many, standard_metrics, utility_curve
from calprobe.metrics.rejection import THRESHOLDS


def table_rejection(cell: Cell, resampling: Resampling) -> AccuracyRejection:
    """The accuracy-rejection curve of each score; thresholds of confidence are of scores in [0, 1] alone."""
    lines = []
    for name, estimator in cell.estimators.items():
        thresholds = THRESHOLDS if estimator.scale == "probability" else ()
        lead = (cell.run, cell.run, name, ())
        lines.append(rejection_line(lead, cell.sample(name), resampling, cell.units.clusters, thresholds))
    return AccuracyRejection(tuple(lines), ())


def table_calibration(cell: Cell, ace_bins: int | None, resampling: Resampling) -> Calibration:
    """The reliability diagram of each score. Raises UsageError for a score that is no confidence."""
    metrics, lines = [metric for metric in standard_metrics(ace_bins) if metric.name in METRICS], []
    for name, estimator in cell.estimators.items():
        if estimator.scale != "probability":
            raise _no_confidence(cell, name, "calibration")
        sample = cell.sample(name)
        values = bootstrap_many(metrics, {name: sample}, resampling, cell.units.clusters)[name]
        lines.append(calibration_line((cell.run, cell.run, name, ()), sample, values, ace_bins))
    return Calibration(tuple(lines), "answers")


def table_utility(cell: Cell, resampling: Resampling) -> Utility:
    """What answers are worth against the stakes, by each score. Raises UsageError for one that is no confidence."""
    lines = []
    for name, estimator in cell.estimators.items():
        if estimator.scale != "probability":
            raise _no_confidence(cell, name, "utility at stakes")
        curve = utility_curve(*cell.sample(name), GRID, resampling, cell.units.clusters)
        lines.append(UtilityLine(cell.run, cell.run, name, (), curve))
    return Utility(tuple(lines))


def _no_confidence(cell: Cell, name: str, what: str) -> UsageError:
    return UsageError(
        f"{cell.run}: {name} is no confidence in [0, 1] and has no {what}; take --kind accuracy-rejection"
    )
