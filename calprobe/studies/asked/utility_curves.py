"""Utility curves of an asked run, of the cells and rows that its reliability diagrams are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calprobe.cells.asked import AskedCell
from calprobe.curves.utility import GRID, UtilityLine
from calprobe.measures.asked_options import AskedOptions
from calprobe.metrics import utility_curve
from calprobe.studies.asked.pooled_samples import samples_of_set
from calprobe.studies.asked.reliability_curves import with_scale
from calprobe.studies.asked.results import SetReport


def utility_lines(
    report: SetReport, cells: Mapping[str, AskedCell], options: AskedOptions, estimators: Sequence[str] | None
) -> Iterator[UtilityLine]:
    """The lines of a set."""
    samples = samples_of_set(report, cells, options, estimators, with_scale)
    for name, (confidence, correct, questions) in samples.items():
        if len(confidence):
            clusters = questions if len(np.unique(questions)) < len(questions) else None
            curve = utility_curve(confidence, correct, GRID, options.resampling, clusters)
            yield UtilityLine(report.name, report.name, name, (), curve)
