"""The page's figures with their legends and captions: for each kind of curve, what of it the page draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calprobe.analysis.contents import ReportContents, RunContents
from calprobe.analysis.curves.accuracy_ace import AccuracyAce
from calprobe.analysis.curves.accuracy_rejection import AccuracyRejection
from calprobe.analysis.curves.calibration import Calibration
from calprobe.analysis.curves.exposure import Exposure
from calprobe.analysis.curves.markers import Markers
from calprobe.analysis.html import charts
from calprobe.analysis.html.views import Choice, FigureView
from calprobe.analysis.number_text import signed_spelled
from calprobe.analysis.palette import series_places
from calprobe.confidence import Headline, headline

FIRST_SHOWN = headline(Headline.PAPER)  # before the reader chooses, as in the figures of `report --plots`


def run_figures(found: RunContents) -> Iterator[FigureView]:
    """The figures of one run."""
    for kind, view in OF_A_RUN.items():
        if kind in found.curves:
            yield from view(found.curves[kind])


def figures_across(contents: ReportContents) -> Iterator[FigureView]:
    """The figures over all runs that have instances."""
    empty = {run.label for run in contents.report.runs if not run.instances}
    found = contents.across.get(AccuracyAce.kind)
    if isinstance(found, AccuracyAce):
        points = tuple(point for point in found.points if point.run not in empty)
        yield from _accuracy_ace(replace(found, points=points))


def _calibration(found: Calibration) -> Iterator[FigureView]:
    if not found.lines:
        return
    places = series_places([line.estimator for line in found.lines])
    yield FigureView(
        "Calibration",
        charts.calibration(found.lines, places),
        "Accuracy against mean confidence of ACE's quantile bins, with 95 % Wilson intervals; on the dotted line "
        "the two are equal. Below: the share of the instances in bins of equal width.",
        _choices(places),
    )


def _rejection(found: AccuracyRejection) -> Iterator[FigureView]:
    if not found.lines:
        return
    places = series_places([line.estimator for line in found.lines])
    votes = " Plus signs: votes of two paraphrases or more that agree." if found.votes else ""
    yield FigureView(
        "Accuracy and rejection",
        charts.rejection(found.lines, found.votes, places),
        "Accuracy of the rest when the least confident predictions are rejected, with 95 % bands. Points: "
        f"confidence thresholds 0.0, 0.1, .. 1.0.{votes}",
        _choices(places),
    )


def _markers(found: Markers) -> Iterator[FigureView]:
    yield FigureView(
        "Epistemic markers",
        charts.markers(found.points),
        "Accuracy and mean confidence of base when the statement says how sure it is.",
        _accuracy_confidence(),
        choosable=False,
    )


def _exposure(found: Exposure) -> Iterator[FigureView]:
    for line in found.lines:
        yield FigureView(
            f"Exposure, {line.estimator}",
            charts.exposure(line),
            "Accuracy and mean confidence of facts by the number of training sentences that state them, with 95 % "
            "intervals. Below: how many facts.",
            _accuracy_confidence(),
            choosable=False,
        )


def _accuracy_ace(found: AccuracyAce) -> Iterator[FigureView]:
    numbers = charts.run_numbers(found.points)
    if len(numbers) < 2:
        return
    places = series_places(list(dict.fromkeys(point.estimator for point in found.points)))
    numbered = ", ".join(f"{number} {run}" for run, number in numbers.items())
    known = [own for own in found.correlations if not math.isnan(own.rho.value)]
    several = len({own.probe for own in found.correlations}) > 1
    rho = "; ".join(f"{f'{own.probe}, ' * several}{own.estimator} {signed_spelled(own.rho)}" for own in known)
    yield FigureView(
        "Accuracy and ACE",
        charts.accuracy_ace(found.points, places),
        f"ACE of each estimator against the accuracy of its answers, with 95 % intervals. {numbered}."
        + (f" Spearman's rank correlation: {rho}." if rho else ""),
        _choices(places, shown=tuple(places)),
    )


def _choices(places: dict[str, int], shown: Sequence[str] = FIRST_SHOWN) -> tuple[Choice, ...]:
    own = [name for name in places if name in shown] or list(places)
    return tuple(Choice(name, place, charts.key(place), name in own) for name, place in places.items())


def _accuracy_confidence() -> tuple[Choice, ...]:
    named = (("accuracy", charts.ACCURACY_PLACE), ("mean confidence", charts.CONFIDENCE_PLACE))
    return tuple(Choice(name, place, charts.key(place)) for name, place in named)


# By kind, in the page's order. A kind that is not here is not on the page.
OF_A_RUN: Mapping[str, Callable[[Any], Iterator[FigureView]]] = {
    Calibration.kind: _calibration,
    AccuracyRejection.kind: _rejection,
    Markers.kind: _markers,
    Exposure.kind: _exposure,
}
