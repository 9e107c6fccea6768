"""The numbers of views: accuracy, calibration, differences on the same facts, rank correlations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from calprobe.arrays import Mask
from calprobe.measures.contrasts import Drawn, Sides, contrasts_of
from calprobe.measures.estimates import estimates_of, mean_estimate
from calprobe.metrics import Estimate, Metric, Resampling
from calprobe.metrics.correlation import correlation
from calprobe.metrics.intervals import UNDEFINED
from calprobe.studies.four_ways.results import FEW, RankCorrelation, ViewNumbers, ViewPair, WayNumbers
from calprobe.studies.four_ways.ways import View, Way

Pair = tuple[View, View]


def way_numbers(way: Way, drawn: Drawn) -> WayNumbers:
    """How often a way is right, by whatever reads its answers."""
    right = {way.by: way.correct} | dict(way.readers)
    accuracy = {name: share(mask, drawn) for name, mask in right.items()}
    return WayNumbers(way, accuracy, sum(answer is None for answer in way.said) if not way.is_ranking else 0)


def share(values: Mask, drawn: Drawn, kept: Mask | None = None) -> Estimate:
    """The share of the facts kept of which something holds, with its interval; NaN without any."""
    return mean_estimate(values, kept, drawn.resampling, drawn.clusters)


def view_numbers(ways: Iterable[Way], metrics: Sequence[Metric], resampling: Resampling) -> Iterator[ViewNumbers]:
    """Each view's metrics over the facts that have its confidence; views of the same facts see the same resamples."""
    for way in ways:
        estimates = estimates_of(way.cell, metrics, resampling)
        for view in way.views:
            yield ViewNumbers(view, int(view.confidence.read.sum()), estimates[view.name])


def view_pair(pair: Pair, metrics: Sequence[Metric], drawn: Drawn) -> ViewPair:
    """The metrics that have a meaning for both, and their differences, first minus second."""
    first, second = pair
    kept = first.confidence.read & second.confidence.read
    if not kept.any():
        return ViewPair(first, second, 0, ())
    # A handful of facts that all agree would be significant on every resample.
    shared = drawn.at(kept) if kept.sum() >= FEW else replace(drawn.at(kept), resampling=Resampling(0))
    sides = Sides(first.sample(kept), second.sample(kept), (first.estimator, second.estimator))
    return ViewPair(first, second, int(kept.sum()), tuple(contrasts_of({None: sides}, metrics, shared)))


def fair_pairs(ways: Sequence[Way]) -> Iterator[Pair]:
    """Each view of what is said, with the first of each ranking that is a fair one for it."""
    for way in ways:
        for ranking in fair_rankings(ways, way):
            for view in way.views:
                yield view, ranking.views[0]


def every_pair(ways: Iterable[Way]) -> Iterator[Pair]:
    """Every two views."""
    yield from combinations((view for way in ways for view in way.views), 2)


def fair_rankings(ways: Sequence[Way], answering: Way) -> list[Way]:
    """Of each run of scores the ranking with the same chances as replies have: of their options, else of all."""
    if answering.is_ranking:
        return []
    runs = dict.fromkeys(way.run for way in ways if way.kind == "ranking")
    return [
        next(
            (way for way in ways if way.run == run and way.kind == "ranking of options" and offers(way, answering)),
            next(way for way in ways if way.run == run and way.kind == "ranking"),
        )
        for run in runs
    ]


def offers(ranking: Way, answering: Way) -> bool:
    """Whether a ranking of options is of those that a way chooses from."""
    return answering.letter in ranking.of.split(", ")


def rank_correlations(views: Sequence[View], drawn: Drawn) -> tuple[RankCorrelation, ...]:
    """Spearman's rho of every two views over the facts that have both; undefined with a handful of them."""
    resampling = drawn.resampling
    correlations = []
    for first, second in combinations(views, 2):
        spearman = correlation(first.sureness, second.sureness, resampling, drawn.clusters)
        rho = spearman.of_ranks if spearman.instances >= FEW else UNDEFINED
        correlations.append(RankCorrelation(first, second, spearman.instances, rho))
    return tuple(correlations)
