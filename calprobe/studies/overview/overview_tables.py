"""The tables of an overview: models side by side under each task, what is missing, and a matrix of models by tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from calprobe.cells.asked_extent import NOT_A_SAMPLE
from calprobe.messages import counted
from calprobe.metrics import ACCURACY, Estimate, Metric
from calprobe.metrics.error_shown import chance_shown, with_chance
from calprobe.show.tables.comparison import comparison_tables, pair_tables
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, Numbers, cells, metrics, quantity
from calprobe.show.tables.types import Better, Cell, Column, Row, Table, unless_nan
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.compared_layouts import compared_tables
from calprobe.studies.overview.overviews import Overview, TaskOverview, TaskRun

OF = (
    "of: the estimator of confidence that is measured; accuracy is that of the answers which it is about. Of several "
    "sets or variants the mean over these is shown, without an interval and without p."
)


OTHERS = ("brier", "auroc")  # metrics behind the calibration error


@dataclass(frozen=True, slots=True)
class _Side:
    """A run among those of its task, with what chance makes of its error, as a mean and as p."""

    run: TaskRun
    task: TaskOverview
    by_chance: tuple[Cell, Cell]

    @property
    def error(self) -> Mapping[str, Estimate]:
        """The calibration error that stands for the task."""
        return {self.task.error: self.run.metrics[self.task.error]}


def _by_chance(found: Overview) -> tuple[Cells[_Side], ...]:
    """What chance makes of the errors. On a narrow terminal p alone, which is the error's and not the verdict's."""
    error = found.errors[0].upper() if len(found.errors) == 1 else "error"
    return (
        cells("if cal.", "if_calibrated", lambda side: side.by_chance[0], ranked=False, priority=9),
        cells(f"{error} p", "p", lambda side: side.by_chance[1], ranked=False, priority=3),
    )


def overview_tables(found: Overview) -> tuple[Table, ...]:
    """The sides of all tasks, and what is missing; without the comparisons."""
    return (sides_table(found), *missing_tables(found))


def sides_table(found: Overview) -> Table:
    """A row a run, grouped by task."""
    runs = sum(len(task.sides) for task in found.tasks)
    missing = sum(len(task.missing) for task in found.tasks)
    state = f"{counted(runs, 'run')} of {counted(len(found.tasks), 'task')}"
    state += f"; {missing:,} missing, see below" if missing else ""
    columns = (
        cells("n", "n", lambda side: side.run.n, ranked=False, priority=5),
        *metrics([replace(ACCURACY, priority=1)], lambda side: {ACCURACY.name: side.run.accuracy}),
        cells("conf - acc", "confidence_gap", lambda side: side.run.gap, ranked=False, priority=2),
        *metrics(_errors(found), lambda side: side.error),
        *(_by_chance(found) if found.chance else ()),
        *metrics([metric for metric in found.metrics if metric.name in OTHERS], lambda side: side.run.metrics),
        cells("of", "of", lambda side: side.run.of, ranked=False, priority=6),
    )
    return Layout[_Side]("Runs by task.", "overview", "model", _head, columns, (OF,), kind="overview").table(
        _sides(found),
        *side_notes(found),
        heading=(state if found.title == counted(runs, "run") else f"{found.title}: {state}",),
        best_within="group",
        best_of=" within its task",
        directions=True,
    )


def _errors(overview: Overview) -> Iterator[Metric]:
    """The calibration errors that stand for a task, which get room alike on a narrow terminal."""
    return (replace(metric, priority=2) for metric in overview.metrics if metric.name in overview.errors)


def _sides(overview: Overview) -> Iterator[_Side]:
    for task in overview.tasks:
        _, size, p = with_chance(task.error)
        for run in task.sides:
            small = chance_shown(run.questions, overview.resampling)
            values = (run.metrics[name].value if small else math.nan for name in (size, p))
            first, second = map(unless_nan, values)
            yield _Side(run, task, (first, second))


def partial_note(found: Overview) -> Iterator[str]:
    """What the numbers of runs that are not finished are of."""
    if any(side.partial for task in found.tasks for side in task.sides):
        yield f"PARTIAL: the questions or relations that are there are {NOT_A_SAMPLE}."


def side_notes(found: Overview) -> Iterator[str]:
    """What part of its questions a task is of, and which variants the means leave out."""
    yield from partial_note(found)
    for task in found.tasks:
        if task.about:
            yield f"{task.name}: {task.about}."
        if left_out := dict.fromkeys(variant for side in task.sides for variant in side.left_out):
            yield (f"{task.name}: means leave out {', '.join(left_out)}, of another form of reply or order of options.")


def _head(side: _Side) -> Row:
    run, task = side.run, side.task
    notes = [
        *([run.model] if run.model != run.label else []),
        *(["PARTIAL"] if run.partial else []),
        *([f"{counted(run.failed, 'request')} failed"] if run.failed else []),
    ]
    # The share of the most that a run of the task has: who answers less cannot be the best.
    share = run.n / max(1, *(rival.n for rival in task.sides))
    keys = {"task": task.name, "run": run.path, "model": run.model}
    return Row(run.label, group=task.name, note=", ".join(notes), keys=keys, ranked=not run.partial, coverage=(share,))


def missing_tables(found: Overview) -> Iterator[Table]:
    """A row for each run that is not there, with the reason; no table where all are."""
    rows = [
        Numbers(
            Row(label, group=task.name, keys={"task": task.name, "run": label}),
            {"why": why.splitlines()[0] if why else "-"},
        )
        for task in found.tasks
        for label, why in task.missing.items()
    ]
    if rows:
        yield MISSING.table(rows)


MISSING = Layout[Numbers](
    "Missing runs.",
    "missing",
    "model",
    lambda row: row.head,
    (quantity("why", lambda row: row.cells["why"], ranked=False),),
    kind="missing",
    more={**UNRANKED, "heading": ("Missing",), "tidy": False},
)


def matrix_tables(found: Overview) -> Iterator[Table]:
    """Models by tasks, of accuracy and of the calibration error; nothing of a single task."""
    if len(found.tasks) < 2:
        return
    labels = dict.fromkeys(side.label for task in found.tasks for side in task.sides)
    titles = {metric.name: metric.title for metric in found.metrics}
    mixed = len(found.errors) > 1
    error = "Calibration error" if mixed else titles[found.errors[0]]
    accuracies = [_of_task(task, task.name, ACCURACY.name, "larger") for task in found.tasks]
    errors = [
        _of_task(task, f"{task.name}, {titles[task.error]}" if mixed else task.name, task.error, "smaller")
        for task in found.tasks
    ]
    for title, name, columns in ((ACCURACY.title.capitalize(), ACCURACY.name, accuracies), (error, "error", errors)):
        yield Layout[str](
            f"{title} of each model on each task.",
            f"overview-{name}",
            "model",
            Row,
            columns,
            more={**UNRANKED, "intervals": False, "tidy": False},
        ).table(labels)


def _of_task(task: TaskOverview, title: str, metric: str, better: Better) -> Cells[str]:
    """The column of a task: by model, accuracy or a calibration error."""
    numbers = {side.label: {ACCURACY.name: side.accuracy, **side.metrics}[metric] for side in reversed(task.sides)}
    return Cells(Column(title, better, keys={"task": task.name, "metric": metric}), numbers.get)


def difference_tables(task: TaskOverview, *, in_files: bool = False) -> tuple[Table, ...]:
    """The comparison of a task's runs, as `calprobe compare` prints it; none where there is no comparison."""
    if task.comparison is None:
        return ()
    if isinstance(task.comparison, AskedComparison):
        tables = compared_tables(task.comparison)
    else:
        tables = comparison_tables(task.comparison) if in_files else pair_tables(task.comparison)
    return tuple(replace(table, keys={"task": task.name, **table.keys}) for table in tables)
