"""Means over groups that count alike, whatever their size, with the interval of the mean."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask
from calprobe.cells.cell import Cell
from calprobe.measures.meaningful import meaningful
from calprobe.metrics import Estimate, Metric, ReferenceMetric, Resampling
from calprobe.metrics.bootstrap import bootstrap_many, draw_samples, draw_share
from calprobe.metrics.intervals import Draws, interval, mean_beyond, reference
from calprobe.metrics.metric import is_resampled
from calprobe.metrics.smooth_ece import SMOOTH_ECE


def macro_estimates(
    cells: Sequence[Cell], metrics: Sequence[Metric], resampling: Resampling
) -> dict[str, dict[str, Estimate]]:
    """By estimator, each metric's mean over cells with its 95 % interval, see `mean_of_draws`.

    An estimator, and a metric, is the mean over the cells that it is defined in. Smooth ECE has no interval.
    """
    names = dict.fromkeys(name for cell in cells for name in cell.estimators)
    return {name: _of_estimator(cells, name, metrics, resampling) for name in names}


def macro_mean(
    values: Iterable[tuple[npt.NDArray[Any], Cell]], kept: Iterable[Mask], resampling: Resampling
) -> Estimate:
    """The mean over cells of the mean of a quantity in [0, 1] over the units kept, likewise."""
    draws = [
        draw_share(of_cell[mask].astype(np.float64), _own(resampling, place), cell.units.clusters_of(mask))
        for place, ((of_cell, cell), mask) in enumerate(zip(values, kept, strict=True))
        if mask.any()
    ]
    return interval(mean_of_draws(draws))


def mean_of_draws(several: Sequence[Draws]) -> Draws:
    """The mean of one metric over groups whose draws are independent of one another.

    A group in which the metric is undefined is left out, and so are its undefined resamples. Without draws of some
    group, there are none of the mean.

    >>> mean_of_draws([Draws(0.5, np.array([0.25, 0.75])), Draws(1.0, np.array([1.0, 0.5]))]).resampled.tolist()
    [0.625, 0.625]
    """
    of_groups = [draws for draws in several if not np.isnan(draws.value)]
    if not of_groups:
        return Draws(float("nan"), np.empty(0))
    value = float(np.mean([draws.value for draws in of_groups]))
    if not all(len(draws.resampled) for draws in of_groups):
        return Draws(value, np.empty(0))
    by_chance = [draws.by_chance for draws in of_groups if draws.by_chance is not None]
    return Draws(
        value,
        _mean([draws.resampled for draws in of_groups]),
        _mean(by_chance) if len(by_chance) == len(of_groups) else None,
        beyond=mean_beyond(of_groups),
    )


def _mean(several: Sequence[Floats]) -> Floats:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        means: Floats = np.nanmean(np.stack(several), axis=0)
    return means


def _of_estimator(
    cells: Sequence[Cell], name: str, metrics: Sequence[Metric], resampling: Resampling
) -> dict[str, Estimate]:
    having = [cell for cell in cells if name in cell.estimators]
    applicable = meaningful(metrics, having[0].estimators[name])
    draws: dict[str, list[Draws]] = {}
    for place, cell in enumerate(having):
        for metric, of_cell in _draws(cell, name, applicable, _own(resampling, place)).items():
            draws.setdefault(metric, []).append(of_cell)
    means = {metric: mean_of_draws(of_groups) for metric, of_groups in draws.items()}
    return {
        metric.name: reference(means.get(metric.of), metric)
        if isinstance(metric, ReferenceMetric)
        else interval(means[metric.name], metric)
        for metric in applicable
    }


def _draws(cell: Cell, name: str, metrics: Sequence[Metric], resampling: Resampling) -> Mapping[str, Draws]:
    read = cell.confidences[name].read
    if not read.any():
        return {metric.name: Draws(float("nan"), np.empty(0)) for metric in metrics}
    sample = {name: cell.sample(name, read)}
    drawn = [metric for metric in metrics if is_resampled(metric) and metric.name != SMOOTH_ECE.name]
    fixed = [metric for metric in metrics if metric not in drawn and not isinstance(metric, ReferenceMetric)]
    values = bootstrap_many(fixed, sample, Resampling(0))[name]
    plain = {metric: Draws(estimate.value, np.empty(0)) for metric, estimate in values.items()}
    return {**draw_samples(drawn, sample, resampling, cell.units.clusters_of(read))[name], **plain}


def _own(resampling: Resampling, place: int) -> Resampling:
    """Draws of a group are independent of those of the others, which the same seed would not make them."""
    return replace(resampling, seed=int(np.random.SeedSequence([resampling.seed, place]).generate_state(1)[0]))
