"""What a comparison says, as plain frozen data: contrasts of two runs, or within a run, with their JSON."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.in_notebook import InNotebook
from calprobe.measures.json_values import record_json, value_json
from calprobe.measures.options import CompareOptions
from calprobe.metrics import Difference, Estimate, Metric, PairedDraws
from calprobe.metrics.error_shown import ByChance
from calprobe.metrics.intervals import SIGNIFICANT
from calprobe.words import ClusterKind, Correction

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether a difference lies within a margin: p-values of "it is as large as the margin, or larger"."""

    JSON: ClassVar = "margin p=p_value p_holm"

    margin: float
    p_value: float
    p_holm: float = NAN


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
    few: int = 0  # facts or questions, or relations where these are drawn, if they are too few for a test
    failed: tuple[int, int] = (0, 0)  # facts without an answer, of a metric that they make look good
    repeated: bool = False  # whether another one before it is the same test, and is counted by the correction

    @property
    def p_corrected(self) -> float:
        """The p-value under the correction that was chosen."""
        return self.p_holm if self.corrected_by == "holm" else self.p_max_t

    @property
    def alike(self) -> bool:
        """Whether both sides answer as many facts, without which neither is better: who answers fewer errs less."""
        return self.failed[0] == self.failed[1]

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_corrected < SIGNIFICANT

    @property
    def tested(self) -> dict[str, Any]:
        """The difference with its p-values as JSON; NaN is None."""
        p_values = {"p": self.difference.p_value, "p_holm": self.p_holm, "p_max_t": self.p_max_t}
        return {**value_json(self.difference), **value_json(p_values)}

    def to_json(self) -> dict[str, Any]:
        """Both estimates, and the difference with its p-values; NaN is None."""
        numbers = {"first": value_json(self.first), "second": value_json(self.second)}
        numbers["difference"] = self.tested
        if self.by_chance is not None:
            numbers["if_calibrated"] = [value_json(side.size) for side in self.by_chance]
            numbers["p_calibrated"] = [value_json(side.p) for side in self.by_chance]
        return numbers if self.equivalence is None else numbers | {"equivalence": value_json(self.equivalence)}


def by_estimator(contrasts: Iterable[Contrast]) -> dict[str, dict[str, Contrast]]:
    """The contrasts that are of an estimator, by its name and by metric."""
    by_name: dict[str, dict[str, Contrast]] = {}
    for contrast in contrasts:
        if contrast.estimator is not None:
            by_name.setdefault(contrast.estimator, {})[contrast.metric] = contrast
    return by_name


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two predictions of base agree: shares of the instances, NaN without any."""

    same_prediction: float  # right or wrong; an instance that failed in either has none
    both_right: float
    first_right: float  # and the second wrong
    second_right: float  # and the first wrong
    mcnemar_p: float = NAN  # of equal accuracy, exact; NaN where relations are resampled: it takes single instances


@dataclass(frozen=True, slots=True)
class Scope:
    """A pair's numbers over all of its relations, or over those of a domain."""

    JSON: ClassVar = "relations instances accuracy estimators agreement unit ties failed"

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
        return by_estimator(self.contrasts)


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Two runs side by side."""

    JSON: ClassVar = "first second templates accuracy_of differences all=everything nearest_domain domains=by_domain"

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

    @property
    def by_domain(self) -> dict[str, Scope]:
        """Those of the domains, by name."""
        return {str(scope.domain): scope for scope in self.domains}


@dataclass(frozen=True, slots=True)
class WithinPair:
    """Two estimators of one run against each other, or two of its templates."""

    first: str  # the estimator's name, or `template 0`
    second: str
    contrasts: tuple[Contrast, ...]  # of two templates: estimator by estimator
    agreement: Agreement | None = None  # of two templates

    def to_json(self) -> dict[str, Any]:
        """The pair's object: `metrics` of two estimators, `estimators` of two templates."""
        sides = {"first": self.first, "second": self.second}
        if self.agreement is None:
            return sides | {"metrics": {contrast.metric: contrast.to_json() for contrast in self.contrasts}}
        return {**sides, **value_json({"estimators": by_estimator(self.contrasts), "agreement": self.agreement})}


@dataclass(frozen=True, slots=True)
class Grounding:
    """How far the mean confidence follows the percentage that a statement names: 0 is not at all, 1 is fully."""

    JSON: ClassVar = "percentages slope=contrast.tested"

    percentages: tuple[int, ...]
    contrast: Contrast  # of no two sides: the slope of mean confidence on the percentage / 100, by least squares

    @property
    def slope(self) -> Difference:
        """With its interval; its p-value is of a slope of 0."""
        return self.contrast.difference


@dataclass(frozen=True, slots=True)
class WithinRun:
    """Contrasts within one run: of its estimators, its epistemic markers, its templates."""

    JSON: ClassVar = "run=run.label unit estimators markers templates grounding failed"

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
        kinds = {"estimators": self.estimators, "markers": self.markers, "templates": self.templates}
        return {kind: pairs for kind, pairs in kinds.items() if pairs}


class Corrected(InNotebook, ABC):
    """A comparison of any kind of runs: its p-values are corrected for all of them."""

    __slots__ = ()
    metrics: tuple[Metric, ...]  # in the order of rows
    options: CompareOptions  # with the correction that was chosen

    @property
    @abstractmethod
    def contrasts(self) -> Iterator[Contrast]:
        """Everything that has a p-value."""

    @abstractmethod
    def replaced(self, change: Callable[[Contrast], Contrast]) -> Self:
        """The comparison with all of it changed, in this order."""

    @property
    def correction(self) -> Correction:
        """The one that stars and notes go by."""
        return self.options.correction or "holm"

    @property
    def tests(self) -> int:
        """Number of p-values that the correction counts: those of different tests."""
        return sum(not math.isnan(contrast.p_holm) and not contrast.repeated for contrast in self.contrasts)


@dataclass(frozen=True, slots=True)
class Comparison(Corrected):
    """Pairs of runs, or contrasts within one, with what was asked and the metrics in the order of their rows."""

    JSON: ClassVar = "pairs unpaired tests correction within"

    runs: tuple[RunFacts, ...]
    pairs: tuple[PairComparison, ...]
    unpaired: Mapping[str, str]  # why, by the label of a run that is in no pair
    metrics: tuple[Metric, ...]
    options: CompareOptions  # with the correction that was chosen
    within: WithinRun | None = None  # None: of several runs
    remarks: tuple[str, ...] = ()  # sentences on how the pairs were chosen

    @property
    def contrasts(self) -> Iterator[Contrast]:
        """Everything that has a p-value."""
        for pair in self.pairs:
            for scope in pair.scopes:
                yield from scope.contrasts
        if self.within is not None:
            for pairs in self.within.kinds.values():
                for within_pair in pairs:
                    yield from within_pair.contrasts
            if self.within.grounding is not None:
                yield self.within.grounding.contrast

    @property
    def titles(self) -> Mapping[str, str]:
        """The metrics' titles, by name."""
        return {metric.name: metric.title for metric in self.metrics}

    @property
    def units(self) -> tuple[ClusterKind, ...]:
        """What was resampled, over all scopes."""
        units = [scope.unit for pair in self.pairs for scope in pair.scopes]
        return tuple(dict.fromkeys([*units, *([self.within.unit] if self.within else [])]))

    def replaced(self, change: Callable[[Contrast], Contrast]) -> Self:
        """The comparison with everything that has a p-value changed, in the order of `contrasts`."""
        pairs = tuple(
            replace(
                pair,
                everything=changed(pair.everything, change),
                domains=tuple(changed(d, change) for d in pair.domains),
            )
            for pair in self.pairs
        )
        within = self.within
        if within is not None:
            kinds = {kind: tuple(changed(pair, change) for pair in pairs) for kind, pairs in within.kinds.items()}
            original = within.grounding
            grounding = original and replace(original, contrast=change(original.contrast))
            within = WithinRun(within.run, within.unit, **kinds, grounding=grounding, failed=within.failed)
        return replace(self, pairs=pairs, within=within)

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe compare --json`: docs/how-to/compare.md describes it. NaN is None."""
        return {"runs": {run.label: run.to_json() for run in self.runs}} | record_json(self)


def changed(part: Any, change: Callable[[Contrast], Contrast]) -> Any:
    """A scope or a pair with its contrasts changed."""
    return replace(part, contrasts=tuple(map(change, part.contrasts)))
