"""Tables beside the estimators' own: the three intervals of headline numbers, and recalibrated confidences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from calprobe.analysis.headline_intervals import METRICS as HEADLINES
from calprobe.analysis.headline_intervals import DrawnBy
from calprobe.analysis.number_text import interval, number, signed, signed_interval
from calprobe.analysis.prose import size_and_state
from calprobe.analysis.results import RunReport
from calprobe.analysis.tables.labels import TableName, about
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.metrics import Estimate

INTERVALS: dict[DrawnBy, str] = {
    "instances": "other facts",
    "relation": "other relations",
    "within-relation": "within these",
}
TITLES = {"accuracy": "accuracy", "confidence_gap": "conf - acc", "ace": "ACE", "brier": "Brier"}
SIGNED = "confidence_gap"
BESIDE = {"ace": "ACE", "brier": "Brier", "nll": "NLL", "auroc": "AUROC"}


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
    return Table(
        caption=f"Calibration of {name.of} on {run.manifest.probe.name} before and after recalibration "
        f"({found.method}) on other relations: {size_and_state(run.facts)}.",
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
        notes=("Maps are fitted in five folds of complete relations; a failed prediction keeps confidence 0.",),
    )


def _beside(before: Mapping[str, Estimate], after: Mapping[str, Estimate], metrics: Iterable[str]) -> Iterator[Cell]:
    for metric in metrics:
        yield before.get(metric)
        yield after[metric] if metric in before else None
