"""`calprobe report` as a page: what each section shows, taken from frozen results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from calprobe.analysis.contents import ReportContents, RunContents, Wanted
from calprobe.analysis.html import definitions
from calprobe.analysis.html.figure_views import figures_across, run_figures
from calprobe.analysis.html.page import render
from calprobe.analysis.html.run_view import big_numbers, manifests, options_made, page_title, run_head
from calprobe.analysis.html.views import Definition, PageView, RunView, WordingView
from calprobe.analysis.prose import (
    remarks,
    score_notes,
    templates_named,
    wording_facts,
)
from calprobe.analysis.results import Report, RunReport
from calprobe.analysis.tables import Table
from calprobe.analysis.tables.against import against_table
from calprobe.analysis.tables.answers import answers_table
from calprobe.analysis.tables.averages import averages_table, models_table
from calprobe.analysis.tables.labels import TableName, table_names
from calprobe.analysis.tables.report import estimators_table
from calprobe.analysis.tables.slices import slices_table, trend_table
from calprobe.analysis.tables.summary import summary_table
from calprobe.confidence import Headline, headline

MANY_RUNS = 4  # of more, each shows its main numbers only: 16 runs stay a page that one can send
ALL = Wanted(headline(Headline.PAGE), ("domain", "relation"), errors=10)
FEW = Wanted(headline(Headline.BRIEF), ("domain",), errors=5)
LESS = "Of so many runs each shows its main numbers; a page of few has all metrics, more estimators, and relations."


def page_wants(report: Report) -> Wanted:
    """What the page of a report draws, for `calprobe.analysis.contents.gather`."""
    return FEW if _shows_less(report) else ALL


def _shows_less(report: Report) -> bool:
    """Whether each run shows the main numbers only."""
    return len(report.runs) > MANY_RUNS


def report_page(contents: ReportContents) -> str:
    """The page as HTML."""
    return render("report.html.j2", _page(contents))


def _page(contents: ReportContents) -> PageView:
    report = contents.report
    runs = tuple(_run(run, place, contents) for place, run in enumerate(report.runs))
    facts = [run.facts for run in report.runs]
    across = tuple(figures_across(contents))
    sections = [
        ("runs", "Runs", True),
        ("across", "Across runs", bool(across)),
        ("estimators", "Estimators", True),
        ("figures", "Figures", any(run.figures for run in runs)),
        ("errors", "Surest errors", any(run.errors for run in runs)),
        ("wording", "Wording", any(run.wording for run in runs)),
        ("slices", "Slices", any(run.slices for run in runs)),
        ("definitions", "Definitions", True),
        ("made", "How it was made", True),
    ]
    summary = summary_table(report) if len(report.runs) > 1 else None
    return PageView(
        title=page_title(facts),
        subtitle="What the model knows, and whether its confidence says so. "
        "Ranges are 95 % intervals; every name underlined with dots has its definition behind it.",
        contents=tuple((anchor, name) for anchor, name, there in sections if there),
        runs=runs,
        notes=(*score_notes(report.options.reduction, report.options), *([LESS] if _shows_less(report) else [])),
        definitions=_definitions(report),
        made=options_made(report.options),
        manifests=manifests(facts),
        summary=summary,
        across=()
        if summary is None
        else tuple(filter(None, (models_table(report), averages_table(report, summary.columns)))),
        figures=across,
    )


def _run(run: RunReport, place: int, contents: ReportContents) -> RunView:
    found = RunContents()  # of a run without instances all figures would be blank
    if run.instances:
        found = contents.runs.get(run.label, found).only(page_wants(contents.report).estimators)
    wording = None
    if run.sensitivity is not None and run.uncertainty is not None:
        facts = tuple((name.strip(), said) for name, said in wording_facts(run.sensitivity, run.uncertainty))
        wording = WordingView(templates_named(run.sensitivity.templates), facts)
    head = run_head(run.facts, place)
    return replace(
        head,
        lines=(*head.lines, *remarks(run)),
        numbers=big_numbers(run),
        tables=_tables(run, contents.report),
        figures=tuple(run_figures(found)),
        errors=None if found.errors is None or not found.errors.answers else answers_table(found.errors, "note"),
        wording=wording,
        slices=tuple(_slices(run, found, contents.report)),
    )


def _slices(run: RunReport, found: RunContents, report: Report) -> Iterator[Table]:
    name = _names(report)[run.label]
    for own in found.slices:
        yield slices_table(run.facts, own, report.options, name, sortable=True)
        if (trend := trend_table(run.facts, own, name)) is not None:
            yield trend


def _names(report: Report) -> dict[str, TableName]:
    return table_names("", [run.facts for run in report.runs])


def _definitions(report: Report) -> tuple[Definition, ...]:
    return definitions.distinct(
        [
            definitions.BEAR_SCORE,
            definitions.CHANCE,
            definitions.COVERAGE,
            *(definitions.of_metric(metric) for metric in report.metrics),
            *(definitions.of_estimator(estimator) for run in report.runs for estimator in run.estimators),
        ]
    )


def _tables(run: RunReport, report: Report) -> tuple[Table, ...]:
    """Estimators by metrics, and the paper's numbers where they were asked for."""
    if not run.estimators:
        return ()
    name = _names(report)[run.label]
    estimators = replace(estimators_table(run, report, name), lead=())  # the run's head has these remarks
    if _shows_less(report):
        estimators = estimators.with_columns([place for place, c in enumerate(estimators.columns) if c.first])
    return (estimators, *([] if run.against is None else [against_table(run.facts, run.against, name)]))
