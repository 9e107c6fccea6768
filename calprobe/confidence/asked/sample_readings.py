"""The readings of estimators of repeated samples: of each reply, and of all samples of a question.

A question's uncertainty is the same for all its samples, and which correctness it is paired with is a choice:

| reading | rows | correctness |
|---|---|---|
| pooled, without a name of its own | every sample | its own |
| `.majority` | one a question | of the most frequent answer |
| `.greedy` | one a question | of its greedy answer, where the run has it |

Of a family of variants, each of which has its own greedy answer, `.greedy` has a row for each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask
from calprobe.confidence.asked.label_masses import NO_ANSWER
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.asked.readings import greedy_answer
from calprobe.confidence.asked.reply_table import ANSWER, GREEDY, GREEDY_FINAL, Row
from calprobe.confidence.asked.sampled import SampledQuestion, mean_logprob, sum_logprob
from calprobe.confidence.asked.token_estimators import of_rows
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.estimator import Entry, Estimator
from calprobe.confidence.samples import frequencies
from calprobe.confidence.types import NOT_ASKED, NOT_JUDGED, OK, REQUEST, Confidence

Compute = Callable[[Read], Confidence]
Reading = tuple[str, str, Callable[[Compute], Compute]]  # what ends its name and its definition
# Of a question's samples, the place of one, its row and the stage of its reply: a number, and why it is not known.
OfAnswer = Callable[[SampledQuestion, int, Row, str], tuple[float, str]]
MAJORITY, GREEDY_READING = ".majority", ".greedy"
READINGS = ("", MAJORITY, GREEDY_READING)


def frequency(read: Read) -> Confidence:
    """The share of the samples that give the same answer, each sample with its own correctness."""
    return _frequency(read, lambda question: question.classes)


def exact_frequency(read: Read) -> Confidence:
    """The share of the samples that give the same string."""
    return _frequency(read, lambda question: question.exact)


def _frequency(read: Read, of: Callable[[SampledQuestion], Ints]) -> Confidence:
    values = np.full(len(read.table), np.nan)
    for question in read.samples:
        classes = of(question)
        values[question.rows] = np.where(classes >= 0, frequencies(classes, len(classes)), np.nan)
    return of_rows(read, values, [OK if value == value else NO_ANSWER for value in values.tolist()])


def pooled(measure: Callable[[SampledQuestion], float]) -> Compute:
    """A question's uncertainty, of each of its samples."""

    def compute(read: Read) -> Confidence:
        values, status = np.full(len(read.table), np.nan), [OK] * len(read.table)
        for question in read.samples:
            values[question.rows] = value = measure(question) if question.read else np.nan
            for place in question.rows.tolist() if np.isnan(value) else ():
                status[place] = NOT_JUDGED if question.read else NO_ANSWER
        return of_rows(read, values, status)

    return compute


def of_answers(measure: OfAnswer) -> Compute:
    """What is measured of each sample beside the others of its question."""

    def compute(read: Read) -> Confidence:
        values, status = np.full(len(read.table), np.nan), [NO_ANSWER] * len(read.table)
        for question in read.samples:
            for at, place in enumerate(question.rows.tolist()):
                values[place], status[place] = measure(question, at, read.table.rows[place], ANSWER)
        return of_rows(read, values, status)

    return compute


def of_greedy_answers(measure: OfAnswer) -> Compute:
    """What is measured of a greedy answer beside all samples of its question, with its own correctness."""

    def reading(read: Read) -> Confidence:
        rows = _Rows.of(read)
        for question in read.samples:
            for place in question.rows.tolist():
                row, right = read.table.rows[place], read.greedy_is_right[place]
                if right is not None:
                    answer = greedy_answer(row, read.answers.reader)
                    logprobs = mean_logprob(row, GREEDY)[0], sum_logprob(row, GREEDY)[0]
                    value, why = measure(question.beside(answer, place, logprobs), len(question.rows), row, GREEDY)
                    rows.values[place], rows.correct[place] = value, right
                    rows.status[place] = why
                elif any(stage in row.failed for stage in (GREEDY, GREEDY_FINAL)):
                    rows.status[place] = REQUEST
        return rows.confidence()

    return reading


def of_majority(compute: Compute) -> Compute:
    """The mean over the samples with the most frequent answer, with that answer's correctness: one row a question.

    It stands at the question's first sample, so that questions of two runs can be paired.
    """

    def reading(read: Read) -> Confidence:
        estimate, rows = read.once(compute), _Rows.of(read)
        for question in read.samples:
            start, place = int(question.rows[0]), representative(question)
            if place is None:
                rows.status[start] = NO_ANSWER
                continue
            members = question.rows[question.classes == question.majority]
            measured = members[~np.isnan(estimate.confidence[members])]
            rows.prediction[start], rows.correct[start] = estimate.prediction[place], estimate.correct[place]
            rows.status[start] = OK if len(measured) else str(estimate.status[place])
            rows.values[start] = _mean(estimate.confidence[measured])
        return rows.confidence()

    return reading


def _mean(values: Floats) -> float:
    """The mean; exactly the value where all are the same, and NaN of none."""
    if not len(values):
        return float("nan")
    return float(values[0] if (values == values[0]).all() else values.mean())


def reading_of(estimator: str) -> str:
    """What an estimator speaks of, by its name: "majority", the most frequent answer; "greedy"; or each of "answers".

    >>> reading_of("frequency.majority.isotonic")
    'majority'
    """
    return next((name[1:] for name in (MAJORITY, GREEDY_READING) if f"{name}." in f"{estimator}."), "answers")


def correct_of(read: Read, reading: str) -> Mask:
    """Whether what estimators of a reading speak of is right, [rows]; False where they say nothing."""
    if reading == "answers":
        return read.answers.correct
    if reading == "greedy":
        return np.array([right is True for right in read.greedy_is_right], np.bool_)
    correct = np.zeros(len(read.table), np.bool_)
    for start, place in representatives(read).items():
        correct[start] = read.answers.correct[place]
    return correct


def representatives(read: Read) -> dict[int, int]:
    """The row of each question's most frequent answer, by the row at which `.majority` has its confidence in it."""
    places = {int(question.rows[0]): representative(question) for question in read.samples}
    return {start: place for start, place in places.items() if place is not None}


@dataclass(frozen=True, slots=True)
class _Rows:
    """A confidence in the making: rows that do not count yet."""

    prediction: Ints
    values: Floats
    correct: npt.NDArray[np.bool_]
    status: list[str]

    @classmethod
    def of(cls, read: Read) -> _Rows:
        n = len(read.table)
        return cls(np.full(n, NO_PREDICTION), np.full(n, np.nan), np.zeros(n, np.bool_), [NOT_ASKED] * n)

    def confidence(self) -> Confidence:
        return Confidence(self.prediction, self.values, self.correct, why=np.array(self.status, np.str_))


def representative(own: SampledQuestion) -> int | None:
    """The row of the most frequent answer: of its most frequent string the first; None without an answer."""
    if not (own.classes >= 0).any():
        return None
    members = np.flatnonzero(own.classes == own.majority)
    return int(own.rows[members[own.strings.of[members].argmin()]])


def of_greedy(compute: Compute) -> Compute:
    """A question's uncertainty with the correctness of a greedy answer, at the sample beside which that stands.

    One row a question, and in a family of variants one for each member that has a greedy answer.
    """

    def reading(read: Read) -> Confidence:
        estimate, rows = read.once(compute), _Rows.of(read)
        for place, row in enumerate(read.table.rows):
            right = read.greedy_is_right[place]
            if right is not None:
                rows.values[place], rows.correct[place] = estimate.confidence[place], right
                rows.status[place] = str(estimate.status[place])
            elif any(stage in row.failed for stage in (GREEDY, GREEDY_FINAL)):
                rows.status[place] = REQUEST
        return rows.confidence()

    return reading


def of_replies(entry: Entry, read: Read) -> Iterator[Estimator]:
    """A confidence in each reply, and where questions have several, of the most frequent answer."""
    yield from _readings(
        entry, [(MAJORITY, "of the most frequent answer", of_majority)] if read.table.is_sampled else []
    )


def of_beside(entry: Entry, read: Read, measure: OfAnswer) -> Iterator[Estimator]:
    """Of each sample beside the others, of the most frequent answer, and where there is one of the greedy answer."""
    readings: list[Reading] = [(MAJORITY, "of the most frequent answer", of_majority)]
    if read.table.has(GREEDY):
        readings.append((GREEDY_READING, "of the greedy answer", lambda _: of_greedy_answers(measure)))
    yield from _readings(entry, readings)


def of_questions(entry: Entry, read: Read) -> Iterator[Estimator]:
    """An uncertainty of a question, against its most frequent answer, and where there is one its greedy answer."""
    readings = [(MAJORITY, "against the most frequent answer", of_majority)]
    if read.table.has(GREEDY):
        readings.append((GREEDY_READING, "against one greedy answer", of_greedy))
    yield from _readings(entry, readings)


def _readings(entry: Entry, readings: Sequence[Reading]) -> Iterator[Estimator]:
    estimator = entry.estimator
    yield replace(estimator, compute=partial(Read.once, compute=estimator.compute))
    for end, meaning, reading in readings:
        definition = f"{estimator.definition}, {meaning}"
        yield replace(estimator, name=estimator.name + end, definition=definition, compute=reading(estimator.compute))
