"""What an estimator gives: a prediction and how sure it is. And which of a run's templates estimators read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.runs import TemplateRecord


@dataclass(frozen=True, slots=True)
class Confidence:
    """A prediction and how sure it is, for every instance. A failed one has no prediction and counts as incorrect."""

    prediction: Ints  # [instances], place of a candidate; NO_PREDICTION where failed or not of a closed set
    confidence: Floats  # [instances], in [0, 1]; 0 where failed
    correct: npt.NDArray[np.bool_]  # [instances], False where failed
    failed: npt.NDArray[np.bool_]  # [instances]
    # [candidates], the distribution that the confidence is the largest probability of, NaN over failed instances; None
    # for an estimator with another kind of confidence.
    probabilities: Floats | None = None
    fitted: tuple[float, ...] = ()  # what the estimator fitted: a temperature for each fold

    def __repr__(self) -> str:
        numbers = f"{int(self.correct.sum()):,} correct, {int(self.failed.sum()):,} failed"
        return f"<Confidence: {counted(len(self.prediction), 'instance')}, {numbers}>"

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
            failed=failed,
            probabilities=probabilities,
            fitted=fitted,
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
