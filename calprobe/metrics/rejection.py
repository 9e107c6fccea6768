"""Accuracy-rejection curves: how right the rest is when the least confident predictions are rejected; their bands.

For a band, a curve is a function from how often a resample holds each instance to the accuracies of its points. All
curves of a call see the same resamples, which are those of `bootstrap`, a block at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_confidence
from calprobe.metrics.intervals import LEVEL, SAME, without_spread
from calprobe.metrics.ranks import tied_starts
from calprobe.metrics.resamples import Block, ClusterLabels, Clusters, Resampling, check_clusters, of_blocks
from calprobe.metrics.sample import Sample, SortedInstances, sort_instances
from calprobe.metrics.simultaneous import simultaneous_band

# The paper's. As k / 10 they are the floats that 0.1, 0.2, .. mean; steps of 0.1 would reach 0.30000000000000004, and
# reject confidences of 0.3.
THRESHOLDS = tuple(k / 10 for k in range(11))
ROUNDING = 1e-9  # of a share times a count


@dataclass(frozen=True, slots=True)
class RejectionCurve:
    """Points of an accuracy-rejection curve, arrays of one length: `dataclasses.asdict` gives the columns of a table.

    While a curve is computed for resamples its arrays, save `threshold`, have a leading axis [resamples].
    """

    threshold: Floats  # [points], confidences of at least this are kept; of votes: how many are asked for
    kept: Ints  # [points], instances kept
    correct: Ints  # [points], correct ones among them
    rejected: Floats  # [points], share of the instances that is not kept; NaN without instances
    accuracy: Floats  # [points], share correct of the kept; NaN where nothing is kept

    @classmethod
    def of(cls, threshold: Floats, kept: Ints, correct: Ints, n_instances: Ints | int) -> RejectionCurve:
        """The curve of these counts."""
        with np.errstate(invalid="ignore"):
            return cls(threshold, kept, correct, rejected=1 - kept / n_instances, accuracy=correct / kept)

    def row(self, index: int) -> RejectionCurve:
        """The curve of one resample."""
        return RejectionCurve(
            self.threshold, self.kept[index], self.correct[index], self.rejected[index], self.accuracy[index]
        )


def reject_by_threshold(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, thresholds: npt.ArrayLike = THRESHOLDS
) -> RejectionCurve:
    """Reject what is less confident than a threshold, for each of several: the form of the paper's figures.

    Source: Kissling et al. 2026, section 5.2; Nadeem, Zucker, Hanczar 2009, "Accuracy-Rejection Curves (ARCs) for
    Comparing Classification Methods with a Reject Option". Larger accuracies are better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false. A failed prediction (incorrect, confidence 0) is kept at threshold 0 only.
        thresholds: [points], in [0, 1], in the order of the points.
    Returns:
        A curve with a point for each threshold; what equals it is kept. Accuracy NaN where nothing is kept, never 1.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> curve = reject_by_threshold([0.2, 0.6, 0.9], [False, False, True], thresholds=[0.0, 0.6, 1.0])
    >>> curve.rejected.round(3).tolist(), curve.accuracy.round(3).tolist()
    ([0.0, 0.333, 1.0], [0.333, 0.5, nan])
    """
    chosen = check_confidence(thresholds, name="thresholds")
    return curve_of_thresholds(sort_instances(confidence, correct).sample(), chosen).row(0)


def reject_by_rank(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> RejectionCurve:
    """Reject the least confident instances, at every share that ties allow: equal confidences go together.

    The thresholds are the distinct confidences. Larger accuracies are better; the mean over all shares, those within
    ties too, is `1 - aurc`.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A curve from nothing rejected to the most confident instances alone. With all confidences tied, or one
        instance, one point. Without instances, none.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> curve = reject_by_rank([0.2, 0.6, 0.6, 0.9], [False, False, True, True])
    >>> curve.threshold.tolist(), curve.rejected.tolist(), curve.accuracy.round(3).tolist()
    ([0.2, 0.6, 0.9], [0.0, 0.25, 0.75], [0.5, 0.667, 1.0])
    """
    sample = sort_instances(confidence, correct).sample()
    return curve_of_thresholds(sample, sample.confidence[tied_starts(sample.confidence)]).row(0)


def reject_by_vote(votes: Sequence[int], failed: npt.ArrayLike, correct: npt.ArrayLike) -> RejectionCurve:
    """Reject the instances with a failed vote, for each required number of votes: the points of the paper's figure 10.

    Args:
        votes: [points], the number k of each `vote_k`.
        failed: [points, instances], true where that vote gives no prediction.
        correct: [points, instances], true where its prediction is right; false where it fails.
    Returns:
        A curve with a point for each k: `rejected` the share failed, `accuracy` that of the rest, NaN where all fail.
    Raises:
        ValueError: shapes differ, an entry is neither true nor false, or a failed vote is correct.

    >>> curve = reject_by_vote([2, 3], failed=[[0, 0, 1], [0, 1, 1]], correct=[[1, 0, 0], [1, 0, 0]])
    >>> curve.rejected.round(3).tolist(), curve.accuracy.tolist()
    ([0.333, 0.667], [0.5, 1.0])
    """
    failures, hits = _truths("failed", failed), _truths("correct", correct)
    if failures.shape != hits.shape or len(failures) != len(votes):
        raise ValueError(
            f"failed and correct must both be [{len(votes)} votes, instances]; got {failures.shape} and {hits.shape}"
        )
    if (failures & hits).any():
        at = np.argwhere(failures & hits)[0].tolist()
        raise ValueError(f"correct must be false where failed is true; both are true at {at}")
    complete = np.ones((1, failures.shape[1]), dtype=np.int64)
    return curve_of_votes(complete, votes, failures, hits).row(0)


def curve_of_thresholds(sample: Sample, thresholds: Floats) -> RejectionCurve:
    """Each resample's curve at these thresholds [points]: arrays [resamples, points]."""
    n_instances = len(sample.confidence)
    # Running counts from the most confident down, with none before the first.
    n_above = n_instances - np.searchsorted(sample.confidence, thresholds, side="left")
    kept, correct = (_running(counts)[:, n_above] for counts in (sample.counts, sample.counts * sample.correct))
    return RejectionCurve.of(thresholds, kept, correct, sample.counts.sum(axis=1)[:, None])


def curve_of_votes(
    counts: Ints, votes: Sequence[int], failed: npt.NDArray[np.bool_], correct: npt.NDArray[np.bool_]
) -> RejectionCurve:
    """Each resample's curve of votes: arrays [resamples, points].

    Args:
        counts: [resamples, instances], how often a resample holds each instance of `failed` and `correct`.
        votes, failed, correct: as `reject_by_vote` takes them.
    """
    kept, right = (counts @ truths.T.astype(np.int64) for truths in (~failed, correct))
    return RejectionCurve.of(np.asarray(votes, dtype=np.float64), kept, right, counts.sum(axis=1)[:, None])


def accuracy_at_coverage(sample: Sample, coverage: npt.ArrayLike) -> Floats:
    """Accuracy of the most confident share of each resample, on one grid for all: for bands around a curve by rank.

    Where a share cuts through a tie, or through an instance, the accuracy is expected with the rest of the share drawn
    from the tie at random; where it does not, it is that of `reject_by_rank` of the resample.

    Args:
        sample: resamples of instances.
        coverage: [points], shares kept, in (0, 1].
    Returns:
        [resamples, points], in [0, 1]; NaN for an empty resample.
    Raises:
        ValueError: not one-dimensional, NaN, or a share out of range.

    >>> sample = sort_instances([0.9, 0.6, 0.6, 0.3], [True, False, True, False]).sample()
    >>> accuracy_at_coverage(sample, [0.25, 0.5, 0.75, 1.0]).round(3).tolist()
    [[1.0, 0.75, 0.667, 0.5]]
    """
    shares = check_confidence(coverage, name="coverage")
    if (shares == 0).any():
        raise ValueError(f"coverage must lie in (0, 1]; got 0.0 at place {int(np.argmin(shares))}")
    starts = tied_starts(sample.confidence)
    kept, correct = (
        _running(np.add.reduceat(counts, starts, axis=1)) for counts in (sample.counts, sample.counts * sample.correct)
    )
    # One line over all resamples laid end to end. Within each, numbers of correct ones are linear in numbers kept.
    begins = np.arange(len(kept))[:, None] * (kept.max(initial=0) + 1)
    sizes = shares * kept[:, -1:]
    expected = np.interp((begins + sizes).ravel(), (begins + kept).ravel(), correct.ravel()).reshape(sizes.shape)
    with np.errstate(invalid="ignore"):
        accuracy: Floats = np.clip(expected / sizes, 0, 1)  # rounding can leave it above 1
    return accuracy


def _running(counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Running sums from the last column to the first, after a column of zeros: [resamples, columns + 1]."""
    zeros = np.zeros((len(counts), 1), dtype=np.int64)
    return np.concatenate([zeros, np.cumsum(counts[:, ::-1], axis=1)], axis=1)


def _truths(name: str, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """[votes, instances] as booleans."""
    array = np.asarray(values)
    if array.ndim != 2 or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must be true or false (1 or 0), [votes, instances]; got {values!r}")
    return array.astype(np.bool_)


@dataclass(frozen=True, slots=True)
class AccuracyBand:
    """The points of a curve with the ends of their 95 % intervals; NaN where undefined or without resamples."""

    accuracy: Floats  # [points]
    low: Floats  # [points]
    high: Floats  # [points]
    band_low: Floats  # [points], of the band that holds for all points at once, `simultaneous_band`
    band_high: Floats  # [points]


class AccuracyCurve(Protocol):
    """What gives the accuracies of resamples."""

    def __call__(self, counts: Ints) -> Floats:
        """From counts [resamples, instances], in the caller's order, to accuracies [resamples, points]."""

    def trials(self, clusters: Clusters | None) -> Ints:
        """How many independent instances, or clusters of them, are kept at each point: [points]."""


def _trials(kept: npt.NDArray[np.bool_], clusters: Clusters | None) -> Ints:
    """[points], of those kept at each, [points, instances]."""
    if clusters is None or clusters.fixed:
        number: Ints = kept.sum(axis=1)
        return number
    return np.array([len(np.unique(clusters.of[inside])) for inside in kept], np.int64)


@dataclass(frozen=True, slots=True)
class AtThresholds:
    """The curve of `reject_by_threshold`."""

    instances: SortedInstances
    thresholds: Floats  # [points]

    def __call__(self, counts: Ints) -> Floats:
        """Accuracy of resamples with these counts [resamples, instances]: [resamples, points]."""
        return curve_of_thresholds(self.instances.resampled(counts), self.thresholds).accuracy

    def trials(self, clusters: Clusters | None) -> Ints:
        """See `AccuracyCurve`."""
        return _trials(_kept(self.instances, self.thresholds), clusters)


@dataclass(frozen=True, slots=True)
class AtCoverage:
    """The curve of `accuracy_at_coverage`."""

    instances: SortedInstances
    coverage: Floats  # [points], shares kept, in (0, 1]

    def __call__(self, counts: Ints) -> Floats:
        """Accuracy of resamples with these counts [resamples, instances]: [resamples, points]."""
        return accuracy_at_coverage(self.instances.resampled(counts), self.coverage)

    def trials(self, clusters: Clusters | None) -> Ints:
        """See `AccuracyCurve`. No more than the share has instances, and one at least: it may cut through a tie."""
        number = len(self.instances.confidence)
        if not number:
            return np.zeros(len(self.coverage), np.int64)
        sizes = np.maximum(np.floor(self.coverage * number + ROUNDING).astype(np.int64), 1)
        return np.minimum(sizes, _trials(_kept(self.instances, self.instances.confidence[-sizes]), clusters))


@dataclass(frozen=True, slots=True)
class AtVotes:
    """The curve of `reject_by_vote`."""

    votes: Sequence[int]  # [points]
    failed: npt.NDArray[np.bool_]  # [points, instances]
    correct: npt.NDArray[np.bool_]  # [points, instances]

    def __call__(self, counts: Ints) -> Floats:
        """Accuracy of resamples with these counts [resamples, instances]: [resamples, points]."""
        return curve_of_votes(counts, self.votes, self.failed, self.correct).accuracy

    def trials(self, clusters: Clusters | None) -> Ints:
        """See `AccuracyCurve`."""
        return _trials(~self.failed, clusters)


def _kept(instances: SortedInstances, thresholds: Floats) -> npt.NDArray[np.bool_]:
    """[points, instances in the caller's order], those of at least the point's confidence."""
    kept = np.empty((len(thresholds), len(instances.order)), np.bool_)
    kept[:, instances.order] = instances.confidence >= thresholds[:, None]
    return kept


def accuracy_bands(
    curves: Mapping[str, AccuracyCurve],
    n_instances: int,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[str, AccuracyBand]:
    """Each curve's points with their 95 % percentile bootstrap intervals.

    The intervals hold point by point; the band beside them holds for all points at once. Where all that is kept is
    right, or all wrong, resamples agree: such a point has the exact interval of Clopper and Pearson 1934 over what is
    kept, and in the band that of Sidak's level for as many points.

    Args:
        curves: by name, of the same instances each.
        n_instances: their number.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, which are drawn complete; None draws single instances.
    Returns:
        A band by name. Resamples in which nothing is kept at a point are left out of its interval. Interval NaN where
        the accuracy is, no resamples are asked for, or there are fewer than ten clusters.
    Raises:
        ValueError: clusters that do not fit the instances.

    >>> from calprobe.metrics.sample import sort_instances
    >>> instances = sort_instances([0.9, 0.8, 0.3, 0.6], [True, True, False, False])
    >>> band = accuracy_bands({"": AtThresholds(instances, np.array([0.0, 0.7, 1.0]))}, 4)[""]
    >>> band.accuracy.tolist(), band.low.round(3).tolist(), band.high.tolist()
    ([0.5, 1.0, nan], [0.0, 0.158, nan], [1.0, 1.0, nan])
    """
    groups = check_clusters(clusters, n_instances)
    complete = np.ones((1, n_instances), dtype=np.int64)
    values = {name: curve(complete)[0] for name, curve in curves.items()}

    def of_block(block: Block) -> list[Floats]:
        return [curve(block.counts) for curve in curves.values()]

    drawn = of_blocks(of_block, n_instances, resampling, groups)
    bands = {}
    for place, (name, accuracy) in enumerate(values.items()):
        resampled = np.concatenate([np.empty((0, len(accuracy))), *(block[place] for block in drawn)])
        ends, band = _ends(accuracy, resampled), simultaneous_band(accuracy, resampled)
        exact = _agreeing(accuracy, resampled)
        if exact.any():
            trials = curves[name].trials(groups)[exact]
            levels = LEVEL, LEVEL ** (1 / len(accuracy))
            for (low, high), level in zip((ends, band), levels, strict=True):
                low[exact], high[exact] = without_spread(accuracy[exact], trials, level)
        bands[name] = AccuracyBand(accuracy, *ends, *band)
    return bands


def _agreeing(accuracy: Floats, resampled: Floats) -> npt.NDArray[np.bool_]:
    """[points], whether all resamples, of which there are two at least, agree on an accuracy of 0 or 1."""
    if len(resampled) < 2:
        return np.zeros(len(accuracy), np.bool_)
    known = ~np.isnan(resampled)
    same = np.where(known, np.abs(resampled - accuracy), 0).max(axis=0, initial=0) < SAME
    certain = np.minimum(accuracy, 1 - accuracy) < SAME
    agreeing: npt.NDArray[np.bool_] = same & certain & (known.sum(axis=0) > 1)
    return agreeing


def _ends(accuracy: Floats, resampled: Floats) -> tuple[Floats, Floats]:
    """The ends of the middle 95 % of each column of [resamples, points]."""
    if not resampled.size:  # no resamples, or no points
        return np.full(len(accuracy), np.nan), np.full(len(accuracy), np.nan)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.where(np.isnan(accuracy), np.nan, low), np.where(np.isnan(accuracy), np.nan, high)
