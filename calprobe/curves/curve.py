"""What every kind of curve has: options, lines that name their run, and the two forms beside a figure.

A kind is a module of this package: its frozen result, how it is computed, the columns of its table, how it is drawn.

Arrays of a line are [points], in the order they are drawn. `low` and `high` are the ends of 95 % intervals; NaN where
no resamples were asked for, or the value itself is undefined (NaN). Every kind has two other forms: `frame()`, a tidy
table with the columns of the class's `COLUMNS`, and `to_json()`, where NaN is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args

import numpy as np

from calprobe.measures.json_values import estimate_json
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.messages import check_word
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, Any]  # by name: an array [rows], or one value for all of the rows
AccuracyOf = Literal["own", "base"]
LEAD = ("run", "model", "estimator")  # the columns that every table begins with


@dataclass(frozen=True, slots=True)
class CurveOptions:
    """How to read runs, and the estimators to draw."""

    scores: ReportOptions = DEFAULT_OPTIONS
    estimators: tuple[str, ...] | None = None  # by the names of `report`; None: the paper's, as far as a run has them
    accuracy: AccuracyOf = "own"  # accuracy-ace: of the estimator's own answers, or of base's
    among: int | None = None  # accuracy-ace: answer options that larger answer spaces are cut to; None: all of them

    def __post_init__(self) -> None:
        check_word("accuracy", self.accuracy, get_args(AccuracyOf))


DEFAULT_CURVE_OPTIONS = CurveOptions()


@dataclass(frozen=True, slots=True)
class Line:
    """What a line, or point, belongs to."""

    run: str  # the run as typed
    model: str
    estimator: str
    templates: tuple[int, ...]  # numbers of those that the estimator reads

    @property
    def lead(self) -> dict[str, Any]:
        """The columns that every table begins with."""
        return {"run": self.run, "model": self.model, "estimator": self.estimator}


AnyLine = TypeVar("AnyLine", bound=Line)


@dataclass(frozen=True, slots=True)
class Curves:
    """Any kind, see `calprobe.curves.KINDS`."""

    kind: ClassVar[str]  # as `calprobe curve --kind` has it
    COLUMNS: ClassVar[tuple[str, ...]]  # of `frame`

    def frame(self) -> pd.DataFrame:
        """The tidy table that `calprobe curve` writes: a row a point, with the columns COLUMNS. NaN where undefined."""
        return tidy(self._parts(), self.COLUMNS)

    def to_json(self) -> dict[str, Any]:
        """The fields by their names, and the kind, as JSON can hold them: NaN is None."""
        return {"kind": self.kind, **plain(self)}

    def only(self, estimators: Sequence[str]) -> Self:
        """With these estimators alone, in this order, if the kind lets one choose among many; else the same."""
        return self

    def of_runs(self) -> tuple[Line, ...]:
        """All of its lines or points."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(line for value in values if isinstance(value, tuple) for line in value if isinstance(line, Line))

    def _parts(self) -> Iterable[Columns]:
        """The blocks of rows that the table is made of."""
        raise NotImplementedError


def lines_of(lines: Sequence[AnyLine], estimators: Sequence[str]) -> tuple[AnyLine, ...]:
    """The lines of these estimators, run by run in the order given."""
    by_place = {(line.run, line.estimator): line for line in lines}
    places = [(run, name) for run in dict.fromkeys(line.run for line in lines) for name in estimators]
    return tuple(by_place[place] for place in places if place in by_place)


def tidy(columns: Iterable[Columns], order: tuple[str, ...]) -> pd.DataFrame:
    """One table of all parts, each a block of rows, with these columns in this order; a part's lacking ones are NaN.

    >>> tidy([{"run": "a", "x": np.array([1, 2])}, {"run": "b", "x": np.array([3]), "y": 0.5}], ("run", "x", "y"))
      run  x    y
    0   a  1  NaN
    1   a  2  NaN
    2   b  3  0.5
    """
    import pandas as pd

    blocks = [_block(block) for block in columns]
    values = {name: [value for block in blocks for value in block.get(name, _missing(block))] for name in order}
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


def _block(columns: Columns) -> dict[str, list[Any]]:
    """The part's columns as lists of one length."""
    lengths = {len(value) for value in columns.values() if isinstance(value, np.ndarray)}
    n_rows = lengths.pop() if lengths else 1
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else [value] * n_rows for name, value in columns.items()
    }


def _missing(block: Mapping[str, list[Any]]) -> list[float]:
    return [float("nan")] * len(next(iter(block.values())))
