"""The options of a question in another order: all of them moved on by some places."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from calprobe.questions.types import Question


def turned(question: Question, places: int) -> Question:
    """The question with its options moved up by that many places, the first ones behind the last; labels stay.

    Options that are their own labels keep them. A question without options comes back as it is.

    >>> found = turned(Question("1", "Which?", "choice", ("x", "y", "z"), ("A", "B", "C"), answer=0), 1)
    >>> found.options, found.gold
    (('y', 'z', 'x'), 'C')
    """
    count = len(question.options)
    if not count or not places % count:
        return question
    first = places % count
    options = (*question.options[first:], *question.options[:first])
    return replace(
        question,
        options=options,
        labels=options if question.labels == question.options else question.labels,
        answer=None if question.answer is None else (question.answer - first) % count,
    )


def balanced(examples: Sequence[Question], name: str) -> tuple[Question, ...]:
    """Examples for the question of that id, their options turned so that the right ones have different labels.

    The first label goes by a hash of the id, so that over many questions all labels are shown equally often.

    >>> each = Question("1", "Which?", "choice", ("x", "y", "z"), ("A", "B", "C"), answer=0)
    >>> [shot.gold for shot in balanced([each] * 3, "q7")]
    ['B', 'C', 'A']
    """
    first = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
    return tuple(_with_gold_at(shot, first + number) for number, shot in enumerate(examples))


def _with_gold_at(question: Question, place: int) -> Question:
    return question if question.answer is None else turned(question, question.answer - place)
