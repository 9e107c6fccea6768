"""An overview as a page: models by tasks, each task with its runs side by side and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from calprobe.analysis.asked.pictures import pictures
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.contents import gather
from calprobe.analysis.html import definitions
from calprobe.analysis.html.asked_view import ACCURACY, asked_page
from calprobe.analysis.html.forest import forest
from calprobe.analysis.html.page import render
from calprobe.analysis.html.report_view import page_wants, report_page
from calprobe.analysis.html.views import Definition, FigureView, PageView, SectionView
from calprobe.analysis.overview import Overview, OverviewOptions, TaskOverview
from calprobe.analysis.results import Report
from calprobe.analysis.tables.overview import (
    OF,
    OTHERS,
    difference_tables,
    matrix_tables,
    missing_tables,
    side_notes,
    sides_table,
)
from calprobe.analysis.tables.types import Table
from calprobe.messages import counted

MOST_PAIRS = 24  # whose differences a page has; a page of more is none that one reads, and `calprobe compare` has all


def overview_page(found: Overview, options: OverviewOptions, links: Mapping[str, str]) -> str:
    """The page as HTML.

    Args:
        found: the tasks.
        options: that the numbers were computed with.
        links: by task, the address of a page of its own, if it has one.
    """
    return render("overview.html.j2", _page(found, options, links))


def task_page(report: Report | AskedReport, options: OverviewOptions) -> str:
    """The page of one task's runs, as `calprobe report RUN.. --html` writes it."""
    if isinstance(report, AskedReport):
        return asked_page(report, {run.label: pictures(run, options.asked) for run in report.runs})
    return report_page(gather(report, page_wants(report)))


def _page(found: Overview, options: OverviewOptions, links: Mapping[str, str]) -> PageView:
    from calprobe.version import __version__

    sections = (*_all(found), *(_task(task, at, found, links) for at, task in enumerate(found.tasks)))
    labels = dict.fromkeys(side.label for task in found.tasks for side in task.sides)
    resampling = options.scores.resampling
    drawn = f"95 % bootstrap, {resampling.n_resamples:,} resamples, seed {resampling.seed}"
    return PageView(
        title=found.title,
        subtitle=f"{counted(len(labels), 'model')} on {counted(len(found.tasks), 'task')}, side by side. Ranges are "
        f"95 % intervals; {'its own page' if links else '`calprobe report` of its runs'} has all numbers and figures "
        "of a task.",
        contents=(
            *((section.anchor, section.title) for section in sections),
            ("definitions", "Definitions"),
            ("made", "How it was made"),
        ),
        runs=(),
        notes=(),
        definitions=_definitions(found),
        made=(("calprobe", __version__), ("intervals", drawn if resampling.n_resamples else "none asked for")),
        manifests=(),
        sections=sections,
    )


def _all(found: Overview) -> Iterator[SectionView]:
    """What is over all tasks."""
    if missing := tuple(missing_tables(found)):
        yield SectionView("missing", "Missing", tables=_alone(missing), warning=True)
    if matrices := tuple(matrix_tables(found)):
        yield SectionView("models", "Models by tasks", tables=matrices, lines=(OF,))


def _task(task: TaskOverview, at: int, found: Overview, links: Mapping[str, str]) -> SectionView:
    sides = sides_table(replace(found, tasks=(task,)))
    rows = tuple(replace(row, group="") for row in sides.rows)
    notes = () if len(found.tasks) > 1 else (OF,)  # it stands above all tasks
    shown = replace(sides, caption=f"Runs of {task.name}.", rows=rows, notes=notes, best_of="")
    pairs = _alone(difference_tables(task))
    lines = list(side_notes(replace(found, tasks=(task,))))
    lines += [f"The runs are not compared: {task.uncompared}"] if task.uncompared else []
    if len(pairs) > MOST_PAIRS:
        lines.append(f"The first {MOST_PAIRS} of {len(pairs)} pairs; `calprobe compare` prints all.")
    metrics = () if task.comparison is None else task.comparison.metrics
    figures: list[FigureView] = [view for pair in pairs[:MOST_PAIRS] if (view := forest(pair, metrics)) is not None]
    return SectionView(
        f"task-{at}",
        task.name,
        tables=_alone((shown,)) if rows else (),
        lines=tuple(lines),
        link=links.get(task.name, ""),
        figures=tuple(figures),
        details=pairs[:MOST_PAIRS],
    )


def _alone(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """Without what stands before a table on a terminal."""
    return tuple(replace(table, heading=(), general=()) for table in tables)


def _definitions(found: Overview) -> tuple[Definition, ...]:
    return definitions.distinct(
        [
            ACCURACY,
            *(definitions.of_metric(metric) for metric in found.metrics if metric.name in (*found.errors, *OTHERS)),
            definitions.DIFFERENCE,
            definitions.P_VALUE,
            definitions.HOLM,
        ]
    )
