"""Logistic regression with a few features, by Newton's method."""

from __future__ import annotations

import numpy as np

from calprobe.arrays import Floats, Ints

MAX_STEPS = 60
HALVINGS = 30
CLOSE = 1e-10  # of a step, against 1 + the size of the coefficients
LARGEST = 1e4  # coefficients beyond it are on their way to infinity
# A loss is known to some units of its last place. A step that is smaller than that can show is Newton's own still: to
# halve it would leave the coefficients where rounding, and so the processor, has them, at half of their digits.
ROUNDING = 16 * np.finfo(np.float64).eps


def fit_logistic(features: Floats, correct: Ints | Floats) -> Floats | None:
    """The coefficients of `sigmoid(features @ coefficients)` with the largest likelihood; None if there are none.

    Args:
        features: [instances, features]; a column of ones is an intercept.
        correct: [instances], 0 or 1.
    Returns:
        [features]. None where no finite coefficients are the best, as where confidence separates right from wrong, or
        where several are equally good, as where a feature is constant.
    """
    coefficients = np.zeros(features.shape[1])
    loss, share = _loss(features, correct, coefficients)
    for _ in range(MAX_STEPS):
        information = (features * (share * (1 - share))[:, None]).T @ features
        scale = np.sqrt(np.diag(information))
        if not (scale > 0).all() or np.linalg.cond(information / np.outer(scale, scale)) > 1e12:
            return None
        step = np.linalg.solve(information, features.T @ (correct - share))
        for _ in range(HALVINGS):
            tried_loss, tried_share = _loss(features, correct, coefficients + step)
            if tried_loss <= loss + ROUNDING * abs(loss):
                break
            step /= 2
        coefficients, loss, share = coefficients + step, tried_loss, tried_share
        if np.abs(coefficients).max() > LARGEST:
            return None
        if np.abs(step).max() <= CLOSE * (1 + np.abs(coefficients).max()):
            return coefficients
    return None


def _loss(features: Floats, correct: Ints | Floats, coefficients: Floats) -> tuple[float, Floats]:
    """Negative log-likelihood, and the probability of each instance."""
    logit = features @ coefficients
    loss = np.logaddexp(0, logit) - correct * logit
    return float(loss.sum()), sigmoid(logit)


def sigmoid(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), of any shape, without overflow."""
    small = np.exp(-np.abs(logit))
    probability: Floats = np.where(logit >= 0, 1, small) / (1 + small)
    return probability
