"""Calibration curves of runs: accuracy against confidence, on the very bins that the errors are computed on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calprobe.analysis.curves.results import (
    DEFAULT_CURVE_OPTIONS,
    BinnedError,
    Calibration,
    CalibrationLine,
    CurveOptions,
    SmoothError,
)
from calprobe.analysis.curves.scored import (
    Values,
    chosen_estimators,
    lead_of,
    metrics_named,
    predictions,
    read_runs,
)
from calprobe.analysis.scored_run import RunLike, ScoredRun
from calprobe.confidence import Confidence, Estimator, Headline, headline
from calprobe.metrics import (
    Estimate,
    MetricResult,
    ace,
    bootstrap_many,
    ece,
    smooth_ece,
    wilson_interval,
)

METRICS = ("ace", "ece", "smooth_ece")


def calibration(runs: RunLike | Sequence[RunLike], options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Calibration:
    """Accuracy against confidence, on ACE's quantile bins and ECE's equal-width ones, and smoothed without bins.

    The numbers are those of `report`, with their intervals; a bin's accuracy has Wilson's interval, which takes its
    instances for independent.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, by default base, margin,
            average_vote_2 and average_min.
    Returns:
        A line for each run and estimator. Bins of ties are empty; without instances all are, and values are NaN.
    Raises:
        UsageError: no run, one named twice, or an estimator that a run does not have. DataMissingError, CalprobeError:
            as `report`.
    """
    metrics = metrics_named(METRICS, options.scores)
    lines: list[CalibrationLine] = []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, headline(Headline.PAPER))
        samples = predictions(run.confidences([estimator.name for estimator in chosen]))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        lines += calibration_lines(run, chosen, values, options.scores.ace_bins)
    return Calibration(tuple(lines))


def calibration_lines(
    run: ScoredRun, estimators: Sequence[Estimator], values: Values, ace_bins: int
) -> list[CalibrationLine]:
    """A line for each estimator of a run, around the values that are known of its METRICS."""
    lines, confidences = [], run.confidences([estimator.name for estimator in estimators])
    for estimator in estimators:
        found, own = confidences[estimator.name], values[estimator.name]
        lines.append(
            CalibrationLine(
                *lead_of(run, estimator),
                instances=len(run.instances),
                ace=_binned(ace(found.confidence, found.correct, ace_bins), own["ace"]),
                ece=_binned(ece(found.confidence, found.correct), own["ece"]),
                smooth=_smooth(found, own["smooth_ece"]),
            )
        )
    return lines


def _binned(result: MetricResult, value: Estimate) -> BinnedError:
    bins = result.bins
    assert bins is not None, "binned metrics have bins"
    right = np.where(bins.count > 0, np.rint(bins.accuracy * bins.count), 0)
    return BinnedError(value, bins, *wilson_interval(right, bins.count))


def _smooth(found: Confidence, value: Estimate) -> SmoothError:
    curve = smooth_ece(found.confidence, found.correct).smoothed
    if curve is None:
        return SmoothError(value, *(np.empty(0) for _ in range(3)))
    # Beyond the least and the most confident instance smoothing only goes on as it was, out of [0, 1] even.
    low, high = found.confidence.min(), found.confidence.max()
    seen = (curve.confidence >= low) & (curve.confidence <= high)
    return SmoothError(value, curve.confidence, np.where(seen, curve.accuracy, np.nan), curve.density)
