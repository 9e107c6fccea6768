"""The names of runs and models in tables, figures and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Protocol

NO_STATES: Mapping[str, str] = MappingProxyType({})


class MayBePart(Protocol):
    """A run that may be incomplete, or of a part of its questions."""

    @property
    def label(self) -> str:
        """Its name."""

    @property
    def limited(self) -> bool:
        """Whether it is of a part by request."""

    @property
    def partial(self) -> bool:
        """Whether something is missing."""


def last_names(labels: Sequence[str]) -> dict[str, str]:
    """The last name of each run's path, where all of these differ; else the labels themselves.

    >>> last_names(["runs/a/gpt2", "runs/bert"])
    {'runs/a/gpt2': 'gpt2', 'runs/bert': 'bert'}
    >>> last_names(["a/gpt2", "b/gpt2"])
    {'a/gpt2': 'a/gpt2', 'b/gpt2': 'b/gpt2'}
    """
    names = {label: PurePath(label).name or label for label in labels}
    return names if len(set(names.values())) == len(names) else {label: label for label in labels}


def own_parts(labels: Sequence[str]) -> dict[str, str]:
    """What tells the paths of runs apart: without the folders that all begin with, and the names that all end with.

    >>> own_parts(["runs/llama/bear", "runs/gpt2/bear"])
    {'runs/llama/bear': 'llama', 'runs/gpt2/bear': 'gpt2'}
    >>> own_parts(["runs/gpt2"])
    {'runs/gpt2': 'gpt2'}
    """
    paths = [PurePath(label).parts or (label,) for label in labels]
    first = last = 0
    while all(len(path) > first + 1 for path in paths) and len({path[first] for path in paths}) == 1:
        first += 1
    while all(len(path) > first + last + 1 for path in paths) and len({path[-1 - last] for path in paths}) == 1:
        last += 1
    return {label: "/".join(path[first : len(path) - last]) for label, path in zip(labels, paths, strict=True)}


def state(*, limited: bool = False, partial: bool = False) -> str:
    """What a figure says behind the name of a run of a part of its probe, or that is not complete.

    >>> f"gpt2{state(limited=True, partial=True)}", f"gpt2{state()}"
    ('gpt2 (LIMITED, PARTIAL)', 'gpt2')
    """
    words = [word for word, holds in (("LIMITED", limited), ("PARTIAL", partial)) if holds]
    return f" ({', '.join(words)})" if words else ""


def states_of(runs: Iterable[MayBePart]) -> dict[str, str]:
    """What figures of several runs say behind the name of each, by its label: as `state`."""
    return {run.label: state(limited=run.limited, partial=run.partial) for run in runs}


def names_to_labels(labels: Sequence[str], paths: Sequence[str] = ()) -> dict[str, str]:
    """The labels of runs by every name that an option accepts for them.

    These are the label, the path, and the last name of either where no other run has it.

    Args:
        labels: of the runs.
        paths: of the runs in the same order, where the labels are other names.

    >>> names_to_labels(["GPT-2"], ["runs/gpt2"])
    {'gpt2': 'GPT-2', 'runs/gpt2': 'GPT-2', 'GPT-2': 'GPT-2'}
    """
    by_name: dict[str, str] = {}
    for called in (paths, labels):
        last = [PurePath(name).name for name in called]
        by_name |= {name: label for name, label in zip(last, labels, strict=False) if last.count(name) == 1}
        by_name |= dict(zip(called, labels, strict=False))
    return by_name
