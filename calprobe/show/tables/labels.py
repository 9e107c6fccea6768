"""How tables name runs and are named themselves, and what tidy files say of how a run was made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.run_names import last_names


def about(run: RunFacts) -> dict[str, str]:
    """How a run was made, for each line of a tidy file."""
    settings = run.manifest.settings
    return {
        "probe": run.manifest.probe.name,
        "partial": "true" if run.partial else "false",
        "path": settings.shown_path,
        "dtype": settings.dtype or "",
        "start_token": settings.start_token.text if settings.start_token else "",
        "limited": run.manifest.limits(),
    }


def of_run(run: RunFacts, **keys: str) -> dict[str, dict[str, str]]:
    """The fields of a table that is of one run alone; `keys` are further ones of its lines in tidy files."""
    return {"keys": {"run": run.label, "model": run.model, **keys}, "about": about(run)}


@dataclass(frozen=True, slots=True)
class TableName:
    """How a run's tables are called."""

    of: str  # in captions: the model, and the run too where several are of one model
    label: str  # to refer to it by, [a-z0-9-]+


class NamedRun(Protocol):
    """A run with its label and the name of its model."""

    @property
    def label(self) -> str:
        """As reports call it."""

    @property
    def model(self) -> str:
        """The model's name."""


def table_names(first: str, runs: Sequence[NamedRun]) -> dict[str, TableName]:
    """What the tables of each run are called, by the run's label; `first` begins their labels.

    Captions of the runs `a` and `b` of gpt2 are of "gpt2 (run a)" and "gpt2 (run b)".
    """
    names, models = last_names([run.label for run in runs]), [run.model for run in runs]
    of = [f"{run.model} (run {names[run.label]})" if models.count(run.model) > 1 else run.model for run in runs]
    labels = table_labels(first, [run.label for run in runs])
    return {run.label: TableName(*called) for run, *called in zip(runs, of, labels, strict=True)}


def table_labels(first: str, names: Sequence[str]) -> Iterable[str]:
    """A label for each name, `first` in front, in [a-z0-9-]; names that would have the same one get a number."""
    taken: set[str] = set()
    for name in names:
        plain = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
        label = base = f"{first}-{plain}" if plain else first
        number = 2
        while label in taken:
            label, number = f"{base}-{number}", number + 1
        taken.add(label)
        yield label
