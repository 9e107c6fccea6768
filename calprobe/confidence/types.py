"""What an estimator gives: a prediction and how sure it is. And which of a run's templates estimators read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, Mask
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.estimator import Scale
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.runs import TemplateRecord

OK, FAILED = "ok", "failed"  # the status of what was read, and of what has no prediction and counts as incorrect
NOT_ASKED, REQUEST = "not asked", "request failed"  # of rows that say nothing of the model
NOT_JUDGED = "not judged; run calprobe grade again"
# What some confidences come with: the least and the largest that they can be, where a window lacks a reply; of what
# could be stated, the most probable value and the standard deviation.
LOW, HIGH, MODE, SPREAD = MORE = ("low", "high", "mode", "spread")
DECIMALS = 12  # that confidences of replies keep


def rounded(values: Floats) -> Floats:
    """Confidences without the last digits of sums and quotients, which would tell equal ones apart.

    >>> rounded(np.array([0.95, 0.9500000000000001, -0.0])).tolist()
    [0.95, 0.95, 0.0]
    """
    kept: Floats = np.round(values, DECIMALS) + 0.0
    return kept


@dataclass(frozen=True, slots=True)
class Confidence:
    """A prediction and how sure it is, a row for every instance that was scored or every answer that was given.

    A failed prediction counts as incorrect with confidence 0. A row that could not be read has no confidence, and
    leaves the metrics.
    """

    prediction: Ints  # [rows], place of a candidate or option; NO_PREDICTION where failed or not of a closed set
    # [rows], in [0, 1]; 0 where failed, NaN where there is none. Of an estimator without a scale the uncertainty.
    confidence: Floats
    correct: Mask  # [rows], of the answer that the confidence speaks of; False where failed
    _: KW_ONLY
    # [rows], ok, or why there is no confidence, or what is odd about it; None: FAILED without a prediction, else ok.
    why: npt.NDArray[np.str_] | None = None
    # [candidates], the distribution that the confidence is the largest probability of, NaN over failed instances; None
    # for an estimator with another kind of confidence.
    probabilities: Floats | None = None
    fitted: tuple[float, ...] = ()  # what the estimator fitted: a temperature for each fold
    # [rows], the probability of all replies that it is a share of; NaN: not known. None: it is of no such set.
    mass: Floats | None = None
    more: Mapping[str, Floats] = field(default_factory=dict)  # by a name in MORE, [rows]; NaN: not known

    def __repr__(self) -> str:
        numbers = [f"{int(self.correct.sum()):,} correct", f"{int(self.failed.sum()):,} failed"]
        unread = int((~self.read).sum())
        numbers += [f"{unread:,} without a confidence"] if unread else []
        return f"<Confidence: {counted(len(self.prediction), 'instance')}, {', '.join(numbers)}>"

    @classmethod
    def of(
        cls,
        prediction: Ints,
        confidence: Floats,
        answer_idx: Ints,
        probabilities: Floats | None = None,
        fitted: tuple[float, ...] = (),
    ) -> Confidence:
        """Mark as failed what has no prediction or a NaN confidence; the rest is correct where it hits the answer."""
        failed = (prediction == NO_PREDICTION) | np.isnan(confidence)
        return cls(
            prediction=np.where(failed, NO_PREDICTION, prediction),
            confidence=np.where(failed, 0.0, confidence),
            correct=~failed & (prediction == answer_idx),
            probabilities=probabilities,
            fitted=fitted,
        )

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """Ok, or why there is no confidence, or what is odd about it, [rows]."""
        return np.where(self.failed, FAILED, OK) if self.why is None else self.why

    @property
    def failed(self) -> Mask:
        """Which rows have no prediction and count as incorrect, [rows]."""
        failed: Mask = self.prediction == NO_PREDICTION if self.why is None else self.why == FAILED
        return failed

    @property
    def read(self) -> Mask:
        """Which rows have a confidence, [rows]."""
        return ~np.isnan(self.confidence)

    @property
    def asked(self) -> Mask:
        """Which rows have a reply to be read, [rows]: the others were not asked, or the request failed."""
        return ~np.isin(self.status, [NOT_ASKED, REQUEST])

    @property
    def reasons(self) -> dict[str, int]:
        """How many of the rows asked have no confidence, by reason."""
        return dict(sorted(Counter(self.status[self.asked & ~self.read].tolist()).items()))

    @property
    def bounded(self) -> int:
        """How many rows have a confidence of which only bounds are known."""
        if LOW not in self.more:
            return 0
        return int((self.read & (self.more[LOW] < self.more[HIGH])).sum())

    def sureness(self, scale: Scale) -> Floats:
        """Larger is surer, whatever the scale, [rows]."""
        return -self.confidence if scale == "uncertainty" else self.confidence

    def rounded(self) -> Confidence:
        """With confidences as `rounded` leaves them, so that those that are equal are ties."""
        more = {name: rounded(column) for name, column in self.more.items()}
        return replace(self, confidence=rounded(self.confidence), more=more)

    def at(self, places: Sequence[int] | Ints | Mask) -> Confidence:
        """Those of the rows at these places alone, or where a mask holds; without the distribution."""
        where = np.asarray(places) if len(places) else np.zeros(0, np.int64)
        return self._with(lambda column: column[where])

    def known_where(self, kept: Mask, status: npt.NDArray[np.str_]) -> Confidence:
        """Without the confidences of the other rows, whose status is another one."""
        confidence = self._with(lambda column: np.where(kept, column, np.nan) if column.dtype == np.float64 else column)
        return replace(confidence, why=np.where(kept, self.status, status))

    def _with(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Confidence:
        return replace(
            self,
            prediction=change(self.prediction),
            confidence=change(self.confidence),
            correct=change(self.correct),
            why=None if self.why is None else change(self.why),
            probabilities=None,
            mass=None if self.mass is None else change(self.mass),
            more={name: change(column) for name, column in self.more.items()},
        )


def default_row(templates: Sequence[TemplateRecord]) -> int | None:
    """The row that estimators of one template read: template 0, else the first paraphrase; None if there is neither."""
    numbers = [template.number for template in templates]
    if 0 in numbers:
        return numbers.index(0)
    return next(iter(rows_of_paraphrases(templates)), None)


def rows_of_paraphrases(templates: Sequence[TemplateRecord]) -> tuple[int, ...]:
    """The rows of the paraphrases, however few."""
    return tuple(row for row, template in enumerate(templates) if template.kind == "paraphrase")


def paraphrase_rows(templates: Sequence[TemplateRecord]) -> tuple[int, ...]:
    """The rows of the paraphrases, if there are two or more.

    With one paraphrase there is nothing to agree with: an estimator over paraphrases would be base by another name, or
    constant. So it is left out, as the BEAR score is.
    """
    rows = rows_of_paraphrases(templates)
    return rows if len(rows) > 1 else ()
