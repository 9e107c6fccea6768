"""Tables beside the estimators' own: the three intervals of headline numbers, and recalibrated confidences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from calprobe.measures.headline_intervals import METRICS as HEADLINES
from calprobe.measures.headline_intervals import DrawnBy, HeadlineIntervals
from calprobe.measures.number_text import interval, number, signed, signed_interval
from calprobe.measures.recalibrated import CellRecalibration, EstimatorMaps
from calprobe.metrics.calibration_map import PARAMETERS, CalibrationMap
from calprobe.show.prose import size_and_state
from calprobe.show.tables.labels import TableName, of_run
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, cells
from calprobe.show.tables.map_table import Beside, beside_columns
from calprobe.show.tables.types import Column, Row, Table
from calprobe.studies.scored.results import RunReport
from calprobe.words import Recalibration

INTERVALS: dict[DrawnBy, str] = {
    "instances": "other facts",
    "relation": "other relations",
    "within-relation": "within these",
}
TITLES = {"accuracy": "accuracy", "confidence_gap": "conf - acc", "ace": "ACE", "brier": "Brier"}
SIGNED = "confidence_gap"
OF_FOLDS = {"least_fold": min, "largest_fold": max}
OF_MAPS = {"all_facts": "all facts", "least_fold": "least fold", "largest_fold": "largest fold"}  # titles, by key
OF_FILE = {"of_the_file": "in the file"}

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
    return Layout[_Headline](
        f"Three 95 % intervals of headline numbers of {name.of}: {size_and_state(run.facts)}.",
        f"{name.label}-intervals",
        "95 % interval for",
        lambda row: Row(row.label),
        (Cells(Column("value"), lambda row: row.value), *(_interval(title, kind) for kind, title in INTERVALS.items())),
        ("Other relations: relations drawn completely. Within these: other facts of these relations.",),
        kind="intervals",
        more={**UNRANKED, "tidy": False},
    ).table(_headlines(run.intervals))


@dataclass(frozen=True, slots=True)
class _Headline:
    """A headline number as text, with its interval by each kind of resamples."""

    label: str
    value: str
    intervals: Mapping[DrawnBy, str]


def _headlines(intervals: Mapping[DrawnBy, HeadlineIntervals]) -> Iterator[_Headline]:
    first = intervals["instances"]
    if first.bear_score is not None:
        ends = {kind: interval(drawn.bear_score) if drawn.bear_score else "" for kind, drawn in intervals.items()}
        yield _Headline("mean accuracy", number(first.bear_score.value), ends)
    for estimator, metrics in first.estimators.items():
        for metric in HEADLINES:
            value, spelled = (signed, signed_interval) if metric == SIGNED else (number, interval)
            ends = {kind: spelled(drawn.estimators[estimator][metric]) for kind, drawn in intervals.items()}
            yield _Headline(f"{estimator} {TITLES[metric]}", value(metrics[metric].value), ends)


def _interval(title: str, kind: DrawnBy) -> Cells[_Headline]:
    return Cells(Column(title), lambda row: row.intervals[kind])


def recalibration_table(run: RunReport, name: TableName) -> Table | None:
    """A row an estimator: four metrics before and after recalibration; None unless asked for."""
    recalibration = run.recalibrated
    if recalibration is None:
        return None
    before = {estimator.name: estimator.metrics for estimator in run.estimators}
    rows = {name: Beside(before[name], after) for name, after in recalibration.estimators.items()}
    where = "on other relations" if recalibration.given is None else f"by {recalibration.given.file}"
    layout = Layout[Beside].given(
        f"Calibration of {name.of} on {run.manifest.probe.name} before and after recalibration "
        f"({recalibration.method}) {where}: {size_and_state(run.facts)}.",
        f"{name.label}-recalibrated",
        "estimator",
        *beside_columns(map(Beside, before.values(), before.values()), recalibration.method),
        notes=tuple(_map_notes(recalibration)),
        kind="recalibrated",
        more=UNRANKED,
    )
    heads = ((Row(estimator, keys={"estimator": estimator}), row) for estimator, row in rows.items())
    return layout.of_rows(heads, **of_run(run.facts))


def _map_notes(recalibration: CellRecalibration) -> Iterator[str]:
    """Where the maps come from, and which estimators have none."""
    if recalibration.without:
        yield (
            f"Undefined: {recalibration.method} takes logarithms, and a share of a few votes is often exactly 1, "
            "whose logit is as large as one clips it; --recalibrate isotonic takes none."
        )
    if recalibration.given is None:
        yield "Maps are fitted in five folds of complete relations; a failed prediction keeps confidence 0."
        return
    yield (
        f"Maps of {recalibration.given.file}, fitted on {recalibration.given.fitted_on.described()}; "
        "what failed keeps confidence 0."
    )
    if not recalibration.held_out:
        yield "NOT HELD OUT: the maps were fitted on this model and probe; only other facts would test them."


def maps_table(run: RunReport, name: TableName) -> Table | None:
    """A row an estimator: the parameters of its map, fitted on all facts and by fold; None unless asked for."""
    recalibration = run.recalibrated
    if recalibration is None or not recalibration.maps:
        return None
    folds = any(maps.folds for maps in recalibration.maps.values())
    titles = OF_MAPS if folds else OF_FILE
    parameters = PARAMETERS[recalibration.method] or ("steps",)
    return Layout[str](
        f"Maps of the confidences of {name.of} on {run.manifest.probe.name} ({recalibration.method}).",
        f"{name.label}-maps",
        "map of",
        lambda estimator: Row(estimator, keys={"estimator": estimator}),
        tuple(
            _parameter(parameter, key, title, recalibration.maps)
            for parameter in parameters
            for key, title in titles.items()
        ),
        (f"{FORMULAS[recalibration.method]} -: all get the share right, since no map could be fitted.",),
        kind="recalibrated",
        more=UNRANKED,
    ).table(recalibration.maps, **of_run(run.facts))


def _parameter(parameter: str, of: str, title: str, maps: Mapping[str, EstimatorMaps]) -> Cells[str]:
    """A parameter by estimator: of the map of all facts, the least or the largest of the folds'; none of a constant."""

    def value(fitted: CalibrationMap) -> float | None:
        return fitted.steps or None if parameter == "steps" else fitted.parameters.get(parameter)

    def cell(estimator: str) -> float | None:
        if of not in OF_FOLDS:
            return value(maps[estimator].all)
        values = [defined for fold in maps[estimator].folds if (defined := value(fold)) is not None]
        return OF_FOLDS[of](values) if values else None

    return cells(title, f"map_{parameter}_{of}", cell, heading=parameter)
