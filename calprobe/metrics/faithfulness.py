"""Whether a model says how sure it is: a stated confidence beside how often its samples give the same answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_confidence
from calprobe.metrics.correlation import correlation
from calprobe.metrics.intervals import UNDEFINED, Estimate
from calprobe.metrics.means import bootstrap_of_means
from calprobe.metrics.resamples import ClusterLabels, Resampling

BINS = 10  # of equal width, Liu et al. 2025


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """How a stated confidence follows the frequency of the answer among samples."""

    JSON: ClassVar = "n=instances stated_minus_frequency=excess faithfulness=mean cmfg=conditional spearman=rho"

    instances: int
    excess: Estimate  # mean stated confidence minus mean frequency, in [-1, 1]; above 0: says more than it does
    mean: Estimate  # of 1 - |stated - frequency|, in [0, 1]; larger is more faithful
    conditional: Estimate  # cMFG: the mean of the means within bins of frequency, likewise
    rho: Estimate  # Spearman's of the two, in [-1, 1]


def faithfulness(
    stated: npt.ArrayLike,
    frequency: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> Faithfulness:
    """Faithfulness of stated confidences to samples, with bootstrap intervals.

    `F = 1 - |stated - frequency|` (Yona, Aharoni, Geva 2024), its mean, and cMFG, the mean over ten bins of frequency
    of equal width of the bin's mean of F, bins without instances left out (Liu et al. 2025, "MetaFaith"). Most answers
    of most models are frequent: a model that always states 1 has a high mean, and a cMFG of about .5. One that always
    states .5 has .75, so look at `rho` too.

    Args:
        stated: [instances], the confidence in words, in [0, 1].
        frequency: [instances], the share of the samples that give the same answer, in [0, 1].
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's question; None draws single instances.
    Returns:
        NaN without instances. Bins that a resample leaves empty are left out of it.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> found = faithfulness([1, 1, 1, 1], [1, 1, 1, 0.2])
    >>> round(found.mean.value, 3), round(found.conditional.value, 3), round(found.excess.value, 3)
    (0.8, 0.6, 0.2)
    """
    said, seen = check_confidence(stated, "stated"), check_confidence(frequency, "frequency")
    if len(said) != len(seen):
        raise ValueError(f"stated and frequency must be of one length; got {len(said)} and {len(seen)}")
    faithful = 1 - np.abs(said - seen)
    bins = np.minimum((seen * BINS).astype(np.int64), BINS - 1)
    of_bin = (bins[None, :] == np.arange(BINS)[:, None]).astype(np.float64)
    if not len(said):
        return Faithfulness(0, *[UNDEFINED] * 4)
    excess = bootstrap_of_means(np.stack([said, seen]), lambda means: means[:, 0] - means[:, 1], resampling, clusters)
    mean = bootstrap_of_means(faithful[None, :], lambda means: means[:, 0], resampling, clusters)
    binned = bootstrap_of_means(np.concatenate([of_bin, of_bin * faithful]), _mean_of_bins, resampling, clusters)
    return Faithfulness(len(said), excess, mean, binned, correlation(said, seen, resampling, clusters).of_ranks)


def _mean_of_bins(means: Floats) -> Floats:
    """From the shares of the bins and their sums of F, both by instance, [resamples, 2 * bins]: [resamples]."""
    shares, sums = means[:, :BINS], means[:, BINS:]
    of_bins = np.divide(sums, shares, out=np.zeros_like(sums), where=shares > 0)
    averages: Floats = of_bins.sum(axis=1) / (shares > 0).sum(axis=1)
    return averages
