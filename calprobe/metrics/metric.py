"""A metric as data: name, meaning, and how to compute it for many resamples at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from calprobe.arrays import Floats
from calprobe.metrics.bins import Binning, Bins, bin_sample
from calprobe.metrics.ranks import Ranks, rank_sample
from calprobe.metrics.sample import Sample


@dataclass(frozen=True, slots=True)
class Metric:
    """What a table or a file says of a metric. `better` is the direction that one wishes for; None: neither."""

    name: str  # the key in `report --json`
    title: str  # the head of a table's column
    definition: str  # one line
    better: Literal["smaller", "larger"] | None
    biased: bool = field(default=False, kw_only=True)  # never negative, and biased upwards on a finite sample


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


def evaluate(metrics: Iterable[Metric], sample: Sample) -> dict[str, Floats]:
    """Each metric's values over the resamples, [resamples] by name. What several need, bins and ranks, is made once."""
    bins: dict[Binning, Bins] = {}
    ranks: Ranks | None = None
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
        elif isinstance(metric, SampleMetric):
            values[metric.name] = metric.compute(sample)
    return values
