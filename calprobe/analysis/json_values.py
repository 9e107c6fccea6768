"""Numbers as JSON can hold them: NaN is None."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from calprobe.metrics import Difference, Estimate


def estimate_json(estimate: Estimate | None) -> dict[str, Any] | None:
    """The value and its interval; NaN is None, and so is an interval that is not there.

    >>> estimate_json(Estimate(0.5, 0.25, 0.75)), estimate_json(Estimate(float("nan")))
    ({'value': 0.5, 'ci95': [0.25, 0.75]}, {'value': None, 'ci95': None})
    """
    if estimate is None:
        return None
    interval = None if math.isnan(estimate.low) else [estimate.low, estimate.high]
    return {"value": number_json(estimate.value), "ci95": interval}


def number_json(value: float) -> float | None:
    """The number; None for NaN."""
    return None if math.isnan(value) else float(value)


def value_json(value: Any, record: Callable[[Any], Mapping[str, Any] | None]) -> Any:
    """A number, an estimate, a difference, a record or several of them, as JSON has it; NaN is None.

    `record` gives the values of a record by key, and None for what is none.
    """
    if isinstance(value, Estimate | Difference):
        return estimate_json(Estimate(value.value, value.low, value.high))
    if isinstance(value, float):
        return number_json(value)
    if isinstance(value, tuple):
        return [value_json(own, record) for own in value]
    named = value if isinstance(value, Mapping) else record(value)
    return value if named is None else {name: value_json(own, record) for name, own in named.items()}
