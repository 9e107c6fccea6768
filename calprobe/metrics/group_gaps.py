"""How far confidence is from accuracy in each group of instances, in all groups at once, and what bins hide of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_count
from calprobe.metrics.bins import inner_width_edges
from calprobe.metrics.calibration import debiased_ece
from calprobe.metrics.intervals import LEVEL, Estimate
from calprobe.metrics.resamples import (
    LEAST_CLUSTERS,
    Block,
    ClusterLabels,
    Clusters,
    Resampling,
    check_clusters,
    of_blocks,
)
from calprobe.metrics.sample import sort_instances
from calprobe.metrics.statistics import max_t

LEAST_OF_GROUP = 30  # with fewer instances a group has no interval: its spread says too little
LEAST_OF_KIND = 5  # right and wrong answers, found or expected by the confidence: fewer say too little of their spread
BINS = 10  # of the grouping loss
_SHARED = 4  # units' worth of the variance of all groups, in that of each


@dataclass(frozen=True, slots=True)
class GroupGap:
    """Calibration of one group."""

    name: str
    instances: int
    accuracy: float
    gap: Estimate  # mean confidence minus accuracy; the intervals of all groups hold at once
    p_value: float  # of no gap, adjusted for the number of groups; NaN where there is no interval
    debiased_ece: float  # of the group's own bins, in [0, 1]; NaN of a group of under 30: each bin has one or two


@dataclass(frozen=True, slots=True)
class GroupGaps:
    """Calibration of all groups."""

    groups: tuple[GroupGap, ...]
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
    """Mean confidence minus accuracy of each group, with intervals that hold for all groups at once, at 95 %.

    As `gaps_of`, of groups that have no instance in common.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], 0 or 1.
        groups: [instances], the name of each one's group.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances. Fewer than ten give no
            intervals.
    Returns:
        Gaps in [-1, 1], positive where the model is too sure; groups in the order of their sorted names.
    Raises:
        ValueError: arrays that do not fit, or values out of range.

    >>> found = group_gaps([0.9, 0.9, 0.5, 0.5], [1, 0, 1, 0], ["a", "a", "b", "b"], Resampling(0))
    >>> [(group.name, round(group.gap.value, 3)) for group in found.groups]
    [('a', 0.4), ('b', 0.0)]
    """
    values, right = _checked(confidence, correct)
    labels = _labels(groups, len(values))
    return gaps_of(values, right, {str(name): labels == name for name in np.unique(labels)}, resampling, clusters)


def gaps_of(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    kept: Mapping[str, npt.NDArray[np.bool_]],
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> GroupGaps:
    """Mean confidence minus accuracy of groups that may overlap, with intervals that hold for all of them at once.

    An interval is `gap +- q se`, where q is the 95 % quantile of the largest `|gap* - gap| / se*` over the groups of a
    resample. `se` is the standard error of a ratio of sums over units, which are clusters where there are any; its
    variance of a unit's sum is `(sum of squares + 4 v) / (n + 3)` of n units, v being that of all groups together:
    a resample without an error would have none else. P-values are those of the step-down max T. A group of under 30
    instances or ten clusters, one without five right and five wrong answers, found or expected, or one whose instances
    are all equally far off has neither. Sources: Montiel Olea and Plagborg-Møller 2019, section 3; Hall 1988, for
    errors of each resample's own; Smyth 2004, for the shared variance; Westfall and Young 1993. All of eight groups are
    held in 94.3 to 94.8 percent of simulated samples (docs/methods/intervals-and-tests.md).

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], 0 or 1.
        kept: by name of a group, [instances], whether each is in it.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances. Fewer than ten give no
            intervals.
    Returns:
        Gaps in [-1, 1], positive where the model is too sure; groups in the order given, but for those without
        instances.
    Raises:
        ValueError: arrays that do not fit, or values out of range.

    >>> found = gaps_of([0.9, 0.9], [1, 0], {"all": np.array([True, True])}, Resampling(0))
    >>> round(found.groups[0].gap.value, 3)
    0.4
    """
    values, right = _checked(confidence, correct)
    kept = {name: _of_group(name, mask, len(values)) for name, mask in kept.items()}
    kept = {name: mask for name, mask in kept.items() if mask.any()}
    checked = check_clusters(clusters, len(values))
    units = [_units(values - right, mask, checked) for mask in kept.values()]
    tested = [
        place
        for place, (mask, of_group) in enumerate(zip(kept.values(), units, strict=True))
        if mask.sum() >= LEAST_OF_GROUP
        and len(of_group.at) >= LEAST_CLUSTERS
        and of_group.squares > 1e-12
        and _least_of_kind(values[mask], right[mask]) >= LEAST_OF_KIND
    ]
    gaps = [float((values - right)[mask].mean()) for mask in kept.values()]
    ends = _at_once([units[place] for place in tested], len(values), resampling, checked)
    by_place = dict(zip(tested, zip(*ends, strict=True), strict=True))
    found = tuple(
        GroupGap(
            name,
            int(mask.sum()),
            float(right[mask].mean()),
            Estimate(gaps[place], *map(float, by_place.get(place, (np.nan,) * 3)[:2])),
            float(by_place.get(place, (np.nan,) * 3)[2]),
            debiased_ece(values[mask], right[mask]).value if mask.sum() >= LEAST_OF_GROUP else float("nan"),
        )
        for place, (name, mask) in enumerate(kept.items())
    )
    return GroupGaps(found, min((group.p_value for group in found if group.p_value <= 1), default=float("nan")))


def grouping_loss(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, groups: npt.ArrayLike, n_bins: int = BINS
) -> float:
    """About the least that a Brier score loses because instances of equal confidence differ in their chances.

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
        At most 0.25. Its mean is the variance between groups, a lower bound of the loss. Of one sample it lies above
        or below that, also below 0; where there is no loss, above 0 in half of the samples. NaN without two instances
        of a group in any bin.
    Raises:
        ValueError: arrays that do not fit, or values out of range.

    >>> round(grouping_loss([0.5] * 40, [1] * 18 + [0] * 2 + [1] * 2 + [0] * 18, ["a"] * 20 + ["b"] * 20), 4)
    0.1576
    """
    values, right = _checked(confidence, correct)
    names, of = np.unique(_labels(groups, len(values)), return_inverse=True)
    check_count("n_bins", n_bins, 1)
    bins = np.searchsorted(inner_width_edges(n_bins), values, side="left")
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


def _checked(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Confidences and correctness in the caller's order."""
    ordered = sort_instances(confidence, correct)
    back = np.argsort(ordered.order)
    return ordered.confidence[back], ordered.correct[back].astype(np.float64)


def _labels(groups: npt.ArrayLike, number: int) -> npt.NDArray[np.str_]:
    labels = np.asarray(groups, np.str_)
    if labels.shape != (number,):
        raise ValueError(f"groups must have one label for each of {number} instances; got shape {labels.shape}")
    return labels


def _of_group(name: str, mask: npt.NDArray[np.bool_], number: int) -> npt.NDArray[np.bool_]:
    mask = np.asarray(mask, np.bool_)
    if mask.shape != (number,):
        raise ValueError(f"kept[{name!r}] must say of each of {number} instances whether it is in; got {mask.shape}")
    return mask


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """What a group has of each unit that is drawn as one: a cluster, or an instance."""

    at: Ints  # [units], an instance of each: how often a resample has it is how often it has the unit
    size: Floats  # [units], instances
    total: Floats  # [units], sum of confidence minus correctness

    @property
    def gap(self) -> float:
        return float(self.total.sum() / self.size.sum())

    @property
    def squares(self) -> float:
        """Sum over units of the squared sum around the gap."""
        return float(((self.total - self.gap * self.size) ** 2).sum())


def _least_of_kind(confidence: Floats, correct: Floats) -> float:
    """The smaller one of the numbers of right and wrong answers, each as found or as expected, whichever is more."""
    return float(
        min(
            max(side.sum(), expected.sum()) for side, expected in ((correct, confidence), (1 - correct, 1 - confidence))
        )
    )


def _units(off: Floats, mask: npt.NDArray[np.bool_], clusters: Clusters | None) -> _Units:
    at = np.flatnonzero(mask)
    if clusters is None or clusters.fixed:  # within a cluster that all resamples keep, instances are drawn
        return _Units(at, np.ones(len(at)), off[at])
    _, first, of = np.unique(clusters.of[at], return_index=True, return_inverse=True)
    return _Units(at[first], _sums(of, np.ones(len(of))), _sums(of, off[at]))


def _sums(of: Ints, values: Floats) -> Floats:
    return np.bincount(of, values).astype(np.float64, copy=False)


def _at_once(
    units: Sequence[_Units], n_instances: int, resampling: Resampling, clusters: Clusters | None
) -> tuple[Floats, Floats, Floats]:
    """Lower and upper ends, and adjusted p-values, [groups] each; NaN without resamples."""
    drawn = resampling.intervals and resampling.n_resamples >= 2 and (clusters is None or clusters.enough)
    if not units or not drawn:
        none = np.full(len(units), np.nan)
        return none, none, none
    shared = sum(group.squares for group in units) / sum(len(group.at) for group in units)
    gaps = np.array([group.gap for group in units])
    errors = np.concatenate([_gap_and_error(group, np.ones((1, len(group.at))), shared)[1] for group in units])

    def of_block(block: Block) -> Floats:
        null = np.empty((len(block.counts), len(units)))
        for place, group in enumerate(units):
            gap, error = _gap_and_error(group, block.counts[:, group.at].astype(np.float64), shared)
            null[:, place] = np.abs(gap - gaps[place]) / error
        return null

    null = np.nan_to_num(np.concatenate(of_blocks(of_block, n_instances, resampling, clusters)))
    reach = float(np.quantile(null.max(axis=1), LEVEL)) * errors
    return np.maximum(gaps - reach, -1), np.minimum(gaps + reach, 1), max_t(np.abs(gaps) / errors, null.T)


def _gap_and_error(group: _Units, counts: Floats, shared: float) -> tuple[Floats, Floats]:
    """The gap and its standard error where units count so often, [resamples, units]; NaN of those without any."""
    size, total = group.size, group.total
    number = counts.sum(axis=1)
    n, sums, sums2, products, sizes2 = (counts @ np.stack([size, total, total**2, total * size, size**2], 1)).T
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = sums / n
        squares = np.maximum(sums2 - 2 * gap * products + gap**2 * sizes2, 0)
        variance = (squares + _SHARED * shared) / (number - 1 + _SHARED)
        return gap, np.sqrt(variance * number) / n
