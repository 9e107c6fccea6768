"""The estimators of asked runs: what each reads, and how it is shown. One more is one more entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from calprobe.confidence.asked.cell import ANSWER, FINAL, LABEL, Cell
from calprobe.confidence.asked.closed import expected_confidence, has_closed
from calprobe.confidence.asked.entry import AskedEstimator, Read
from calprobe.confidence.asked.labels import own_confidence, paper_confidence
from calprobe.confidence.asked.p_true import of_option, p_true_estimators
from calprobe.confidence.asked.sample_estimators import sample_estimators
from calprobe.confidence.asked.stated import stated_confidence
from calprobe.confidence.asked.types import AskedConfidence

AUDIT = "arXiv 2605.02038"


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


def asked_estimators(read: Read, wanted: Collection[str] = ()) -> dict[str, AskedEstimator]:
    """The estimators that a cell's replies allow, by name, in the order of reports.

    `wanted` are names of forms that are not usual, such as semantic_entropy.likelihood.
    """
    own = (*_allowed(read.cell), *sample_estimators(read, wanted))
    return {estimator.name: estimator for estimator in own}


def _allowed(cell: Cell) -> Iterator[AskedEstimator]:
    there = (_has_labels(cell, LABEL, ANSWER),) * 2 + (_knows_places(cell), _has_labels(cell, FINAL))
    yield from (estimator for estimator, known in zip(OF_LABELS, there, strict=True) if known)
    yield from p_true_estimators(cell)
    for name in cell.stated:
        yield AskedEstimator(
            f"stated_{name}",
            f"confidence that the model states when asked by {name}, of the answer that was read",
            "stated",
            _stated(name),
            AUDIT,
        )
        if cell.judges_options:
            yield AskedEstimator(
                f"stated_{name}.option",
                f"as stated_{name}, read as said of the option: 1 minus it where the verdict is No",
                "stated",
                of_option(_stated(name)),
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
