"""Metrics of (score, correct) tables: does a larger score mean more often right, and is it a calibrated confidence?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calprobe.analysis.json_values import estimate_json
from calprobe.arrays import Floats, Ints
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.metrics import (
    ACE_BINS,
    Estimate,
    Metric,
    RankMetric,
    Resampling,
    bootstrap,
    ordinal_confidence,
    standard_metrics,
)


@dataclass(frozen=True, slots=True)
class RankOptions:
    """How to read the scores and what to compute of them."""

    uncertainty: bool = False  # larger scores are less sure
    ace_bins: int = ACE_BINS  # quantile bins
    resampling: Resampling = field(default_factory=Resampling)


DEFAULT_OPTIONS = RankOptions()


@dataclass(frozen=True, slots=True)
class RankedScore:
    """One score's metrics."""

    name: str  # the column's
    is_confidence: bool  # all in [0, 1] and larger is surer: then calibration is measured too
    metrics: Mapping[str, Estimate]  # by metric name


@dataclass(frozen=True, slots=True)
class RankReport:
    """The metrics of every score of a table."""

    label: str  # the file as typed
    answers: int
    scores: tuple[RankedScore, ...]
    metrics: tuple[Metric, ...]  # those that any of the scores has, in the order of their columns
    options: RankOptions

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe rank --json`, in the manner of `report --json`, with columns for estimators."""
        scores = {
            score.name: {name: estimate_json(estimate) for name, estimate in score.metrics.items()}
            for score in self.scores
        }
        return {self.label: {"answers": self.answers, "scores": scores}}


def rank(answers: ScoredAnswers, options: RankOptions = DEFAULT_OPTIONS, label: str = "") -> RankReport:
    """Accuracy and the ranking metrics of each score; every metric of a report of those that are confidences.

    A score whose values all lie in [0, 1] is taken for a confidence, unless `options.uncertainty` is set. Any other is
    mapped to its rank (`calprobe.metrics.ordinal_confidence`), which changes no ranking metric.

    Args:
        answers: from `calprobe.interop.score_tables.read_scored_answers`, or arrays of one's own.
        options: direction of the scores, number of ACE bins, bootstrap.
        label: the table's name in the result.
    Raises:
        ValueError: as the metrics do: NaN, arrays of different lengths, correctness other than 0 and 1.

    >>> import numpy as np
    >>> answers = ScoredAnswers({"entropy": np.array([2.5, 0.1, 0.7])}, np.array([0, 1, 1]))
    >>> rank(answers, RankOptions(uncertainty=True)).scores[0].metrics["auroc"].value
    1.0
    """
    ranked = tuple(_rank_score(name, values, answers.correct, options) for name, values in answers.scores.items())
    computed = {name for score in ranked for name in score.metrics}
    metrics = tuple(metric for metric in standard_metrics(options.ace_bins) if metric.name in computed)
    return RankReport(label, len(answers.correct), ranked, metrics, options)


def _rank_score(name: str, values: Floats, correct: Ints, options: RankOptions) -> RankedScore:
    is_confidence = not options.uncertainty and bool(((values >= 0) & (values <= 1)).all())
    confidence = values if is_confidence else ordinal_confidence(values, uncertainty=options.uncertainty)
    chosen = [m for m in standard_metrics(options.ace_bins) if is_confidence or _asks_for_order_only(m)]
    return RankedScore(name, is_confidence, bootstrap(chosen, confidence, correct, options.resampling))


def _asks_for_order_only(metric: Metric) -> bool:
    return isinstance(metric, RankMetric) or metric.name == "accuracy"
