"""How tables name runs and are named themselves, and what tidy files say of how a run was made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from calprobe.analysis.scored_run import RunFacts


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
