"""Numbers as JSON can hold them: NaN is None."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter
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


def value_json(value: Any) -> Any:
    """A number, an estimate, a record or several of them, as JSON has it; NaN is None.

    A record has a `to_json` of its own, or is an object: of the keys that its class names in `JSON`, each with the
    attribute behind `=` where that has another name, or is an attribute's (`run.label`), or else of all its fields.
    """
    if isinstance(value, Estimate | Difference):
        return estimate_json(Estimate(value.value, value.low, value.high))
    if isinstance(value, float):
        return number_json(value)
    if isinstance(value, tuple | list):
        return [value_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: value_json(item) for name, item in value.items()}
    if hasattr(value, "to_json"):
        return value.to_json()
    return record_json(value) if is_dataclass(value) else value


def record_json(record: Any, keys: str = "") -> dict[str, Any]:
    """The object of a record's keys, or of those given, see `value_json`; for a `to_json` that adds others.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Share:
    ...     rows: int
    ...     share: Estimate
    >>> Share.JSON = "n=rows share"
    >>> record_json(Share(3, Estimate(0.5)))
    {'n': 3, 'share': {'value': 0.5, 'ci95': None}}
    """
    named: str = keys or getattr(record, "JSON", "") or " ".join(field.name for field in fields(record))
    pairs = [key.partition("=") for key in named.split()]
    return {key: value_json(attrgetter(attribute or key)(record)) for key, _, attribute in pairs}
