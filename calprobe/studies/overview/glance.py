"""An overview at a glance: a verdict on each task, then its runs side by side."""

from __future__ import annotations

from dataclasses import replace

from calprobe.messages import counted
from calprobe.show.tables.layout import UNRANKED
from calprobe.show.tables.shorter import FEW
from calprobe.show.tables.types import Table
from calprobe.studies.overview.overview_tables import OF, missing_tables, sides_table
from calprobe.studies.overview.overviews import Overview
from calprobe.studies.overview.task_verdicts import task_verdicts

TOLD = 3  # tasks in words, on one screen


def overview_at_a_glance(
    found: Overview, page: str = "--html", numbers: str = "--format markdown"
) -> tuple[Table, ...]:
    """The verdict on each task and its sides, for a terminal: of many runs without intervals, and with few notes.

    Args:
        found: the tasks.
        page: what has the verdict on every task: an option, or a file that was written.
        numbers: what says of which part of its questions a task is, likewise.
    """
    sides = sides_table(found)
    sentences = list(task_verdicts(found, differences=len(found.tasks) <= TOLD))
    more = [f"{counted(len(sentences) - TOLD, 'more task')} below; {page} tells of each."] * (len(sentences) > TOLD)
    heading = (*sides.heading, *sentences[:TOLD], *more)
    verdict = Table("", "verdict", "", (), (), heading=heading, **UNRANKED)
    few = len(sides.rows) <= FEW
    left_out = dict.fromkeys(v for task in found.tasks for side in task.sides for v in side.left_out)
    notes = [OF]
    if any(task.about for task in found.tasks):
        notes.append(f"Some tasks are asked in part; {numbers} says which, and of how many questions.")
    if left_out:
        notes.append(f"Means leave out {', '.join(left_out)}, of another form of reply or order of options.")
    first = sides if few else replace(sides, intervals=False, notes=tuple(notes))
    return (verdict, replace(first, heading=(), caption=""), *missing_tables(found))
