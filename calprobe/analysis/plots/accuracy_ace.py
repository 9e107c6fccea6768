"""Accuracy against ACE over runs: is the more accurate model the better calibrated one?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calprobe.analysis.curves.results import AccuracyAce, AccuracyAcePoint, RankCorrelation
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import short_names
from calprobe.analysis.plots.labels import Label, Placing, place_labels
from calprobe.analysis.plots.style import PAGE_INCHES, style_at
from calprobe.metrics import Estimate
from calprobe.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_INCHES = 2.4
NAME_INCHES = 0.05  # that a panel grows for each name
BAR = "#c4c4c4"  # intervals: lighter than the lines that lead to names
_NAMES = Placing(over_lines=True)


def draw_accuracy_ace(result: AccuracyAce, width: float = PAGE_INCHES) -> Figure:
    """A panel for each estimator, with the models' names at their points and the rank correlation in the title."""
    columns = min(2, frame.columns_for(len(result.correlations), width))  # names need room
    rows = max(1, -(-len(result.correlations) // columns))
    most = max((found.runs for found in result.correlations), default=0)
    figure = frame.blank_figure(width, (PANEL_INCHES + NAME_INCHES * most) * rows + 0.2)
    panels = frame.panel_grid(figure, max(1, len(result.correlations)), columns)
    names = _names(result.points)
    shown = []
    for axes, found in zip(panels, result.correlations, strict=False):
        points = [own for own in result.points if own.estimator == found.estimator]
        points = [own for own in points if math.isfinite(own.accuracy.value) and math.isfinite(own.ace.value)]
        _draw_points(axes, points)
        frame.title_panel(axes, found.estimator, _spelled(found))
        shown.append(points)
    frame.outer_labels(panels, columns, "Accuracy of base (higher is better)", "ACE (lower is better)")
    frame.fix_layout(figure)
    for axes, points in zip(panels, shown, strict=False):
        place_labels(axes, [Label(names[own.run], own.accuracy.value, own.ace.value) for own in points], _NAMES)
    return figure


def _draw_points(axes: Axes, points: Sequence[AccuracyAcePoint]) -> None:
    accuracy, ace = [own.accuracy for own in points], [own.ace for own in points]
    for x, y in zip(accuracy, ace, strict=True):
        axes.plot([x.value, x.value], [y.low, y.high], color=BAR, linewidth=0.7)
        axes.plot([x.low, x.high], [y.value, y.value], color=BAR, linewidth=0.7)
    axes.plot([x.value for x in accuracy], [y.value for y in ace], **style_at(0).dots())
    axes.margins(0.12)
    axes.autoscale_view()
    axes.set(xlim=_in_shares(axes.get_xlim()), ylim=_in_shares(axes.get_ylim()))


def _in_shares(limits: tuple[float, float]) -> tuple[float, float]:
    """The axis shows where the points are, and nothing beyond 0 and 1 but a margin."""
    return max(limits[0], -frame.MARGIN), min(limits[1], 1 + frame.MARGIN)


def _spelled(found: RankCorrelation) -> str:
    runs = counted(found.runs, "run")
    if math.isnan(found.rho.value):
        return f"Spearman's ρ undefined with {runs}"
    return f"Spearman's ρ {_signed(found.rho)}, {runs}"


def _signed(rho: Estimate) -> str:
    value = f"{rho.value:z.2f}".replace("-", "−")
    if math.isnan(rho.low):
        return value
    return f"{value} ({rho.low:z.2f} to {rho.high:z.2f})".replace("-", "−")


def _names(points: Sequence[AccuracyAcePoint]) -> Mapping[str, str]:
    """What each run is called: its model without the organisation if no two runs share that, else the run as typed."""
    models = {own.run: own.model.rstrip("/").rpartition("/")[2] for own in points}
    called = models if len(set(models.values())) == len(models) else {run: run for run in models}
    short = short_names(list(called.values()))
    return {run: short[name] for run, name in called.items()}
