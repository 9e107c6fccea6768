"""`calprobe rank`: ranking metrics of a table of scores and correctness from any tool."""

from __future__ import annotations

import math
from pathlib import Path

import click

from calprobe.cli.common import bins_option, bootstrap_option, json_option, seed_option


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
    required=True,
    multiple=True,
    metavar="COLUMN",
    help="A column of numbers; the option may be repeated.",
)
@click.option(
    "--correct",
    required=True,
    metavar="COLUMN",
    help="The column that says whether an answer is correct: true or false, 1 or 0.",
)
@click.option(
    "--correct-at",
    type=float,
    metavar="Q",
    callback=_finite,
    help="Count answers as correct if the --correct column is at least Q.",
)
@click.option("--uncertainty", is_flag=True, help="Larger scores mean less certain answers.")
@json_option
@bins_option
@bootstrap_option()
@seed_option
def command(
    path: Path,
    scores: tuple[str, ...],
    correct: str,
    correct_at: float | None,
    uncertainty: bool,
    as_json: bool,
    bins: int,
    bootstrap: int,
    seed: int,
) -> None:
    """Compute AUROC, AURC and prediction-rejection ratio of the scores in FILE.

    FILE is a .csv, .parquet or .jsonl file with one row for each answer. Scores that are all in [0, 1] are
    confidences: they also get calibration metrics, unless --uncertainty is given.

    \b
        calprobe rank polygraph.csv --score SemanticEntropy --score Perplexity --correct Accuracy --uncertainty
        calprobe rank answers.parquet --score verbal_confidence --correct rouge --correct-at 0.5 --json
    """
    from calprobe.analysis.rank import RankOptions, rank
    from calprobe.analysis.tables.rank import rank_tables
    from calprobe.cli.output import in_format, print_result
    from calprobe.heap import keep_freed_memory
    from calprobe.interop.score_tables import read_scored_answers
    from calprobe.metrics import Resampling

    keep_freed_memory()
    answers = read_scored_answers(path, scores, correct, correct_at)
    found = rank(answers, RankOptions(uncertainty, bins, Resampling(bootstrap, seed)), str(path))
    print_result(in_format("json" if as_json else "text", found, rank_tables, rank_tables))
