"""The page's figures: each kind of curve as SVG, series by the classes `s0` .. `s7` of the palette."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from markupsafe import Markup

from calprobe.curves.accuracy_ace import AccuracyAcePoint
from calprobe.curves.accuracy_rejection import Band, RejectionLine, VoteLine
from calprobe.curves.calibration_curve import CalibrationLine
from calprobe.curves.calibration_figure import SHARE, overlaid
from calprobe.curves.exposure import PLACES, ExposureLine, composed
from calprobe.curves.markers import MarkerPoint
from calprobe.measures.number_text import number, spelled
from calprobe.metrics import Estimate
from calprobe.show.html import svg
from calprobe.show.html.panels import drawn, series_class

Places = Mapping[str, int]  # of series, in the palette
ACCURACY_PLACE, CONFIDENCE_PLACE = PLACES  # where these two are the series
MOST_POINTS = 50  # of a band


def key(place: int) -> Markup:
    """The sample of a series that a legend shows: its line and its mark."""
    frame = svg.Frame(
        svg.Axis("", 0, 26), svg.Axis("", 0, 12), width=26 + svg.LEFT + svg.RIGHT, height=12, top=0, bottom=0
    )
    elements = svg.line(frame, [(0, 6), (26, 6)]), svg.mark(frame, (13, 6), "", shape=place)
    return svg.element(
        "svg", *elements, viewBox=f"{svg.LEFT} 0 26 12", class_="key " + series_class(place), aria_hidden="true"
    )


def part_key(place: int) -> Markup:
    """The same of a part of a bar."""
    box = svg.element("rect", x=6, y=0, width=14, height=12, class_="bar")
    return svg.element("svg", box, viewBox="0 0 26 12", class_=f"key {series_class(place)}", aria_hidden="true")


def calibration(lines: Sequence[CalibrationLine], places: Places, of: str = "instance") -> Markup:
    """Accuracy against confidence on the printed error's bins, and below it how the confidences are spread.

    `of` is what an instance is called.
    """
    return drawn(overlaid(lines, places, SHARE, of=of))


def rejection(lines: Sequence[RejectionLine], votes: Sequence[VoteLine], places: Places) -> Markup:
    """Accuracy of what is kept against the share rejected: a line with its band, and a point for each vote."""
    frame = svg.Frame(svg.Axis("share rejected"), svg.Axis("accuracy of the rest"))
    elements = [frame.axes()]
    for line in lines:
        grid, drawn = _thinned(line.band), []
        places_x = grid.x.tolist()
        drawn.append(svg.band(frame, _points(places_x, grid.low), _points(places_x, grid.high)))
        drawn.append(svg.line(frame, _points(places_x, grid.y)))
        curve = line.by_threshold.curve
        for x, y, threshold, count in zip(curve.rejected, curve.accuracy, curve.threshold, curve.kept, strict=True):
            tip = f"{line.estimator}: confidence {threshold:g} or more\n"
            tip += f"{x:.3f} rejected, accuracy {y:.3f} of {count:,} kept"
            drawn.append(svg.mark(frame, (float(x), float(y)), tip, shape=places[line.estimator]))
        elements.append(svg.element("g", *drawn, class_=series_class(places[line.estimator])))
    for vote in votes:
        curve = vote.votes.curve
        points = [(float(x), float(y)) for x, y in zip(curve.rejected, curve.accuracy, strict=True)]
        drawn = [svg.line(frame, points, "thin ideal")]
        for point, k, count in zip(points, curve.threshold, curve.kept, strict=True):
            tip = f"vote of {k:g} or more: {point[0]:.3f} failed\naccuracy {point[1]:.3f} of {count:,} others"
            drawn.append(svg.mark(frame, point, tip, shape=5))
        elements.append(svg.element("g", *drawn, class_="plain"))
    return svg.drawing(frame, f"Accuracy-rejection curves of {_names(lines)}.", *elements)


def accuracy_ace(points: Sequence[AccuracyAcePoint], places: Places) -> Markup:
    """ACE of each run against its accuracy, with both intervals; `places` by estimator."""
    estimates = [estimate for point in points for estimate in (point.accuracy, point.ace)]
    across = svg.Axis.around("accuracy", _ends(estimates[::2]))
    frame = svg.Frame(across, svg.Axis.around("ACE", _ends(estimates[1::2]), zero=True), top=svg.TOP + 16)
    numbers = run_numbers(points)
    lowest = {
        run: (
            next(point.accuracy.value for point in points if point.run == run),
            min(point.ace.value for point in points if point.run == run),
        )
        for run in numbers
    }
    elements = [frame.axes(), svg.flags(frame, list(lowest.values()), [str(number) for number in numbers.values()])]
    for point in points:
        x, y = point.accuracy, point.ace
        tip = f"{point.run}\n{point.estimator}: accuracy {spelled(x)}, ACE {spelled(y)}"
        drawn = [
            svg.intervals(frame, [(x.value, y.low, y.high)]),
            svg.spread(frame, y.value, x.low, x.high),
            svg.mark(frame, (x.value, y.value), tip, shape=places[point.estimator]),
        ]
        elements.append(svg.element("g", *drawn, class_=series_class(places[point.estimator])))
    label = "ACE against accuracy, a point for each run and estimator."
    return svg.drawing(frame, label, *elements, class_="crowd" if len(numbers) > 1 else None)


def run_numbers(points: Iterable[AccuracyAcePoint]) -> dict[str, int]:
    """The number that each run has in the figure, from 1, by label."""
    return {run: place for place, run in enumerate(dict.fromkeys(point.run for point in points), 1)}


def markers(points: Sequence[MarkerPoint]) -> Markup:
    """Mean confidence and accuracy of base under each wording: plain, verbal markers, percentages."""
    names = [_marker(point) for point in points]
    ticks = tuple(float(place) for place in range(len(points)))
    across = svg.Axis("wording", -0.5, len(points) - 0.5, ticks, lambda place: names[round(place)])
    values = [end for point in points for end in _ends([point.accuracy, point.mean_confidence])]
    frame = svg.Frame(across, svg.Axis.around("", values))
    elements = [frame.axes()]
    for name, place, shift in (("accuracy", ACCURACY_PLACE, -0.12), ("mean_confidence", CONFIDENCE_PLACE, 0.12)):
        drawn = []
        for at, point in enumerate(points):
            estimate: Estimate = getattr(point, name)
            tip = f"{names[at]}: {name.replace('_', ' ')} {spelled(estimate)}"
            if name == "mean_confidence" and point.shift is not None:
                tip += f"\n{point.shift.value:+.4f} against the plain wording"
            drawn.append(svg.intervals(frame, [(at + shift, estimate.low, estimate.high)]))
            drawn.append(svg.mark(frame, (at + shift, estimate.value), tip, shape=place))
        elements.append(svg.element("g", *drawn, class_=series_class(place)))
    return svg.drawing(frame, "Accuracy and mean confidence of base under each wording.", *elements)


def exposure(line: ExposureLine) -> Markup:
    """Accuracy and mean confidence of facts by their number of times in training."""
    return drawn(composed(line))


def _thinned(band: Band) -> Band:
    """The band at about MOST_POINTS of its places, first and last among them: no wider steps than a few pixels."""
    n_points = len(band.x)
    places = np.unique(np.linspace(0, max(n_points - 1, 0), min(n_points, MOST_POINTS)).round().astype(np.intp))
    return Band(band.x[places], band.y[places], band.low[places], band.high[places])


def _points(places: Sequence[float], heights: Iterable[float]) -> list[svg.Point]:
    return [(x, float(y)) for x, y in zip(places, heights, strict=True)]


def _ends(estimates: Iterable[Estimate]) -> list[float]:
    """Values and the ends of their intervals, those that are defined."""
    ends = (end for estimate in estimates for end in (estimate.value, estimate.low, estimate.high))
    return [end for end in ends if math.isfinite(end)]


def _marker(point: MarkerPoint) -> str:
    return point.marker if math.isnan(point.percentage) else f"{number(point.percentage).removesuffix('.0000')} %"


def _names(lines: Sequence[CalibrationLine] | Sequence[RejectionLine]) -> str:
    return ", ".join(line.estimator for line in lines) or "no estimator"
