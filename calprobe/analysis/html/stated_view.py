"""The figures of stated confidence on a page of asked runs."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.asked.stated.pictures import StatedPictures
from calprobe.analysis.html import asked_charts, charts, stated_charts
from calprobe.analysis.html.views import Choice, FigureView
from calprobe.analysis.palette import series_places


def stated_figures(found: StatedPictures) -> Iterator[FigureView]:
    """An overview, reliability by prompt, correlations of prompts, and confidence by condition."""
    for overview in found.overviews:
        yield FigureView(
            _titled("Consistency, fidelity and reliability", overview.title),
            asked_charts.grouped_dots(overview, "MSD, fidelity rate and Brier score by group of prompts."),
            "By group of prompts: mean standard deviation of its confidences (smaller is better), and means over its "
            "prompts of the fidelity rate (larger is better) and the Brier score (smaller is better), with 95 % "
            "intervals.",
            tuple(Choice(name, at, charts.key(at)) for at, name in enumerate(overview.legend)),
        )
    for name in dict.fromkeys(line.run for line in found.panels.lines):
        lines = [line for line in found.panels.lines if line.run == name]
        places = series_places([line.estimator for line in lines])
        yield FigureView(
            "Reliability by prompt",
            charts.calibration(lines, places),
            "Accuracy against mean stated confidence of ACE's quantile bins, all sets together; on the dotted line the "
            "two are equal. Below: the share of the answers in bins of equal width."
            + (f" {found.panels.said}; intervals allow for it." if found.panels.said else ""),
            tuple(Choice(line, place, charts.key(place)) for line, place in places.items()),
        )
    for own in found.correlations:
        yield FigureView(
            _titled("Correlation of prompts", own.title),
            stated_charts.correlations(own),
            "Pearson's correlation of the confidences in the same answers; numbers of columns are those of the rows.",
        )
    for condition in found.conditions:
        yield FigureView(
            _titled("Confidence by condition", condition.title),
            asked_charts.grouped_dots(condition, "Mean confidence by what stood in the place of the answer."),
            "Mean over the prompts of the confidence in the model's own answer and in what was put in its place, with "
            "95 % intervals.",
            tuple(Choice(name, at, charts.key(at)) for at, name in enumerate(condition.legend)),
        )
    for matrix in found.distributions:
        yield FigureView(
            _titled("Distribution of confidences", matrix.title),
            asked_charts.matrix(matrix),
            "Of all prompts together: the share of the stated confidences in each tenth of the scale, by what stood in "
            "the place of the answer; a bin has its upper end.",
        )


def _titled(title: str, more: str) -> str:
    return f"{title}: {more}" if more else title
