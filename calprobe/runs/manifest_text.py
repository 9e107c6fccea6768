"""The parts of a run as errors show them: its templates, relations and choice of instances."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.messages import counted
from calprobe.runs.extent import Extent
from calprobe.runs.manifest_records import RelationRecord


def limit_text(limit: int | None, sample_seed: int | None) -> str:
    """The choice of instances, with the options that make it.

    >>> limit_text(40, 7)
    'a sample of 40 (--limit 40 --seed 7)'
    """
    if limit is None:
        return "none"
    if sample_seed is None:
        return f"the first {limit} (--first {limit})"
    seed = f" --seed {sample_seed}" if sample_seed else ""
    return f"a sample of {limit} (--limit {limit}{seed})"


def templates_text(numbers: Sequence[int]) -> str:
    """The numbers of templates: 0,1,2."""
    return ",".join(str(number) for number in numbers)


def relations_text(relations: Sequence[RelationRecord]) -> str:
    """The names of the first relations, and how many there are."""
    names = [relation.name for relation in relations]
    text = ",".join(names if len(names) <= 8 else [*names[:7], ".."])
    instances = counted(sum(relation.n_instances for relation in relations), "instance")
    return f"{text} ({counted(len(names), 'relation')}, {instances})"


def extent_text(extent: Extent, relations: Sequence[RelationRecord]) -> str:
    """The templates, relations and choice of instances of a run."""
    plural = "" if len(extent.templates) == 1 else "s"
    text = f"template{plural} {templates_text(extent.templates)} of {relations_text(relations)}"
    return text if extent.limit is None else f"{text}, {limit_text(extent.limit, extent.sample_seed)}"
