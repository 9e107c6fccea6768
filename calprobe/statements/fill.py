"""Fills templates, and joins contexts with completions: texts, and where subject and answer stand in them."""

from __future__ import annotations

from typing import NamedTuple

from calprobe.probes.types import ANSWER_SLOT, JOINED, SUBJECT_SLOT, Relation, sentence_case, slot_fault


class Statement(NamedTuple):
    """A template filled with one subject and one candidate. Spans are half-open places of characters in `text`."""

    text: str
    subject: tuple[int, int]
    answer: tuple[int, int]


def fill(template: str, subject: str, answer: str) -> Statement:
    """The statement of one subject and one answer, its first character upper-cased.

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


def join(context: str, completion: str) -> Statement:
    """A context and what completes it, as one text: a space between them unless the context ends in white space.

    Nothing is upper-cased. The answer begins with the joining space, also where that is the context's own last one, so
    that every token from the joint on is the completion's: it is scored, and a token across the joint with it.

    >>> join("Ghana lies in ", "Africa.")
    Statement(text='Ghana lies in Africa.', subject=(0, 13), answer=(13, 21))
    """
    before = context.removesuffix(" ")
    other_white_space = before == context and context[-1:].isspace()
    text = f"{before}{completion}" if other_white_space else f"{before} {completion}"
    return Statement(text, (0, len(before)), (len(before), len(text)))


def statements_of(relation: Relation, template: str) -> list[Statement]:
    """All statements of a relation and one template's text, instance-major and candidate-minor.

    Statement `i * K + k` is instance `i` with candidate `k` of K. Empty if the relation has no instances. Where only
    completions are scored, context and completion are joined (`join`), and there is no other template.

    Raises:
        ValueError: a slot is missing or stands twice, or another template than the one for completions.

    >>> from calprobe.probes import Instance, Relation
    >>> relation = Relation("P30", ("Africa", "Asia"), (Instance(0, "Ghana", 0),))
    >>> [statement.text for statement in statements_of(relation, "[X] is in [Y].")]
    ['Ghana is in Africa.', 'Ghana is in Asia.']
    """
    if relation.scored == "completion" and template != JOINED:
        raise ValueError(f"template must be {JOINED!r} where completions are scored, got {template!r}")
    filled = join if relation.scored == "completion" else _Pattern(template).fill
    return [
        filled(instance.subject, candidate)
        for instance in relation.instances
        for candidate in relation.candidates_of(instance)
    ]


def same_by_upper_case(relation: Relation, template: str) -> tuple[str, str] | None:
    """Two candidates, or two subjects, of which the template makes one statement, since it begins with them; else None.

    >>> from calprobe.probes import Instance, Relation
    >>> relation = Relation("P1", ("one", "two", "One"), (Instance(0, "1", 0),))
    >>> same_by_upper_case(relation, "[Y] is [X]."), same_by_upper_case(relation, "[X] is [Y].")
    (('one', 'One'), None)
    """
    if relation.scored == "completion":  # nothing is upper-cased
        return None
    if template.startswith(SUBJECT_SLOT):
        labels = [tuple(instance.subject for instance in relation.instances)]
    elif template.startswith(ANSWER_SLOT):
        labels = list(dict.fromkeys(relation.candidates_of(instance) for instance in relation.instances))
    else:
        return None
    for own in labels:
        first: dict[str, str] = {}
        for label in own:
            if (other := first.setdefault(sentence_case(label), label)) != label:
                return other, label
    return None


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
        text = sentence_case(f"{self.head}{first}{self.middle}{second}{self.tail}")
        start = len(self.head)
        end = start + len(first)
        spans = (start, end), (end + len(self.middle), end + len(self.middle) + len(second))
        return Statement(text, *spans) if self.subject_first else Statement(text, *reversed(spans))
