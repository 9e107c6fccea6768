"""What every table says of a run: how it was made and whether it is whole; and names to refer to tables by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from calprobe.analysis.scored_run import RunFacts
from calprobe.analysis.terminal import heading
from calprobe.wording import counted


def heading_lines(run: RunFacts) -> tuple[str, ...]:
    """The lines of `calprobe.analysis.terminal.heading` as plain text."""
    return tuple(line.plain for line in heading(run))


def about(run: RunFacts) -> dict[str, str]:
    """How a run was made, for each line of a tidy file."""
    settings = run.manifest.settings
    return {
        "probe": run.manifest.probe.name,
        "partial": "true" if run.partial else "false",
        "path": settings.path,
        "dtype": settings.dtype or "",
        "start_token": settings.start_token.text if settings.start_token else "",
    }


def scope(run: RunFacts) -> str:
    """The instances that numbers are of; says it where they are not all."""
    size = f"{counted(run.instances, 'instance')} in {counted(run.relations, 'relation')}"
    return f"{size} ({partial(run)})" if run.partial else size


def partial(run: RunFacts) -> str:
    """How much of a partial run there is."""
    return f"partial run, {run.relations} of {len(run.manifest.relations)} relations"


def best_note(of: str) -> str:
    """What is marked as the best."""
    return f"Bold: the best of its column{of}, by what is printed; not where all are alike."


def sentence(text: str) -> str:
    """A remark as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def short_names(labels: Sequence[str]) -> dict[str, str]:
    """The last name of each run's path, where all of these differ; else the labels themselves."""
    names = {label: PurePath(label).name or label for label in labels}
    return names if len(set(names.values())) == len(names) else {label: label for label in labels}


def table_labels(first: str, names: Sequence[str]) -> Iterable[str]:
    """A label for each name, `first` in front, in [a-z0-9-]; names that would have the same one get a number."""
    taken: set[str] = set()
    for name in names:
        plain = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
        label = wanted = f"{first}-{plain}" if plain else first
        number = 2
        while label in taken:
            label, number = f"{wanted}-{number}", number + 1
        taken.add(label)
        yield label
