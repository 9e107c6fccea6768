"""Tables beside the estimators' own: the three intervals of headline numbers, and recalibrated confidences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from calprobe.analysis.headline_intervals import METRICS as HEADLINES
from calprobe.analysis.headline_intervals import DrawnBy
from calprobe.analysis.number_text import interval, number, signed, signed_interval
from calprobe.analysis.prose import size_and_state
from calprobe.analysis.recalibrated import EstimatorMaps, RunRecalibration
from calprobe.analysis.results import RunReport
from calprobe.analysis.tables.labels import TableName, about
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.metrics import Estimate
from calprobe.metrics.calibration_map import PARAMETERS, CalibrationMap
from calprobe.words import Recalibration

INTERVALS: dict[DrawnBy, str] = {
    "instances": "other facts",
    "relation": "other relations",
    "within-relation": "within these",
}
TITLES = {"accuracy": "accuracy", "confidence_gap": "conf - acc", "ace": "ACE", "brier": "Brier"}
SIGNED = "confidence_gap"
BESIDE = {"ace": "ACE", "brier": "Brier", "nll": "NLL", "auroc": "AUROC"}

FORMULAS: dict[Recalibration, str] = {
    "isotonic": "Steps: different values of the non-decreasing map; --format json has its knots.",
    "platt": "sigmoid(a + b logit f).",
    "beta": "sigmoid(a log f - b log(1 - f) + c).",
    "temperature": "sigmoid(logit(f) / T).",
}


def intervals_table(run: RunReport, name: TableName) -> Table | None:
    """A row a headline number: its value, and its interval by each kind of resamples; None with few relations."""
    if run.intervals is None:
        return None
    return Table(
        caption=f"Three 95 % intervals of headline numbers of {name.of}: {size_and_state(run.facts)}.",
        label=f"{name.label}-intervals",
        stub="95 % interval for",
        columns=(Column("value"), *(Column(title) for title in INTERVALS.values())),
        rows=tuple(_interval_rows(run)),
        best_within=None,
        tidy=False,
        notes=("Other relations: relations drawn completely. Within these: other facts of these relations.",),
    )


def _interval_rows(run: RunReport) -> Iterator[Row]:
    found = run.intervals or {}
    first = found["instances"]
    if first.bear_score is not None:
        ends = (own.bear_score for own in found.values())
        yield Row(
            "mean accuracy", (number(first.bear_score.value), *("" if own is None else interval(own) for own in ends))
        )
    for estimator, metrics in first.estimators.items():
        for metric in HEADLINES:
            several = [own.estimators[estimator][metric] for own in found.values()]
            value, spelled = (signed, signed_interval) if metric == SIGNED else (number, interval)
            cells: tuple[Cell, ...] = (value(metrics[metric].value), *map(spelled, several))
            yield Row(f"{estimator} {TITLES[metric]}", cells)


def recalibration_table(run: RunReport, name: TableName) -> Table | None:
    """A row an estimator: four metrics before and after recalibration; None unless asked for."""
    found = run.recalibrated
    if found is None:
        return None
    before = {estimator.name: estimator.metrics for estimator in run.estimators}
    metrics = {name: title for name, title in BESIDE.items() if any(name in own for own in before.values())}
    columns = [
        Column(when, heading=title, better="larger" if metric == "auroc" else "smaller", keys={"metric": key})
        for metric, title in metrics.items()
        for when, key in (("before", metric), (found.method, f"{metric}_{found.method}"))
    ]
    where = "on other relations" if found.given is None else f"by {found.given.file}"
    return Table(
        caption=f"Calibration of {name.of} on {run.manifest.probe.name} before and after recalibration "
        f"({found.method}) {where}: {size_and_state(run.facts)}.",
        label=f"{name.label}-recalibrated",
        stub="estimator",
        columns=tuple(columns),
        rows=tuple(
            Row(
                estimator,
                tuple(_beside(before[estimator], after, metrics)),
                keys={"estimator": estimator},
            )
            for estimator, after in found.estimators.items()
        ),
        keys={"run": run.label, "model": run.facts.model},
        about=about(run.facts),
        best_within=None,
        notes=tuple(_map_notes(found)),
    )


def _map_notes(found: RunRecalibration) -> Iterator[str]:
    """Where the maps come from."""
    if found.given is None:
        yield "Maps are fitted in five folds of complete relations; a failed prediction keeps confidence 0."
        return
    yield f"Maps of {found.given.file}, fitted on {found.given.fitted_on.described()}; what failed keeps confidence 0."
    if not found.held_out:
        yield "NOT HELD OUT: the maps were fitted on this model and probe; only other facts would test them."


def maps_table(run: RunReport, name: TableName) -> Table | None:
    """A row an estimator: the parameters of its map, fitted on all facts and by fold; None unless asked for."""
    found = run.recalibrated
    if found is None or not found.maps:
        return None
    parameters = PARAMETERS[found.method] or ("steps",)
    folds = any(own.folds for own in found.maps.values())
    columns = [
        Column(title, heading=parameter, keys={"metric": f"map_{parameter}_{title.replace(' ', '_')}"})
        for parameter in parameters
        for title in (("all facts", "least fold", "largest fold") if folds else ("of the file",))
    ]
    rows = (
        Row(
            estimator,
            tuple(cell for parameter in parameters for cell in _parameter_cells(own, parameter, folds=folds)),
            keys={"estimator": estimator},
        )
        for estimator, own in found.maps.items()
    )
    return Table(
        caption=f"Maps of the confidences of {name.of} on {run.manifest.probe.name} ({found.method}).",
        label=f"{name.label}-maps",
        stub="map of",
        columns=tuple(columns),
        rows=tuple(rows),
        keys={"run": run.label, "model": run.facts.model},
        about=about(run.facts),
        best_within=None,
        notes=(f"{FORMULAS[found.method]} -: all get the share right, since no map could be fitted.",),
    )


def _parameter_cells(maps: EstimatorMaps, parameter: str, *, folds: bool) -> Iterator[Cell]:
    """The parameter of the map of all facts, and the least and the largest of the folds'; None of constant maps."""
    yield _parameter(maps.all, parameter)
    if folds:
        values = [value for own in maps.folds if (value := _parameter(own, parameter)) is not None]
        yield from (min(values), max(values)) if values else (None, None)


def _parameter(found: CalibrationMap, parameter: str) -> float | int | None:
    if parameter == "steps":
        return found.steps or None
    return found.parameters.get(parameter)


def _beside(before: Mapping[str, Estimate], after: Mapping[str, Estimate], metrics: Iterable[str]) -> Iterator[Cell]:
    for metric in metrics:
        yield before.get(metric)
        yield after[metric] if metric in before else None
