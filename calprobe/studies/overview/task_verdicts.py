"""The verdict on each task of an overview: what its runs' confidences are worth, and which run is the most accurate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
PRINTED = 5e-5  # a table has four digits
MEAN, OF_PARAPHRASES = "mean accuracy", "mean accuracy over paraphrases"  # the accuracy of the table is of one template
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
            runs.setdefault(side.verdict, []).append(f"{side.label} (partial)" if side.partial else side.label)
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
    pairs = _accuracies(task)
    best = next((side.label for side in task.sides if _leads(side.label, pairs, task)), None)
    if best is None or len({pair.of for pair in pairs}) > 1:
        return
    what = _what(pairs, task)
    if what == ACCURACY.name and any(side.accuracy.value > _in_table(best, task) + PRINTED for side in task.sides):
        return  # in the table, which has all rows and not only those that both runs of a pair have, another run leads
    n_runs = len(task.sides)
    if len(pairs) == n_runs * (n_runs - 1) // 2 and not any(pair.is_told_anywhere for pair in pairs):
        yield f"They cannot be told apart by {what}."
        return
    rivals = {pair.rival(best): pair for pair in pairs if best in pair.values}
    alike = [rival for rival, pair in rivals.items() if not pair.is_told_anywhere]
    at_times = [rival for rival, pair in rivals.items() if pair.is_told_anywhere and not pair.is_told(best)]
    clauses = [f"from which {_named(alike)} cannot be told"] if alike else []
    if at_times:
        clauses.append(f"from which {_named(at_times)} can be told under some {rivals[at_times[0]].under} alone")
    yield f"Largest {what}: {', '.join([best, ' and '.join(clauses)] if clauses else [best])}."


def _leads(label: str, pairs: Sequence[_Accuracies], task: TaskOverview) -> bool:
    """Whether a run was compared with all others, and is no less accurate than any on the rows that both have."""
    leads = {pair.rival(label): pair.lead(label) for pair in pairs if label in pair.values}
    others = {side.label for side in task.sides} - {label}
    return bool(leads) and leads.keys() == others and min(leads.values()) >= 0


def _what(pairs: Sequence[_Accuracies], task: TaskOverview) -> str:
    """What the accuracy is called: by its reader where the table has the accuracy of other answers."""
    values = [(label, value) for pair in pairs for label, value in pair.values.items()]
    same = all(abs(value - _in_table(label, task)) < PRINTED for label, value in values)
    of, reader = pairs[0].of, pairs[0].reader
    return of if same or not reader else f"{of} by {reader}"


def _in_table(label: str, task: TaskOverview) -> float:
    return next(side.accuracy.value for side in task.sides if side.label == label)


@dataclass(frozen=True, slots=True)
class _Accuracies:
    """Two runs by accuracy, under each of the usual variants that both have."""

    of: str  # what the accuracy is called
    reader: str  # of replies; empty: of scores
    under: str  # variants, sets or variants of sets
    values: Mapping[str, float]  # mean over these, by the two labels
    contrasts: Sequence[Contrast]

    @classmethod
    def of_pair(cls, pair: Sides) -> _Accuracies | None:
        """By the first accuracy of each cell; None where there is none, or it was not tested."""
        firsts = [
            next((contrast for contrast in cell if contrast.metric == ACCURACY.name), None) for cell in pair.cells
        ]
        contrasts = [contrast for contrast in firsts if contrast is not None and not math.isnan(contrast.p_corrected)]
        if not contrasts or len(contrasts) < len(firsts):
            return None
        values = {
            pair.first: float(np.mean([contrast.first.value for contrast in contrasts])),
            pair.second: float(np.mean([contrast.second.value for contrast in contrasts])),
        }
        of = OF_PARAPHRASES if pair.accuracy == MEAN else pair.accuracy
        return cls(of, contrasts[0].estimator or "", pair.of, values, contrasts)

    def rival(self, label: str) -> str:
        """The other run."""
        return next(other for other in self.values if other != label)

    def lead(self, label: str) -> float:
        """By how much that run is the more accurate one, in the mean."""
        return self.values[label] - self.values[self.rival(label)]

    @property
    def is_told_anywhere(self) -> bool:
        """Whether either run is the better one under any of them, by the corrected p-values."""
        return any(contrast.significant for contrast in self.contrasts)

    def is_told(self, best: str) -> bool:
        """Whether that run is the better one under each of them, likewise."""
        sign = 1 if best == next(iter(self.values)) else -1
        return all(contrast.significant and sign * contrast.difference.value > 0 for contrast in self.contrasts)


def _accuracies(task: TaskOverview) -> list[_Accuracies]:
    """The pairs of its runs that were tested; without the variants that the table leaves out of its means."""
    comparison = task.comparison
    if comparison is None:
        return []
    if isinstance(comparison, AskedComparison):
        left_out = {variant for side in task.sides for variant in side.left_out}
        usual = (
            replace(pair, cells=tuple(cell for cell in pair.cells if cell.first not in left_out))
            for pair in comparison.pairs
        )
        pairs = asked_sides(replace(comparison, pairs=tuple(usual)))
    else:
        pairs = scored_sides(comparison)
    return [of_pair for pair in pairs if (of_pair := _Accuracies.of_pair(pair)) is not None]


def _named(labels: Sequence[str]) -> str:
    """a, b and c; of many the first ones."""
    rest = len(labels) - MOST
    return listed([*labels[:MOST], counted(rest, "other")] if rest > 1 else labels)
