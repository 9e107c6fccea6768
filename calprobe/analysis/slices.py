"""A run's numbers slice by slice: by relation, domain, cardinality, or a covariate that a file has of its facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.analysis.chosen import known_estimators
from calprobe.analysis.covariates import OF_REPLIES, Covariate, as_numbers, groups_of
from calprobe.analysis.estimates import estimates_of, mean_estimate
from calprobe.analysis.groups import natural_order, relation_groups
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.trends import Trend, covariate_json, trends
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE, Headline, headline
from calprobe.errors import UsageError
from calprobe.interop.answer_texts import texts_if_known
from calprobe.metrics import Estimate, Metric, standard_metrics
from calprobe.metrics.smooth_ece import SMOOTH_ECE
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
UNDEFINED = Estimate(float("nan"))
NO_DOMAIN = "no domain"
NO_CARDINALITY = "no cardinality"


@dataclass(frozen=True, slots=True)
class Slice:
    """The numbers of some instances of a run: those that a run of these instances alone would have."""

    name: str
    relations: tuple[str, ...]  # of its instances
    instances: int
    mean_candidates: float  # K, mean over the instances
    chance_accuracy: float  # mean 1/K over the instances
    accuracy: Estimate | None  # of base; None if the run has no template for it
    bear_score: Estimate | None  # None with fewer than two paraphrases
    estimators: Mapping[str, Mapping[str, Estimate]]  # by estimator, then by name of METRICS and smooth_ece
    ends: tuple[float, float] | None = None  # the least and the largest number of a numeric covariate in it

    def to_json(self) -> dict[str, Any]:
        """The slice's object in `calprobe report --by .. --json`; NaN is None."""
        ends = {} if self.ends is None else {"low": self.ends[0], "high": self.ends[1]}
        return ends | {
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
    """The slices of one run, by name in natural order or by size of numbers; what has no value is the last one."""

    by: str  # a SliceKind, or the name of the covariate
    estimators: tuple[str, ...]  # those shown, in the order asked
    slices: tuple[Slice, ...]
    covariate: Covariate | None = None
    lacking: int = 0  # instances that the covariate has no value for
    trends: Mapping[str, Trend] = field(default_factory=dict)  # by estimator, of a numeric covariate

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --by .. --json` says under `slices`: by what, and then an object for each slice."""
        return {self.by: {part.name: part.to_json() for part in self.slices}}

    def covariate_json(self) -> dict[str, Any] | None:
        """What `calprobe report --by FILE --json` says under `covariate`; None of other slices."""
        return None if self.covariate is None else covariate_json(self.covariate, self.lacking, self.trends)


@dataclass(frozen=True, slots=True)
class _Members:
    """The instances of a slice."""

    name: str
    kept: npt.NDArray[np.bool_]  # [instances]
    relations: tuple[str, ...]
    ends: tuple[float, float] | None = None


def slice_run(run: ScoredRun, options: ReportOptions) -> RunSlices:
    """The slices that `options.slices` asks for, with 95 % bootstrap intervals over each slice's own instances.

    A relation of two domains counts in both. Confidences are those of the run: `temperature` is fitted over all
    of its relations, every other estimator reads one instance at a time.

    Args:
        run: its manifest gives the relations' domains and cardinalities.
        options: what to slice by and which estimators; number of ACE bins, resamples, their clusters. A
            slice of fewer than ten relations has no interval where these are drawn.
    Raises:
        UsageError: an estimator needs templates that the run does not have; a covariate is of other facts.
        ValueError: no slices are asked for.
    """
    if options.slices is None:
        raise ValueError("options.slices must say what to slice by; got None")
    by = options.slices.by
    estimators = _chosen(run.label, options.slices.estimators, tuple(run.estimators))
    metrics = tuple(metric for metric in standard_metrics(options.slice_bins) if metric.name in METRICS)
    if isinstance(by, Covariate):
        values = by.of(_ids(run, by), run.label, complete=not run.facts.partial and not run.manifest.limits())
        slices = tuple(_slice(own, run, estimators, metrics, options) for own in _covariate_members(run, by, values))
        shown = estimators if by.numeric else ()
        samples = {name: run.cell.sample(name) for name in shown}
        trend = trends(as_numbers(values), samples, options.resampling, run.clusters) if by.numeric else {}
        return RunSlices(by.name, estimators, slices, by, sum(value is None for value in values), trend)
    groups = _groups(by, run.manifest, np.unique(run.instances.group).tolist())
    members = (_Members(name, np.isin(run.instances.group, own), own) for name, own in groups)
    return RunSlices(by, estimators, tuple(_slice(own, run, estimators, metrics, options) for own in members))


def _ids(run: ScoredRun, covariate: Covariate) -> list[tuple[str, ...]]:
    """What the covariate's rows call each instance. Raises UsageError where the run does not know it."""
    if covariate.key in OF_REPLIES:
        raise UsageError(
            f"{covariate.file} has values of questions; a run of scores needs the columns relation and instance"
        )
    relations, lines = run.instances.group.tolist(), run.instances.id.tolist()
    if covariate.key == ("relation", "instance"):
        return [(relation, str(line)) for relation, line in zip(relations, lines, strict=True)]
    texts = texts_if_known(run.manifest, run.recorded.path if run.recorded else None)
    if not texts.known:
        raise UsageError(
            f"{covariate.file}: the subjects of {run.label} are not known here; give the columns relation and "
            "instance, or fetch the probe"
        )
    subjects = [str(texts.subject(*own)) for own in zip(relations, lines, strict=True)]
    if covariate.key == ("subject",):
        return [(subject,) for subject in subjects]
    return list(zip(relations, subjects, strict=True))


def _covariate_members(
    run: ScoredRun, covariate: Covariate, values: Sequence[float | str | None]
) -> Iterator[_Members]:
    for group in groups_of(covariate, values):
        relations = tuple(sorted(np.unique(run.instances.group[group.kept]).tolist(), key=natural_order))
        ends = None if group.low is None or group.high is None else (group.low, group.high)
        yield _Members(group.name, group.kept, relations, ends)


def _chosen(label: str, asked: Sequence[str] | None, given: Sequence[str]) -> tuple[str, ...]:
    """The estimators that an option names, all of which must be there, or the usual ones as far as they are."""
    if asked is None:
        return tuple(name for name in headline(Headline.FIRST) if name in given)
    return known_estimators(label, asked, given)


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
    members: _Members,
    run: ScoredRun,
    estimators: Sequence[str],
    metrics: Sequence[Metric],
    options: ReportOptions,
) -> Slice:
    kept = members.kept
    widths = run.widths[kept]
    names = [name for name in dict.fromkeys((BASE, *estimators)) if name in run.estimators]
    shown = (*metrics, SMOOTH_ECE)  # which has the least bias on few instances
    estimates = estimates_of(run.cell, shown, options.resampling, names, kept, smooth=False)
    shares = run.right_shares
    return Slice(
        name=members.name,
        relations=members.relations,
        instances=int(kept.sum()),
        mean_candidates=float(widths.mean()),
        chance_accuracy=float((1 / widths).mean()),
        accuracy=estimates[BASE]["accuracy"] if BASE in estimates else None,
        bear_score=None if shares is None else mean_estimate(shares, kept, options.resampling, run.clusters),
        estimators={
            name: {metric.name: estimates[name].get(metric.name, UNDEFINED) for metric in shown} for name in estimators
        },
        ends=members.ends,
    )
