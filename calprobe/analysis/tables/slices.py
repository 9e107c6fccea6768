"""The slices of a run as a table: a row a relation, a domain, a cardinality or a group of a covariate; its trend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from calprobe.analysis.options import ReportOptions
from calprobe.analysis.prose import (
    COVARIATE_METRICS,
    SIZES_BELOW_NAMES,
    SLICE_METRICS,
    heading,
    mean_accuracy_name,
    mean_candidates,
    size_and_state,
    slice_notes,
    slice_size,
    trend_note,
)
from calprobe.analysis.slices import RunSlices
from calprobe.analysis.tables.labels import TableName, about
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.analysis.trends import LEAST, Trend
from calprobe.cells.run_facts import RunFacts

OF_RELATIONS = (
    "A covariate that differs between relations also shows what else differs between them: see --by relation."
)
TREND_COLUMNS = (
    Column("n", keys={"metric": "instances"}),
    *(
        Column(title, keys={"metric": f"rho_{key}"})
        for key, title in (("correct", "correctness"), ("confidence", "confidence"), ("confidence_gap", "conf - corr"))
    ),
)


def trend_cells(trend: Trend) -> tuple[Cell, ...]:
    """The cells of TREND_COLUMNS; a dash where there are too few instances."""
    enough = trend.instances >= LEAST
    return (trend.instances, *((trend.correct, trend.confidence, trend.gap) if enough else [None] * 3))


def slices_table(run: RunFacts, found: RunSlices, options: ReportOptions, called: TableName) -> Table:
    """A row a slice: accuracy of base, chance, and calibration of each estimator; no slice is the best."""
    metrics = SLICE_METRICS if found.covariate is None else COVARIATE_METRICS
    columns = [
        Column("accuracy", keys={"estimator": "base", "metric": "accuracy"}),
        Column("chance", keys={"metric": "chance_accuracy"}),
        *(
            Column(title, heading=name, keys={"estimator": name, "metric": metric}, priority=place)
            for place, name in enumerate(found.estimators, 1)
            for metric, title in metrics.items()
        ),
        # In print they stand below the slice's name.
        *(Column(name, keys={"metric": name}, printed=False) for name in ("instances", "mean_candidates")),
    ]
    return Table(
        caption=f"Accuracy and calibration of {called.of} on {run.manifest.probe.name}, by {found.by}: "
        f"{size_and_state(run)}.",
        label=f"{called.label}-by-{_slug(found)}",
        kind="slices",
        stub=found.by,
        columns=tuple(columns),
        rows=tuple(_rows(found, metrics)),
        heading=heading(run)[:1],
        notes=(SIZES_BELOW_NAMES, *slice_notes(found, options)),
        keys={"run": run.label, "model": run.model} | ({"covariate": found.by} if found.covariate else {}),
        about=about(run),
        best_within=None,
    )


def _rows(found: RunSlices, metrics: Iterable[str]) -> Iterator[Row]:
    for part in found.slices:
        cells: list[Cell] = [part.accuracy, part.chance_accuracy]
        cells += [part.estimators[name][metric] for name in found.estimators for metric in metrics]
        cells += [part.instances, part.mean_candidates]
        yield Row(
            part.name, tuple(cells), note=slice_size(part), keys={"slice" if found.covariate else found.by: part.name}
        )


def _slug(found: RunSlices) -> str:
    """What the slices are by, as a label can have it."""
    return re.sub(r"[^a-z0-9]+", "-", found.by.lower()).strip("-") or "covariate"


def trend_table(run: RunFacts, found: RunSlices, called: TableName) -> Table | None:
    """A row an estimator: how correctness, confidence and their difference go with a numeric covariate; else None."""
    if not found.trends:
        return None
    return Table(
        caption=f"Trend of {called.of} on {run.manifest.probe.name} with {found.by}: {size_and_state(run)}.",
        label=f"{called.label}-trend-{_slug(found)}",
        kind="slices",
        stub=f"rho with {found.by}",
        columns=TREND_COLUMNS,
        rows=tuple(Row(name, trend_cells(trend), keys={"estimator": name}) for name, trend in found.trends.items()),
        notes=(trend_note("instances", OF_RELATIONS),),
        keys={"run": run.label, "model": run.model, "covariate": found.by},
        about=about(run),
        best_within=None,
    )


def sortable_slices(run: RunFacts, found: RunSlices, options: ReportOptions, called: TableName) -> Table:
    """The table of slices for a page, which can be sorted: sizes in columns of their own, and mean accuracies."""
    complete = slices_table(run, found, options, called)
    table = complete.with_columns([place for place, _ in complete.printed_columns])
    leading = [Column("instances"), Column("K")]
    cells: list[list[Cell]] = [[part.instances, mean_candidates(part)] for part in found.slices]
    if any(part.bear_score is not None for part in found.slices):
        leading.append(Column(mean_accuracy_name([run]), "larger", keys={"metric": "bear_score"}))
        for own, part in zip(cells, found.slices, strict=True):
            own.append(part.bear_score)
    rows = tuple(replace(row, cells=(*own, *row.cells), note="") for own, row in zip(cells, table.rows, strict=True))
    columns = (*leading, *table.columns)
    return replace(table, columns=columns, rows=rows, notes=tuple(slice_notes(found, options)))
