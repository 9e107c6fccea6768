"""An overview at a glance: a verdict on each task, then its runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calprobe.messages import counted
from calprobe.show.prose import listed
from calprobe.show.tables.layout import UNRANKED
from calprobe.show.tables.shorter import FEW
from calprobe.show.tables.side_by_side import differences_told
from calprobe.show.tables.types import Table
from calprobe.show.verdict import APART, BALANCED, NEITHER, OVER, UNDER
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.compared_layouts import compared_sides as asked_sides
from calprobe.studies.overview.overview_tables import OF, missing_tables, partial_note, sides_table
from calprobe.studies.overview.overviews import Overview, TaskOverview
from calprobe.studies.scored.glance import compared_sides as scored_sides

TOLD = 3  # tasks in words, on one screen
MOST = 6  # runs that are named at once
ORDER = (OVER, UNDER, APART, NEITHER, BALANCED)  # what needs a reader's attention comes first


def overview_at_a_glance(found: Overview, page: str = "--html") -> tuple[Table, ...]:
    """The verdict on each task and its sides, for a terminal: of many runs without intervals, and with few notes.

    Args:
        found: the tasks.
        page: what has the verdict on every task, and of which part of its questions it is: an option, or a file.
    """
    sides = sides_table(found)
    sentences = list(task_verdicts(found, differences=len(found.tasks) <= TOLD))
    more = [f"{counted(len(sentences) - TOLD, 'more task')} below; {page} tells of each."] * (len(sentences) > TOLD)
    heading = (*sides.heading, *sentences[:TOLD], *more)
    verdict = Table("", "verdict", "", (), (), heading=heading, **UNRANKED)
    few = len(sides.rows) <= FEW
    left_out = dict.fromkeys(v for task in found.tasks for side in task.sides for v in side.left_out)
    notes = [OF, *partial_note(found)]
    if any(task.about for task in found.tasks):
        notes.append(f"Some tasks are asked in part; {page} says which, and of how many questions.")
    if left_out:
        notes.append(f"Means leave out {', '.join(left_out)}, of another form of reply or order of options.")
    first = sides if few else replace(sides, intervals=False, notes=tuple(notes))
    shown = (replace(first, heading=(), caption=""),) if sides.rows else ()
    return (verdict, *shown, *missing_tables(found))


def task_verdicts(found: Overview, *, differences: bool = True) -> Iterator[str]:
    """A few sentences on each task, in the order of the tasks; none on a task whose runs have no confidence.

    Without differences, they are of confidences alone.
    """
    for task in found.tasks:
        told = (*_on_confidences(task), *_warnings(task), *(_on_differences(task) if differences else ()))
        if told:
            yield f"{task.name}: {' '.join(told)}"


def _on_confidences(task: TaskOverview) -> Iterator[str]:
    """The runs by the verdict on the confidence that stands for each."""
    runs: dict[str, list[str]] = {}
    for side in task.sides:
        if side.judged:
            apart = ", ".join(filter(None, ("partial" if side.partial else "", side.judged.few)))
            runs.setdefault(side.judged.verdict, []).append(f"{side.label} ({apart})" if apart else side.label)
    if runs:
        yield f"{'; '.join(_are(runs[verdict], verdict) for verdict in sorted(runs, key=_place))}."


def _warnings(task: TaskOverview) -> Iterator[str]:
    """What a reader of the verdict on a run has to know of it."""
    for side in task.sides:
        yield from (f"Warning: {side.label}, {clause.removesuffix('.')}." for clause in side.warnings)


def _place(verdict: str) -> int:
    """Of a verdict on several variants by the one on most of them."""
    return next((place for place, word in enumerate(ORDER) if verdict.startswith(word)), len(ORDER))


def _are(labels: Sequence[str], verdict: str) -> str:
    verb = "" if verdict.startswith((NEITHER, BALANCED)) else "is " if len(labels) == 1 else "are "
    return f"{_named(labels)} {verb}{verdict}"


def _on_differences(task: TaskOverview) -> Iterator[str]:
    """What `compare` says of two runs; of more it compares some with some, which says little of all."""
    comparison = task.comparison
    if comparison is None:
        return
    pairs = asked_sides(comparison) if isinstance(comparison, AskedComparison) else scored_sides(comparison)
    if len(task.sides) == 2 and len(pairs) == 1:
        yield differences_told(replace(pairs[0], letters=(pairs[0].first, pairs[0].second)), comparison)


def _named(labels: Sequence[str]) -> str:
    """a, b and c; of many the first ones."""
    rest = len(labels) - MOST
    return listed([*labels[:MOST], counted(rest, "other")] if rest > 1 else labels)
