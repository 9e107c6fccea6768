"""The numbers of a pair of runs, over all relations and over domains; p-values are corrected in `contrasts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask
from calprobe.cells.scored import ScoredRun, cluster_labels, right_shares
from calprobe.confidence import BASE, NO_PREDICTION, Confidence, Estimator
from calprobe.confidence.types import default_row, paraphrase_rows
from calprobe.measures.compare_match import Part, Shared, tied_instances
from calprobe.measures.compare_results import Agreement, Contrast, PairComparison, Scope
from calprobe.measures.contrasts import Drawn, Sides, agreement_of, contrasts_of
from calprobe.measures.covariates import relation_groups
from calprobe.measures.options import CompareOptions
from calprobe.metrics import MANY_CLUSTERS, Metric, bootstrap_mean, paired_draws
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE
from calprobe.words import ClusterKind

BY_RELATION = MANY_CLUSTERS  # relations from which on they are resampled, where nothing else is asked
Two = tuple[ScoredRun, ScoredRun]


def drawn_of(relation: npt.NDArray[np.str_], options: CompareOptions) -> Drawn:
    """How instances of these relations are drawn: by relation if that is asked, or from 30 relations on."""
    many = len(np.unique(relation)) >= BY_RELATION
    unit: ClusterKind = options.scores.cluster or ("relation" if many else "instance")
    return Drawn.of(options, cluster_labels(relation, replace(options.scores, cluster=unit)), unit)


def sides_of(first: Confidence, second: Confidence, estimators: Sequence[Estimator], ties: Mask | None = None) -> Sides:
    """Two confidences in the same instances, of probabilities or of order."""
    failed = int(first.failed.sum()), int(second.failed.sum())
    return Sides(
        (first.confidence, first.correct), (second.confidence, second.correct), tuple(estimators), ties, failed
    )


def agreement_of_base(first: Confidence, second: Confidence, drawn: Drawn, ties: Mask | None = None) -> Agreement:
    """How two predictions agree; one that failed is the same as no other."""
    same = (first.prediction == second.prediction) & (first.prediction != NO_PREDICTION)
    return agreement_of(same, first.correct, second.correct, ties, tested=drawn.unit != "relation")


def compare_pair(
    runs: Two, shared: Shared, estimators: Sequence[str], metrics: Sequence[Metric], options: CompareOptions
) -> PairComparison:
    """The pair's numbers over all relations and over the nearest domain, or every one; p-values are not corrected."""
    shared_runs = shared.first.of(runs[0]), shared.second.of(runs[1])
    first_shares, second_shares = accuracy_shares(runs[0], shared.first), accuracy_shares(runs[1], shared.second)
    pair = _Pair(
        runs=shared_runs,
        accuracies=None if first_shares is None or second_shares is None else (first_shares, second_shares),
        ties=tied_instances(shared_runs[0].table, shared_runs[1].table),
        estimators=tuple(name for name in estimators if all(name in run.estimators for run in shared_runs)),
        metrics=metrics,
        options=options,
    )
    relation, templates = shared_runs[0].instances.group, shared_runs[0].table.templates
    masks = _domain_masks(runs, relation)
    nearest = pair.nearest_domain(masks)
    domains = {name: mask for name, mask in masks.items() if options.by_domain or name == nearest}
    has_paraphrases = bool(paraphrase_rows(templates))
    return PairComparison(
        first=runs[0].label,
        second=runs[1].label,
        templates=tuple(template.number for template in templates),
        accuracy_of=None if pair.accuracies is None else "bear_score" if has_paraphrases else "base",
        differences=shared.differences,
        everything=pair.scope(None, np.ones(len(relation), np.bool_)),
        domains=tuple(pair.scope(name, mask) for name, mask in domains.items()),
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
        gaps = {name: abs(first[mask].mean() - second[mask].mean()) for name, mask in masks.items()}
        return min(gaps, key=lambda name: gaps[name], default=None)

    def scope(self, domain: str | None, kept: Mask) -> Scope:
        """The numbers over the instances kept."""
        relation = self.runs[0].instances.group[kept]
        drawn = drawn_of(relation, self.options)
        has_base = all(BASE in run.estimators for run in self.runs)
        return Scope(
            domain,
            relations=len(np.unique(relation)),
            instances=int(kept.sum()),
            contrasts=tuple(self._contrasts(kept, drawn)),
            agreement=agreement_of_base(*self._both(BASE, kept), drawn, self.ties[kept]) if has_base else None,
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
        return sides_of(*self._both(estimator, kept), [self.runs[0].estimators[estimator]], self.ties[kept])

    def _both(self, estimator: str, kept: Mask) -> tuple[Confidence, Confidence]:
        first, second = (run.confidence(estimator).at(kept) for run in self.runs)
        return first, second


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
    resampling = drawn.resampling
    pair = ("first", "second")
    draws = paired_draws([MEAN_CONFIDENCE], samples, [pair], resampling, drawn.clusters)[pair]
    estimates = bootstrap_mean(first, resampling, drawn.clusters), bootstrap_mean(second, resampling, drawn.clusters)
    return drawn.contrast(None, "accuracy", estimates, draws[MEAN_CONFIDENCE.name])
