"""Replies one by one: question, reply with what was read off it, label probabilities, confidences, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.answers.reading import GIVEN
from calprobe.cells.asked import Asked, AskedCell, read_sets
from calprobe.confidence.asked.reply_table import Row
from calprobe.confidence.asked.sample_readings import reading_of, representatives
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.types import Confidence
from calprobe.errors import UsageError
from calprobe.measures.json_values import number_json
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.messages import no_such
from calprobe.questions.turning import turned
from calprobe.questions.types import Question
from calprobe.runs.replies import Reply
from calprobe.runs.stages import ANSWER, LABEL
from calprobe.studies.asked.frames import answer_text
from calprobe.studies.asked.overall import confidence_of, probabilities_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class ShownReply:
    """One reply with all that was read and computed of it. Of a failed request, its question and the reason."""

    set: str
    question: str  # id
    variant: str
    paraphrase: int
    sample: int
    group: str
    kind: str
    text: str  # of the question
    options: Mapping[str, str]  # label -> text; empty where answers are free
    gold: str  # the right answer: a label, a number, the best accepted text
    prompt: str  # as sent
    reply: str
    thought: str
    cut: bool  # ended at its budget
    answer: str | None  # as read; None: nothing was
    start: int  # of what was read, in characters of the reply; -1: not in it
    end: int
    reader: str
    rule: str  # of the reader that found the answer
    status: str  # why there is no answer, or what is odd about it: see `calprobe.answers.reading.STATUSES`
    correct: bool | None  # None of a failed request
    graded_by: str
    abstained: bool  # the reply says that the model does not know
    labels: Mapping[str, float]  # probability of each label among the labels, at the first position; empty: not asked
    confidences: Mapping[str, float]  # by estimator, those that are probabilities and could be read
    confidence: float  # by the estimator that orders replies; NaN: none
    tokens_out: int
    confident_in: str = ""  # the label that `confidence` is in, such as the most probable one; empty: an open answer
    error: str = ""  # why the request failed

    def to_json(self) -> dict[str, Any]:
        """The fields by name; NaN is None."""
        return {name: number_json(value) if isinstance(value, float) else value for name, value in asdict(self).items()}


OF_ESTIMATORS = ("confidences", "confidence", "confident_in")  # fields; a frame has a column an estimator instead


@dataclass(frozen=True, slots=True)
class ReplyChoice:
    """Which replies to show, and in which order."""

    keep: frozenset[str] = frozenset({"wrong"})  # of KINDS; a reply of any of these kinds is kept
    variants: tuple[str, ...] | None = None  # None: all
    sets: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    where: str = ""  # in question, reply or right answer, whatever the case
    surest: bool = True  # first; False: the least sure first
    top: int | None = 10  # None: all


# What a reply can be, by the name of its option.
KINDS: Mapping[str, Callable[[ShownReply], bool]] = {
    "right": lambda shown: shown.correct is True,
    "wrong": lambda shown: shown.correct is False,
    "unread": lambda shown: shown.correct is not None and shown.answer is None and shown.rule != GIVEN,
    "cut": lambda shown: shown.cut,
    "abstained": lambda shown: shown.abstained,
    "failed": lambda shown: shown.correct is None,
}


@dataclass(frozen=True, slots=True)
class ShownReplies:
    """The replies of a run that were asked for."""

    run: str
    of: int  # replies and failed requests of the run
    kept: int  # that fit the choice
    estimator: str | None
    choice: ReplyChoice
    replies: tuple[ShownReply, ...]
    others: Mapping[tuple[Any, ...], ShownReply] = field(default_factory=dict)  # of the other run, by `place_of`

    def to_json(self) -> dict[str, Any]:
        """What `calprobe show --json` prints of an asked run."""
        replies = [shown.to_json() for shown in self.replies]
        for shown, entry in zip(self.replies, replies, strict=True):
            if self.others:
                entry["other"] = self.others[place_of(shown)].to_json()
        return {"run": self.run, "of": self.of, "kept": self.kept, "estimator": self.estimator, "replies": replies}


@dataclass(frozen=True, slots=True)
class RunReplies:
    """Every reply of a run, read."""

    run: str
    estimator: str | None  # that `confidence` is by; None: the run has no probability
    replies: tuple[ShownReply, ...]


def shown_replies(asked: Asked, options: ReportOptions = DEFAULT_OPTIONS, estimator: str | None = None) -> RunReplies:
    """Every reply of a run, in the order of its sets, variants and questions; failed requests at the end.

    Args:
        asked: the run.
        options: how replies are read.
        estimator: that `confidence` is by; None: the one that stands for the run.
    Raises:
        UsageError: an estimator that no cell has.
    """
    cells = [cell for read_set in read_sets(asked, options) for cell in read_set.cells.values()]
    names = probabilities_of(cells)
    if estimator is not None and estimator not in names:
        raise UsageError(f"--estimator: {no_such(estimator, names)}")
    chosen = estimator or confidence_of(cells)
    shown = [reply for cell in cells for reply in _of_cell(cell, chosen)]
    questions = {(of.name, question.id): question for of in asked.sets for question in of.questions}
    failed = [reply for reply in asked.replies if reply.finish == "error" and reply.stage in (ANSWER, LABEL)]
    answered = {place_of(reply) for reply in shown}
    lost = [
        replace(
            _asked(reply, turned(questions[reply.set, reply.question], asked.turns.get(reply.variant, 0))), cut=False
        )
        for reply in failed
    ]
    missing = (reply for reply in lost if place_of(reply) not in answered)
    return RunReplies(asked.label, chosen, (*shown, *missing))


def choose_replies(every: RunReplies, choice: ReplyChoice, other: RunReplies | None = None) -> ShownReplies:
    """The replies of a run that a choice keeps; with another run, those that one run has right and the other wrong.

    Raises UsageError for a variant, set or group that the run has not, and for runs without a question in common.
    """
    for option, wanted, of in (
        ("--variants", choice.variants, [reply.variant for reply in every.replies]),
        ("--sets", choice.sets, [reply.set for reply in every.replies]),
        ("--groups", choice.groups, [reply.group for reply in every.replies]),
    ):
        for name in wanted or ():
            if name not in of:
                raise UsageError(f"{option}: {no_such(name, filter(None, dict.fromkeys(of)), f'in {every.run}')}")
    kept = [reply for reply in every.replies if _fits(reply, choice)]
    others: dict[tuple[Any, ...], ShownReply] = {}
    if other is not None:
        others = {place_of(reply): reply for reply in other.replies}
        if not any(place_of(reply) in others for reply in every.replies):
            raise UsageError(f"--disagree: {every.run} and {other.run} have no question and variant in common")
        kept = [
            reply for reply in kept if place_of(reply) in others and others[place_of(reply)].correct != reply.correct
        ]
    sign = -1 if choice.surest else 1
    ordered = sorted(kept, key=lambda reply: math.inf if math.isnan(reply.confidence) else sign * reply.confidence)
    shown = tuple(ordered[: choice.top])
    return ShownReplies(every.run, len(every.replies), len(kept), every.estimator, choice, shown, others)


def place_of(shown: ShownReply) -> tuple[Any, ...]:
    """What a reply is to, for that of another run to be found."""
    return shown.set, shown.question, shown.variant, shown.paraphrase, shown.sample


def _fits(shown: ShownReply, choice: ReplyChoice) -> bool:
    wanted = choice.where.casefold()
    return (
        any(KINDS[kind](shown) for kind in choice.keep)
        and (choice.variants is None or shown.variant in choice.variants)
        and (choice.sets is None or shown.set in choice.sets)
        and (choice.groups is None or shown.group in choice.groups)
        and (not wanted or any(wanted in text.casefold() for text in (shown.text, shown.reply, shown.gold)))
    )


def _of_cell(cell: AskedCell, chosen: str | None) -> Iterator[ShownReply]:
    answers = next(iter(cell.answers.values()))
    found = {name: _at_replies(cell, name) for name in probabilities_of([cell])}
    values = {name: confidence.confidence.tolist() for name, confidence in found.items()}
    predictions = found[chosen].prediction.tolist() if chosen in found else None
    rows = zip(cell.table.rows, answers.readings, answers.grades, strict=True)
    for place, (row, reading, grade) in enumerate(rows):
        confidences = {name: of_rows[place] for name, of_rows in values.items() if not math.isnan(of_rows[place])}
        yield replace(
            _asked(row.first, row.question),
            answer=answer_text(reading),
            start=reading.start,
            end=reading.end,
            reader=answers.reader,
            rule=reading.rule,
            status=reading.status,
            correct=grade.correct,
            graded_by=grade.rule,
            abstained=grade.abstained,
            labels=_label_probabilities(row),
            confidences=confidences,
            confidence=confidences.get(chosen or "", math.nan),
            confident_in=_label_at(row.question, NO_PREDICTION if predictions is None else predictions[place]),
        )


def _at_replies(cell: AskedCell, name: str) -> Confidence:
    """An estimator's confidences, those in a most frequent answer at a reply that gives it."""
    confidence = cell.confidences[name]
    if reading_of(name) != "majority":
        return confidence
    places = representatives(cell.read)
    starts, given = list(places), list(places.values())
    values, predictions = np.full(len(cell.table), np.nan), np.full(len(cell.table), NO_PREDICTION)
    values[given], predictions[given] = confidence.confidence[starts], confidence.prediction[starts]
    return replace(confidence, confidence=values, prediction=predictions)


def _label_at(question: Question, place: int) -> str:
    return "" if place == NO_PREDICTION or not question.labels else question.labels[place]


def _asked(reply: Reply, question: Question) -> ShownReply:
    """What was asked and replied, before anything is read."""
    return ShownReply(
        set=reply.set,
        question=question.id,
        variant=reply.variant,
        paraphrase=reply.paraphrase,
        sample=reply.sample,
        group=question.group,
        kind=question.kind,
        text=question.text,
        options=question.shown_options,
        gold=question.gold,
        prompt=reply.prompt,
        reply=reply.text,
        thought=reply.reasoning or "",
        cut=reply.finish == "length" and reply.stage != LABEL,  # a label is one token
        answer=None,
        start=-1,
        end=-1,
        reader="",
        rule="",
        status="error",
        correct=None,
        graded_by="",
        abstained=False,
        labels={},
        confidences={},
        confidence=math.nan,
        tokens_out=reply.tokens_out,
        error=reply.error,
    )


def _label_probabilities(row: Row) -> dict[str, float]:
    """Each label's share of the mass of all labels at the first position; empty where it was not asked for."""
    reply = row.replies.get(LABEL) or row.replies.get(ANSWER)
    scores = None if reply is None or not reply.begins_with_labels else reply.label_scores
    if scores is None or not row.question.labels or tuple(scores.labels) != row.question.labels:
        return {}
    mass = np.exp(scores.logprobs[0] - np.max(scores.logprobs[0]))
    return dict(zip(scores.labels, (mass / mass.sum()).tolist(), strict=True))


def replies_frame(asked: Asked, options: ReportOptions) -> pd.DataFrame:
    """A row for each reply and failed request: the fields of `ShownReply`, a column `confidence_NAME` an estimator."""
    import pandas as pd

    names = [column.name for column in fields(ShownReply) if column.name not in OF_ESTIMATORS]
    rows = [
        {name: getattr(shown, name) for name in names}
        | {f"confidence_{name}": value for name, value in shown.confidences.items()}
        for shown in shown_replies(asked, options).replies
    ]
    frame = pd.DataFrame(rows, columns=list(dict.fromkeys([*names, *(name for row in rows for name in row)])))
    return frame.astype({"answer": "string", "correct": "boolean"})
