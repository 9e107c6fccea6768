"""Confidences after recalibration: what of a difference in calibration is scale alone.

Maps are fitted on other relations of a run, or other questions, or come from a file and were fitted on another run.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.cell import Cell
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Confidence
from calprobe.errors import UsageError
from calprobe.measures.calibration_file import CalibrationFile, FittedOn, check_same_scores
from calprobe.measures.chosen import Choice
from calprobe.measures.json_values import estimate_json
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, Resampling, bootstrap_many, standard_metrics
from calprobe.metrics.calibration_map import CalibrationMap
from calprobe.metrics.intervals import UNDEFINED
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
class CellRecalibration:
    """The metrics of recalibrated confidences. Predictions, and so accuracies, stay as they were."""

    method: Recalibration
    estimators: Mapping[str, Mapping[str, Estimate]]  # of probabilities, by METRICS; NaN of those in `without`
    maps: Mapping[str, EstimatorMaps] = field(default_factory=dict)  # by estimator
    fitted_on: FittedOn | None = None  # this run of scores
    given: CalibrationFile | None = None  # where maps are of a file
    without: tuple[str, ...] = ()  # estimators that a map of this method has no meaning for

    @property
    def held_out(self) -> bool:
        """Whether no map has seen these facts under this model, as far as is known."""
        if self.given is None or self.fitted_on is None:
            return True
        return not self.given.fitted_on.same_source(self.fitted_on)

    def only(self, choice: Choice) -> CellRecalibration:
        """Of some estimators alone."""
        kept = choice.by_estimator(self.estimators)
        without = tuple(name for name in self.without if name in kept)
        return replace(self, estimators=kept, maps=choice.by_estimator(self.maps), without=without)

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


def recalibrate_run(run: ScoredRun, options: ReportOptions) -> CellRecalibration:
    """The confidences of a run of scores as `recalibrate_cell` makes them, of relations; or by the maps of a file.

    Raises UsageError for a run of fewer than two relations, and for a file of maps of none of the run's estimators or
    of scores that were reduced in another way; ValueError if the options name no method.
    """
    recalibration, on = options.recalibrate, _fitted_on(run, options)
    if recalibration is None:
        raise ValueError("options.recalibrate must name a method; got None")
    if isinstance(recalibration, CalibrationFile):
        check_same_scores(recalibration.fitted_on, on, recalibration.file)
        maps, mapped = _given(run.cell, recalibration)
        numbers = _numbers(run.cell, mapped, options.ace_bins, options.resampling)
        found = CellRecalibration(recalibration.method, numbers, maps, on, recalibration)
        return _with_undefined(found, run.cell, recalibration.maps)
    if len(run.relations) < 2:
        raise UsageError(f"--recalibrate fits on other relations: {run.label} has {len(run.relations)}, it needs two")
    return replace(recalibrate_cell(run.cell, recalibration, options.ace_bins, options.resampling), fitted_on=on)


def recalibrate_cell(
    cell: Cell, method: Recalibration | CalibrationFile, ace_bins: int | None, resampling: Resampling
) -> CellRecalibration:
    """Each estimator's confidences as a map makes them that was fitted on the other folds of groups of units.

    What failed keeps its confidence of 0, and no map is fitted on it. An estimator that answers in one group alone has
    no other to fit on, and is left out. One that a map has no meaning for (logits of shares of votes) has NaN.

    Args:
        cell: whose groups, relations or questions, are in one fold each.
        method: see `calprobe.metrics.recalibrated`.
        ace_bins: of the metrics.
        resampling: of their intervals; maps are not fitted again for each resample.
    Raises:
        UsageError: a file of maps.
    """
    if isinstance(method, CalibrationFile):
        raise UsageError(f"{method.file}: maps of a file are of scores; give {', '.join(get_args(Recalibration))}")
    maps, mapped = {}, {}
    for name, confidence in _probabilities(cell, method).items():
        kept = confidence.read & ~confidence.failed
        group, inputs, correct = cell.units.group[kept], confidence.confidence[kept], confidence.correct[kept]
        if len(np.unique(group)) < 2:
            continue
        values = np.where(confidence.read, 0.0, np.nan)
        values[kept], folds = fit_folds(inputs, correct, group, method)
        maps[name] = EstimatorMaps(fit_map(inputs, correct.astype(np.float64), method), folds)
        mapped[name] = values
    found = CellRecalibration(method, _numbers(cell, mapped, ace_bins, resampling), maps)
    return _with_undefined(found, cell, cell.estimators)


def _probabilities(cell: Cell, method: Recalibration) -> dict[str, Confidence]:
    """The confidences that a map of this method has a meaning for."""
    return {
        name: cell.confidences[name]
        for name, estimator in cell.estimators.items()
        if estimator.scale == "probability" and method not in estimator.lacks
    }


def _with_undefined(found: CellRecalibration, cell: Cell, names: Container[str]) -> CellRecalibration:
    """With NaN for those of the named estimators that a map of this method has no meaning for, in the cell's order."""
    without = tuple(
        name for name, estimator in cell.estimators.items() if name in names and found.method in estimator.lacks
    )
    undefined = dict.fromkeys(METRICS, UNDEFINED)
    rows = {**found.estimators, **dict.fromkeys(without, undefined)}
    return replace(found, estimators={name: rows[name] for name in cell.estimators if name in rows}, without=without)


def _numbers(
    cell: Cell, mapped: Mapping[str, Floats], ace_bins: int | None, resampling: Resampling
) -> dict[str, dict[str, Estimate]]:
    """METRICS of the mapped confidences, [units] each: all of them, since what is mapped is a probability."""
    metrics = [metric for metric in standard_metrics(ace_bins) if metric.name in METRICS]
    numbers: dict[str, dict[str, Estimate]] = {}
    for read in {kept.tobytes(): kept for values in mapped.values() for kept in [~np.isnan(values)]}.values():
        of_units = {name: values for name, values in mapped.items() if np.array_equal(~np.isnan(values), read)}
        samples = {name: (values[read], cell.confidences[name].correct[read]) for name, values in of_units.items()}
        numbers |= bootstrap_many(metrics, samples, resampling, cell.units.clusters_of(read))
    return {name: numbers[name] for name in mapped}


def saved_maps(found: CellRecalibration, file: str) -> CalibrationFile:
    """The maps that were fitted on all facts of a run, for a file of that name.

    Raises ValueError where none were fitted.
    """
    if found.given is not None or found.fitted_on is None:
        raise ValueError("maps of a file are in one already; fit some with a method")
    return CalibrationFile(file, found.method, found.fitted_on, {name: maps.all for name, maps in found.maps.items()})


def _given(cell: Cell, file: CalibrationFile) -> tuple[dict[str, EstimatorMaps], dict[str, Floats]]:
    confidences = _probabilities(cell, file.method)
    if not any(name in file.maps for name in cell.estimators):
        raise UsageError(
            f"{file.file} has maps of {', '.join(file.maps) or 'no estimator'}, of none that {cell.run} has"
        )
    maps = {name: EstimatorMaps(file.maps[name]) for name in confidences if name in file.maps}
    mapped = {}
    for name, estimator_maps in maps.items():
        mapped[name] = np.where(confidences[name].failed, 0.0, estimator_maps.all(confidences[name].confidence))
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
