"""Choices as prompts put them: with other labels on their options, or each option as a claim of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from string import ascii_uppercase

from calprobe.errors import UsageError
from calprobe.prompts.placeholders import replace_placeholders
from calprobe.prompts.types import Labelling
from calprobe.questions import Question, QuestionSet

YES, NO = "Yes", "No"


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


def judged(questions: QuestionSet, claim: str, layout: str) -> QuestionSet:
    """The set with each choice as one claim an option; questions of other kinds stay.

    A claim's id is QUESTION#LABEL, its options are Yes and No, and Yes is right for the right option. The question with
    all of its options stands in front of the claim.

    Args:
        questions: with labels on their options.
        claim: a text with {label} and {option}.
        layout: a line of the list of options, likewise.

    >>> from calprobe.questions import SetSource
    >>> question = Question("q", "Which is a planet?", "choice", ("Mars", "Moon"), ("A", "B"), answer=0)
    >>> sky = QuestionSet("sky", (question,), SetSource(""))
    >>> made = judged(sky, "{label} ({option}) is right.", "{label}. {option}")
    >>> [(each.id, each.text, each.gold) for each in made.questions]
    [('q#A', 'A (Mars) is right.', 'Yes'), ('q#B', 'B (Moon) is right.', 'No')]
    """
    claims = [option_claim for question in questions.questions for option_claim in _claims(question, claim, layout)]
    return replace(questions, questions=tuple(claims))


def _claims(question: Question, claim: str, layout: str) -> Iterator[Question]:
    if question.kind != "choice":
        yield question
        return
    pairs = list(zip(question.labels, question.options, strict=True))
    listed = [replace_placeholders(layout, {"label": label, "option": option}) for label, option in pairs]
    context = "\n".join((*([question.context] if question.context else []), question.text, *listed))
    for place, (label, option) in enumerate(pairs):
        yield Question(
            id=f"{question.id}#{label}",
            text=replace_placeholders(claim, {"label": label, "option": option}),
            kind="choice",
            options=(YES, NO),
            labels=(YES, NO),
            answer=0 if place == question.answer else 1,
            context=context,
            group=question.group,
            of=question.id,
        )
