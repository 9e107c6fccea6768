"""Metrics of the distribution over an answer space; all others read the confidence of the prediction alone.

They take `Confidence.probabilities`. A failed instance (all of its probabilities NaN) has no distribution that could be
right or wrong, and is left out: read the number of failed instances beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.bins import inner_width_edges
from calprobe.metrics.bootstrap import draw
from calprobe.metrics.calibration import ece
from calprobe.metrics.forecasts import Forecasts, check_forecasts
from calprobe.metrics.intervals import Estimate, interval
from calprobe.metrics.metric import Metric, MetricResult
from calprobe.metrics.resamples import Block, ClusterLabels, Resampling, check_clusters
from calprobe.metrics.sample import row_sums

SCE_BINS = 15


@dataclass(frozen=True, slots=True)
class MultiClassMetric(Metric):
    """`sum over columns of |sum_i c_i| / sum_i w_i`, of contributions `c` and weights `w` of each instance by itself.

    So a resample's value takes sums weighted by its counts, and nothing of its distributions.
    """

    contributions: Callable[[Forecasts], Floats]  # -> [columns, instances]
    weights: Callable[[Forecasts], Floats]  # -> [instances]
    # Of a biased metric: the contributions' sums with every instance's answer drawn anew from its distribution, by
    # uniform numbers in [0, 1), [resamples, instances] -> [resamples, columns].
    redraw: Callable[[Forecasts], Callable[[Floats], Floats]] | None = None

    def value(self, forecasts: Forecasts) -> float:
        """The value over all instances."""
        sums, weight = self.contributions(forecasts).sum(axis=1), self.weights(forecasts).sum()
        return float(value_of(sums[None], weight)[0])


def value_of(sums: Floats, weight: Floats | np.float64) -> Floats:
    """Values [resamples] from sums [resamples, columns] and the weights' sum, [resamples] or the same for all.

    NaN where that is 0, over no instances.
    """
    with np.errstate(invalid="ignore"):
        values: Floats = np.abs(sums).sum(axis=1) / weight
    return values


def brier_sum(probabilities: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike) -> MetricResult:
    """Brier score summed over classes: mean over instances of `sum_k (p_k - y_k)^2`, y being 1 for the answer, else 0.

    Source: Brier 1950, the original form; lm-evaluation-harness's `brier_score`, and scikit-learn's `brier_score_loss`
    of more than two classes. Neither `brier` (the prediction alone) nor `brier_mean`. Smaller is better.

    Args:
        probabilities: [candidates], in [0, 1], laid end to end over the instances, summing to 1 over each one's.
        offsets: [instances + 1], instance `i` owns the places `offsets[i]:offsets[i + 1]`, at least one.
        answer_idx: [instances], place of the right candidate within the instance's own.
    Returns:
        A value in [0, 2]; 1 - 1/K for a uniform distribution. An instance with a single candidate adds 0. Failed
        instances (all probabilities NaN) are left out; NaN without any other.
    Raises:
        ValueError: shapes or offsets do not fit, an answer out of range, probabilities that are no distribution.

    >>> brier_sum([0.5, 0.25, 0.25, 1.0], [0, 3, 4], [0, 0]).value
    0.1875
    """
    return MetricResult(BRIER_SUM.value(check_forecasts(probabilities, offsets, answer_idx)))


def brier_mean(probabilities: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike) -> MetricResult:
    """Brier score averaged over classes: mean over instances of `1/K sum_k (p_k - y_k)^2`, K the instance's own.

    Source: lm-pub-quiz's `brier_score`, which takes one relation at a time and so one K. It falls with K whatever the
    model knows ((K - 1)/K^2 for a uniform distribution): compare it on one probe only. Smaller is better. Arguments,
    errors, and what becomes of failed instances are those of `brier_sum`; a value in [0, 1].

    >>> brier_mean([0.5, 0.25, 0.25, 1.0], [0, 3, 4], [0, 0]).value
    0.0625
    """
    return MetricResult(BRIER_MEAN.value(check_forecasts(probabilities, offsets, answer_idx)))


def static_calibration_error(
    probabilities: npt.ArrayLike, offsets: npt.ArrayLike, answer_idx: npt.ArrayLike, n_bins: int = SCE_BINS
) -> MetricResult:
    """Static calibration error: the ECE of all (instance, candidate) pairs, probability against being the answer.

    `sum_b n_b / n * |mean probability - share of answers|` over equal-width bins of the pairs, n their number. Source:
    after Nixon et al. 2019; their form needs the same classes in all instances: it bins each class by itself and
    averages (docs/methods/metrics.md). Most pairs have a probability near 0 and are no answer, so it is a small number,
    which falls with K: compare it on one probe only. Smaller is better.

    Args:
        probabilities, offsets, answer_idx: as of `brier_sum`.
        n_bins: equal parts of [0, 1], at least 1; a value on an edge falls into the lower part.
    Returns:
        A value in [0, 1] with its bins; their counts are of pairs. An instance with a single candidate adds a pair
        without a gap. Failed instances (all probabilities NaN) are left out; NaN without any other.
    Raises:
        ValueError: as `brier_sum`, and for less than one bin.

    >>> round(static_calibration_error([0.5, 0.25, 0.25, 1.0], [0, 3, 4], [0, 0]).value, 3)
    0.25
    """
    forecasts = check_forecasts(probabilities, offsets, answer_idx)
    return ece(forecasts.probabilities, forecasts.hit, n_bins)


def multiclass_metrics() -> tuple[MultiClassMetric, ...]:
    """The metrics of this module as data, in the order of reports.

    >>> [metric.name for metric in multiclass_metrics()]
    ['brier_sum', 'brier_mean', 'static_calibration_error']
    """
    return (BRIER_SUM, BRIER_MEAN, STATIC_CALIBRATION_ERROR)


def _squared_error(forecasts: Forecasts) -> Floats:
    return forecasts.sums((forecasts.probabilities - forecasts.hit) ** 2)[None]


def _mean_squared_error(forecasts: Forecasts) -> Floats:
    return _squared_error(forecasts) / forecasts.widths


def _one_each(forecasts: Forecasts) -> Floats:
    return np.ones(len(forecasts.widths))


def _one_a_pair(forecasts: Forecasts) -> Floats:
    return forecasts.widths.astype(np.float64)


def _bin_gaps(forecasts: Forecasts) -> Floats:
    """What each instance adds to each bin's probability minus its answers, [bins, instances]."""
    return _bin_sums(forecasts, forecasts.probabilities - forecasts.hit)


def _redrawn_bin_gaps(forecasts: Forecasts) -> Callable[[Floats], Floats]:
    mass = _bin_sums(forecasts, forecasts.probabilities)
    # Only the bin of an answer matters, and `mass` are its probabilities. Exactly 1 at the end: no empty bin is drawn.
    up_to = np.cumsum(mass, axis=0)
    up_to /= up_to[-1:]

    def redrawn(uniform: Floats) -> Floats:
        beyond = [np.count_nonzero(uniform >= edge, axis=1) for edge in up_to]  # [bins][resamples], answers behind it
        answers = -np.diff(beyond, axis=0, prepend=uniform.shape[1])
        sums: Floats = mass.sum(axis=1) - answers.T
        return sums

    return redrawn


def _bin_sums(forecasts: Forecasts, values: Floats) -> Floats:
    """Sums of a quantity [candidates] over each instance's candidates in each bin, [bins, instances]."""
    n_instances = len(forecasts.starts)
    at = np.searchsorted(inner_width_edges(SCE_BINS), forecasts.probabilities)  # the rule of `bin_sample`
    at *= n_instances
    at += np.repeat(np.arange(n_instances), forecasts.widths)
    sums = np.bincount(at, weights=values, minlength=SCE_BINS * n_instances).astype(np.float64, copy=False)
    return sums.reshape(SCE_BINS, n_instances)


BRIER_SUM = MultiClassMetric(
    "brier_sum",
    "Brier sum",
    "squared error summed over an instance's candidates",
    "smaller",
    _squared_error,
    _one_each,
    bounds=(0.0, 2.0),
    source="Brier 1950; lm-evaluation-harness's brier_score",
)
BRIER_MEAN = MultiClassMetric(
    "brier_mean",
    "Brier mean",
    "squared error averaged over an instance's candidates",
    "smaller",
    _mean_squared_error,
    _one_each,
    source="lm-pub-quiz's brier_score",
)
STATIC_CALIBRATION_ERROR = MultiClassMetric(
    "static_calibration_error",
    "SCE",
    f"ECE of all (instance, candidate) pairs in {SCE_BINS} equal-width bins",
    "smaller",
    _bin_gaps,
    _one_a_pair,
    _redrawn_bin_gaps,
    biased=True,
    source="after Nixon et al. 2019",
)


def bootstrap_multiclass(
    metrics: Iterable[MultiClassMetric],
    probabilities: Mapping[str, npt.ArrayLike],
    offsets: npt.ArrayLike,
    answer_idx: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[str, dict[str, Estimate]]:
    """Values of the metrics, each with a 95 % bootstrap interval over instances or clusters, as `bootstrap` makes them.

    The resamples are those of `bootstrap` for as many instances, failed ones counted; a resample's value is over those
    of its instances that have not failed. For a biased metric, what perfect calibration gives by chance is found by
    drawing each instance's answer from its distribution; with clusters, by turning round the deviations of clusters.

    Args:
        metrics: from `multiclass_metrics`.
        probabilities: by name of the estimator, or model, [candidates], laid end to end over the same instances; all
            NaN over an instance that has failed.
        offsets: [instances + 1], instance `i` owns the places `offsets[i]:offsets[i + 1]`, at least one.
        answer_idx: [instances], place of the right candidate within the instance's own.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, such as its relation; None draws single instances.
    Returns:
        By name, an estimate by metric name. Interval NaN where the value is NaN, no resamples are asked for, or there
        are fewer than ten clusters.
    Raises:
        ValueError: as the metrics' own functions, and for clusters that do not fit.

    >>> from calprobe.metrics import multiclass_metrics
    >>> found = bootstrap_multiclass(multiclass_metrics(), {"base": [0.5, 0.5, 1.0, 0.0]}, [0, 2, 4], [0, 0])
    >>> found["base"]["brier_sum"]
    Estimate(value=0.25, low=0.0, high=0.5)
    """
    chosen, n_instances = tuple(metrics), np.size(answer_idx)
    subjects = {
        name: _Distributions.of(chosen, check_forecasts(own, offsets, answer_idx))
        for name, own in probabilities.items()
    }
    biased = any(metric.biased for metric in chosen)
    drawn = draw(subjects, n_instances, resampling, check_clusters(clusters, n_instances), biased)
    return {name: {metric: interval(draws) for metric, draws in own.items()} for name, own in drawn.items()}


@dataclass(frozen=True, slots=True)
class _Part:
    """One metric of some distributions. Failed instances are there, but add nothing and weigh nothing."""

    contributions: Floats  # [columns, instances]
    weights: Floats  # [instances]
    redraw: Callable[[Floats], Floats] | None  # of a biased metric

    def sums(self, counts: Floats) -> Floats:
        """Sums of the contributions times numbers [resamples, instances], [resamples, columns]."""
        return np.stack([row_sums(counts, column) for column in self.contributions], axis=1)


@dataclass(frozen=True, slots=True)
class _Distributions:
    """Distributions with the metrics asked of them, as a `Subject`."""

    parts: Mapping[str, _Part]  # by metric name
    place: npt.NDArray[np.intp]  # [instances that have not failed], their places among all

    @classmethod
    def of(cls, metrics: Sequence[MultiClassMetric], forecasts: Forecasts) -> _Distributions:
        """All contributions, computed once for all resamples."""

        def spread(values: Floats) -> Floats:
            among_all = np.zeros((*values.shape[:-1], forecasts.n_all))
            among_all[..., forecasts.place] = values
            return among_all

        parts = {}
        for metric in metrics:
            contributions, weights = spread(metric.contributions(forecasts)), spread(metric.weights(forecasts))
            parts[metric.name] = _Part(contributions, weights, metric.redraw and metric.redraw(forecasts))
        return cls(parts, forecasts.place)

    def values(self) -> dict[str, float]:
        sums = {name: part.contributions.sum(axis=1)[None] for name, part in self.parts.items()}
        return {name: float(value_of(total, self.parts[name].weights.sum())[0]) for name, total in sums.items()}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        times = counts.astype(np.float64)
        return {name: value_of(part.sums(times), row_sums(times, part.weights)) for name, part in self.parts.items()}

    def by_chance(self, block: Block) -> dict[str, Floats]:
        sums = {}
        for name, part in self.parts.items():
            if part.redraw is None:
                continue
            if block.uniform is not None:
                sums[name] = part.redraw(block.uniform.take(self.place, axis=1))
            elif block.signs is not None:  # a turned deviation from the answer turns its contribution
                sums[name] = part.sums(block.signs)
        return {name: value_of(total, self.parts[name].weights.sum()) for name, total in sums.items()}
