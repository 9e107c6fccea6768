"""A run's numbers by relation or domain, as a table that sorts by size too."""

from __future__ import annotations

from dataclasses import replace

from calprobe.analysis.html.views import TableView
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.results import RunReport
from calprobe.analysis.slices import RunSlices
from calprobe.analysis.tables import Cell, Column
from calprobe.analysis.tables.beside import slices_table


def slices_view(run: RunReport, found: RunSlices, options: ReportOptions) -> TableView:
    """The table of slices with columns of its own for what stands below the names elsewhere, and BEAR scores."""
    table = slices_table(run.facts, found, options, "")
    leading = [Column("instances"), Column("K")]
    cells: list[list[Cell]] = [
        [part.instances, f"{part.mean_candidates:.1f}".removesuffix(".0")] for part in found.slices
    ]
    if any(part.bear_score is not None for part in found.slices):
        leading.append(Column("BEAR score", "larger"))
        for own, part in zip(cells, found.slices, strict=True):
            own.append(part.bear_score)
    rows = tuple(replace(row, cells=(*own, *row.cells), note="") for own, row in zip(cells, table.rows, strict=True))
    wide = replace(table, columns=(*leading, *table.columns), rows=rows)
    return TableView.of(wide, notes=table.notes[1:])  # the first tells what stands below the names
