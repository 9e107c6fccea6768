"""Differences between estimators, or models, on the same instances: both see the same resamples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_vector, refuse
from calprobe.metrics.bootstrap import Predictions, draw_mean, draw_samples
from calprobe.metrics.intervals import Draws, Excess, Numbers, agree, percentiles
from calprobe.metrics.metric import Metric, is_resampled
from calprobe.metrics.resamples import ClusterLabels, Resampling

Pair = tuple[str, str]

ROUNDING = 1e-12  # metrics of two samples that are equal on paper may differ by what their sums were rounded by


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Numbers):
    """A metric of the first of a pair minus that of the second. NaN where undefined or without resampling."""

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
    likewise. Two errors of the size of the noise are thus hardly ever found to differ;
    docs/methods/intervals-and-tests.md has the coverages. For many pairs or metrics, correct the p-values: `holm`.

    Args:
        metrics: from `standard_metrics`.
        samples: by name, (confidence [instances], correct [instances]) with instances in one order.
        pairs: (first, second), names of samples.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, which are drawn complete; None draws single instances.
    Returns:
        By pair, a difference by metric name, of the metrics that are resampled. Resamples in which either is undefined
        are left out. Where all resamples agree there is a p, but no interval: a sample and itself differ by 0,
        with p 1. With fewer than ten instances or clusters there is neither, nor of a metric of the order with fewer
        than ten right or ten wrong answers on either side.
    Raises:
        ValueError: as `bootstrap_many`, such as for different numbers of instances, and for a pair of unknown name.

    >>> from calprobe.metrics import standard_metrics
    >>> right = [True, False, False] * 4
    >>> samples = {"sure": ([0.9, 0.8, 0.9] * 4, right), "unsure": ([0.5, 0.5, 0.4] * 4, right)}
    >>> found = paired_differences(standard_metrics(), samples, [("sure", "unsure")])["sure", "unsure"]
    >>> found["accuracy"]
    Difference(value=0.0, low=nan, high=nan, p_value=1.0)
    >>> round(found["brier"].value, 3)
    0.267
    """
    drawn = paired_draws(metrics, samples, pairs, resampling, clusters)
    return {pair: {name: draws.difference() for name, draws in by_metric.items()} for pair, by_metric in drawn.items()}


def paired_draws(
    metrics: Iterable[Metric],
    samples: Mapping[str, Predictions],
    pairs: Iterable[Pair],
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[Pair, dict[str, PairedDraws]]:
    """The draws of `paired_differences`, by pair and metric name, for what is asked of several differences together.

    Arguments and errors are those of `paired_differences`.

    >>> from calprobe.metrics import ACCURACY
    >>> samples = {"a": ([0.9, 0.8], [True, True]), "b": ([0.5, 0.6], [True, False])}
    >>> paired_draws([ACCURACY], samples, [("a", "b")])["a", "b"]["accuracy"].difference().value
    0.5
    """
    pair_list = list(pairs)
    if unknown := next((name for pair in pair_list for name in pair if name not in samples), None):
        raise ValueError(f"pairs must name samples, {', '.join(map(repr, samples))}; got {unknown!r}")
    named = {name: samples[name] for pair in pair_list for name in pair}
    chosen = tuple(metric for metric in metrics if is_resampled(metric))
    drawn = draw_samples(chosen, named, resampling, clusters) if named else {}
    return {
        (first, second): {
            metric.name: PairedDraws.of(drawn[first][metric.name], drawn[second][metric.name], metric)
            for metric in chosen
        }
        for first, second in pair_list
    }


def mean_draws(
    values: npt.ArrayLike, resampling: Resampling = Resampling(), clusters: ClusterLabels | None = None
) -> PairedDraws:
    """The draws of the mean of a per-instance quantity of any range, as those of a difference from 0.

    Args:
        values: [instances], such as each instance's difference or slope.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Raises:
        ValueError: not one-dimensional, or not finite.

    >>> mean_draws([-0.5, 0.25, 1.0]).value
    0.25
    """
    checked = check_vector("values", values)
    refuse("values", "must be finite", checked, ~np.isfinite(checked))
    return PairedDraws.from_0(draw_mean(checked, resampling, clusters))


@dataclass(frozen=True, slots=True)
class PairedDraws:
    """A difference, and what it is on each resample: intervals and p-values of it are made from this."""

    value: float
    resampled: Floats  # [n_resamples], NaN where either side is undefined; none without resamples
    # By how much chance may have made the first value, and the second, too large: of errors that cannot be negative.
    excess: tuple[float, float] | None = None
    most: float = float("inf")  # the largest difference that there can be
    few: int = 0  # instances or clusters, where a difference needs more, see `too_few`: it is then not tested
    beyond: tuple[float, float] = (0.0, 0.0)  # how far its interval reaches below and above the d*, see `exact_reach`

    @classmethod
    def from_0(cls, draws: Draws) -> PairedDraws:
        """The draws of a number that is not biased, as those of its difference from 0."""
        return cls(draws.value, draws.resampled, few=draws.few, beyond=draws.beyond)

    @classmethod
    def of(cls, first: Draws, second: Draws, metric: Metric) -> PairedDraws:
        """The draws of a difference of the metric from those of both sides, on the same resamples."""
        value, resampled = first.value - second.value, first.resampled - second.resampled
        if first.is_withheld or second.is_withheld:
            return cls(value, np.full_like(resampled, np.nan), few=first.few)
        shifted = first.by_chance is not None or metric.overfit
        # What is equal on every resample is one sample twice: chance did the same to both.
        if not shifted or np.isnan(value) or not (np.abs(resampled) > ROUNDING).any():
            return cls(value, resampled, few=first.few)
        excess = Excess.of(first, metric.overfit).own, Excess.of(second, metric.overfit).own
        return cls(value, resampled, excess, metric.bounds[1] - metric.bounds[0], first.few)

    def difference(self) -> Difference:
        """The difference with its interval and p-value, see `paired_differences`."""
        values = self._defined
        if not len(values):
            return Difference(self.value)
        low_shift, high_shift = self._shifts
        unmoved = agree(values) and not any(self.beyond)
        low, high = (float("nan"), float("nan")) if unmoved else percentiles(values)
        low, high = low - low_shift, high - high_shift
        if self.excess is not None and not unmoved:
            low, high = max(-self.most, min(low, self.value)), min(self.most, max(high, self.value))
        at_most_0, at_least_0 = np.sum(values - low_shift <= ROUNDING), np.sum(values - high_shift >= -ROUNDING)
        p_value = min(1.0, 2 * (1 + int(min(at_most_0, at_least_0))) / (1 + len(values)))
        return Difference(self.value, low, high, p_value)

    def equivalence(self, margin: float) -> float:
        """P-value of "the difference is `margin` or more in size"; small: the two are equivalent within the margin.

        Two one-sided tests (Schuirmann 1987): the larger of the p-values of `d <= -margin` and of `d >= margin`, each
        `(1 + #{d* beyond}) / (1 + r)`, d* shifted as for the difference's own p-value. Below 0.05 where the middle 90 %
        of the d* lie within the margin. NaN without resamples.

        >>> PairedDraws(0.0, np.linspace(-0.02, 0.02, 99)).equivalence(0.05)
        0.01
        """
        values = self._defined
        if not len(values):
            return float("nan")
        low_shift, high_shift = self._shifts
        below, above = np.sum(values - low_shift <= -margin), np.sum(values - high_shift >= margin)
        return (1 + int(max(below, above))) / (1 + len(values))

    @property
    def statistic(self) -> float:
        """Size of the difference, minus what chance may have added to it, in standard deviations of the d*; >= 0."""
        above, below = self.excess or (0.0, 0.0)
        size = max(self.value - above, -self.value - below, 0.0)
        if np.isnan(self.value) or not len(self._defined):
            return float("nan")
        spread = self._spread
        if spread > ROUNDING:
            return size / spread
        return float("inf") if size > ROUNDING else 0.0

    def null_statistics(self) -> Floats:
        """The statistic without a difference: `|d* - mean(d*)|` in standard deviations, [n_resamples]; NaN is 0."""
        spread = self._spread
        if not spread > ROUNDING:
            return np.zeros(len(self.resampled))
        null: Floats = np.nan_to_num(np.abs(self.resampled - self._defined.mean()) / spread)
        return null

    @property
    def _defined(self) -> Floats:
        """The d* that are defined; none where the difference itself is not, or too few instances were drawn."""
        return self.resampled[:0] if self.few or np.isnan(self.value) else self.resampled[~np.isnan(self.resampled)]

    @property
    def _spread(self) -> float:
        return float(self._defined.std()) if len(self._defined) else float("nan")

    @property
    def _shifts(self) -> tuple[float, float]:
        """How far the lower and the upper end of the interval are shifted down: of a biased error, or beyond the d*."""
        if self.excess is None:
            return self.beyond[0], -self.beyond[1]
        bias = float(self._defined.mean()) - self.value
        return bias + self.excess[0], bias - self.excess[1]
