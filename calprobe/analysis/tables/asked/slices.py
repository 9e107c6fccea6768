"""Tables of the slices of a set: a row a group of a covariate, grouped by variant; its trend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.results import SetReport
from calprobe.analysis.asked.slice_results import AskedSlice, CellSlices
from calprobe.analysis.covariates import Covariate
from calprobe.analysis.prose import COVARIATE_METRICS, covariate_notes, slice_ace_notes, trend_note
from calprobe.analysis.tables.layout import Cells, Layout, below, cells, each, where
from calprobe.analysis.tables.slices import trend_columns
from calprobe.analysis.tables.types import Row, Table
from calprobe.analysis.trends import Trend
from calprobe.confidence.estimator import Scale
from calprobe.metrics.ranking import AUROC

OF_SCALE: dict[Scale, dict[str, str]] = {"probability": COVARIATE_METRICS, "uncertainty": {AUROC.name: AUROC.title}}
Record = TypeVar("Record")


def slices_tables(report: SetReport, options: AskedOptions) -> Iterator[Table]:
    """The slices of every variant, and where they are of numbers, the trend with these."""
    slices = {variant: cell.slices for variant, cell in report.cells.items() if cell.slices is not None}
    if not slices:
        return
    readers = dict.fromkeys(cell.reader for variant, cell in report.cells.items() if variant in slices)
    yield _slices(slices, list(readers), options)
    if any(of_cell.trends for of_cell in slices.values()):
        yield _trends(slices)


def _slices(slices: Mapping[str, CellSlices], readers: Sequence[str], options: AskedOptions) -> Table:
    covariate = next(iter(slices.values())).covariate
    parts = [part for of_cell in slices.values() for part in of_cell.slices]
    estimators = {name: estimator.scale for part in parts for name, estimator in part.estimators.items()}
    layout = Layout[AskedSlice].given(
        f"Accuracy and calibration by {covariate.name}",
        "by",
        covariate.name,
        cells("n", "n", lambda part: part.rows),
        # Samples of a question are several rows.
        *where(lambda part: part.questions < part.rows, cells("questions", "questions", lambda own: own.questions)),
        cells("accuracy", "accuracy", lambda part: part.accuracy),
        cells("chance", "chance", lambda part: part.chance),
        *(column for place, name in enumerate(estimators, 1) for column in _of(name, estimators[name], place)),
        kind="slices",
    )
    groups = max(sum(part.ends is not None for part in of_cell.slices) for of_cell in slices.values())
    lacking = max(of_cell.lacking for of_cell in slices.values())
    sizes = {part.name: min(own.rows for own in parts if own.name == part.name) for part in parts}
    named = {variant: {part.name: part for part in of_cell.slices} for variant, of_cell in slices.items()}
    return layout.of_rows(
        _rows(named, covariate, "slice"),
        *covariate_notes(covariate, groups, lacking, "question"),
        f"Accuracy: by {', '.join(readers)}, the reader that confidences go by.",
        *slice_ace_notes(options.slice_bins, sizes),
    )


def _of(name: str, scale: Scale, place: int) -> tuple[Cells[AskedSlice], ...]:
    return each(
        OF_SCALE[scale],
        lambda part, metric: part.estimators[name].metrics.get(metric) if name in part.estimators else None,
        lambda metric: {"estimator": name, "metric": metric},
        heading=name,
        priority=place,
    )


def _rows(records: Mapping[str, Mapping[str, Record]], covariate: Covariate, key: str) -> Iterator[tuple[Row, Record]]:
    """Grouped by variant, where there are several."""
    for row, record in below(records, key):
        keys = {"covariate": covariate.name, **row.keys}
        yield replace(row, group=row.group if len(records) > 1 else "", keys=keys), record


def _trends(slices: Mapping[str, CellSlices]) -> Table:
    covariate = next(iter(slices.values())).covariate
    layout = Layout[Trend].given(
        f"Trend with {covariate.name}",
        "trend",
        f"rho with {covariate.name}",
        *trend_columns(lambda trend: trend),
        notes=(trend_note("questions", "All samples count. Something that goes with it can be the cause."),),
        kind="slices",
    )
    trends = {variant: of_cell.trends for variant, of_cell in slices.items()}
    return layout.of_rows(_rows(trends, covariate, "estimator"))
