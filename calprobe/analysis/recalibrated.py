"""A run's confidences after recalibration on other relations: what of a difference in calibration is scale alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calprobe.analysis.json_values import estimate_json
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.scored_run import ScoredRun
from calprobe.arrays import Floats
from calprobe.confidence import Confidence
from calprobe.errors import UsageError
from calprobe.metrics import Estimate, bootstrap_many, recalibrated, standard_metrics
from calprobe.words import Recalibration

METRICS = ("mean_confidence", "confidence_gap", "ace", "ece", "brier", "brier_skill", "nll", "auroc")


@dataclass(frozen=True, slots=True)
class RunRecalibration:
    """The metrics of recalibrated confidences. Predictions, and so accuracies, stay as they were."""

    method: Recalibration
    estimators: Mapping[str, Mapping[str, Estimate]]  # of probabilities, by METRICS

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --recalibrate .. --json` says under `recalibrated`."""
        return {
            "method": self.method,
            "estimators": {
                name: {metric: estimate_json(estimate) for metric, estimate in own.items()}
                for name, own in self.estimators.items()
            },
        }


def recalibrate_run(run: ScoredRun, options: ReportOptions) -> RunRecalibration:
    """Each estimator's confidences as a map makes them that was fitted on the other folds of relations.

    What failed keeps its confidence of 0, and no map is fitted on it. An estimator that answers in one relation alone
    has no other to fit on, and is left out.

    Raises UsageError for a run of fewer than two relations, ValueError if the options name no method.
    """
    if options.recalibrate is None:
        raise ValueError("options.recalibrate must name a method; got None")
    if len(run.relations) < 2:
        raise UsageError(f"--recalibrate fits on other relations: {run.label} has {len(run.relations)}, it needs two")
    found = run.confidences([name for name, own in run.estimators.items() if own.scale == "probability"])
    samples = {
        name: (_recalibrated(run, own, options.recalibrate), own.correct)
        for name, own in found.items()
        if len(np.unique(run.instances.relation[~own.failed])) > 1
    }
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    return RunRecalibration(options.recalibrate, bootstrap_many(metrics, samples, options.resampling, run.clusters))


def _recalibrated(run: ScoredRun, found: Confidence, method: Recalibration) -> Floats:
    answered = ~found.failed
    mapped = np.zeros(len(answered))
    relation = run.instances.relation[answered]
    mapped[answered] = recalibrated(found.confidence[answered], found.correct[answered], relation, method)
    return mapped
