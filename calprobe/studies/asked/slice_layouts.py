"""Tables of the slices of a set: a row a group of a covariate, grouped by variant; its trend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from calprobe.confidence.estimator import Scale
from calprobe.measures.covariates import TREE, Covariate
from calprobe.measures.options import ReportOptions
from calprobe.measures.slices import RunSlices, Slice
from calprobe.measures.trends import Trend
from calprobe.metrics.ranking import AUROC
from calprobe.show.prose import COVARIATE_METRICS, covariate_notes, slice_ace_notes, tree_notes, trend_note
from calprobe.show.tables.gap_table import slice_gaps_table
from calprobe.show.tables.layout import Cells, Layout, below, cells, each, where
from calprobe.show.tables.slice_table import trend_columns
from calprobe.show.tables.types import Row, Table, unless_nan
from calprobe.studies.asked.results import SetReport

OF_SCALE: dict[Scale, dict[str, str]] = {"probability": COVARIATE_METRICS, "uncertainty": {AUROC.name: AUROC.title}}
AVERAGES = "macro: mean over the groups, each counting alike. micro: over all questions."
LABELS_OWN = ": with label probabilities the most probable label, whatever is read"
Record = TypeVar("Record")


def slices_tables(report: SetReport, options: ReportOptions) -> Iterator[Table]:
    """The slices of every variant, and where they are of numbers, the trend with these."""
    slices = {variant: cell.slices for variant, cell in report.cells.items() if cell.slices is not None}
    if not slices:
        return
    readers = dict.fromkeys(cell.reader for variant, cell in report.cells.items() if variant in slices)
    scales = {name: estimator.scale for cell in report.cells.values() for name, estimator in cell.estimators.items()}
    yield _slices(slices, scales, list(readers), options)
    by = next(iter(slices.values())).by
    gaps = {variant: of_cell.gaps for variant, of_cell in slices.items()}
    title = f"Confidence minus accuracy, in all slices by {by} at once"
    if (
        table := slice_gaps_table(gaps if len(gaps) > 1 else {"": gaps[next(iter(gaps))]}, by, title, "gaps", by)
    ) is not None:
        yield table
    if any(of_cell.trends for of_cell in slices.values()):
        yield _trends(slices)


def _slices(
    slices: Mapping[str, RunSlices], scales: Mapping[str, Scale], readers: Sequence[str], options: ReportOptions
) -> Table:
    first = next(iter(slices.values()))
    all_slices = [slice_ for of_cell in slices.values() for slice_ in of_cell.slices]
    estimators = dict.fromkeys(name for slice_ in all_slices for name in slice_.estimators)
    layout = Layout[Slice].given(
        f"Accuracy and calibration by {first.by}",
        "by",
        first.by,
        cells("n", "n", lambda slice_: slice_.instances),
        # Samples of a question are several rows.
        *where(lambda slice_: slice_.sampled, cells("questions", "questions", lambda slice_: slice_.questions)),
        cells("accuracy", "accuracy", lambda slice_: slice_.accuracy),
        cells("chance", "chance", lambda slice_: unless_nan(slice_.chance_accuracy)),
        *(column for place, name in enumerate(estimators, 1) for column in _of(name, scales[name], place)),
        kind="slices",
    )
    groups = max(sum(slice_.ends is not None for slice_ in of_cell.slices) for of_cell in slices.values())
    lacking = max(of_cell.lacking for of_cell in slices.values())
    sizes = {
        slice_.name: min(alike.instances for alike in all_slices if alike.name == slice_.name) for slice_ in all_slices
    }
    rows: list[tuple[Row, Slice]] = []
    for variant, of_cell in slices.items():
        rows += _rows({variant: {slice_.name: slice_ for slice_ in of_cell.slices}}, first.by, "slice")
        rows += _rows({variant: of_cell.averages}, first.by, "average")
    return layout.of_rows(
        [(row if len(slices) > 1 else replace(row, group=""), slice_) for row, slice_ in rows],
        *_covariate_notes(first.covariate, list(sizes), groups, lacking),
        *[AVERAGES] * any(of_cell.averages for of_cell in slices.values()),
        f"Accuracy: of what {', '.join(readers)} reads. An estimator's numbers, of the rows that have it, are of the "
        f"answers that it is a confidence in{LABELS_OWN if not options.by_paper else ''}.",
        *slice_ace_notes(options.slice_bins, sizes),
    )


def _covariate_notes(covariate: Covariate | None, names: Sequence[str], groups: int, lacking: int) -> Iterable[str]:
    if covariate is TREE:
        return tree_notes(names)
    return () if covariate is None else covariate_notes(covariate, groups, lacking, "question")


def _of(name: str, scale: Scale, place: int) -> tuple[Cells[Slice], ...]:
    return each(
        OF_SCALE[scale],
        lambda slice_, metric: slice_.estimators[name].get(metric) if name in slice_.estimators else None,
        lambda metric: {"estimator": name, "metric": metric},
        heading=name,
        priority=place,
    )


def _rows(records: Mapping[str, Mapping[str, Record]], by: str, key: str) -> Iterator[tuple[Row, Record]]:
    """Grouped by variant."""
    for row, record in below(records, key):
        yield replace(row, keys={"covariate": by, **row.keys}), record


def _trends(slices: Mapping[str, RunSlices]) -> Table:
    by = next(iter(slices.values())).by
    layout = Layout[Trend].given(
        f"Trend with {by}",
        "trend",
        f"rho with {by}",
        *trend_columns(lambda trend: trend),
        notes=(trend_note("questions", "All samples count. Something that goes with it can be the cause."),),
        kind="slices",
    )
    trends = {variant: of_cell.trends for variant, of_cell in slices.items()}
    rows = _rows(trends, by, "estimator")
    return layout.of_rows((row if len(trends) > 1 else replace(row, group=""), trend) for row, trend in rows)
