"""The figures of runs of replies with their legends and captions, alone and beside runs of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from calprobe.curves.calibration_curve import Calibration
from calprobe.presentation import charts
from calprobe.presentation.figure_views import rejection, reliability, reliability_of_runs
from calprobe.presentation.panel_views import views_of
from calprobe.show.html.panels import drawn
from calprobe.show.html.views import Choice, FigureView
from calprobe.show.kinds.quarters_figure import QuarterBars, Quarters
from calprobe.show.marks import Drawable, Figures
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.figures import Pictures, figures_of_runs
from calprobe.studies.four_ways.figures import WayPictures
from calprobe.studies.stated.figures import StatedPictures

# Of figures of stated confidence and of facts in several ways: title, caption and what is spoken, as in `Figures`.
TEXTS: Mapping[str, tuple[str, str] | tuple[str, str, str]] = {
    "overviews": (
        "Consistency, fidelity and reliability: {0.title}",
        "By group of prompts: mean standard deviation of its confidences (smaller is better), and means over its "
        "prompts of the fidelity rate (larger is better) and the Brier score (smaller is better), with 95 % intervals.",
        "MSD, fidelity rate and Brier score by group of prompts.",
    ),
    "correlations": (
        "Correlation of prompts: {0.title}",
        "Pearson's correlation of the confidences in the same answers; numbers of columns are those of the rows.",
    ),
    "conditions": (
        "Confidence by condition: {0.title}",
        "Mean over the prompts of the confidence in the model's own answer and in what was put in its place, with "
        "95 % intervals.",
        "Mean confidence by what stood in the place of the answer.",
    ),
    "distributions": (
        "Distribution of confidences: {0.title}",
        "Of all prompts together: the share of the stated confidences in each tenth of the scale, by what stood in "
        "the place of the answer; a bin has its upper end.",
    ),
    "agreement": (
        "Rank correlation of the confidences",
        "Spearman's rho over the facts that have both; the darker, the farther from 0.",
    ),
    "relations": (
        "{0.title}",
        "Shares of each relation's facts, whose number stands in brackets. Thick: Holm p below 0.05.",
    ),
}


def asked_figures(pictures: Pictures) -> Iterator[FigureView]:
    """The figures of one run of replies."""
    if pictures.stated is None:
        yield from _reliability_by_name(
            pictures.calibration,
            "Reliability on {}",
            "Accuracy against mean confidence of quantile bins, as many as the number of rows allows, and where "
            "confidences have few values of ECE's bins; pooled over the variants that are read well enough. A stated "
            "confidence that is nowhere read so is left out. On the dotted line the two are equal. Below: the share "
            "of the rows in bins of equal width.",
            "question" if pictures.calibration.of == "questions" else "row",
        )
        for name in dict.fromkeys(line.run for line in pictures.rejection.lines):
            lines = tuple(line for line in pictures.rejection.lines if line.run == name)
            yield from rejection(replace(pictures.rejection, lines=lines), f"Accuracy and rejection on {name}", None)
    for figures in pictures.figures:
        yield from views_of(figures)
    if pictures.stated is not None:
        yield from _stated_figures(pictures.stated)


def _stated_figures(pictures: StatedPictures) -> Iterator[FigureView]:
    yield from _named_views("overviews", pictures.overviews)
    yield from _reliability_by_name(
        pictures.panels,
        "Reliability by prompt",
        "Accuracy against mean stated confidence of ACE's quantile bins, all sets together; on the dotted line the "
        "two are equal. Below: the share of the answers in bins of equal width.",
    )
    for kind in ("correlations", "conditions", "distributions"):
        yield from _named_views(kind, getattr(pictures, kind))


def asked_figures_across(report: AskedReport, pictures: Mapping[str, Pictures]) -> Iterator[FigureView]:
    """The figures over all runs of replies, those side by side on each set first; `pictures` by the run's label."""
    for name in dict.fromkeys(name for run in report.runs for name in run.sets):
        lines = {
            run: [line for line in of_run.calibration.lines if line.run == name]
            for run, of_run in pictures.items()
            if of_run.stated is None
        }
        yield from reliability_of_runs(lines, name, "question")
    for figures in figures_of_runs(report):
        yield from views_of(figures)


def way_figures(pictures: WayPictures) -> dict[str, tuple[FigureView, ...]]:
    """The figures of the same facts in several ways, by the section that shows them."""
    lines = reliability(
        pictures.calibration.lines,
        "Reliability",
        "Accuracy against mean confidence of quantile bins, each confidence over the facts that have it. On the "
        "dotted line the two are equal. Below: the share of the facts in bins of equal width.",
        "fact",
    )
    return {
        "known": tuple(_quarters(pictures.quarters)),
        "confidences": tuple(lines),
        "agreement": tuple(_named_views("agreement", [*filter(None, [pictures.correlations])])),
        "relations": tuple(_named_views("relations", pictures.dumbbells)),
    }


def _named_views(kind: str, panels: Sequence[Drawable]) -> Iterator[FigureView]:
    return views_of(Figures(kind, panels, *TEXTS[kind]))


def _quarters(quarters: tuple[Quarters, ...]) -> Iterator[FigureView]:
    if quarters:
        panel = QuarterBars(quarters).panel
        yield FigureView(
            "Ranked right, answered right",
            drawn(panel),
            "Shares of the facts in percent. Only ranked right: the right answer is ranked first, and another is said.",
            tuple(Choice(series.name, series.place, charts.part_key(series.place)) for series in panel.series),
            choosable=False,
        )


def _reliability_by_name(
    calibration: Calibration, title: str, caption: str, of: str = "instance"
) -> Iterator[FigureView]:
    """A figure for each name that lines have; it stands in the title."""
    allowed = f" {calibration.said}; intervals allow for it." if calibration.said else ""
    for name in dict.fromkeys(line.run for line in calibration.lines):
        lines = [line for line in calibration.lines if line.run == name]
        yield from reliability(lines, title.format(name), caption + allowed, of)
