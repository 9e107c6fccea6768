"""Scores on any scale as confidences of the same order, for the metrics that ask for order alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats


def ordinal_confidence(scores: npt.ArrayLike, *, uncertainty: bool = False) -> Floats:
    """The rank of each score among the distinct scores, from 0 (least sure) to 1 (surest), evenly spaced.

    A monotone map that keeps ties, so that AUROC, AURC, E-AURC and the prediction-rejection ratio, which depend on
    order and ties only, are those of the scores. Calibration metrics of it mean nothing.

    Args:
        scores: [instances], any numbers, infinities too.
        uncertainty: larger scores are less sure, as lm-polygraph's estimators are.
    Returns:
        [instances], in [0, 1]; 0 where all scores are equal, no entries without instances.
    Raises:
        ValueError: not one-dimensional, not numbers, or NaN, which has no place in an order.

    >>> ordinal_confidence([-2.5, 40.0, float("-inf"), -2.5]).tolist()
    [0.5, 1.0, 0.0, 0.5]
    >>> ordinal_confidence([-2.5, 40.0, float("-inf"), -2.5], uncertainty=True).tolist()
    [0.5, 0.0, 1.0, 0.5]
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be an array of numbers; got {scores!r}") from error
    if values.ndim != 1:
        raise ValueError(f"scores must have one dimension, [instances]; got shape {values.shape}")
    if np.isnan(values).any():
        raise ValueError(f"scores must not be NaN; got NaN at place {int(np.flatnonzero(np.isnan(values))[0])}")
    distinct, rank = np.unique(-values if uncertainty else values, return_inverse=True)
    # Whole numbers over one whole number: equal ranks stay equal, and no two ranks meet by rounding.
    confidence: Floats = rank / max(1, len(distinct) - 1)
    return confidence
