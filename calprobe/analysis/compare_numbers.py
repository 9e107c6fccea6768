"""The numbers of a pair of runs, over all relations and over domains; p-values are corrected in `compare_corrected`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calprobe.analysis.compare_match import Part, Shared
from calprobe.analysis.compare_results import Agreement, Contrast, Equivalence, PairComparison, Scope, by_chance_of
from calprobe.analysis.compare_ties import tied_instances
from calprobe.analysis.groups import relation_groups
from calprobe.analysis.meaningful import is_meaningful
from calprobe.analysis.options import CompareOptions
from calprobe.arrays import Floats
from calprobe.cells.cell import Labels
from calprobe.cells.scored import ScoredRun, cluster_labels, right_shares
from calprobe.confidence import BASE, NO_PREDICTION, Confidence, Estimator
from calprobe.confidence.types import default_row, paraphrase_rows
from calprobe.metrics import MANY_CLUSTERS, Estimate, Metric, PairedDraws, bootstrap_mean, mcnemar, paired_draws
from calprobe.metrics.bootstrap import Predictions, draw_samples
from calprobe.metrics.intervals import interval
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE
from calprobe.words import ClusterKind

BY_RELATION = MANY_CLUSTERS  # relations from which on they are resampled, where nothing else is asked
Two = tuple[ScoredRun, ScoredRun]
Mask = npt.NDArray[np.bool_]  # [instances]


@dataclass(frozen=True, slots=True)
class Drawn:
    """How the differences over some instances are drawn."""

    options: CompareOptions
    unit: ClusterKind
    clusters: Labels | None  # [instances] of these

    @classmethod
    def of(cls, relation: npt.NDArray[np.str_], options: CompareOptions) -> Drawn:
        """By relation where that is asked, or nothing is and there are 30 relations or more."""
        many = len(np.unique(relation)) >= BY_RELATION
        unit: ClusterKind = options.scores.cluster or ("relation" if many else "instance")
        return cls(options, unit, cluster_labels(relation, replace(options.scores, cluster=unit)))

    def contrast(
        self, estimator: str | None, metric: str, sides: tuple[Estimate, Estimate], draws: PairedDraws
    ) -> Contrast:
        """A contrast of these estimates and draws, its p-values not corrected."""
        margin = self.options.margin
        equivalence = None if margin is None else Equivalence(margin, draws.equivalence(margin))
        difference, by = draws.difference(), self.options.correction or "holm"
        return Contrast(estimator, metric, *sides, difference, equivalence=equivalence, corrected_by=by, draws=draws)


@dataclass(frozen=True, slots=True)
class Sides:
    """Two confidences in the same instances."""

    first: Confidence
    second: Confidence
    estimators: tuple[Estimator, ...]  # of either side: a metric must have a meaning for all
    ties: Mask | None = None  # instances that both answer alike, see `tied_instances`; None: none

    @property
    def tied(self) -> bool:
        """Whether both answer any instance alike."""
        return self.ties is not None and bool(self.ties.any())

    @property
    def compared(self) -> Confidence:
        """The second, with the first's answers where both answer alike."""
        if self.ties is None or not self.tied:
            return self.second
        first, second = self.first, self.second
        return Confidence(
            np.where(self.ties, first.prediction, second.prediction),
            np.where(self.ties, first.confidence, second.confidence),
            np.where(self.ties, first.correct, second.correct),
        )

    @property
    def named(self) -> dict[str, Confidence]:
        """What is resampled, by name."""
        found = {"first": self.first, "second": self.second}
        return found | ({"compared": self.compared} if self.tied else {})


def contrasts_of(sides: Mapping[str | None, Sides], metrics: Sequence[Metric], drawn: Drawn) -> Iterator[Contrast]:
    """The metrics of both sides that have a meaning, and their differences, by the estimator that both sides are of."""
    samples: dict[str, Predictions] = {}
    for place, own in enumerate(sides.values()):
        for side, found in own.named.items():
            samples[f"{place} {side}"] = (found.confidence, found.correct)
    draws = draw_samples(metrics, samples, drawn.options.scores.resampling, drawn.clusters)
    for place, (name, own) in enumerate(sides.items()):
        first, second = draws[f"{place} first"], draws[f"{place} second"]
        compared = draws[f"{place} compared"] if own.tied else second
        for metric in metrics:
            if not all(is_meaningful(metric, estimator) for estimator in own.estimators):
                continue
            estimates = interval(first[metric.name], metric), interval(second[metric.name], metric)
            difference = PairedDraws.of(first[metric.name], compared[metric.name], metric)
            contrast = drawn.contrast(name, metric.name, estimates, difference)
            errors = first[metric.name], second[metric.name]
            chance = by_chance_of(metric.name, errors, len(own.first.correct), drawn.options)
            yield replace(contrast, by_chance=chance)


def agreement_of(sides: Sides, unit: ClusterKind) -> Agreement:
    """How two predictions agree; McNemar's test takes single instances."""
    first, second = sides.first, sides.second
    if not len(first.correct):
        return Agreement(*[float("nan")] * 4)
    right, other_right, compared = first.correct, second.correct, sides.compared.correct
    counts = int((right & ~compared).sum()), int((~right & compared).sum())
    same = (first.prediction == second.prediction) & (first.prediction != NO_PREDICTION)
    return Agreement(
        same_prediction=float(same.mean()),
        both_right=float((right & other_right).mean()),
        first_right=float((right & ~other_right).mean()),
        second_right=float((~right & other_right).mean()),
        mcnemar_p=mcnemar(*counts) if unit != "relation" else float("nan"),
    )


def compare_pair(
    runs: Two, shared: Shared, estimators: Sequence[str], metrics: Sequence[Metric], options: CompareOptions
) -> PairComparison:
    """The pair's numbers over all relations and over the nearest domain, or every one; p-values are not corrected."""
    parts = shared.first.of(runs[0]), shared.second.of(runs[1])
    own, other = accuracy_shares(runs[0], shared.first), accuracy_shares(runs[1], shared.second)
    pair = _Pair(
        runs=parts,
        accuracies=None if own is None or other is None else (own, other),
        ties=tied_instances(parts[0].table, parts[1].table),
        estimators=tuple(name for name in estimators if name in parts[0].estimators),
        metrics=metrics,
        options=options,
    )
    relation, templates = parts[0].instances.group, parts[0].table.templates
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
    ties: Mask
    estimators: tuple[str, ...]  # those that are compared, as far as the shared templates give them
    metrics: Sequence[Metric]
    options: CompareOptions

    def nearest_domain(self, masks: Mapping[str, Mask]) -> str | None:
        """The one with the smallest difference in accuracy, the first by name on a tie."""
        if self.accuracies is None:
            return None
        first, second = self.accuracies
        gaps = {name: abs(first[kept].mean() - second[kept].mean()) for name, kept in masks.items()}
        return min(gaps, key=lambda name: gaps[name], default=None)

    def scope(self, domain: str | None, kept: Mask) -> Scope:
        """The numbers over the instances kept."""
        relation = self.runs[0].instances.group[kept]
        drawn = Drawn.of(relation, self.options)
        has_base = all(BASE in run.estimators for run in self.runs)
        return Scope(
            domain,
            relations=len(np.unique(relation)),
            instances=int(kept.sum()),
            contrasts=tuple(self._contrasts(kept, drawn)),
            agreement=agreement_of(self._sides(BASE, kept), drawn.unit) if has_base else None,
            unit=drawn.unit,
            ties=int(self.ties[kept].sum()),
            failed={name: counts for name in self.estimators if any(counts := self._failed(name, kept))},
        )

    def _failed(self, estimator: str, kept: Mask) -> tuple[int, int]:
        """Instances without a prediction, in either run."""
        first, second = (int(run.confidence(estimator).failed[kept].sum()) for run in self.runs)
        return first, second

    def _contrasts(self, kept: Mask, drawn: Drawn) -> Iterator[Contrast]:
        """Accuracy, where there is one, then each estimator's metrics, over the instances kept."""
        if self.accuracies is not None:
            first, second = self.accuracies
            yield _accuracy((first[kept], second[kept]), self.ties[kept], drawn)
        yield from contrasts_of({name: self._sides(name, kept) for name in self.estimators}, self.metrics, drawn)

    def _sides(self, estimator: str, kept: Mask) -> Sides:
        first, second = (run.confidence(estimator).at(kept) for run in self.runs)
        return Sides(first, second, (self.runs[0].estimators[estimator],), self.ties[kept])


def _domain_masks(runs: Two, relation: npt.NDArray[np.str_]) -> dict[str, Mask]:
    """Which instances are in each domain, by name; a relation of two domains is in both.

    An import may not know its relations' domains: then they are the other run's.
    """
    first, second = (run.manifest for run in runs)
    names = np.unique(relation).tolist()
    groups = relation_groups({name: first.relation(name).domains or second.relation(name).domains for name in names})
    return {domain: np.isin(relation, members) for domain, members in groups.items()}


def _accuracy(shares: tuple[Floats, Floats], ties: Mask, drawn: Drawn) -> Contrast:
    # The mean of a quantity in [0, 1] is what the mean confidence is of confidences; correctness is not read.
    first, second = shares
    nothing = np.zeros(len(first))
    samples = {"first": (first, nothing), "second": (np.where(ties, first, second), nothing)}
    resampling = drawn.options.scores.resampling
    pair = ("first", "second")
    draws = paired_draws([MEAN_CONFIDENCE], samples, [pair], resampling, drawn.clusters)[pair]
    estimates = bootstrap_mean(first, resampling, drawn.clusters), bootstrap_mean(second, resampling, drawn.clusters)
    return drawn.contrast(None, "accuracy", estimates, draws[MEAN_CONFIDENCE.name])
