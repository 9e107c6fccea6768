"""A fitted map from an uncertainty without a scale to the chance of being right, with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics.logistic import sigmoid
from calprobe.words import Calibrate

Form = Calibrate | Literal["constant"]


@dataclass(frozen=True, slots=True)
class UncertaintyMap:
    """One map, in the uncertainty's own unit. `constant` stands for one that could not be fitted: all get the share."""

    form: Form
    parameters: Mapping[str, float] = field(default_factory=dict)  # a and b of logistic, share of constant
    knots: tuple[tuple[float, float], ...] = ()  # isotonic: uncertainty and share; straight lines lie between them

    def __call__(self, uncertainty: Floats) -> Floats:
        """The chance of being right for uncertainties of any shape, within [0, 1].

        >>> UncertaintyMap("logistic", {"a": 0.0, "b": -1.0})(np.array([0.0, 3.0])).round(3).tolist()
        [0.5, 0.047]
        """
        if self.form == "isotonic":
            knots = np.array(self.knots)
            shares: Floats = np.interp(uncertainty, knots[:, 0], knots[:, 1])
            return shares
        if self.form == "logistic":
            return sigmoid(self.parameters["a"] + self.parameters["b"] * np.asarray(uncertainty, np.float64))
        return np.full(np.shape(uncertainty), self.parameters["share"])

    @property
    def steps(self) -> int:
        """Different shares of an isotonic map."""
        return len({share for _, share in self.knots})

    def to_json(self) -> dict[str, Any]:
        """The map as an object of JSON.

        >>> UncertaintyMap("constant", {"share": 0.5}).to_json()
        {'form': 'constant', 'share': 0.5}
        """
        knots = {"knots": [list(knot) for knot in self.knots]} if self.knots else {}
        return {"form": self.form, **self.parameters, **knots}


@dataclass(frozen=True, slots=True)
class UncertaintyMaps:
    """The maps of one uncertainty."""

    all: UncertaintyMap  # fitted on all answers
    folds: tuple[UncertaintyMap, ...]  # fitted on the answers to the other questions: those that made the numbers

    def to_json(self) -> dict[str, Any]:
        """One estimator's object under `maps`."""
        return {"all": self.all.to_json(), "folds": [fold.to_json() for fold in self.folds]}
