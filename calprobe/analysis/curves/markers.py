"""Epistemic markers: what "possibly", "certainly" or a percentage does to accuracy and confidence."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.analysis.curves.results import DEFAULT_CURVE_OPTIONS, CurveOptions, MarkerPoint, Markers
from calprobe.analysis.curves.scored import Values, lead_of, metrics_named, predictions, read_runs
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.scored_run import RunLike, ScoredRun
from calprobe.confidence import BASE, Estimator
from calprobe.errors import UsageError
from calprobe.metrics import bootstrap_many, paired_differences

METRICS = ("accuracy", "mean_confidence", "ace")


def markers(runs: RunLike | Sequence[RunLike], options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Markers:
    """Base of the plain statement and of each epistemic wording: accuracy, mean confidence, ACE, and the shift.

    Kissling et al. 2026, section 3.3. The shift is the mean confidence under the marker less that of the plain
    statement, on the same instances and resamples.

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
    shifted, samples = (
        metrics_named(("mean_confidence",), options),
        predictions(run.confidences([estimator.name for estimator in chosen])),
    )
    shifts = paired_differences(shifted, samples, pairs, options.resampling, run.clusters)
    points = []
    for estimator in chosen:
        own, shift = values[estimator.name], shifts.get((estimator.name, BASE))
        marker = estimator.marker or "plain"
        points.append(
            MarkerPoint(
                *lead_of(run, estimator),
                marker=marker,
                percentage=float(marker) if marker.isdecimal() else float("nan"),
                accuracy=own["accuracy"],
                mean_confidence=own["mean_confidence"],
                ace=own["ace"],
                shift=None if shift is None else shift["mean_confidence"],
            )
        )
    return points


def _wordings(run: ScoredRun) -> list[Estimator]:
    """The plain statement and the markers."""
    chosen = [found for found in run.estimators.values() if found.name == BASE or found.marker is not None]
    names = [estimator.name for estimator in chosen]
    if BASE not in names or len(names) == 1:
        lacking = "epistemic" if BASE in names else "plain"
        raise UsageError(f"{run.label}: no {lacking} template; score it with --templates 0,verbal,numeric")
    return chosen
