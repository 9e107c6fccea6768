"""Replies as a way of answering facts: one answer a fact, and the confidences in it.

Of several samples of a question, the answer is the most frequent one, and a confidence is the mean over the samples
that give it, as in the reading `.majority` of estimators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calprobe.arrays import Ints, Mask
from calprobe.cells.asked import Asked, AskedCell, ReadSet, format_changes
from calprobe.cells.cell import Cell, Units
from calprobe.confidence import Confidence
from calprobe.confidence.asked import Answers
from calprobe.confidence.asked.sample_readings import GREEDY_READING, MAJORITY, of_majority, representative
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.estimator import Estimator
from calprobe.messages import shortened
from calprobe.questions.facts import fact_of
from calprobe.questions.types import Question
from calprobe.studies.asked.overall import ANSWER, LABELS
from calprobe.studies.four_ways.shared_facts import Holding, Key
from calprobe.studies.four_ways.ways import Way

SHOWN = ("label", "p_true", "frequency", "answer_entropy", "semantic_entropy")  # and all that is stated, unless named
LONGEST = 60  # characters of an answer


@dataclass(frozen=True)
class Replies:
    """A set of facts under one variant, with the place of each fact's answer among the rows."""

    run: Asked
    found: ReadSet
    variant: str
    several: bool  # whether the run has other variants or sets with facts

    @property
    def opened(self) -> AskedCell:
        """The cell."""
        return self.found.cells[self.variant]

    @property
    def answers(self) -> Answers:
        """Under the reader that confidences go by."""
        return self.opened.read.answers

    @property
    def label(self) -> str:
        """The run, with the variant where there are several."""
        return f"{self.run.label}, {self.variant}" if self.several else self.run.label

    @property
    def sampled(self) -> bool:
        """Whether facts have several answers."""
        return self.opened.units.clusters is not None

    def questions(self) -> dict[Key, Question]:
        """The questions that have a row."""
        questions = ((fact_of(row.question.id), row.question) for row in self.opened.table.rows)
        return {key: question for key, question in questions if key is not None}

    def holding(self, differing: Mapping[Key, str]) -> Holding:
        """The facts with an answer to read; `differing` are not the same fact in a scored run, by the reason."""
        ids = {question.id for question in next(s for s in self.run.sets if s.name == self.found.name).questions}
        keys = {key for name in ids if (key := fact_of(name)) is not None}
        answered = frozenset(self.rows(self.answers)) - differing.keys()
        why = {key: differing.get(key, "no reply") for key in keys - answered}
        return Holding(self.label, answered, why, "not asked")

    def rows(self, answers: Answers) -> dict[Key, int]:
        """The row of each fact's answer under a reader; of an unread most frequent one, that of the first sample."""
        rows = self.opened.table.rows
        if not self.sampled:
            places = np.flatnonzero(answers.asked).tolist()
        else:
            read = replace(self.opened.read, answers=answers, drawn=None)
            chosen = ((samples, representative(samples)) for samples in read.samples)
            places = [int(samples.rows[0]) if place is None else place for samples, place in chosen]
        return {key: at for at in places if (key := fact_of(rows[at].question.id)) is not None}

    @cached_property
    def estimators(self) -> dict[str, Estimator]:
        """By name, those with one confidence a fact: of samples the readings of the most frequent answer."""
        estimators = self.opened.estimators
        if not self.sampled:
            return dict(estimators)
        plain = {
            name: estimator for name, estimator in estimators.items() if not name.endswith((MAJORITY, GREEDY_READING))
        }
        return {name: estimators.get(f"{name}{MAJORITY}", estimator) for name, estimator in plain.items()}

    @property
    def usual(self) -> tuple[str, ...]:
        """The confidences that are shown where none are named; all where there are none of the usual ones.

        Where the variant asks for another form of reply, `label_answer` takes the place of `label`.
        """
        usual = {
            name for name, estimator in self.estimators.items() if estimator.group == "stated" and "." not in name
        } | {*SHOWN}
        if self.variant in format_changes(self.run, self.found.cells):
            usual = usual - {*LABELS} | {ANSWER}
        return tuple(name for name in self.estimators if name in usual) or tuple(self.estimators)

    def way(self, facts: Units, names: Sequence[str] | None) -> Way:
        """The answers to these facts, with the confidences of these names; None: the usual ones."""
        answers, keys = self.answers, list(facts.places)
        rows = self._places(answers, keys)
        is_choice = self.is_choice
        chosen = self.usual if names is None else [name for name in names if name in self.estimators]
        return Way(
            kind="choice" if is_choice else "open",
            cell=self._cell(replace(facts, n_options=self.opened.cell.units.n_options[rows]), rows, chosen),
            by=answers.reader,
            said=tuple(self._said(answers, at) for at in rows.tolist()),
            place=answers.prediction[rows] if is_choice else np.full(len(rows), NO_PREDICTION),
            correct=answers.correct[rows],
            readers={name: self._right(answers, keys) for name, answers in self.opened.answers.items()},
            sampled=self.sampled,
        )

    @property
    def is_choice(self) -> bool:
        """Whether every question has options."""
        return all(row.question.kind == "choice" for row in self.opened.table.rows)

    def _places(self, answers: Answers, keys: Sequence[Key]) -> Ints:
        rows = self.rows(answers)
        return np.array([rows[key] for key in keys], np.int64)

    def _right(self, answers: Answers, keys: Sequence[Key]) -> Mask:
        """Which facts are right by a reader; one that has no reply of a fact finds it wrong."""
        rows = self.rows(answers)
        return np.array([key in rows and bool(answers.correct[rows[key]]) for key in keys], np.bool_)

    def _said(self, answers: Answers, at: int) -> str | None:
        question, place = self.opened.table.rows[at].question, int(answers.prediction[at])
        if place != NO_PREDICTION:
            return question.options[place] or question.labels[place]
        value = answers.readings[at].value
        return None if value is None else shortened(f"{value:g}" if isinstance(value, float) else value, LONGEST)

    def _cell(self, facts: Units, rows: Ints, names: Sequence[str]) -> Cell:
        """The cell of the facts with these estimators."""
        places = rows
        if self.sampled:  # what is computed of all samples together stands at the first of them
            first: dict[str, int] = {}
            ids = [row.question.id for row in self.opened.table.rows]
            for at in np.flatnonzero(self.answers.asked).tolist():
                first.setdefault(ids[at], at)
            places = np.array([first[ids[at]] for at in rows.tolist()], np.int64)
        estimators = {name: replace(self.estimators[name], name=name) for name in names}
        confidences = {name: self._confidence(name).at(places) for name in names}
        return replace(self.opened.cell, units=facts, estimators=estimators, confidences=confidences)

    def _confidence(self, name: str) -> Confidence:
        opened, estimator = self.opened, self.estimators[name]
        if estimator.name in opened.confidences and (not self.sampled or estimator.name.endswith(MAJORITY)):
            return opened.confidences[estimator.name]
        return of_majority(estimator.compute)(opened.read)


def facts_asked(run: Asked, sets: Sequence[ReadSet]) -> tuple[list[tuple[ReadSet, str]], list[str]]:
    """The cells of a run that answer facts, and a clause for each set or variant that does not."""
    cells, left_out = [], []
    for read_set in sets:
        for variant, cell in read_set.cells.items():
            rows = cell.table.rows
            if not rows:
                left_out.append(f"{run.label}, {read_set.name}, {variant}: no replies")
            elif not any(fact_of(row.question.id) for row in rows):
                left_out.append(f"{run.label}, {read_set.name}, {variant}: no facts of a probe")
            elif cell.table.judges_options:
                left_out.append(f"{run.label}, {read_set.name}, {variant}: verdicts on options, not answers to facts")
            else:
                cells.append((read_set, variant))
    return cells, left_out
