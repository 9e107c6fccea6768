"""Confidence from the probabilities of all replies that a scale allows, not from the one reply that was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.confidence.asked.read_cell import WayToRead
from calprobe.confidence.asked.readings import Answers
from calprobe.confidence.asked.reply_table import STATED, ReplyTable, Row
from calprobe.confidence.types import MODE, NOT_ASKED, OK, REQUEST, SPREAD, Confidence
from calprobe.runs.replies import Reply


@dataclass(frozen=True, slots=True)
class ClosedReadings:
    """What a model would state, as a distribution over the values of its scale; NaN where it is not known.

    With p(c) the probability of the replies that state c, divided by `mass`:
    """

    expected: Floats  # [rows], sum of c p(c)
    mode: Floats  # [rows], the c with the largest p(c), of equal ones the smallest
    spread: Floats  # [rows], sqrt of sum of (c - expected)^2 p(c)
    mass: Floats  # [rows], probability of all replies of the scale together; the rest is of replies that are none
    status: npt.NDArray[np.str_]  # [rows], ok, or why it is not known


def closed_readings(table: ReplyTable, name: str, way: WayToRead, condition: str = "") -> ClosedReadings:
    """The distributions over what the stated prompt of that name could be replied, row by row.

    Args:
        table: the replies.
        name: of a stated prompt.
        way: says what each reply stands for.
        condition: what stood in the place of the model's answer, see `calprobe.runs.stages`; empty: nothing.
    """
    stage = f"{STATED}{name}" + (f"@{condition}" if condition else "")
    values: dict[tuple[str, ...], Floats] = {}
    readings = [_reading(row, stage, name, way, values) for row in table.rows]
    numbers = np.array([reading for reading, _ in readings], np.float64).reshape(len(readings), 4)
    expected, mode, spread, mass = numbers.T
    return ClosedReadings(expected, mode, spread, mass, np.array([status for _, status in readings], np.str_))


def expected_confidence(table: ReplyTable, name: str, answers: Answers, way: WayToRead) -> Confidence:
    """The expected value of what the model would state, with the correctness of its answer."""
    readings = closed_readings(table, name, way)
    more = {MODE: readings.mode, SPREAD: readings.spread}
    return Confidence(
        answers.prediction, readings.expected, answers.correct, why=readings.status, mass=readings.mass, more=more
    )


def has_closed(table: ReplyTable, name: str) -> bool:
    """Whether any row has probabilities of all replies to the stated prompt of that name."""
    replies = (row.replies.get(f"{STATED}{name}") for row in table.rows)
    return any(reply is not None and reply.label_scores is not None for reply in replies)


_UNKNOWN = (np.nan,) * 4


def _reading(
    row: Row, stage: str, name: str, way: WayToRead, values: dict[tuple[str, ...], Floats]
) -> tuple[Sequence[float], str]:
    reply = row.replies.get(stage)
    if reply is None:
        return _UNKNOWN, REQUEST if stage in row.failed else NOT_ASKED
    scores = reply.label_scores
    if scores is None:
        return _UNKNOWN, NOT_ASKED
    if scores.labels not in values:
        values[scores.labels] = np.array([_value(reply, label, name, way) for label in scores.labels])
    return _moments(values[scores.labels], scores.logprobs[0]), OK


def _value(reply: Reply, label: str, name: str, way: WayToRead) -> float:
    """What a reply of the closed set stands for: the label is read as a reply is."""
    reading = way.read_stated(replace(reply, text=label, finish="stop"), name)
    return float("nan") if reading.value is None else float(reading.value)


def _moments(values: Floats, logprobs: Floats) -> tuple[float, float, float, float]:
    """Expected value, mode, spread and mass; replies of one value are summed, which makes one mode of them."""
    shifted = np.exp(logprobs - logprobs.max())
    shares = shifted / shifted.sum()
    expected = float(shares @ values)
    spread = float(np.sqrt(shares @ (values - expected) ** 2))
    distinct, place = np.unique(values, return_inverse=True)
    mode = float(distinct[np.bincount(place, shares).argmax()])
    return expected, mode, spread, float(np.exp(np.logaddexp.reduce(logprobs)))
