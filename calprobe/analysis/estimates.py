"""The metrics of a cell's estimators, each over the units that it has a confidence of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calprobe.analysis.meaningful import meaningful
from calprobe.cells.cell import Cell
from calprobe.confidence.types import Mask
from calprobe.metrics import Estimate, Metric, Resampling, bootstrap_many
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
    for (_, shown), own in alike.items():
        read = _units(cell, own[0], kept)
        samples = {name: cell.sample(name, read) for name in own}
        drawn = [metric for metric in shown if smooth or metric.name != SMOOTH_ECE.name]
        plain = bootstrap_many([SMOOTH_ECE], samples, Resampling(0)) if len(drawn) < len(shown) else {}
        found = bootstrap_many(drawn, samples, resampling, cell.units.clusters_of(read))
        values |= {
            name: {metric.name: (found[name] | plain.get(name, {}))[metric.name] for metric in shown} for name in own
        }
    return {name: values[name] for name in names}


def _units(cell: Cell, estimator: str, kept: Mask | None) -> Mask:
    read = cell.confidences[estimator].read
    return read if kept is None else read & kept
