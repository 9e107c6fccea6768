"""Which readers of answers a cell is read by, and how stated confidences are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from calprobe.answers import READERS, Reading, read_on_scale, read_stated, readers_of
from calprobe.cells.reading_options import ReplyReading
from calprobe.confidence.asked import ReplyTable
from calprobe.confidence.asked.readings import ARGMAX, CONCLUDED, DEFAULT, GIVEN
from calprobe.confidence.asked.reply_table import FINAL
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.prompts.types import PromptSet
from calprobe.runs.replies import Reply

CONSTRAINED = "constrained"  # the letter that a model was held to


def readers_of_cell(table: ReplyTable, options: ReplyReading, concludes: bool = False) -> tuple[str, ...]:
    """The readers of a cell, the one that confidences go by first.

    Of choices those that the options name, as far as the cell has replies for them; else the reader of the questions'
    kind; of replies with a conclusion behind them (`concludes`: a turn asked for it) that of the conclusion. A cell of
    graded replies has the reader `given`, one of label probabilities alone `label_argmax`.

    Raises UsageError for a reader that there is not.
    """
    if options.readers is not None:
        check_readers(options.readers)
    if table.rows and all(row.first.correct is not None for row in table.rows):
        return (GIVEN,)
    kinds: set[str] = {row.question.kind for row in table.rows}
    if len(kinds) > 1:
        return (CONCLUDED,) if table.has(FINAL) and (concludes or _are_claims(table)) else (DEFAULT,)
    if table.has(FINAL) and (names := _of_conclusions(table, kinds, options, concludes)):
        return names
    evaluators = [name for name in options.evaluators if kinds <= set(READERS[name].kinds)]
    readers = tuple(name for name in evaluators if table.has(READERS[name].stage))
    if readers and table.has("answer"):
        return readers
    if not table.has("answer"):
        return (ARGMAX, *readers)
    return readers_of(table.rows[0].question)[:1] if table.rows else options.evaluators[:1]


def _of_conclusions(
    table: ReplyTable, kinds: Collection[str], options: ReplyReading, concludes: bool
) -> tuple[str, ...]:
    """The readers of conclusions that a turn behind replies asked for; none of choices where a cue asked for them."""
    names: tuple[str, ...]
    if kinds == {"choice"}:
        of_label = ("chosen", *options.evaluators) if concludes else ()
        names = ("verdict", CONSTRAINED) if _are_claims(table) else of_label
    else:
        names = {"number": ("extracted", "number"), "open": ("concluded", "short")}[next(iter(kinds))]
        if kinds == {"number"} and options.by_study:
            names = ("first_number", *names)
    return tuple(name for name in options.readers if name in names) if options.readers is not None else names


def _are_claims(table: ReplyTable) -> bool:
    return all(row.question.of for row in table.rows if row.question.kind == "choice")


def check_used(wanted: Sequence[str] | None, used: Collection[str]) -> None:
    """Raise UsageError for a reader asked for that no cell has been read by."""
    for name in wanted or ():
        if name not in used:
            clause = f"; there is {', '.join(dict.fromkeys(used))}" if used else ""
            raise UsageError(f"--reader {name}: there are no replies that it reads{clause}")


def check_readers(names: Sequence[str]) -> None:
    """Raise UsageError for a name that is no reader's."""
    for name in names:
        if name not in READERS:
            raise UsageError(
                f"--reader: no {name!r}{did_you_mean(name, READERS) or f'; give some of {chr(44).join(READERS)}'}"
            )


def stated_reader(options: ReplyReading, prompts: PromptSet | None) -> Callable[[Reply, str], Reading]:
    """What reads a stated confidence off a reply to the stated prompt of a name.

    Sets with scales or groups of their own are read by the rules of each scale, others by those of the audit.
    """
    by_name = {prompt.name: prompt for prompt in prompts.stated} if prompts else {}
    by_scale = prompts is not None and prompts.reads_by_scale

    def read(reply: Reply, name: str) -> Reading:
        cut = reply.finish == "length"
        stated = by_name.get(name)
        if options.by_study and (stated is None or stated.forward_scale == "x"):
            return read_stated(reply.text, "x" if stated is None else stated.scale, parser="first")
        if by_scale and stated is not None:
            return read_on_scale(reply.text, stated.scale, stated.expressions, cut=cut)
        scale = stated.scale if stated is not None else "x"
        return read_stated(reply.text, scale, cut=cut, parser="paper" if options.by_paper else "strict")

    return read
