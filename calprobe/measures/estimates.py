"""Numbers of a cell: the metrics of its estimators, each over the units that it has a confidence of, and means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Mask
from calprobe.cells.cell import Cell, Labels
from calprobe.measures.meaningful import meaningful
from calprobe.metrics import Estimate, Metric, Resampling, bootstrap_many, bootstrap_mean
from calprobe.metrics.error_shown import has_few_values
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.smooth_ece import SMOOTH_ECE


def estimates_of(
    cell: Cell,
    metrics: Sequence[Metric],
    resampling: Resampling,
    estimators: Iterable[str] | None = None,
    kept: Mask | None = None,
    *,
    smooth: bool = True,
) -> dict[str, dict[str, Estimate]]:
    """By estimator, the metrics that have a meaning for it, in their order; the same units see the same resamples.

    Args:
        cell: with the clusters that resamples go by.
        metrics: that are wanted.
        resampling: how many resamples.
        estimators: of these alone; None: of all.
        kept: over these units alone, as far as there are confidences; None: over all.
        smooth: whether smooth ECE has an interval, too. To resample it takes most of the time of a report.
    """
    names = list(cell.estimators if estimators is None else estimators)
    alike: dict[tuple[bytes, tuple[Metric, ...]], list[str]] = {}
    for name in names:
        read = _units(cell, name, kept)
        alike.setdefault((read.tobytes(), meaningful(metrics, cell.estimators[name])), []).append(name)
    values: dict[str, dict[str, Estimate]] = {}
    for (_, applicable), group in alike.items():
        read = _units(cell, group[0], kept)
        samples = {name: cell.sample(name, read) for name in group}
        drawn = [metric for metric in applicable if smooth or metric.name != SMOOTH_ECE.name]
        plain = bootstrap_many([SMOOTH_ECE], samples, Resampling(0)) if len(drawn) < len(applicable) else {}
        estimates = bootstrap_many(drawn, samples, resampling, cell.units.clusters_of(read))
        values |= {
            name: {metric.name: (estimates[name] | plain.get(name, {}))[metric.name] for metric in applicable}
            for name in group
        }
    return {name: values[name] for name in names}


def _units(cell: Cell, estimator: str, kept: Mask | None) -> Mask:
    read = cell.confidences[estimator].read
    return read if kept is None else read & kept


def mean_estimate(
    values: npt.NDArray[Any], kept: Mask | None, resampling: Resampling, clusters: Labels | None
) -> Estimate:
    """The mean of a quantity in [0, 1] over the units kept (None: all), with its interval; NaN without any."""
    if kept is not None:
        values, clusters = values[kept], None if clusters is None else clusters[kept]
    return bootstrap_mean(values.astype(np.float64), resampling, clusters) if len(values) else UNDEFINED


def few_values_of(cell: Cell, estimator: str, ace_bins: int | None) -> bool:
    """Whether the confidences of an estimator have fewer different values than ACE has bins; no uncertainty has."""
    if cell.estimators[estimator].scale != "probability":
        return False
    confidence = cell.confidences[estimator]
    return has_few_values(confidence.confidence[confidence.read], ace_bins)
