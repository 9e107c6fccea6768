"""The estimators of asked runs: what each reads, and how it is shown. One more is one more entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from calprobe.confidence.asked.cell import ANSWER, FINAL, LABEL, Cell
from calprobe.confidence.asked.closed import expected_confidence, has_closed
from calprobe.confidence.asked.labels import (
    LabelMasses,
    answer_masses,
    final_masses,
    first_masses,
    own_confidence,
    paper_confidence,
)
from calprobe.confidence.asked.readings import Answers
from calprobe.confidence.asked.stated import stated_confidence
from calprobe.confidence.asked.types import AskedConfidence, WayToRead

AUDIT = "arXiv 2605.02038"
Evidence = Literal["label", "stated"]


@dataclass(frozen=True)
class Read:
    """A cell with its answers under the reader that confidences go by; what several estimators need is made once."""

    cell: Cell
    answers: Answers
    way: WayToRead

    @cached_property
    def first(self) -> LabelMasses:
        """At the first position."""
        return first_masses(self.cell, self.way.window)

    @cached_property
    def at_answer(self) -> LabelMasses:
        """Where the letter that was read was generated."""
        return answer_masses(self.cell, self.answers, self.way.window)

    @cached_property
    def final(self) -> LabelMasses:
        """Behind the final cue."""
        return final_masses(self.cell, self.way.window)


@dataclass(frozen=True, slots=True)
class AskedEstimator:
    """A way from a cell to confidences."""

    name: str  # the key in `report --json`
    definition: str  # one line
    evidence: Evidence
    compute: Callable[[Read], AskedConfidence]
    source: str = ""  # empty for calprobe's own


def _first(read: Read, *, normalised: bool) -> AskedConfidence:
    if read.way.compat:
        return read.answers.of_asked(paper_confidence(read.cell, read.first, read.answers, normalised))
    return own_confidence(read.cell, read.first, normalised)


OF_LABELS = (
    AskedEstimator(
        "label_raw",
        "probability of the most probable label at the first position, under the whole softmax",
        "label",
        lambda read: _first(read, normalised=False),
        AUDIT,
    ),
    AskedEstimator(
        "label",
        "probability of the most probable label at the first position, normalised over the labels",
        "label",
        lambda read: _first(read, normalised=True),
        AUDIT,
    ),
    AskedEstimator(
        "label_answer",
        "as label, at the position where the answer that was read was generated",
        "label",
        lambda read: own_confidence(read.cell, read.at_answer, normalised=True),
    ),
    AskedEstimator(
        "label_final",
        "as label, behind the reply and a cue for the final answer",
        "label",
        lambda read: own_confidence(read.cell, read.final, normalised=True),
    ),
)


def asked_estimators(cell: Cell) -> dict[str, AskedEstimator]:
    """The estimators that a cell's replies allow, by name, in the order of reports."""
    return {estimator.name: estimator for estimator in _allowed(cell)}


def _allowed(cell: Cell) -> Iterator[AskedEstimator]:
    there = (_has_labels(cell, LABEL, ANSWER),) * 2 + (_knows_places(cell), _has_labels(cell, FINAL))
    yield from (estimator for estimator, known in zip(OF_LABELS, there, strict=True) if known)
    for name in cell.stated:
        yield AskedEstimator(
            f"stated_{name}",
            f"confidence that the model states when asked by {name}, of the answer that was read",
            "stated",
            _stated(name),
            AUDIT,
        )
        if has_closed(cell, name):
            yield AskedEstimator(
                f"stated_{name}.expected",
                f"expected value of what the model would state when asked by {name}, over all replies of the scale",
                "stated",
                _expected(name),
            )


def _expected(name: str) -> Callable[[Read], AskedConfidence]:
    return lambda read: read.answers.of_asked(expected_confidence(read.cell, name, read.answers, read.way))


def _knows_places(cell: Cell) -> bool:
    """Whether any reply says at which of its tokens its label probabilities are."""
    found = (row.replies.get(ANSWER) for row in cell.rows)
    known = ((own.token_ids, own.label_scores) for own in found if own is not None)
    return any(scores is not None and (ids is not None or scores.starts is not None) for ids, scores in known)


def _has_labels(cell: Cell, *stages: str) -> bool:
    """Whether any row has label probabilities at one of these stages."""
    replies = (row.replies.get(stage) for row in cell.rows for stage in stages)
    return any(reply is not None and reply.label_scores is not None for reply in replies)


def _stated(name: str) -> Callable[[Read], AskedConfidence]:
    return lambda read: read.answers.of_asked(stated_confidence(read.cell, name, read.answers, read.way))
