"""A forest plot of slices: confidence minus accuracy of each with its interval, the most overconfident on top."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from calprobe.measures.number_text import p_text, short_signed
from calprobe.measures.slice_gaps import SliceGaps
from calprobe.metrics import Estimate, GroupGap
from calprobe.show.kinds.dumbbell_figure import LONGEST, REST_INCHES, ROW_INCHES
from calprobe.show.marks import Figures, Line, Panel, Points, Scale, Series
from calprobe.show.plots.names import shortened
from calprobe.show.tables.cell_text import one_line


@dataclass(frozen=True, slots=True)
class GapRows:
    """One panel: the slices that have an interval."""

    title: str
    by: str
    rows: tuple[GroupGap, ...]  # the uppermost first

    @property
    def panel(self) -> Panel:
        """A row for each slice; where the gap can be told from 0 its interval is thick."""
        labels = [f"{shortened(one_line(row.name), LONGEST)} ({row.instances})" for row in self.rows]
        names = Scale.of_rows(labels, ROW_INCHES)
        zero = Line((0.0, 0.0), (len(self.rows) - 0.4, -0.6), "reference", "calibrated")
        intervals = tuple(
            Line((row.gap.low, row.gap.high), (at, at), *(("sure", "p < 0.05") if row.p_value < 0.05 else ("gap",)))
            for at, row in enumerate(self.rows)
        )
        tips = tuple(
            f"{row.name}: {short_signed(row.gap, 3)}, p {p_text(row.p_value)}, n {row.instances}" for row in self.rows
        )
        heights = tuple(Estimate(float(at)) for at in range(len(self.rows)))
        points = Points(tuple(row.gap.value for row in self.rows), heights, tips)
        label = f"{self.title}: confidence minus accuracy, a row a slice by {self.by}."
        series = (Series("confidence - accuracy", 0, (points,)),)
        across = Scale("conf - acc, above 0: too sure")
        return Panel(self.title, across, names, series, (zero, *intervals), label=label, size=(2.6, REST_INCHES))


def gap_figures(found: Mapping[str, Mapping[str, SliceGaps]], by: str) -> Figures:
    """A panel for each estimator that has intervals; `found` is by what is sliced, "" of all, then by estimator."""
    return Figures(
        "gaps",
        list(_panels(found, by)),
        "Confidence - accuracy by {0.by}: {0.title}",
        "With 95 % intervals that hold for all slices of a panel at once; to the right of 0 the model is too sure. "
        "Thick: adjusted p below 0.05. In brackets: answers.",
    )


def _panels(found: Mapping[str, Mapping[str, SliceGaps]], by: str) -> Iterator[GapRows]:
    for whole, of_whole in found.items():
        for name, gaps in of_whole.items():
            tested = [group for group in gaps.found.groups if not math.isnan(group.gap.low)]
            if tested:
                title = ", ".join(filter(None, (whole, name)))
                yield GapRows(title, by, tuple(sorted(tested, key=lambda group: (-group.gap.value, group.name))))
