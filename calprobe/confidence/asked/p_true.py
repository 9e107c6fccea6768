"""P(True): the probability that a model calls its own answer true, among the two replies that it may give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from calprobe.confidence.asked.cell import P_TRUE, Cell, Row
from calprobe.confidence.asked.entry import AskedEstimator, Read
from calprobe.confidence.asked.types import NOT_ASKED, OK, REQUEST, AskedConfidence, Reading
from calprobe.runs.replies import Reply

KADAVATH = "Kadavath et al. 2022"
NOT_SEEN = "neither reply in the window"
Compute = Callable[[Read], AskedConfidence]


def p_true_estimators(cell: Cell) -> Iterator[AskedEstimator]:
    """Those of a cell that was asked whether its answers are true."""
    if not cell.has(P_TRUE):
        return
    yield AskedEstimator(
        "p_true", "P(true) / (P(true) + P(false)) when asked whether the answer is true", "p_true", p_true, KADAVATH
    )
    yield AskedEstimator(
        "p_true_raw", "P(true) under the whole softmax when asked whether the answer is true", "p_true", p_true_raw
    )
    if cell.judges_options:
        yield AskedEstimator(
            "p_true.option",
            "as p_true, read as said of the option: 1 minus it where the verdict is No",
            "p_true",
            of_option(p_true),
        )


def p_true(read: Read) -> AskedConfidence:
    """Normalised over the two replies, with the mass that both have; NaN where a window shows neither."""
    return _of(read, normalised=True)


def p_true_raw(read: Read) -> AskedConfidence:
    """Raw; what it lacks of the normalised one is on other replies."""
    return _of(read, normalised=False)


def of_option(compute: Compute) -> Compute:
    """The same confidence, if it speaks of the option that is judged and not of the verdict on it.

    A question about "your conclusion" can be read either way. A confidence c in the option is 1 - c in the verdict No.
    """

    def computed(read: Read) -> AskedConfidence:
        found = compute(read)
        rejects = np.array([reading.value == row.question.labels[1] for reading, row in _pairs(read)], np.bool_)
        return replace(found, confidence=np.where(rejects, 1 - found.confidence, found.confidence))

    return computed


def _pairs(read: Read) -> Iterator[tuple[Reading, Row]]:
    yield from zip(read.answers.readings, read.cell.rows, strict=True)


def _of(read: Read, *, normalised: bool) -> AskedConfidence:
    found = [_reading(row, normalised) for row in read.cell.rows]
    return read.answers.of_asked(
        AskedConfidence(
            read.answers.prediction,
            np.array([value for value, _, _ in found], np.float64),
            read.answers.correct,
            np.array([status for _, _, status in found], np.str_),
            np.array([both for _, both, _ in found], np.float64) if normalised else None,
        )
    )


def _reading(row: Row, normalised: bool) -> tuple[float, float, str]:
    """The probability of true, that of both replies together, and the status."""
    reply = row.replies.get(P_TRUE)
    if reply is None or reply.label_scores is None or not len(reply.label_scores.positions):
        return float("nan"), float("nan"), REQUEST if P_TRUE in row.failed else NOT_ASKED
    place = _place(reply)
    seen = reply.label_scores.logprobs[place, :2]
    if not np.isfinite(seen).any():
        return float("nan"), float("nan"), NOT_SEEN
    # A reply that the window lacks has at most the probability of the least probable token there, and is taken to.
    mass = np.exp(np.maximum(seen, reply.label_scores.least[place]))
    both = min(float(mass.sum()), 1.0)
    return float(np.clip(mass[0] / (mass.sum() if normalised else 1.0), 0.0, 1.0)), both, OK


def _place(reply: Reply) -> int:
    """Which of the scored positions decides: where the first letter was generated, behind a bracket in "(A)"."""
    assert reply.label_scores is not None
    if len(reply.label_scores.positions) == 1:
        return 0
    letters = "|".join(map(re.escape, reply.label_scores.labels))
    return 0 if re.match(rf"\s*(?:{letters})(?!\w)", reply.text) else 1
