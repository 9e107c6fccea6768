"""Headline numbers of a run with three intervals: for other facts, other relations, other facts of these relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from calprobe.cells.cell import Labels
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Headline, headline
from calprobe.measures.options import ReportOptions
from calprobe.metrics import MANY_CLUSTERS, Estimate, Within, bootstrap_many, bootstrap_mean, standard_metrics

DrawnBy = Literal["instances", "relation", "within-relation"]
METRICS = ("accuracy", "confidence_gap", "ace", "brier")


@dataclass(frozen=True, slots=True)
class HeadlineIntervals:
    """Estimates of one value each, with the interval of one kind of resamples."""

    bear_score: Estimate | None  # None with fewer than two paraphrases
    estimators: Mapping[str, Mapping[str, Estimate]]  # by estimator, then by name of METRICS

    def to_json(self) -> dict[str, Any]:
        """The intervals alone, `[low, high]`; the values are the report's."""

        def ends(estimate: Estimate | None) -> list[float] | None:
            return None if estimate is None or estimate.low != estimate.low else [estimate.low, estimate.high]

        return {
            "bear_score": ends(self.bear_score),
            "estimators": {
                name: {metric: ends(estimate) for metric, estimate in estimates.items()}
                for name, estimates in self.estimators.items()
            },
        }


def headline_intervals(run: ScoredRun, options: ReportOptions) -> dict[DrawnBy, HeadlineIntervals] | None:
    """The three kinds of intervals for base, margin and average_min; None below 30 relations or without resamples."""
    if len(run.relations) < MANY_CLUSTERS or not options.resampling.n_resamples:
        return None
    relation = run.instances.group
    kinds: dict[DrawnBy, Labels | None] = {
        "instances": None,
        "relation": relation,
        "within-relation": Within(relation),
    }
    return {kind: _intervals(run, options, clusters) for kind, clusters in kinds.items()}


def _intervals(run: ScoredRun, options: ReportOptions, clusters: Labels | None) -> HeadlineIntervals:
    names = [name for name in headline(Headline.FIRST) if name in run.estimators]
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    samples = {name: run.cell.sample(name) for name in names}
    shares = run.right_shares
    return HeadlineIntervals(
        bear_score=None if shares is None else bootstrap_mean(shares, options.resampling, clusters),
        estimators=bootstrap_many(metrics, samples, options.resampling, clusters),
    )
