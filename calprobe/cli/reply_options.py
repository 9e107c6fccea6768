"""Options of runs of replies: how they are read, which of them count, and what is computed of them.

Each is named by the field of `ReportOptions` that it sets. Add an option of reports to `OF_REPORTS`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from calprobe.cli.arguments import list_option
from calprobe.cli.option_kinds import OF_CONFIDENCES, Group, option
from calprobe.errors import UsageError
from calprobe.words import Calibrate

if TYPE_CHECKING:
    from calprobe.measures.options import Pair

readers_option = list_option(
    "--reader",
    "readers",
    kinds=("asked", "facts", "readings", *OF_CONFIDENCES),
    group=Group.WHICH,
    metavar="NAME,..",
    help="How the chosen option is read from a reply, by rules of last_marker, constrained, first_char and"
    " first_marker (the last two are the audit's); confidences are in the answers that the first one reads. Answers to"
    " other kinds of questions have one rule each, number and short.  [default: last_marker,constrained; in the JSON "
    "first_char, too]",
)
variants_option = list_option(
    "--variants",
    kinds=("asked",),
    group=Group.WHICH,
    metavar="NAME,..",
    help="Only these variants of the prompts, as if no other had been asked.  [default: all]",
)
threshold_option = option(
    "--parse-threshold",
    "threshold",
    kinds=("asked",),
    group=Group.WHICH,
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Leave a variant out of means and curves where a smaller share of its stated confidences can be read.  "
    "[default: 0.8]",
)
calibrate_option = option(
    "--calibrate",
    kinds=("asked",),
    group=Group.WHAT,
    type=click.Choice(get_args(Calibrate)),
    help="Show uncertainties as confidences too, by a map fitted on other questions.",
)
budget_option = list_option(
    "--budget",
    kinds=("asked",),
    group=Group.WHAT,
    metavar="M,..",
    help="Compare ways to spend M answers on a question, n_p wordings with n_s samples each, by their AUROC.",
)
draws_option = option(
    "--budget-draws",
    kinds=("asked",),
    group=Group.WHAT,
    type=click.IntRange(1),
    metavar="N",
    help="Random draws for each way to spend --budget.  [default: 5]",
)
original_option = option(
    "--with-original",
    kinds=("asked",),
    group=Group.WHICH,
    is_flag=True,
    help="Count the question's own text among its wordings, in --budget and in the share of uncertainty that is"
    " due to the wording.  [default: its paraphrases alone]",
)
graders_option = list_option(
    "--graders",
    kinds=("asked",),
    group=Group.WHAT,
    metavar="all|NAME,..",
    help="Compare what graders make of the same answers: whether confidences keep their order, what of it is length, "
    "and what errors of grading hide. Some of exact, contains, includes, rouge, judge (the latest) and "
    "imported; where answers are numbers, of rounded, equal, scibench and imported.",
)
window_option = option(
    "--window",
    kinds=("asked", "facts", *OF_CONFIDENCES),
    group=Group.WHICH,
    type=click.IntRange(1),
    metavar="TOKENS",
    help="Use a label's probability only where it is among so many most probable tokens, as servers show them.  "
    "[default: all that the backend gave]",
)

OF_REPORTS = (
    *(calibrate_option, budget_option, draws_option, graders_option),
    *(readers_option, variants_option, threshold_option, window_option, original_option),
)


def reply_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `OF_REPORTS`; the command gets those that were given as one `of_replies`, by their fields."""

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        given = {name: value for name in names if (value := values.pop(name)) is not None}
        command(of_replies=given, **values)

    decorated: Callable[..., None] = with_options
    others = len(getattr(command, "__click_params__", ()))
    for declaration in reversed(OF_REPORTS):
        decorated = declaration(decorated)
    names = [parameter.name for parameter in getattr(decorated, "__click_params__", ())[others:]]
    return decorated


def answers_of(budget: Sequence[str]) -> tuple[int, ...]:
    """The numbers of answers that --budget names. Raises UsageError for what is none."""
    for text in budget:
        if not (text.isascii() and text.isdigit()) or len(text) > 6:
            raise UsageError(f"--budget {text}: give numbers of answers to each question, such as 6,12")
    return tuple(dict.fromkeys(map(int, budget)))


def variant_pairs(clauses: Sequence[str] | None) -> tuple[Pair, ...] | None:
    """What `--variants A:B,..` says. Raises UsageError for anything else."""
    if clauses is None:
        return None
    pairs = [tuple(clause.split(":")) for clause in clauses]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise UsageError(f"--variants {','.join(clauses)}: give pairs of two variants, such as direct:steps")
    return tuple((first, second) for first, second in pairs)
