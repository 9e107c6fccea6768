"""The numbers of a cell's rows group by group, by a covariate of their questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.analysis.covariates import Covariate
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.analysis.trends import Trend, covariate_json
from calprobe.confidence.estimator import Scale
from calprobe.metrics import Estimate


@dataclass(frozen=True, slots=True)
class SliceEstimator:
    """One estimator on a slice, over the rows that it could be read of."""

    coverage: Estimate  # their share of the slice's rows that were asked
    metrics: Mapping[str, Estimate]  # by name
    scale: Scale

    def to_json(self) -> dict[str, Any]:
        """Its metrics and its coverage."""
        return {name: estimate_json(own) for name, own in self.metrics.items()} | {
            "coverage": estimate_json(self.coverage)
        }


@dataclass(frozen=True, slots=True)
class AskedSlice:
    """The numbers of some questions of a cell: those that a run of these questions alone would have."""

    name: str
    rows: int
    questions: int
    chance: float  # mean 1/K over the rows, 0 of free answers
    accuracy: Estimate  # by the reader that confidences go by, an answer that was not read being wrong
    estimators: Mapping[str, SliceEstimator]
    ends: tuple[float, float] | None = None  # the least and the largest number of a numeric covariate in it

    def to_json(self) -> dict[str, Any]:
        """The slice's object in `calprobe report --by FILE --json`."""
        ends = {} if self.ends is None else {"low": self.ends[0], "high": self.ends[1]}
        return ends | {
            "n": self.rows,
            "questions": self.questions,
            "chance": number_json(self.chance),
            "accuracy": estimate_json(self.accuracy),
            "estimators": {name: own.to_json() for name, own in self.estimators.items()},
        }


@dataclass(frozen=True, slots=True)
class CellSlices:
    """The slices of a cell: categories in natural order or numbers by size; what has no value is the last one."""

    covariate: Covariate
    slices: tuple[AskedSlice, ...]
    lacking: int  # questions of the cell that have no value
    trends: Mapping[str, Trend]  # by estimator that is a probability, of a numeric covariate

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --by FILE --json` says under `slices` and `covariate` of a variant."""
        return {
            "slices": {self.covariate.name: {part.name: part.to_json() for part in self.slices}},
            "covariate": covariate_json(self.covariate, self.lacking, self.trends),
        }
