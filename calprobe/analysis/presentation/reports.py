"""What `calprobe report` shows: runs of scores, their reductions, runs of replies, or runs of both kinds by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from calprobe.analysis.against import against
from calprobe.analysis.asked.choice import choose_asked
from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.pictures import Pictures, pictures
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.report_asked import report_asked
from calprobe.analysis.choice import check_choice, choose
from calprobe.analysis.contents import ReportContents, Wanted, gather, known_exposures
from calprobe.analysis.html import asked_page, overview_page, page_wants, report_page
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.overview import OverviewOptions, overview, report_task
from calprobe.analysis.paper_figures import paper_figures
from calprobe.analysis.presentation.presentation import Presentation
from calprobe.analysis.presentation.report_figures import reply_figures, score_figures
from calprobe.analysis.recalibrated import saved_maps
from calprobe.analysis.reductions import compare_reductions
from calprobe.analysis.report_runs import report
from calprobe.analysis.results import Report
from calprobe.analysis.tables import Table, reductions_tables, report_sections, report_tables
from calprobe.analysis.tables.asked import asked_tables
from calprobe.analysis.tables.asked.published import published_tables
from calprobe.analysis.tables.asked.stated_models import models_tables
from calprobe.analysis.tables.overview import overview_tables
from calprobe.analysis.tasks import tasks_of
from calprobe.cells.opening import AnyRun, asked_runs, of_replies, of_scores
from calprobe.confidence import Headline, headline
from calprobe.errors import UsageError

SCORE_TABLES_NEED = (
    "summary needs several runs, models three, averages three that were asked the same, slices --by, "
    "paper --against, wording two paraphrases (in text)"
)
REPLY_TABLES_NEED = "matrix needs several sets, across and models several runs, paper --against"


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """What of a report is shown."""

    estimators: tuple[str, ...] | None = None  # None: all
    metrics: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None  # kinds
    beside: str | None = None  # published numbers
    labels: Mapping[str, str] = field(default_factory=dict)  # names that runs were given, by what they are called
    figures: bool = False  # whether figures will be called for
    page: bool = False  # likewise


def present_scores(runs: Mapping[str, AnyRun], options: ReportOptions, choice: ReportChoice) -> Presentation:
    """The report of runs of scores. Raises as `report`, `choose` and `against`; UsageError for tables it has not."""
    scored = of_scores(runs)
    if choice.estimators is not None or choice.metrics is not None:
        check_choice(scored.values(), choice.estimators, choice.metrics)
    computed = report(scored, options)
    whole = computed if choice.beside is None else against(computed, paper_figures())
    chosen = choose(whole, choice.estimators, choice.metrics)

    @cache
    def contents() -> ReportContents:
        """Of all that was computed, once for figures and page."""
        wanted = Wanted(headline(Headline.PAPER)) if choice.figures else Wanted()
        return gather(whole, wanted | page_wants(whole) if choice.page else wanted, known_exposures(whole))

    return Presentation(
        chosen,
        lambda: _of_kinds(report_sections(chosen), choice.tables, SCORE_TABLES_NEED),
        lambda: _of_kinds(report_tables(chosen), choice.tables, SCORE_TABLES_NEED),
        lambda: score_figures(contents(), choice.labels),
        lambda: report_page(replace(contents(), report=chosen)),
        _map_files(computed),
    )


def _map_files(computed: Report) -> Mapping[str, Callable[[str], str]]:
    """The file of the maps that were fitted on a run, where a report of one run has any."""
    maps = [run.recalibrated for run in computed.runs if run.recalibrated is not None]
    return {"maps": lambda name: saved_maps(maps[0], name).text()} if len(maps) == 1 else {}


def present_reductions(runs: Mapping[str, AnyRun], options: ReportOptions, beside: str | None) -> Presentation:
    """The four reductions of runs of scores side by side. Raises as `compare_reductions` and `against`."""
    compared = compare_reductions(of_scores(runs), options)
    compared = compared if beside is None else against(compared, paper_figures())
    tables = partial(reductions_tables, compared)
    return Presentation(compared, tables, tables)


def present_replies(runs: Mapping[str, AnyRun], options: AskedOptions, choice: ReportChoice) -> Presentation:
    """The report of runs of replies. Raises as `report_asked` and `choose_asked`; UsageError for tables it has not."""
    whole = report_asked(asked_runs(of_replies(runs)), options)
    chosen = choose_asked(whole, choice.estimators, choice.metrics)
    tables = partial(_reply_tables, chosen, choice)

    @cache
    def drawn() -> Mapping[str, Pictures]:
        return {run.label: pictures(run, options) for run in whole.runs}

    return Presentation(
        chosen,
        tables,
        tables,
        lambda: reply_figures(whole, drawn(), choice.labels),
        lambda: asked_page(chosen, drawn()),
    )


def present_overview(
    title: str, runs: Mapping[str, AnyRun], options: OverviewOptions, labels: Mapping[str, str]
) -> Presentation:
    """Runs of both kinds side by side, task by task.

    Args:
        title: of the page.
        runs: by label.
        options: of both kinds.
        labels: names that runs were given, which stay as they are.
    """
    tasks = [report_task(task, options).overview for task in tasks_of(runs, labels)]
    both = overview(title, tasks, options)
    tables = partial(overview_tables, both)
    return Presentation(both, tables, tables, page=lambda: overview_page(both, options, {}))


def _reply_tables(report: AskedReport, choice: ReportChoice) -> Sequence[Table]:
    """Those of the runs, of their models side by side, and published ones with one's own rows; of the kinds alone."""
    tables = [*asked_tables(report)]
    if report.stated is not None:
        tables += models_tables(report.stated)
    if choice.beside is not None:
        tables += published_tables(choice.beside, report)
    names = ", ".join(dict.fromkeys(table.kind for table in tables))
    return _of_kinds(tables, choice.tables, f"it has {names}\n{REPLY_TABLES_NEED}")


def _of_kinds(tables: Sequence[Table], kinds: Sequence[str] | None, needs: str) -> Sequence[Table]:
    """The tables of the kinds; None: all. Raises UsageError for none."""
    chosen = [table for table in tables if kinds is None or table.kind in kinds]
    if not chosen:
        raise UsageError(f"--tables {','.join(kinds or ())}: the report has no such table; {needs}")
    # A file of numbers leaves out a table of numbers that others have; alone it has them.
    return chosen if any(table.tidy for table in chosen) else [replace(table, tidy=True) for table in chosen]
