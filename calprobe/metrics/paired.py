"""Differences between estimators, or models, on the same instances: both see the same resamples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from calprobe.metrics.bootstrap import Draws, Excess, Predictions, draw_samples, percentiles
from calprobe.metrics.metric import Metric
from calprobe.metrics.resamples import ClusterLabels, Resampling

Pair = tuple[str, str]

ROUNDING = 1e-12  # metrics of two samples that are equal on paper may differ by what their sums were rounded by


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric of the first of a pair less that of the second. NaN where undefined or where no resampling was asked."""

    value: float
    low: float = float("nan")  # 95 % interval
    high: float = float("nan")
    p_value: float = float("nan")  # two-sided, of no difference; in (0, 1]


def paired_differences(
    metrics: Iterable[Metric],
    samples: Mapping[str, Predictions],
    pairs: Iterable[Pair],
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[Pair, dict[str, Difference]]:
    """Differences of the metrics between pairs of samples of the same instances, with intervals and p-values.

    `d* = m(first*) - m(second*)` on the same resample of both: what makes an instance hard for both falls out. The
    interval is the middle 95 % of the d*, and with r resamples

        p = min(1, 2 (1 + min(#{d* <= 0}, #{d* >= 0})) / (1 + r))

    so that p is below 0.05 about where the interval leaves out 0; the least possible p is 2 / (1 + r).

    An error that cannot be negative (`Metric.biased`) is too large by chance, and the biases cancel in a difference
    only where both are equally noisy and equally far from 0. The d* are first shifted by the bias of resampling, their
    mean minus the difference. Then the lower end goes down by what may be in the first value, as in its own interval
    (`bootstrap`): its bias, or all of it where perfect calibration could have given it by chance; the upper end goes up
    by what may be in the second. Both stay within the largest difference that there can be. p counts the d* shifted
    likewise. Two errors of the size of the noise are thus hardly ever found to differ; docs/methods.md has the
    coverages. For many pairs or metrics, correct the p-values: `holm`.

    Args:
        metrics: from `standard_metrics`.
        samples: by name, (confidence [instances], correct [instances]) with instances in one order.
        pairs: (first, second), names of samples.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, which are drawn whole; None draws single instances.
    Returns:
        By pair, a difference by metric name. Resamples in which either is undefined are left out. A sample and itself
        differ by 0 with p 1. With fewer than ten clusters there is neither interval nor p.
    Raises:
        ValueError: as `bootstrap_many`, such as for different numbers of instances, and for a pair of unknown name.

    >>> from calprobe.metrics import standard_metrics
    >>> samples = {"sure": ([0.9, 0.8, 0.9], [True, False, False]), "unsure": ([0.5, 0.5, 0.4], [True, False, False])}
    >>> found = paired_differences(standard_metrics(), samples, [("sure", "unsure")])["sure", "unsure"]
    >>> found["accuracy"]
    Difference(value=0.0, low=0.0, high=0.0, p_value=1.0)
    >>> round(found["brier"].value, 3)
    0.267
    """
    wanted = list(pairs)
    if unknown := next((name for pair in wanted for name in pair if name not in samples), None):
        raise ValueError(f"pairs must name samples, {', '.join(map(repr, samples))}; got {unknown!r}")
    named = {name: samples[name] for pair in wanted for name in pair}
    chosen = tuple(metrics)
    drawn = draw_samples(chosen, named, resampling, clusters) if named else {}
    return {
        (first, second): {
            metric.name: _difference(drawn[first][metric.name], drawn[second][metric.name], metric.bounds)
            for metric in chosen
        }
        for first, second in wanted
    }


def _difference(first: Draws, second: Draws, bounds: tuple[float, float]) -> Difference:
    value = first.value - second.value
    resampled = first.resampled - second.resampled
    both = ~np.isnan(resampled)
    if np.isnan(value) or not both.any():
        return Difference(value)
    values = resampled[both]
    low_shift, high_shift = _shifts(first, second, float(values.mean()) - value)
    low, high = percentiles(values)
    if first.by_chance is not None:
        most = bounds[1] - bounds[0]
        low, high = max(-most, min(low - low_shift, value)), min(most, max(high - high_shift, value))
    at_most_0, at_least_0 = np.sum(values - low_shift <= ROUNDING), np.sum(values - high_shift >= -ROUNDING)
    p_value = min(1.0, 2 * (1 + int(min(at_most_0, at_least_0))) / (1 + len(values)))
    return Difference(value, low, high, p_value)


def _shifts(first: Draws, second: Draws, bias: float) -> tuple[float, float]:
    """How far the lower and the upper end of a biased metric's interval are shifted down; 0 for any other metric."""
    if first.by_chance is None:
        return 0.0, 0.0
    return bias + Excess.of(first).own, bias - Excess.of(second).own
