"""`calprobe compare` as a page: a table of differences for each pair."""

from __future__ import annotations

from dataclasses import replace

from calprobe.analysis.compare_prose import comparison_notes, unpaired_notes
from calprobe.analysis.compare_results import Comparison
from calprobe.analysis.html import definitions
from calprobe.analysis.html.forest import forest
from calprobe.analysis.html.page import render
from calprobe.analysis.html.run_view import manifests, options_made, page_title, run_head
from calprobe.analysis.html.views import PageView, PairView
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.tables import pair_tables

SECTIONS = (("runs", "Runs"), ("pairs", "Differences"), ("definitions", "Definitions"), ("made", "How it was made"))


def comparison_page(comparison: Comparison) -> str:
    """The page as HTML."""
    where = "within a run" if comparison.within is not None else "between runs"
    page = PageView(
        title=page_title(comparison.runs),
        subtitle=f"Differences {where} on the same instances. Ranges are 95\u00a0% intervals.",
        contents=SECTIONS,
        runs=tuple(run_head(run, place) for place, run in enumerate(comparison.runs)),
        notes=(*unpaired_notes(comparison), *comparison_notes(comparison)),
        definitions=(
            *(definitions.of_metric(metric) for metric in comparison.metrics),
            definitions.BEAR_SCORE,
            definitions.DIFFERENCE,
            definitions.P_VALUE,
            definitions.HOLM if comparison.correction == "holm" else definitions.MAX_T,
            *([] if comparison.options.margin is None else [definitions.EQUIVALENCE]),
        ),
        made=options_made(_as_resampled(comparison)),
        manifests=manifests(comparison.runs),
        pairs=tuple(PairView(table, forest(table, comparison.metrics)) for table in pair_tables(comparison)),
    )
    return render("compare.html.j2", page)


def _as_resampled(comparison: Comparison) -> ReportOptions:
    """The options with the unit that was resampled; that of all relations where domains have another."""
    return replace(comparison.options.scores, cluster=next(iter(comparison.units), None))
