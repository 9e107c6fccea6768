"""What a report says, as plain frozen data: drawn on a terminal, written as JSON, compared, never computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calprobe.cells.run_facts import RunFacts
from calprobe.cells.scored import ScoredRun
from calprobe.confidence.estimator import Scale
from calprobe.measures.headline_intervals import DrawnBy, HeadlineIntervals
from calprobe.measures.in_notebook import InNotebook
from calprobe.measures.json_values import estimate_json, number_json, value_json
from calprobe.measures.options import ReportOptions
from calprobe.measures.recalibrated import CellRecalibration
from calprobe.measures.sensitivity import PromptSensitivity
from calprobe.measures.slices import RunSlices
from calprobe.measures.uncertainty import MeanUncertainty
from calprobe.messages import counted
from calprobe.metrics import Estimate, Metric
from calprobe.runs import Manifest
from calprobe.studies.scored.paper_figures import RunAgainst

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class EstimatorReport:
    """One estimator's metrics."""

    name: str
    group: str  # of the estimators, see `calprobe.confidence.estimator_groups`
    definition: str
    source: str  # of the definition; empty for calprobe's own
    scale: Scale  # what its confidences mean
    templates: tuple[int, ...]  # numbers of the templates it reads
    instances: int  # of the run
    failed: int  # instances without a prediction; they count as incorrect, with confidence 0
    fitted: tuple[float, ...]  # temperatures, one for each fold; empty for an estimator that fits nothing
    coverage: Estimate  # the share of the instances that did not fail, [0, 1]
    metrics: Mapping[str, Estimate]  # by metric name; those that have a meaning for its scale and the run's evidence
    answered: Mapping[str, Estimate]  # the same over the instances that did not fail; none where none failed


@dataclass(frozen=True, slots=True)
class Ties:
    """The instances where several candidates share the largest score under the template of base."""

    instances: int
    expected_accuracy: float  # if each of n tied candidates is the prediction with probability 1/n; NaN without any

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `ties`."""
        return {"instances": self.instances, "expected_accuracy": number_json(self.expected_accuracy)}


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run's numbers."""

    facts: RunFacts
    accuracy: Estimate | None  # of base; None if the run has no template for it
    bear_score: Estimate | None  # mean accuracy over the paraphrases; None with fewer than two
    estimators: tuple[EstimatorReport, ...]
    sensitivity: PromptSensitivity | None  # None with fewer than two paraphrases or without scores of candidates
    uncertainty: MeanUncertainty | None  # likewise
    ties: Ties | None = None  # of base; None if the run has no template for it, or no scores of candidates
    slices: RunSlices | None = None  # None unless asked for
    recalibrated: CellRecalibration | None = None  # likewise
    intervals: Mapping[DrawnBy, HeadlineIntervals] | None = None  # None below 30 relations or without resamples
    against: RunAgainst | None = None  # likewise

    @property
    def label(self) -> str:
        """The run as typed."""
        return self.facts.label

    @property
    def manifest(self) -> Manifest:
        """What the run's folder says of it."""
        return self.facts.manifest

    @property
    def instances(self) -> int:
        """Number of instances."""
        return self.facts.instances

    def __repr__(self) -> str:
        accuracy = "" if self.accuracy is None else f", accuracy {self.accuracy.value:.4f}"
        sizes = f"{counted(self.instances, 'instance')}, {counted(len(self.estimators), 'estimator')}"
        return f"<RunReport {self.label}: {sizes}{accuracy}>"

    def to_json(self) -> dict[str, Any]:
        """The run's object in `calprobe report --json`; what is asked for by an option is there only then."""
        names = dict.fromkeys(name for estimator in self.estimators for name in estimator.metrics)
        extras = {"slices": self.slices, "against": self.against, "recalibrated": self.recalibrated}
        return self.facts.to_json() | {
            "accuracy": estimate_json(self.accuracy),
            "bear_score": estimate_json(self.bear_score),
            "estimators": {
                estimator.name: {name: estimate_json(estimator.metrics.get(name)) for name in names}
                for estimator in self.estimators
            },
            "temperatures": {report.name: list(report.fitted) for report in self.estimators if report.fitted},
            "estimator_cost": {estimator.name: self._cost_json(estimator) for estimator in self.estimators},
            "coverage": {estimator.name: estimate_json(estimator.coverage) for estimator in self.estimators},
            "answered": {
                estimator.name: {name: estimate_json(estimate) for name, estimate in estimator.answered.items()}
                for estimator in self.estimators
                if estimator.failed
            },
            "ties": self.ties.to_json() if self.ties else None,
            "sensitivity": self.sensitivity.to_json() if self.sensitivity else None,
            "uncertainty": self.uncertainty.to_json() if self.uncertainty else None,
            "intervals": None
            if self.intervals is None
            else {kind: result.to_json() for kind, result in self.intervals.items()},
            **({} if self.slices is None else {"slice_gaps": value_json(self.slices.gaps)}),
            **({} if self.slices is None or not self.slices.covariate else {"covariate": self.slices.covariate_json()}),
            **{key: result.to_json() for key, result in extras.items() if result is not None},
        }

    def _cost_json(self, estimator: EstimatorReport) -> dict[str, int] | None:
        """Statements and scored tokens of the templates that it reads; None where an import does not know them."""
        cost = self.facts.cost_of(estimator.templates)
        return None if cost is None else {"statements": cost.statements, "tokens": cost.tokens}


@dataclass(frozen=True, slots=True)
class Report(InNotebook):
    """The reports of one run or several, with what was asked and the metrics in the order of their columns."""

    runs: tuple[RunReport, ...]
    metrics: tuple[Metric, ...]
    options: ReportOptions
    scored: tuple[ScoredRun, ...] = field(default=(), repr=False, compare=False)  # the runs, without their evidence
    chosen: bool = False  # whether estimators or metrics were left out, see `calprobe.studies.scored.choice`
    metrics_chosen: bool = False  # whether metrics were chosen, which tables then have in that order

    def __repr__(self) -> str:
        more = f" and {len(self.runs) - 3} more" if len(self.runs) > 3 else ""
        return f"<Report of {', '.join(run.label for run in self.runs[:3])}{more}>"

    def frame(self) -> pd.DataFrame:
        """A row for each run, estimator and metric: run, model, estimator, metric, value, low, high.

        `low` and `high` are the ends of the 95 % interval. NaN where undefined, or without resamples.
        """
        import pandas as pd

        rows = [
            (run.label, run.manifest.model.name, estimator.name, name, estimate.value, estimate.low, estimate.high)
            for run in self.runs
            for estimator in run.estimators
            for name, estimate in estimator.metrics.items()
        ]
        return pd.DataFrame(rows, columns=["run", "model", "estimator", "metric", "value", "low", "high"])

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe report --json`, a key for each run as typed. NaN is None.

        `ci95` is None where there is no interval: no resamples asked for, or the value is undefined itself.
        """
        return {run.label: run.to_json() for run in self.runs}
