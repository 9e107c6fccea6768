"""`calprobe rank`: ranking metrics of a table of scores and correctness from any tool."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import click

from calprobe.cli.common import (
    ace_bins,
    bins_option,
    bootstrap_option,
    format_options,
    seed_option,
)

ALL = ""  # what --uncertainty without a column stands for: every score


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """The number itself; NaN and infinities are refused, since all answers or none would count as correct."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not finite; give a finite number")
    return value


@click.command(short_help="Show ranking metrics of a (score, correct) table.")
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="COLUMN",
    help="A column of numbers that are larger for surer answers; the option may be repeated.",
)
@click.option(
    "--uncertainty",
    "uncertainties",
    multiple=True,
    is_flag=False,
    flag_value=ALL,
    metavar="[COLUMN]",
    help="A column of numbers that are smaller for surer answers; may be repeated. Without COLUMN: all scores are.",
)
@click.option(
    "--correct",
    default="correct",
    show_default=True,
    metavar="COLUMN",
    help="The column that says whether an answer is correct: true or false, yes or no, 1 or 0.",
)
@click.option(
    "--correct-at",
    type=float,
    metavar="Q",
    callback=_finite,
    help="Count answers as correct if the --correct column is at least Q.",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="Measure the answers of each value of this column by themselves, such as estimator.",
)
@click.option(
    "--baseline", metavar="COLUMN", help="Also show the differences of the other scores from this one, with p-values."
)
@format_options
@bins_option("answers", "20")
@bootstrap_option()
@seed_option
def command(
    path: Path,
    scores: tuple[str, ...],
    correct: str,
    correct_at: float | None,
    uncertainties: tuple[str, ...],
    group: str | None,
    baseline: str | None,
    form: str,
    bins: int | None,
    bootstrap: int,
    seed: int,
) -> None:
    """Compute AUROC, AURC and prediction-rejection ratio of the scores in FILE.

    FILE is a .csv, .parquet or .jsonl file with one row for each answer. Scores that are all in [0, 1] are
    confidences, and also get calibration metrics; uncertainties do not.

    \b
        calprobe rank answers.csv --score verbal --uncertainty entropy --correct right --baseline verbal
        calprobe rank polygraph.csv --score SemanticEntropy --score Perplexity --correct Accuracy --uncertainty
        calprobe rank answers.parquet --score verbal --correct rouge --correct-at 0.5 --format markdown
        calprobe rank confidences.csv --score confidence --correct correct --group estimator
    """
    from calprobe.cli.output import print_tables
    from calprobe.heap import keep_freed_memory
    from calprobe.interop.score_tables import read_scored_answers
    from calprobe.metrics import Resampling
    from calprobe.studies.rank.rank_runs import RankOptions, rank, rank_groups
    from calprobe.studies.rank.rank_tables import rank_tables

    named = tuple(name for name in uncertainties if name != ALL)
    columns = tuple(dict.fromkeys((*scores, *named)))
    _check(columns, set(scores).intersection(named), group, baseline)
    keep_freed_memory()
    answers = read_scored_answers(path, columns, correct, correct_at, group)
    options = RankOptions(ALL in uncertainties, ace_bins(bins), Resampling(bootstrap, seed), named, baseline)
    ranked = rank(answers, options, str(path)) if group is None else rank_groups(answers, group, options, str(path))
    print_tables(ranked, partial(rank_tables, ranked), form)


def _check(columns: tuple[str, ...], twice: set[str], group: str | None, baseline: str | None) -> None:
    """Raise click.UsageError for options that do not go together."""
    if not columns:
        raise click.UsageError("no scores: give their columns with --score or --uncertainty")
    if twice:
        raise click.UsageError(f"{min(twice)}: given as --score and as --uncertainty; give it as one of them")
    if baseline is not None and group is not None:
        raise click.UsageError("--baseline compares scores of the same answers; leave out --group or --baseline")
    if baseline is not None and len(columns) < 2:
        raise click.UsageError(f"--baseline {baseline}: give another score to compare with it")
