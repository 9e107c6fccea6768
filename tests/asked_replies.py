"""Made-up questions and replies, for tests of what is read and computed of asked runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from calprobe.cells.asked import Asked
from calprobe.prompts.types import PromptSet, Stated, Variant
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs.replies import LabelScores, Reply

LETTERS = ("A", "B", "C", "D")
FORM = 11  # the token of A; those of B, C, D follow
DECIMAL = Stated("decimal", "How sure, 0 to 1?", "x", 8)
PERCENT = Stated("percent", "How sure, 0% to 100%?", "x/100", 8)


def choice(name: str, answer: int = 0, n_options: int = 4) -> Question:
    """A question with letters."""
    options = tuple(f"option {place}" for place in range(n_options))
    return Question(name, f"Which of {name}?", "choice", options, LETTERS[:n_options], answer=answer)


def question_set(questions: Sequence[Question], name: str = "quiz") -> QuestionSet:
    """A set of these questions."""
    return QuestionSet(name, tuple(questions), SetSource("0" * 64))


def scores(
    *masses: Sequence[float],
    positions: Sequence[int] | None = None,
    starts: Sequence[int] | None = None,
    ranks: Sequence[Sequence[int]] | None = None,
) -> LabelScores:
    """Label scores of these masses, a row for each place."""
    n_labels = len(masses[0])
    with np.errstate(divide="ignore"):
        logprobs = np.log(np.array(masses, np.float64))
    return LabelScores(
        LETTERS[:n_labels],
        tuple((FORM + place,) for place in range(n_labels)),
        np.arange(len(masses)) if positions is None else np.array(positions, np.int64),
        logprobs,
        np.full(len(masses), -np.inf),
        None if starts is None else np.array(starts, np.int64),
        None if ranks is None else np.array(ranks, np.int64),
    )


def reply(question: str, text: str = "", *, variant: str = "plain", stage: str = "answer", **more: object) -> Reply:
    """A reply to a question of `quiz`."""
    values: dict[str, object] = {"set": "quiz", "finish": "stop"} | more
    return Reply(
        f"{question}{variant}{stage}{text}", question=question, variant=variant, stage=stage, text=text, **values
    )  # type: ignore[arg-type]  # fields of Reply


def prompts(*variants: Variant, stated: Sequence[Stated] = (DECIMAL,)) -> PromptSet:
    """A set of prompts."""
    changes = tuple(variant.name for variant in variants if variant.final)
    return PromptSet("made-up", "f" * 64, variants, tuple(stated), "\n\nFinal answer:", format_changes=changes)


PLAIN, OTHER = Variant("plain", "{input}", 32), Variant("other", "{input}!", 32)
REASONED = Variant("reasoned", "{input} Think.", 256, final=True)


def asked(
    questions: Sequence[Question], replies: Sequence[Reply], given: PromptSet | None = None, label: str = "run"
) -> Asked:
    """A run of these replies."""
    named = given or prompts(PLAIN, OTHER, REASONED)
    return Asked(label, "tiny", (question_set(questions),), tuple(replies), named)


def answered(
    letters: Mapping[str, Sequence[str]], gold: Sequence[int], stated: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[Question], list[Reply]]:
    """Questions q0, q1, .. with these right answers, and the letter that each variant replies to each."""
    questions = [choice(f"q{place}", answer) for place, answer in enumerate(gold)]
    replies = []
    for variant, own in letters.items():
        for question, text in zip(questions, own, strict=True):
            masses = [0.6 if letter == text[-1:] else 0.1 for letter in LETTERS]
            replies.append(reply(question.id, text, variant=variant, label_scores=scores(masses), token_ids=(FORM,)))
    for variant, said in (stated or {}).items():
        for question, text in zip(questions, said, strict=True):
            replies.append(reply(question.id, text, variant=variant, stage="stated:decimal"))
    return questions, replies


def in_variant(replies: Sequence[Reply], variant: str) -> list[Reply]:
    """The same replies, as if another variant had asked."""
    return [replace(own, variant=variant) for own in replies]
