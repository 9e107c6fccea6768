"""Made-up runs as the study of science questions has them: sampled conclusions, and label probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from asked_samples import PROMPTS, question_set

from calprobe.cells.asked import Asked
from calprobe.prompts import judged
from calprobe.prompts.overrides import with_turns
from calprobe.questions import Question, QuestionSet, turned
from calprobe.runs import LabelScores, Reply

Said = Callable[[Question, int], str | None]  # a claim or question, the sample -> what is concluded; None: failed
Masses = Callable[[Question, str], Sequence[float]]  # a question as it is asked, and the variant -> raw masses
CLAIMS = judged(question_set(12), "{label}: {option}", "{label}. {option}")
LABELS = replace(PROMPTS, stated=(), final_cue="", format_changes=())
SAMPLES = 4


def concluded(
    said: Said,
    questions: QuestionSet,
    backwards: bool = False,
    stated: Said | None = None,
    samples: int = SAMPLES,
) -> Asked:
    """Conclusions behind sampled replies."""
    replies = []
    for question in questions.questions:
        for sample in range(samples):
            texts: dict[str, str | None] = {"answer": "Let us see.", "final": said(question, sample)}
            texts |= {"stated:decimal": stated(question, sample)} if stated else {}
            for stage, text in texts.items():
                place = (questions.name, question.id, "direct", stage)
                how = {"finish": "stop"} if text is not None else {"finish": "error", "error": "timeout"}
                replies.append(Reply(f"{place}{sample}", *place, text=text or "", sample=sample, **how))  # type: ignore[arg-type]  # fields of Reply
    return Asked("run", "toy", (questions,), tuple(reversed(replies)) if backwards else tuple(replies), PROMPTS)


def with_labels(masses: Masses, n: int = 12, orders: int = 1, backwards: bool = False) -> Asked:
    """Label probabilities under two designs, with the options in so many orders."""
    questions, prompts = question_set(n), with_turns(LABELS, orders)
    replies = []
    for variant in prompts.variants:
        for question in questions.questions:
            labels = np.array(masses(turned(question, variant.turned), variant.name))
            ranks = np.argsort(np.argsort(-labels)) + (3 if labels.sum() < 0.5 else 0)
            scores = LabelScores(
                question.labels,
                ((1,), (2,), (3,), (4,)),
                np.array([0]),
                np.log(np.maximum(labels, 1e-300))[None],
                np.array([-np.inf]),
                ranks=ranks[None],
            )
            place = (questions.name, question.id, variant.name, "label")
            replies.append(Reply(f"{place}", *place, text="", finish="length", label_scores=scores))
    return Asked("run", "toy", (questions,), tuple(reversed(replies)) if backwards else tuple(replies), prompts)
