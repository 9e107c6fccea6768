"""Which lines share a panel: those of one run, or of one estimator; which panels stand in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from calprobe.show.palette import MAX_SERIES
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import OfRun, run_names
from calprobe.show.plots.style import SeriesStyle, series_styles, style_at

Own = TypeVar("Own", bound=OfRun)


@dataclass(frozen=True, slots=True)
class Series(Generic[Own]):
    """A line with its name in the legend and its style."""

    name: str
    style: SeriesStyle
    line: Own


@dataclass(frozen=True, slots=True)
class Group(Generic[Own]):
    """The series of one panel."""

    title: str
    series: tuple[Series[Own], ...]


def group_lines(lines: Sequence[Own], look: Look = DEFAULT_LOOK, most: int = MAX_SERIES) -> list[Group[Own]]:
    """The panels of these lines: of one run, a panel of its estimators; of several, a panel for each estimator.

    A panel of more than `most` series goes on in further panels: of several runs, in a row of panels for each `most`
    runs. Their styles do not repeat.
    """
    runs, estimators = distinct([line.run for line in lines]), distinct([line.estimator for line in lines])
    names = run_names(lines, look)
    if len(runs) == 1:
        styles = series_styles(estimators)
        series = [Series(line.estimator, styles[line.estimator], line) for line in lines]
        return [Group(names[runs[0]], tuple(series[at : at + most])) for at in range(0, len(series), most)]
    of_runs = run_styles(runs)
    groups = []
    for start in range(0, len(runs), most):
        chosen = runs[start : start + most]
        for name in estimators:
            panel_lines = [line for line in lines if line.estimator == name and line.run in chosen]
            groups.append(Group(name, tuple(Series(names[line.run], of_runs[line.run], line) for line in panel_lines)))
    return [group for group in groups if group.series]


def run_rows(lines: Sequence[Own]) -> dict[str, list[Own]]:
    """The lines of each run, a panel each in a row of its own; an estimator keeps its place."""
    estimators = distinct([line.estimator for line in lines])
    rows: dict[str, list[Own]] = {line.run: [] for line in lines}
    for line in sorted(lines, key=lambda line: estimators.index(line.estimator)):
        rows[line.run].append(line)
    return rows


def run_styles(runs: Sequence[str]) -> Mapping[str, SeriesStyle]:
    """A style for each run, by its place."""
    return {run: style_at(at) for at, run in enumerate(dict.fromkeys(runs))}


def distinct(names: Sequence[str]) -> list[str]:
    """The names, each once, in their order."""
    return list(dict.fromkeys(names))
