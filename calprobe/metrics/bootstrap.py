"""Bootstrap intervals: how far a metric would move with other instances of the same kind.

Instances are drawn with replacement, as many as there are, or complete clusters of them; `resamples` says how. Two
estimators of one run see the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_confidence
from calprobe.metrics.intervals import Draws, Estimate, Outcomes, as_share, interval, reference, with_exact_ends
from calprobe.metrics.metric import ClosedFormMetric, Metric, ReferenceMetric, evaluate, is_resampled
from calprobe.metrics.resamples import (
    Block,
    ClusterLabels,
    Clusters,
    Resampling,
    check_clusters,
    drawn_units,
    of_blocks,
    too_few,
)
from calprobe.metrics.sample import SortedInstances, row_sums, sort_instances

Key = TypeVar("Key")
Predictions = tuple[npt.ArrayLike, npt.ArrayLike]  # confidence and correct, as every metric takes them


def bootstrap(
    metrics: Iterable[Metric],
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[str, Estimate]:
    """Values of the metrics, each with a 95 % percentile bootstrap interval over instances or clusters of them.

    Metrics of the instances (accuracy, Brier, AUROC, ..) get the plain percentiles of their resampled values. Errors
    that cannot be negative (`Metric.biased`) are biased upwards on a finite sample, and again on a resample of it: by
    `bias`, the mean resampled value minus the value. Their interval is shifted down, its upper end by the bias, its
    lower end by twice the bias (the value has one of its own), and clipped to [0, 1]. It begins at 0 where perfect
    calibration could have given the value by chance: in 95 % of draws of correctness by the confidences themselves. So
    it always holds its own value, and covers the ACE and ECE of a large sample at about the nominal rate, however well
    or badly calibrated.

    With clusters, these are drawn with replacement, as many as there are: instances of one relation can be
    right or wrong together, and intervals that take them for independent are then too narrow. Perfect calibration is
    that of `SortedInstances.turned`. With fewer than ten clusters there is no interval; take 30 or more. Labels in
    `Within` draw instances within each cluster instead: intervals for these very clusters.

    Args:
        metrics: from `standard_metrics`.
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster, such as its relation; None draws single instances.
    Returns:
        An estimate by metric name. Resamples in which a metric is undefined (AUROC of one class) are left out. Where
        all resamples agree, an accuracy of 0 or 1 has the interval of Clopper and Pearson, and nothing else has one;
        mean confidence minus such an accuracy counts it by the ends of that interval. With fewer than ten right or ten
        wrong instances an accuracy has that interval, too, unless clusters are drawn, and a metric of the order none.
        Interval NaN where the value is NaN, no resamples are asked for, or there are fewer than ten clusters.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> from calprobe.metrics import standard_metrics
    >>> found = bootstrap(standard_metrics(), [0.9, 0.8, 0.3, 0.6], [True, True, False, False])
    >>> {name: round(found[name].value, 3) for name in ("accuracy", "brier")}
    {'accuracy': 0.5, 'brier': 0.125}
    >>> round(found["accuracy"].low, 3), round(found["accuracy"].high, 3)
    (0.068, 0.932)
    """
    return bootstrap_many(metrics, {"": (confidence, correct)}, resampling, clusters)[""]


def bootstrap_many(
    metrics: Iterable[Metric],
    samples: Mapping[str, Predictions],
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
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
    chosen = tuple(metrics)
    drawn = draw_samples(chosen, samples, resampling, clusters)
    estimates = {}
    for name, sample in samples.items():
        instances = sort_instances(*sample)
        groups = check_clusters(clusters, len(instances.order))
        units = None if groups is None else groups.sorted_by(instances.order)
        estimates[name] = {
            metric.name: _closed_form(metric, instances, units, resampling)
            if isinstance(metric, ClosedFormMetric)
            else _estimate(metric, drawn[name])
            for metric in chosen
        }
    return estimates


def _estimate(metric: Metric, drawn: Mapping[str, Draws]) -> Estimate:
    if isinstance(metric, ReferenceMetric):
        return reference(drawn.get(metric.of), metric)
    return interval(drawn[metric.name], metric)


def _closed_form(
    metric: ClosedFormMetric, instances: SortedInstances, units: Clusters | None, resampling: Resampling
) -> Estimate:
    """Its value with its own interval; without it where no intervals are asked for."""
    value, low, high = metric.compute(instances, units)
    without = np.isnan(low) or not resampling.n_resamples or not resampling.intervals
    return Estimate(value) if without else Estimate(value, low, high)


def draw_samples(
    metrics: Iterable[Metric],
    samples: Mapping[str, Predictions],
    resampling: Resampling,
    clusters: ClusterLabels | None,
) -> dict[str, dict[str, Draws]]:
    """The draws that intervals and differences are made from, by name of the sample and of the metric.

    Arguments and errors are those of `bootstrap_many`.
    """
    chosen = tuple(metric for metric in metrics if is_resampled(metric))
    instances = {name: sort_instances(*sample) for name, sample in samples.items()}
    sizes = {name: len(rows.order) for name, rows in instances.items()}
    n_instances = next(iter(sizes.values()), 0)
    if unlike := next((name for name, size in sizes.items() if size != n_instances), None):
        first = next(iter(sizes))
        raise ValueError(
            f"samples must be of the same instances; {first!r} has {n_instances} of them, {unlike!r} {sizes[unlike]}"
        )
    biased = any(metric.biased for metric in chosen)
    drawn = check_clusters(clusters, n_instances)
    single = drawn is None or drawn.fixed
    if drawn is not None and not drawn.fixed:  # samples of a question have few different confidences, or one
        instances = {name: rows.merged(drawn.of) for name, rows in instances.items()}
        n_instances = max((len(rows.order) for rows in instances.values()), default=0)
        drawn = Clusters(np.arange(drawn.number), drawn.number)
    subjects = {name: _TopLabel(chosen, rows) for name, rows in instances.items()}
    return {
        name: with_exact_ends(draws, chosen, _outcomes(instances[name], single=single))
        for name, draws in draw(subjects, n_instances, resampling, drawn, biased).items()
    }


def _outcomes(rows: SortedInstances, *, single: bool) -> Outcomes:
    return Outcomes.of(rows.correct, rows.order, single=single)


def bootstrap_mean(
    values: npt.ArrayLike, resampling: Resampling = Resampling(), clusters: ClusterLabels | None = None
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
    return interval(draw_share(checked, resampling, clusters))


def draw_share(values: Floats, resampling: Resampling, clusters: ClusterLabels | None) -> Draws:
    """The draws of `draw_mean` of an accuracy or another share, of which 0 and 1 have an exact interval.

    So has an accuracy with few right or wrong answers that are drawn by themselves.
    """
    draws = as_share(draw_mean(values, resampling, clusters), drawn_units(len(values), clusters))
    groups = check_clusters(clusters, len(values))
    if not np.isin(values, (0, 1)).all() or (groups is not None and not groups.fixed):
        return draws
    return replace(draws, ends=Outcomes.of(values.astype(np.int64), np.arange(len(values)), single=True).exact())


def draw_mean(values: Floats, resampling: Resampling, clusters: ClusterLabels | None) -> Draws:
    """The draws of the mean of a quantity [instances], on the resamples of `bootstrap`."""
    drawn = check_clusters(clusters, len(values))
    subject = _Mean(values, np.ones(len(values), np.int64))
    if drawn is not None and not drawn.fixed:
        sums = np.bincount(drawn.of, values, drawn.number).astype(np.float64, copy=False)
        subject = _Mean(sums, np.bincount(drawn.of, minlength=drawn.number).astype(np.int64))
        drawn = Clusters(np.arange(drawn.number), drawn.number)
    return draw({"": subject}, len(subject.sizes), resampling, drawn, biased=False)[""]["mean"]


def joint_draws(
    statistics: Callable[[Ints], Floats],
    n_instances: int,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> tuple[Draws, ...]:
    """The draws of several numbers of the same instances, on the resamples of `bootstrap`.

    Args:
        statistics: from counts [resamples, instances], how often each resample holds each instance, to
            [numbers, resamples]; NaN where undefined.
        n_instances: at least 1.
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.

    >>> values = np.array([0.0, 1.0, 5.0])
    >>> [draws.value for draws in joint_draws(lambda counts: np.array([counts @ values, counts.sum(axis=1)]), 3)]
    [6.0, 3.0]
    """
    once = statistics(np.ones((1, n_instances), np.int64))
    checked = check_clusters(clusters, n_instances)
    drawn = of_blocks(lambda block: statistics(block.counts), n_instances, resampling, checked)
    resampled = np.concatenate(drawn, axis=1) if drawn else np.empty((len(once), 0))
    few = too_few(n_instances, checked)
    return tuple(Draws(float(value[0]), row, few=few) for value, row in zip(once, resampled, strict=True))


@dataclass(frozen=True, slots=True)
class _Mean:
    """A per-instance quantity, as a `Subject`."""

    sums: Floats  # [instances, or clusters of them]
    sizes: Ints  # [instances, or clusters of them], how many each sum is of

    def values(self) -> dict[str, float]:
        return {"mean": float(self.sums.sum() / self.sizes.sum()) if len(self.sums) else float("nan")}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        return {"mean": row_sums(counts.astype(np.float64), self.sums) / (counts * self.sizes).sum(axis=1)}

    def by_chance(self, block: Block) -> dict[str, Floats]:
        return {}


class Subject(Protocol):
    """What is resampled: some instances with the metrics asked of them."""

    def values(self) -> Mapping[str, float]:
        """The metrics of the instances as they are, by name."""

    def resampled(self, counts: Ints) -> Mapping[str, Floats]:
        """The metrics of resamples that hold each instance so often [resamples, instances], [resamples] by name."""

    def by_chance(self, block: Block) -> Mapping[str, Floats]:
        """The biased metrics with correctness drawn anew by the block's numbers, [resamples] by name; maybe none."""


@dataclass(frozen=True, slots=True)
class _TopLabel:
    """Predictions with their confidences, as a `Subject`."""

    metrics: tuple[Metric, ...]
    instances: SortedInstances

    def values(self) -> dict[str, float]:
        return {name: float(value[0]) for name, value in evaluate(self.metrics, self.instances.sample()).items()}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        return evaluate(self.metrics, self.instances.resampled(counts))

    def by_chance(self, block: Block) -> dict[str, Floats]:
        biased = [metric for metric in self.metrics if metric.biased]
        if block.uniform is not None:
            return evaluate(biased, self.instances.redrawn(block.uniform))
        return {} if block.signs is None else evaluate(biased, self.instances.turned(block.signs))


def draw(
    subjects: Mapping[Key, Subject], n_instances: int, resampling: Resampling, clusters: Clusters | None, biased: bool
) -> dict[Key, dict[str, Draws]]:
    """Every metric's draws by its name, for each subject; the same resamples for all.

    Args:
        subjects: of the same instances each.
        n_instances: their number, or where counts are of clusters, the most that any subject has of these. Without any,
            and with fewer than ten clusters, there are no draws.
        resampling: number of resamples, and seed.
        clusters: of the instances; None draws instances.
        biased: whether values by chance are needed, which biased metrics use.
    """
    values = {key: subject.values() for key, subject in subjects.items()}

    def of_block(block: Block) -> list[tuple[Mapping[str, Floats], Mapping[str, Floats]]]:
        return [
            (subject.resampled(block.counts) if resampling.intervals else {}, subject.by_chance(block))
            for subject in subjects.values()
        ]

    drawn, few = of_blocks(of_block, n_instances, resampling, clusters, biased), too_few(n_instances, clusters)
    draws = {}
    for place, (key, metric_values) in enumerate(values.items()):
        resampled, by_chance = (_joined([block[place][kind] for block in drawn]) for kind in (0, 1))
        draws[key] = {
            name: Draws(value, resampled.get(name, np.empty(0)), by_chance.get(name), few)
            for name, value in metric_values.items()
        }
    return draws


def _joined(blocks: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """The values of all blocks, [n_resamples] by name."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in (blocks[0] if blocks else ())}
