"""`calprobe compare`: differences between runs, or within one, with intervals and p-values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from calprobe.cli.arguments import joined_option, list_option, output_file, refuse_typed
from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.figure_options import figure_options, refuse_looks
from calprobe.cli.label_option import label_option
from calprobe.cli.option_kinds import COMPARED_RUNS, Group, KindCommand, heading, option
from calprobe.cli.output import at_path, html_option, print_presentation, write_presentation, write_text
from calprobe.cli.reply_options import readers_option, variant_pairs, window_option
from calprobe.cli.terminal_text import explained_wait
from calprobe.cli.typed_runs import TypedRuns, open_typed
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.words import Correction

if TYPE_CHECKING:
    from calprobe.analysis import CompareOptions, ReportOptions
    from calprobe.measures.options import Pair
    from calprobe.presentation.presentation import Presentation, ReportChoice
    from calprobe.show.plots import Look


TABLES = ("differences", "ways", "views", "view-differences", "correlations", "two-by-two", "relations", "facts")
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What the command line says; None where it says nothing."""

    runs: tuple[str, ...]
    pairs: str
    baseline: str | None
    templates: tuple[str, ...] | None
    variants: tuple[str, ...] | None
    readers: tuple[str, ...] | None
    window: int | None
    by_domain: bool
    intersect: bool
    estimators: tuple[str, ...] | None
    metrics: tuple[str, ...] | None
    margin: float | None
    correction: Correction | None
    labels: tuple[str, ...]
    plot: Path | None
    look: Look
    page: Path | None
    facts: Path | None
    options: ReportOptions
    form: str
    tables: tuple[str, ...] | None


def _of_figure(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """The path, if its suffix is that of a figure; checked before anything is computed."""
    from calprobe.show.plots import check_figure_path

    if path is not None:
        check_figure_path(path)
    return path


def _of_csv(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix != ".csv":
        raise click.BadParameter(f"{path} would be a CSV file; give a name that ends in .csv")
    return path


@click.command(cls=KindCommand, kinds=(COMPARED_RUNS,), short_help="Show the differences between runs, or within one.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@heading(Group.WHAT)
@joined_option(
    "--pairs",
    default="auto",
    metavar="auto|all|A:B,C:D",
    help="auto: the two RUNs; of more RUNs, each masked model with the causal model of the nearest accuracy, or RUNs "
    "of one kind with the first. all: every two. Of one RUN: pairs of estimators.",
)
@option(
    "--baseline",
    kinds=("scored", "asked"),
    metavar="A",
    help="Compare every other RUN with this one; of one RUN, every estimator (of replies, variant).",
)
@list_option(
    "--templates",
    kinds=("scored",),
    metavar="N:M,..",
    help="Compare template N with template M of one RUN, by base and margin. Each N:M is a pair; in `score`, "
    "--templates is a list of single templates.",
)
@list_option(
    "--variants",
    kinds=("asked", "facts"),
    metavar="A:B,..",
    help="Compare variant A of the first RUN with variant B of the second, or of the same.  [default: each "
    "variant with itself; of one RUN with its first] With a run of scores: names of variants, A,B.",
)
@option(
    "--by-domain",
    kinds=("scored",),
    is_flag=True,
    help="Show every domain, not only the one with the smallest difference in accuracy.",
)
@estimators_option(
    "Estimators to compare, by their names in `report`.  [default: base,margin,average_min; of "
    "replies one of each kind: label, and the first that is stated, of P(True), and of samples]"
)
@list_option(
    "--metric",
    "metrics",
    metavar="NAME,..",
    help="Metrics to compare, by their names in `report --json`: brier, ace, ece, auroc, nll, ..  [default: brier,ace; "
    "of one RUN also accuracy; of replies brier, auroc, and ece where confidences have few values, else ace]",
)
@list_option(
    "--tables",
    metavar="NAME,..",
    help=f"Tables to print: {ALL}, or some of {', '.join(TABLES)}; all but differences are of runs of both kinds.  "
    "[default: on a terminal a verdict and two tables at most, in files all]",
)
@report_options(
    results="intervals and p-values",
    cluster="What is resampled.  [default: complete relations where there are 30 or more, else instances]",
)
@readers_option
@window_option
@heading(Group.WHICH)
@option(
    "--intersect", kinds=("scored",), is_flag=True, help="Compare only the instances and templates that both runs have."
)
@heading(Group.SURE)
@option(
    "--margin",
    type=click.FloatRange(0, min_open=True),
    metavar="NUMBER",
    help="Also test equivalence: whether differences are smaller than this, such as .01.",
)
@option(
    "--correction",
    type=click.Choice(get_args(Correction)),
    help="Correction of the p-values for their number; max-t uses how the differences depend on each other.  [default: "
    "holm; of one RUN and of replies max-t]",
)
@label_option
@heading(Group.LOOKS)
@option(
    "--plot",
    metavar="F.png|svg|pdf",
    type=output_file(),
    callback=_of_figure,
    help="Also draw the differences with their intervals (a forest plot); an existing file is replaced.",
)
@figure_options
@html_option
@heading(Group.LOOKS)
@option(
    "--facts",
    kinds=("facts",),
    metavar="F.csv",
    type=output_file(),
    callback=_of_csv,
    help="Runs of scores with runs of replies: write every fact, with all answers and confidences, a row a fact.",
)
def command(**typed: Any) -> None:
    """Compare accuracy, Brier score and ACE of pairs of RUNs: differences, with intervals and corrected p-values.

    Any two runs with the same instances and templates: causal and masked, base and instruct, bf16 and fp32. Of one RUN
    of scores: its estimators with each other, its epistemic markers with the plain statement, or two of its templates.
    Of runs of replies: accuracy, and Brier score, calibration error and AUROC of one confidence of each kind, by set
    and variant, on the questions that both have. Runs of scores with runs of replies to the same probe: the same facts
    in several ways, what is ranked right and answered wrong, and the reverse.

    \b
        calprobe compare runs/tiny-clm-mini runs/tiny-mlm-mini
        calprobe compare runs/*-bear --json > pairs.json
        calprobe compare runs/base runs/step-1000 runs/step-2000 --baseline base
        calprobe compare runs/tiny-clm-mini --templates 0:1
        calprobe compare runs/llama-mmlu runs/qwen-mmlu --metric brier,auroc
        calprobe compare runs/llama-mmlu --variants fewshot_3:surface_paraphrase
        calprobe compare runs/llama-bear runs/llama-bear-choice runs/llama-bear-open
    """
    arguments = Typed(**typed)
    _refuse_what_changes_nothing(arguments)
    runs = open_typed(arguments.runs, arguments.labels, COMPARED_RUNS)
    with explained_wait(arguments.options.resampling.n_resamples):
        presentation = PRESENTED[runs.kind](arguments, runs)
    print_presentation(presentation, arguments.form)
    write_presentation(
        presentation, None if arguments.plot is None else at_path(arguments.plot), arguments.look, arguments.page
    )
    if arguments.facts is not None:
        write_text(presentation.files["facts"](arguments.facts.name), arguments.facts, "--facts")


def _of_scores(arguments: Typed, runs: TypedRuns) -> Presentation:
    from calprobe.presentation.present_scores import present_comparison

    return present_comparison(runs.runs, _options(arguments, runs), _choice(arguments))


def _of_replies(arguments: Typed, runs: TypedRuns) -> Presentation:
    from calprobe.presentation.present_replies import present_asked_comparison

    options = _options(arguments, runs)
    variants = variant_pairs(arguments.variants)
    return present_asked_comparison(runs.runs, options, variants, _choice(arguments))


def _of_facts(arguments: Typed, runs: TypedRuns) -> Presentation:
    from calprobe.analysis import FourWaysOptions
    from calprobe.presentation.present_both import present_ways

    options = _options(arguments, runs)
    if any(":" in name for name in arguments.variants or ()):
        raise UsageError("--variants: with a run of scores give names of variants, such as direct,steps, no pairs A:B")
    of_both = FourWaysOptions(options, arguments.variants)
    return present_ways(runs.runs, of_both, _choice(arguments))


PRESENTED: Mapping[str, Callable[[Typed, TypedRuns], Presentation]] = {
    "scored": _of_scores,
    "asked": _of_replies,
    "facts": _of_facts,
}


def _choice(arguments: Typed) -> ReportChoice:
    """Which tables are printed. Raises UsageError for names that there are not."""
    from calprobe.presentation.presentation import ReportChoice

    if arguments.tables is not None and arguments.form == "json":
        raise UsageError("--tables does not apply to JSON, which is one object; choose with --estimator and --metric")
    for name in arguments.tables or ():
        if name not in (*TABLES, ALL):
            raise UsageError(f"--tables: {no_such(name, (*TABLES, ALL))}")
    asked_for = (arguments.tables, arguments.estimators, arguments.metrics, arguments.margin, arguments.templates)
    first_look = not arguments.by_domain and all(value is None for value in asked_for)
    return ReportChoice(tables=None if ALL in (arguments.tables or ()) else arguments.tables, at_a_glance=first_look)


def _options(arguments: Typed, runs: TypedRuns) -> CompareOptions:
    """What the options ask of any runs. Raises UsageError for pairs that are none."""
    from calprobe.analysis import CompareOptions

    return CompareOptions(
        pairs=_pairs(arguments.pairs, runs.paths),
        intersect=arguments.intersect,
        by_domain=arguments.by_domain,
        estimators=arguments.estimators,
        scores=replace(arguments.options, readers=arguments.readers, window=arguments.window),
        metrics=arguments.metrics,
        baseline=_baseline(arguments.baseline, runs.paths),
        templates=None if arguments.templates is None else _template_pairs(arguments.templates),
        margin=arguments.margin,
        correction=arguments.correction,
    )


def _refuse_what_changes_nothing(arguments: Typed) -> None:
    """Raise click.UsageError for options that this comparison does not read."""
    context = click.get_current_context()
    if len(arguments.runs) == 1:
        refuse_typed(context, ("by_domain", "intersect"), "compares two runs; give another RUN, or leave it out")
    if arguments.options.resampling.n_resamples == 0:
        refuse_typed(context, ("margin", "correction"), "needs resamples; leave out --bootstrap 0")
    if arguments.plot is None:
        refuse_looks("applies to the figure; give --plot F.png, F.svg or F.pdf")


def _pairs(text: str, runs: Mapping[str, str]) -> tuple[Pair, ...] | Literal["all"] | None:
    """What `--pairs` says: of several runs, pairs of them; of one, pairs of estimators."""
    from calprobe.analysis import named_pairs

    if text in ("auto", "all"):
        return None if text == "auto" else "all"
    if len(runs) > 1:
        return named_pairs(text, list(runs), list(runs.values()))
    pairs = [tuple(clause.split(":")) for clause in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError(f"--pairs {text!r}: with one RUN, give pairs of estimators such as margin:base")
    return tuple((first, second) for first, second in pairs)


def _baseline(name: str | None, runs: Mapping[str, str]) -> str | None:
    """The run that `--baseline` names; of a single run, an estimator."""
    from calprobe.analysis import named_run

    return name if name is None or len(runs) < 2 else named_run(name, list(runs), list(runs.values()))


def _template_pairs(clauses: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """What `--templates` says."""
    matches = [re.fullmatch(r"(\d+):(\d+)", clause) for clause in clauses]
    pairs = tuple((int(match[1]), int(match[2])) for match in matches if match)
    if len(pairs) < len(matches) or any(first == second for first, second in pairs):
        raise UsageError(f"--templates {','.join(clauses)}: give pairs of two template numbers, such as 0:1,0:2")
    return pairs
