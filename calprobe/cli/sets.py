"""`calprobe sets`: sets of candidates that hold the right one as often as promised."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from calprobe.cli.answer_cells import answer_cells, column_options
from calprobe.cli.arguments import list_option
from calprobe.cli.common import estimators_option, format_options

if TYPE_CHECKING:
    from calprobe.metrics import SetRule


@click.command(short_help="Make answer sets that hold the right candidate as promised.")
@click.argument("path", metavar="[RUN|FILE]", required=False)
@click.option(
    "--coverage",
    type=float,
    metavar="SHARE",
    default=0.9,
    show_default=True,
    help="How often a set is to hold the right candidate, or an answer to be right or withheld.",
)
@click.option("--on", metavar="RUN", help="Check the sets on this run or file; without it, on the other half.")
@list_option(
    "--rule",
    "rules",
    metavar="NAME,..",
    help="lac, aps, aps_random or naive, which promises nothing.  [default: lac,aps,aps_random]",
)
@estimators_option(
    "Estimators of a run, by their names in `report`: sets of candidates where it is a probability of them, else which"
    " answers to withhold.  [default: base; asked: label, label_final or frequency.majority]"
)
@column_options
@click.option(
    "--by", metavar="relation|group", help="Also a threshold for each relation, or for each group of questions."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="S",
    help="Seed of the split, and of aps_random.",
)
@format_options
def command(
    path: str | None,
    coverage: float,
    on: str | None,
    rules: tuple[SetRule, ...] | None,
    estimators: tuple[str, ...] | None,
    by: str | None,
    seed: int,
    form: str,
    **columns: str | None,
) -> None:
    """Make sets of candidates, or of labels, that hold the right one in --coverage of the cases.

    RUN is any run. Without probabilities of candidates, as of free answers or in FILE, a table with a row for each
    answer, answers are given or withheld instead, so that they are right or withheld as often. Without RUN or FILE, say
    what the number of cases that a threshold is fixed on does to coverage.

    \b
        calprobe sets runs/clm
        calprobe sets runs/clm --coverage 0.8 --by relation --rule lac
        calprobe sets runs/letters --on runs/other-letters --format csv
        calprobe sets runs/samples --estimator frequency.majority
        calprobe sets answers.csv --score p --correct right
        calprobe sets --coverage 0.95
    """
    from calprobe.cli.output import print_result, print_tables
    from calprobe.measures.chosen import known_names
    from calprobe.metrics import SET_RULES
    from calprobe.studies.sets.layouts import needed_text, set_tables
    from calprobe.studies.sets.numbers import cells_answer_sets
    from calprobe.studies.sets.results import USUAL_RULES, SetOptions

    if rules is not None:
        known_names("--rule", rules, SET_RULES)
    options = SetOptions(coverage, USUAL_RULES if rules is None else rules, by, estimators, seed)
    if path is None:
        print_result(needed_text(coverage))
        return
    others = None if on is None else answer_cells(on, **columns)
    found = cells_answer_sets(answer_cells(path, **columns), others, options)
    print_tables(found, partial(set_tables, found), form)
