"""What a comparison of runs says, as plain frozen data: drawn on a terminal, written as JSON, never computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.analysis.options import CompareOptions
from calprobe.analysis.scored_run import RunFacts
from calprobe.metrics import Difference, Estimate, Metric

SIGNIFICANT = 0.05  # what a corrected p-value is held against


@dataclass(frozen=True, slots=True)
class Contrast:
    """One number of two runs on the same instances, and its difference, first less second."""

    estimator: str | None  # None: the accuracy that pairs and domains are matched by
    metric: str
    first: Estimate
    second: Estimate
    difference: Difference
    p_holm: float = float("nan")  # the difference's p-value, corrected for all of the comparison's; NaN without one

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm < SIGNIFICANT

    def to_json(self) -> dict[str, Any]:
        """Both estimates, and the difference with its p-values; NaN is None."""
        difference = self.difference
        found = estimate_json(Estimate(difference.value, difference.low, difference.high)) or {}
        p_values = {"p": number_json(difference.p_value), "p_holm": number_json(self.p_holm)}
        return {
            "first": estimate_json(self.first),
            "second": estimate_json(self.second),
            "difference": found | p_values,
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two runs' predictions of base go together: shares of the instances, NaN without any."""

    same_prediction: float  # right or wrong; an instance that failed in either has none
    both_right: float
    first_right: float  # and the second wrong
    second_right: float  # and the first wrong

    def to_json(self) -> dict[str, float | None]:
        """The shares by name; NaN is None."""
        return {name: number_json(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Scope:
    """A pair's numbers over all of its relations, or over those of a domain."""

    domain: str | None  # None: all relations
    relations: int
    instances: int
    contrasts: tuple[Contrast, ...]  # accuracy first, where there is one, then estimator by estimator
    agreement: Agreement | None  # None if the pair has no template for base

    @property
    def accuracy(self) -> Contrast | None:
        """The accuracy that pairs and domains are matched by; None if the pair has no template for it."""
        return next((contrast for contrast in self.contrasts if contrast.estimator is None), None)

    @property
    def estimators(self) -> dict[str, dict[str, Contrast]]:
        """The other contrasts, by estimator and metric."""
        found: dict[str, dict[str, Contrast]] = {}
        for contrast in self.contrasts:
            if contrast.estimator is not None:
                found.setdefault(contrast.estimator, {})[contrast.metric] = contrast
        return found

    def to_json(self) -> dict[str, Any]:
        """The object of a pair's `all`, or of one of its `domains`."""
        return {
            "relations": self.relations,
            "instances": self.instances,
            "accuracy": self.accuracy.to_json() if self.accuracy else None,
            "estimators": {
                name: {metric: contrast.to_json() for metric, contrast in metrics.items()}
                for name, metrics in self.estimators.items()
            },
            "agreement": self.agreement.to_json() if self.agreement else None,
        }


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Two runs side by side."""

    first: str  # label
    second: str
    templates: tuple[int, ...]  # numbers of those that are compared
    accuracy_of: Literal["bear_score", "base"] | None  # what the accuracy is: of the paraphrases, or of one template
    differences: tuple[str, ...]  # what the runs differ in, and --intersect went by; none without it
    everything: Scope
    domains: tuple[Scope, ...]  # by name: all, or the nearest alone; none where no relation has a domain
    nearest_domain: str | None  # that whose accuracies differ least, the first by name on a tie

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All relations, then the domains."""
        return (self.everything, *self.domains)

    def to_json(self) -> dict[str, Any]:
        """The pair's object in `calprobe compare --json`."""
        return {
            "first": self.first,
            "second": self.second,
            "templates": list(self.templates),
            "accuracy_of": self.accuracy_of,
            "differences": list(self.differences),
            "all": self.everything.to_json(),
            "nearest_domain": self.nearest_domain,
            "domains": {str(scope.domain): scope.to_json() for scope in self.domains},
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of runs, with what was asked and the metrics in the order of their rows."""

    runs: tuple[RunFacts, ...]
    pairs: tuple[PairComparison, ...]
    unpaired: Mapping[str, str]  # why, by the label of a run that is in no pair
    metrics: tuple[Metric, ...]
    options: CompareOptions

    @property
    def tests(self) -> int:
        """Number of p-values, all of which Holm's correction counts."""
        found = (contrast for pair in self.pairs for scope in pair.scopes for contrast in scope.contrasts)
        return sum(not math.isnan(contrast.p_holm) for contrast in found)

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe compare --json`: docs/how-to/compare.md describes it. NaN is None."""
        return {
            "runs": {run.label: run.to_json() for run in self.runs},
            "pairs": [pair.to_json() for pair in self.pairs],
            "unpaired": dict(self.unpaired),
            "tests": self.tests,
        }
