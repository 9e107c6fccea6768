"""`calprobe report`: accuracy and calibration of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.arguments import list_option, refuse_typed
from calprobe.cli.by_options import by_groups_option, by_option, covariate_of, sliced_by
from calprobe.cli.common import asked_compat, estimators_option, report_options
from calprobe.cli.figure_options import LOOKS, figure_options, naming
from calprobe.cli.kinds import REPORTED_RUNS, Group, KindCommand, heading, kind_of_runs, option
from calprobe.cli.labels import label_option, labelled
from calprobe.cli.output import Tables, html_option, in_format, print_result, write_page
from calprobe.cli.recalibrate_options import (
    check_maps,
    recalibrate_option,
    recalibrated_by,
    save_maps_option,
    write_maps,
)
from calprobe.cli.report_asked import (
    TABLES as TABLES_OF_REPLIES,
)
from calprobe.cli.report_asked import (
    Shown,
    answers_of,
    budget_option,
    calibrate_option,
    check_tables,
    draws_option,
    original_option,
    readers_option,
    report_asked_runs,
    tables_shown,
    threshold_option,
    variants_option,
    window_option,
)
from calprobe.cli.report_mixture import CHOOSE, expanded, report_mixture
from calprobe.cli.report_plots import plots_option
from calprobe.errors import UsageError
from calprobe.words import AskedBeside, Calibrate

if TYPE_CHECKING:
    from calprobe.analysis import Report, ReportOptions
    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.analysis.curves.inputs import ExposureCounts
    from calprobe.analysis.plots import Look
    from calprobe.cells.opening import AnyRun

NEEDS = (  # what tables need that a report may lack
    "summary needs several runs, models three, averages three that were asked the same, slices --by, paper --against, "
    "wording two paraphrases (in text)"
)
TABLES = ("summary", "models", "averages", "runs", "wording", "slices", "paper")


@click.command(cls=KindCommand, kinds=(REPORTED_RUNS,), short_help="Show accuracy and calibration of runs.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@by_option
@by_groups_option
@estimators_option(
    "Estimators to show, by name; tables of studies, of questions and of the wording's share stay whole."
    "  [default: all; of slices base,margin,average_min]",
    kinds=("scored", "asked"),
)
@heading(Group.WHAT)
@list_option(
    "--metric",
    "metrics",
    kinds=("scored", "asked"),
    metavar="NAME,..",
    help="Metrics to show, by their names in the JSON, in the same tables.  [default: all]",
)
@list_option(
    "--tables",
    kinds=("scored", "asked"),
    metavar="NAME,..",
    help=f"Tables to print, of {', '.join(TABLES)}; of asked runs, of {', '.join(TABLES_OF_REPLIES)}."
    "  [default: all; wording in text only]",
)
@recalibrate_option
@save_maps_option
@option(
    "--against",
    "beside",
    kinds=("scored", "asked"),
    type=click.Choice(["paper", *get_args(AskedBeside)]),
    help="Show the numbers beside published ones, which are part of calprobe: paper, Kissling et al. 2026; of asked"
    " runs audit2026, arXiv 2605.02038, stated2025, the study of stated confidence, science2026, those of science"
    " questions, and wording2025, Cox et al.",
)
@calibrate_option
@budget_option
@draws_option
@report_options(or_all=True, asked=True)
@readers_option
@variants_option
@threshold_option
@window_option
@original_option
@label_option
@plots_option
@figure_options
@html_option
def command(
    runs: tuple[str, ...],
    labels: tuple[str, ...],
    options: ReportOptions,
    all_reductions: bool,
    form: str,
    by: str | None,
    by_groups: int | None,
    estimators: tuple[str, ...] | None,
    metrics: tuple[str, ...] | None,
    tables: tuple[str, ...] | None,
    recalibrate: str | None,
    save_maps: Path | None,
    beside: str | None,
    readers: tuple[str, ...] | None,
    variants: tuple[str, ...] | None,
    parse_threshold: float | None,
    window: int | None,
    calibrate: Calibrate | None,
    budget: tuple[str, ...] | None,
    budget_draws: int | None,
    with_original: bool,
    plots: Path | None,
    look: Look,
    page: Path | None,
) -> None:
    """Show accuracy, confidence and calibration of each RUN, a folder from `score`, `ask` or `import`.

    A folder that is no run itself stands for all runs below it. Runs of scores and of replies together are shown side
    by side, task by task, with fewer numbers; `calprobe runs` chooses those of one kind, probe or model.

    \b
        calprobe report runs/smollm2-135m-mini
        calprobe report runs/gpt2-bear runs/opt-125m-bear --json > report.json
        calprobe report runs/gpt2-bear --reduction all
        calprobe report runs/gpt2-bear --estimator base,margin --metric ace,brier,nll
        calprobe report runs/gpt2-bear --by domain --estimator margin,average_min
        calprobe report runs/*-bear --tables summary
        calprobe report runs/gpt2-bear --recalibrate isotonic
        calprobe report runs/gpt2-bear --compat kissling2026 --against paper
        calprobe report runs/*-bear --format latex > tables.tex
        calprobe report runs/gpt2-bear runs/opt-125m-bear --plots figures
        calprobe report runs/*-bear --html report.html
        calprobe report runs/a runs/b --label a="GPT-2, fp32" --label b="GPT-2, bf16"
        calprobe report runs/smollm2-135m-mmlu --reader first_char,last_marker --html audit.html
        calprobe report runs/paper --html paper.html
        calprobe report $(calprobe runs runs/paper --kind asked --model llama --paths)

    --reduction all shows accuracy, ACE of base, and the harmonic mean of accuracy and 1 - ACE under each
    reduction. Its JSON has, for each RUN, model, kind, probe, instances, partial, limited, same_tokens,
    candidates, cost, reductions {NAME: {accuracy, ace, harmonic_mean}}, best (the NAME with the highest
    harmonic mean) and unknown (reductions that an import cannot compute).
    """
    from calprobe.cells.opening import open_runs
    from calprobe.cli.logs import log_to_stderr

    named = labelled(expanded(runs), labels)
    opened = open_runs(named)
    shown = Shown(form, estimators, metrics, tables, beside, plots, look, page)
    kind, what_runs = kind_of_runs(opened, named)
    mend = CHOOSE if kind == "mixed" else "leave it out"
    REPORTED_RUNS.refuse(click.get_current_context(), kind, f"{what_runs}; {mend}")
    if kind == "mixed":
        log_to_stderr()
        report_mixture(runs, opened, named, options, form, page)
        return
    if kind == "asked":
        asked = _asked_options(options, readers, parse_threshold, window)
        planned = replace(asked, budget=answers_of(budget or ()), budget_draws=budget_draws or asked.budget_draws)
        planned = replace(planned, variants=variants, calibrate=calibrate, forms=estimators or ())
        planned = replace(planned, with_original=with_original)
        planned = replace(planned, by=covariate_of(by, by_groups), slice_bins=options.slice_bins)
        _report_asked(opened, named, planned, shown)
        return
    _refuse_rules_of_replies(options, beside)
    if all_reductions:
        _refuse_of_one_reduction(shown, {"--recalibrate": recalibrate, "--save-maps": save_maps, "--by": by})
    check_tables(shown, TABLES)
    _check_looks(shown)
    from calprobe.analysis import SliceOptions
    from calprobe.heap import keep_freed_memory

    check_maps(recalibrate, save_maps, named)
    sliced = sliced_by(by, by_groups)
    slices = None if sliced is None else SliceOptions(sliced, estimators)
    options = replace(options, slices=slices, recalibrate=None if recalibrate is None else recalibrated_by(recalibrate))
    log_to_stderr()
    keep_freed_memory()
    if all_reductions:
        _report_reductions(opened, options, shown)
    else:
        _report_scores(opened, named, options, shown, save_maps)


def _report_reductions(opened: Mapping[str, AnyRun], options: ReportOptions, shown: Shown) -> None:
    """Print the four reductions side by side."""
    from calprobe.analysis import compare_reductions
    from calprobe.analysis.against import against
    from calprobe.analysis.paper_figures import paper_figures
    from calprobe.analysis.tables import reductions_tables
    from calprobe.cells.opening import of_scores

    compared = compare_reductions(of_scores(opened), options)
    compared = compared if shown.against is None else against(compared, paper_figures())
    print_result(in_format(shown.form, compared, reductions_tables, reductions_tables))


def _report_scores(
    opened: Mapping[str, AnyRun],
    named: Mapping[str, str],
    options: ReportOptions,
    shown: Shown,
    save_maps: Path | None = None,
) -> None:
    """Print the report, and write maps, figures and page where they are wanted."""
    from calprobe.analysis import report
    from calprobe.analysis.against import against
    from calprobe.analysis.choice import check_choice, choose
    from calprobe.analysis.paper_figures import paper_figures
    from calprobe.analysis.tables import report_sections, report_tables
    from calprobe.cells.opening import of_scores

    if shown.estimators is not None or shown.metrics is not None:
        check_choice(of_scores(opened).values(), shown.estimators, shown.metrics)
    found = report(of_scores(opened), options)
    every = found if shown.against is None else against(found, paper_figures())
    few = choose(every, shown.estimators, shown.metrics)

    def chosen(tables: Tables[Report]) -> Tables[Report]:
        return lambda report: tables_shown(tables(report), shown, NEEDS)

    print_result(in_format(shown.form, few, chosen(report_sections), chosen(report_tables)))
    if save_maps is not None:
        write_maps(found, save_maps)
    if shown.plots is not None or shown.page is not None:
        limited = {run.label for run in found.runs if run.facts.limited}
        partial = {run.label for run in found.runs if run.facts.partial}
        _draw(every, few, shown.plots, naming(shown.look, named, limited, partial), shown.page)


def _refuse_of_one_reduction(shown: Shown, others: Mapping[str, object]) -> None:
    """Raise UsageError for options that `--reduction all` does not read."""
    given = {"--plots": shown.plots, "--html": shown.page, "--estimator": shown.estimators, "--metric": shown.metrics}
    for name, value in {**given, "--tables": shown.tables, **others}.items():
        if value is not None:
            raise UsageError(f"{name} takes one reduction; leave out {name} or --reduction all")


def _check_looks(shown: Shown) -> None:
    """Raise click.UsageError for what says how figures look, without figures."""
    if shown.plots is None:
        refuse_typed(click.get_current_context(), LOOKS, "applies to figures; give --plots DIR")


def _draw(found: Report, shown: Report, plots: Path | None, look: Look, page: Path | None) -> None:
    """Write the figures, the page, or both; their contents are computed once, of all that was found."""
    from calprobe.analysis.contents import Wanted, gather
    from calprobe.analysis.html import page_wants, report_page
    from calprobe.cli.report_plots import write_plots
    from calprobe.confidence import Headline, headline

    wanted = Wanted()
    if plots is not None:
        wanted |= Wanted(headline(Headline.PAPER))
    if page is not None:
        wanted |= page_wants(found)
    contents = gather(found, wanted, _exposures(found))
    if plots is not None:
        write_plots(contents, plots, look)
    if page is not None:
        write_page(report_page(replace(contents, report=shown)), page)


def _exposures(report: Report) -> dict[str, ExposureCounts]:
    """How often each fact is in a model's training data, by run; only runs for which this is known."""
    from calprobe.models.exposures import exposure_counts

    exposures: dict[str, ExposureCounts] = {}
    for run in report.runs:
        model = run.manifest.model
        try:
            exposures[run.label] = exposure_counts(
                model.name, model.weights_fingerprint, run.manifest.probe.fingerprint
            )
        except UsageError:
            continue
    return exposures


def _asked_options(
    options: ReportOptions,
    readers: tuple[str, ...] | None,
    threshold: float | None,
    window: int | None,
) -> AskedOptions:
    """What the options ask of runs of replies. Raises UsageError for the rules of a paper on scores."""
    from calprobe.analysis.asked.options import PARSE_THRESHOLD, AskedOptions

    return AskedOptions(
        readers,
        asked_compat(str(options.compat) if options.compat else None),
        PARSE_THRESHOLD if threshold is None else threshold,
        window,
        options.ace_bins,
        options.resampling,
    )


def _report_asked(opened: Mapping[str, AnyRun], named: Mapping[str, str], options: AskedOptions, shown: Shown) -> None:
    from calprobe.cli.logs import log_to_stderr

    if shown.against == "paper":
        raise UsageError(
            "--against paper is of scores; for runs of replies there is --against audit2026, stated2025, science2026 "
            "and wording2025"
        )
    _check_looks(shown)
    log_to_stderr()
    report_asked_runs(opened, named, options, shown)


def _refuse_rules_of_replies(options: ReportOptions, beside: str | None) -> None:
    """Raise UsageError for the rules and the numbers of a study of replies."""
    for name, value in (("--compat", options.compat and str(options.compat)), ("--against", beside)):
        if value in get_args(AskedBeside):
            raise UsageError(f"{name} {value} is of runs of replies; leave it out")
