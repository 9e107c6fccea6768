"""The figure of accuracy-rejection curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from calprobe.arrays import Floats
from calprobe.curves.accuracy_rejection import AccuracyRejection, Band, RejectionLine, VoteLine
from calprobe.metrics import RejectionCurve
from calprobe.show.plots import frame
from calprobe.show.plots.groups import Group, Series, distinct, group_lines, run_styles
from calprobe.show.plots.label_places import Label, Placing, place_labels
from calprobe.show.plots.look import DEFAULT_LOOK, PAGE_INCHES, Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import FAINT, INK, SeriesStyle

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REJECTED = "Share rejected, least confident first"
KEPT = "Accuracy of the rest"
MOST_LINES = 4  # in one panel; bands of more cover each other
FEWEST = 10  # facts kept: with fewer, curves are the noise of the last facts, and are not drawn
PANEL_INCHES = 2.5  # high
LEAST_INCHES = 1.9  # wide
NUMBER_POINTS = 14.0  # between two thresholds that are numbered
_VOTES = Placing(size=6.5, reach=14.0, clearance=3.0, over_lines=True)
_THRESHOLDS = Placing(size=6.5, reach=12.0, clearance=3.0)
_VOTE = SeriesStyle(INK, "*", (0, ()))


def draw_accuracy_rejection(result: AccuracyRejection, look: Look = DEFAULT_LOOK) -> Figure:
    """One run: a panel by threshold, with the votes, and one by rank. Several: a panel for each estimator, by rank with
    the thresholds as points, and one for the votes; these again for each MOST_LINES runs. So are uncertainties of one
    run, which have no thresholds."""
    uncertain = bool(result.lines) and not any(map(_has_thresholds, result.lines)) and not result.votes
    if uncertain or len({line.run for line in (*result.lines, *result.votes)}) > 1:
        return _several_runs(result, look)
    return _one_run(result, look)


def _one_run(result: AccuracyRejection, look: Look) -> Figure:
    groups = group_lines(result.lines, look, MOST_LINES) if result.lines else []
    least = LEAST_INCHES if look.width < PAGE_INCHES else look.width / 3  # two panels of a group in one row
    figure, panels, columns = frame.panel_figure(2 * max(1, len(groups)), look, (least, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    for by_threshold, by_rank, group in zip(panels[::2], panels[1::2], groups, strict=False):
        for series in group.series:
            curve = _cut(series.line.by_threshold.curve, series.line)
            by_threshold.plot(curve.rejected, curve.accuracy, **series.style.points())
            _draw_rank(by_rank, series, marked=True)
            entries[series.name] = frame.sample(**series.style.points())
        numbered = _numbered(group)
        note = f"numbers: thresholds of {numbered.name}" if numbered else ""
        frame.title_panel(by_threshold, "By threshold of confidence", note)
        frame.title_panel(by_rank, "By rank of confidence", _note([series.line for series in group.series]))
    for line in result.votes:
        entries["k paraphrases agree"] = _draw_votes(panels[0], line, _VOTE)
    _set_axes(result, panels, columns)
    frame.finish(figure, look, entries, next(iter(run_names((*result.lines, *result.votes), look).values()), ""))
    for at, group in enumerate(groups):
        if at == 0:
            place_labels(panels[0], _vote_names(result.votes), _VOTES)
        place_labels(panels[2 * at], _threshold_names(panels[2 * at], group), _THRESHOLDS)
    return figure


def _several_runs(result: AccuracyRejection, look: Look) -> Figure:
    all_lines = (*result.lines, *result.votes)
    runs, styles = distinct([line.run for line in all_lines]), run_styles([line.run for line in all_lines])
    names = run_names(all_lines, look)
    groups = [runs[at : at + MOST_LINES] for at in range(0, len(runs), MOST_LINES)]
    blocks = [_block(result, group) for group in groups]
    size = (LEAST_INCHES, PANEL_INCHES)
    figure, panels, columns = frame.block_figure([len(block) for block in blocks], look, size, 0.4)
    entries = []
    for block_panels, block, group in zip(panels, blocks, groups, strict=True):
        for axes, (title, lines) in zip(block_panels, block.items(), strict=True):
            _draw_runs(axes, lines, styles)
            frame.title_panel(axes, title, _note(lines))
        entries.append({names[run]: frame.sample(**styles[run].points()) for run in group} | _threshold_sample(result))
        _set_axes(result, block_panels, columns)
    frame.title_figure(figure, look)
    frame.legends_in_gaps(figure, panels, columns, entries)
    for block_panels, group in zip(panels, groups, strict=True):
        place_labels(block_panels[-1], _vote_names([votes for votes in result.votes if votes.run == group[0]]), _VOTES)
    return figure


def _block(result: AccuracyRejection, runs: Sequence[str]) -> dict[str, list[RejectionLine | VoteLine]]:
    """The lines of some runs by the title of their panel."""
    block: dict[str, list[RejectionLine | VoteLine]] = {}
    titled: list[tuple[str, RejectionLine | VoteLine]] = [(line.estimator, line) for line in result.lines]
    titled += [("k paraphrases agree", line) for line in result.votes]
    for title, line in titled:
        if line.run in runs:
            block.setdefault(title, []).append(line)
    return block


def _draw_runs(axes: Axes, lines: Sequence[RejectionLine | VoteLine], styles: Mapping[str, SeriesStyle]) -> None:
    for line in lines:
        style = styles[line.run]
        if isinstance(line, VoteLine):
            _draw_votes(axes, line, style)
        else:
            _draw_rank(axes, Series("", style, line), marked=False)
            curve = _cut(line.by_threshold.curve, line)
            axes.plot(curve.rejected, curve.accuracy, **style.dots())


def _has_thresholds(line: RejectionLine) -> bool:
    return len(line.by_threshold.curve.threshold) > 0


def _threshold_sample(result: AccuracyRejection) -> dict[str, Artist]:
    if result.lines and not any(map(_has_thresholds, result.lines)):
        return {}
    return {"threshold 0.0, 0.1, .. 1.0": frame.sample(**SeriesStyle(FAINT, "o", (0, ())).dots())}


def _set_axes(result: AccuracyRejection, panels: Sequence[Axes], columns: int) -> None:
    """The same vertical axis in all panels, from below the least accuracy that is drawn."""
    accuracies = [value for line in result.lines for value in _cut(line.by_rank, line).accuracy]
    accuracies += [value for line in result.lines for value in _cut(line.by_threshold.curve, line).accuracy]
    accuracies += [value for line in result.lines for value in line.band.low[_wide(line.band, line)]]
    accuracies += [value for line in result.votes for value in (*line.votes.curve.accuracy, *line.votes.low)]
    for axes in panels:
        frame.share_axis(axes, "x")
    frame.shares_from(panels, accuracies)
    frame.outer_labels(panels, columns, REJECTED, KEPT)


def _note(lines: Sequence[RejectionLine | VoteLine]) -> str:
    """What shows the intervals; empty without any."""
    if any(np.isfinite(line.band.low).any() for line in lines if isinstance(line, RejectionLine)):
        return "bands: 95 % intervals"
    bars = any(np.isfinite(line.votes.low).any() for line in lines if isinstance(line, VoteLine))
    return "bars: 95 % intervals" if bars else ""


def _cut(curve: RejectionCurve, line: RejectionLine) -> RejectionCurve:
    """The points at which enough facts are kept."""
    enough = curve.kept >= _fewest(line)
    return RejectionCurve(*(getattr(curve, field.name)[enough] for field in fields(curve)))


def _wide(band: Band, line: RejectionLine) -> np.ndarray:
    """Where enough facts are kept."""
    kept: np.ndarray = (1 - band.x) * line.by_rank.kept.max(initial=0) >= _fewest(line)
    return kept


def _fewest(line: RejectionLine) -> int:
    """Of few facts, a tenth."""
    return min(FEWEST, math.ceil(int(line.by_rank.kept.max(initial=0)) / 10))


def _draw_rank(axes: Axes, series: Series[RejectionLine], marked: bool) -> None:
    """The exact curve. Some points have markers, which distinguish lines in grey; all where ties leave few points."""
    curve, grid, style = _cut(series.line.by_rank, series.line), series.line.band, series.style
    kept = _wide(grid, series.line)
    if np.isfinite(grid.low[kept]).any():
        axes.fill_between(grid.x[kept], grid.low[kept], grid.high[kept], color=style.color, alpha=0.13, linewidth=0)
    spacing = None if len(curve.rejected) < len(grid.x) / 2 else 0.1
    axes.plot(curve.rejected, curve.accuracy, **(style.points() if marked else style.line()), markevery=spacing)


def _draw_votes(axes: Axes, line: VoteLine, style: SeriesStyle) -> Artist:
    curve = line.votes.curve
    frame.interval_bars(axes, curve.rejected, line.votes.low, line.votes.high, style.color)
    axes.plot(curve.rejected, curve.accuracy, **style.dots(), markersize=6)
    return frame.sample(**style.dots(), markersize=6)


def _vote_names(votes: Sequence[VoteLine]) -> list[Label]:
    return [
        Label(f"k={k:.0f}", x, y)
        for line in votes
        for k, x, y in _defined(line.votes.curve.threshold, line.votes.curve.rejected, line.votes.curve.accuracy)
    ]


def _defined(*columns: Floats) -> list[tuple[float, ...]]:
    """The points with all of their numbers defined."""
    return [
        point for point in zip(*(column.tolist() for column in columns), strict=True) if all(map(math.isfinite, point))
    ]


def _numbered(group: Group[RejectionLine]) -> Series[RejectionLine] | None:
    """The first series that has thresholds; an uncertainty has none."""
    return next((series for series in group.series if _has_thresholds(series.line)), None)


def _threshold_names(axes: Axes, group: Group[RejectionLine]) -> list[Label]:
    """Thresholds by the points of one series, those that have room between them; the others' would crowd it."""
    labels: list[Label] = []
    series, before = _numbered(group), (-math.inf, 0.0)
    if series is None:
        return labels
    curve = _cut(series.line.by_threshold.curve, series.line)
    for threshold, x, y in _defined(curve.threshold, curve.rejected, curve.accuracy):
        at = tuple(axes.transData.transform((x, y)) * 72 / axes.figure.dpi)
        if math.dist(at, before) >= NUMBER_POINTS:
            labels.append(Label(f"{threshold:.1f}", x, y, series.style.color))
            before = at
    return labels
