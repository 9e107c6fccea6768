"""Epistemic markers: what "possibly", "certainly" or a percentage does to accuracy and confidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE, Estimator
from calprobe.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
)
from calprobe.curves.inputs import Reported, Values, lead_of, metrics_named, predictions, read_runs
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Difference, Estimate, bootstrap_many, holm, paired_differences


@dataclass(frozen=True, slots=True)
class MarkerPoint(Line):
    """Base under one wording: the plain statement, or one with an epistemic marker."""

    marker: str  # plain, possibly, certainly, 0, 25, 50, 75, 100 (percentages)
    percentage: float  # that a numeric marker names; NaN for the others
    accuracy: Estimate
    mean_confidence: Estimate
    ace: Estimate
    shift: Difference | None  # of mean confidence: this wording minus the plain one, on the same instances; None: plain
    accuracy_shift: Difference | None = None  # of accuracy, likewise
    ace_shift: Difference | None = None  # of ACE
    shift_p_holm: float = math.nan  # the p-values of the three, corrected for all of the run's
    accuracy_shift_p_holm: float = math.nan
    ace_shift_p_holm: float = math.nan


@dataclass(frozen=True, slots=True)
class Markers(Curves):
    """What an epistemic marker does to confidence. Columns: marker, percentage, then numbers and shift with p-value."""

    kind = "markers"
    COLUMNS = (
        *(*LEAD, "marker", "percentage", "accuracy", "accuracy_low", "accuracy_high"),
        *("mean_confidence", "mean_confidence_low", "mean_confidence_high", "ace", "ace_low", "ace_high"),
        *("shift", "shift_low", "shift_high", "shift_p", "shift_p_holm"),
        *("accuracy_shift", "accuracy_shift_low", "accuracy_shift_high", "accuracy_shift_p", "accuracy_shift_p_holm"),
        *("ace_shift", "ace_shift_low", "ace_shift_high", "ace_shift_p", "ace_shift_p_holm"),
    )

    points: tuple[MarkerPoint, ...]  # run by run: plain, verbal markers, percentages ascending

    def _parts(self) -> Iterable[Columns]:
        for point in self.points:
            columns = {**point.lead, "marker": point.marker, "percentage": point.percentage}
            for name in ("accuracy", "mean_confidence", "ace"):
                columns |= estimate_columns(name, getattr(point, name))
            for name in SHIFTS.values():
                if (shift := getattr(point, name)) is not None:
                    columns |= estimate_columns(name, Estimate(shift.value, shift.low, shift.high))
                    columns |= {f"{name}_p": shift.p_value, f"{name}_p_holm": getattr(point, f"{name}_p_holm")}
            yield columns


METRICS = ("accuracy", "mean_confidence", "ace")
SHIFTS = {"mean_confidence": "shift", "accuracy": "accuracy_shift", "ace": "ace_shift"}  # fields, by the metric


def markers(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Markers:
    """Base of the plain statement and of each epistemic wording: accuracy, mean confidence, ACE, and their shifts.

    Kissling et al. 2026, section 3.3 and Figures 6 and 11. A shift is the number under the marker minus that of the
    plain statement, on the same instances and resamples (`paired_differences`). Holm's correction counts all p-values
    of a run.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins, bootstrap; no estimators, it is base under every wording.
    Returns:
        Points run by run: plain (template 0, else the first paraphrase), then the run's markers, percentages ascending.
    Raises:
        UsageError: estimators given; a run without epistemic templates or without a plain one; no run, or one named
            twice. DataMissingError, CalprobeError: as `report`.
    """
    if options.estimators:
        raise UsageError("markers: base under each wording, there is no estimator to choose; leave --estimator out")
    metrics = metrics_named(METRICS, options.scores)
    points: list[MarkerPoint] = []
    for run in read_runs(runs, options.scores):
        samples = predictions(run.confidences([estimator.name for estimator in _wordings(run)]))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        points += marker_points(run, values, options.scores)
    return Markers(tuple(points))


def marker_points(run: ScoredRun, values: Values, options: ReportOptions) -> list[MarkerPoint]:
    """A point for each wording of a run, around the values that are known of its METRICS. Raises as `markers`."""
    chosen = _wordings(run)
    pairs = [(estimator.name, BASE) for estimator in chosen if estimator.name != BASE]
    samples = predictions(run.confidences([estimator.name for estimator in chosen]))
    metrics = metrics_named(METRICS, options)
    shifts = paired_differences(metrics, samples, pairs, options.resampling, run.clusters)
    corrected = _corrected(shifts)
    points = []
    for estimator in chosen:
        estimates, marker = values[estimator.name], estimator.marker or "plain"
        point = MarkerPoint(
            *lead_of(run, estimator),
            marker=marker,
            percentage=float(marker) if marker.isdecimal() else float("nan"),
            accuracy=estimates["accuracy"],
            mean_confidence=estimates["mean_confidence"],
            ace=estimates["ace"],
            shift=None,
        )
        for metric, shift in shifts.get((estimator.name, BASE), {}).items():
            name = SHIFTS[metric]
            changed = {name: shift, f"{name}_p_holm": corrected[estimator.name, metric]}
            point = replace(point, **changed)  # type: ignore[arg-type]
        points.append(point)
    return points


def _corrected(shifts: Mapping[tuple[str, str], Mapping[str, Difference]]) -> dict[tuple[str, str], float]:
    """Holm's corrected p-values of a run, by wording and metric."""
    places = [(wording, metric) for (wording, _), differences in shifts.items() for metric in differences]
    p_values = [differences[metric].p_value for differences in shifts.values() for metric in differences]
    return dict(zip(places, holm(p_values).tolist(), strict=True))


def _wordings(run: ScoredRun) -> list[Estimator]:
    """The plain statement and the markers."""
    chosen = [
        estimator for estimator in run.estimators.values() if estimator.name == BASE or estimator.marker is not None
    ]
    names = [estimator.name for estimator in chosen]
    if BASE not in names or len(names) == 1:
        lacking = "epistemic" if BASE in names else "plain"
        raise UsageError(f"{run.label}: no {lacking} template; score it with --templates 0,verbal,numeric")
    return chosen


def reported_markers(found: Reported) -> Markers | None:
    """The points of a run of a report; None without epistemic templates."""
    if not any(estimator.marker is not None for estimator in found.run.estimators.values()):
        return None
    return Markers(tuple(marker_points(found.run, found.values, found.options)))


def join_markers(several: Sequence[Markers]) -> Markers:
    """The points of several runs."""
    return Markers(tuple(point for result in several for point in result.points))
