"""What commands show of runs of replies: a report, a comparison.

Pages and what they need are imported when one is written: without them a command starts sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from calprobe.cells.asked import Asked
from calprobe.cells.opening import AnyRun, asked_runs, of_replies
from calprobe.curves.differences import draw_differences
from calprobe.measures.options import CompareOptions, Pair, ReportOptions
from calprobe.presentation.presentation import (
    WHOLE,
    NamedFigure,
    Presentation,
    ReportChoice,
    named_tables,
    tables_of_kinds,
)
from calprobe.presentation.reply_figures import reply_figures
from calprobe.presentation.run_file_names import file_names
from calprobe.show.tables import Table
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.compared_figure import compared_forest
from calprobe.studies.asked.compared_layouts import compared_tables
from calprobe.studies.asked.figures import Pictures, pictures
from calprobe.studies.asked.glance import compared_at_a_glance, tables_at_a_glance
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.published.published_tables import published_tables
from calprobe.studies.stated.model_layouts import models_tables

TABLES_NEED = "matrix needs several sets, across and models several runs, paper --against"


def present_replies(runs: Mapping[str, AnyRun], options: ReportOptions, choice: ReportChoice) -> Presentation:
    """The report of runs of replies. Raises as `report_asked` and `choose_asked`; UsageError for tables it has not."""
    asked = asked_runs(of_replies(runs))
    whole = report_asked(asked, options)
    shown = show_replies(choose_asked(whole, choice.estimators, choice.metrics), choice, whole)
    return replace(shown, linked=_reply_pages(asked, options, choice)) if choice.replies else shown


def show_replies(chosen: AskedReport, choice: ReportChoice, whole: AskedReport | None = None) -> Presentation:
    """What a report of runs of replies shows; arguments as of `show_scores`."""
    whole = chosen if whole is None else whole
    runs, options = whole.runs, whole.options
    in_files = partial(_tables, chosen, choice)

    def tables() -> Sequence[Table]:
        if not choice.at_a_glance:
            return in_files()
        return tables_at_a_glance(chosen, in_files(), choice.wanted)

    @cache
    def drawn() -> Mapping[str, Pictures]:
        return {run.label: pictures(run, options, choice.estimators) for run in runs}

    def page() -> str:
        from calprobe.presentation.report_pages import asked_page

        return asked_page(chosen, drawn(), _reply_files([run.label for run in runs], choice))

    return Presentation(
        chosen,
        tables,
        in_files,
        lambda: reply_figures(whole, drawn(), choice.labels),
        page,
    )


def _reply_files(labels: Sequence[str], choice: ReportChoice) -> dict[str, str]:
    """The file of each run's replies beside the page, by label; none unless they are wanted."""
    if not choice.replies:
        return {}
    names = file_names(labels) if len(labels) > 1 else dict.fromkeys(labels, "")
    return {label: f"{choice.replies}-replies{'-' * bool(name)}{name}.html" for label, name in names.items()}


def _reply_pages(asked: Sequence[Asked], options: ReportOptions, choice: ReportChoice) -> dict[str, Callable[[], str]]:
    """The pages of each run's replies by their files."""
    from calprobe.presentation.replies_page import replies_page
    from calprobe.studies.asked.shown_replies import shown_replies

    def page(run: Asked) -> str:
        return replies_page(shown_replies(run, options))

    files = _reply_files([run.label for run in asked], choice)
    return {files[run.label]: partial(page, run) for run in asked}


def present_asked_comparison(
    runs: Mapping[str, AnyRun],
    options: CompareOptions,
    variants: tuple[Pair, ...] | None,
    choice: ReportChoice = WHOLE,
) -> Presentation:
    """Differences between runs of replies, or within one. Raises as `compare_asked`."""
    return show_asked_comparison(compare_asked(asked_runs(of_replies(runs)), options, variants), choice)


def show_asked_comparison(comparison: AskedComparison, choice: ReportChoice) -> Presentation:
    """What a comparison of runs of replies shows."""

    def in_files() -> Sequence[Table]:
        return named_tables(compared_tables(comparison), choice.tables)

    def tables() -> Sequence[Table]:
        return compared_at_a_glance(comparison, in_files()) if choice.at_a_glance else in_files()

    def page() -> str:
        from calprobe.presentation.comparison_pages import asked_comparison_page

        return asked_comparison_page(comparison)

    return Presentation(
        comparison,
        tables,
        in_files,
        lambda: [NamedFigure("", partial(draw_differences, compared_forest(comparison)))],
        page,
    )


def _tables(report: AskedReport, choice: ReportChoice) -> Sequence[Table]:
    """Those of the runs, of their models side by side, and published ones with one's own rows; of the kinds alone."""
    tables = [*asked_tables(report)]
    if report.stated is not None:
        tables += models_tables(report.stated)
    if choice.beside is not None:
        tables += published_tables(choice.beside, report)
    names = ", ".join(dict.fromkeys(table.kind for table in tables))
    return tables_of_kinds(tables, choice.tables, f"it has {names}\n{TABLES_NEED}")
