"""Accuracy, mean confidence and ACE against the number of answer options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calprobe.analysis.curves.results import Options, OptionsLine
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Group, Series, group_lines
from calprobe.analysis.plots.style import PAGE_INCHES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES = 2.2
NUMBERS = {  # by the name in the result: what it is, and which way is better
    "accuracy": "Accuracy (share correct)",
    "mean_confidence": "Mean confidence",
    "ace": "ACE (lower is better)",
}


def draw_options(result: Options, width: float = PAGE_INCHES) -> Figure:
    """A panel for each number; a row of them for each run or estimator. Thin lines: single draws of the options."""
    groups = group_lines(result.lines)
    rows = max(1, len(groups))
    columns = frame.columns_for(len(NUMBERS), width)
    n_panels = rows * len(NUMBERS)
    figure = frame.blank_figure(width, PANEL_INCHES * n_panels / columns + 0.6)
    panels = frame.panel_grid(figure, n_panels, columns)
    entries: dict[str, Artist] = {}
    for at, group in enumerate(groups):
        for axes, name in zip(panels[len(NUMBERS) * at :], NUMBERS, strict=False):
            _draw_number(axes, group, name)
            axes.set_title(group.title if len(groups) > 1 else "", loc="left")
        entries |= {series.name: frame.sample(**series.style.points()) for series in group.series}
    for axes in panels[-columns:]:
        axes.set_xlabel("Answer options")
    if len(groups) == 1:
        figure.suptitle(groups[0].title)
    frame.legend_below(figure, entries)
    frame.fix_layout(figure)
    return figure


def _draw_number(axes: Axes, group: Group[OptionsLine], name: str) -> None:
    for series in group.series:
        _draw_line(axes, series, name)
    if name == "ace":
        axes.set_ylim(bottom=0)
    else:
        frame.share_axis(axes, "y")
    axes.set_ylabel(NUMBERS[name])


def _draw_line(axes: Axes, series: Series[OptionsLine], name: str) -> None:
    line, style = series.line, series.style
    axes.plot(line.options, getattr(line.means, name), **style.points())
    for draw in line.draws:
        axes.plot(line.options, getattr(draw, name), color=style.color, linewidth=0.5, alpha=0.45)
