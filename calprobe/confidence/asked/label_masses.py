"""The masses of a question's labels where an answer stands: raw, normalised over the labels, and what lies off them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.answers.label_patterns import labels_of
from calprobe.answers.last_marker import read_last_marker
from calprobe.arrays import Floats, Ints
from calprobe.confidence.asked.readings import Answers
from calprobe.confidence.asked.reply_table import ANSWER, FINAL, LABEL, ReplyTable, Row
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.types import NOT_ASKED, OK, REQUEST, Confidence
from calprobe.runs.replies import LabelScores, Reply

NO_LABEL, NOT_SEEN = "no label in the window", "letter not in the window"
NO_ANSWER, NO_PLACE = "no answer", "place not known"
OF_ANOTHER = "grade is of another label"


@dataclass(frozen=True, slots=True)
class LabelMasses:
    """The labels' masses at one place of each row's reply; what is padded or not seen has mass 0."""

    mass: Floats  # [rows, most labels], in [0, 1]
    seen: npt.NDArray[np.bool_]  # [rows, most labels]; without a window all labels are
    status: npt.NDArray[np.str_]  # [rows], ok, or why the row has none
    labels: Ints  # [rows], K; 0 for answers that are free

    @property
    def total(self) -> Floats:
        """The mass on all labels seen, [rows]."""
        total: Floats = self.mass.sum(axis=1)
        return total

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Whether any label was seen, [rows]."""
        mask: npt.NDArray[np.bool_] = np.asarray(self.seen.any(axis=1))
        return mask

    @property
    def largest(self) -> Ints:
        """The place of the label with most mass, of equal ones the first, [rows]; NO_PREDICTION where none was seen."""
        if not self.mass.shape[1]:
            return np.full(len(self.mass), NO_PREDICTION, np.int64)
        places: Ints = np.where(self.seen, self.mass, -1.0).argmax(axis=1).astype(np.int64)
        return np.where(self.known, places, NO_PREDICTION)

    def at(self, places: Ints) -> Floats:
        """The mass of one label of each row, [rows]; 0 for NO_PREDICTION and for one that was not seen."""
        if not self.mass.shape[1]:
            return np.zeros(len(self.mass))
        mass = self.mass[np.arange(len(places)), np.maximum(places, 0)]
        return np.where(places >= 0, mass, 0.0)

    @property
    def covered(self) -> npt.NDArray[np.bool_]:
        """Whether all labels of the row were seen, [rows]; False where there are none."""
        covered: npt.NDArray[np.bool_] = (self.seen.sum(axis=1) == self.labels) & (self.labels > 0)
        return covered


def first_masses(table: ReplyTable, window: int | None = None) -> LabelMasses:
    """At the first position that was generated."""
    stages = [_of_stage(row, LABEL if LABEL in row.replies else ANSWER) for row in table.rows]
    return _masses(table, [_place_of_first(*stage) for stage in stages], window)


def answer_masses(table: ReplyTable, answers: Answers, window: int | None = None) -> LabelMasses:
    """Where the letter was generated that a reader has read."""
    places: list[_Place] = []
    for row, reading, place in zip(table.rows, answers.readings, answers.prediction.tolist(), strict=True):
        reply = row.replies.get(ANSWER)
        if reply is None or reply.label_scores is None:
            places.append((None, 0, REQUEST if ANSWER in row.failed else NOT_ASKED))
        elif place == NO_PREDICTION:
            places.append((None, 0, reading.status if reading.status in (REQUEST, NOT_ASKED) else NO_ANSWER))
        else:
            at = place_of_label(reply, place, reading.start)
            places.append((None, 0, NO_PLACE) if at is None else (reply.label_scores, at, OK))
    return _masses(table, places, window)


def final_masses(table: ReplyTable, window: int | None = None) -> LabelMasses:
    """Behind the final cue."""
    return _masses(table, [_place_of_first(*_of_stage(row, FINAL)) for row in table.rows], window)


def place_of_label(reply: Reply, label: int, start: int) -> int | None:
    """The place, among those of the reply's label scores, of the token that wrote a label.

    Args:
        reply: with label scores.
        label: the label's place.
        start: where it stands in the reply's text, in characters; -1 if that is not known.
    Returns:
        The place at which the label's token begins, white space in front of it left out. Where the backend does not say
        how tokens lie in the text, the only place at which the label was generated, or where the reply's or the label's
        tokens are not known the first one of a reply that begins with the label; None if that is not known.
    """
    scores = reply.label_scores
    if scores is None:
        return None
    wrote = [at for at in range(len(scores.positions)) if _wrote(reply, scores, at, label)]
    if scores.starts is not None and start >= 0:
        near = [
            at for at in wrote if 0 <= scores.starts[at] <= start and not reply.text[scores.starts[at] : start].strip()
        ]
        return near[-1] if near else None
    if reply.token_ids is None or not _has_forms(scores, label):
        begins = start >= 0 and not reply.text[:start].strip()
        return 0 if begins and len(scores.positions) and scores.positions[0] == 0 else None
    return wrote[0] if len(wrote) == 1 else None


def _has_forms(scores: LabelScores, label: int) -> bool:
    return bool(scores.forms) and bool(scores.forms[label])


def _wrote(reply: Reply, scores: LabelScores, at: int, label: int) -> bool:
    """Whether the token at that place is a form of the label, as far as is known."""
    position = int(scores.positions[at])
    if reply.token_ids is None or not _has_forms(scores, label):
        return True
    return position < len(reply.token_ids) and reply.token_ids[position] in scores.forms[label]


_Place = tuple[LabelScores | None, int, str]  # scores, place in them, status


def _of_stage(row: Row, stage: str) -> tuple[Reply | None, str]:
    reply = row.replies.get(stage)
    if reply is not None and reply.label_scores is not None:
        return reply, OK
    return None, REQUEST if stage in row.failed else NOT_ASKED


def _place_of_first(reply: Reply | None, status: str) -> _Place:
    scores = None if reply is None else reply.label_scores
    if scores is None:
        return None, 0, status
    return (scores, 0, OK) if reply is not None and reply.begins_with_labels else (None, 0, NO_PLACE)


def _masses(table: ReplyTable, places: Sequence[_Place], window: int | None) -> LabelMasses:
    width = max((len(row.question.labels) for row in table.rows), default=0)
    mass, seen = np.zeros((len(table), width)), np.zeros((len(table), width), np.bool_)
    status = [word for _, _, word in places]
    for at, (scores, place, _) in enumerate(places):
        if scores is None:
            continue
        covered = scores.covered[place]
        if window is not None and scores.ranks is not None:  # -1: not counted
            covered = covered & (scores.ranks[place] < window)
        seen[at, : len(covered)] = covered
        mass[at, : len(covered)] = np.where(covered, np.exp(scores.logprobs[place]), 0.0)
        if not covered.any():
            status[at] = NO_LABEL
    counts = np.array([len(row.question.labels) for row in table.rows], np.int64)
    return LabelMasses(np.minimum(mass, 1.0), seen, np.array(status, np.str_), counts)


def off_label_mass(masses: LabelMasses) -> Floats:
    """`1 - sum of the labels' masses`, [rows], in [0, 1]: what the model puts on anything that is no label.

    NaN where label probabilities were not asked for. With a window it holds the mass of labels that were not seen too.
    """
    has_mass = np.isin(masses.status, [OK, NO_LABEL])
    return np.where(has_mass, np.clip(1.0 - masses.total, 0.0, 1.0), np.nan)


def own_confidence(table: ReplyTable, masses: LabelMasses, normalised: bool) -> Confidence:
    """The most probable label, paired with its own correctness; raw, or normalised over the labels seen.

    Of a question whose right option is not known, correctness is the grade that the reply came with. A reply that says
    another label has none: its grade says nothing of this one.
    """
    prediction = masses.largest
    estimate = _confidence(masses, prediction, _right(table, prediction), normalised)
    others = np.array([_says_another(row, place) for row, place in zip(table.rows, prediction, strict=True)], np.bool_)
    status = np.where(others & (masses.status == OK), OF_ANOTHER, masses.status)
    return Confidence(prediction, np.where(others, np.nan, estimate.confidence), estimate.correct & ~others, why=status)


def paper_confidence(table: ReplyTable, masses: LabelMasses, answers: Answers, normalised: bool) -> Confidence:
    """The mass of the letter that a reader has read, paired with that letter's correctness, as the audit's paper.

    A letter that is not in the window has confidence 0. A row without any label in the window has confidence 0 too, and
    is incorrect. Where no letter was read, the most probable label gives the confidence; the answer stays incorrect.
    """
    is_read = answers.prediction != NO_PREDICTION
    prediction = np.where(is_read, answers.prediction, masses.largest)
    estimate = _confidence(masses, prediction, answers.correct, normalised)
    has_mass = np.isin(masses.status, [OK, NO_LABEL])
    unseen = has_mass & (masses.at(prediction) == 0)
    status = np.where(unseen & (masses.status == OK), NOT_SEEN, masses.status)
    correct = answers.correct & (masses.status != NO_LABEL)
    return Confidence(prediction, np.where(unseen, 0.0, estimate.confidence), correct, why=status)


def _confidence(masses: LabelMasses, prediction: Ints, correct: npt.NDArray[np.bool_], normalised: bool) -> Confidence:
    with np.errstate(invalid="ignore", divide="ignore"):
        share = masses.at(prediction) / (masses.total if normalised else 1.0)
    read = masses.known & (prediction != NO_PREDICTION)
    confidence = np.where(read, np.clip(share, 0.0, 1.0), np.nan)
    return Confidence(prediction, confidence, correct & (prediction != NO_PREDICTION), why=masses.status)


def _right(table: ReplyTable, prediction: Ints) -> npt.NDArray[np.bool_]:
    """Whether the prediction is the right option; of a question without one, the grade that the reply came with."""
    pairs = zip(table.rows, prediction.tolist(), strict=True)
    return np.array([_is_right(row, place) for row, place in pairs], np.bool_)


def _says_another(row: Row, place: int) -> bool:
    labels, text = row.question.labels, row.first.text
    if row.question.answer is not None or not labels:
        return False
    said = text.strip() if text.strip() in labels else read_last_marker(text, labels_of(labels)).value
    return said in labels and labels.index(said) != place


def _is_right(row: Row, place: int) -> bool:
    answer = row.question.answer
    return bool(row.first.correct) if answer is None else place == answer
