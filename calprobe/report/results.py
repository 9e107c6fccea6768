"""What a report says, as plain frozen data: drawn on a terminal, written as JSON, compared, never computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calprobe.metrics import ACE_BINS, Estimate, Metric, Resampling

if TYPE_CHECKING:
    from calprobe.runs import Manifest
    from calprobe.runs.run import Compat, Reduction


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to read the scores and what to compute of them."""

    reduction: Reduction = "sum"  # of token scores to a statement's
    compat: Compat | None = None  # kissling2026: without each statement's first scored token
    ace_bins: int = ACE_BINS  # quantile bins
    resampling: Resampling = field(default_factory=Resampling)


DEFAULT_OPTIONS = ReportOptions()


@dataclass(frozen=True, slots=True)
class EstimatorReport:
    """One estimator's metrics."""

    name: str
    definition: str
    templates: tuple[int, ...]  # numbers of the templates it reads
    failed: int  # instances without a prediction; they count as incorrect, with confidence 0
    metrics: Mapping[str, Estimate]  # by metric name


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run's numbers, over the instances of its complete relations."""

    label: str  # the run as typed
    manifest: Manifest
    relations: int  # with all of the run's templates scored; the others are left out
    instances: int
    candidates: tuple[int, int]  # smallest and largest answer space; (0, 0) without instances
    chance_accuracy: float  # mean 1/K over the instances; NaN without any
    accuracy: Estimate | None  # of base; None if the run has no template for it
    bear_score: Estimate | None  # mean accuracy over the paraphrases; None with fewer than two
    estimators: tuple[EstimatorReport, ...]

    @property
    def partial(self) -> bool:
        """Whether relations are left out because scores are missing."""
        return self.relations < len(self.manifest.relations)

    @property
    def paraphrases(self) -> int:
        """Number of paraphrase templates in the run."""
        return sum(template.kind == "paraphrase" for template in self.manifest.templates)


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
        return {run.label: _run_json(run) for run in self.runs}


def _run_json(run: RunReport) -> dict[str, Any]:
    return {
        "model": run.manifest.model.name,
        "kind": run.manifest.model.kind,
        "probe": run.manifest.probe.name,
        "instances": run.instances,
        "partial": run.partial,
        "accuracy": _estimate_json(run.accuracy),
        "bear_score": _estimate_json(run.bear_score),
        "estimators": {
            estimator.name: {name: _estimate_json(estimate) for name, estimate in estimator.metrics.items()}
            for estimator in run.estimators
        },
    }


def _estimate_json(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    interval = None if math.isnan(estimate.low) else [estimate.low, estimate.high]
    return {"value": None if math.isnan(estimate.value) else estimate.value, "ci95": interval}
