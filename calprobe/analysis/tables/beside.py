"""Tables of what a report was asked for beside its estimators: slices of a run, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.against_terminal import INSIDE, TITLES, against_footnotes, against_notes, name_of
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.paper_figures import RunAgainst
from calprobe.analysis.scored_run import RunFacts
from calprobe.analysis.slices import RunSlices
from calprobe.analysis.slices_terminal import METRICS, size_of, slice_notes
from calprobe.analysis.tables.state import about, heading_lines, scope
from calprobe.analysis.tables.types import Cell, Column, Row, Table

ALL_COLUMNS = 10**6  # characters: a file has room for every estimator


def slices_table(run: RunFacts, found: RunSlices, options: ReportOptions, label: str) -> Table:
    """A row a slice: accuracy of base, chance, and ACE and Brier score of each estimator; no slice is the best."""
    columns = [
        Column("accuracy", keys={"estimator": "base", "metric": "accuracy"}),
        Column("chance", keys={"metric": "chance_accuracy"}),
        *(
            Column(title, heading=name, keys={"estimator": name, "metric": metric})
            for name in found.estimators
            for metric, title in METRICS.items()
        ),
        # In print they stand below the slice's name.
        *(Column(name, keys={"metric": name}, printed=False) for name in ("instances", "mean_candidates")),
    ]
    model, probe = run.manifest.model.name, run.manifest.probe.name
    return Table(
        caption=f"Accuracy and calibration of {model} on {probe}, by {found.by}: {scope(run)}.",
        label=f"{label}-by-{found.by}",
        stub=found.by,
        columns=tuple(columns),
        rows=tuple(_slice_rows(found)),
        heading=heading_lines(run)[:1],
        notes=tuple(slice_notes(found, ALL_COLUMNS, options)),
        keys={"run": run.label, "model": model},
        about=about(run),
        best_within=None,
    )


def _slice_rows(found: RunSlices) -> Iterator[Row]:
    for part in found.slices:
        cells: list[Cell] = [part.accuracy, part.chance_accuracy]
        cells += [part.estimators[name][metric] for name in found.estimators for metric in METRICS]
        cells += [part.instances, part.mean_candidates]
        yield Row(part.name, tuple(cells), note=size_of(part), keys={found.by: part.name})


def against_table(run: RunFacts, found: RunAgainst, label: str) -> Table:
    """A row a number of the paper's tables: ours, theirs, and the difference; below them, what the run departs in."""
    return Table(
        caption=f"Numbers of {run.manifest.model.name} beside the paper's: {scope(run)}.",
        label=f"{label}-against",
        stub="number",
        columns=tuple(Column(name, keys={"quantity": name}) for name in ("ours", "paper", "difference", "inside")),
        rows=tuple(
            Row(
                name_of(row.figure),
                (row.ours, row.figure.value, row.difference, INSIDE[row.inside]),
                group=TITLES[row.figure.table],
                keys={
                    "paper_table": row.figure.table,
                    "estimator": row.figure.estimator,
                    "metric": row.figure.metric,
                    "of": row.figure.of or "",
                },
            )
            for row in found.rows
        ),
        heading=heading_lines(run)[:1],
        notes=(*against_notes(found), *against_footnotes(found)),
        keys={"run": run.label, "model": run.manifest.model.name},
        about=about(run),
        best_within=None,
    )
