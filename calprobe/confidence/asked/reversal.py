"""Whether a model turned a reversed scale around, or answered as if it were the usual one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calprobe.arrays import Floats

_SAME = 1e-9  # of two stated values
_LEAST = 2  # rows that a correlation needs


@dataclass(frozen=True, slots=True)
class Reversal:
    """What a reversed prompt states beside the prompt on the same scale that is not reversed."""

    rows: int  # with both confidences, the forward one other than 0.5, where both directions are the same
    turned: float  # share of them with the same confidence in both: the scale was turned around
    not_turned: float  # share with the same number in both, so that the confidences add up to 1
    correlation: float  # Pearson's r of the two confidences over all rows with both; NaN where one is constant

    @property
    def is_ignored(self) -> bool:
        """Whether more replies ignore the direction than follow it: metrics of this prompt say nothing then.

        >>> Reversal(10, turned=0.1, not_turned=0.8, correlation=-0.9).is_ignored
        True
        """
        return self.not_turned > self.turned


def reversal(forward: Floats, turned: Floats) -> Reversal:
    """Compare the confidences of a reversed prompt with those of its forward one.

    Args:
        forward: confidence by the prompt that is not reversed, [rows]; NaN where it could not be read.
        turned: confidence by the reversed one (1 minus its number), [rows]; NaN where it could not be read.
    Returns:
        Shares are NaN without rows.

    >>> forward = np.array([0.9, 0.8, 0.7, 0.5])
    >>> reversal(forward, 1 - forward)
    Reversal(rows=3, turned=0.0, not_turned=1.0, correlation=-1.0)
    """
    both = ~(np.isnan(forward) | np.isnan(turned))
    one, other = forward[both], turned[both]
    asymmetric = np.abs(one - 0.5) > _SAME
    count = int(asymmetric.sum())
    first, second = one[asymmetric], other[asymmetric]
    return Reversal(
        count,
        float((np.abs(first - second) < _SAME).mean()) if count else float("nan"),
        float((np.abs(first + second - 1) < _SAME).mean()) if count else float("nan"),
        _correlation(one, other),
    )


def _correlation(one: Floats, other: Floats) -> float:
    if len(one) < _LEAST or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return round(float(np.corrcoef(one, other)[0, 1]), 12)
