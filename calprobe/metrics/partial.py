"""Metrics of several confidences in the same answers, some of which could not be read, on common resamples.

Every resample draws from all answers; each confidence's metrics are of those in it that it has. So prompts that leave
out different answers stay paired, and means over prompts have intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_vector
from calprobe.metrics.bootstrap import Predictions, draw
from calprobe.metrics.intervals import Draws, Outcomes, with_exact_ends
from calprobe.metrics.metric import Metric, evaluate, is_resampled
from calprobe.metrics.resamples import Block, ClusterLabels, Clusters, Resampling, check_clusters
from calprobe.metrics.sample import Sample, SortedInstances, sort_instances

Key = TypeVar("Key")


def draw_known(
    metrics: Iterable[Metric],
    samples: Mapping[Key, Predictions],
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> dict[Key, dict[str, Draws]]:
    """The draws of metrics of several samples of the same instances, each over the instances that it has.

    Args:
        metrics: those of them that are resampled are computed.
        samples: by name, (confidence [instances], NaN where there is none; correct [instances]).
        resampling: number of resamples, and seed.
        clusters: [instances], the label of each one's cluster; None draws single instances.
    Returns:
        By name, draws by metric name. NaN where a sample has no instance; a resample without any is NaN.
    Raises:
        ValueError: as `bootstrap_many`, but for NaN.

    >>> from calprobe.metrics.scoring_rules import BRIER
    >>> found = draw_known([BRIER], {"a": ([0.5, float("nan")], [True, False])}, Resampling(0))
    >>> found["a"]["brier"].value
    0.25
    """
    chosen = tuple(metric for metric in metrics if is_resampled(metric))
    sizes = {len(np.asarray(values)) for sample in samples.values() for values in sample}
    if len(sizes) > 1:
        raise ValueError(f"confidence and correct of all samples must be of the same instances; got {sorted(sizes)}")
    n_instances = max(sizes, default=0)
    subjects = {name: _Known.of(chosen, sample) for name, sample in samples.items()}
    biased = any(metric.biased for metric in chosen)
    groups = check_clusters(clusters, n_instances)
    return {
        name: with_exact_ends(draws, chosen, subjects[name].outcomes(groups))
        for name, draws in draw(subjects, n_instances, resampling, groups, biased).items()
    }


@dataclass(frozen=True, slots=True)
class _Known:
    """The instances that have a confidence, as a `Subject` among all."""

    metrics: tuple[Metric, ...]
    instances: SortedInstances
    kept: npt.NDArray[np.intp]  # [known], their places among all

    @classmethod
    def of(cls, metrics: tuple[Metric, ...], sample: Predictions) -> _Known:
        confidence = check_vector("confidence", sample[0])
        kept = np.flatnonzero(~np.isnan(confidence))
        return cls(metrics, sort_instances(confidence[kept], np.asarray(sample[1])[kept]), kept)

    def outcomes(self, clusters: Clusters | None) -> Outcomes:
        """How many of the instances, or of the clusters that hold them, are right and wrong."""
        single = clusters is None or clusters.fixed
        units = self.kept if clusters is None or clusters.fixed else clusters.of[self.kept]
        return Outcomes.of(self.instances.correct, units[self.instances.order], single=single)

    def values(self) -> dict[str, float]:
        return {name: float(value[0]) for name, value in self._evaluate(self.instances.sample()).items()}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        return self._evaluate(self.instances.resampled(counts.take(self.kept, axis=1)))

    def by_chance(self, block: Block) -> dict[str, Floats]:
        biased = tuple(metric for metric in self.metrics if metric.biased)
        if block.uniform is not None:
            return self._evaluate(self.instances.redrawn(block.uniform[:, : len(self.kept)]), biased)
        if block.signs is None:
            return {}
        return self._evaluate(self.instances.turned(block.signs.take(self.kept, axis=1)), biased)

    def _evaluate(self, sample: Sample, metrics: tuple[Metric, ...] | None = None) -> dict[str, Floats]:
        """Metrics of the resamples that hold any instance; NaN of the others."""
        chosen = self.metrics if metrics is None else metrics
        resamples = max(len(sample.counts), len(np.atleast_2d(sample.correct)))
        held = np.broadcast_to(sample.sizes > 0, resamples)
        if held.all():
            return evaluate(chosen, sample)
        results = {metric.name: np.full(resamples, np.nan) for metric in chosen}
        if held.any():  # then each has its own counts: those without any hold nothing, with the same correctness
            of_held = evaluate(chosen, Sample(sample.confidence, sample.correct, sample.counts[held]))
            for name, values in of_held.items():
                results[name][held] = values
        return results
