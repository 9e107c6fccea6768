"""margin: how far the prediction is ahead of the runner-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calprobe.confidence.distributions import Distributions
from calprobe.confidence.types import Confidence, Estimator, on_default_row

if TYPE_CHECKING:
    from calprobe.statements import Template


def margin_confidence(distributions: Distributions, rows: Sequence[int] = (0,)) -> Confidence:
    """The largest less the second-largest probability under one template; predictions are those of base.

    SPEC_SCORING section 3; Kissling et al. 2026. Higher is surer; within [0, 1], 0 on a tie. With a single candidate
    there is no second, and the margin is its probability, 1.

    Args:
        distributions: of any number of instances.
        rows: the one row of `distributions.probabilities` to read.
    Returns:
        Arrays [instances]. An instance with NaN probabilities fails: confidence 0, incorrect.

    >>> spaces = Distributions.from_scores([[-1.0, -1.0, -3.0, -1.0]], offsets=[0, 2, 4], answer_idx=[0, 0])
    >>> margin_confidence(spaces).confidence.round(3).tolist()
    [0.0, 0.762]
    """
    (row,) = rows
    peak = distributions.peak([row])
    return Confidence.of(peak.prediction[0], peak.largest[0] - peak.second[0], distributions.answer_idx)


def family(templates: Sequence[Template]) -> tuple[Estimator, ...]:
    """margin, if the run has a template for it."""
    return on_default_row("margin", "largest less second-largest probability", margin_confidence, templates)
