"""A fitted map from confidence to the chance of being right, with its parameters, in numbers that a file can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics.calibration_tests import logit
from calprobe.metrics.logistic import sigmoid
from calprobe.metrics.scoring_rules import LEAST_PROBABILITY
from calprobe.words import Recalibration

Form = Recalibration | Literal["constant"]
# By form, the names of the parameters: see `calprobe.metrics.recalibrated`.
PARAMETERS: Mapping[Form, tuple[str, ...]] = {
    "isotonic": (),
    "platt": ("a", "b"),
    "beta": ("a", "b", "c"),
    "temperature": ("T",),
    "constant": ("share",),
}


@dataclass(frozen=True, slots=True)
class CalibrationMap:
    """One map. `constant` stands for a map that could not be fitted: all gets the share that was right."""

    form: Form
    parameters: Mapping[str, float] = field(default_factory=dict)  # by PARAMETERS
    knots: tuple[tuple[float, float], ...] = ()  # isotonic: confidence and share; straight lines lie between them

    def __post_init__(self) -> None:
        confidences, shares = [x for x, _ in self.knots], [y for _, y in self.knots]
        is_form = self.form in PARAMETERS and set(self.parameters) == set(PARAMETERS[self.form])
        numbers = [*self.parameters.values(), *confidences, *shares]
        if not is_form or not all(map(math.isfinite, numbers)) or (self.form == "isotonic") != bool(self.knots):
            raise ValueError(f"not a map of the form {self.form!r}: {dict(self.parameters)}, {len(self.knots)} knots")
        if confidences != sorted(confidences) or shares != sorted(shares) or not all(0 <= y <= 1 for y in shares):
            raise ValueError("knots must ascend in confidence and in share, and shares lie within 0 and 1")

        if not 0 <= self.parameters.get("share", 0) <= 1 or self.parameters.get("T") == 0:
            raise ValueError(f"not a map: share must lie within 0 and 1, and T not be 0; got {dict(self.parameters)}")

    def __call__(self, confidence: Floats) -> Floats:
        """The chance of being right for confidences in [0, 1], of any shape.

        >>> CalibrationMap("temperature", {"T": 2.0})(np.array([0.9])).round(6).tolist()
        [0.75]
        """
        parameters = self.parameters
        if self.form == "isotonic":
            knots = np.array(self.knots)
            shares: Floats = np.interp(confidence, knots[:, 0], knots[:, 1])
            return shares
        if self.form == "platt":
            return sigmoid(parameters["a"] + parameters["b"] * logit(confidence))
        if self.form == "temperature":
            return sigmoid(logit(confidence) / parameters["T"])
        if self.form == "beta":
            clipped = np.clip(confidence, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
            return sigmoid(parameters["a"] * np.log(clipped) - parameters["b"] * np.log1p(-clipped) + parameters["c"])
        return np.full(np.shape(confidence), parameters["share"])

    @property
    def steps(self) -> int:
        """Different shares of an isotonic map."""
        return len({share for _, share in self.knots})

    def to_json(self) -> dict[str, Any]:
        """The map as an object of JSON, which `from_json` reads.

        >>> CalibrationMap("platt", {"a": -1.0, "b": 0.5}).to_json()
        {'form': 'platt', 'a': -1.0, 'b': 0.5}
        """
        knots = {"knots": [list(knot) for knot in self.knots]} if self.knots else {}
        return {"form": self.form, **self.parameters, **knots}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The map of an object of JSON. Raises ValueError for what is none."""
        try:
            numbers = {name: float(value) for name, value in given.items() if name not in ("form", "knots")}
            return cls(given["form"], numbers, tuple((float(x), float(y)) for x, y in given.get("knots", ())))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a map ({error})") from error
