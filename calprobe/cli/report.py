"""`calprobe report`: accuracy and calibration of runs.

An option that sets a field of `ReportOptions` is in `reply_options.py`; add one there. Those of how a report is shown
(`--replies`) stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from calprobe.cli.arguments import list_option, output_folder
from calprobe.cli.by_options import by_groups_option, by_option, covariate_of, sliced_by
from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.figure_options import figure_options, refuse_looks
from calprobe.cli.label_option import label_option
from calprobe.cli.option_kinds import REPORTED_RUNS, Group, KindCommand, heading, option
from calprobe.cli.output import html_option, print_presentation, write_presentation, write_text
from calprobe.cli.recalibrate_options import (
    check_maps,
    recalibrate_option,
    recalibrated_by,
    recalibrated_by_method,
    save_maps_option,
)
from calprobe.cli.reply_options import answers_of, reply_options
from calprobe.cli.terminal_text import explained_wait
from calprobe.cli.typed_runs import TypedRuns, expanded, open_typed
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.words import AskedBeside, AskedTable, ScoredTable

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions
    from calprobe.presentation.presentation import Presentation, ReportChoice
    from calprobe.show.plots import Look

TABLES = {"scored": get_args(ScoredTable), "asked": get_args(AskedTable)}  # that a report can have
ALL = "all"
CHOOSE = "leave it out, or choose runs of one kind: calprobe report $(calprobe runs DIR --kind scored --paths)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What the command line says; None where it says nothing."""

    runs: tuple[str, ...]
    labels: tuple[str, ...]
    options: ReportOptions
    all_reductions: bool
    form: str
    by: str | None
    by_groups: int | None
    estimators: tuple[str, ...] | None
    metrics: tuple[str, ...] | None
    tables: tuple[str, ...] | None
    recalibrate: str | None
    save_maps: Path | None
    beside: str | None  # published numbers
    of_replies: Mapping[str, Any]  # fields of ReportOptions
    plots: Path | None
    look: Look
    page: Path | None
    replies: bool


@click.command(cls=KindCommand, kinds=(REPORTED_RUNS,), short_help="Show accuracy and calibration of runs.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@by_option
@by_groups_option
@estimators_option(
    "Estimators to show in tables and curves, by name; tables of studies, of questions and of the wording's share stay "
    "whole.  [default: all; of slices base,margin,average_min]",
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
    help=f"Tables to print: {ALL}, or some of {', '.join(TABLES['scored'])}; of asked runs, of "
    f"{', '.join(TABLES['asked'])}.  [default: on a terminal a verdict and two tables, in files all]",
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
@report_options(or_all=True, asked=True)
@reply_options
@label_option
@heading(Group.LOOKS)
@option(
    "--plots",
    kinds=("scored", "asked"),
    metavar="DIR",
    type=output_folder(),
    help="Write the figures of each RUN, and those that compare several, into this folder as PNG and SVG.",
)
@figure_options
@html_option
@option(
    "--replies",
    kinds=("asked",),
    group=Group.LOOKS,
    is_flag=True,
    help="With --html: also a page of all replies of each RUN, which the page links to.",
)
def command(**typed: Any) -> None:
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
    from calprobe.presentation.presentation import in_folder

    arguments = Typed(**typed)
    runs = open_typed(expanded(arguments.runs), arguments.labels, REPORTED_RUNS, mixed=CHOOSE)
    with explained_wait(arguments.options.resampling.n_resamples):
        presentation = PRESENTED[runs.kind](arguments, runs)
    print_presentation(presentation, arguments.form)
    if arguments.save_maps is not None:
        write_text(presentation.files["maps"](arguments.save_maps.name), arguments.save_maps, "--save-maps")
    write_presentation(
        presentation, None if arguments.plots is None else in_folder(arguments.plots), arguments.look, arguments.page
    )


def _of_scores(arguments: Typed, runs: TypedRuns) -> Presentation:
    """The report of runs of scores, or their reductions. Raises UsageError for what is of runs of replies."""
    from calprobe.measures.options import SliceOptions, check_rules
    from calprobe.presentation.present_scores import present_reductions, present_scores

    check_rules(arguments.options.compat, "scored")
    if arguments.beside in get_args(AskedBeside):
        raise UsageError(f"--against {arguments.beside} is of runs of replies; leave it out")
    if arguments.all_reductions:
        _refuse_of_one_reduction(arguments)
        return present_reductions(runs.runs, arguments.options, arguments.beside)
    choice = _choice(arguments, runs)
    check_maps(arguments.recalibrate, arguments.save_maps, runs.paths)
    sliced = sliced_by(arguments.by, arguments.by_groups)
    options = replace(
        arguments.options,
        slices=None if sliced is None else SliceOptions(sliced, arguments.estimators),
        recalibrate=None if arguments.recalibrate is None else recalibrated_by(arguments.recalibrate),
    )
    return present_scores(runs.runs, options, choice)


def _of_replies(arguments: Typed, runs: TypedRuns) -> Presentation:
    """The report of runs of replies. Raises UsageError for what is of runs of scores."""
    from calprobe.presentation.present_replies import present_replies

    options = _asked_options(arguments)
    if arguments.replies and arguments.page is None:
        raise UsageError("--replies are a page beside --html FILE; give one, or use calprobe show RUN --html FILE")
    if arguments.beside == "paper":
        *first, last = get_args(AskedBeside)
        choices = f"{', '.join(first)} and {last}"
        raise UsageError(f"--against paper is of scores; for runs of replies there is --against {choices}")
    return present_replies(runs.runs, options, _choice(arguments, runs))


def _of_both(arguments: Typed, runs: TypedRuns) -> Presentation:
    """Runs of both kinds side by side, task by task."""
    from calprobe.presentation.present_both import present_overview

    title = arguments.runs[0] if len(arguments.runs) == 1 else f"{len(runs.paths)} runs"
    return present_overview(title, runs.runs, arguments.options, runs.labels)


PRESENTED: Mapping[str, Callable[[Typed, TypedRuns], Presentation]] = {
    "scored": _of_scores,
    "asked": _of_replies,
    "mixed": _of_both,
}


def _asked_options(arguments: Typed) -> ReportOptions:
    """What the options ask of runs of replies. Raises UsageError for what is of runs of scores."""
    from calprobe.measures.options import SliceOptions, check_rules

    check_rules(arguments.options.compat, "asked")
    sliced = covariate_of(arguments.by, arguments.by_groups)
    return replace(
        arguments.options,
        **{**arguments.of_replies, "budget": answers_of(arguments.of_replies.get("budget", ()))},
        forms=arguments.estimators or (),
        slices=None if sliced is None else SliceOptions(sliced),
        recalibrate=recalibrated_by_method(arguments.recalibrate),
    )


def _choice(arguments: Typed, runs: TypedRuns) -> ReportChoice:
    """What of the report is shown. Raises UsageError for tables that there are not, and for looks without figures."""
    from calprobe.presentation.presentation import ReportChoice

    if arguments.tables is not None and arguments.form == "json":
        raise UsageError("--tables does not apply to JSON, which is one object; choose with --estimator and --metric")
    for name in arguments.tables or ():
        if name not in (*TABLES[runs.kind], ALL):
            near = did_you_mean(name, TABLES[runs.kind]) or "; --help lists them"
            raise UsageError(f"--tables: {REPORTED_RUNS.names[runs.kind]} have no table {name!r}{near}")
    if ALL in (arguments.tables or ()) and arguments.tables != (ALL,):
        raise UsageError("--tables all has every table; leave out the other names")
    if arguments.plots is None:
        refuse_looks("applies to figures; give --plots DIR")
    wanted = [
        kind
        for kind, option in (
            ("slices", arguments.by),
            ("paper", arguments.beside),
            ("recalibrated", arguments.recalibrate),
            ("budget", arguments.of_replies.get("budget")),
            ("confidence", arguments.of_replies.get("calibrate")),
            ("graders", arguments.of_replies.get("graders")),
        )
        if option is not None
    ]
    every = arguments.tables == (ALL,)
    return ReportChoice(
        arguments.estimators,
        arguments.metrics,
        None if every else arguments.tables,
        arguments.beside,
        runs.labels,
        at_a_glance=arguments.tables is None and arguments.estimators is None and arguments.metrics is None,
        wanted=tuple(wanted),
        figures=arguments.plots is not None,
        page=arguments.page is not None,
        replies=arguments.page.stem if arguments.replies and arguments.page is not None else "",
    )


def _refuse_of_one_reduction(arguments: Typed) -> None:
    """Raise UsageError for options that `--reduction all` does not read."""
    options = {
        "--plots": arguments.plots,
        "--html": arguments.page,
        "--estimator": arguments.estimators,
        "--metric": arguments.metrics,
        "--tables": arguments.tables,
        "--recalibrate": arguments.recalibrate,
        "--save-maps": arguments.save_maps,
        "--by": arguments.by,
    }
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} takes one reduction; leave out {name} or --reduction all")
    refuse_looks("applies to figures; give --plots DIR")
