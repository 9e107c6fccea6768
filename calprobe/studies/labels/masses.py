"""The label probabilities of one design as matrices, rows that have none left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.cells.asked import AskedCell
from calprobe.confidence.asked.reply_table import Row
from calprobe.confidence.types import rounded
from calprobe.runs.replies import LabelScores

TOP = 20  # the window in which the study looked for labels


@dataclass(frozen=True, slots=True)
class DesignMasses:
    """Raw masses of labels at the first position, a row for each question with a right option."""

    names: npt.NDArray[np.str_]  # [rows], the question
    labels: tuple[str, ...]  # of the question with most options
    mass: Floats  # [rows, labels], raw
    there: npt.NDArray[np.bool_]  # [rows, labels], whether the question has that label
    gold: Ints  # [rows], place of the right label
    turned: int  # places by which the options were moved up
    options: Ints  # [rows], number of options
    invalid: tuple[int, int] | None  # rows, see `results.INVALID`; None: not known of these rows

    @property
    def total(self) -> Floats:
        """Mass on all labels, [rows]."""
        total: Floats = np.minimum(self.mass.sum(axis=1), 1.0)
        return total

    @property
    def share(self) -> Floats:
        """Masses normalised over the labels, [rows, labels]; the same for each label where no mass was seen at all."""
        total = self.mass.sum(axis=1, keepdims=True)
        even = self.there / np.maximum(self.there.sum(axis=1, keepdims=True), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: Floats = np.where(total > 0, self.mass / total, even)
        return shares

    @property
    def largest(self) -> Ints:
        """Place of the label with most mass, of equal ones the first, [rows]."""
        places: Ints = np.where(self.there, self.mass, -1.0).argmax(axis=1).astype(np.int64)
        return places

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether the most probable label is the right one, [rows]."""
        is_right: npt.NDArray[np.bool_] = self.largest == self.gold
        return is_right

    @property
    def clusters(self) -> npt.NDArray[np.str_] | None:
        """The question of each row where some have several rows, else None."""
        return self.names if len(np.unique(self.names)) < len(self.names) else None

    def confidence(self, way: str) -> Floats:
        """Confidence in each label, [rows, labels]: raw, or normalised."""
        return rounded(self.mass if way == "raw" else self.share)

    def chosen(self, way: str) -> Floats:
        """Confidence in the most probable label, [rows]: raw, or normalised."""
        values = self.confidence(way)
        return np.clip(values[np.arange(len(values)), self.largest], 0.0, 1.0)

    def by_option(self) -> Floats:
        """Shares by option in its own order, [rows, labels]: what moving the options up has moved comes back."""
        places = (np.arange(self.mass.shape[1])[None, :] - self.turned) % self.options[:, None]
        moved = np.where(self.there, places, np.arange(self.mass.shape[1])[None, :])
        return np.take_along_axis(self.share, moved, axis=1)

    def at(self, places: npt.NDArray[np.intp]) -> DesignMasses:
        """These rows alone; `invalid` is not known of them."""
        return DesignMasses(
            self.names[places],
            self.labels,
            self.mass[places],
            self.there[places],
            self.gold[places],
            self.turned,
            self.options[places],
            None,
        )


def masses_of(opened: AskedCell, turned: int) -> DesignMasses:
    """The masses of a cell. A row without any label in the window has mass 0 on each of them."""
    cell, masses = opened.table, opened.read.first
    kept = [at for at, row in enumerate(cell.rows) if _is_known(row)]
    rows = [cell.rows[at] for at in kept]
    counts = np.array([len(row.question.options) for row in rows], np.int64)
    widest = max((row.question.labels for row in rows), key=len, default=())
    ranks = [_best_rank(row) for row in rows]
    return DesignMasses(
        names=np.array([row.question.id for row in rows], np.str_),
        labels=widest,
        mass=masses.mass[kept][:, : len(widest)],
        there=np.arange(len(widest))[None, :] < counts[:, None],
        gold=np.array([row.question.answer for row in rows], np.int64),
        turned=turned,
        options=counts,
        invalid=(sum(rank > 0 for rank in ranks), sum(rank >= TOP for rank in ranks)),
    )


def has_right_options(opened: AskedCell) -> bool:
    """Whether any row has label probabilities and a right option; replies graded elsewhere may have the first alone."""
    return any(map(_is_known, opened.table.rows))


def _is_known(row: Row) -> bool:
    return _scores(row) is not None and row.question.answer is not None


def _scores(row: Row) -> LabelScores | None:
    scores = row.first.label_scores
    return scores if scores is not None and len(scores.positions) and scores.positions[0] == 0 else None


def _best_rank(row: Row) -> int:
    """How many tokens are more probable than the most probable form of any label; TOP where no label was seen."""
    scores = _scores(row)
    if scores is None or not scores.covered[0].any():
        return TOP
    ranks = None if scores.ranks is None else scores.ranks[0][scores.ranks[0] >= 0]
    return int(ranks.min()) if ranks is not None and len(ranks) else 0
