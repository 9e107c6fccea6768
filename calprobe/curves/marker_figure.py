"""The figures of epistemic markers: of one run its numbers, of several a matrix of their shifts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.curves.markers import SHIFTS, MarkerPoint, Markers
from calprobe.metrics import Difference, Estimate
from calprobe.metrics.intervals import SIGNIFICANT
from calprobe.show.plots import frame
from calprobe.show.plots.heat_map import Shades, draw_cells
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import FAINT, style_at

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calprobe.arrays import Floats

PANEL_INCHES = 2.2
LEAST_INCHES = 1.25  # width of a panel
NUMBERS = {"mean_confidence": "Mean confidence", "accuracy": "Accuracy", "ace": "ACE"}
CELL_INCHES, LOWEST_CELL_INCHES = 0.17, 0.1  # height of a row of the matrix
MATRIX_INCHES = 1.55  # least width of one
CELL_LETTERS = 6.5  # size, points
LETTER_INCHES = 0.056  # width of a letter of a run's name
_STYLE = style_at(0)
_NAMED: dict[str, Any] = {"color": FAINT, "marker": "|", "markersize": 8, "markeredgewidth": 1.2, "linestyle": "none"}
_PLAIN: dict[str, Any] = {"color": FAINT, "linewidth": 0.8, "linestyle": (0, (4, 2))}


def draw_markers(result: Markers, look: Look = DEFAULT_LOOK) -> Figure:
    """One run: a panel for each number, a row for each wording. Several: a matrix for each shift, runs by markers."""
    names = run_names(result.points, look)
    return _matrices(result, names, look) if len(names) > 1 else _numbers(result, names, look)


def _numbers(result: Markers, names: Mapping[str, str], look: Look) -> Figure:
    """The numbers with their intervals, and the shift of mean confidence; dashed: the plain statement."""
    figure, panels, columns = frame.panel_figure(len(NUMBERS) + 1, look, (LEAST_INCHES, PANEL_INCHES))
    places = {marker: float(at) for at, marker in enumerate(_ordered(result.points))}
    for axes, (field, title) in zip(panels, NUMBERS.items(), strict=False):
        estimates = {point.marker: getattr(point, field) for point in result.points}
        frame.title_panel(axes, title, "lower is better" if field == "ace" else " ")
        _draw_wordings(axes, places, estimates)
        if "plain" in estimates:
            axes.axvline(estimates["plain"].value, **_PLAIN)
        if field == "ace":
            axes.set_xlim(left=0)
        else:
            frame.share_axis(axes, "x")
    _draw_shift(panels[-1], places, result.points)
    for at, axes in enumerate(panels):
        axes.set_yticks(list(places.values()), [_wording(marker) for marker in places])
        axes.set_ylim(len(places) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelleft=at % columns == 0)
        axes.grid(visible=False, axis="y")
    entries = {"plain statement": frame.sample(**_PLAIN), **_draw_named(panels[0], result.points, places)}
    frame.finish(figure, look, entries, next(iter(names.values()), ""))
    return figure


def _draw_wordings(axes: Axes, places: Mapping[str, float], estimates: Mapping[str, Estimate | Difference]) -> None:
    heights = [places[marker] for marker in estimates]
    low, high = [estimate.low for estimate in estimates.values()], [estimate.high for estimate in estimates.values()]
    axes.hlines(heights, low, high, color=_STYLE.color, linewidth=0.8)
    axes.plot([estimate.value for estimate in estimates.values()], heights, **_STYLE.dots())


def _draw_shift(axes: Axes, places: Mapping[str, float], points: Sequence[MarkerPoint]) -> None:
    """The plain statement is at 0 by definition, the dashed line."""
    frame.title_panel(axes, "Shift of confidence", "marked minus plain")
    _draw_wordings(axes, places, {point.marker: point.shift for point in points if point.shift is not None})
    axes.axvline(0, **_PLAIN)


def _draw_named(axes: Axes, points: Sequence[MarkerPoint], places: Mapping[str, float]) -> dict[str, Artist]:
    """A tick at the percentage that each numeric marker names, and its sample for the legend."""
    named = {point.marker: point.percentage / 100 for point in points if math.isfinite(point.percentage)}
    if not named:
        return {}
    axes.plot(list(named.values()), [places[marker] for marker in named], **_NAMED)
    return {"percentage that the marker names": frame.sample(**_NAMED)}


def _matrices(result: Markers, names: Mapping[str, str], look: Look) -> Figure:
    """Colours and numbers of the shifts, in hundredths; bold where the corrected p is below 0.05; their average."""
    markers = [marker for marker in _ordered(result.points) if marker != "plain"]
    left = max(max(map(len, names.values())), len("Average")) * LETTER_INCHES
    columns = 3 if look.width - left >= 3 * MATRIX_INCHES else 1
    rows = 3 // columns
    room = ((frame.MOST_INCHES - 0.4) / rows - 0.75) / (len(names) + 1)  # a row of the matrix on a page
    cell = min(CELL_INCHES, max(room, LOWEST_CELL_INCHES))
    figure = frame.blank_figure(look.width, (cell * (len(names) + 1) + 0.75) * rows + 0.4)
    panels = frame.panel_grid(figure, 3, columns)
    for at, (axes, (field, title)) in enumerate(zip(panels, NUMBERS.items(), strict=True)):
        values, sure = _shifts(result.points, list(names), markers, SHIFTS[field])
        _draw_matrix(axes, values, sure)
        axes.set_xticks(range(len(markers)), [_short(marker) for marker in markers])
        axes.set_yticks(range(len(names) + 1), [*names.values(), "Average"] if at % columns == 0 else [])
        frame.title_panel(axes, title)
    frame.title_figure(figure, look, "Marked minus plain, in hundredths")
    notes = ["poss.: possibly, cert.: certainly, others: per cent sure"]
    if any(math.isfinite(point.shift_p_holm) for point in result.points):
        notes.append("bold: p < 0.05 after Holm's correction over all of a run")
    figure.supxlabel(("; " if columns == 3 else "\n").join(notes), fontsize="small")
    frame.fix_layout(figure)
    return figure


def _shifts(
    points: Sequence[MarkerPoint], runs: Sequence[str], markers: Sequence[str], field: str
) -> tuple[Floats, np.ndarray]:
    """The shifts with their average over the runs below, and where they are significant; both [runs + 1, markers]."""
    values, p_values = (np.full((len(runs) + 1, len(markers)), np.nan) for _ in range(2))
    for point in points:
        if (shift := getattr(point, field)) is not None:
            place = runs.index(point.run), markers.index(point.marker)
            values[place], p_values[place] = shift.value, getattr(point, f"{field}_p_holm")
    finite = np.isfinite(values[:-1])
    with np.errstate(invalid="ignore"):
        values[-1] = np.where(finite, values[:-1], 0).sum(axis=0) / finite.sum(axis=0)
    return values, p_values < SIGNIFICANT


def _draw_matrix(axes: Axes, values: Floats, sure: np.ndarray) -> None:
    """Blue below 0, orange above, white at 0; the average apart from the runs."""
    most = max(float(np.nanmax(np.abs(values), initial=0)), 0.01)
    draw_cells(axes, values, Shades("PuOr_r", -2.2 * most, 2.2 * most, CELL_LETTERS), _hundredths, sure)
    axes.axhline(len(values) - 1.5, color="white", linewidth=2.5)


def _hundredths(value: float) -> str:
    """In three digits at most: −1.5, 12; empty for NaN."""
    if math.isnan(value):
        return ""
    return f"{100 * value:z.{1 if abs(100 * value) < 9.95 else 0}f}".replace("-", "−")


def _ordered(points: Sequence[MarkerPoint]) -> list[str]:
    """The wordings: plain, verbal, percentages ascending."""
    kinds = {point.marker: (_kind(point), point.percentage if _kind(point) == 2 else 0) for point in points}
    return sorted(kinds, key=lambda marker: kinds[marker])


def _kind(point: MarkerPoint) -> int:
    if math.isfinite(point.percentage):
        return 2
    return 0 if point.marker == "plain" else 1


def _wording(marker: str) -> str:
    return f"{marker} %" if marker.isdigit() else marker


def _short(marker: str) -> str:
    """As wide as a cell."""
    return {"possibly": "poss.", "certainly": "cert."}.get(marker, marker if marker.isdigit() else marker[:5])
