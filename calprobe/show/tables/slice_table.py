"""The slices of a run as a table: a row a relation, a domain, a cardinality or a group of a covariate; its trend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.options import ReportOptions
from calprobe.measures.slices import RunSlices, Slice
from calprobe.measures.trends import LEAST, Trend
from calprobe.metrics import Estimate
from calprobe.show.prose import (
    COVARIATE_METRICS,
    SIZES_BELOW_NAMES,
    SLICE_METRICS,
    heading,
    size_and_state,
    slice_notes,
    slice_size,
    trend_note,
)
from calprobe.show.tables.gap_table import slice_gaps_table
from calprobe.show.tables.labels import TableName, of_run
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, cells
from calprobe.show.tables.types import Column, Row, Table

OF_RELATIONS = (
    "A covariate that differs between relations also shows what else differs between them: see --by relation."
)
Record = TypeVar("Record")
SIZES: tuple[Cells[Slice], ...] = (  # not in print, where they stand below the slice's name
    cells("instances", "instances", lambda slice_: slice_.instances, printed=False),
    cells("mean_candidates", "mean_candidates", lambda slice_: slice_.mean_candidates, printed=False),
)


def trend_columns(trend_of: Callable[[Record], Trend]) -> tuple[Cells[Record], ...]:
    """The columns of a trend; a dash where there are too few instances."""

    def rho(title: str, name: str, of: Callable[[Trend], Estimate]) -> Cells[Record]:
        def cell(record: Record) -> Estimate | None:
            trend = trend_of(record)
            return of(trend) if trend.instances >= LEAST else None

        return cells(title, name, cell)

    return (
        cells("n", "instances", lambda record: trend_of(record).instances),
        rho("correctness", "rho_correct", lambda trend: trend.correct),
        rho("confidence", "rho_confidence", lambda trend: trend.confidence),
        rho("conf - corr", "rho_confidence_gap", lambda trend: trend.gap),
    )


def slices_table(run: RunFacts, found: RunSlices, options: ReportOptions, called: TableName) -> Table:
    """A row a slice: accuracy of base, chance, and calibration of each estimator; no slice is the best.

    Below a slice's name stands its size.
    """
    key = "slice" if found.covariate else found.by
    layout = Layout[Slice](
        f"Accuracy and calibration of {called.of} on {run.manifest.probe.name}, by {found.by}: {size_and_state(run)}.",
        f"{called.label}-by-{_slug(found)}",
        found.by,
        lambda slice_: Row(slice_.name, note=slice_size(slice_), keys={key: slice_.name}),
        (*_numbers(found), *SIZES),
        (SIZES_BELOW_NAMES,),
        kind="slices",
        more=UNRANKED,
    )
    covariate = {"covariate": found.by} if found.covariate else {}
    notes = slice_notes(found, options)
    return layout.table(found.slices, *notes, heading=heading(run)[:1], **of_run(run, **covariate))


def _numbers(slices: RunSlices) -> Iterator[Cells[Slice]]:
    yield Cells(Column("accuracy", keys={"estimator": "base", "metric": "accuracy"}), lambda slice_: slice_.accuracy)
    yield cells("chance", "chance_accuracy", lambda slice_: slice_.chance_accuracy)
    metrics = SLICE_METRICS if slices.covariate is None else COVARIATE_METRICS
    for place, estimator in enumerate(slices.estimators, 1):
        for metric, title in metrics.items():
            yield _number(
                Column(title, heading=estimator, keys={"estimator": estimator, "metric": metric}, priority=place)
            )


def _number(column: Column) -> Cells[Slice]:
    return Cells(column, lambda slice_: slice_.estimators[column.keys["estimator"]][column.keys["metric"]])


def _slug(slices: RunSlices) -> str:
    """What the slices are by, as a label can have it."""
    return re.sub(r"[^a-z0-9]+", "-", slices.by.lower()).strip("-") or "covariate"


def gaps_table(run: RunFacts, found: RunSlices, called: TableName) -> Table | None:
    """A row a slice in a block for each estimator: confidence minus accuracy, in all slices at once."""
    return slice_gaps_table(
        {"": found.gaps},
        found.by,
        f"Confidence minus accuracy of {called.of} on {run.manifest.probe.name}, in all slices by {found.by} at once: "
        f"{size_and_state(run)}.",
        f"{called.label}-gaps-{_slug(found)}",
        found.by,
        **of_run(run),
    )


def trend_table(run: RunFacts, found: RunSlices, called: TableName) -> Table | None:
    """A row an estimator: how correctness, confidence and their difference go with a numeric covariate; else None."""
    if not found.trends:
        return None
    layout = Layout[str](
        f"Trend of {called.of} on {run.manifest.probe.name} with {found.by}: {size_and_state(run)}.",
        f"{called.label}-trend-{_slug(found)}",
        f"rho with {found.by}",
        lambda name: Row(name, keys={"estimator": name}),
        trend_columns(found.trends.__getitem__),
        (trend_note("instances", OF_RELATIONS),),
        kind="slices",
        more=UNRANKED,
    )
    return layout.table(found.trends, **of_run(run, covariate=found.by))
