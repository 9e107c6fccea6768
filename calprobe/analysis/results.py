"""What a report says, as plain frozen data: drawn on a terminal, written as JSON, compared, never computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calprobe.analysis.questions import questions_of
from calprobe.metrics import ACE_BINS, Estimate, Metric, Resampling
from calprobe.words import ClusterKind as ClusterKind
from calprobe.words import SliceKind as SliceKind

if TYPE_CHECKING:
    from calprobe.analysis.against import RunAgainst
    from calprobe.analysis.sensitivity import PromptSensitivity
    from calprobe.analysis.slices import RunSlices
    from calprobe.analysis.uncertainty import MeanUncertainty
    from calprobe.runs import Manifest, Progress, Run, ScoreTable
    from calprobe.runs.run import Compat, Reduction


@dataclass(frozen=True, slots=True)
class SliceOptions:
    """What to cut a run's instances by, and which estimators to show of each slice."""

    by: SliceKind
    estimators: tuple[str, ...] | None = None  # None: base, margin and average_min, as far as the templates give them


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to read the scores and what to compute of them."""

    reduction: Reduction = "sum"  # of token scores to a statement's
    compat: Compat | None = None  # kissling2026: without each statement's first scored token
    ace_bins: int = ACE_BINS  # quantile bins
    resampling: Resampling = field(default_factory=Resampling)
    cluster: ClusterKind | None = None  # what intervals draw as a whole; None: single instances
    slices: SliceOptions | None = None  # None: none


DEFAULT_OPTIONS = ReportOptions()


@dataclass(frozen=True, slots=True)
class EstimatorReport:
    """One estimator's metrics."""

    name: str
    group: str  # of the estimators, see `calprobe.confidence.estimator_groups`
    definition: str
    templates: tuple[int, ...]  # numbers of the templates it reads
    failed: int  # instances without a prediction; they count as incorrect, with confidence 0
    metrics: Mapping[str, Estimate]  # by metric name


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What was scored: the instances of a run's complete relations."""

    label: str  # the run as typed
    manifest: Manifest
    relations: int  # with all of the run's templates scored; the others are left out
    instances: int
    candidates: tuple[int, int]  # smallest and largest answer space; (0, 0) without instances
    chance_accuracy: float  # mean 1/K over the instances; NaN without any
    questions: str  # equal for runs that were asked the same, see `questions_of`
    cut_contexts: Mapping[str, int]  # by relation: instances whose context was too long and lost its beginning
    progress: Progress  # what the run has cost

    @classmethod
    def of(cls, label: str, run: Run, table: ScoreTable, **found: Any) -> Self:
        """The facts of a run and its scores, with what a subclass has beside them."""
        sizes = np.diff(table.offsets)
        return cls(
            label=label,
            manifest=run.manifest,
            relations=len(run.complete_relations),
            instances=table.n_instances,
            candidates=(int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0),
            chance_accuracy=float((1 / sizes).mean()) if len(sizes) else float("nan"),
            questions=questions_of(run.manifest, table),
            cut_contexts=run.cut_contexts,
            progress=run.progress,
            **found,
        )

    @property
    def partial(self) -> bool:
        """Whether relations are left out because scores are missing."""
        return self.relations < len(self.manifest.relations)

    @property
    def paraphrases(self) -> int:
        """Number of paraphrase templates in the run."""
        return sum(template.kind == "paraphrase" for template in self.manifest.templates)

    def to_json(self) -> dict[str, Any]:
        """The keys of the run's JSON that do not depend on the reduction."""
        return {
            "model": self.manifest.model.name,
            "kind": self.manifest.model.kind,
            "probe": self.manifest.probe.name,
            "instances": self.instances,
            "partial": self.partial,
            "candidates": list(self.candidates),  # K, which p is normalised over: smallest and largest
        }


@dataclass(frozen=True, slots=True)
class RunReport(RunFacts):
    """One run's numbers."""

    accuracy: Estimate | None  # of base; None if the run has no template for it
    bear_score: Estimate | None  # mean accuracy over the paraphrases; None with fewer than two
    estimators: tuple[EstimatorReport, ...]
    sensitivity: PromptSensitivity | None  # None with fewer than two paraphrases
    uncertainty: MeanUncertainty | None  # likewise
    slices: RunSlices | None = None  # None unless asked for
    against: RunAgainst | None = None  # likewise

    def to_json(self) -> dict[str, Any]:
        """The run's object in `calprobe report --json`; `slices` and `against` are in it only if asked for."""
        asked = {"slices": self.slices, "against": self.against}
        return RunFacts.to_json(self) | {
            "accuracy": estimate_json(self.accuracy),
            "bear_score": estimate_json(self.bear_score),
            "estimators": {
                estimator.name: {name: estimate_json(estimate) for name, estimate in estimator.metrics.items()}
                for estimator in self.estimators
            },
            "sensitivity": self.sensitivity.to_json() if self.sensitivity else None,
            "uncertainty": self.uncertainty.to_json() if self.uncertainty else None,
            **{key: found.to_json() for key, found in asked.items() if found is not None},
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The reports of one run or several, with what was asked and the metrics in the order of their columns."""

    runs: tuple[RunReport, ...]
    metrics: tuple[Metric, ...]
    options: ReportOptions

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe report --json`, a key for each run as typed. NaN is None.

        `ci95` is None where there is no interval: no resamples asked for, or the value is undefined itself.
        """
        return {run.label: run.to_json() for run in self.runs}


def estimate_json(estimate: Estimate | None) -> dict[str, Any] | None:
    """The value and its interval; NaN is None, and so is an interval that is not there."""
    if estimate is None:
        return None
    interval = None if math.isnan(estimate.low) else [estimate.low, estimate.high]
    return {"value": number_json(estimate.value), "ci95": interval}


def number_json(value: float) -> float | None:
    """The number; None for NaN."""
    return None if math.isnan(value) else float(value)
