"""What a comparison of runs says, as plain frozen data, and the numbers of each pair over all relations and domains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calprobe.analysis.compare_match import Part, Shared
from calprobe.analysis.groups import relation_groups
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.analysis.options import CompareOptions
from calprobe.analysis.scored_run import Labels, RunFacts, ScoredRun, cluster_labels, right_shares
from calprobe.arrays import Floats
from calprobe.confidence import BASE, NO_PREDICTION
from calprobe.confidence.types import default_row, paraphrase_rows
from calprobe.metrics import (
    Difference,
    Estimate,
    Metric,
    Resampling,
    bootstrap_many,
    bootstrap_mean,
    paired_differences,
)
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE

SIGNIFICANT = 0.05  # what a corrected p-value is held against
Two = tuple[ScoredRun, ScoredRun]
Mask = npt.NDArray[np.bool_]  # [instances]


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


def compare_pair(
    runs: Two, shared: Shared, estimators: Sequence[str], metrics: Sequence[Metric], options: CompareOptions
) -> PairComparison:
    """The pair's numbers over all relations and over the nearest domain, or every one; p-values are not corrected."""
    parts = shared.first.of(runs[0]), shared.second.of(runs[1])
    own, other = accuracy_shares(runs[0], shared.first), accuracy_shares(runs[1], shared.second)
    pair = _Pair(
        runs=parts,
        accuracies=None if own is None or other is None else (own, other),
        estimators=tuple(name for name in estimators if name in parts[0].estimators),
        metrics=metrics,
        options=options,
    )
    relation, templates = parts[0].instances.relation, parts[0].table.templates
    masks = _domain_masks(runs, relation)
    nearest = pair.nearest_domain(masks)
    shown = {name: kept for name, kept in masks.items() if options.by_domain or name == nearest}
    several = bool(paraphrase_rows(templates))
    return PairComparison(
        first=runs[0].label,
        second=runs[1].label,
        templates=tuple(template.number for template in templates),
        accuracy_of=None if pair.accuracies is None else "bear_score" if several else "base",
        differences=shared.differences,
        everything=pair.scope(None, np.ones(len(relation), np.bool_)),
        domains=tuple(pair.scope(name, kept) for name, kept in shown.items()),
        nearest_domain=nearest,
    )


def accuracy_shares(run: ScoredRun, part: Part) -> Floats | None:
    """How many of the part's paraphrases get each of its instances right, [instances]; its mean is the BEAR score.

    With fewer than two paraphrases, whether base does; None if the part has no template for it either.
    """
    templates = [run.table.templates[row] for row in part.rows]
    row = default_row(templates)
    rows = paraphrase_rows(templates) or (() if row is None else (row,))
    return right_shares(run.distributions, part.rows[list(rows)].tolist())[part.places] if rows else None


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs over what they share, which has one order of instances and templates in both."""

    runs: Two
    accuracies: tuple[Floats, Floats] | None  # [instances] each, see `accuracy_shares`
    estimators: tuple[str, ...]  # those that are compared, as far as the shared templates give them
    metrics: Sequence[Metric]
    options: CompareOptions

    def nearest_domain(self, masks: Mapping[str, Mask]) -> str | None:
        """That whose accuracies differ least, the first by name on a tie."""
        if self.accuracies is None:
            return None
        first, second = self.accuracies
        gaps = {name: abs(first[kept].mean() - second[kept].mean()) for name, kept in masks.items()}
        return min(gaps, key=lambda name: gaps[name], default=None)

    def scope(self, domain: str | None, kept: Mask) -> Scope:
        """The numbers over the instances kept."""
        relation = self.runs[0].instances.relation[kept]
        return Scope(
            domain,
            relations=len(np.unique(relation)),
            instances=int(kept.sum()),
            contrasts=tuple(self._contrasts(kept, cluster_labels(relation, self.options.scores))),
            agreement=_agreement(self.runs, kept),
        )

    def _contrasts(self, kept: Mask, clusters: Labels | None) -> Iterator[Contrast]:
        """Accuracy, where there is one, then each estimator's metrics, over the instances kept."""
        resampling = self.options.scores.resampling
        if self.accuracies is not None:
            first, second = self.accuracies
            yield _accuracy((first[kept], second[kept]), resampling, clusters)
        samples = {
            f"{place} {name}": (found.confidence[kept], found.correct[kept])
            for place, run in enumerate(self.runs)
            for name, found in run.confidences(self.estimators).items()
        }
        pairs = {name: (f"0 {name}", f"1 {name}") for name in self.estimators}
        estimates = bootstrap_many(self.metrics, samples, resampling, clusters)
        differences = paired_differences(self.metrics, samples, pairs.values(), resampling, clusters)
        for name, pair in pairs.items():
            for metric in self.metrics:
                own, other = (estimates[sample][metric.name] for sample in pair)
                yield Contrast(name, metric.name, own, other, differences[pair][metric.name])


def _domain_masks(runs: Two, relation: npt.NDArray[np.str_]) -> dict[str, Mask]:
    """Which instances are in each domain, by name; a relation of two domains is in both.

    An import may not know its relations' domains: then they are the other run's.
    """
    first, second = (run.manifest for run in runs)
    names = np.unique(relation).tolist()
    groups = relation_groups({name: first.relation(name).domains or second.relation(name).domains for name in names})
    return {domain: np.isin(relation, members) for domain, members in groups.items()}


def _accuracy(shares: tuple[Floats, Floats], resampling: Resampling, clusters: Labels | None) -> Contrast:
    # The mean of a quantity in [0, 1] is what the mean confidence is of confidences; correctness is not read.
    samples = {str(place): (share, np.zeros(len(share))) for place, share in enumerate(shares)}
    differences = paired_differences([MEAN_CONFIDENCE], samples, [("0", "1")], resampling, clusters)
    return Contrast(
        None,
        "accuracy",
        bootstrap_mean(shares[0], resampling, clusters),
        bootstrap_mean(shares[1], resampling, clusters),
        differences["0", "1"][MEAN_CONFIDENCE.name],
    )


def _agreement(runs: Two, kept: Mask) -> Agreement | None:
    """Of base; None without a template for it."""
    if any(BASE not in run.estimators for run in runs):
        return None
    if not kept.any():
        return Agreement(*[float("nan")] * 4)
    base = [run.confidence(BASE) for run in runs]
    first, second = (found.prediction[kept] for found in base)
    right, other_right = (found.correct[kept] for found in base)
    return Agreement(
        same_prediction=float(((first == second) & (first != NO_PREDICTION)).mean()),
        both_right=float((right & other_right).mean()),
        first_right=float((right & ~other_right).mean()),
        second_right=float((~right & other_right).mean()),
    )
