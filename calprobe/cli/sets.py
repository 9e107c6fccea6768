"""`calprobe sets`: sets of candidates that hold the right one as often as promised."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.answer_cells import answer_cells, column_options
from calprobe.cli.arguments import list_option, refuse_typed
from calprobe.cli.common import estimators_option, format_options
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.cells.candidates import GroupedCell
    from calprobe.metrics import SetRule

COLUMNS = ("score", "uncertainty", "correct")  # parameters of a table of single answers
OF_CASES = (*COLUMNS, "cluster", "candidates", "answer", "on", "rules", "estimators", "by", "seed")


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
@list_option(
    "--candidates",
    "candidates",
    metavar="COLUMN,..",
    help="FILE: the columns that have the probabilities of a row's candidates, in place of --score; an empty value is"
    " no candidate.",
)
@click.option("--answer", metavar="COLUMN", help="FILE: the column that names the right one of --candidates.")
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
    candidates: tuple[str, ...] | None,
    answer: str | None,
    **columns: str | None,
) -> None:
    """Make sets of candidates, or of labels, that hold the right one in --coverage of the cases.

    RUN is any run, FILE a table with a row for each case. Without probabilities of candidates, as of free answers or
    of a FILE with --score, answers are given or withheld instead, so that they are right or withheld as often. Without
    RUN or FILE, say what the number of cases that a threshold is fixed on does to coverage.

    \b
        calprobe sets runs/clm
        calprobe sets runs/clm --coverage 0.8 --by relation --rule lac
        calprobe sets runs/letters --on runs/other-letters --format csv
        calprobe sets runs/samples --estimator frequency.majority
        calprobe sets answers.csv --score p --correct right
        calprobe sets classes.csv --candidates cat,dog,bird --answer label
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
        refuse_typed(click.get_current_context(), OF_CASES, "is of a RUN or FILE, and there is none; give one")
        print_result(needed_text(coverage))
        return
    cells_of = partial(_cells, candidates, answer, columns)
    found = cells_answer_sets(cells_of(path), None if on is None else cells_of(on), options)
    print_tables(found, partial(set_tables, found), form)


def _cells(
    candidates: tuple[str, ...] | None, answer: str | None, columns: Mapping[str, str | None], path: str
) -> list[GroupedCell]:
    """The cells of a run or a table. Raises UsageError as `answer_cells`, and for one of the two options alone."""
    from calprobe.cells.candidates import candidates_cell
    from calprobe.interop.score_tables import is_table

    if candidates is None and answer is None:
        return answer_cells(path, **columns)
    if candidates is None or answer is None:
        raise UsageError("--candidates and --answer go together: columns of probabilities, and the right one's name")
    if any(columns[name] for name in COLUMNS):
        raise UsageError("--score, --uncertainty and --correct are of single answers; leave them out of --candidates")
    if not is_table(path):
        raise UsageError(f"--candidates and --answer are of tables; {path} is none")
    return [candidates_cell(Path(path), candidates, answer, columns["cluster"])]
