"""Epistemic markers: what "possibly", "certainly" or a percentage does to accuracy and confidence."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.errors import UsageError
from calprobe.metrics import bootstrap_many, paired_differences
from calprobe.report.curves.results import DEFAULT_CURVE_OPTIONS, CurveOptions, MarkerPoint, Markers
from calprobe.report.curves.scored import CurveRun, metrics_named, predictions, read_runs
from calprobe.report.source import RunLike

PLAIN = "base"
PREFIX = "marker_"


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
    return Markers(tuple(point for run in read_runs(runs, options.scores) for point in _points(run, options)))


def _points(run: CurveRun, options: CurveOptions) -> list[MarkerPoint]:
    chosen = [found for name, found in run.estimators.items() if name == PLAIN or name.startswith(PREFIX)]
    names = [estimator.name for estimator in chosen]
    if PLAIN not in names or len(names) == 1:
        lacking = "epistemic" if PLAIN in names else "plain"
        raise UsageError(f"{run.label}: no {lacking} template; score it with --templates 0,verbal,numeric")
    samples = predictions(run.confidences(chosen))
    metrics = metrics_named(("accuracy", "mean_confidence", "ace"), options.scores)
    values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
    pairs = [(name, PLAIN) for name in names if name != PLAIN]
    shifted = metrics_named(("mean_confidence",), options.scores)
    shifts = paired_differences(shifted, samples, pairs, options.scores.resampling, run.clusters)
    points = []
    for estimator in chosen:
        own, shift = values[estimator.name], shifts.get((estimator.name, PLAIN))
        marker = "plain" if shift is None else estimator.name.removeprefix(PREFIX)
        points.append(
            MarkerPoint(
                *run.whose(estimator),
                marker=marker,
                percentage=float(marker) if marker.isdecimal() else float("nan"),
                accuracy=own["accuracy"],
                mean_confidence=own["mean_confidence"],
                ace=own["ace"],
                shift=None if shift is None else shift["mean_confidence"],
            )
        )
    return points
