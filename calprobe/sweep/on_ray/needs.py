"""What a job needs of a machine, and whether a machine of the cluster has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from calprobe.messages import counted
from calprobe.sweep.engine import Misfit
from calprobe.sweep.gpus import gpus_of
from calprobe.sweep.order import Planned

_MOST_CPUS = 8  # that a job takes unless it is told; more cores help small models little
# Weights pass through the machine's own memory on their way to a card, a file of some GB at a time.
_BYTES_BESIDE_CARDS = 8 * 2**30


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster, as a whole."""

    name: str
    cpus: int
    gpus: int
    bytes: int  # of memory
    card_bytes: int | None = None  # of its smallest card; None: not known

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Node:
        """From the `asdict` of one."""
        return cls(**found)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a job takes of one machine."""

    cpus: int
    gpus: int
    bytes: int

    def fit(self, node: Node) -> bool:
        """Whether the machine has as much when nothing else runs there."""
        return self.cpus <= node.cpus and self.gpus <= node.gpus and self.bytes <= node.bytes

    def times_on(self, node: Node) -> int:
        """How many such jobs the machine runs at once when nothing else runs there."""
        pairs = ((self.cpus, node.cpus), (self.gpus, node.gpus), (self.bytes, node.bytes))
        return min(room // need for need, room in pairs if need)

    @property
    def kind(self) -> tuple[int, ...]:
        """The same of jobs that can take each other's place, about: memory counts by powers of two."""
        return self.cpus, self.gpus, self.bytes.bit_length()

    @property
    def shown(self) -> str:
        """As messages name it: `2 cores, 1 GPU and 15.2 GiB of memory`."""
        gpus = f"{counted(self.gpus, 'GPU')} and " if self.gpus else "and "
        cores = f"{counted(self.cpus, 'core')}{', ' if self.gpus else ' '}"
        return f"{cores}{gpus}{self.bytes / 2**30:,.1f} GiB of memory"

    def to_json(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


def needs_of(planned: Planned, nodes: Sequence[Node], cpus: int | None = None) -> Needs:
    """What a job takes: GPUs where the cluster has any, and cores.

    Args:
        planned: the job.
        nodes: the cluster.
        cpus: cores of a job; None: those of the smallest machine, or of a GPU's share of it, 8 at most.
    """
    with_gpus = [node for node in nodes if node.gpus]
    gpus = _gpus(planned, with_gpus) if with_gpus else 0
    cores = cpus or _cores(with_gpus if gpus else nodes, gpus)
    return Needs(cores, gpus, min(planned.bytes, _BYTES_BESIDE_CARDS) if gpus else planned.bytes)


def _cores(nodes: Sequence[Node], gpus: int) -> int:
    shares = [node.cpus * gpus // node.gpus if gpus else node.cpus for node in nodes if node.cpus]
    return max(1, min([_MOST_CPUS, *shares]))


def _gpus(planned: Planned, with_gpus: Sequence[Node]) -> int:
    cards = [node.card_bytes for node in with_gpus if node.card_bytes]
    return gpus_of(planned, min(node.gpus for node in with_gpus), min(cards, default=None))


def misfits_of(planned: Sequence[Planned], needs: Sequence[Needs], nodes: Sequence[Node]) -> list[Misfit]:
    """The jobs that would wait for ever, since no machine of the cluster has what they need."""
    remedy = "Start a larger node; or give it --ray-cpus, or a dtype of half the size"
    return [
        Misfit(job.job, f"needs {need.shown}, and no node of the Ray cluster has them: {_shown(nodes)}", remedy)
        for job, need in zip(planned, needs, strict=True)
        if not any(need.fit(node) for node in nodes)
    ]


def _shown(nodes: Sequence[Node]) -> str:
    """The kinds of machines, with their number."""
    kinds = [f"{node.cpus} cores, {counted(node.gpus, 'GPU')}, {node.bytes / 2**30:,.1f} GiB" for node in nodes]
    return "; ".join(f"{kinds.count(kind)} x {kind}" for kind in dict.fromkeys(kinds)) or "it has none"


def places(nodes: Sequence[Node], cpus: int | None = None) -> int:
    """How many jobs of one GPU, or without GPUs of the usual number of cores, the cluster runs at once."""
    if gpus := sum(node.gpus for node in nodes):
        return gpus
    cores = cpus or _cores(nodes, 0)
    return max(1, sum(node.cpus // cores for node in nodes))
