"""P(True): the probability that a model calls its own answer true, among the two replies that it may give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from calprobe.answers.reading import Reading
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.asked.reply_table import P_TRUE, Row
from calprobe.confidence.types import HIGH, LOW, NOT_ASKED, OK, REQUEST, Confidence
from calprobe.runs.replies import Reply

NOT_SEEN, BOUND = "neither reply in the window", "one reply below the window, a bound"
Compute = Callable[[Read], Confidence]


def p_true(read: Read) -> Confidence:
    """Normalised over the two replies, with the mass that both have; NaN where a window shows neither."""
    return _of(read, normalised=True)


def p_true_raw(read: Read) -> Confidence:
    """Not normalised: the rest of the mass is on replies other than the two."""
    return _of(read, normalised=False)


def of_option(compute: Compute) -> Compute:
    """The same confidence, if it speaks of the option that is judged and not of the verdict on it.

    A question about "your conclusion" can be read either way. A confidence c in the option is 1 - c in the verdict No.
    """

    def computed(read: Read) -> Confidence:
        estimate = compute(read)
        rejects = np.array([reading.value == row.question.labels[1] for reading, row in _pairs(read)], np.bool_)
        turned = replace(estimate, confidence=np.where(rejects, 1 - estimate.confidence, estimate.confidence))
        if LOW not in estimate.more:
            return turned
        ends = estimate.more[LOW], estimate.more[HIGH]
        low, high = (np.where(rejects, 1 - opposite, end) for end, opposite in (ends, ends[::-1]))
        return replace(turned, more={**estimate.more, LOW: low, HIGH: high})

    return computed


def _pairs(read: Read) -> Iterator[tuple[Reading, Row]]:
    yield from zip(read.answers.readings, read.table.rows, strict=True)


def _of(read: Read, *, normalised: bool) -> Confidence:
    readings = [_reading(row, normalised) for row in read.table.rows]
    return read.answers.of_asked(
        Confidence(
            read.answers.prediction,
            np.array([reading.value for reading in readings], np.float64),
            read.answers.correct,
            why=np.array([reading.status for reading in readings], np.str_),
            mass=np.array([reading.both for reading in readings], np.float64) if normalised else None,
            more={
                LOW: np.array([reading.low for reading in readings], np.float64),
                HIGH: np.array([reading.high for reading in readings], np.float64),
            },
        )
    )


@dataclass(frozen=True, slots=True)
class _True:
    """P(true) in one row, and the least and the largest that it can be; that of both replies together."""

    value: float = float("nan")
    both: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    status: str = OK


def _reading(row: Row, normalised: bool) -> _True:
    reply = row.replies.get(P_TRUE)
    if reply is None or reply.label_scores is None or not len(reply.label_scores.positions):
        return _True(status=REQUEST if P_TRUE in row.failed else NOT_ASKED)
    place = _place(reply)
    seen = np.exp(reply.label_scores.logprobs[place, :2])
    if not seen.any():
        return _True(status=NOT_SEEN)
    # A reply that the window lacks has at most the probability of the least probable token there, and is taken to.
    most = np.maximum(seen, np.exp(reply.label_scores.least[place]))
    mass = min(float(most.sum()), 1.0)

    def share(yes: float, no: float) -> float:
        return float(np.clip(yes / (yes + no) if normalised else yes, 0.0, 1.0))

    status = OK if (most == seen).all() else BOUND
    return _True(share(*most), mass, share(seen[0], most[1]), share(most[0], seen[1]), status)


def _place(reply: Reply) -> int:
    """Which of the scored positions decides: where the first letter was generated, behind a bracket in "(A)"."""
    assert reply.label_scores is not None
    if len(reply.label_scores.positions) == 1:
        return 0
    letters = "|".join(map(re.escape, reply.label_scores.labels))
    return 0 if re.match(rf"\s*(?:{letters})(?!\w)", reply.text) else 1
