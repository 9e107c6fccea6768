"""What commands show of runs of scores: a report, the reductions side by side, a comparison.

Pages and what they need are imported when one is written: without them a command starts sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from calprobe.cells.opening import AnyRun, of_scores
from calprobe.confidence import Headline, headline
from calprobe.curves import plot
from calprobe.curves.curve import Curves
from calprobe.curves.differences import draw_differences, forest
from calprobe.measures.compare_results import Comparison
from calprobe.measures.compare_runs import compare
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.measures.recalibrated import saved_maps
from calprobe.presentation.presentation import (
    WHOLE,
    NamedFigure,
    Presentation,
    ReportChoice,
    named_tables,
    tables_of_kinds,
)
from calprobe.presentation.run_file_names import JOINT, file_names, names_of_runs
from calprobe.show.kinds.gap_figure import gap_figures
from calprobe.show.plots import Look
from calprobe.show.plots.paper import draw
from calprobe.show.tables.comparison import comparison_tables, pair_tables
from calprobe.show.tables.types import Table
from calprobe.studies.scored.against import against
from calprobe.studies.scored.choice import check_choice, choose
from calprobe.studies.scored.contents import ReportContents, Wanted, gather, known_exposures
from calprobe.studies.scored.glance import compared_at_a_glance, tables_at_a_glance
from calprobe.studies.scored.paper_figures import paper_figures
from calprobe.studies.scored.reductions import compare_reductions
from calprobe.studies.scored.reductions_table import reductions_tables
from calprobe.studies.scored.report_runs import report
from calprobe.studies.scored.report_tables import report_sections, report_tables
from calprobe.studies.scored.results import Report

TABLES_NEED = (
    "summary needs several runs, models three, averages three that were asked the same, slices --by, "
    "paper --against, recalibrated --recalibrate, wording two paraphrases (in text), intervals several relations"
)


def present_scores(runs: Mapping[str, AnyRun], options: ReportOptions, choice: ReportChoice) -> Presentation:
    """The report of runs of scores. Raises as `report`, `choose` and `against`; UsageError for tables it has not."""
    scored = of_scores(runs)
    if choice.estimators is not None or choice.metrics is not None:
        check_choice(scored.values(), choice.estimators, choice.metrics)
    computed = report(scored, options)
    whole = computed if choice.beside is None else against(computed, paper_figures())
    chosen = choose(whole, choice.estimators, choice.metrics)
    return replace(show_scores(chosen, choice, whole), files=_map_files(computed))


def show_scores(chosen: Report, choice: ReportChoice, whole: Report | None = None) -> Presentation:
    """What a report of runs of scores shows.

    Args:
        chosen: the report with what is wanted of it.
        choice: which tables; whether figures and page will be called for.
        whole: all that was computed; figures are of it, of the estimators of the choice; None: the same.
    """
    whole = chosen if whole is None else whole

    @cache
    def contents() -> ReportContents:
        """Of all that was computed, once for figures and page."""
        from calprobe.presentation.report_pages import page_wants

        wanted = Wanted(headline(Headline.PAPER)) if choice.figures else Wanted()
        wanted = wanted | page_wants(whole) if choice.page else wanted
        wanted = wanted if choice.estimators is None else replace(wanted, estimators=choice.estimators)
        return replace(gather(whole, wanted, known_exposures(whole)), estimators=choice.estimators)

    def page() -> str:
        from calprobe.presentation.report_pages import report_page

        return report_page(replace(contents(), report=chosen))

    def sections() -> Sequence[Table]:
        if choice.at_a_glance:
            return tables_at_a_glance(chosen, report_sections(chosen), choice.wanted)
        return tables_of_kinds(report_sections(chosen), choice.tables, TABLES_NEED)

    return Presentation(
        chosen,
        sections,
        lambda: tables_of_kinds(report_tables(chosen), choice.tables, TABLES_NEED),
        lambda: _figures(contents(), choice.labels),
        page,
    )


def present_reductions(runs: Mapping[str, AnyRun], options: ReportOptions, beside: str | None) -> Presentation:
    """The four reductions of runs of scores side by side. Raises as `compare_reductions` and `against`."""
    compared = compare_reductions(of_scores(runs), options)
    compared = compared if beside is None else against(compared, paper_figures())
    tables = partial(reductions_tables, compared)
    return Presentation(compared, tables, tables)


def present_comparison(
    runs: Mapping[str, AnyRun], options: CompareOptions, choice: ReportChoice = WHOLE
) -> Presentation:
    """Differences between runs of scores, or within one. Raises as `compare`."""
    return show_comparison(compare(of_scores(runs), options), choice)


def show_comparison(comparison: Comparison, choice: ReportChoice) -> Presentation:
    """What a comparison of runs of scores shows."""

    def page() -> str:
        from calprobe.presentation.comparison_pages import comparison_page

        return comparison_page(comparison)

    def tables() -> Sequence[Table]:
        named = named_tables(pair_tables(comparison), choice.tables)
        return compared_at_a_glance(comparison, named) if choice.at_a_glance else named

    return Presentation(
        comparison,
        tables,
        lambda: named_tables(comparison_tables(comparison), choice.tables),
        lambda: [NamedFigure("", partial(draw_differences, forest(comparison)))],
        page,
    )


def _figures(contents: ReportContents, labels: Mapping[str, str]) -> Iterator[NamedFigure | str]:
    """The curves of each run of scores, then those that compare the runs; a str says which there are not, and why.

    Args:
        contents: of the report.
        labels: the names that `--label` gave to runs.
    """
    runs = contents.report.runs
    names, files = names_of_runs([run.facts for run in runs], labels), file_names([run.label for run in runs])
    drawn = []
    for run in runs:
        curves_of_run = list(contents.runs[run.label].figures(contents.estimators))
        if not curves_of_run:
            yield f"{run.label}: no figures: the run has neither template 0 nor a paraphrase"
            continue
        drawn.append(run)
        yield from (_curves(files[run.label], curves, names) for curves in curves_of_run)
        if run.slices is not None and (gaps := gap_figures({"": run.slices.gaps}, run.slices.by)).panels:
            yield NamedFigure(f"{files[run.label]}.{gaps.kind}", partial(draw, gaps.panels))
    if len({run.facts.questions for run in drawn}) > 1:
        yield "no figures of several runs: the runs differ in probe or instances"
    elif len(drawn) > 1:
        yield from (_curves(JOINT, curves, names) for curves in contents.joint_figures())
        for kind, fewest in contents.left_out():
            yield f"no figure {kind} of {len(drawn)} runs: it needs {fewest}"


def _curves(file: str, curves: Curves, names: Mapping[str, Any]) -> NamedFigure:
    def draw(look: Look) -> Any:
        return plot(curves, look=replace(look, **names))

    return NamedFigure(f"{file}.{curves.kind}", draw)


def _map_files(computed: Report) -> Mapping[str, Callable[[str], str]]:
    """The file of the maps that were fitted on a run, where a report of one run has any."""
    maps = [run.recalibrated for run in computed.runs if run.recalibrated is not None]
    return {"maps": lambda name: saved_maps(maps[0], name).text()} if len(maps) == 1 else {}
