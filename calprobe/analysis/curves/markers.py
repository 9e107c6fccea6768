"""Epistemic markers: what "possibly", "certainly" or a percentage does to accuracy and confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calprobe.analysis.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
)
from calprobe.analysis.curves.inputs import Reported, Values, lead_of, metrics_named, predictions, read_runs
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import only_run, run_styles, short_names
from calprobe.analysis.plots.style import FAINT, PAGE_INCHES, SeriesStyle
from calprobe.analysis.scored_run import Runs, ScoredRun
from calprobe.confidence import BASE, Estimator
from calprobe.errors import UsageError
from calprobe.metrics import Difference, Estimate, bootstrap_many, paired_differences

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class MarkerPoint(Line):
    """Base under one wording: the plain statement, or one with an epistemic marker."""

    marker: str  # plain, possibly, certainly, 0, 25, 50, 75, 100 (percentages)
    percentage: float  # that a numeric marker names; NaN for the others
    accuracy: Estimate
    mean_confidence: Estimate
    ace: Estimate
    shift: Difference | None  # of mean confidence: this wording less the plain one, on the same instances; None: plain


@dataclass(frozen=True, slots=True)
class Markers(Curves):
    """What an epistemic marker does to confidence. Columns: marker, percentage, then numbers and shift with p-value."""

    kind = "markers"
    COLUMNS = (
        *(*LEAD, "marker", "percentage", "accuracy", "accuracy_low", "accuracy_high"),
        *("mean_confidence", "mean_confidence_low", "mean_confidence_high", "ace", "ace_low", "ace_high"),
        *("shift", "shift_low", "shift_high", "shift_p"),
    )

    points: tuple[MarkerPoint, ...]  # run by run: plain, verbal markers, percentages ascending

    def _parts(self) -> Iterable[Columns]:
        for point in self.points:
            columns = {**point.lead, "marker": point.marker, "percentage": point.percentage}
            for name in ("accuracy", "mean_confidence", "ace"):
                columns |= estimate_columns(name, getattr(point, name))
            if (shift := point.shift) is not None:
                columns |= estimate_columns("shift", Estimate(shift.value, shift.low, shift.high))
                columns["shift_p"] = shift.p_value
            yield columns


METRICS = ("accuracy", "mean_confidence", "ace")


def markers(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Markers:
    """Base of the plain statement and of each epistemic wording: accuracy, mean confidence, ACE, and the shift.

    Kissling et al. 2026, section 3.3. The shift is the mean confidence under the marker less that of the plain
    statement, on the same instances and resamples.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins, bootstrap; no estimators, it is base under every wording.
    Returns:
        Points run by run: plain (template 0, else the first paraphrase), then the run's markers, percentages ascending.
    Raises:
        UsageError: estimators given; a run without epistemic templates or without a plain one; no run, or one named
            twice. DataMissingError, CalprobeError: as `report`.
    """
    if options.estimators:
        raise UsageError("markers: base under each wording, there is no estimator to choose; leave --estimator out")
    metrics = metrics_named(METRICS, options.scores)
    points: list[MarkerPoint] = []
    for run in read_runs(runs, options.scores):
        samples = predictions(run.confidences([estimator.name for estimator in _wordings(run)]))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        points += marker_points(run, values, options.scores)
    return Markers(tuple(points))


def marker_points(run: ScoredRun, values: Values, options: ReportOptions) -> list[MarkerPoint]:
    """A point for each wording of a run, around the values that are known of its METRICS. Raises as `markers`."""
    chosen = _wordings(run)
    pairs = [(estimator.name, BASE) for estimator in chosen if estimator.name != BASE]
    shifted, samples = (
        metrics_named(("mean_confidence",), options),
        predictions(run.confidences([estimator.name for estimator in chosen])),
    )
    shifts = paired_differences(shifted, samples, pairs, options.resampling, run.clusters)
    points = []
    for estimator in chosen:
        own, shift = values[estimator.name], shifts.get((estimator.name, BASE))
        marker = estimator.marker or "plain"
        points.append(
            MarkerPoint(
                *lead_of(run, estimator),
                marker=marker,
                percentage=float(marker) if marker.isdecimal() else float("nan"),
                accuracy=own["accuracy"],
                mean_confidence=own["mean_confidence"],
                ace=own["ace"],
                shift=None if shift is None else shift["mean_confidence"],
            )
        )
    return points


def _wordings(run: ScoredRun) -> list[Estimator]:
    """The plain statement and the markers."""
    chosen = [found for found in run.estimators.values() if found.name == BASE or found.marker is not None]
    names = [estimator.name for estimator in chosen]
    if BASE not in names or len(names) == 1:
        lacking = "epistemic" if BASE in names else "plain"
        raise UsageError(f"{run.label}: no {lacking} template; score it with --templates 0,verbal,numeric")
    return chosen


def reported_markers(found: Reported) -> Markers | None:
    """The points of a run of a report; None without epistemic templates."""
    if not any(own.marker is not None for own in found.run.estimators.values()):
        return None
    return Markers(tuple(marker_points(found.run, found.values, found.options)))


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
