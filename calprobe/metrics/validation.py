"""The checks at the public boundary of the metrics: one place, one wording (argument, rule, value)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_vector, check_whole, refuse

__all__ = ["check_confidence", "check_correct", "check_count", "check_vector", "check_whole", "refuse"]


def check_confidence(confidence: npt.ArrayLike, name: str = "confidence") -> Floats:
    """The confidences as float64 [instances]; ValueError unless one-dimensional, without NaN and within [0, 1]."""
    values = check_vector(name, confidence)
    refuse(name, "must lie in [0, 1] and not be NaN", values, ~((values >= 0) & (values <= 1)))
    return values


def check_correct(correct: npt.ArrayLike, n_instances: int) -> Ints:
    """Correctness as int64 0 or 1 [instances]; ValueError unless of that length and all 0, 1, False or True."""
    values = check_vector("correct", correct)
    if len(values) != n_instances:
        raise ValueError(f"correct must have as many entries as confidence, {n_instances}; got {len(values)}")
    refuse("correct", "must be true or false (1 or 0)", values, (values != 0) & (values != 1))
    return values.astype(np.int64)


def check_count(name: str, value: int, least: int) -> None:
    """ValueError unless the argument of that name is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
