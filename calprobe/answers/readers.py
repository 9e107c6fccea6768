"""The readers of answers, by name: a new one is one entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from calprobe.answers.constrained import read_constrained
from calprobe.answers.first_char import read_first_char
from calprobe.answers.label_patterns import labels_of
from calprobe.answers.last_marker import read_first_marker, read_last_marker
from calprobe.answers.number_reader import read_extracted, read_first_number, read_number
from calprobe.answers.option_text import read_option_text
from calprobe.answers.reading import MOST_CHARACTERS, Reading
from calprobe.answers.short import first_paragraph, read_short
from calprobe.answers.yes_no import read_yes_no
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.questions import Question, QuestionKind
from calprobe.runs.replies import Reply


@dataclass(frozen=True, slots=True)
class Reader:
    """One way to read an answer off a reply."""

    name: str
    kinds: tuple[QuestionKind, ...]  # of questions
    stage: str  # of the replies that it reads
    title: str  # for reports
    read: Callable[[Reply, tuple[str, ...], tuple[str, ...]], Reading]  # of the reply, the labels and the options


def _cut(reply: Reply) -> bool:
    return reply.finish == "length"


READERS: Mapping[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader(
            "last_marker",
            ("choice",),
            "answer",
            "the last label that the reply marks as its answer",
            lambda reply, labels, options: _last_marker(reply, labels, options),
        ),
        Reader(
            "first_char",
            ("choice",),
            "answer",
            "the label that the reply begins with",
            lambda reply, labels, options: read_first_char(reply.text, labels_of(labels)),
        ),
        Reader(
            "first_marker",
            ("choice",),
            "answer",
            "the first label behind a marker (the audit's Path 1)",
            lambda reply, labels, options: read_first_marker(reply.text, labels_of(labels)),
        ),
        Reader(
            "constrained",
            ("choice",),
            "final",
            "the most probable label behind the reply and a cue (the audit's Path 2)",
            lambda reply, labels, options: read_constrained(reply.label_scores),
        ),
        Reader(
            "number",
            ("number",),
            "answer",
            "the number that the reply marks, or its last one",
            lambda reply, labels, options: read_number(reply.text, cut=_cut(reply)),
        ),
        Reader(
            "yes_no",
            ("choice", "open"),
            "answer",
            "yes or no",
            lambda reply, labels, options: _yes_no(reply.text, labels),
        ),
        Reader(
            "verdict",
            ("choice",),
            "final",
            "yes or no, as concluded behind the reply",
            lambda reply, labels, options: _yes_no(reply.text, labels),
        ),
        Reader(
            "chosen",
            ("choice",),
            "final",
            "the label that was concluded behind the reply",
            lambda reply, labels, options: read_last_marker(reply.text, labels_of(labels), cut=_cut(reply)),
        ),
        Reader(
            "extracted",
            ("number",),
            "final",
            "the one number that was given when it was asked for behind the reply",
            lambda reply, labels, options: read_extracted(reply.text, cut=_cut(reply)),
        ),
        Reader(
            "first_number",
            ("number",),
            "final",
            "the first number of what was given behind the reply, without its sign and exponent (science2026)",
            lambda reply, labels, options: read_first_number(reply.text),
        ),
        Reader(
            "concluded",
            ("open",),
            "final",
            "the short text that was concluded behind the reply",
            lambda reply, labels, options: read_short(reply.text),
        ),
        Reader(
            "short",
            ("open",),
            "answer",
            "the reply's short text",
            lambda reply, labels, options: read_short(reply.text),
        ),
    )
}
# The readers of what is asked for behind a reply, by kind of question; of choices, claims about one option.
CONCLUDES: Mapping[QuestionKind, str] = {"choice": "verdict", "number": "extracted", "open": "concluded"}
CONCLUSIONS = (*CONCLUDES.values(), "chosen", "first_number")


def read(reply: Reply, question: Question, reader: str | None = None, *, plain: bool = False) -> Reading:
    """What a reader finds in a reply. It depends on its text, finish and label scores, the labels and options alone.

    A value of a reply that ended at its budget has the status `cut`, and so has such a reply without a value. A reply
    of more than `MOST_CHARACTERS` is read as if it had ended there.

    Args:
        reply: of the reader's stage.
        question: what was asked.
        reader: a name in `READERS`; None: the default of the question's kind.
        plain: the prompt was plain text, as for base models, which go on after their answer: short texts are read up to
            the first blank line.
    Raises:
        UsageError: no such reader, or it does not read answers to questions of this kind.

    >>> question = Question("1", "Which?", "choice", ("Mars", "Moon"), ("A", "B"), answer=0)
    >>> read(Reply("", "planets", "1", "plain", "answer", "Answer: A", "stop"), question)
    Reading(value='A', status='ok', rule='answer_marker', start=8, end=9, unit='')
    """
    chosen = _reader(reader or readers_of(question)[0], question)
    if reply.finish == "error":
        return Reading(None, "error", "")
    if len(reply.text) > MOST_CHARACTERS:
        reply = replace(reply, text=reply.text[:MOST_CHARACTERS], finish="length")
    if plain and chosen.name == "short":
        reply = replace(reply, text=first_paragraph(reply.text))
    reading = chosen.read(reply, question.labels, question.options)
    if _cut(reply) and chosen.stage == "answer" and reading.status in ("ok", "none"):
        return replace(reading, status="cut")
    return reading


def readers_of(question: Question) -> tuple[str, ...]:
    """The names of the readers for replies to questions of this kind, the default first; none of `CONCLUSIONS`.

    >>> readers_of(Question("1", "Who?", "open", accepted=("Ann",)))
    ('short', 'yes_no')
    """
    names = [
        reader.name for reader in READERS.values() if question.kind in reader.kinds and reader.name not in CONCLUSIONS
    ]
    return tuple(sorted(names, key=lambda name: name == "yes_no"))


def _reader(name: str, question: Question) -> Reader:
    if name not in READERS:
        raise UsageError(f"no reader {name!r}; choose {', '.join(READERS)}{did_you_mean(name, READERS)}")
    if question.kind not in READERS[name].kinds:
        raise UsageError(
            f"question {question.id}: reader {name} does not read answers to questions of kind {question.kind}; "
            f"choose {' or '.join(readers_of(question))}"
        )
    return READERS[name]


def _last_marker(reply: Reply, labels: tuple[str, ...], options: tuple[str, ...]) -> Reading:
    """The label that the reply marks; else that of the one option that it names."""
    cut = _cut(reply)
    reading = read_last_marker(reply.text, labels_of(labels), cut=cut)
    return reading if reading.status != "none" else read_option_text(reply.text, labels, options, cut=cut)


def _yes_no(text: str, labels: tuple[str, ...]) -> Reading:
    """Yes or no, in the words of the question's labels where these are such words."""
    reading = read_yes_no(text)
    names = {label.casefold(): label for label in labels}
    return replace(reading, value=names.get(str(reading.value), reading.value)) if reading.value else reading
