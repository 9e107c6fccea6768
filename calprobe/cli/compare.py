"""`calprobe compare`: differences between runs, or within one, with intervals and p-values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click

from calprobe.cli.arguments import joined_option, list_option, output_file, refuse_typed
from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.compare_asked import AskedDifferences, compare_runs_of_replies, variant_pairs
from calprobe.cli.compare_ways import (
    SameFacts,
    compare_same_facts,
    facts_option,
)
from calprobe.cli.figure_options import LOOKS, figure_options
from calprobe.cli.kinds import COMPARED_RUNS, Group, KindCommand, heading, kind_of_runs, option
from calprobe.cli.labels import label_option, labelled
from calprobe.cli.output import html_option, in_format, print_result, write_page
from calprobe.cli.report_asked import readers_option, window_option
from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError
from calprobe.words import Correction

if TYPE_CHECKING:
    from calprobe.analysis import Comparison, ReportOptions
    from calprobe.analysis.options import Pair
    from calprobe.analysis.plots import Look


def _of_figure(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """The path, if its suffix is that of a figure; checked before anything is computed."""
    from calprobe.analysis.plots import check_figure_path

    if path is not None:
        check_figure_path(path)
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
    "Estimators to compare, by their names in `report`.  [default: margin,average_min; of one RUN also base; of "
    "replies one of each kind: label, and the first that is stated, of P(True), and of samples]"
)
@list_option(
    "--metric",
    "metrics",
    metavar="NAME,..",
    help="Metrics to compare, by their names in `report --json`: brier, ace, ece, auroc, nll, ..  [default: brier,ace; "
    "of one RUN also accuracy; of replies brier, auroc, and ece where confidences have few values, else ace]",
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
@facts_option
def command(
    *,
    runs: tuple[str, ...],
    pairs: str,
    baseline: str | None,
    templates: tuple[str, ...] | None,
    variants: tuple[str, ...] | None,
    readers: tuple[str, ...] | None,
    window: int | None,
    by_domain: bool,
    intersect: bool,
    estimators: tuple[str, ...] | None,
    metrics: tuple[str, ...] | None,
    margin: float | None,
    correction: Correction | None,
    labels: tuple[str, ...],
    plot: Path | None,
    look: Look,
    page: Path | None,
    facts: Path | None,
    options: ReportOptions,
    form: str,
) -> None:
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
    from calprobe.analysis import CompareOptions, compare
    from calprobe.analysis.tables import comparison_tables, pair_tables
    from calprobe.cells.opening import of_scores, open_runs
    from calprobe.cli.logs import log_to_stderr
    from calprobe.heap import keep_freed_memory

    _refuse_what_changes_nothing(len(runs), options, plot)
    named = labelled(runs, labels)
    opened = open_runs(named)
    kind, what_runs = kind_of_runs(opened, named)
    kind = "facts" if kind == "mixed" else kind
    COMPARED_RUNS.refuse(click.get_current_context(), kind, f"{what_runs}; leave it out")
    log_to_stderr()
    keep_freed_memory()
    wanted = CompareOptions(
        pairs=_pairs(pairs, named),
        intersect=intersect,
        by_domain=by_domain,
        estimators=estimators,
        scores=options,
        metrics=metrics,
        baseline=_baseline(baseline, named),
        templates=None if templates is None else _template_pairs(templates),
        margin=margin,
        correction=correction,
    )
    if kind == "facts":
        ways = SameFacts(readers, window, variants, form, plot, look, page, facts)
        compare_same_facts(opened, wanted, ways)
        return
    if kind == "asked":
        compare_runs_of_replies(
            opened, wanted, AskedDifferences(readers, window, variant_pairs(variants), form, plot, look, page)
        )
        return
    found = compare(of_scores(opened), wanted)
    print_result(in_format(form, found, pair_tables, comparison_tables))
    if plot is not None:
        _draw(found, plot, look)
    if page is not None:
        from calprobe.analysis.html import comparison_page

        write_page(comparison_page(found), page)


def _refuse_what_changes_nothing(runs: int, options: ReportOptions, plot: Path | None) -> None:
    """Raise click.UsageError for options that this comparison does not read."""
    context = click.get_current_context()
    if runs == 1:
        refuse_typed(context, ("by_domain", "intersect"), "compares two runs; give another RUN, or leave it out")
    if options.resampling.n_resamples == 0:
        refuse_typed(context, ("margin", "correction"), "needs resamples; leave out --bootstrap 0")
    if plot is None:
        refuse_typed(context, LOOKS, "applies to the figure; give --plot F.png, F.svg or F.pdf")


def _draw(found: Comparison, path: Path, look: Look) -> None:
    """Write the forest plot."""
    from calprobe.analysis.curves.differences import draw_differences, forest
    from calprobe.analysis.plots import drawing, save

    with drawing(look.style):
        figure = draw_differences(forest(found), look)
    save(figure, path, look.style)
    say(f"wrote {path}")


def _pairs(text: str, runs: Mapping[str, str]) -> tuple[Pair, ...] | Literal["all"] | None:
    """What `--pairs` says: of several runs, pairs of them; of one, pairs of estimators."""
    from calprobe.analysis import named_pairs

    if text in ("auto", "all"):
        return None if text == "auto" else "all"
    if len(runs) > 1:
        return named_pairs(text, list(runs), list(runs.values()))
    found = [tuple(clause.split(":")) for clause in text.split(",")]
    if any(len(pair) != 2 for pair in found):
        raise UsageError(f"--pairs {text!r}: with one RUN, give pairs of estimators such as margin:base")
    return tuple((first, second) for first, second in found)


def _baseline(name: str | None, runs: Mapping[str, str]) -> str | None:
    """The run that `--baseline` names; of a single run, an estimator."""
    from calprobe.analysis import named_run

    return name if name is None or len(runs) < 2 else named_run(name, list(runs), list(runs.values()))


def _template_pairs(clauses: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """What `--templates` says."""
    found = [re.fullmatch(r"(\d+):(\d+)", clause) for clause in clauses]
    pairs = tuple((int(match[1]), int(match[2])) for match in found if match)
    if len(pairs) < len(found) or any(first == second for first, second in pairs):
        raise UsageError(f"--templates {','.join(clauses)}: give pairs of two template numbers, such as 0:1,0:2")
    return pairs
