"""`calprobe report`: accuracy and calibration of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.labels import label_option, labelled
from calprobe.cli.output import html_option, in_format, print_result, write_page
from calprobe.cli.report_plots import plots_option
from calprobe.errors import UsageError
from calprobe.words import SliceKind

if TYPE_CHECKING:
    from calprobe.analysis import Report, ReportOptions, SliceOptions
    from calprobe.analysis.curves.inputs import Told


@click.command(short_help="Show accuracy and calibration of runs.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@label_option
@report_options(or_all=True)
@click.option(
    "--by",
    type=click.Choice(get_args(SliceKind)),
    help="Also show accuracy, ACE and Brier score of each slice: each relation, each domain, or 1:1 and N:1 relations.",
)
@estimators_option("Estimators to show for each slice.  [default: base,margin,average_min]")
@click.option(
    "--against",
    "beside",
    type=click.Choice(["paper"]),
    help="Show the numbers beside those of Kissling et al. 2026, which are part of calprobe.",
)
@plots_option
@html_option
def command(
    runs: tuple[str, ...],
    labels: tuple[str, ...],
    options: ReportOptions,
    all_reductions: bool,
    form: str,
    by: SliceKind | None,
    estimators: tuple[str, ...] | None,
    beside: str | None,
    plots: Path | None,
    page: Path | None,
) -> None:
    """Show accuracy, confidence and calibration of each RUN, a folder from `score` or `import`.

    \b
        calprobe report runs/smollm2-135m-mini
        calprobe report runs/gpt2-bear runs/opt-125m-bear --json > report.json
        calprobe report runs/gpt2-bear --reduction all
        calprobe report runs/gpt2-bear --by domain --estimator margin,average_min
        calprobe report runs/gpt2-bear --compat kissling2026 --against paper
        calprobe report runs/*-bear --format latex > tables.tex
        calprobe report runs/gpt2-bear runs/opt-125m-bear --plots figures
        calprobe report runs/*-bear --html report.html
        calprobe report runs/a runs/b --label a="GPT-2, fp32" --label b="GPT-2, bf16"

    --reduction all shows accuracy, ACE of base, and the harmonic mean of accuracy and 1 - ACE under each
    reduction. Its JSON has, for each RUN, model, kind, probe, instances, partial, candidates, reductions {NAME:
    {accuracy, ace, harmonic_mean}}, best (the NAME with the highest harmonic mean) and unknown (reductions that an
    import cannot compute).
    """
    from calprobe.analysis import compare_reductions, report
    from calprobe.analysis.against import against
    from calprobe.analysis.paper_figures import paper_figures
    from calprobe.analysis.tables import reductions_tables, report_sections, report_tables
    from calprobe.cli.logs import log_to_stderr
    from calprobe.heap import keep_freed_memory

    if plots is not None and all_reductions:
        raise UsageError("--plots takes one reduction; leave out --plots or --reduction all")
    if page is not None and all_reductions:
        raise UsageError("--html takes one reduction; leave out --html or --reduction all")
    options = replace(options, slices=_slices(by, estimators, all_reductions))
    named = labelled(runs, labels)
    log_to_stderr()
    keep_freed_memory()
    figures = None if beside is None else paper_figures()
    if all_reductions:
        compared = compare_reductions(named, options)
        compared = compared if figures is None else against(compared, figures)
        print_result(in_format(form, compared, reductions_tables, reductions_tables))
    else:
        found = report(named, options)
        shown = found if figures is None else against(found, figures)
        print_result(in_format(form, shown, report_sections, report_tables))
        if plots is not None or page is not None:
            _draw(shown, plots, page)


def _draw(shown: Report, plots: Path | None, page: Path | None) -> None:
    """Write the figures, the page, or both; their contents are computed once."""
    from calprobe.analysis.contents import Wanted, gather
    from calprobe.analysis.html import page_wants, report_page
    from calprobe.cli.report_plots import write_plots
    from calprobe.confidence import Headline, headline

    wanted = Wanted()
    if plots is not None:
        wanted |= Wanted(headline(Headline.PAPER))
    if page is not None:
        wanted |= page_wants(shown)
    contents = gather(shown, wanted, _exposures(shown))
    if plots is not None:
        write_plots(contents, plots)
    if page is not None:
        write_page(report_page(contents), page)


def _slices(by: SliceKind | None, estimators: tuple[str, ...] | None, all_reductions: bool) -> SliceOptions | None:
    """The slices that --by and --estimator request."""
    from calprobe.analysis import SliceOptions

    if by is None and estimators is not None:
        raise UsageError("--estimator applies to slices; choose slices with --by")
    if by is not None and all_reductions:
        raise UsageError("--by takes one reduction; leave out --by or --reduction all")
    return None if by is None else SliceOptions(by, estimators)


def _exposures(report: Report) -> dict[str, Told]:
    """How often each fact is in a model's training data, by run; only runs for which this is known."""
    from calprobe.models.exposures import exposure_counts

    exposures: dict[str, Told] = {}
    for run in report.runs:
        model = run.manifest.model
        try:
            exposures[run.label] = exposure_counts(
                model.name, model.weights_fingerprint, run.manifest.probe.fingerprint
            )
        except UsageError:
            continue
    return exposures
