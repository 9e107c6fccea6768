"""Tables of the slices of a set: a row a group of a covariate, grouped by variant; its trend."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.results import CellReport, SetReport
from calprobe.analysis.prose import COVARIATE_METRICS, covariate_notes, slice_ace_notes, trend_note
from calprobe.analysis.slices import RunSlices, Slice
from calprobe.analysis.tables.layout import Layout
from calprobe.analysis.tables.slices import trend_columns
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.analysis.trends import Trend
from calprobe.confidence.estimator import Scale
from calprobe.metrics.ranking import AUROC

CellTrend = tuple[CellReport, str, Trend]  # with its estimator
OF_SCALE: dict[Scale, dict[str, str]] = {"probability": COVARIATE_METRICS, "uncertainty": {AUROC.name: AUROC.title}}


def slices_tables(own: SetReport, options: AskedOptions) -> Iterator[Table]:
    """The slices of every variant, and where they are of numbers, the trend with these."""
    cells = [(cell, cell.slices) for cell in own.cells.values() if cell.slices is not None]
    if not cells:
        return
    yield _slices(cells, options)
    if any(found.trends for _, found in cells):
        yield _trends(cells)


def _slices(cells: list[tuple[CellReport, RunSlices]], options: AskedOptions) -> Table:
    by, covariate = cells[0][1].by, cells[0][1].covariate
    parts = [part for _, found in cells for part in found.slices]
    estimators = {
        name: cell.estimators[name].scale for cell, found in cells for part in found.slices for name in part.estimators
    }
    shown = [(name, metric, title) for name, scale in estimators.items() for metric, title in OF_SCALE[scale].items()]
    places = {name: place for place, name in enumerate(estimators, 1)}
    # Samples of a question are several rows.
    sampled = any((part.questions or 0) < part.instances for part in parts)
    columns = (
        Column("n", keys={"metric": "n"}),
        *([Column("questions", keys={"metric": "questions"})] if sampled else []),
        Column("accuracy", keys={"metric": "accuracy"}),
        Column("chance", keys={"metric": "chance"}),
        *(
            Column(title, heading=name, keys={"estimator": name, "metric": metric}, priority=places[name])
            for name, metric, title in shown
        ),
    )
    groups = max(sum(part.ends is not None for part in found.slices) for _, found in cells)
    sizes = {part.name: min(own.instances for own in parts if own.name == part.name) for part in parts}
    lacking = max(found.lacking for _, found in cells)
    wanted = [(name, metric) for name, metric, _ in shown]
    return Table(
        f"Accuracy and calibration by {by}",
        "by",
        by,
        columns,
        tuple(
            Row(
                part.name,
                tuple(_cells(part, wanted, sampled)),
                group=cell.variant if len(cells) > 1 else "",
                keys={"covariate": by, "variant": cell.variant, "slice": part.name},
            )
            for cell, found in cells
            for part in found.slices
        ),
        kind="slices",
        notes=(
            *(() if covariate is None else covariate_notes(covariate, groups, lacking, "question")),
            f"Accuracy: by {_readers(cells)}, the reader that confidences go by.",
            *slice_ace_notes(options.slice_bins, sizes),
        ),
    )


def _readers(cells: list[tuple[CellReport, RunSlices]]) -> str:
    return ", ".join(dict.fromkeys(cell.reader for cell, _ in cells))


def _cells(part: Slice, wanted: list[tuple[str, str]], sampled: bool) -> Iterator[Cell]:
    yield part.instances
    if sampled:
        yield part.questions
    yield part.accuracy
    yield part.chance_accuracy
    for name, metric in wanted:
        yield part.estimators[name].get(metric) if name in part.estimators else None


def _trends(cells: list[tuple[CellReport, RunSlices]]) -> Table:
    name = cells[0][1].by

    def head(at: CellTrend) -> Row:
        cell, estimator, _ = at
        keys = {"covariate": name, "variant": cell.variant, "estimator": estimator}
        return Row(estimator, group=cell.variant if len(cells) > 1 else "", keys=keys)

    note = trend_note("questions", "All samples count. Something that goes with it can be the cause.")
    layout = Layout[CellTrend](
        f"Trend with {name}", "trend", f"rho with {name}", head, trend_columns(lambda at: at[2]), (note,), kind="slices"
    )
    return layout.table((cell, *trend) for cell, found in cells for trend in found.trends.items())
