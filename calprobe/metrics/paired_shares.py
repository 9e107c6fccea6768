"""The difference of two shares of the same instances: a closed form that holds for a handful of them."""

from __future__ import annotations

import math

from calprobe.metrics.intervals import Estimate
from calprobe.metrics.statistics import NORMAL


def paired_share_difference(first_only: int, second_only: int, instances: int) -> Estimate:
    """How much larger the first share is than the second, of the same instances, with its 95 % interval.

    The value is `(b - c) / n`. The interval is that of Bonett and Price 2012, "Adjusted Wald Confidence Interval for a
    Difference of Binomial Proportions Based on Paired Data": with `p = (b + 1) / (n + 2)`, `q = (c + 1) / (n + 2)` it
    is `p - q -+ 1.96 sqrt((p + q - (p - q)^2) / (n + 2))`, within [-1, 1] and drawn out to hold the value. It has a
    width where b and c are 0, and where a bootstrap of a few instances has none.

    Args:
        first_only: b, instances that only the first gets right, >= 0.
        second_only: c, instances that only the second gets right, >= 0.
        instances: n, at least b + c.
    Returns:
        An estimate in [-1, 1], NaN without instances. It takes instances for independent draws.
    Raises:
        ValueError: a negative count, or more than there are instances.

    >>> found = paired_share_difference(5, 1, 20)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.2, -0.058, 0.422)
    """
    if min(first_only, second_only) < 0 or first_only + second_only > instances:
        raise ValueError(
            f"first_only and second_only must be counts of {instances} instances; got {first_only} and {second_only}"
        )
    if not instances:
        return Estimate(float("nan"))
    value, n = (first_only - second_only) / instances, instances + 2
    p, q = (first_only + 1) / n, (second_only + 1) / n
    reach = NORMAL * math.sqrt((p + q - (p - q) ** 2) / n)
    return Estimate(value, max(-1.0, min(p - q - reach, value)), min(1.0, max(p - q + reach, value)))
