"""A run's numbers slice by slice: of each relation, of the relations of a domain, of those of one cardinality."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.analysis.groups import relation_groups
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.analysis.meaningful import is_meaningful
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.scored_run import ScoredRun, mean_of
from calprobe.confidence import BASE, Estimator, Headline, headline
from calprobe.errors import UsageError
from calprobe.messages import no_estimator
from calprobe.metrics import Estimate, Metric, bootstrap_many, smooth_ece, standard_metrics
from calprobe.metrics.bootstrap import Predictions
from calprobe.runs import Manifest
from calprobe.words import SliceKind

METRICS = (
    *(
        "accuracy",
        "confidence_gap",
        "ace",
        "ece",
        "debiased_ece",
        "ace_if_calibrated",
        "ace_if_calibrated_p95",
        "ace_p",
    ),
    "brier",
)
NO_DOMAIN = "no domain"
NO_CARDINALITY = "no cardinality"


@dataclass(frozen=True, slots=True)
class Slice:
    """The numbers of some relations of a run: those that a run of these relations alone would have."""

    name: str
    relations: tuple[str, ...]
    instances: int
    mean_candidates: float  # K, mean over the instances
    chance_accuracy: float  # mean 1/K over the instances
    accuracy: Estimate | None  # of base; None if the run has no template for it
    bear_score: Estimate | None  # None with fewer than two paraphrases
    estimators: Mapping[str, Mapping[str, Estimate]]  # by estimator, then by name of METRICS and smooth_ece

    def to_json(self) -> dict[str, Any]:
        """The slice's object in `calprobe report --by .. --json`; NaN is None."""
        return {
            "relations": list(self.relations),
            "instances": self.instances,
            "mean_candidates": number_json(self.mean_candidates),
            "chance_accuracy": number_json(self.chance_accuracy),
            "accuracy": estimate_json(self.accuracy),
            "bear_score": estimate_json(self.bear_score),
            "estimators": {
                name: {metric: estimate_json(estimate) for metric, estimate in metrics.items()}
                for name, metrics in self.estimators.items()
            },
        }


@dataclass(frozen=True, slots=True)
class RunSlices:
    """The slices of one run, by name in natural order; relations without a domain are the last one."""

    by: SliceKind
    estimators: tuple[str, ...]  # those shown, in the order asked
    slices: tuple[Slice, ...]

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --by .. --json` says under `slices`: by what, and then an object for each slice."""
        return {self.by: {part.name: part.to_json() for part in self.slices}}


def slice_run(run: ScoredRun, options: ReportOptions) -> RunSlices:
    """The slices that `options.slices` asks for, with 95 % bootstrap intervals over each slice's own instances.

    A relation of two domains counts in both. Confidences are those of the run: `temperature` is fitted over all
    of its relations, every other estimator reads one instance at a time.

    Args:
        run: its manifest gives the relations' domains and cardinalities.
        options: what to slice by and which estimators; number of ACE bins, resamples, their clusters. A
            slice of fewer than ten relations has no interval where these are drawn.
    Raises:
        UsageError: an estimator needs templates that the run does not have.
        ValueError: no slices are asked for.
    """
    if options.slices is None:
        raise ValueError("options.slices must say what to slice by; got None")
    estimators = _chosen(run.label, options.slices.estimators, tuple(run.estimators))
    metrics = tuple(metric for metric in standard_metrics(options.slice_bins) if metric.name in METRICS)
    groups = _groups(options.slices.by, run.manifest, np.unique(run.instances.relation).tolist())
    slices = (_slice(name, relations, run, estimators, metrics, options) for name, relations in groups)
    return RunSlices(options.slices.by, estimators, tuple(slices))


def _chosen(label: str, asked: Sequence[str] | None, given: Sequence[str]) -> tuple[str, ...]:
    """The estimators that an option names, all of which must be there, or the usual ones as far as they are."""
    if asked is None:
        return tuple(name for name in headline(Headline.FIRST) if name in given)
    if lacking := [name for name in asked if name not in given]:
        raise UsageError(no_estimator(label, lacking, given))
    return tuple(dict.fromkeys(asked))


def _groups(by: SliceKind, manifest: Manifest, relations: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each slice's name and relations."""
    records = {name: manifest.relation(name) for name in relations}
    if by == "domain":
        yield from relation_groups({name: record.domains for name, record in records.items()}).items()
        without = {name: [NO_DOMAIN] for name, record in records.items() if not record.domains}
        yield from relation_groups(without).items()
    elif by == "cardinality":
        known = {name: [record.cardinality or NO_CARDINALITY] for name, record in records.items()}
        yield from relation_groups(known).items()
    else:
        yield from relation_groups({name: [name] for name in records}).items()


def _slice(
    name: str,
    relations: tuple[str, ...],
    run: ScoredRun,
    estimators: Sequence[str],
    metrics: Sequence[Metric],
    options: ReportOptions,
) -> Slice:
    kept: npt.NDArray[np.bool_] = np.isin(run.instances.relation, relations)
    widths, labels = run.widths[kept], run.clusters
    confidences = run.confidences([name for name in dict.fromkeys((BASE, *estimators)) if name in run.estimators])
    samples = {name: (found.confidence[kept], found.correct[kept]) for name, found in confidences.items()}
    estimates = bootstrap_many(metrics, samples, options.resampling, None if labels is None else labels[kept])
    shares = run.right_shares
    return Slice(
        name=name,
        relations=relations,
        instances=int(kept.sum()),
        mean_candidates=float(widths.mean()),
        chance_accuracy=float((1 / widths).mean()),
        accuracy=estimates[BASE]["accuracy"] if BASE in estimates else None,
        bear_score=None if shares is None else mean_of(shares, kept, options, labels),
        estimators={
            name: _meaningful_ones(run.estimators[name], metrics, estimates[name], samples[name]) for name in estimators
        },
    )


def _meaningful_ones(
    estimator: Estimator, metrics: Sequence[Metric], found: Mapping[str, Estimate], sample: Predictions
) -> dict[str, Estimate]:
    """The metrics, NaN where they have no meaning, and smooth ECE, which has the least bias on few instances.

    Its interval would take longer than all the others.
    """
    undefined = Estimate(float("nan"))
    own = {metric.name: found[metric.name] if is_meaningful(metric, estimator) else undefined for metric in metrics}
    smooth = Estimate(smooth_ece(*sample).value) if estimator.scale == "probability" else undefined
    return own | {"smooth_ece": smooth}
