"""Means of quantities that some instances lack, and means over several sets of instances: values with their draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_numbers
from calprobe.metrics.intervals import Draws, mean_beyond
from calprobe.metrics.resamples import Block, ClusterLabels, Resampling, check_clusters, of_blocks

NOTHING = Draws(float("nan"), np.empty(0))


def known_mean(
    values: npt.ArrayLike, resampling: Resampling = Resampling(), clusters: ClusterLabels | None = None
) -> Draws:
    """The mean over quantities of each one's mean over the instances that have it, on the resamples of `bootstrap`.

    Resamples draw from all instances, so that quantities which different instances lack stay paired.

    Args:
        values: [quantities, instances]; NaN where an instance lacks the quantity.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Returns:
        The value and its draws; NaN where no instance has one of the quantities, or there is no quantity.
    Raises:
        ValueError: not two-dimensional, or infinite.

    >>> known_mean([[0.0, 1.0, float("nan")], [0.5, 0.5, 0.8]]).value
    0.55
    """
    numbers = check_numbers("values", values)
    if numbers.ndim != 2 or np.isinf(numbers).any():
        raise ValueError(f"values must be finite or NaN, in two dimensions; got shape {numbers.shape}")
    if not numbers.size:
        return NOTHING
    known = ~np.isnan(numbers)
    filled, weights = np.where(known, numbers, 0.0), known.astype(np.float64)

    def of_counts(counts: Floats | Ints) -> Floats:
        sums = (counts[:, None, :] * filled).sum(axis=2)
        sizes = (counts[:, None, :] * weights).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            means: Floats = (sums / sizes).mean(axis=1)
        return means

    def of_block(block: Block) -> Floats:
        return of_counts(block.counts)

    drawn = of_blocks(of_block, numbers.shape[1], resampling, check_clusters(clusters, numbers.shape[1]))
    value = float(of_counts(np.ones((1, numbers.shape[1])))[0])
    return Draws(value, np.concatenate(drawn) if drawn else np.empty(0))


def mean_over_sets(several: Sequence[Draws], seed: int = 0) -> Draws:
    """The plain mean of a statistic over sets of instances that were drawn independently (a macro mean).

    Draws of two sets that have one seed go together by accident alone; each set's are put in a random order of its own.

    Args:
        several: [sets], of one metric and equally many resamples.
        seed: of these orders.
    Returns:
        The mean with its draws; without draws where a set has none. NaN where a set's value is.

    >>> mean_over_sets([Draws(0.2, np.array([0.2])), Draws(0.4, np.array([0.4]))]).value.__round__(3)
    0.3
    """
    if not several:
        return NOTHING
    value = float(np.mean([draws.value for draws in several]))
    if any(len(draws.resampled) != len(several[0].resampled) for draws in several):
        return Draws(value, np.empty(0))
    rng = np.random.default_rng([seed, 3])
    orders = [rng.permutation(len(draws.resampled)) for draws in several]
    resampled = np.mean([draws.resampled[order] for draws, order in zip(several, orders, strict=True)], axis=0)
    by_chance = [draws.by_chance for draws in several if draws.by_chance is not None]
    beyond = mean_beyond(several)
    if len(by_chance) < len(several):
        return Draws(value, resampled, beyond=beyond)
    reordered = [draws[rng.permutation(len(draws))] for draws in by_chance]
    return Draws(value, resampled, np.mean(reordered, axis=0), beyond=beyond)
