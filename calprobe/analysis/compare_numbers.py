"""The numbers of one pair of runs, over all relations and over domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.analysis.compare_match import Part, Shared
from calprobe.analysis.compare_results import Agreement, Contrast, PairComparison, Scope
from calprobe.analysis.groups import relation_groups
from calprobe.analysis.options import CompareOptions
from calprobe.analysis.scored_run import ScoredRun, right_shares
from calprobe.arrays import Floats
from calprobe.confidence import BASE, NO_PREDICTION
from calprobe.confidence.types import default_row, paraphrase_rows
from calprobe.metrics import Metric, Resampling, bootstrap_many, bootstrap_mean, paired_differences
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE

Two = tuple[ScoredRun, ScoredRun]
Mask = npt.NDArray[np.bool_]  # [instances]


@dataclass(frozen=True, slots=True)
class _Side:
    """One run of a pair, over what the two share."""

    run: ScoredRun
    accuracy: Floats | None  # [instances], see `accuracy_shares`
    estimators: tuple[str, ...]  # those that are compared, as far as the shared templates give them

    @classmethod
    def of(cls, run: ScoredRun, part: Part, estimators: Sequence[str]) -> _Side:
        """The run's side of a pair."""
        shared = part.of(run)
        return cls(shared, accuracy_shares(run, part), tuple(name for name in estimators if name in shared.estimators))


def compare_pair(
    runs: Two, shared: Shared, estimators: Sequence[str], metrics: Sequence[Metric], options: CompareOptions
) -> PairComparison:
    """The pair's numbers over all relations and over the nearest domain, or every one; p-values are not corrected."""
    sides = _Side.of(runs[0], shared.first, estimators), _Side.of(runs[1], shared.second, estimators)
    table = sides[0].run.table
    relation, templates = table.relation, table.templates
    masks = _domain_masks(runs, relation)
    nearest = _nearest_domain(sides, masks)

    def scope(domain: str | None, kept: Mask) -> Scope:
        clusters = relation[kept] if options.scores.cluster == "relation" else None
        return Scope(
            domain,
            relations=len(np.unique(relation[kept])),
            instances=int(kept.sum()),
            contrasts=tuple(_contrasts(sides, kept, metrics, options.scores.resampling, clusters)),
            agreement=_agreement(sides, kept),
        )

    several = bool(paraphrase_rows(templates))
    shown = {name: kept for name, kept in masks.items() if options.by_domain or name == nearest}
    return PairComparison(
        first=runs[0].label,
        second=runs[1].label,
        templates=tuple(template.number for template in templates),
        accuracy_of=None if sides[0].accuracy is None else "bear_score" if several else "base",
        differences=shared.differences,
        everything=scope(None, np.ones(len(relation), np.bool_)),
        domains=tuple(scope(name, kept) for name, kept in shown.items()),
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


def _domain_masks(runs: Two, relation: npt.NDArray[np.str_]) -> dict[str, Mask]:
    """Which instances are in each domain, by name; a relation of two domains is in both.

    An import may not know its relations' domains: then they are the other run's.
    """
    first, second = (run.manifest for run in runs)
    names = np.unique(relation).tolist()
    groups = relation_groups({name: first.relation(name).domains or second.relation(name).domains for name in names})
    return {domain: np.isin(relation, members) for domain, members in groups.items()}


def _nearest_domain(sides: tuple[_Side, _Side], masks: Mapping[str, Mask]) -> str | None:
    """That whose accuracies differ least, the first by name on a tie."""
    first, second = sides[0].accuracy, sides[1].accuracy
    if first is None or second is None:
        return None
    gaps = {name: abs(first[kept].mean() - second[kept].mean()) for name, kept in masks.items()}
    return min(gaps, key=lambda name: gaps[name], default=None)


def _contrasts(
    sides: tuple[_Side, _Side],
    kept: Mask,
    metrics: Sequence[Metric],
    resampling: Resampling,
    clusters: npt.NDArray[np.str_] | None,
) -> Iterator[Contrast]:
    """Accuracy, where there is one, then each estimator's metrics, over the instances kept."""
    first, second = sides
    if first.accuracy is not None and second.accuracy is not None:
        yield _accuracy((first.accuracy[kept], second.accuracy[kept]), resampling, clusters)
    samples = {
        f"{place} {name}": (found.confidence[kept], found.correct[kept])
        for place, side in enumerate(sides)
        for name, found in side.run.confidences(side.estimators).items()
    }
    pairs = {name: (f"0 {name}", f"1 {name}") for name in first.estimators}
    estimates = bootstrap_many(metrics, samples, resampling, clusters)
    differences = paired_differences(metrics, samples, pairs.values(), resampling, clusters)
    for name, pair in pairs.items():
        for metric in metrics:
            own, other = (estimates[sample][metric.name] for sample in pair)
            yield Contrast(name, metric.name, own, other, differences[pair][metric.name])


def _accuracy(shares: tuple[Floats, Floats], resampling: Resampling, clusters: npt.NDArray[np.str_] | None) -> Contrast:
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


def _agreement(sides: tuple[_Side, _Side], kept: Mask) -> Agreement | None:
    """Of base; None without a template for it."""
    if any(BASE not in side.run.estimators for side in sides):
        return None
    if not kept.any():
        return Agreement(*[float("nan")] * 4)
    base = [side.run.confidence(BASE) for side in sides]
    first, second = (found.prediction[kept] for found in base)
    right, other_right = (found.correct[kept] for found in base)
    return Agreement(
        same_prediction=float(((first == second) & (first != NO_PREDICTION)).mean()),
        both_right=float((right & other_right).mean()),
        first_right=float((right & ~other_right).mean()),
        second_right=float((~right & other_right).mean()),
    )
