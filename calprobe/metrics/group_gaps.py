"""How far confidence is from accuracy in each group of instances, in all groups at once, and what bins hide of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.bins import Binning, bin_sample
from calprobe.metrics.calibration import debiased_ece
from calprobe.metrics.intervals import LEVEL, Estimate
from calprobe.metrics.resamples import Block, ClusterLabels, Resampling, check_clusters, of_blocks
from calprobe.metrics.sample import sort_instances
from calprobe.metrics.statistics import max_t

LEAST_OF_GROUP = 30  # with fewer instances a group has no interval: its spread says too little
BINS = 10  # of the grouping loss


@dataclass(frozen=True, slots=True)
class GroupGap:
    """Calibration of one group."""

    name: str
    instances: int
    accuracy: float
    gap: Estimate  # mean confidence minus accuracy; the intervals of all groups hold at once
    p_value: float  # of no gap, adjusted for the number of groups; NaN where there is no interval
    debiased_ece: float  # of the group's own bins, in [0, 1]


@dataclass(frozen=True, slots=True)
class GroupGaps:
    """Calibration of all groups."""

    groups: tuple[GroupGap, ...]  # in the order of their sorted labels
    p_value: float  # that no group has a gap; NaN without intervals

    @property
    def largest(self) -> GroupGap | None:
        """The group with the largest gap in either direction, of those that have an interval; None without any."""
        tested = [group for group in self.groups if not np.isnan(group.gap.low)]
        return max(tested, key=lambda group: abs(group.gap.value), default=None)


def group_gaps(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    groups: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> GroupGaps:
    """Mean confidence minus accuracy of each group, with intervals meant to hold for all groups at once, at 95 %.

    An interval is `gap +- q se`, with the bootstrap's standard error of the group and the 95 % quantile q of the
    largest `|gap* - gap| / se` over the groups of a resample. P-values are those of the step-down max T. A group under
    30 instances, or one whose instances are all equally far off, has neither. Source: Montiel Olea and Plagborg-Møller
    2019, section 3; Westfall and Young 1993. Eight groups of 75 are all held in 92 percent of simulated samples, and p
    is below 0.05 in 7 percent of those without gaps (`bench/levels_and_power.py groups`).

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], 0 or 1.
        groups: [instances], the name of each one's group.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances. Fewer than ten give no
            intervals.
    Returns:
        Gaps in [-1, 1], positive where the model is too sure; no group without instances.
    Raises:
        ValueError: arrays that do not fit, or values out of range.

    >>> found = group_gaps([0.9, 0.9, 0.5, 0.5], [1, 0, 1, 0], ["a", "a", "b", "b"], Resampling(0))
    >>> [(group.name, round(group.gap.value, 3)) for group in found.groups]
    [('a', 0.4), ('b', 0.0)]
    """
    values, right, names, of = _checked(confidence, correct, groups)
    sizes = np.bincount(of, minlength=len(names))
    gap = values - right
    means = np.bincount(of, gap, len(names)) / np.maximum(sizes, 1)
    resampled = _resampled(gap, of, len(names), resampling, clusters)
    low, high, p_values = _at_once(means, resampled, sizes)
    found = tuple(
        GroupGap(
            str(name),
            int(sizes[at]),
            float(right[of == at].mean()),
            Estimate(float(means[at]), float(low[at]), float(high[at])),
            float(p_values[at]),
            debiased_ece(values[of == at], right[of == at]).value,
        )
        for at, name in enumerate(names)
    )
    tested = p_values[~np.isnan(p_values)]
    return GroupGaps(found, float(tested.min()) if len(tested) else float("nan"))


def grouping_loss(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, groups: npt.ArrayLike, n_bins: int = BINS
) -> float:
    """A lower bound of what a Brier score loses because instances of equal confidence differ in their chances.

    In each bin of equal width, the variance between groups of mean correctness minus confidence, less what sampling
    adds to it; bins and groups by their instances. Where all confidences of a bin are equal this is the variance of the
    groups' accuracies; elsewhere groups that differ in confidence alone add nothing. Groups with one instance in a bin
    are left out of it. Source: Perez-Lebel, Le Morvan and Varoquaux 2023, "Beyond calibration: estimating the grouping
    loss of modern neural networks", section 4, whose estimate compares accuracies and subtracts what bins induce.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], 0 or 1.
        groups: [instances], the name of each one's group.
        n_bins: bins of equal width.
    Returns:
        At most 0.25; its mean is the variance between groups, so it may lie below 0. NaN without two instances of a
        group in any bin.
    Raises:
        ValueError: arrays that do not fit, or values out of range.

    >>> round(grouping_loss([0.5] * 40, [1] * 18 + [0] * 2 + [1] * 2 + [0] * 18, ["a"] * 20 + ["b"] * 20), 4)
    0.1576
    """
    values, right, names, of = _checked(confidence, correct, groups)
    edges = bin_sample(sort_instances(values, right).sample(), Binning("width", n_bins)).edges[0]
    bins = np.searchsorted(edges[1:-1], values, side="left")
    cell = bins * max(len(names), 1) + of
    shape = (n_bins, len(names))
    count = np.bincount(cell, minlength=n_bins * len(names)).reshape(shape).astype(np.float64)
    off = right - values
    total, squares = (np.bincount(cell, power, n_bins * len(names)).reshape(shape) for power in (off, off**2))
    several = count > 1
    count = np.where(several, count, 0.0)
    if not count.any():
        return float("nan")
    mean = np.where(several, total / np.maximum(count, 1), 0.0)
    noise = np.where(several, (squares / np.maximum(count, 1) - mean**2) / np.maximum(count - 1, 1), 0.0)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    between = (
        (share * mean**2).sum(axis=1) - (share * mean).sum(axis=1) ** 2 - (share * (1 - share) * noise).sum(axis=1)
    )
    return float((count.sum(axis=1) * between).sum() / count.sum())


def _checked(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, groups: npt.ArrayLike
) -> tuple[Floats, Floats, npt.NDArray[np.str_], Ints]:
    """Confidences and correctness in the caller's order, the groups' names, and the group of each instance."""
    ordered = sort_instances(confidence, correct)
    labels = np.asarray(groups, np.str_)
    if labels.shape != ordered.order.shape:
        n_instances = len(ordered.order)
        raise ValueError(f"groups must have one label for each of {n_instances} instances; got shape {labels.shape}")
    back = np.argsort(ordered.order)
    names, of = np.unique(labels, return_inverse=True)
    return ordered.confidence[back], ordered.correct[back].astype(np.float64), names, of


def _resampled(gap: Floats, of: Ints, number: int, resampling: Resampling, clusters: ClusterLabels | None) -> Floats:
    """The groups' gaps in each resample, [resamples, groups]; NaN where a resample has nothing of a group."""

    def of_block(block: Block) -> Floats:
        means = np.full((len(block.counts), number), np.nan)
        for at in range(number):
            counts = block.counts[:, of == at]
            size = counts.sum(axis=1)
            np.divide((counts * gap[of == at]).sum(axis=1), size, out=means[:, at], where=size > 0)
        return means

    found = of_blocks(of_block, len(gap), resampling, check_clusters(clusters, len(gap)))
    return np.concatenate(found) if found else np.empty((0, number))


def _at_once(means: Floats, resampled: Floats, sizes: Ints) -> tuple[Floats, Floats, Floats]:
    """Lower and upper ends, and adjusted p-values, [groups] each; NaN where a group has none."""
    low, high, p_values = (np.full(len(means), np.nan) for _ in range(3))
    if len(resampled) < 2:
        return low, high, p_values
    enough = (sizes >= LEAST_OF_GROUP) & ((~np.isnan(resampled)).sum(axis=0) > 1)
    tested = np.flatnonzero(enough)
    error = np.nanstd(resampled[:, tested], axis=0, ddof=1)
    tested, error = tested[error > 1e-12], error[error > 1e-12]
    if not len(tested):
        return low, high, p_values
    null = np.nan_to_num(np.abs(resampled[:, tested] - means[tested]) / error)
    reach = float(np.quantile(null.max(axis=1), LEVEL)) * error
    low[tested], high[tested] = np.maximum(means[tested] - reach, -1), np.minimum(means[tested] + reach, 1)
    p_values[tested] = max_t(np.abs(means[tested]) / error, null.T)
    return low, high, p_values
