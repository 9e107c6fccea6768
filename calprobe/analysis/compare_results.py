"""What a comparison says, as plain frozen data: contrasts of two runs, or within a run, with their JSON."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.analysis.options import CompareOptions
from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Difference, Estimate, Metric, PairedDraws
from calprobe.metrics.error_shown import ERRORS, ByChance, chance_shown
from calprobe.metrics.intervals import Draws
from calprobe.words import ClusterKind, Correction

SIGNIFICANT = 0.05  # corrected p-values below it are marked
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether a difference lies within a margin: p-values of "it is as large as the margin, or larger"."""

    margin: float
    p_value: float
    p_holm: float = NAN

    def to_json(self) -> dict[str, float | None]:
        """The margin and both p-values; NaN is None."""
        return {"margin": self.margin, "p": number_json(self.p_value), "p_holm": number_json(self.p_holm)}


@dataclass(frozen=True, slots=True)
class Contrast:
    """One number of two sides on the same instances, and its difference, first minus second."""

    estimator: str | None  # None: the accuracy that pairs and domains are matched by; or the sides are estimators
    metric: str
    first: Estimate
    second: Estimate
    difference: Difference
    p_holm: float = NAN  # the difference's p-value, corrected for all of the comparison's; NaN without one
    p_max_t: float = NAN
    equivalence: Equivalence | None = None  # None: no margin was given
    corrected_by: Correction = "holm"
    draws: PairedDraws | None = field(default=None, repr=False, compare=False)  # until the p-values are corrected
    # What chance makes of both sides' calibration error, of fewer than 1,000 questions; None of other metrics.
    by_chance: tuple[ByChance, ByChance] | None = None

    @property
    def p_corrected(self) -> float:
        """The p-value under the correction that was chosen."""
        return self.p_holm if self.corrected_by == "holm" else self.p_max_t

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_corrected < SIGNIFICANT

    def to_json(self) -> dict[str, Any]:
        """Both estimates, and the difference with its p-values; NaN is None."""
        found: dict[str, Any] = {
            "first": estimate_json(self.first),
            "second": estimate_json(self.second),
            "difference": _difference_json(self.difference, self.p_holm, self.p_max_t),
        }
        if self.by_chance is not None:
            found["if_calibrated"] = [estimate_json(side.size) for side in self.by_chance]
            found["p_calibrated"] = [number_json(side.p) for side in self.by_chance]
        return found if self.equivalence is None else found | {"equivalence": self.equivalence.to_json()}


def by_chance_of(
    metric: str, sides: tuple[Draws, Draws], questions: int, options: CompareOptions
) -> tuple[ByChance, ByChance] | None:
    """What chance makes of a calibration error of both sides, where it is shown beside it; None elsewhere."""
    if metric not in ERRORS or not chance_shown(questions, options.scores.resampling):
        return None
    first, second = map(ByChance.of, sides)
    return None if first is None or second is None else (first, second)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two predictions of base agree: shares of the instances, NaN without any."""

    same_prediction: float  # right or wrong; an instance that failed in either has none
    both_right: float
    first_right: float  # and the second wrong
    second_right: float  # and the first wrong
    mcnemar_p: float = NAN  # of equal accuracy, exact; NaN where relations are resampled: it takes single instances

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
    unit: ClusterKind = "instance"  # what was resampled
    ties: int = 0  # instances with the same scores in both within their error: equal in every difference
    # By estimator: instances on which it gives no prediction, in the first and in the second; without those of neither.
    failed: Mapping[str, tuple[int, int]] = field(default_factory=dict)

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
            "unit": self.unit,
            "ties": self.ties,
            "failed": {name: list(counts) for name, counts in self.failed.items()},
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
    nearest_domain: str | None  # the one with the smallest difference in accuracy, the first by name on a tie

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
class WithinPair:
    """Two estimators of one run against each other, or two of its templates."""

    first: str  # the estimator's name, or `template 0`
    second: str
    contrasts: tuple[Contrast, ...]  # of two templates: estimator by estimator
    agreement: Agreement | None = None  # of two templates

    def to_json(self) -> dict[str, Any]:
        """The pair's object: `metrics` of two estimators, `estimators` of two templates."""
        found: dict[str, Any] = {"first": self.first, "second": self.second}
        if self.agreement is None:
            return found | {"metrics": {contrast.metric: contrast.to_json() for contrast in self.contrasts}}
        estimators: dict[str, dict[str, Any]] = {}
        for contrast in self.contrasts:
            estimators.setdefault(str(contrast.estimator), {})[contrast.metric] = contrast.to_json()
        return found | {"estimators": estimators, "agreement": self.agreement.to_json()}


@dataclass(frozen=True, slots=True)
class Grounding:
    """How far the mean confidence follows the percentage that a statement names: 0 is not at all, 1 is fully."""

    percentages: tuple[int, ...]
    slope: Difference  # of mean confidence on the percentage / 100, by least squares; its p is of a slope of 0
    p_holm: float = NAN
    p_max_t: float = NAN
    corrected_by: Correction = "holm"
    draws: PairedDraws | None = field(default=None, repr=False, compare=False)  # until the p-values are corrected

    @property
    def p_corrected(self) -> float:
        """The p-value under the correction that was chosen."""
        return self.p_holm if self.corrected_by == "holm" else self.p_max_t

    def to_json(self) -> dict[str, Any]:
        """The percentages, and the slope with its p-values; NaN is None."""
        slope = _difference_json(self.slope, self.p_holm, self.p_max_t)
        return {"percentages": list(self.percentages), "slope": slope}


@dataclass(frozen=True, slots=True)
class WithinRun:
    """Contrasts within one run: of its estimators, its epistemic markers, its templates."""

    run: RunFacts
    unit: ClusterKind  # what was resampled
    estimators: tuple[WithinPair, ...] = ()
    markers: tuple[WithinPair, ...] = ()  # base under a marker, and base of the plain statement
    templates: tuple[WithinPair, ...] = ()
    grounding: Grounding | None = None  # None: fewer than two percentages
    failed: Mapping[str, int] = field(default_factory=dict)  # by estimator: instances on which it gives no prediction

    @property
    def kinds(self) -> Mapping[str, tuple[WithinPair, ...]]:
        """The pairs by what they are of, without kinds that have none."""
        found = {"estimators": self.estimators, "markers": self.markers, "templates": self.templates}
        return {kind: pairs for kind, pairs in found.items() if pairs}

    def to_json(self) -> dict[str, Any]:
        """The object of `within` in `calprobe compare --json`."""
        return {
            "run": self.run.label,
            "unit": self.unit,
            **{kind: [pair.to_json() for pair in getattr(self, kind)] for kind in KINDS},
            "grounding": self.grounding.to_json() if self.grounding else None,
            "failed": dict(self.failed),
        }


KINDS = ("estimators", "markers", "templates")


class Corrected(ABC):
    """A comparison of any kind of runs: its p-values are corrected for all of them."""

    __slots__ = ()
    metrics: tuple[Metric, ...]  # in the order of rows
    options: CompareOptions  # with the correction that was chosen

    @property
    @abstractmethod
    def contrasts(self) -> Iterator[Contrast | Grounding]:
        """Everything that has a p-value."""

    @abstractmethod
    def replaced(self, change: Callable[[Contrast | Grounding], Any]) -> Self:
        """The comparison with all of it changed, in this order."""

    @property
    def correction(self) -> Correction:
        """The one that stars and notes go by."""
        return self.options.correction or "holm"

    @property
    def tests(self) -> int:
        """Number of p-values, all of which the correction counts."""
        return sum(not math.isnan(contrast.p_holm) for contrast in self.contrasts)


@dataclass(frozen=True, slots=True)
class Comparison(Corrected):
    """Pairs of runs, or contrasts within one, with what was asked and the metrics in the order of their rows."""

    runs: tuple[RunFacts, ...]
    pairs: tuple[PairComparison, ...]
    unpaired: Mapping[str, str]  # why, by the label of a run that is in no pair
    metrics: tuple[Metric, ...]
    options: CompareOptions  # with the correction that was chosen
    within: WithinRun | None = None  # None: of several runs
    remarks: tuple[str, ...] = ()  # sentences on how the pairs were chosen

    @property
    def contrasts(self) -> Iterator[Contrast | Grounding]:
        """Everything that has a p-value."""
        for pair in self.pairs:
            for scope in pair.scopes:
                yield from scope.contrasts
        if self.within is not None:
            for pairs in self.within.kinds.values():
                for own in pairs:
                    yield from own.contrasts
            if self.within.grounding is not None:
                yield self.within.grounding

    @property
    def titles(self) -> Mapping[str, str]:
        """The metrics' titles, by name."""
        return {metric.name: metric.title for metric in self.metrics}

    @property
    def units(self) -> tuple[ClusterKind, ...]:
        """What was resampled, over all scopes."""
        found = [scope.unit for pair in self.pairs for scope in pair.scopes]
        return tuple(dict.fromkeys([*found, *([self.within.unit] if self.within else [])]))

    def replaced(self, change: Callable[[Contrast | Grounding], Any]) -> Self:
        """The comparison with everything that has a p-value changed, in the order of `contrasts`."""
        pairs = tuple(
            replace(
                pair,
                everything=_changed(pair.everything, change),
                domains=tuple(_changed(d, change) for d in pair.domains),
            )
            for pair in self.pairs
        )
        within = self.within
        if within is not None:
            kinds = {kind: tuple(_changed(pair, change) for pair in pairs) for kind, pairs in within.kinds.items()}
            grounding = within.grounding and change(within.grounding)
            within = WithinRun(within.run, within.unit, **kinds, grounding=grounding, failed=within.failed)
        return replace(self, pairs=pairs, within=within)

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe compare --json`: docs/how-to/compare.md describes it. NaN is None."""
        return {
            "runs": {run.label: run.to_json() for run in self.runs},
            "pairs": [pair.to_json() for pair in self.pairs],
            "unpaired": dict(self.unpaired),
            "tests": self.tests,
            "correction": self.correction,
            "within": self.within.to_json() if self.within else None,
        }


def _changed(part: Any, change: Callable[[Any], Any]) -> Any:
    """A scope or a pair with its contrasts changed."""
    return replace(part, contrasts=tuple(map(change, part.contrasts)))


def _difference_json(difference: Difference, p_holm: float, p_max_t: float) -> dict[str, Any]:
    found = estimate_json(Estimate(difference.value, difference.low, difference.high)) or {}
    p_values = {"p": difference.p_value, "p_holm": p_holm, "p_max_t": p_max_t}
    return found | {name: number_json(value) for name, value in p_values.items()}
