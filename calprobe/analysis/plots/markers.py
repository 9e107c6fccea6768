"""What an epistemic marker does: confidence, its shift, accuracy and ACE under each wording."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calprobe.analysis.curves.results import MarkerPoint, Markers
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import only_run, run_styles, short_names
from calprobe.analysis.plots.style import FAINT, PAGE_INCHES, SeriesStyle
from calprobe.metrics import Difference, Estimate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Number = Callable[[MarkerPoint], Estimate | Difference | None]

PANEL_INCHES = 2.3
NUMBERS: Mapping[str, Number] = {
    "Mean confidence": lambda point: point.mean_confidence,
    "Shift of mean confidence": lambda point: point.shift,
    "Accuracy (share correct)": lambda point: point.accuracy,
    "ACE (lower is better)": lambda point: point.ace,
}
UNDEFINED = Estimate(math.nan)
_NAMED: dict[str, Any] = {"color": FAINT, "marker": "_", "markersize": 10, "markeredgewidth": 1.2, "linestyle": "none"}


def draw_markers(result: Markers, width: float = PAGE_INCHES) -> Figure:
    """A panel for each number, the wordings side by side: plain, verbal markers, percentages. A series is a run."""
    columns = frame.columns_for(len(NUMBERS), width)
    figure = frame.blank_figure(width, PANEL_INCHES * len(NUMBERS) / columns + 0.6)
    panels = frame.panel_grid(figure, len(NUMBERS), columns)
    places = _places(result.points)
    styles = run_styles([point.run for point in result.points])
    for axes, (title, number) in zip(panels, NUMBERS.items(), strict=True):
        for at, (run, style) in enumerate(styles.items()):
            aside = (at - (len(styles) - 1) / 2) * min(0.14, 0.6 / len(styles))
            own = [(places[point.marker] + aside, point) for point in result.points if point.run == run]
            _draw_run(axes, own, number, style)
        axes.set_title(title, loc="left")
        axes.set_xticks(list(places.values()), [_wording(marker) for marker in places], **frame.SLANTED)
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.6, max(places.values(), default=0.0) + 0.6)
        axes.grid(visible=False, axis="x")
    for axes in (panels[0], panels[2]):
        frame.share_axis(axes, "y")
    panels[3].set_ylim(bottom=0)
    panels[1].axhline(0, color=FAINT, linewidth=0.8)
    panels[1].set_ylabel("marked less plain")
    entries: dict[str, Artist] = {}
    if len(styles) > 1:
        names = short_names(list(styles))
        entries |= {names[run]: frame.sample(**style.points()) for run, style in styles.items()}
    frame.legend_below(figure, entries | _draw_named(panels[0], result.points, places))
    if run_name := only_run(result.points):
        figure.suptitle(run_name)
    frame.fix_layout(figure)
    return figure


def _draw_run(axes: Axes, own: Sequence[tuple[float, MarkerPoint]], number: Number, style: SeriesStyle) -> None:
    """Its points, with a line through those of the percentages, which alone have an order."""
    found = [(x, number(point) or UNDEFINED, math.isfinite(point.percentage)) for x, point in own]
    x = [place for place, _, _ in found]
    axes.vlines(x, [n.low for _, n, _ in found], [n.high for _, n, _ in found], color=style.color, linewidth=0.8)
    axes.plot(x, [n.value for _, n, _ in found], **style.dots())
    ordered = [(place, n.value) for place, n, is_percentage in found if is_percentage]
    if ordered:
        axes.plot(*zip(*ordered, strict=True), **style.line())


def _draw_named(axes: Axes, points: Sequence[MarkerPoint], places: Mapping[str, float]) -> dict[str, Artist]:
    """A tick at the percentage that each numeric marker names, and its sample for the legend."""
    named = {point.marker: point.percentage / 100 for point in points if math.isfinite(point.percentage)}
    if not named:
        return {}
    axes.plot([places[marker] for marker in named], list(named.values()), **_NAMED)
    return {"percentage that the marker names": frame.sample(**_NAMED)}


def _places(points: Sequence[MarkerPoint]) -> dict[str, float]:
    """Each wording's place: plain, verbal and percentages a little apart, percentages ascending."""
    kinds = {point.marker: _kind(point) for point in points}
    percentages = {point.marker: point.percentage for point in points}
    order = sorted(kinds, key=lambda marker: (kinds[marker], percentages[marker] if kinds[marker] == 2 else 0))
    return {marker: at + 0.5 * kinds[marker] for at, marker in enumerate(order)}


def _kind(point: MarkerPoint) -> int:
    if math.isfinite(point.percentage):
        return 2
    return 0 if point.marker == "plain" else 1


def _wording(marker: str) -> str:
    return f"{marker} %" if marker.isdigit() else marker
