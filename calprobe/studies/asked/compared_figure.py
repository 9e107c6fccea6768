"""A comparison of asked runs as a forest plot shows it."""

from __future__ import annotations

import math

from calprobe.curves.differences import Forest, ForestRow
from calprobe.measures.run_names import last_names, state
from calprobe.studies.asked.compared import AskedComparison, AskedPair, CellPair


def compared_forest(comparison: AskedComparison) -> Forest:
    """A row for each set and variant of each pair, a panel for each metric, a mark for each reader and estimator."""
    names = last_names([run.label for run in comparison.runs])
    names = {run.label: names[run.label] + state(limited=run.limited, partial=run.partial) for run in comparison.runs}
    rows = tuple(
        ForestRow(_label(pair, cell, comparison, names), cell.contrasts)
        for pair in comparison.pairs
        for cell in pair.cells
    )
    contrasts = [contrast for row in rows for contrast in row.contrasts]
    present = {contrast.metric for contrast in contrasts if not math.isnan(contrast.difference.value)}
    return Forest(
        rows,
        {metric.name: metric.title for metric in comparison.metrics if metric.name in present},
        {metric.name: metric.better or "" for metric in comparison.metrics},
        tuple(dict.fromkeys(str(contrast.estimator) for contrast in contrasts)),
        comparison.options.margin,
        title=names[comparison.runs[0].label] if comparison.within else "",
    )


def _label(pair: AskedPair, cell: CellPair, comparison: AskedComparison, names: dict[str, str]) -> str:
    where = f"{cell.set}, {cell.first}" if cell.first == cell.second else cell.set
    sides = (cell.first, cell.second) if comparison.within else (names[pair.first], names[pair.second])
    if not comparison.within and cell.first != cell.second:
        sides = (f"{sides[0]} {cell.first}", f"{sides[1]} {cell.second}")
    return f"{sides[0]} − {sides[1]}\n{where}"
