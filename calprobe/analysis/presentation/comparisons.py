"""What `calprobe compare` shows: runs of scores, runs of replies, or the same facts in several ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from calprobe.analysis.asked.compare_asked import compare_asked
from calprobe.analysis.asked.compared_figure import compared_forest
from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.compare_runs import compare
from calprobe.analysis.curves.differences import Forest, draw_differences, forest
from calprobe.analysis.four_ways.compare_ways import compare_ways
from calprobe.analysis.four_ways.frame import facts_frame
from calprobe.analysis.four_ways.joint import FourWays
from calprobe.analysis.four_ways.options import FourWaysOptions
from calprobe.analysis.four_ways.pictures import way_pictures
from calprobe.analysis.html import asked_comparison_page, comparison_page, four_ways_page
from calprobe.analysis.options import CompareOptions, Pair
from calprobe.analysis.presentation.presentation import NamedFigure, Presentation
from calprobe.analysis.tables import comparison_tables, pair_tables
from calprobe.analysis.tables.asked.compared import compared_tables
from calprobe.analysis.tables.four_ways import four_ways_tables
from calprobe.cells.opening import AnyRun, asked_runs, of_replies, of_scores


def present_comparison(runs: Mapping[str, AnyRun], options: CompareOptions) -> Presentation:
    """Differences between runs of scores, or within one. Raises as `compare`."""
    comparison = compare(of_scores(runs), options)
    return Presentation(
        comparison,
        partial(pair_tables, comparison),
        partial(comparison_tables, comparison),
        lambda: [_differences(forest(comparison))],
        partial(comparison_page, comparison),
    )


def present_asked_comparison(
    runs: Mapping[str, AnyRun], options: CompareOptions, asked: AskedOptions, variants: tuple[Pair, ...] | None
) -> Presentation:
    """Differences between runs of replies, or within one. Raises as `compare_asked`."""
    comparison = compare_asked(asked_runs(of_replies(runs)), options, asked, variants)
    tables = partial(compared_tables, comparison)
    return Presentation(
        comparison,
        tables,
        tables,
        lambda: [_differences(compared_forest(comparison))],
        partial(asked_comparison_page, comparison),
    )


def present_ways(runs: Mapping[str, AnyRun], options: FourWaysOptions) -> Presentation:
    """What runs of scores and of replies say of the same facts. Raises as `compare_ways`."""
    ways = compare_ways(of_scores(runs), of_replies(runs), options)
    return Presentation(
        ways,
        partial(four_ways_tables, ways, narrow=True),
        partial(four_ways_tables, ways),
        partial(_way_figures, ways),
        partial(four_ways_page, ways),
        {"facts": lambda _: facts_frame(ways).to_csv(index=False)},
    )


def _differences(panels: Forest) -> NamedFigure:
    return NamedFigure("", lambda look: draw_differences(panels, look))


def _way_figures(ways: FourWays) -> Iterator[NamedFigure]:
    return (NamedFigure(kind, draw) for kind, draw in way_pictures(ways).drawn())
