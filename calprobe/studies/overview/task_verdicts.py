"""The verdict on each task of an overview: what its runs' confidences are worth, and which run is the most accurate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calprobe.measures.compare_results import Contrast
from calprobe.messages import counted
from calprobe.metrics import ACCURACY
from calprobe.show.prose import listed
from calprobe.show.tables.side_by_side import Sides
from calprobe.show.verdict import APART, BALANCED, NEITHER, OVER, UNDER
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.compared_layouts import compared_sides as asked_sides
from calprobe.studies.overview.overviews import Overview, TaskOverview
from calprobe.studies.scored.glance import compared_sides as scored_sides

MOST = 6  # runs that are named at once
ORDER = (OVER, UNDER, APART, NEITHER, BALANCED)  # what needs a reader's attention comes first


def task_verdicts(found: Overview) -> Iterator[str]:
    """A few sentences on each task, in the order of the tasks; none on a task whose runs have no confidence."""
    for task in found.tasks:
        if sentences := " ".join((*_on_confidences(task), *_on_accuracy(task))):
            yield f"{task.name}: {sentences}"


def _on_confidences(task: TaskOverview) -> Iterator[str]:
    """The runs by the verdict on the confidence that stands for each."""
    runs: dict[str, list[str]] = {}
    for side in task.sides:
        if side.verdict:
            runs.setdefault(side.verdict, []).append(side.label)
    if runs:
        yield f"{'; '.join(_are(runs[verdict], verdict) for verdict in sorted(runs, key=_place))}."


def _place(verdict: str) -> int:
    """Of a verdict on several variants by the one on most of them."""
    return next((place for place, word in enumerate(ORDER) if verdict.startswith(word)), len(ORDER))


def _are(labels: Sequence[str], verdict: str) -> str:
    verb = "" if verdict.startswith(NEITHER) else "is " if len(labels) == 1 else "are "
    return f"{_named(labels)} {verb}{verdict}"


def _on_accuracy(task: TaskOverview) -> Iterator[str]:
    """The run with the largest accuracy, and those that cannot be told from it; only if it was compared with all."""
    accuracies = _accuracies(task)
    means: dict[str, list[float]] = {}
    for pair in accuracies:
        for label, values in pair.values.items():
            means.setdefault(label, []).extend(values)
    if not means:
        return
    best, what = max(means, key=lambda label: np.mean(means[label])), accuracies[0].of
    told = {rival: pair.is_told(best) for pair in accuracies for rival in pair.rivals(best)}
    if {best, *told} != {side.label for side in task.sides}:
        return
    alike = [rival for rival, is_told in told.items() if not is_told]
    if len(alike) == len(told):
        yield f"They cannot be told apart by {what}."
    elif alike:
        yield f"Largest {what}: {best}, from which {_named(alike)} cannot be told."
    else:
        yield f"Largest {what}: {best}."


@dataclass(frozen=True, slots=True)
class _Accuracies:
    """Two runs by accuracy, under each of the variants that both have."""

    of: str  # what the accuracy is called
    values: Mapping[str, Sequence[float]]  # by the two labels
    contrasts: Sequence[Contrast]

    @classmethod
    def of_pair(cls, pair: Sides) -> _Accuracies | None:
        """By the first accuracy of each cell; None where there is none."""
        contrasts = [
            next((contrast for contrast in cell if contrast.metric == ACCURACY.name), None) for cell in pair.cells
        ]
        known = [contrast for contrast in contrasts if contrast is not None]
        if not known or len(known) < len(contrasts):
            return None
        values = {
            pair.first: [contrast.first.value for contrast in known],
            pair.second: [contrast.second.value for contrast in known],
        }
        return cls(pair.accuracy, values, known)

    def rivals(self, best: str) -> list[str]:
        """The other run of a pair that has this one."""
        return [label for label in self.values if label != best] if best in self.values else []

    def is_told(self, best: str) -> bool:
        """Whether that run is the better one under each of them, by the corrected p-values."""
        sign = 1 if best == next(iter(self.values)) else -1
        return all(contrast.significant and sign * contrast.difference.value > 0 for contrast in self.contrasts)


def _accuracies(task: TaskOverview) -> list[_Accuracies]:
    found = task.comparison
    if found is None:
        return []
    pairs = asked_sides(found) if isinstance(found, AskedComparison) else scored_sides(found)
    return [of_pair for pair in pairs if (of_pair := _Accuracies.of_pair(pair)) is not None]


def _named(labels: Sequence[str]) -> str:
    """a, b and c; of many the first ones."""
    rest = len(labels) - MOST
    return listed([*labels[:MOST], counted(rest, "other")] if rest > 1 else labels)
