"""Bootstrap intervals: how far a metric would move with other instances of the same kind.

Instances are drawn with replacement, as many as there are, or whole clusters of them; `resamples` says how. Two
estimators of one run see the same resamples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.metrics.draws import Draws, TopLabel, draw
from calprobe.metrics.intervals import Estimate, interval
from calprobe.metrics.metric import Metric
from calprobe.metrics.resamples import Block, Resampling, check_clusters
from calprobe.metrics.sample import row_sums, sort_instances
from calprobe.metrics.validation import check_confidence

Predictions = tuple[npt.ArrayLike, npt.ArrayLike]  # confidence and correct, as every metric takes them


def bootstrap(
    metrics: Iterable[Metric],
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: npt.ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Values of the metrics, each with a 95 % percentile bootstrap interval over instances or clusters of them.

    Metrics of the instances (accuracy, Brier, AUROC, ..) get the plain percentiles of their resampled values. Errors
    that cannot be negative (`Metric.biased`) are biased upwards on a finite sample, and again on a resample of it: by
    `bias`, the mean resampled value less the value. Their interval is shifted down, its upper end by the bias, its
    lower end by twice the bias (the value has one of its own), and clipped to [0, 1]. It begins at 0 where perfect
    calibration could have given the value by chance: in 95 % of draws of correctness by the confidences themselves. So
    it always holds its own value, and covers the ACE and ECE of a large sample at about the nominal rate, however well
    or badly calibrated.

    With clusters, whole clusters are drawn with replacement, as many as there are: instances of one relation can be
    right or wrong together, and intervals that take them for independent are then too narrow. Perfect calibration is
    that of `SortedInstances.turned`. A handful of clusters is too few for any interval; take 30 or more.

    Args:
        metrics: from `standard_metrics`.
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, such as its relation; None draws single instances.
    Returns:
        An estimate by metric name. Resamples in which a metric is undefined (AUROC of one class) are left out. Interval
        NaN where the value is NaN, no resamples are asked for, or all instances are of one cluster.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> from calprobe.metrics import standard_metrics
    >>> found = bootstrap(standard_metrics(), [0.9, 0.8, 0.3, 0.6], [True, True, False, False])
    >>> {name: round(found[name].value, 3) for name in ("accuracy", "brier")}
    {'accuracy': 0.5, 'brier': 0.125}
    >>> found["accuracy"].low, found["accuracy"].high
    (0.0, 1.0)
    """
    return bootstrap_many(metrics, {"": (confidence, correct)}, resampling, clusters)[""]


def bootstrap_many(
    metrics: Iterable[Metric],
    samples: Mapping[str, Predictions],
    resampling: Resampling = Resampling(),
    clusters: npt.ArrayLike | None = None,
) -> dict[str, dict[str, Estimate]]:
    """`bootstrap` of several estimators, or models, on the same instances: the same numbers, in a fraction of the time.

    Blocks of resamples are worked on in as many threads as this process may use (OMP_NUM_THREADS limits them). The
    numbers do not depend on the threads, nor on the other samples.

    Args:
        metrics: from `standard_metrics`.
        samples: by name, (confidence [instances], correct [instances]) with instances in one order.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Returns:
        By name of the sample, an estimate by metric name, as `bootstrap`.
    Raises:
        ValueError: as `bootstrap`, and if the samples have different numbers of instances.

    >>> from calprobe.metrics import standard_metrics
    >>> samples = {"sure": ([0.9, 0.8], [True, False]), "unsure": ([0.5, 0.5], [True, False])}
    >>> found = bootstrap_many(standard_metrics(), samples)
    >>> {name: round(found[name]["brier"].value, 3) for name in samples}
    {'sure': 0.325, 'unsure': 0.25}
    """
    drawn = draw_samples(metrics, samples, resampling, clusters)
    return {name: {metric: interval(draws) for metric, draws in own.items()} for name, own in drawn.items()}


def draw_samples(
    metrics: Iterable[Metric],
    samples: Mapping[str, Predictions],
    resampling: Resampling,
    clusters: npt.ArrayLike | None,
) -> dict[str, dict[str, Draws]]:
    """The draws that intervals and differences are made from, by name of the sample and of the metric.

    Arguments and errors are those of `bootstrap_many`.
    """
    chosen = tuple(metrics)
    subjects = {name: TopLabel(chosen, sort_instances(*sample)) for name, sample in samples.items()}
    sizes = {name: len(subject.instances.order) for name, subject in subjects.items()}
    n_instances = next(iter(sizes.values()), 0)
    if other := next((name for name, size in sizes.items() if size != n_instances), None):
        first = next(iter(sizes))
        raise ValueError(
            f"samples must be of the same instances; {first!r} has {n_instances} of them, {other!r} {sizes[other]}"
        )
    biased = any(metric.biased for metric in chosen)
    return draw(subjects, n_instances, resampling, check_clusters(clusters, n_instances), biased)


def bootstrap_mean(
    values: npt.ArrayLike, resampling: Resampling = Resampling(), clusters: npt.ArrayLike | None = None
) -> Estimate:
    """Mean of a per-instance quantity with its 95 % percentile bootstrap interval, on the resamples of `bootstrap`.

    Args:
        values: [instances], in [0, 1]: for a BEAR score, the share of the paraphrases that get the instance right.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Returns:
        An estimate in [0, 1]; NaN without instances.
    Raises:
        ValueError: not one-dimensional, NaN, or a value out of range.

    >>> bootstrap_mean([1.0, 0.5, 0.0]).value
    0.5
    """
    checked = check_confidence(values, name="values")
    found = draw({"": _Mean(checked)}, len(checked), resampling, check_clusters(clusters, len(checked)), biased=False)
    return interval(found[""]["mean"])


@dataclass(frozen=True, slots=True)
class _Mean:
    """A per-instance quantity, as a `Subject`."""

    quantity: Floats  # [instances]

    def values(self) -> dict[str, float]:
        return {"mean": float(self.quantity.mean()) if len(self.quantity) else float("nan")}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        return {"mean": row_sums(counts.astype(np.float64), self.quantity) / counts.sum(axis=1)}

    def by_chance(self, block: Block) -> dict[str, Floats]:
        return {}
