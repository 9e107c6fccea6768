"""Numbers slice by slice: of instances by relation, domain or cardinality, of any units by a covariate of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calprobe.cells.cell import Cell
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE, Headline, headline
from calprobe.errors import UsageError
from calprobe.interop.answer_texts import texts_if_known
from calprobe.measures.chosen import known_estimators
from calprobe.measures.covariates import (
    OF_REPLIES,
    TREE,
    Covariate,
    Group,
    SliceTree,
    as_numbers,
    groups_of,
    natural_order,
    relation_groups,
)
from calprobe.measures.estimates import estimates_of, mean_estimate
from calprobe.measures.halves import half_of
from calprobe.measures.json_values import record_json
from calprobe.measures.options import ReportOptions
from calprobe.measures.slice_gaps import SliceGaps, slice_gaps
from calprobe.measures.slice_trees import (
    feature,
    first_probability,
    gap_of,
    named_groups,
    tree_names,
    with_columns,
)
from calprobe.measures.trends import Trend, covariate_json, trends
from calprobe.metrics import Estimate, Resampling, standard_metrics
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.smooth_ece import SMOOTH_ECE
from calprobe.runs import Manifest
from calprobe.words import SliceKind

METRICS = (
    *("accuracy", "confidence_gap", "ace", "ece", "debiased_ece"),
    *("ace_if_calibrated", "ace_if_calibrated_p95", "ace_p", "brier"),
)
NO_DOMAIN = "no domain"
NO_CARDINALITY = "no cardinality"


@dataclass(frozen=True, slots=True)
class Slice:
    """The numbers of some instances of a run: those that a run of these instances alone would have."""

    JSON: ClassVar = "relations instances mean_candidates chance_accuracy accuracy bear_score estimators"
    OF_REPLIES: ClassVar = "n=instances questions chance=chance_accuracy accuracy estimators=with_coverage"

    name: str
    instances: int  # of replies: answers
    chance_accuracy: float  # mean 1/K over the instances, 0 where answers are free
    # Of base, None if the run has no template for it; of replies by the reader that confidences go by, an answer that
    # was not read being wrong.
    accuracy: Estimate | None
    # By estimator, then by name of METRICS and smooth_ece, of replies AUROC too.
    estimators: Mapping[str, Mapping[str, Estimate]]
    ends: tuple[float, float] | None = None  # the least and the largest number of a numeric covariate in it
    # Of scores:
    relations: tuple[str, ...] = ()  # of its instances
    mean_candidates: float = float("nan")  # K, mean over the instances
    bear_score: Estimate | None = None  # None with fewer than two paraphrases
    # Of replies:
    questions: int | None = None  # None: of scores
    coverage: Mapping[str, Estimate] = field(default_factory=dict)  # by estimator, the share of its answers that it has

    @property
    def sampled(self) -> bool:
        """Whether any of its questions has several answers."""
        return self.questions is not None and self.questions < self.instances

    @property
    def with_coverage(self) -> dict[str, dict[str, Estimate]]:
        """The estimators' metrics, each with its coverage."""
        return {name: {**metrics, "coverage": self.coverage[name]} for name, metrics in self.estimators.items()}

    def to_json(self) -> dict[str, Any]:
        """The slice's object in `calprobe report --by .. --json`; NaN is None."""
        ends = {} if self.ends is None else {"low": self.ends[0], "high": self.ends[1]}
        return ends | record_json(self, self.JSON if self.questions is None else self.OF_REPLIES)


@dataclass(frozen=True, slots=True)
class RunSlices:
    """The slices of one run, by name in natural order or by size of numbers; what has no value is the last one."""

    by: str  # a SliceKind, or the name of the covariate
    estimators: tuple[str, ...]  # those shown, in the order asked
    slices: tuple[Slice, ...]
    covariate: Covariate | None = None
    lacking: int = 0  # instances, or questions, that the covariate has no value for
    trends: Mapping[str, Trend] = field(default_factory=dict)  # by estimator, of a numeric covariate
    # macro: means over the groups, each counting alike; micro: all units together. None of ranges of numbers.
    averages: Mapping[str, Slice] = field(default_factory=dict)
    gaps: Mapping[str, SliceGaps] = field(default_factory=dict)  # by estimator of probabilities

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --by .. --json` says under `slices`: by what, and then an object for each slice."""
        return {self.by: {part.name: part.to_json() for part in self.slices}}

    def covariate_json(self) -> dict[str, Any] | None:
        """What `calprobe report --by FILE --json` says under `covariate`; None of other slices."""
        return None if self.covariate is None else covariate_json(self.covariate, self.lacking, self.trends)


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
    if isinstance(by, Covariate):
        values = by.of(_ids(run, by), run.label, complete=not run.facts.partial and not run.manifest.limits())
        groups = groups_of(by, values)
        slices = [_slice(group, run, estimators, options) for group in groups]
        lacking = sum(value is None for value in values)
        found = covariate_slices(run.cell, estimators, slices, (by, values, lacking), options.resampling)
    else:
        name = TREE.name if isinstance(by, SliceTree) else by
        groups = _by_tree(by, run, estimators, options) if isinstance(by, SliceTree) else tuple(_groups(by, run))
        found = RunSlices(name, estimators, tuple(_slice(group, run, estimators, options) for group in groups))
    kept = {group.name: group.kept for group in groups}
    return replace(found, gaps=slice_gaps(run.cell, estimators, kept, options.resampling))


def covariate_slices(
    cell: Cell,
    estimators: Sequence[str],
    slices: Iterable[Slice],
    by: tuple[Covariate, Sequence[float | str | None], int],
    resampling: Resampling,
    questions: npt.NDArray[np.str_] | None = None,
) -> RunSlices:
    """A cell's slices by a covariate, with the trends of these estimators.

    Args:
        cell: all units.
        estimators: that have a trend where the covariate is numeric.
        slices: in their order.
        by: the covariate, its values [units], and how many instances or questions lack one.
        resampling: number of resamples, and seed.
        questions: [units], what each is an answer to, where several are to one; None: each to another.
    """
    covariate, values, lacking = by
    by_estimator: dict[str, Trend] = {}
    if covariate.numeric:
        samples = {name: cell.sample(name) for name in estimators}
        by_estimator = trends(as_numbers(values), samples, resampling, cell.units.clusters, questions)
    return RunSlices(covariate.name, tuple(estimators), tuple(slices), covariate, lacking, by_estimator)


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
    subjects = [str(texts.subject(*instance)) for instance in zip(relations, lines, strict=True)]
    if covariate.key == ("subject",):
        return [(subject,) for subject in subjects]
    return list(zip(relations, subjects, strict=True))


def _chosen(label: str, names: Sequence[str] | None, available: Sequence[str]) -> tuple[str, ...]:
    """The estimators that an option names, all of which must be there, or the usual ones as far as they are."""
    if names is None:
        return tuple(name for name in headline(Headline.FIRST) if name in available)
    return known_estimators(label, names, available)


def _groups(by: SliceKind, run: ScoredRun) -> Iterator[Group]:
    """The instances of each slice."""
    group = run.instances.group
    for name, relations in _relations(by, run.manifest, np.unique(group).tolist()):
        yield Group(name, np.isin(group, relations))


def _by_tree(tree: SliceTree, run: ScoredRun, estimators: Sequence[str], options: ReportOptions) -> tuple[Group, ...]:
    """The instances of each leaf, by relation, domain, cardinality, number of candidates and a file's columns."""
    units, name = run.cell.units, first_probability(run.cell, estimators)
    if name is None:
        raise UsageError(f"--by tree: none of {', '.join(estimators)} is a probability; give --estimator base")
    records = {relation: run.manifest.relation(relation) for relation in np.unique(units.group).tolist()}
    of_each = [records[relation] for relation in units.group.tolist()]
    features = [
        feature("relation", units.group.tolist(), numeric=False),
        feature("domain", [" & ".join(record.domains) for record in of_each], numeric=False),
        feature("cardinality", [record.cardinality for record in of_each], numeric=False),
        feature("candidates", units.n_options.tolist(), numeric=True),
    ]
    complete = not run.facts.partial and not run.manifest.limits()
    values = {column.name: column.of(_ids(run, column), run.label, complete=complete) for column in tree.columns}
    half = half_of(units, options.resampling.seed)
    gap = gap_of(run.cell.confidences[name])
    return named_groups(tree_names(gap, with_columns(features, tree.columns, values), half))


def _relations(by: SliceKind, manifest: Manifest, names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each slice's name and relations."""
    records = {name: manifest.relation(name) for name in names}
    if by == "domain":
        yield from relation_groups({name: record.domains for name, record in records.items()}).items()
        without = {name: [NO_DOMAIN] for name, record in records.items() if not record.domains}
        yield from relation_groups(without).items()
    elif by == "cardinality":
        cardinalities = {name: [record.cardinality or NO_CARDINALITY] for name, record in records.items()}
        yield from relation_groups(cardinalities).items()
    else:
        yield from relation_groups({name: [name] for name in records}).items()


def _slice(group: Group, run: ScoredRun, estimators: Sequence[str], options: ReportOptions) -> Slice:
    kept, shares = group.kept, run.right_shares
    widths = run.widths[kept]
    names = [name for name in dict.fromkeys((BASE, *estimators)) if name in run.estimators]
    # Smooth ECE has the least bias on few instances.
    metrics = [*(metric for metric in standard_metrics(options.slice_bins) if metric.name in METRICS), SMOOTH_ECE]
    estimates = estimates_of(run.cell, metrics, options.resampling, names, kept, smooth=False)
    return Slice(
        name=group.name,
        instances=int(kept.sum()),
        chance_accuracy=float((1 / widths).mean()),
        accuracy=estimates[BASE]["accuracy"] if BASE in estimates else None,
        estimators={
            name: {metric.name: estimates[name].get(metric.name, UNDEFINED) for metric in metrics}
            for name in estimators
        },
        ends=group.ends,
        relations=tuple(sorted(np.unique(run.instances.group[kept]).tolist(), key=natural_order)),
        mean_candidates=float(widths.mean()),
        bear_score=None if shares is None else mean_estimate(shares, kept, options.resampling, run.clusters),
    )
