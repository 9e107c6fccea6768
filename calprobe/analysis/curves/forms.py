"""The two forms that every curve takes beside a figure: a tidy table, and what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.analysis.json_values import estimate_json
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, Any]  # by name: an array [rows], or one value for all of the rows


def tidy(columns: Iterable[Columns], order: tuple[str, ...]) -> pd.DataFrame:
    """One table of all parts, each a block of rows, with these columns in this order; a part's lacking ones are NaN.

    >>> tidy([{"run": "a", "x": np.array([1, 2])}, {"run": "b", "x": np.array([3]), "y": 0.5}], ("run", "x", "y"))
      run  x    y
    0   a  1  NaN
    1   a  2  NaN
    2   b  3  0.5
    """
    import pandas as pd

    parts = [_block(part) for part in columns]
    values = {name: [value for part in parts for value in part.get(name, _missing(part))] for name in order}
    return pd.DataFrame(values, columns=list(order))


def estimate_columns(name: str, estimate: Estimate) -> dict[str, float]:
    """An estimate as three columns, the value and the ends of its interval."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def plain(value: Any) -> Any:
    """A result as dicts, lists, numbers and texts: arrays are lists, NaN is None, an estimate {value, ci95}.

    >>> plain({"x": np.array([0.5, np.nan]), "accuracy": Estimate(0.25)})
    {'x': [0.5, None], 'accuracy': {'value': 0.25, 'ci95': None}}
    """
    if isinstance(value, Estimate):
        return estimate_json(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return None if isinstance(value, float) and math.isnan(value) else value


def _block(part: Columns) -> dict[str, list[Any]]:
    """The part's columns as lists of one length."""
    lengths = {len(value) for value in part.values() if isinstance(value, np.ndarray)}
    n_rows = lengths.pop() if lengths else 1
    return {name: value.tolist() if isinstance(value, np.ndarray) else [value] * n_rows for name, value in part.items()}


def _missing(part: Mapping[str, list[Any]]) -> list[float]:
    return [float("nan")] * len(next(iter(part.values())))
