"""Bootstrap intervals of the metrics of whole distributions, on the resamples of `bootstrap`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.draws import draw
from calprobe.metrics.forecasts import Forecasts, check_forecasts
from calprobe.metrics.intervals import Estimate, interval
from calprobe.metrics.multiclass import MultiClassMetric, value_of
from calprobe.metrics.resamples import Block, Resampling, check_clusters
from calprobe.metrics.sample import row_sums


def bootstrap_multiclass(
    metrics: Iterable[MultiClassMetric],
    probabilities: Mapping[str, npt.ArrayLike],
    offsets: npt.ArrayLike,
    answer_idx: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: npt.ArrayLike | None = None,
) -> dict[str, dict[str, Estimate]]:
    """Values of the metrics, each with a 95 % bootstrap interval over instances or clusters, as `bootstrap` makes them.

    The resamples are those of `bootstrap` for as many instances, failed ones counted; a resample's value is over those
    of its instances that have not failed. For a biased metric, what perfect calibration gives by chance is found by
    drawing each instance's answer from its distribution; with clusters, by turning round whole clusters' deviations.

    Args:
        metrics: from `multiclass_metrics`.
        probabilities: by name of the estimator, or model, [candidates], laid end to end over the same instances; all
            NaN over an instance that has failed.
        offsets: [instances + 1], instance `i` owns the places `offsets[i]:offsets[i + 1]`, at least one.
        answer_idx: [instances], place of the right candidate within the instance's own.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, such as its relation; None draws single instances.
    Returns:
        By name, an estimate by metric name. Interval NaN where the value is NaN, no resamples are asked for, or all
        instances are of one cluster.
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

        def spread(own: Floats) -> Floats:
            among_all = np.zeros((*own.shape[:-1], forecasts.n_all))
            among_all[..., forecasts.place] = own
            return among_all

        parts = {}
        for metric in metrics:
            contributions, weights = spread(metric.contributions(forecasts)), spread(metric.weights(forecasts))
            parts[metric.name] = _Part(contributions, weights, metric.redraw and metric.redraw(forecasts))
        return cls(parts, forecasts.place)

    def values(self) -> dict[str, float]:
        """See `Subject`."""
        sums = {name: part.contributions.sum(axis=1)[None] for name, part in self.parts.items()}
        return {name: float(value_of(own, self.parts[name].weights.sum())[0]) for name, own in sums.items()}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        """See `Subject`."""
        times = counts.astype(np.float64)
        return {name: value_of(part.sums(times), row_sums(times, part.weights)) for name, part in self.parts.items()}

    def by_chance(self, block: Block) -> dict[str, Floats]:
        """See `Subject`."""
        sums = {}
        for name, part in self.parts.items():
            if part.redraw is None:
                continue
            if block.uniform is not None:
                sums[name] = part.redraw(block.uniform.take(self.place, axis=1))
            elif block.signs is not None:  # a turned deviation from the answer turns its contribution
                sums[name] = part.sums(block.signs)
        return {name: value_of(own, self.parts[name].weights.sum()) for name, own in sums.items()}
