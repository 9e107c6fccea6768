"""Scores as a way of answering facts: the ranking of all candidates, and that of the options that a question offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.cell import Units
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE, Confidence, Distributions, base_confidence
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.estimators import SHARED
from calprobe.interop.answer_texts import AnswerTexts, texts_if_known
from calprobe.questions.facts import reads_as
from calprobe.questions.types import Question
from calprobe.runs import ScoreTable
from calprobe.studies.four_ways.shared_facts import Fact, Holding, Key
from calprobe.studies.four_ways.ways import Way

ANOTHER_ANSWER, ANOTHER_OPTIONS = "another right answer", "options that are no candidates"


@dataclass(frozen=True)
class Ranked:
    """A run of scores, with the texts of its candidates where they are known."""

    run: ScoredRun
    texts: AnswerTexts

    @classmethod
    def of(cls, run: ScoredRun) -> Ranked:
        """The run, with its texts."""
        folder = None if run.recorded is None else run.recorded.path
        return cls(run, texts_if_known(run.manifest, folder))

    @property
    def places(self) -> Mapping[Key, int]:
        """The place of each fact among the run's instances."""
        return self.run.instances.places

    def holding(self) -> Holding:
        """The facts that are scored."""
        return Holding(self.run.label, frozenset(self.places), {}, "not scored")

    def candidates(self, key: Key) -> list[str] | None:
        """The texts of a fact's candidates; None where they are not known."""
        if not self.texts.known:
            return None
        width = int(self.run.widths[self.places[key]])
        labels = [self.texts.label(*key, place) for place in range(width)]
        return [text for text in labels if text is not None]

    def fact(self, key: Key) -> Fact:
        """The fact with its texts."""
        answer = int(self.run.table.answer_idx[self.places[key]])
        return Fact(*key, self.texts.subject(*key), self.texts.label(*key, answer))

    def differing(self, questions: Mapping[Key, Question]) -> dict[Key, str]:
        """Questions that are not about the run's fact of that name, with the reason: another right answer, options."""
        if not self.texts.known:
            return {}
        reasons = {}
        for key, question in questions.items():
            if key in self.places and (reason := self._fault(key, question)):
                reasons[key] = reason
        return reasons

    def _fault(self, key: Key, question: Question) -> str:
        answer = self.fact(key).answer
        if question.answer is None:
            right = answer is None or reads_as(answer) in map(reads_as, question.accepted)
            return "" if right else ANOTHER_ANSWER
        if not all(question.options):
            return ""
        if answer is None or reads_as(answer) != reads_as(question.options[question.answer]):
            return ANOTHER_ANSWER
        return ANOTHER_OPTIONS if self._columns(key, question) is None else ""

    def _columns(self, key: Key, question: Question) -> list[int] | None:
        return columns_of(question, self.candidates(key) or [], int(self.run.table.answer_idx[self.places[key]]))

    def knows(self, questions: Iterable[Question]) -> bool:
        """Whether the options of questions can be told from their texts, and the candidates."""
        return self.texts.known and all(all(question.options) for question in questions)

    def way(self, facts: Units, names: Sequence[str]) -> Way:
        """The ranking of all candidates. The first of the names gives the answers."""
        places = np.array([self.places[key] for key in facts.places], np.int64)
        confidences = {name: self.run.confidence(name).at(places) for name in names}
        return self._made(confidences, replace(facts, n_options=self.run.widths[places]))

    def way_among(self, facts: Units, names: Sequence[str], offered: Offered) -> Way:
        """The ranking of the options alone: the same scores, their softmax over these.

        An estimator of candidates that all facts of a relation share has its probabilities from all of these.
        """
        keys = list(facts.places)
        table = self._among(keys, offered.questions, self.run.table.scores)
        distributions = Distributions.from_table(table, self.run.closed_set.ties)
        confidences = {
            name: estimator(distributions)
            if SHARED not in (estimator := self.run.estimators[name]).needs
            else self._of_shared(name, keys, offered.questions)
            for name in names
        }
        widths = np.array([len(offered.questions[key].options) for key in keys], np.int64)
        return self._made(confidences, replace(facts, n_options=widths), offered)

    def _of_shared(self, name: str, keys: Sequence[Key], questions: Mapping[Key, Question]) -> Confidence:
        """The options' shares of what an estimator of all candidates gives them."""
        probabilities = self.run.confidence(name).probabilities
        if probabilities is None:
            raise ValueError(f"{name}: has no distribution over the candidates")
        with np.errstate(divide="ignore"):
            table = self._among(keys, questions, np.log(probabilities)[None])
        return base_confidence(Distributions.from_table(table, self.run.closed_set.ties))

    def _among(self, keys: Sequence[Key], questions: Mapping[Key, Question], scores: Floats) -> ScoreTable:
        """A table of the options alone, of scores [rows, candidates]."""
        table = self.run.table
        columns, answers = [], []
        for key in keys:
            place, question = self.places[key], questions[key]
            candidates = self._columns(key, question)
            if candidates is None or question.answer is None:  # such a question is not among the facts, see `differing`
                raise ValueError(f"{question.id}: options that are no candidates")
            columns.append(np.array(candidates, np.int64) + table.offsets[place])
            answers.append(question.answer)
        widths = [len(candidates) for candidates in columns]
        at = [self.places[key] for key in keys]
        return ScoreTable(
            scores=scores[:, np.concatenate(columns)],
            offsets=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
            answer_idx=np.array(answers, np.int64),
            relation=table.relation[at],
            instance=table.instance[at],
            templates=table.templates[: len(scores)],
            own_candidates=frozenset(relation for relation, _ in keys),
        )

    def _made(self, confidences: Mapping[str, Confidence], facts: Units, offered: Offered | None = None) -> Way:
        by, first = next(iter(confidences.items()))
        estimators = {name: self.run.estimators[name] for name in confidences}
        answers = zip(facts.places, first.prediction.tolist(), strict=True)
        return Way(
            kind="ranking" if offered is None else "ranking of options",
            cell=replace(self.run.cell, units=facts, estimators=estimators, confidences=confidences),
            by=by,
            said=tuple(self._said(key, place, offered) for key, place in answers),
            place=first.prediction,
            correct=first.correct,
            of="" if offered is None else offered.of,
        )

    def _said(self, key: Key, place: int, offered: Offered | None) -> str | None:
        if place == NO_PREDICTION:
            return None
        return self.texts.label(*key, place) if offered is None else offered.questions[key].options[place]

    @property
    def usual(self) -> tuple[str, ...]:
        """The confidence that is shown where none is named."""
        return (BASE,) if BASE in self.run.estimators else tuple(self.run.estimators)[:1]


@dataclass(frozen=True, slots=True)
class Offered:
    """The options of a way that chooses."""

    of: str  # its letter
    questions: Mapping[Key, Question] = field(repr=False)


def columns_of(question: Question, candidates: Sequence[str], answer: int) -> list[int] | None:
    """The candidate that each option of a question is; None where one is none, or two are the same.

    Case and white space do not tell them apart, as with the right answer, unless a candidate is the option to the
    letter. The right option is the right candidate, whatever other candidate reads the same.
    """
    places: dict[str, int] = {}
    for form in (str, reads_as):
        for place, text in enumerate(candidates):
            places.setdefault(form(text), place)
    columns = [
        answer if place == question.answer else places.get(option, places.get(reads_as(option), -1))
        for place, option in enumerate(question.options)
    ]
    return columns if min(columns) >= 0 and len(set(columns)) == len(columns) else None
