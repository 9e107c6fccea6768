"""The tables of an overview: models side by side under each task, what is missing, and a matrix of models by tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from calprobe.analysis.asked.compared import AskedComparison
from calprobe.analysis.overview import Overview, TaskOverview, TaskRun
from calprobe.analysis.tables.asked.compared import compared_tables
from calprobe.analysis.tables.comparison import comparison_tables, pair_tables
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.messages import counted
from calprobe.metrics import ACCURACY
from calprobe.metrics.error_shown import chance_shown, with_chance

OF = (
    "of: the estimator that the numbers of a row are of; accuracy is that of the answers which its confidence speaks "
    "of. Of several sets or variants the mean over these is shown, without an interval and without p."
)


OTHERS = ("brier", "auroc")  # metrics behind the calibration error
BY_CHANCE = (  # what chance makes of the error of a row
    Column("if cal.", keys={"metric": "if_calibrated"}, ranked=False, priority=3),
    Column("p", keys={"metric": "p"}, ranked=False, priority=3),
)


def overview_tables(found: Overview) -> tuple[Table, ...]:
    """The sides of all tasks, and what is missing; without the comparisons."""
    return (sides_table(found), *missing_tables(found))


def sides_table(found: Overview) -> Table:
    """A row a run, grouped by task."""
    runs = sum(len(task.sides) for task in found.tasks)
    missing = len(list(found.missing))
    state = f"{counted(runs, 'run')} of {counted(len(found.tasks), 'task')}"
    state += f"; {missing:,} missing, see below" if missing else ""
    return Table(
        caption="Runs by task.",
        label="overview",
        stub="model",
        kind="overview",
        columns=(
            Column("n", keys={"metric": "n"}, ranked=False, priority=5),
            Column.of(replace(ACCURACY, priority=1)),
            *(Column.of(replace(metric, priority=2)) for metric in found.metrics if metric.name in found.errors),
            *(BY_CHANCE if found.chance else ()),
            *(Column.of(replace(metric, priority=4)) for metric in found.metrics if metric.name in OTHERS),
            Column("of", keys={"metric": "of"}, ranked=False, priority=6),
        ),
        rows=tuple(_row(side, task, found) for task in found.tasks for side in task.sides),
        heading=(f"{found.title}: {state}",),
        notes=(OF, *side_notes(found)),
        best_within="group",
        best_of=" within its task",
        directions=True,
    )


def side_notes(found: Overview) -> Iterator[str]:
    """What part of its questions a task is of, and which variants the means leave out."""
    for task in found.tasks:
        if task.about:
            yield f"{task.name}: {task.about}."
        if left_out := dict.fromkeys(variant for side in task.sides for variant in side.left_out):
            yield (f"{task.name}: means leave out {', '.join(left_out)}, of another form of reply or order of options.")


def _row(side: TaskRun, task: TaskOverview, found: Overview) -> Row:
    notes = [
        *([side.model] if side.model != side.label else []),
        *(["PARTIAL"] if side.partial else []),
        *([f"{counted(side.failed, 'request')} failed"] if side.failed else []),
    ]
    of_error, *by_chance = (side.metrics[name] for name in with_chance(task.error))
    small = chance_shown(side.questions, found.resampling)
    known = (None if math.isnan(own.value) or not small else own.value for own in by_chance)
    cells: tuple[Cell, ...] = (
        side.n,
        side.accuracy,
        *(of_error if error == task.error else None for error in found.errors),
        *(known if found.chance else ()),
        *(side.metrics[metric.name] for metric in found.metrics if metric.name in OTHERS),
        side.of,
    )
    return Row(
        side.label,
        cells,
        group=task.name,
        note=", ".join(notes),
        keys={"task": task.name, "run": side.path, "model": side.model},
        ranked=not side.partial,
        coverage=(_coverage(side, task),) * len(cells),
    )


def _coverage(side: TaskRun, task: TaskOverview) -> float:
    """The share of the most that a run of the task has: who answers less cannot be the best."""
    return side.n / max(1, *(other.n for other in task.sides))


def missing_tables(found: Overview) -> Iterator[Table]:
    """A row for each run that is not there, with the reason; no table where all are."""
    rows = tuple(
        Row(label, (why.splitlines()[0] if why else "-",), group=task, keys={"task": task, "run": label})
        for task, label, why in found.missing
    )
    if rows:
        yield Table(
            caption="Missing runs.",
            label="missing",
            stub="model",
            kind="missing",
            columns=(Column("why", keys={"quantity": "why"}, ranked=False),),
            rows=rows,
            heading=("Missing",),
            best_within=None,
            tidy=False,
        )


def matrix_tables(found: Overview) -> Iterator[Table]:
    """Models by tasks, of accuracy and of the calibration error; nothing of a single task."""
    if len(found.tasks) < 2:
        return
    labels = dict.fromkeys(side.label for task in found.tasks for side in task.sides)
    titles = {metric.name: metric.title for metric in found.metrics}
    several = len(found.errors) > 1
    error = "Calibration error" if several else titles[found.errors[0]]
    for what, name in ((ACCURACY.title.capitalize(), None), (error, "error")):
        yield Table(
            caption=f"{what} of each model on each task.",
            label=f"overview-{name or ACCURACY.name}",
            stub="model",
            columns=tuple(
                Column(
                    f"{task.name}, {titles[task.error]}" if several and name else task.name,
                    "smaller" if name else "larger",
                    keys={"task": task.name, "metric": task.error if name else ACCURACY.name},
                )
                for task in found.tasks
            ),
            rows=tuple(
                Row(label, tuple(_cell(task, label, task.error if name else None) for task in found.tasks))
                for label in labels
            ),
            best_within=None,
            intervals=False,
            tidy=False,
        )


def _cell(task: TaskOverview, label: str, error: str | None) -> Cell:
    """Accuracy, or a calibration error, of one run of a task."""
    side = next((side for side in task.sides if side.label == label), None)
    if side is None:
        return None
    return side.accuracy if error is None else side.metrics[error]


def difference_tables(task: TaskOverview, *, in_files: bool = False) -> tuple[Table, ...]:
    """The comparison of a task's runs, as `calprobe compare` prints it; none where there is no comparison."""
    if task.comparison is None:
        return ()
    if isinstance(task.comparison, AskedComparison):
        found = compared_tables(task.comparison)
    else:
        found = comparison_tables(task.comparison) if in_files else pair_tables(task.comparison)
    return tuple(replace(table, keys={"task": task.name, **table.keys}) for table in found)
