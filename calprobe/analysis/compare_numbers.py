"""The numbers of one pair of runs, over all relations and over domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.analysis.compare_match import Part, ScoredRun, Shared
from calprobe.analysis.compare_results import Agreement, CompareOptions, Contrast, PairComparison, Scope
from calprobe.analysis.groups import relation_groups
from calprobe.confidence import Confidence, Distributions, available_estimators
from calprobe.confidence.distributions import NO_PREDICTION
from calprobe.confidence.types import default_row, paraphrase_rows
from calprobe.metrics import Metric, Resampling, bootstrap_many, bootstrap_mean, paired_differences
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE
from calprobe.types import Floats, Ints

Two = tuple[ScoredRun, ScoredRun]
Mask = npt.NDArray[np.bool_]  # [instances]


@dataclass(frozen=True, slots=True)
class _Side:
    """What is compared of one run of a pair, instance by instance."""

    accuracy: Floats | None  # [instances], see `right_shares`
    predictions: Ints | None  # [instances], of base; None without a template for it
    confidences: Mapping[str, Confidence]  # by estimator

    @classmethod
    def of(cls, run: ScoredRun, part: Part, estimators: Sequence[str]) -> _Side:
        """The run's, with those of the estimators that the part's templates give, in the order asked."""
        table = part.of(run.table)
        distributions, row = Distributions.from_table(table), default_row(table.templates)
        given = {estimator.name: estimator for estimator in available_estimators(table.templates)}
        return cls(
            accuracy=right_shares(run, part),
            predictions=None if row is None else run.predictions[part.rows[row], part.places],
            confidences={name: given[name](distributions) for name in estimators if name in given},
        )


def compare_pair(
    runs: Two, shared: Shared, estimators: Sequence[str], metrics: Sequence[Metric], options: CompareOptions
) -> PairComparison:
    """The pair's numbers over all relations and over the nearest domain, or every one; p-values are not corrected."""
    sides = _Side.of(runs[0], shared.first, estimators), _Side.of(runs[1], shared.second, estimators)
    relation = runs[0].table.relation[shared.first.places]
    answer_idx = runs[0].table.answer_idx[shared.first.places]
    masks = _domain_masks(runs, relation)
    nearest = _nearest_domain(sides, masks)

    def scope(domain: str | None, kept: Mask) -> Scope:
        clusters = relation[kept] if options.scores.cluster == "relation" else None
        return Scope(
            domain,
            relations=len(np.unique(relation[kept])),
            instances=int(kept.sum()),
            contrasts=tuple(_contrasts(sides, kept, metrics, options.scores.resampling, clusters)),
            agreement=_agreement(sides, kept, answer_idx),
        )

    templates = [runs[0].table.templates[row] for row in shared.first.rows]
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


def right_shares(run: ScoredRun, part: Part) -> Floats | None:
    """How many of the paraphrases get each instance right, [instances], a share; its mean is the BEAR score.

    With fewer than two paraphrases, whether base does; None if the part has no template for it either.
    """
    templates = [run.table.templates[row] for row in part.rows]
    row = default_row(templates)
    rows = paraphrase_rows(templates) or (() if row is None else (row,))
    if not rows:
        return None
    predictions = run.predictions[np.ix_(part.rows[list(rows)], part.places)]
    shares: Floats = (predictions == run.table.answer_idx[part.places]).mean(axis=0)
    return shares


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
        for name, found in side.confidences.items()
    }
    pairs = {name: (f"0 {name}", f"1 {name}") for name in first.confidences}
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


def _agreement(sides: tuple[_Side, _Side], kept: Mask, answer_idx: Ints) -> Agreement | None:
    """Of base; None without a template for it."""
    if sides[0].predictions is None or sides[1].predictions is None:
        return None
    if not kept.any():
        return Agreement(*[float("nan")] * 4)
    first, second, answers = sides[0].predictions[kept], sides[1].predictions[kept], answer_idx[kept]
    right, other_right = first == answers, second == answers
    return Agreement(
        same_prediction=float(((first == second) & (first != NO_PREDICTION)).mean()),
        both_right=float((right & other_right).mean()),
        first_right=float((right & ~other_right).mean()),
        second_right=float((~right & other_right).mean()),
    )
