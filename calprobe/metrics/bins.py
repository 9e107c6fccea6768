"""Confidence bins: the one place where bin edges are decided, for the numbers and for the plots drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_count
from calprobe.metrics.sample import Sample

Number = TypeVar("Number", np.float64, np.int64)
SAME = 1e-12  # confidences this close differ by rounding: 1 - 0.7 and 0.3, or 2/3 and its twelve decimals


@dataclass(frozen=True, slots=True)
class Binning:
    """How to bin: by quantiles of the confidences, or into parts of [0, 1] of equal width. ValueError under one bin."""

    scheme: Literal["quantile", "width"]
    n_bins: int | None  # None: by the number of instances, `bins_for`

    def __post_init__(self) -> None:
        if self.n_bins is not None:
            check_count("n_bins", self.n_bins, 1)


@dataclass(frozen=True, slots=True)
class Bins:
    """What fell into each bin. Bin `b` takes confidences in (edges[b], edges[b + 1]]; the outermost edges are open.

    While a metric is computed every array has a leading axis [resamples], of length 1 where all resamples have the
    same; the bins of a `MetricResult` have none.
    """

    edges: Floats  # [bins + 1], ascending; neighbours are equal where ties collapse quantile bins
    count: Ints  # [bins], instances; 0 for an empty bin
    confidence: Floats  # [bins], mean confidence; NaN for an empty bin
    accuracy: Floats  # [bins], share correct; NaN for an empty bin

    @property
    def gap(self) -> Floats:
        """|mean confidence - accuracy| of each bin, [bins]; 0 for an empty bin."""
        return np.where(self.count > 0, np.abs(self.confidence - self.accuracy), 0.0)

    def row(self, index: int) -> Bins:
        """The bins of one resample."""
        return Bins(self.edges[index], self.count[index], self.confidence[index], self.accuracy[index])


def bin_sample(sample: Sample, binning: Binning) -> Bins:
    """Bin each resample on edges of its own; arrays of the result have a leading axis [resamples].

    A value's bin is the number of inner edges below it, as in scikit-learn's `calibration_curve`: a value on an edge
    goes to the lower bin, 0 into the first and 1 into the last. Of bins of equal width, a value that rounding puts
    beyond an edge lies on it: else of three samples a share of 1/3 would go to the lower bin of fifteen, and of 2/3 to
    the upper one.
    """
    edges = _edges(sample, binning)
    inner = edges[:, 1:-1] if binning.scheme == "quantile" else inner_width_edges(edges.shape[1] - 1)[None]
    ends = np.searchsorted(sample.confidence, inner, side="right")
    starts = np.concatenate([np.zeros((len(edges), 1), dtype=ends.dtype), ends], axis=1)
    count = _segment_sums(sample.counts, starts)
    with np.errstate(invalid="ignore"):
        return Bins(
            edges,
            count,
            confidence=_segment_sums(sample.mass, starts) / count,
            accuracy=_segment_sums(sample.right, starts) / count,
        )


def bins_for(n_instances: int) -> int:
    """Quantile bins for that many instances: 25 in each, but no fewer than 4 bins and no more than the paper's 20.

    With fewer in a bin most of an error is chance; docs/methods/metrics.md has a simulation.

    >>> [bins_for(n) for n in (1, 60, 150, 320, 500, 7731)]
    [4, 4, 6, 12, 20, 20]
    """
    return min(20, max(4, n_instances // 25))


def width_edges(n_bins: int) -> Floats:
    """Edges [bins + 1] of equal parts of [0, 1]."""
    return np.linspace(0.0, 1.0, n_bins + 1)


def inner_width_edges(n_bins: int) -> Floats:
    """The edges [bins - 1] between equal parts of [0, 1] by which values are binned: with what rounding may add."""
    return width_edges(n_bins)[1:-1] + SAME


def _edges(sample: Sample, binning: Binning) -> Floats:
    """Edges [resamples, bins + 1], or [1, bins + 1] for all of them."""
    shares = width_edges(bins_for(sample.n_instances) if binning.n_bins is None else binning.n_bins)
    if binning.scheme == "width" or not len(sample.confidence):
        return shares[None]
    # scikit-learn goes through percent. The rounding on the way decides on which side of an edge a value falls that is
    # itself the edge, so its oracle holds only with the same detour.
    return _quantiles(sample, shares * 100 / 100)


def _quantiles(sample: Sample, shares: Floats) -> Floats:
    """`np.percentile` (method linear) of each resample, to the last bit, without writing the resamples out."""
    last = (sample.sizes - 1)[:, None]
    place = last * shares  # of the quantile in the sorted resample, between two whole places
    before = np.floor(place)
    share = place - before
    neighbours = np.concatenate([before, np.minimum(before + 1, last)], axis=1).astype(np.int64)
    lower, upper = np.split(_order_statistics(sample, neighbours), 2, axis=1)
    step = upper - lower
    # NumPy interpolates from the nearer neighbour.
    quantiles: Floats = np.where(share < 0.5, lower + step * share, upper - step * (1 - share))
    return quantiles


def _order_statistics(sample: Sample, places: Ints) -> Floats:
    """The values at these places [resamples, places], counted from 0, of each sorted resample."""
    n_resamples, n_instances = sample.counts.shape
    sizes = sample.sizes
    # The resamples are laid end to end, so that one search serves them all.
    at = np.searchsorted(sample.held, places + (np.cumsum(sizes) - sizes)[:, None], side="right")
    values: Floats = sample.confidence[at - np.arange(n_resamples)[:, None] * n_instances]
    return values


def _segment_sums(values: npt.NDArray[Number], starts: npt.NDArray[np.intp]) -> npt.NDArray[Number]:
    """Sums of `values` [resamples, instances] over neighbouring segments that begin at `starts`, [resamples, bins].

    `starts` are [resamples, bins], or [1, bins] for all resamples.
    """
    n_resamples, n_instances = values.shape
    filled = np.diff(starts, axis=1, append=n_instances) > 0
    sums = np.zeros((n_resamples, starts.shape[1]), dtype=values.dtype)
    # reduceat gives an empty segment its first value instead of 0, so it sees the filled ones only. It adds pairwise,
    # where differences of running sums would carry the rounding of all that went before.
    if len(starts) == 1:
        if filled.any():
            sums[:, filled[0]] = np.add.reduceat(values, starts[filled], axis=1)
        return sums
    begins = (starts + np.arange(n_resamples)[:, None] * n_instances)[filled]
    if len(begins):
        sums[filled] = np.add.reduceat(values.ravel(), begins)
    return sums
