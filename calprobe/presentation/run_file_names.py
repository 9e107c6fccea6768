"""What figures call runs: in the names of their files, and in themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calprobe.measures.run_names import MayBePart

JOINT = "runs"  # in place of a run's name, in figures of several runs
NAME_WIDTH = 100  # most characters of a run in a file's name: file systems allow 255 bytes


def names_of_runs(runs: Iterable[MayBePart], labels: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a `Look` that name the runs: the labels they were given, and which are not of everything."""
    listed = list(runs)
    return {
        "labels": labels,
        "limited": frozenset(run.label for run in listed if run.limited),
        "partial": frozenset(run.label for run in listed if run.partial),
    }


def file_names(labels: Sequence[str]) -> dict[str, str]:
    """The name of each run in file names: its label, with a dash for each character that is not safe in a file name.

    Names of two runs differ in more than upper and lower case.

    >>> file_names(["runs/gpt2-bear/", "../my run", "../My run"])
    {'runs/gpt2-bear/': 'runs-gpt2-bear', '../my run': 'my-run', '../My run': 'My-run-2'}
    """
    taken, names = {JOINT}, {}
    for label in labels:
        plain = re.sub(r"[^\w.-]+", "-", label, flags=re.ASCII)[-NAME_WIDTH:].strip(".-") or "run"
        choices = (plain, *(f"{plain}-{at}" for at in range(2, len(labels) + 2)))
        names[label] = next(choice for choice in choices if choice.lower() not in taken)
        taken.add(names[label].lower())
    return names
