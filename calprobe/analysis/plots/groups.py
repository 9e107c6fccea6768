"""Which lines share a panel: those of one run, or of one estimator, at most as many as there are styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from calprobe.analysis.palette import MAX_SERIES
from calprobe.analysis.plots.style import SeriesStyle, series_styles, shortened, style_at

NAME_WIDTH = 28  # characters of a run's name in legends and titles


class OfRun(Protocol):
    """What belongs to an estimator of a run."""

    @property
    def run(self) -> str:
        """The run as typed."""

    @property
    def estimator(self) -> str:
        """The estimator's name."""


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


def group_lines(lines: Sequence[Own]) -> list[Group[Own]]:
    """The panels of these lines: of one run, one panel of its estimators; of several, a panel for each estimator.

    A panel of more than MAX_SERIES series goes on in further panels.
    """
    runs, estimators = _distinct([line.run for line in lines]), _distinct([line.estimator for line in lines])
    names = short_names(runs)
    if len(runs) == 1:
        styles = series_styles(estimators)
        return _chunked(names[runs[0]], [Series(own.estimator, styles[own.estimator], own) for own in lines])
    styles = run_styles(runs)
    return [
        group
        for name in estimators
        for group in _chunked(
            name, [Series(names[own.run], styles[own.run], own) for own in lines if own.estimator == name]
        )
    ]


def each_line(lines: Sequence[Own]) -> list[Group[Own]]:
    """A panel for each line, titled with what tells it from the others; an estimator keeps its style."""
    runs = _distinct([line.run for line in lines])
    names = short_names(runs)
    styles = series_styles(_distinct([line.estimator for line in lines]))
    return [
        Group(
            line.estimator if len(runs) == 1 else f"{names[line.run]}\n{line.estimator}",
            (Series(line.estimator, styles[line.estimator], line),),
        )
        for line in lines
    ]


def run_styles(runs: Sequence[str]) -> dict[str, SeriesStyle]:
    """A style for each run, by its place."""
    return {run: style_at(at) for at, run in enumerate(dict.fromkeys(runs))}


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Each name by its short form: in NAME_WIDTH characters, or as many more as it takes to tell them apart.

    >>> short_names(["gpt2", "runs/" + "a" * 40])
    {'gpt2': 'gpt2', 'runs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 'runs/aaaaaaaa…aaaaaaaaaaaaaa'}
    """
    width = NAME_WIDTH
    while len({shortened(name, width) for name in names}) < len(set(names)):
        width += 4
    return {name: shortened(name, width) for name in names}


def only_run(lines: Sequence[OfRun]) -> str | None:
    """The short name of the run that all lines are of; None if they are of several."""
    runs = _distinct([line.run for line in lines])
    return short_names(runs)[runs[0]] if len(runs) == 1 else None


def _chunked(title: str, series: list[Series[Own]]) -> list[Group[Own]]:
    parts = [tuple(series[start : start + MAX_SERIES]) for start in range(0, len(series), MAX_SERIES)]
    if len(parts) == 1:
        return [Group(title, parts[0])]
    return [Group(f"{title} ({at} of {len(parts)})", part) for at, part in enumerate(parts, 1)]


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
