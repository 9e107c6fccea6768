"""The slices of a run of scores on a page: their numbers, the gaps of all at once as table and figure, their trend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.options import ReportOptions
from calprobe.measures.slices import RunSlices
from calprobe.presentation.panel_views import views_of
from calprobe.show.html.views import Part, side_by_side
from calprobe.show.kinds.gap_figure import gap_figures
from calprobe.show.tables.labels import TableName
from calprobe.show.tables.slice_table import gaps_table, slices_table, trend_table


def slice_parts(
    run: RunFacts, several: Iterable[RunSlices], options: ReportOptions, called: TableName
) -> Iterator[Part]:
    """What a page shows of the slices of a run, of each kind of them."""
    for slices in several:
        yield slices_table(run, slices, options, called)
        yield from filter(None, (gaps_table(run, slices, called), trend_table(run, slices, called)))
        yield from side_by_side(views_of(gap_figures({"": slices.gaps}, slices.by)))
