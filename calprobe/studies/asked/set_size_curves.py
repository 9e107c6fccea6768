"""Set-size curves of asked runs, a line for each set, variant and rule."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.cells.asked import Asked
from calprobe.cells.candidates import LABELS, asked_cells
from calprobe.curves.set_sizes import SetSizeLine, SetSizes, one_estimator, set_size_lines
from calprobe.errors import UsageError
from calprobe.measures.asked_options import AskedOptions
from calprobe.measures.halves import check_promised


def asked_set_sizes(runs: Sequence[Asked], options: AskedOptions, estimators: Sequence[str] | None) -> SetSizes:
    """The curves of the labels of choices, by default of the first of `LABELS` that a cell has.

    Raises UsageError where no cell has label probabilities, and for an estimator that a cell lacks.
    """
    lines: list[SetSizeLine] = []
    for run in runs:
        for cell in asked_cells(run, options):
            usual = next((name for name in LABELS if name in cell.cell.estimators), None)
            if usual is None and estimators is None:
                continue
            name = one_estimator(estimators, usual or "")
            check_promised(cell.cell, name)
            parts = run.label if len(runs) > 1 else "", cell.cell.set, cell.cell.variant
            title = " ".join(filter(None, parts))
            lines += set_size_lines(cell, (title, title, name, ()), options.resampling.seed)
    if not lines:
        raise UsageError("no label probabilities to make sets of; ask with --collect labels")
    return SetSizes(tuple(lines))
