"""What options are called in prompts: the questions' own labels, letters, or the options themselves."""

from __future__ import annotations

from dataclasses import replace
from string import ascii_uppercase

from calprobe.errors import UsageError
from calprobe.prompts.types import Labelling
from calprobe.questions import Question, QuestionSet


def labelled(questions: QuestionSet, labels: Labelling) -> QuestionSet:
    """The set with other labels on the options of its questions and examples; `own` changes nothing.

    Ask with the set that comes out, and store it with the replies: readers look for its labels.

    Raises:
        UsageError: `words`, and two options of a question are the same but for case, or the set must not be quoted.

    >>> from calprobe.questions import SetSource
    >>> question = Question("1", "I liked it.", "choice", ("positive", "negative"), ("A", "B"), answer=0)
    >>> labelled(QuestionSet("reviews", (question,), SetSource("")), "words").questions[0].labels
    ('positive', 'negative')
    """
    if labels == "own":
        return questions
    if labels == "words" and not questions.source.quotable:
        raise UsageError(
            f"{questions.name}: its texts must not be quoted, and labels are stored with the replies, so options "
            'cannot be their own labels; use "labels": "letters"'
        )
    relabel = _with_letters if labels == "letters" else _with_words
    return replace(
        questions,
        questions=tuple(map(relabel, questions.questions)),
        shots=tuple(map(relabel, questions.shots)),
    )


def _with_letters(question: Question) -> Question:
    return replace(question, labels=tuple(_letters(place) for place in range(len(question.options))))


def _with_words(question: Question) -> Question:
    if len({option.casefold() for option in question.options}) < len(question.options):
        raise UsageError(
            f"question {question.id}: two options are the same but for case, so options cannot be their own labels; "
            'use "labels": "letters"'
        )
    return replace(question, labels=question.options)


def _letters(place: int) -> str:
    """A to Z, then AA, AB, .."""
    before, last = divmod(place, len(ascii_uppercase))
    return (_letters(before - 1) if before else "") + ascii_uppercase[last]
