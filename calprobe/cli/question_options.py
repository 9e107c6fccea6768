"""Options that choose questions, shared by the commands that take question sets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calprobe.cli.arguments import list_option, refuse_typed
from calprobe.cli.option_kinds import Group, option
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.questions import QuestionOptions

Command = TypeVar("Command", bound=Callable[..., Any])

AS = ("choice", "open")

# Commas between pairs, of which each begins with a field: names of columns may have commas in them.
_BETWEEN_PAIRS = re.compile(r",(?=\s*[a-z]+\s*=)")


def _columns(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in (pair for text in texts for pair in _BETWEEN_PAIRS.split(text)):
        field, sign, column = (part.strip() for part in pair.partition("="))
        if not sign:
            raise UsageError(f"--columns {pair}: give FIELD=COLUMN, such as question=Text,answer=Solution")
        if field in columns:
            raise UsageError(f"--columns: {field} is there twice; name one column for it")
        columns[field] = column
    return columns


columns_option = option(
    "--columns",
    group=Group.QUESTIONS,
    multiple=True,
    callback=_columns,
    metavar="FIELD=COLUMN,..",
    help="Columns of question files and data sets of the hub, where their names are others: question, answer, options "
    "(options=A+B+C, if each has a column), labels, id, subject (or group), context, unit, kind, paraphrases.",
)
# In the order of the help text; each gives the command a parameter of its name, see `chosen_questions`.
_OPTIONS = (
    option(
        "--split",
        group=Group.QUESTIONS,
        metavar="NAME",
        help="Split of the sets: test, validation, ..  [default: the set's own]",
    ),
    option("--limit", group=Group.QUESTIONS, type=int, metavar="N", help="The first N questions of each set."),
    option("--draw", group=Group.QUESTIONS, type=int, metavar="N", help="N random questions of each set."),
    option(
        "--draw-rule",
        group=Group.QUESTIONS,
        type=click.Choice(("nested", "sample", "relation")),
        help="nested: a larger draw has the smaller ones in it; sample: Python's random.sample (arXiv 2605.02038); "
        "relation: N facts of each relation, the same that score --limit N takes.  "
        "[default: as the study draws, else nested]",
    ),
    list_option("--groups", group=Group.QUESTIONS, metavar="NAME,..", help="Only these subjects or relations."),
    option(
        "--as",
        "as_",
        group=Group.QUESTIONS,
        type=click.Choice(AS),
        help="Kind of question, for facts and for sets that have both kinds.",
    ),
    option(
        "--options",
        "n_options",
        group=Group.QUESTIONS,
        type=int,
        default=4,
        show_default=True,
        metavar="K",
        help="Options of a fact that is asked as choice, 2 to 26.",
    ),
    columns_option,
    option(
        "--forms",
        group=Group.QUESTIONS,
        metavar="FILE.json",
        help="Question forms for the relations of a probe of one's own.",
    ),
)


def question_options(command: Command) -> Command:
    """The options that choose questions, without `--seed`."""
    for declaration in reversed(_OPTIONS):
        command = declaration(command)
    return command


def refuse_idle_choices(names: Iterable[str], *, study_draws: bool = False) -> None:
    """Raise click.UsageError for an option of facts where no set has any, and for a rule where nothing is drawn.

    Args:
        names: the question sets.
        study_draws: whether a study draws questions unless the options choose a number of them.
    """
    from calprobe.questions.question_loading import are_facts

    context = click.get_current_context()
    chosen = context.params
    if not any(are_facts(name) for name in names):
        refuse_typed(
            context, ("n_options", "forms"), "applies to facts of a probe: mini, bear or a folder; leave it out"
        )
    if chosen["as_"] == "open":
        refuse_typed(context, ("n_options",), "applies to facts that are asked as choice; leave it out, or --as open")
    if chosen["draw"] is None and (chosen["limit"] is not None or not study_draws):
        refuse_typed(context, ("draw_rule",), "says how --draw draws; give --draw N, or leave it out")


def chosen_questions(values: dict[str, Any], *, seed: int = 0, shots_from: str | None = None) -> QuestionOptions:
    """What the options of `question_options` choose.

    Args:
        values: the command's parameters, by name; others may be among them.
        seed: of draws.
        shots_from: a file of examples.
    Raises:
        UsageError: they contradict each other.
    """
    from calprobe.questions import QuestionOptions

    names = ("split", "limit", "draw", "draw_rule", "as_", "n_options", "forms", "columns")
    chosen = {name: values[name] for name in names}
    groups = tuple(values["groups"] or ())
    return QuestionOptions(**chosen, groups=groups, seed=seed, shots_from=shots_from)
