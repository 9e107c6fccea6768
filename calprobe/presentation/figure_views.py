"""The page's figures with their legends and captions: for each kind of curve, what of it the page draws."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calprobe.confidence import Headline, headline
from calprobe.curves.accuracy_ace import AccuracyAce
from calprobe.curves.accuracy_rejection import AccuracyRejection
from calprobe.curves.calibration_curve import Calibration, CalibrationLine
from calprobe.curves.exposure import Exposure
from calprobe.curves.markers import Markers
from calprobe.measures.number_text import signed_spelled
from calprobe.presentation import charts
from calprobe.presentation.panel_views import legend
from calprobe.show.html.views import Choice, FigureView
from calprobe.show.palette import MAX_SERIES, series_places
from calprobe.studies.scored.contents import ReportContents, RunContents

FIRST_SHOWN = headline(Headline.PAPER)  # before the reader chooses, as in the figures of `report --plots`


def run_figures(contents: RunContents) -> Iterator[FigureView]:
    """The figures of one run."""
    for kind, views in OF_A_RUN.items():
        if kind in contents.curves:
            yield from views(contents.curves[kind])


def figures_across(contents: ReportContents) -> Iterator[FigureView]:
    """The figures over all runs that have instances, those side by side on each probe first."""
    by_probe: dict[str, dict[str, Sequence[CalibrationLine]]] = {}
    for run in contents.report.runs:
        curves = contents.runs[run.label].curves.get(Calibration.kind) if run.label in contents.runs else None
        if isinstance(curves, Calibration):
            by_probe.setdefault(run.facts.manifest.probe.name, {})[run.label] = curves.lines
    for probe, lines in by_probe.items():
        yield from reliability_of_runs(lines, probe)
    empty = {run.label for run in contents.report.runs if not run.instances}
    curves = contents.across.get(AccuracyAce.kind)
    if isinstance(curves, AccuracyAce):
        yield from _accuracy_ace(replace(curves, points=tuple(p for p in curves.points if p.run not in empty)))


def reliability(
    lines: Sequence[CalibrationLine], title: str, caption: str, of: str = "instance", shown: Sequence[str] | None = None
) -> Iterator[FigureView]:
    """Confidences in one figure, none without lines; `of` is what an instance is called."""
    if lines:
        places = series_places([line.estimator for line in lines])
        choices = legend(places, places.values(), shown)
        yield FigureView(title, charts.calibration(lines, places, of), caption, choices)


def reliability_of_runs(
    lines: Mapping[str, Sequence[CalibrationLine]], on: str, of: str = "instance"
) -> Iterator[FigureView]:
    """The confidence that several runs have in one figure, a series a run; none of one run, or of too many to tell.

    Args:
        lines: by run, in its own order of estimators; the first that two runs have is drawn.
        on: the probe or question set.
        of: what an instance is called.
    """
    counts = Counter(line.estimator for of_run in lines.values() for line in of_run)
    shared = next((name for name, count in counts.items() if count > 1), None)
    drawn = {run: line for run, of_run in lines.items() for line in of_run if line.estimator == shared}
    if shared is not None and len(drawn) <= MAX_SERIES:
        # By places in order: a run may be called as an estimator is.
        places = dict(zip(drawn, range(MAX_SERIES), strict=False))
        series = [replace(line, estimator=run) for run, line in drawn.items()]
        yield FigureView(
            f"Reliability of {shared} on {on}",
            charts.calibration(series, places, of),
            "Accuracy against mean confidence of bins, by run, with 95\u00a0% intervals; under the dotted line a model "
            f"is overconfident. Below: the share of the {of}s in bins of equal width.",
            legend(places, places.values()),
        )


def _calibration(curves: Calibration) -> Iterator[FigureView]:
    yield from reliability(
        curves.lines,
        "Calibration",
        "Accuracy against mean confidence of ACE's quantile bins, with 95\u00a0% Wilson intervals; on the dotted line "
        "the two are equal. Below: the share of the instances in bins of equal width.",
        shown=FIRST_SHOWN,
    )


def rejection(
    curves: AccuracyRejection, title: str = "Accuracy and rejection", shown: Sequence[str] | None = FIRST_SHOWN
) -> Iterator[FigureView]:
    """Accuracy of what is kept in one figure, none without lines."""
    if not curves.lines:
        return
    places = series_places([line.estimator for line in curves.lines])
    votes = " Plus signs: votes of two paraphrases or more that agree." if curves.votes else ""
    bands = ", with 95\u00a0% bands" if any(np.isfinite(line.band.low).any() for line in curves.lines) else ""
    yield FigureView(
        title,
        charts.rejection(curves.lines, curves.votes, places),
        f"Accuracy of the rest when the least confident predictions are rejected{bands}. Points: "
        f"confidence thresholds 0.0, 0.1, .. 1.0.{votes}",
        legend(places, places.values(), shown),
    )


def _markers(curves: Markers) -> Iterator[FigureView]:
    caption = "Accuracy and mean confidence of base when the statement says how sure it is."
    drawing = charts.markers(curves.points)
    yield FigureView("Epistemic markers", drawing, caption, _accuracy_and_confidence(), choosable=False)


def _exposure(curves: Exposure) -> Iterator[FigureView]:
    caption = (
        "Accuracy and mean confidence of facts by the number of training sentences that state them, "
        "with 95\u00a0% intervals. Below: how many facts."
    )
    for line in curves.lines:
        title, drawing = f"Exposure, {line.estimator}", charts.exposure(line)
        yield FigureView(title, drawing, caption, _accuracy_and_confidence(), choosable=False)


def _accuracy_and_confidence() -> tuple[Choice, ...]:
    return legend(("accuracy", "mean confidence"), (charts.ACCURACY_PLACE, charts.CONFIDENCE_PLACE))


def _accuracy_ace(curves: AccuracyAce) -> Iterator[FigureView]:
    numbers = charts.run_numbers(curves.points)
    if len(numbers) < 2:
        return
    places = series_places(list(dict.fromkeys(point.estimator for point in curves.points)))
    numbered = ", ".join(f"{number} {run}" for run, number in numbers.items())
    mixed = len({correlation.probe for correlation in curves.correlations}) > 1
    rho = "; ".join(
        f"{f'{correlation.probe}, ' * mixed}{correlation.estimator} {signed_spelled(correlation.rho)}"
        for correlation in curves.correlations
        if not math.isnan(correlation.rho.value)
    )
    yield FigureView(
        "Accuracy and ACE",
        charts.accuracy_ace(curves.points, places),
        f"ACE of each estimator against the accuracy of its answers, with 95\u00a0% intervals. {numbered}."
        + (f" Spearman's rank correlation: {rho}." if rho else ""),
        legend(places, places.values()),
    )


# By kind, in the page's order. A kind that is not here is not on the page.
OF_A_RUN: Mapping[str, Callable[[Any], Iterator[FigureView]]] = {
    Calibration.kind: _calibration,
    AccuracyRejection.kind: rejection,
    Markers.kind: _markers,
    Exposure.kind: _exposure,
}
