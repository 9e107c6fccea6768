"""Accuracy against ACE over runs: are the more accurate models the better calibrated ones?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from calprobe.analysis.curves.results import (
    DEFAULT_CURVE_OPTIONS,
    AccuracyAce,
    AccuracyAcePoint,
    CurveOptions,
    RankCorrelation,
)
from calprobe.analysis.curves.scored import chosen_estimators, lead_of, metrics_named, predictions, read_runs
from calprobe.analysis.scored_run import RunLike
from calprobe.confidence import BASE, Headline, headline
from calprobe.metrics import bootstrap_many, spearman


def accuracy_ace(runs: RunLike | Sequence[RunLike], options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> AccuracyAce:
    """Accuracy of base against the ACE of each estimator, a point a run, with their rank correlation.

    The correlation's interval is over models (`spearman`), those of the points over instances.

    Args:
        runs: run folders, open or by path; several, best all of one probe.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, by default base, margin,
            average_vote_2 and average_min.
    Returns:
        A point for each run and estimator, and a correlation for each estimator over the runs that have both numbers:
        NaN with fewer than four.
    Raises:
        UsageError: no run, one named twice, one without template 0 or a paraphrase, or an estimator that a run does not
            have. DataMissingError, CalprobeError: as `report`.
    """
    metrics, points = metrics_named(("accuracy", "ace"), options.scores), []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, headline(Headline.PAPER))
        (base,) = chosen_estimators(run, CurveOptions(estimators=(BASE,)), ())
        confidences = run.confidences(list(dict.fromkeys((base.name, *(estimator.name for estimator in chosen)))))
        values = bootstrap_many(metrics, predictions(confidences), options.scores.resampling, run.clusters)
        points += [
            AccuracyAcePoint(
                *lead_of(run, estimator), accuracy=values[BASE]["accuracy"], ace=values[estimator.name]["ace"]
            )
            for estimator in chosen
        ]
    return correlated(points)


def correlated(points: Sequence[AccuracyAcePoint]) -> AccuracyAce:
    """The points with the rank correlation of each estimator that has any."""
    names = dict.fromkeys(point.estimator for point in points)
    return AccuracyAce(tuple(points), tuple(_correlation(name, points) for name in names))


def _correlation(estimator: str, points: Sequence[AccuracyAcePoint]) -> RankCorrelation:
    both = [
        (point.accuracy.value, point.ace.value)
        for point in points
        if point.estimator == estimator and not math.isnan(point.accuracy.value + point.ace.value)
    ]
    accuracies, errors = zip(*both, strict=True) if both else ((), ())
    return RankCorrelation(estimator, len(both), spearman(accuracies, errors))
