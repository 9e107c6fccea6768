"""A metric as data: name, meaning, source, and how to compute it for many resamples at once; what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics.bins import Binning, Bins, bin_sample
from calprobe.metrics.isotonic import Isotonic, fit_isotonic
from calprobe.metrics.ranks import Ranks, rank_sample
from calprobe.metrics.resamples import Clusters
from calprobe.metrics.sample import Sample, SortedInstances

LEAST_DENSITY = 1e-6  # of a mean of 1: below it a smoothed curve is rounding


@dataclass(frozen=True, slots=True)
class Metric:
    """What a table or a file says of a metric. `better` is the direction that one wishes for; None: neither."""

    name: str  # the key in `report --json`
    title: str  # the head of a table's column
    definition: str  # one line
    better: Literal["smaller", "larger"] | None
    biased: bool = field(default=False, kw_only=True)  # never negative, and biased upwards on a finite sample
    overfit: bool = field(default=False, kw_only=True)  # biased upwards because something is fitted to the sample
    bounds: tuple[float, float] = field(default=(0.0, 1.0), kw_only=True)  # the least and the largest possible value
    proportion: bool = field(default=False, kw_only=True)  # a share of the instances: k of n
    less_accuracy: bool = field(default=False, kw_only=True)  # something from which the accuracy is taken away
    source: str = field(default="", kw_only=True)  # who defined it; empty for what needs no source
    printed: bool = field(default=False, kw_only=True)  # a column of tables for a page; files have every metric
    # Where there is no room for all columns, those of small numbers get it first; None: after all that have one.
    priority: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class SampleMetric(Metric):
    """A metric of the instances themselves."""

    compute: Callable[[Sample], Floats]  # -> [resamples]


@dataclass(frozen=True, slots=True)
class BinMetric(Metric):
    """A metric of bins; most are errors, which are `biased` as above."""

    binning: Binning
    compute: Callable[[Bins], Floats]  # bins with a leading axis [resamples] -> [resamples]
    biased: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, slots=True)
class SampleBinMetric(Metric):
    """A metric of the instances and of their bins."""

    binning: Binning
    compute: Callable[[Sample, Bins], Floats]  # bins with a leading axis [resamples] -> [resamples]


@dataclass(frozen=True, slots=True)
class RankMetric(Metric):
    """A metric of the order by confidence alone."""

    compute: Callable[[Ranks], Floats]  # -> [resamples]


@dataclass(frozen=True, slots=True)
class IsotonicMetric(Metric):
    """A metric of the instances and of their isotonic recalibration."""

    compute: Callable[[Sample, Isotonic], Floats]  # -> [resamples]


@dataclass(frozen=True, slots=True)
class ReferenceMetric(Metric):
    """What perfect calibration would show of a biased metric by chance; it is not resampled itself."""

    of: str  # name of the biased metric
    # From its value and its draws by chance [resamples], one at least: a value with the two ends of its interval, NaN
    # where it has none.
    compute: Callable[[float, Floats], tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class ClosedFormMetric(Metric):
    """A metric with an interval of its own, which is not resampled either."""

    compute: Callable[[SortedInstances, Clusters | None], tuple[float, float, float]]  # as that of `ReferenceMetric`


def is_resampled(metric: Metric) -> bool:
    """Whether its value on resamples is what its interval is made from."""
    return not isinstance(metric, ReferenceMetric | ClosedFormMetric)


def evaluate(metrics: Iterable[Metric], sample: Sample) -> dict[str, Floats]:
    """Each resampled metric's values, [resamples] by name. What several need, bins and the like, is made once."""
    bins: dict[Binning, Bins] = {}
    ranks: Ranks | None = None
    isotonic: Isotonic | None = None
    values = {}
    for metric in metrics:
        if isinstance(metric, BinMetric | SampleBinMetric) and metric.binning not in bins:
            bins[metric.binning] = bin_sample(sample, metric.binning)
        if isinstance(metric, BinMetric):
            values[metric.name] = metric.compute(bins[metric.binning])
        elif isinstance(metric, SampleBinMetric):
            values[metric.name] = metric.compute(sample, bins[metric.binning])
        elif isinstance(metric, RankMetric):
            ranks = ranks or rank_sample(sample)
            values[metric.name] = metric.compute(ranks)
        elif isinstance(metric, IsotonicMetric):
            isotonic = isotonic or fit_isotonic(sample)
            values[metric.name] = metric.compute(sample, isotonic)
        elif isinstance(metric, SampleMetric):
            values[metric.name] = metric.compute(sample)
    return values


@dataclass(frozen=True, slots=True)
class SmoothedGap:
    """What smooth ECE is made of, along confidence: with `density` of mean 1 its value is `mean(|residual|)`."""

    bandwidth: float  # standard deviation of the kernel, in units of confidence
    confidence: Floats  # [points], evenly from 0 to 1
    density: Floats  # [points], smoothed number of instances, of mean 1
    residual: Floats  # [points], smoothed sum of (correct - confidence), in units of `density`
    correct: Floats  # [points], smoothed number of correct instances, in units of `density`

    @property
    def accuracy(self) -> Floats:
        """Accuracy of the instances near each confidence, weighted by the kernel, `correct / density`: [points].

        Within [0, 1]; NaN where next to no instance is near.
        """
        near = self.density > LEAST_DENSITY
        share = np.divide(self.correct, self.density, out=np.full(np.shape(self.correct), np.nan), where=near)
        clipped: Floats = np.clip(share, 0.0, 1.0)  # transforms leave rounding, and numbers that are hardly below 0
        return clipped


@dataclass(frozen=True, slots=True)
class MetricResult:
    """A metric's value, NaN where it is undefined; `float(result)` gives it too."""

    value: float
    bins: Bins | None = None  # of binned metrics
    smoothed: SmoothedGap | None = None  # of smooth ECE

    def __float__(self) -> float:
        return self.value
