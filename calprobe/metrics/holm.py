"""Correction of p-values for how many of them there are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_numbers, refuse


def holm(p_values: npt.ArrayLike) -> Floats:
    """P-values adjusted for their number, so that at most 5 % of all tables have a false difference below 0.05.

    The k-th smallest of m becomes `max over j <= k of min(1, (m - j + 1) p_j)`. Source: Holm 1979, "A Simple
    Sequentially Rejective Multiple Test Procedure"; valid however the p-values depend on each other, and never less
    powerful than Bonferroni's `m p`.

    Args:
        p_values: a table of any shape, in [0, 1]. NaN is no test: it stays NaN and does not count.
    Returns:
        The adjusted p-values, in the same shape, none smaller than before. Equal p-values stay equal.
    Raises:
        ValueError: not numbers, or a value out of range.

    >>> holm([0.01, 0.04, 0.03, float("nan")]).round(10).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    given = check_numbers("p_values", p_values)
    flat = given.ravel()
    refuse("p_values", "must lie in [0, 1] or be NaN", flat, (flat < 0) | (flat > 1))
    tests = np.flatnonzero(~np.isnan(flat))
    ascending = tests[np.argsort(flat[tests], kind="stable")]
    adjusted = np.full(len(flat), np.nan)
    scaled = flat[ascending] * np.arange(len(ascending), 0, -1)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted.reshape(given.shape)
