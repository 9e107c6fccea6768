"""`calprobe stakes`: what answers are worth where a wrong one costs."""

from __future__ import annotations

from functools import partial

import click

from calprobe.cli.answer_cells import answer_cells, column_options
from calprobe.cli.arguments import list_option
from calprobe.cli.common import bootstrap_option, estimators_option, format_options, seed_option
from calprobe.cli.terminal_text import explained_wait


@click.command(short_help="Show what answers are worth where wrong ones cost.")
@click.argument("path", metavar="RUN|FILE")
@list_option(
    "--at",
    metavar="T,..",
    help="Stakes: from which probability on an answer pays. A wrong one costs T / (1 - T).  [default: 0.5,0.75,0.9]",
)
@estimators_option("Estimators of a run that are probabilities.  [default: base,margin,average_min; asked: all]")
@column_options
@bootstrap_option()
@seed_option
@format_options
def command(
    path: str,
    at: tuple[str, ...] | None,
    estimators: tuple[str, ...] | None,
    bootstrap: int,
    seed: int,
    form: str,
    **columns: str | None,
) -> None:
    """Show what answers are worth at stakes T, if those with a confidence of T or more are given.

    A right answer is worth 1, a wrong one -T / (1 - T), none 0. Runs that were asked with stakes in the prompt, such as
    by `ask --prompts stakes`, also show what the model itself did about them.

    \b
        calprobe stakes runs/clm
        calprobe stakes runs/told --at 0.9 --estimator stated_percent_0_100
        calprobe stakes answers.csv --score p --correct right
    """
    from calprobe.cli.output import print_tables
    from calprobe.metrics import Resampling
    from calprobe.studies.stakes.layouts import stakes_tables
    from calprobe.studies.stakes.numbers import stakes_report
    from calprobe.studies.stakes.results import USUAL_STAKES, StakesOptions

    stakes = USUAL_STAKES if at is None else tuple(map(_number, at))
    options = StakesOptions(stakes, estimators, Resampling(bootstrap, seed))
    cells = answer_cells(path, **columns)
    with explained_wait(bootstrap):
        found = stakes_report(cells, options)
    print_tables(found, partial(stakes_tables, found), form)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"--at {text}: not a number; give stakes such as 0.5,0.9") from None
