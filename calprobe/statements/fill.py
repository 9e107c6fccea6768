"""Fills templates: the text of a statement and where subject and answer stand in it."""

from __future__ import annotations

from typing import NamedTuple

from calprobe.probes.folder import ANSWER_SLOT, SUBJECT_SLOT, slot_fault
from calprobe.probes.types import Relation


class Statement(NamedTuple):
    """A template filled with one subject and one candidate. Spans are half-open places of characters in `text`."""

    text: str
    subject: tuple[int, int]
    answer: tuple[int, int]


def fill(template: str, subject: str, answer: str) -> Statement:
    """The statement of one subject and one answer, its first character upper-cased (SPEC_SCORING, symbols).

    A first character that upper-casing would lengthen (the German sharp s) stays as it is, so that spans stay right.
    Labels are put in as they are, also where they hold `[X]` or `[Y]` themselves.

    Args:
        template: text with [X] and [Y], each exactly once.
        subject: replaces [X].
        answer: replaces [Y].
    Raises:
        ValueError: a slot is missing or stands twice.

    >>> fill("[Y] is where [X] lies.", "Ghana", "africa")
    Statement(text='Africa is where Ghana lies.', subject=(16, 21), answer=(0, 6))
    """
    return _Pattern(template).fill(subject, answer)


def statements_of(relation: Relation, template: str) -> list[Statement]:
    """All statements of a relation and one template's text, instance-major and candidate-minor.

    Statement `i * K + k` is instance `i` with candidate `k` of K. Empty if the relation has no instances.

    Raises:
        ValueError: a slot is missing or stands twice.

    >>> from calprobe.probes import Instance, Relation
    >>> relation = Relation("P30", ("Africa", "Asia"), (Instance(0, "Ghana", 0),))
    >>> [statement.text for statement in statements_of(relation, "[X] is in [Y].")]
    ['Ghana is in Africa.', 'Ghana is in Asia.']
    """
    pattern = _Pattern(template)
    return [
        pattern.fill(instance.subject, candidate)
        for instance in relation.instances
        for candidate in relation.candidates
    ]


class _Pattern:
    """A template cut at its slots."""

    __slots__ = ("head", "middle", "subject_first", "tail")

    def __init__(self, template: str) -> None:
        if fault := slot_fault(template):
            raise ValueError(f"template must have {SUBJECT_SLOT} and {ANSWER_SLOT} once each, {template!r} {fault}")
        self.subject_first = template.index(SUBJECT_SLOT) < template.index(ANSWER_SLOT)
        first, second = (SUBJECT_SLOT, ANSWER_SLOT) if self.subject_first else (ANSWER_SLOT, SUBJECT_SLOT)
        self.head, _, rest = template.partition(first)
        self.middle, _, self.tail = rest.partition(second)

    def fill(self, subject: str, answer: str) -> Statement:
        first, second = (subject, answer) if self.subject_first else (answer, subject)
        text = f"{self.head}{first}{self.middle}{second}{self.tail}"
        upper = text[:1].upper()
        if len(upper) == 1:
            text = upper + text[1:]
        start = len(self.head)
        end = start + len(first)
        spans = (start, end), (end + len(self.middle), end + len(self.middle) + len(second))
        return Statement(text, *spans) if self.subject_first else Statement(text, *reversed(spans))
