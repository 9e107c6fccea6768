"""The page's figures with their legends and captions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calprobe.analysis.contents import ReportContents, RunContents
from calprobe.analysis.curves.results import MarkerPoint
from calprobe.analysis.html import charts
from calprobe.analysis.html.views import Choice, FigureView
from calprobe.analysis.number_text import signed_spelled
from calprobe.analysis.palette import series_places
from calprobe.confidence import Headline, headline

FIRST_SHOWN = headline(Headline.FIRST)  # before the reader chooses


def run_figures(found: RunContents) -> Iterator[FigureView]:
    """The figures of one run."""
    if found.calibration:
        places = series_places([line.estimator for line in found.calibration])
        yield FigureView(
            "Calibration",
            charts.calibration(found.calibration, places),
            "Accuracy against mean confidence of ACE's quantile bins, with 95 % Wilson intervals; on the dotted line "
            "the two are equal. Below: the share of the instances in bins of equal width.",
            _choices(places),
        )
    if found.rejection:
        places = series_places([line.estimator for line in found.rejection])
        votes = " Plus signs: votes of two paraphrases or more that agree." if found.votes else ""
        yield FigureView(
            "Accuracy and rejection",
            charts.rejection(found.rejection, found.votes, places),
            "Accuracy of the rest when the least confident predictions are rejected, with 95 % bands. Points: "
            f"confidence thresholds 0.0, 0.1, .. 1.0.{votes}",
            _choices(places),
        )
    if found.markers:
        yield _markers(found.markers)
    for line in found.exposure:
        yield FigureView(
            f"Exposure, {line.estimator}",
            charts.exposure(line),
            "Accuracy and mean confidence of facts by the number of sentences that told them in training, with 95 % "
            "bands.",
            _accuracy_confidence(),
            choosable=False,
        )


def _markers(points: Sequence[MarkerPoint]) -> FigureView:
    return FigureView(
        "Epistemic markers",
        charts.markers(points),
        "Accuracy and mean confidence of base when the statement says how sure it is.",
        _accuracy_confidence(),
        choosable=False,
    )


def figures_across(contents: ReportContents) -> Iterator[FigureView]:
    """The figures over all runs."""
    empty = {run.label for run in contents.report.runs if not run.instances}
    points = [point for point in contents.accuracy_ace if point.run not in empty]
    numbers = charts.run_numbers(points)
    if len(numbers) < 2:
        return
    places = series_places(list(dict.fromkeys(point.estimator for point in points)))
    numbered = ", ".join(f"{number} {run}" for run, number in numbers.items())
    known = [found for found in contents.correlations if not math.isnan(found.rho.value)]
    rho = "; ".join(f"{found.estimator} {signed_spelled(found.rho)}" for found in known)
    yield FigureView(
        "Accuracy and ACE",
        charts.accuracy_ace(points, places),
        f"ACE of each estimator against accuracy of base, with 95 % intervals. {numbered}."
        + (f" Spearman's rank correlation: {rho}." if rho else ""),
        _choices(places, shown=tuple(places)),
    )


def _choices(places: dict[str, int], shown: Sequence[str] = FIRST_SHOWN) -> tuple[Choice, ...]:
    own = [name for name in places if name in shown] or list(places)
    return tuple(Choice(name, place, charts.key(place), name in own) for name, place in places.items())


def _accuracy_confidence() -> tuple[Choice, ...]:
    named = (("accuracy", charts.ACCURACY_PLACE), ("mean confidence", charts.CONFIDENCE_PLACE))
    return tuple(Choice(name, place, charts.key(place)) for name, place in named)
