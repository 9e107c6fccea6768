"""What estimators of asked runs give, and how replies are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.answers.token_claims import Context
from calprobe.answers.types import Reading as Reading
from calprobe.arrays import Floats, Ints
from calprobe.messages import counted
from calprobe.runs.replies import Reply

OK = "ok"  # the status of what was read
NOT_ASKED, REQUEST = "not asked", "request failed"  # of rows that say nothing of the model
# What some confidences come with: the least and the largest that they can be, where a window lacks a reply; of what
# could be stated, the most probable value and the standard deviation.
LOW, HIGH, MODE, SPREAD = MORE = ("low", "high", "mode", "spread")
NOT_JUDGED = "not judged; run calprobe grade again"


@dataclass(frozen=True, slots=True)
class AskedConfidence:
    """How sure each answer is. A row that could not be read has no confidence and leaves the metrics of calibration."""

    prediction: Ints  # [rows], place of the option that it speaks of; NO_PREDICTION: none, or a free answer
    # [rows], in [0, 1]; NaN where it could not be read. Of an estimator without a scale the uncertainty itself.
    confidence: Floats
    correct: npt.NDArray[np.bool_]  # [rows], of the answer that the confidence speaks of
    status: npt.NDArray[np.str_]  # [rows], ok, or why there is no confidence, or what is odd about it
    # [rows], the probability of all replies that it is a share of; NaN: not known. None: it is of no such set.
    mass: Floats | None = None
    more: Mapping[str, Floats] = field(default_factory=dict)  # by a name in MORE, [rows]; NaN: not known

    def __repr__(self) -> str:
        return f"<AskedConfidence: {counted(len(self.confidence), 'row')}, {int(self.read.sum()):,} read>"

    @property
    def read(self) -> npt.NDArray[np.bool_]:
        """Which rows have a confidence, [rows]."""
        return ~np.isnan(self.confidence)

    @property
    def asked(self) -> npt.NDArray[np.bool_]:
        """Which rows have a reply to be read, [rows]: the others were not asked, or the request failed."""
        return ~np.isin(self.status, [NOT_ASKED, REQUEST])

    @property
    def reasons(self) -> dict[str, int]:
        """How many of the rows asked have no confidence, by reason."""
        return dict(sorted(Counter(self.status[self.asked & ~self.read].tolist()).items()))

    def at(self, places: Sequence[int]) -> AskedConfidence:
        """Those of the rows at these places alone."""
        own = list(places)
        return self._with(lambda column: column[own])

    def known_where(self, kept: npt.NDArray[np.bool_], status: npt.NDArray[np.str_]) -> AskedConfidence:
        """Without the confidences of the other rows, whose status is another one."""
        found = self._with(lambda column: np.where(kept, column, np.nan) if column.dtype == np.float64 else column)
        return replace(found, status=np.where(kept, self.status, status))

    @property
    def bounded(self) -> int:
        """How many rows have a confidence of which only bounds are known."""
        if LOW not in self.more:
            return 0
        return int((self.read & (self.more[LOW] < self.more[HIGH])).sum())

    def _with(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> AskedConfidence:
        return AskedConfidence(
            change(self.prediction),
            change(self.confidence),
            change(self.correct),
            change(self.status),
            None if self.mass is None else change(self.mass),
            {name: change(column) for name, column in self.more.items()},
        )


@dataclass(frozen=True, slots=True)
class WayToRead:
    """How confidences are taken from replies."""

    read_stated: Callable[[Reply, str], Reading]  # a reply and the name of the stated prompt that it replies to
    # With the reader's letter in place of an estimator's own argmax, as the audit's paper has it.
    compat: bool = False
    window: int | None = None  # only labels among so many most probable tokens are seen; None: all that are known
    claims: Context = "sentence"  # what alternatives of tokens are judged in
    alternatives: int | None = None  # of each token, the generated one among them; None: all that are stored
