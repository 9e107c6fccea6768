"""The figure of an overview: each run by its accuracy and its calibration error."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calprobe.measures.number_text import number
from calprobe.metrics import Estimate
from calprobe.metrics.intervals import UNDEFINED
from calprobe.show.marks import Panel, Points, Scale, Series, Texts
from calprobe.studies.overview.overviews import Overview, TaskOverview, TaskRun

CAPTION = "Each run by its accuracy and the calibration error that its task shows, with 95 % intervals where known."


def accuracy_and_error(overview: Overview) -> Panel | None:
    """A point a run, a series a task; None where fewer than two runs have both numbers."""
    tasks = [(task, _points(task)) for task in overview.tasks]
    points = [mark for _, mark in tasks]
    if sum(len(mark.x) for mark in points) < 2:
        return None
    series = tuple(
        Series(task.name, place, (mark, _names(task, mark))) for place, (task, mark) in enumerate(tasks) if mark.x
    )
    return Panel(
        "Accuracy and calibration error",
        Scale("accuracy", "share"),
        Scale("calibration error", "zero"),
        series,
        label=CAPTION,
    )


def _points(task: TaskOverview) -> Points:
    sides = _sides(task)
    errors = tuple(_error(task, side.metrics) for side in sides)
    tips = tuple(
        f"{side.label}, {task.name}: accuracy {number(side.accuracy.value)}, {task.error.upper()} {number(error.value)}"
        for side, error in zip(sides, errors, strict=True)
    )
    return Points(tuple(side.accuracy.value for side in sides), errors, tips)


def _names(task: TaskOverview, points: Points) -> Texts:
    return Texts(points.x, tuple(error.value for error in points.values), tuple(side.label for side in _sides(task)))


def _sides(task: TaskOverview) -> list[TaskRun]:
    """The runs that have both numbers."""
    return [side for side in task.sides if not math.isnan(_error(task, side.metrics).value)]


def _error(task: TaskOverview, metrics: Mapping[str, Estimate]) -> Estimate:
    return metrics.get(task.error, UNDEFINED)
