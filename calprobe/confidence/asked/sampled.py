"""The samples of each question in a cell: what they say, which say the same, how alike they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from calprobe.answers.equal_answers import equal_answers, said
from calprobe.arrays import Floats, Ints
from calprobe.confidence.asked.readings import Answers
from calprobe.confidence.asked.reply_table import ANSWER, ReplyTable, Row
from calprobe.confidence.samples import (
    Strings,
    affinity,
    both_entail,
    classes_of_keys,
    close,
    different_strings,
    greedy_classes,
    most_frequent,
    no_contradiction,
    rouge_matrix,
    semantic_kernel,
)
from calprobe.confidence.samples.spectral import Spectrum
from calprobe.confidence.tie_breaking import draw_name
from calprobe.confidence.types import OK
from calprobe.questions.types import Question

NO_LOGPROBS, EMPTY, THOUGHT = "no log-probabilities", "empty reply", "tokens of a thought among those of the reply"
SAME_COSINE = 0.9  # of sentence embeddings, from which on two answers mean the same


class Meanings(Protocol):
    """What models have said of the meaning of a run's answers."""

    @property
    def has_relations(self) -> bool:
        """Whether any pair of answers was judged."""

    @property
    def has_contradictions(self) -> bool:
        """Whether pairs that contradict each other are told from others."""

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
    totals: Floats  # [samples], their sum
    meanings: Meanings | None
    # Of samples that were drawn from those of a question: these, whose matrices theirs are parts of.
    drawn_from: SampledQuestion | None = None

    def at(self, samples: Sequence[int], rows: Sequence[int]) -> SampledQuestion:
        """Some of the samples, in that order, as they stand in these rows of another cell."""
        places = list(samples)
        texts = [None if place < 0 else self.strings.texts[place] for place in self.strings.of[places].tolist()]
        return replace(
            self,
            rows=np.array(rows, np.int64),
            wordings=self.wordings[places],
            strings=different_strings(texts),
            replies=self.replies[places],
            logprobs=self.logprobs[places],
            totals=self.totals[places],
            drawn_from=self,
        )

    def beside(self, answer: str | None, row: int, logprobs: tuple[float, float]) -> SampledQuestion:
        """With a greedy answer behind the samples, which stands in the row of one of them.

        `logprobs` are the mean and the sum of its tokens' log-probabilities.
        """
        texts = [None if place < 0 else self.strings.texts[place] for place in self.strings.of.tolist()]
        mean, total = logprobs
        return replace(
            self,
            rows=np.append(self.rows, row),
            wordings=np.append(self.wordings, self.wordings[self.rows == row][:1]),
            strings=different_strings([*texts, answer]),
            replies=np.append(self.replies, -1),
            logprobs=np.append(self.logprobs, mean),
            totals=np.append(self.totals, total),
            drawn_from=None,
        )

    @cached_property
    def classes(self) -> Ints:
        """Equal answers, [samples]: the same label, number, or text but for case, articles and punctuation; -1: none.

        Classes are numbered from the one with the most frequent string on, so that 0 need not be the largest.
        """
        return self.strings.classes(self._equal)

    @cached_property
    def majority(self) -> int:
        """The class of the most frequent answer, of several one that is drawn; -1 where no sample has an answer.

        The draw goes by the question and the answers' texts, so that it prefers no label, word or place.
        """
        tied = most_frequent(self.classes).tolist()
        if len(tied) < 2:
            return tied[0] if tied else -1
        texts = [min(self.strings.texts[place] for place in set(self.exact[self.classes == number])) for number in tied]
        return int(tied[draw_name(texts, self.set, self.question.id)])

    @property
    def is_tied(self) -> bool:
        """Whether several answers are the most frequent."""
        return len(most_frequent(self.classes)) > 1

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
        if self.drawn_from is not None and self.drawn_from.relations is not None:
            return self.drawn_from.relations[self._among]
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

    @cached_property
    def kernel(self) -> Floats | None:
        """How near the strings are to each other by what was judged, [strings, strings]; see `semantic_kernel`."""
        return None if self.relations is None else semantic_kernel(self.relations)

    @cached_property
    def spectrum(self) -> Spectrum | None:
        """The Laplacian of all samples."""
        if self.affinity is None:
            return None
        return Spectrum.of(self.strings.with_unread(self.affinity), self.strings.copies)

    @cached_property
    def common_words(self) -> Floats:
        """ROUGE-L of each pair of strings, [strings, strings]."""
        if self.drawn_from is not None:
            return self.drawn_from.common_words[self._among]
        return rouge_matrix(self.strings.texts)

    @property
    def read(self) -> int:
        """How many of the samples have an answer."""
        return int((self.strings.of >= 0).sum())

    @property
    def _among(self) -> tuple[Ints, ...]:
        """The strings among those of the samples that these were drawn from, as an index of matrices."""
        assert self.drawn_from is not None
        place = {text: at for at, text in enumerate(self.drawn_from.strings.texts)}
        places = [place[text] for text in self.strings.texts]
        return np.ix_(places, places)

    @cached_property
    def _equal(self) -> Ints:
        """The strings' classes of equal answers, [strings]."""
        return classes_of_keys(equal_answers(self.strings.texts, self.question))

    @property
    def _corners(self) -> Floats:
        return np.asarray(self._equal[:, None] == self._equal, np.float64)

    def _greedy(self, equal: npt.NDArray[np.bool_]) -> Ints:
        return self.strings.classes(greedy_classes(equal))


def sampled_questions(table: ReplyTable, answers: Answers, meanings: Meanings | None) -> tuple[SampledQuestion, ...]:
    """The questions of a cell with their samples, in the cell's order.

    A request that failed is no sample: nothing is known of what the model would have said.
    """
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(answers.asked).tolist():
        places.setdefault(table.rows[place].question.id, []).append(place)
    return tuple(_sampled(table, answers, members, meanings) for members in places.values())


def _sampled(table: ReplyTable, answers: Answers, places: Sequence[int], meanings: Meanings | None) -> SampledQuestion:
    rows = [table.rows[place] for place in places]
    texts = [said(row.first, row.question, answers.readings[place]) for row, place in zip(rows, places, strict=True)]
    question = rows[0].question
    return SampledQuestion(
        table.set,
        question,
        np.array(places, np.int64),
        np.array([row.paraphrase for row in rows], np.int64),
        different_strings(texts),
        classes_of_keys([row.first.text for row in rows]),
        np.array([mean_logprob(row)[0] for row in rows], np.float64),
        np.array([sum_logprob(row)[0] for row in rows], np.float64),
        meanings,
    )


def mean_logprob(row: Row, stage: str = ANSWER) -> tuple[float, str]:
    """The mean log-probability of the tokens of a row's answer, and why it is not known."""
    logprobs, why = _logprobs(row, stage)
    return (float(np.mean(logprobs)) if logprobs else float("nan")), why


def sum_logprob(row: Row, stage: str = ANSWER) -> tuple[float, str]:
    """The log-probability of a row's answer, the sum over its tokens, and why it is not known."""
    logprobs, why = _logprobs(row, stage)
    return (float(np.sum(logprobs)) if logprobs else float("nan")), why


def _logprobs(row: Row, stage: str) -> tuple[tuple[float, ...], str]:
    """Those of the tokens of a reply; none, with the reason, where they are not known."""
    reply = row.replies.get(stage)
    if reply is None or reply.logprobs is None:
        return (), NO_LOGPROBS
    if reply.reasoning and not reply.thought_tokens:  # they stand among those of the reply
        return (), THOUGHT
    logprobs = reply.logprobs[reply.thought_tokens :]
    return logprobs, OK if logprobs else EMPTY
