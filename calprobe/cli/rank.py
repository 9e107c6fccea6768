"""`calprobe rank`: what a table of scores and correctness says, whatever tool made it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.common import bins_option, bootstrap_option, json_option, seed_option

if TYPE_CHECKING:
    from calprobe.analysis.rank import RankReport


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """The number as it is, unless all answers or none would be right from it on, whatever their quality."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no value of a quality; give a finite number")
    return value


@click.command(short_help="Show ranking metrics of a (score, correct) table.")
@click.argument("path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--score", "scores", required=True, multiple=True, metavar="COLUMN", help="A column of numbers; may be repeated."
)
@click.option(
    "--correct", required=True, metavar="COLUMN", help="The column that says what is right: true or false, 1 or 0."
)
@click.option(
    "--correct-at",
    type=float,
    metavar="Q",
    callback=_finite,
    help="Answers are right from this value of --correct on.",
)
@click.option("--uncertainty", is_flag=True, help="Larger scores are less sure.")
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
    """AUROC, AURC and prediction-rejection ratio of the scores in FILE (.csv, .parquet or .jsonl, a row an answer).

    Scores that all lie in [0, 1] are confidences, and get the calibration metrics too, unless --uncertainty is given.

    \b
        calprobe rank polygraph.csv --score SemanticEntropy --score Perplexity --correct Accuracy --uncertainty
        calprobe rank answers.parquet --score verbal_confidence --correct rouge --correct-at 0.5 --json
    """
    from calprobe.analysis.rank import RankOptions, rank
    from calprobe.cli.output import print_result, printed_json
    from calprobe.cli.shown import printable
    from calprobe.heap import keep_freed_memory
    from calprobe.interop.score_tables import read_scored_answers
    from calprobe.metrics import Resampling

    keep_freed_memory()
    answers = read_scored_answers(path, scores, correct, correct_at)
    found = rank(answers, RankOptions(uncertainty, bins, Resampling(bootstrap, seed)), str(path))
    print_result(printed_json(found) if as_json else printable(_drawn(found)))


def _drawn(found: RankReport) -> str:
    """The report as text: a line a metric, a column a score."""
    from calprobe.analysis.figures import spelled
    from calprobe.cli.tables import text_table
    from calprobe.wording import counted

    rows = [("metric", *(score.name for score in found.scores))]
    for metric in found.metrics:
        cells = (spelled(s.metrics[metric.name]) if metric.name in s.metrics else "-" for s in found.scores)
        rows.append((metric.name, *cells))
    lines = [f"{found.label}: {counted(found.answers, 'answer')}", "", text_table(rows, "<" * len(rows[0])), ""]
    for better in ("larger", "smaller"):
        names = ", ".join(metric.name for metric in found.metrics if metric.better == better)
        lines.append(f"{better.capitalize()} is better: {names}.")
    if found.options.resampling.n_resamples:
        resamples = counted(found.options.resampling.n_resamples, "resample")
        lines.append(f"Ranges: 95 % bootstrap intervals ({resamples}, seed {found.options.resampling.seed}).")
    if not all(score.is_confidence for score in found.scores):
        why = "larger scores are less sure" if found.options.uncertainty else "not all scores lie in [0, 1]"
        lines.append(f"Ranking metrics alone where calibration has no meaning ({why}).")
    return "\n".join(lines)
