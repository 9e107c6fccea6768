"""The samples of each question in a cell: what they say, which say the same, how alike they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from calprobe.answers.said import equal_answers, said
from calprobe.arrays import Floats, Ints
from calprobe.confidence.asked.cell import ANSWER, Cell, Row
from calprobe.confidence.asked.readings import Answers
from calprobe.confidence.samples import (
    Strings,
    affinity,
    both_entail,
    classes_of_keys,
    close,
    different_strings,
    greedy_classes,
    no_contradiction,
)
from calprobe.questions.types import Question

NO_LOGPROBS, EMPTY, THOUGHT = "no log-probabilities", "empty reply", "tokens of a thought among those of the reply"
SAME_COSINE = 0.9  # of sentence embeddings, from which on two answers mean the same


class Meanings(Protocol):
    """What models have said of the meaning of a run's answers."""

    @property
    def has_relations(self) -> bool:
        """Whether any pair of answers was judged."""

    @property
    def has_embeddings(self) -> bool:
        """Whether any answer has an embedding."""

    def relations(self, set_name: str, question: str, texts: Sequence[str]) -> Floats | None:
        """Probabilities of entailment, neutral, contradiction, [texts, texts, 3]; None where a pair was not judged."""

    def has_claims(self, context: str) -> bool:
        """Whether alternatives of tokens were judged in that context."""

    def claimed(self, set_name: str, question: str, pairs: Sequence[tuple[str, str]], context: str) -> Floats | None:
        """Probabilities of entailment, neutral, contradiction, [pairs, 3]; None where a pair was not judged."""

    def embeddings(self, texts: Sequence[str]) -> Floats | None:
        """Sentence embeddings, [texts, dimensions]; None where a text has none."""


@dataclass(frozen=True)
class SampledQuestion:
    """The samples of one question under one variant, all its wordings together."""

    set: str
    question: Question
    rows: Ints  # [samples], places in the cell of those that the reader has a reply of
    wordings: Ints  # [samples], number of the paraphrase
    strings: Strings  # what the samples say
    replies: Ints  # [samples], a number for each different text of a complete reply
    logprobs: Floats  # [samples], mean log-probability of a reply's tokens; NaN: not known
    meanings: Meanings | None

    @cached_property
    def classes(self) -> Ints:
        """Equal answers, [samples]: the same label, number, or text but for case, articles and punctuation; -1: none.

        Classes are numbered from the one with the most frequent string on, so that 0 need not be the largest.
        """
        return self.strings.classes(self._equal)

    @cached_property
    def exact(self) -> Ints:
        """The samples' strings as classes, [samples]; -1: no answer."""
        return self.strings.of

    @cached_property
    def relations(self) -> Floats | None:
        """What was judged of each pair of strings, [strings, strings, 3]; None where a pair was not.

        Labels and numbers need no judge: equal ones entail each other, others are contradictions.
        """
        if self.question.kind != "open":
            equal = self._corners
            return np.stack([equal, np.zeros_like(equal), 1 - equal], axis=2)
        if self.meanings is None:
            return None
        return self.meanings.relations(self.set, self.question.id, self.strings.texts)

    @cached_property
    def embeddings(self) -> Floats | None:
        """A point for each string, [strings, dimensions]; None where one has none."""
        if self.question.kind != "open":
            return self._corners
        if self.meanings is None:
            return None
        return self.meanings.embeddings(self.strings.texts)

    @cached_property
    def meaning(self) -> Ints | None:
        """Classes of answers of which each entails the other, [samples]."""
        return None if self.relations is None else self._greedy(both_entail(self.relations))

    @cached_property
    def lenient_meaning(self) -> Ints | None:
        """Classes of answers of which none contradicts the other, [samples]."""
        return None if self.relations is None else self._greedy(no_contradiction(self.relations))

    @cached_property
    def near(self) -> Ints | None:
        """Classes of answers with close embeddings, [samples]."""
        return None if self.embeddings is None else self._greedy(close(self.embeddings, SAME_COSINE))

    @cached_property
    def affinity(self) -> Floats | None:
        """How far the strings entail each other, [strings, strings]."""
        return None if self.relations is None else affinity(self.relations[..., 0])

    @property
    def read(self) -> int:
        """How many of the samples have an answer."""
        return int((self.strings.of >= 0).sum())

    @cached_property
    def _equal(self) -> Ints:
        """The strings' classes of equal answers, [strings]."""
        return classes_of_keys(equal_answers(self.strings.texts, self.question))

    @property
    def _corners(self) -> Floats:
        return np.asarray(self._equal[:, None] == self._equal, np.float64)

    def _greedy(self, equal: npt.NDArray[np.bool_]) -> Ints:
        return self.strings.classes(greedy_classes(equal))


def sampled_questions(cell: Cell, answers: Answers, meanings: Meanings | None) -> tuple[SampledQuestion, ...]:
    """The questions of a cell with their samples, in the cell's order.

    A request that failed is no sample: nothing is known of what the model would have said.
    """
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(answers.asked).tolist():
        places.setdefault(cell.rows[place].question.id, []).append(place)
    return tuple(_sampled(cell, answers, own, meanings) for own in places.values())


def _sampled(cell: Cell, answers: Answers, own: Sequence[int], meanings: Meanings | None) -> SampledQuestion:
    rows = [cell.rows[place] for place in own]
    texts = [said(row.first, row.question, answers.readings[place]) for row, place in zip(rows, own, strict=True)]
    question = rows[0].question
    return SampledQuestion(
        cell.set,
        question,
        np.array(own, np.int64),
        np.array([row.paraphrase for row in rows], np.int64),
        different_strings(texts),
        classes_of_keys([row.first.text for row in rows]),
        np.array([mean_logprob(row)[0] for row in rows], np.float64),
        meanings,
    )


def mean_logprob(row: Row) -> tuple[float, str]:
    """The mean log-probability of the tokens of a row's answer, and why it is not known."""
    reply = row.replies.get(ANSWER)
    if reply is None or reply.logprobs is None:
        return float("nan"), NO_LOGPROBS
    if reply.reasoning and not reply.thought_tokens:  # they stand among those of the reply
        return float("nan"), THOUGHT
    own = reply.logprobs[reply.thought_tokens :]
    return (float(np.mean(own)), "ok") if own else (float("nan"), EMPTY)
