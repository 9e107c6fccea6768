"""Accuracy-rejection curves: how right the rest is when the least confident predictions are rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Confidence, Estimator, Headline, headline
from calprobe.confidence.estimators import AVERAGES
from calprobe.curves.curve import DEFAULT_CURVE_OPTIONS, LEAD, Columns, CurveOptions, Curves, Line, lines_of
from calprobe.curves.inputs import Reported, chosen_estimators, lead_of, predictions, read_runs
from calprobe.metrics import (
    AccuracyBand,
    AtCoverage,
    AtThresholds,
    AtVotes,
    RejectionCurve,
    Resampling,
    accuracy_bands,
    reject_by_rank,
    reject_by_threshold,
    reject_by_vote,
)
from calprobe.metrics.bootstrap import Predictions
from calprobe.metrics.rejection import THRESHOLDS, AccuracyCurve
from calprobe.metrics.resamples import ClusterLabels
from calprobe.metrics.sample import sort_instances

Ends = tuple[Floats, Floats]  # lower and upper, both [points]
Lead = tuple[str, str, str, tuple[int, ...]]  # the fields of a `Line`


@dataclass(frozen=True, slots=True)
class Band:
    """A curve on a grid with its 95 % band."""

    x: Floats  # [points]
    y: Floats  # [points]
    low: Floats  # [points]
    high: Floats  # [points]
    whole: Ends | None = None  # the band that holds for all points at once; the name is a key of the JSON


@dataclass(frozen=True, slots=True)
class RejectionPoints:
    """Points of an accuracy-rejection curve, each with the interval of its accuracy."""

    curve: RejectionCurve  # accuracy NaN where nothing is kept
    low: Floats  # [points]
    high: Floats  # [points]
    whole: Ends | None = None  # the band that holds for all points at once; the name is a key of the JSON

    def columns(self) -> Columns:
        """The points as columns of `AccuracyRejection.frame`."""
        curve = self.curve
        return {
            "threshold": curve.threshold,
            "rejected": curve.rejected,
            "kept": curve.kept.astype(np.float64),
            "accuracy": curve.accuracy,
            "low": self.low,
            "high": self.high,
            **_band_columns(self.whole),
        }


@dataclass(frozen=True, slots=True)
class RejectionLine(Line):
    """Accuracy of what is kept when the least confident predictions of one estimator are rejected."""

    # The paper's form: kept is what has at least the confidence 0.0, 0.1, .. 1.0; no points of an uncertainty.
    by_threshold: RejectionPoints
    by_rank: RejectionCurve  # a point for each distinct confidence; drawn without the band, it is exact
    band: Band  # x: share rejected on an even grid in [0, 1), y: expected accuracy of the rest, with its band


@dataclass(frozen=True, slots=True)
class VoteLine(Line):
    """Share failed and accuracy of the rest when k of the paraphrases must agree; `threshold` of the curve is k."""

    votes: RejectionPoints  # a point for each k = 2 .. T


@dataclass(frozen=True, slots=True)
class AccuracyRejection(Curves):
    """Accuracy-rejection curves. Columns: form (threshold, rank, grid, vote), then one row a point.

    `threshold` is the confidence asked for (of vote: the number of votes), `rejected` a share, `kept` a number of
    instances (both NaN where the form has none), `low` and `high` the interval of `accuracy`, `band_low` and
    `band_high` the band that holds for all points of the curve at once.
    """

    kind = "accuracy-rejection"
    COLUMNS = (*LEAD, "form", "threshold", "rejected", "kept", "accuracy", "low", "high", "band_low", "band_high")

    lines: tuple[RejectionLine, ...]
    votes: tuple[VoteLine, ...]  # one for each run with two paraphrases or more; estimator is "vote"

    def only(self, estimators: Sequence[str]) -> Self:
        """See `Curves.only`."""
        return replace(self, lines=lines_of(self.lines, estimators))

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            yield {**line.lead, "form": "threshold", **line.by_threshold.columns()}
            ranks, nothing = line.by_rank, np.full(len(line.by_rank.kept), np.nan)
            yield {**line.lead, "form": "rank", **RejectionPoints(ranks, nothing, nothing).columns()}
            band = line.band
            grid = {"rejected": band.x, "accuracy": band.y, "low": band.low, "high": band.high}
            yield {**line.lead, "form": "grid", **grid, **_band_columns(band.whole)}
        for votes in self.votes:
            yield {**votes.lead, "form": "vote", **votes.votes.columns()}


# Shares rejected of the grid that bands are computed on; everything rejected has no accuracy.
GRID = tuple(k / 100 for k in range(100))
VOTE = "vote"  # stands where other lines name an estimator


def accuracy_rejection(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> AccuracyRejection:
    """Accuracy of what is kept against the share rejected: by threshold, by rank, and by votes of the paraphrases.

    Kissling et al. 2026, section 5.2. Bands are 95 % bootstrap intervals, point by point (`accuracy_bands`).

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, bootstrap; estimators, by default base, margin, average_vote_2 and average_min.
    Returns:
        A line for each run and estimator, and for each run with two paraphrases or more one of votes. Accuracy is NaN
        where nothing is kept, and everywhere without instances.
    Raises:
        UsageError: no run, one named twice, or an estimator that a run does not have. DataMissingError, CalprobeError:
            as `report`.

    `accuracy_rejection("runs/tiny-clm-mini").frame()` is the contents of `calprobe curve --kind accuracy-rejection`.
    """
    lines: list[RejectionLine] = []
    votes: list[VoteLine] = []
    for run in read_runs(runs, options.scores):
        rejection = rejection_of(
            run, chosen_estimators(run, options, headline(Headline.PAPER)), options.scores.resampling
        )
        lines += rejection.lines
        votes += rejection.votes
    return AccuracyRejection(tuple(lines), tuple(votes))


def rejection_of(run: ScoredRun, estimators: Sequence[Estimator], resampling: Resampling) -> AccuracyRejection:
    """A line for each estimator of one run, and one of its votes."""
    voters = _voters(run)
    confidences = run.confidences([estimator.name for estimator in (*estimators, *voters.values())])
    polls = [confidences[estimator.name] for estimator in voters.values()]
    samples = predictions({estimator.name: confidences[estimator.name] for estimator in estimators})
    bands = accuracy_bands(
        _curves(samples, THRESHOLDS) | ({VOTE: _votes(tuple(voters), polls)} if voters else {}),
        len(run.instances),
        resampling,
        run.clusters,
    )
    lines = tuple(
        _line(lead_of(run, estimator), samples[estimator.name], THRESHOLDS, bands) for estimator in estimators
    )
    if not voters:
        return AccuracyRejection(lines, ())
    points = _points(reject_by_vote(tuple(voters), *_polled(polls)), bands[VOTE])
    templates = next(iter(voters.values())).templates
    return AccuracyRejection(lines, (VoteLine(run.label, run.model, VOTE, templates, points),))


def _voters(run: ScoredRun) -> dict[int, Estimator]:
    """For each k = 2 .. T an estimator that fails where the vote of k does."""
    averages = (estimator for estimator in run.estimators.values() if estimator.name.startswith(AVERAGES))
    return {estimator.votes: estimator for estimator in averages if estimator.votes is not None}


def rejection_line(
    lead: Lead,
    sample: Predictions,
    resampling: Resampling,
    clusters: ClusterLabels | None,
    thresholds: Sequence[float] = THRESHOLDS,
) -> RejectionLine:
    """The line of one sample, whose bands are of its own instances.

    Args:
        lead: the fields of a `Line`.
        sample: confidence and correct, both [instances].
        resampling: number of resamples, and seed.
        clusters: [instances], which are drawn complete; None draws single instances.
        thresholds: of the form by threshold; none of ranks, which are no probabilities.
    """
    curves = _curves({lead[2]: sample}, thresholds)
    return _line(lead, sample, thresholds, accuracy_bands(curves, len(np.asarray(sample[1])), resampling, clusters))


def _curves(samples: Mapping[str, Predictions], thresholds: Sequence[float]) -> dict[str, AccuracyCurve]:
    """The two curves of each estimator that get a band."""
    curves: dict[str, AccuracyCurve] = {}
    for name, sample in samples.items():
        instances = sort_instances(*sample)
        curves[f"threshold {name}"] = AtThresholds(instances, np.array(thresholds, np.float64))
        curves[f"grid {name}"] = AtCoverage(instances, 1 - np.array(GRID))
    return curves


def _polled(polls: Sequence[Confidence]) -> tuple[np.ndarray, np.ndarray]:
    """Failed and correct, both [votes, instances]."""
    return np.array([poll.failed for poll in polls]), np.array([poll.correct for poll in polls])


def _votes(numbers: Sequence[int], polls: Sequence[Confidence]) -> AtVotes:
    return AtVotes(numbers, *_polled(polls))


def _line(
    lead: Lead, sample: Predictions, thresholds: Sequence[float], bands: Mapping[str, AccuracyBand]
) -> RejectionLine:
    grid = bands[f"grid {lead[2]}"]
    return RejectionLine(
        *lead,
        by_threshold=_points(reject_by_threshold(*sample, thresholds), bands[f"threshold {lead[2]}"]),
        by_rank=reject_by_rank(*sample),
        band=Band(np.array(GRID), grid.accuracy, grid.low, grid.high, (grid.band_low, grid.band_high)),
    )


def _points(curve: RejectionCurve, band: AccuracyBand) -> RejectionPoints:
    return RejectionPoints(curve, band.low, band.high, (band.band_low, band.band_high))


def _band_columns(whole: Ends | None) -> Columns:
    return {} if whole is None else {"band_low": whole[0], "band_high": whole[1]}


def reported_rejection(found: Reported) -> AccuracyRejection | None:
    """The curves of a run of a report; None without any."""
    curves = rejection_of(found.run, found.chosen, found.options.resampling)
    return curves if curves.lines or curves.votes else None


def join_rejections(several: Sequence[AccuracyRejection]) -> AccuracyRejection:
    """The curves of several runs in one result."""
    lines = tuple(line for result in several for line in result.lines)
    return AccuracyRejection(lines, tuple(votes for result in several for votes in result.votes))
