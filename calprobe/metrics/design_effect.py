"""Proportions of rows that belong together, such as all replies to one question: how many rows they are worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def design_effect(correct: npt.NDArray[np.bool_], groups: npt.ArrayLike) -> float:
    """By how much the variance of a proportion of grouped rows exceeds that of as many independent ones.

    `1 + (m - 1) ICC`, with m the mean group size of a row; Wilson's interval of n / design effect rows is that of the
    proportion. The correlation within groups is that of one-way analysis of variance, within 0 and 1, and `1 / groups`
    of the way from there to 1: few groups say little of it. It is 1 where nothing is known of it, with one group, or
    rows that are all right or all wrong. Source: Kish 1965, "Survey Sampling"; Donner 1986 on the correlation.

    Args:
        correct: [rows].
        groups: [rows], a name or number each.
    Returns:
        At least 1, and at most m; exactly 1 where each group has one row, or without rows.

    >>> design_effect(np.array([True, True, False, False]), ["a", "a", "b", "b"])
    2.0
    """
    _, place, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    rows, number = len(correct), len(sizes)
    if rows == number:
        return 1.0
    mean_size = float((sizes**2).sum()) / rows
    right = np.bincount(place, weights=correct)
    total = float(right.sum())
    if number == 1 or total in (0, rows):
        return mean_size
    explained = float((right**2 / sizes).sum())
    within = (total - explained) / (rows - number)
    between = (explained - total**2 / rows) / (number - 1)
    usual_size = (rows - mean_size) / (number - 1)
    correlation = (between - within) / (between + (usual_size - 1) * within)
    correlation = min(1.0, max(0.0, correlation))
    return 1 + (mean_size - 1) * (correlation + (1 - correlation) / number)
