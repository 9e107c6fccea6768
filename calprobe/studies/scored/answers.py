"""Answers one by one: what the model was asked, what it answered, how sure it was, and what each template answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calprobe.arrays import Floats, Ints, Mask
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE
from calprobe.confidence.types import paraphrase_rows
from calprobe.errors import UsageError
from calprobe.interop.answer_texts import AnswerTexts
from calprobe.measures.chosen import known_estimators
from calprobe.measures.json_values import number_json
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.messages import did_you_mean
from calprobe.show.prose import unfinished

CONFIDENT = 0.5
COLUMNS = ("relation", "instance", "subject", "answer", "predicted", "statement", "correct", "confidence")


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """Which answers to show. Raises UsageError for an estimator together with a template."""

    wrong: bool = True
    right: bool = False
    surest: bool = True  # first; False: the least sure first
    relations: tuple[str, ...] | None = None  # None: all
    estimator: str | None = None  # that gives answers and confidences; None: base, else the first that the run has
    template: int | None = None  # the answers of this template, with its base; None: those of the estimator
    top: int | None = 10  # None: all
    scores: ReportOptions = field(default_factory=lambda: DEFAULT_OPTIONS)

    def __post_init__(self) -> None:
        if self.estimator is not None and self.template is not None:
            raise UsageError("--template shows the base of one template; leave out --template or --estimator")


@dataclass(frozen=True, slots=True)
class TemplateAnswer:
    """What one template answers. Its confidence is base, the probability of the answer among the candidates."""

    template: int
    place: int  # of the answer; -1 if a score failed
    label: str | None  # None without labels or without an answer
    confidence: float  # NaN if a score failed
    agrees: bool  # with the answer that is shown
    correct: bool


@dataclass(frozen=True, slots=True)
class EstimatorAnswer:
    """What one estimator answers. Estimators over several templates may answer differently from base."""

    place: int  # of the answer; -1 if it has none
    label: str | None  # None without labels or without an answer
    confidence: float  # 0 without an answer


@dataclass(frozen=True, slots=True)
class Answer:
    """One instance and its answer. Texts are None where labels are not known."""

    relation: str
    instance: int  # line number in the relation's file, from 0
    subject: str | None
    answer: str | None  # the right one
    answer_idx: int  # its place
    predicted: str | None  # None without labels or without an answer
    place: int  # of the predicted one; -1 without an answer
    statement: str | None  # as scored, with the predicted answer
    template: int | None  # of the statement
    correct: bool
    confidence: float  # of the estimator or template by which answers are sorted; 0 without an answer
    estimators: Mapping[str, EstimatorAnswer]  # by name
    templates: tuple[TemplateAnswer, ...]

    def record(self) -> dict[str, Any]:
        """A row of `calprobe.answers`: COLUMNS, each estimator's confidence, each template's answer and confidence."""
        row = {name: getattr(self, name) for name in COLUMNS}
        row |= {name: answer.confidence for name, answer in self.estimators.items()}
        for by in self.templates:
            row |= {f"predicted_{by.template}": by.label, f"confidence_{by.template}": by.confidence}
        return row

    def to_json(self) -> dict[str, Any]:
        """The object of one answer in `calprobe show --json`."""
        return {
            "relation": self.relation,
            "instance": self.instance,
            "subject": self.subject,
            "answer": self.answer,
            "answer_idx": self.answer_idx,
            "predicted": self.predicted,
            "prediction": self.place,
            "statement": self.statement,
            "statement_template": self.template,
            "correct": self.correct,
            "confidence": self.confidence,
            "estimators": {
                name: {"predicted": answer.label, "prediction": answer.place, "confidence": answer.confidence}
                for name, answer in self.estimators.items()
            },
            "templates": [
                {
                    "template": answer.template,
                    "predicted": answer.label,
                    "prediction": answer.place,
                    "confidence": number_json(answer.confidence),
                    "agrees": answer.agrees,
                    "correct": answer.correct,
                }
                for answer in self.templates
            ],
        }


@dataclass(frozen=True, slots=True)
class Wordings:
    """What the run's paraphrases change about the selected answers."""

    templates: tuple[int, ...]  # two or more
    same: int  # answers that all of them give
    right_elsewhere: int  # answers that are wrong, and right under at least one of them


@dataclass(frozen=True, slots=True)
class Shown:
    """Answers of a run, sorted by confidence."""

    run: str  # label
    model: str
    probe: str
    by: str  # base of template 0, or the estimator by which answers are sorted
    options: ShowOptions
    unfinished: str  # how the run goes on if scores are missing, a clause; else empty
    instances: int  # of the run's complete relations, or of those asked for
    selected: int  # right, wrong or both, as asked for
    unanswered: int  # of them, counted as wrong: no answer has most votes, or a score failed
    confident: int  # selected answers with a confidence above CONFIDENT
    wordings: Wordings | None  # None with fewer than two paraphrases
    answers: tuple[Answer, ...]  # the first of the selected ones

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe show --json`. NaN is None."""
        wordings = self.wordings
        return {
            "run": self.run,
            "model": self.model,
            "probe": self.probe,
            "by": self.by,
            "instances": self.instances,
            "selected": self.selected,
            "no_answer": self.unanswered,
            "confident": self.confident,
            "paraphrases": None
            if wordings is None
            else {
                "templates": list(wordings.templates),
                "same_answer": wordings.same,
                "right_in_another": wordings.right_elsewhere,
            },
            "answers": [answer.to_json() for answer in self.answers],
        }


def show_answers(run: ScoredRun, texts: AnswerTexts, options: ShowOptions) -> Shown:
    """The answers that the options select, the surest first.

    Ties are in the order of relation and line number. Raises UsageError for an estimator, a template or a relation that
    the run does not have.
    """
    judged = _Judged.of(run, options)
    kept = _of_relations(run, options)
    selected = kept & ((judged.correct & options.right) | (~judged.correct & options.wrong))
    order = np.argsort(-judged.confidence if options.surest else judged.confidence, kind="stable")
    chosen = order[selected[order]]
    return Shown(
        run=run.label,
        model=run.model,
        probe=run.manifest.probe.name,
        by=judged.name,
        options=options,
        unfinished=unfinished(run.facts),
        instances=int(kept.sum()),
        selected=len(chosen),
        unanswered=int((judged.prediction[chosen] < 0).sum()),
        confident=int((judged.confidence[selected] > CONFIDENT).sum()),
        wordings=_wordings(run, judged, selected),
        answers=tuple(_answers(run, texts, judged, chosen[: options.top])),
    )


def every_answer(run: ScoredRun, texts: AnswerTexts, options: ShowOptions) -> Iterator[Answer]:
    """All answers, right and wrong, in the order of relation and line number. Raises as `show_answers`."""
    judged = _Judged.of(run, options)
    order = np.lexsort((run.instances.id, run.instances.group))
    return _answers(run, texts, judged, order[_of_relations(run, options)[order]])


@dataclass(frozen=True, slots=True)
class _Judged:
    """Answers and confidences of every instance, of an estimator or of one template."""

    name: str
    rows: tuple[int, ...]  # of the templates that they are from
    prediction: Ints  # [instances]
    confidence: Floats  # [instances]
    correct: Mask

    @classmethod
    def of(cls, run: ScoredRun, options: ShowOptions) -> _Judged:
        numbers = [template.number for template in run.answered.templates]
        if options.template is not None:
            if options.template not in numbers:
                raise UsageError(f"--template {options.template}: {run.label} has {', '.join(map(str, numbers))}")
            return cls._of_row(run, numbers.index(options.template))
        name = options.estimator or (BASE if BASE in run.estimators else next(iter(run.estimators), None))
        if name is None:  # markers alone would have estimators of their own
            return cls._of_row(run, 0)
        known_estimators(run.label, [name], run.estimators)
        confidence, read = run.confidence(name), run.estimators[name].templates
        title = f"{name} (template {read[0]})" if len(read) == 1 else name
        rows = tuple(map(numbers.index, read))
        return cls(title, rows, confidence.prediction, confidence.confidence, confidence.correct)

    @classmethod
    def _of_row(cls, run: ScoredRun, row: int) -> _Judged:
        answered = run.answered
        prediction, confidence = answered.prediction[row], np.nan_to_num(answered.confidence[row])
        name = f"base of template {answered.templates[row].number}"
        return cls(name, (row,), prediction, confidence, prediction == answered.answer_idx)


def _of_relations(run: ScoredRun, options: ShowOptions) -> Mask:
    """The instances of the relations that are asked for."""
    relation = run.instances.group
    if options.relations is None:
        return np.ones(len(relation), np.bool_)
    if unknown := [name for name in options.relations if name not in run.relations]:
        few = ", ".join(sorted(run.relations)[:8]) + (", .." if len(run.relations) > 8 else "")
        meant = did_you_mean(unknown[0], run.relations) or f"; it has {few}"
        raise UsageError(f"--relations: {run.label} has no {unknown[0]}{meant}")
    return np.isin(relation, options.relations)


def _wordings(run: ScoredRun, judged: _Judged, selected: Mask) -> Wordings | None:
    answered = run.answered
    rows = list(paraphrase_rows(answered.templates))
    if not rows:
        return None
    predictions = answered.prediction[rows][:, selected]
    right = (predictions == answered.answer_idx[selected]).any(axis=0) & ~judged.correct[selected]
    same = (predictions == judged.prediction[selected]).all(axis=0)
    return Wordings(tuple(answered.templates[row].number for row in rows), int(same.sum()), int(right.sum()))


def _answers(run: ScoredRun, texts: AnswerTexts, judged: _Judged, places: Ints) -> Iterator[Answer]:
    answered, confidences = run.answered, run.confidences()
    for at in places.tolist():
        relation, instance = str(run.instances.group[at]), int(run.instances.id[at])
        place, answer = int(judged.prediction[at]), int(answered.answer_idx[at])
        # The statement under the first template that gives the answer.
        row = next((row for row in judged.rows if answered.prediction[row, at] == place), judged.rows[0])
        number = answered.templates[row].number
        yield Answer(
            relation=relation,
            instance=instance,
            subject=texts.subject(relation, instance),
            answer=texts.label(relation, instance, answer),
            answer_idx=answer,
            predicted=texts.label(relation, instance, place),
            place=place,
            statement=texts.statement(relation, instance, place, number),
            template=None if place < 0 else number,
            correct=bool(judged.correct[at]),
            confidence=float(judged.confidence[at]),
            estimators={
                name: EstimatorAnswer(
                    prediction := int(confidence.prediction[at]),
                    texts.label(relation, instance, prediction),
                    float(confidence.confidence[at]),
                )
                for name, confidence in confidences.items()
            },
            templates=tuple(
                TemplateAnswer(
                    template=template.number,
                    place=int(template_place),
                    label=texts.label(relation, instance, int(template_place)),
                    confidence=float(sure),
                    agrees=bool(template_place == place),
                    correct=bool(template_place == answer),
                )
                for template, template_place, sure in zip(
                    answered.templates, answered.prediction[:, at], answered.confidence[:, at], strict=True
                )
            ),
        )
