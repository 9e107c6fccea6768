"""The estimators that a run's templates allow, in the order of reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from calprobe.confidence import base, margin
from calprobe.confidence.distributions import Distributions
from calprobe.confidence.types import Confidence, Estimator

if TYPE_CHECKING:
    from calprobe.runs import ScoreTable
    from calprobe.statements import Template

# A family is a module's function from the run's templates to the estimators that they allow, maybe none. Add it here.
FAMILIES: tuple[Callable[[Sequence[Template]], tuple[Estimator, ...]], ...] = (base.family, margin.family)


def available_estimators(templates: Sequence[Template]) -> tuple[Estimator, ...]:
    """Every estimator whose templates are among these, in the order of reports.

    Args:
        templates: the run's, in the order of the rows of its scores.
    """
    return tuple(estimator for family in FAMILIES for estimator in family(templates))


def estimate(table: ScoreTable) -> dict[str, Confidence]:
    """The confidences of every estimator that the table's templates allow, by name, in the order of reports."""
    distributions = Distributions.from_scores(table.scores, table.offsets, table.answer_idx)
    return {estimator.name: estimator(distributions) for estimator in available_estimators(table.templates)}
