"""The values that metrics take over all resamples, of any number of subjects, in one pass over the resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.metrics.metric import Metric, evaluate
from calprobe.metrics.resamples import Block, Clusters, Resampling, blocks
from calprobe.metrics.sample import SortedInstances
from calprobe.metrics.threads import map_in_order

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Draws:
    """A metric's value, and those that it takes by resampling. NaN where it is undefined."""

    value: float
    resampled: Floats  # [n_resamples]; none without instances
    by_chance: Floats | None = None  # of a biased metric: [n_resamples], what perfect calibration gives


class Subject(Protocol):
    """What is resampled: some instances with the metrics asked of them."""

    def values(self) -> Mapping[str, float]:
        """The metrics of the instances as they are, by name."""

    def resampled(self, counts: Ints) -> Mapping[str, Floats]:
        """The metrics of resamples that hold each instance so often [resamples, instances], [resamples] by name."""

    def by_chance(self, block: Block) -> Mapping[str, Floats]:
        """The biased metrics with correctness drawn anew by the block's numbers, [resamples] by name; maybe none."""


@dataclass(frozen=True, slots=True)
class TopLabel:
    """Predictions with their confidences."""

    metrics: tuple[Metric, ...]
    instances: SortedInstances

    def values(self) -> dict[str, float]:
        """See `Subject`."""
        return {name: float(value[0]) for name, value in evaluate(self.metrics, self.instances.whole()).items()}

    def resampled(self, counts: Ints) -> dict[str, Floats]:
        """See `Subject`."""
        return evaluate(self.metrics, self.instances.resampled(counts))

    def by_chance(self, block: Block) -> dict[str, Floats]:
        """See `Subject`."""
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
        n_instances: their number. Without any, and with one cluster, there are no draws.
        resampling: number of resamples, and seed.
        clusters: of the instances; None draws instances.
        biased: whether there are biased metrics, whose values by chance are wanted.
    """
    values = {key: subject.values() for key, subject in subjects.items()}
    enough = n_instances > 0 if clusters is None else clusters.number > 1

    def of_block(block: Block) -> list[tuple[Mapping[str, Floats], Mapping[str, Floats]]]:
        return [(subject.resampled(block.counts), subject.by_chance(block)) for subject in subjects.values()]

    drawn = map_in_order(of_block, blocks(n_instances, resampling, clusters, biased)) if enough else []
    found = {}
    for place, (key, own) in enumerate(values.items()):
        resampled, by_chance = (_joined([block[place][kind] for block in drawn]) for kind in (0, 1))
        found[key] = {
            name: Draws(value, resampled.get(name, np.empty(0)), by_chance.get(name)) for name, value in own.items()
        }
    return found


def _joined(blocks: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """The values of all blocks, [n_resamples] by name."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in (blocks[0] if blocks else ())}
