"""The page of an overview: models by tasks, each task with its runs side by side and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from calprobe.measures.options import ReportOptions
from calprobe.messages import counted
from calprobe.presentation.forest import forest
from calprobe.presentation.panel_views import legend
from calprobe.presentation.report_pages import asked_page, page_wants, report_page
from calprobe.show.html import definitions
from calprobe.show.html.page import render
from calprobe.show.html.panels import drawn
from calprobe.show.html.views import FigureView, Folded, Page, Part, Section, Verdict, filled, side_by_side
from calprobe.show.prose import intervals_made
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.figures import pictures
from calprobe.studies.overview.figures import CAPTION, accuracy_and_error
from calprobe.studies.overview.glance import task_verdicts
from calprobe.studies.overview.overview_tables import (
    OF,
    OTHERS,
    difference_tables,
    matrix_tables,
    missing_tables,
    side_notes,
    sides_table,
)
from calprobe.studies.overview.overviews import Overview, TaskOverview
from calprobe.studies.scored.contents import gather
from calprobe.studies.scored.results import Report

MOST_PAIRS = 24  # whose differences a page has; a page of more is none that one reads, and `calprobe compare` has all


def overview_page(overview: Overview, options: ReportOptions, links: Mapping[str, str]) -> str:
    """The page as HTML.

    Args:
        overview: the tasks.
        options: that the numbers were computed with.
        links: by task, the address of a page of its own, if it has one.
    """
    labels = {side.label for task in overview.tasks for side in task.sides}
    counts = f"{counted(len(labels), 'model')} on {counted(len(overview.tasks), 'task')}"
    matrices = tuple(matrix_tables(overview))
    metrics = (metric for metric in overview.metrics if metric.name in (*overview.errors, *OTHERS))
    page = Page(
        title=overview.title,
        subtitle=f"{counts}, side by side. Ranges are 95 % intervals; "
        f"{'its own page' if links else 'calprobe report of its runs'} has all numbers and figures of a task.",
        sections=(
            *filled(
                Section("missing", "Missing", tuple(missing_tables(overview)), mark="warning"),
                Section("first", "Accuracy and calibration error", tuple(_at_first(overview)), ""),
            ),
            *filled(Section("models", "Models by tasks", (OF, *matrices) if matrices else ())),
            *(
                Section(f"task-{at}", task.name, tuple(_task(task, overview)), link=links.get(task.name, ""))
                for at, task in enumerate(overview.tasks)
            ),
        ),
        definitions=definitions.distinct(
            [definitions.ACCURACY, *map(definitions.of_metric, metrics), *definitions.of_differences("holm")]
        ),
        made=(intervals_made(options.resampling),),
    )
    return render(page)


def _at_first(overview: Overview) -> Iterator[Part]:
    """What a reader looks at first: the verdict on each task, and the runs by accuracy and error."""
    if sentences := tuple(task_verdicts(overview)):
        yield Verdict(sentences)
    panel = accuracy_and_error(overview)
    if panel is not None:
        choices = legend([series.name for series in panel.series], [series.place for series in panel.series])
        yield FigureView("Accuracy and calibration error", drawn(panel), CAPTION, choices)


def task_page(report: Report | AskedReport, options: ReportOptions) -> str:
    """The page of one task's runs, as `calprobe report RUN.. --html` writes it."""
    if isinstance(report, AskedReport):
        return asked_page(report, {run.label: pictures(run, options) for run in report.runs})
    return report_page(gather(report, page_wants(report)))


def _task(task: TaskOverview, overview: Overview) -> Iterator[Part]:
    """A task's runs side by side, and folded the differences between them."""
    alone = replace(overview, tasks=(task,))
    sides, pairs = sides_table(alone), tuple(difference_tables(task))
    yield from side_notes(alone)
    if task.uncompared:
        yield f"The runs are not compared: {task.uncompared}"
    if len(pairs) > MOST_PAIRS:
        yield f"The first {MOST_PAIRS} of {len(pairs)} pairs; calprobe compare prints all."
    if sides.rows:
        rows = tuple(replace(row, group="") for row in sides.rows)
        notes = () if len(overview.tasks) > 1 else (OF,)  # it stands above all tasks
        yield replace(sides, caption=f"Runs of {task.name}.", rows=rows, notes=notes, best_of="")
    if shown_pairs := pairs[:MOST_PAIRS]:
        metrics = () if task.comparison is None else task.comparison.metrics
        figures = (figure for pair in shown_pairs if (figure := forest(pair, metrics)) is not None)
        yield Folded("Differences between its runs", (*side_by_side(figures), *shown_pairs))
