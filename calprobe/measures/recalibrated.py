"""A run's confidences after recalibration: what of a difference in calibration is scale alone.

Maps are fitted on other relations of the run, or come from a file and were fitted on another run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Confidence
from calprobe.errors import UsageError
from calprobe.measures.calibration_file import CalibrationFile, FittedOn, check_same_scores
from calprobe.measures.json_values import estimate_json
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, bootstrap_many, standard_metrics
from calprobe.metrics.calibration_map import CalibrationMap
from calprobe.metrics.recalibration import fit_folds, fit_map
from calprobe.words import Recalibration

METRICS = ("mean_confidence", "confidence_gap", "ace", "ece", "brier", "brier_skill", "nll", "auroc")


@dataclass(frozen=True, slots=True)
class EstimatorMaps:
    """The maps of one estimator's confidences."""

    all: CalibrationMap  # fitted on all facts of the run; or the one of a file
    folds: tuple[CalibrationMap, ...] = ()  # fitted on the other folds, those that made the numbers; none of a file

    def to_json(self) -> dict[str, Any]:
        """One estimator's object under `maps`."""
        return {"all": self.all.to_json(), "folds": [fold.to_json() for fold in self.folds]}


@dataclass(frozen=True, slots=True)
class RunRecalibration:
    """The metrics of recalibrated confidences. Predictions, and so accuracies, stay as they were."""

    method: Recalibration
    estimators: Mapping[str, Mapping[str, Estimate]]  # of probabilities, by METRICS
    maps: Mapping[str, EstimatorMaps] = field(default_factory=dict)  # by estimator
    fitted_on: FittedOn | None = None  # this run
    given: CalibrationFile | None = None  # where maps are of a file

    @property
    def held_out(self) -> bool:
        """Whether no map has seen these facts under this model, as far as is known."""
        if self.given is None or self.fitted_on is None:
            return True
        return not self.given.fitted_on.same_source(self.fitted_on)

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --recalibrate .. --json` says under `recalibrated`."""
        return {
            "method": self.method,
            "file": None if self.given is None else self.given.file,
            "estimators": {
                name: {metric: estimate_json(estimate) for metric, estimate in estimates.items()}
                for name, estimates in self.estimators.items()
            },
            "maps": {name: maps.to_json() for name, maps in self.maps.items()},
        }


def recalibrate_run(run: ScoredRun, options: ReportOptions) -> RunRecalibration:
    """Each estimator's confidences as a map makes them that was fitted on the other folds of relations, or given.

    What failed keeps its confidence of 0, and no map is fitted on it. An estimator that answers in one relation alone
    has no other to fit on, and is left out; so is one that a file has no map of.

    Raises UsageError for a run of fewer than two relations, and for a file of maps of none of the run's estimators or
    of scores that were reduced in another way; ValueError if the options name no method.
    """
    if options.recalibrate is None:
        raise ValueError("options.recalibrate must name a method; got None")
    confidences = run.confidences(
        [name for name, estimator in run.estimators.items() if estimator.scale == "probability"]
    )
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    on = _fitted_on(run, options)
    recalibration = options.recalibrate
    file = recalibration if isinstance(recalibration, CalibrationFile) else None
    if isinstance(recalibration, CalibrationFile):
        check_same_scores(recalibration.fitted_on, on, recalibration.file)
        maps, mapped = _given(run, confidences, recalibration)
    else:
        maps, mapped = _fitted(run, confidences, recalibration)
    samples = {name: (mapped[name], confidences[name].correct) for name in mapped}
    numbers = bootstrap_many(metrics, samples, options.resampling, run.clusters)
    method = recalibration.method if isinstance(recalibration, CalibrationFile) else recalibration
    return RunRecalibration(method, numbers, maps, on, file)


def saved_maps(found: RunRecalibration, file: str) -> CalibrationFile:
    """The maps that were fitted on all facts of a run, for a file of that name.

    Raises ValueError where none were fitted.
    """
    if found.given is not None or found.fitted_on is None:
        raise ValueError("maps of a file are in one already; fit some with a method")
    return CalibrationFile(file, found.method, found.fitted_on, {name: maps.all for name, maps in found.maps.items()})


def _given(
    run: ScoredRun, confidences: Mapping[str, Confidence], file: CalibrationFile
) -> tuple[dict[str, EstimatorMaps], dict[str, Floats]]:
    maps = {name: EstimatorMaps(file.maps[name]) for name in confidences if name in file.maps}
    if not maps:
        raise UsageError(
            f"{file.file} has maps of {', '.join(file.maps) or 'no estimator'}, of none that {run.label} has"
        )
    mapped = {}
    for name, estimator_maps in maps.items():
        mapped[name] = np.where(confidences[name].failed, 0.0, estimator_maps.all(confidences[name].confidence))
    return maps, mapped


def _fitted(
    run: ScoredRun, confidences: Mapping[str, Confidence], method: Recalibration
) -> tuple[dict[str, EstimatorMaps], dict[str, Floats]]:
    if len(run.relations) < 2:
        raise UsageError(f"--recalibrate fits on other relations: {run.label} has {len(run.relations)}, it needs two")
    maps, mapped = {}, {}
    for name, confidence in confidences.items():
        kept = ~confidence.failed
        relation, inputs, correct = run.instances.group[kept], confidence.confidence[kept], confidence.correct[kept]
        if len(np.unique(relation)) < 2:
            continue
        values = np.zeros(len(kept))
        values[kept], folds = fit_folds(inputs, correct, relation, method)
        maps[name] = EstimatorMaps(fit_map(inputs, correct.astype(np.float64), method), folds)
        mapped[name] = values
    return maps, mapped


def _fitted_on(run: ScoredRun, options: ReportOptions) -> FittedOn:
    manifest = run.manifest
    return FittedOn(
        model=run.model,
        weights_fingerprint=manifest.model.weights_fingerprint,
        probe=manifest.probe.name,
        probe_fingerprint=manifest.probe.fingerprint,
        relations=len(run.relations),
        instances=len(run.instances),
        reduction=options.reduction,
        compat=options.compat,
    )
