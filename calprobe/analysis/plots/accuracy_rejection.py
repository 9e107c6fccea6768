"""Accuracy-rejection curves: by threshold with the thresholds named, by rank with bands, votes as points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calprobe.analysis.curves.results import AccuracyRejection, RejectionLine, VoteLine
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Group, Series, group_lines, run_styles, short_names
from calprobe.analysis.plots.labels import Label, Placing, place_labels
from calprobe.analysis.plots.style import FAINT, INK, PAGE_INCHES, SeriesStyle

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calprobe.types import Floats

REJECTED = "Share rejected, least confident first"
KEPT = "Accuracy of the rest (share correct)"
MOST_BANDS = 4  # in one panel; more cover each other
PANEL_INCHES = 2.6  # high
_VOTES = Placing(size=6.0, reach=14.0, clearance=3.0, over_lines=True)
_THRESHOLDS = Placing(size=6.0, reach=22.0, clearance=3.0, leader_from=6.0)
_VOTE = SeriesStyle(INK, "*", (0, ()))


def draw_accuracy_rejection(result: AccuracyRejection, width: float = PAGE_INCHES) -> Figure:
    """One run: a panel by threshold, with the votes, and one by rank. Several: a panel for each estimator, by rank with
    the thresholds as points, and one for the votes."""
    groups = group_lines(result.lines)
    if len({own.run for own in (*result.lines, *result.votes)}) > 1:
        return _several_runs(groups, result.votes, width)
    return _one_run(groups, result.votes, width)


def _one_run(groups: Sequence[Group[RejectionLine]], votes: Sequence[VoteLine], width: float) -> Figure:
    n_panels = 2 * max(1, len(groups))
    columns = min(2, frame.columns_for(n_panels, width))
    figure = frame.blank_figure(width, PANEL_INCHES * n_panels / columns + 0.5)
    panels = frame.panel_grid(figure, n_panels, columns)
    entries: dict[str, Artist] = {}
    for by_threshold, by_rank, group in zip(panels[::2], panels[1::2], groups, strict=False):
        for series in group.series:
            curve = series.line.by_threshold.curve
            by_threshold.plot(curve.rejected, curve.accuracy, **series.style.points())
            _draw_rank(by_rank, series, band=len(group.series) <= MOST_BANDS, marked=True)
            entries[series.name] = frame.sample(**series.style.points())
        bands = "bands: 95 % intervals" if by_rank.collections else ""
        frame.title_panel(by_threshold, "By threshold of confidence", f"numbers: thresholds of {group.series[0].name}")
        frame.title_panel(by_rank, "By rank of confidence", bands)
    for own in votes:
        entries["k paraphrases agree"] = _draw_votes(panels[0], own, _VOTE)
    runs = [own.run for group in groups for own in (series.line for series in group.series)]
    figure.suptitle(short_names(runs)[runs[0]] if runs else "")
    _finish(figure, panels, columns, entries)
    for at, group in enumerate(groups):
        if at == 0:
            place_labels(panels[0], _vote_names(votes), _VOTES)
        place_labels(panels[2 * at], _threshold_names(group), _THRESHOLDS)
    return figure


def _several_runs(groups: Sequence[Group[RejectionLine]], votes: Sequence[VoteLine], width: float) -> Figure:
    n_panels = len(groups) + bool(votes)
    columns = frame.columns_for(n_panels, width)
    figure = frame.blank_figure(width, PANEL_INCHES * -(-n_panels // columns) + 0.6)
    panels = frame.panel_grid(figure, n_panels, columns)
    entries: dict[str, Artist] = {}
    for axes, group in zip(panels, groups, strict=False):
        for series in group.series:
            _draw_rank(axes, series, band=len(group.series) <= MOST_BANDS, marked=False)
            curve, style = series.line.by_threshold.curve, series.style
            axes.plot(curve.rejected, curve.accuracy, **style.dots())
            entries[series.name] = frame.sample(**style.points())
        axes.set_title(group.title, loc="left")
    if votes:
        runs = [own.run for group in groups for own in (series.line for series in group.series)]
        styles, names = run_styles([*runs, *(own.run for own in votes)]), short_names(runs)
        for own in votes:
            _draw_votes(panels[-1], own, styles[own.run])
            entries.setdefault(names.get(own.run, own.run), frame.sample(**styles[own.run].points()))
        panels[-1].set_title("k paraphrases agree", loc="left")
    entries["threshold 0.0, 0.1, .. 1.0"] = frame.sample(**SeriesStyle(FAINT, "o", (0, ())).dots())
    _finish(figure, panels, columns, entries)
    place_labels(panels[-1], _vote_names(votes[:1]), _VOTES)
    return figure


def _finish(figure: Figure, panels: Sequence[Axes], columns: int, entries: dict[str, Artist]) -> None:
    for axes in panels:
        frame.share_axis(axes, "both")
    frame.outer_labels(panels, columns, REJECTED, KEPT)
    frame.legend_below(figure, entries)
    frame.fix_layout(figure)


def _draw_rank(axes: Axes, series: Series[RejectionLine], band: bool, marked: bool) -> None:
    """The exact curve. Some of its points are marked, to be told apart in grey; all where ties leave few of them."""
    curve, grid, style = series.line.by_rank, series.line.band, series.style
    if band and np.isfinite(grid.low).any():
        axes.fill_between(grid.x, grid.low, grid.high, color=style.color, alpha=0.13, linewidth=0)
    every = None if len(curve.rejected) < len(grid.x) / 2 else 0.1
    axes.plot(curve.rejected, curve.accuracy, **(style.points() if marked else style.line()), markevery=every)


def _draw_votes(axes: Axes, own: VoteLine, style: SeriesStyle) -> Artist:
    curve = own.votes.curve
    frame.interval_bars(axes, curve.rejected, own.votes.low, own.votes.high, style.color)
    axes.plot(curve.rejected, curve.accuracy, **style.dots(), markersize=6)
    return frame.sample(**style.dots(), markersize=6)


def _vote_names(votes: Sequence[VoteLine]) -> list[Label]:
    return [
        Label(f"k={k:.0f}", x, y)
        for own in votes
        for k, x, y in _defined(own.votes.curve.threshold, own.votes.curve.rejected, own.votes.curve.accuracy)
    ]


def _defined(*columns: Floats) -> list[tuple[float, ...]]:
    """The points whose numbers are all there."""
    return [point for point in zip(*(own.tolist() for own in columns), strict=True) if all(map(math.isfinite, point))]


def _threshold_names(group: Group[RejectionLine]) -> list[Label]:
    """Thresholds by the points of the first series; the others' follow in the same order, and would crowd it."""
    return [
        Label(f"{threshold:.1f}", x, y, series.style.color)
        for series in group.series[:1]
        for curve in (series.line.by_threshold.curve,)
        for threshold, x, y in _defined(curve.threshold, curve.rejected, curve.accuracy)
    ]
