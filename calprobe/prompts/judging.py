"""Options asked one by one: each becomes a claim of its own, which a model judges by Yes or No."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from calprobe.prompts.placeholders import replace_placeholders
from calprobe.questions import Question, QuestionSet

YES, NO = "Yes", "No"


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
