"""`calprobe compare` of asked runs as a page: a table of differences for each pair."""

from __future__ import annotations

from dataclasses import replace

from calprobe.analysis.asked.compared import AskedComparison, ComparedRun
from calprobe.analysis.html import definitions
from calprobe.analysis.html.comparison_view import SECTIONS
from calprobe.analysis.html.forest import forest
from calprobe.analysis.html.page import render
from calprobe.analysis.html.views import PageView, PairView, RunView
from calprobe.analysis.tables.asked.compared import compared_heading, compared_notes, compared_tables
from calprobe.cells.asked_extent import state_of


def asked_comparison_page(comparison: AskedComparison) -> str:
    """The page as HTML."""
    from calprobe.version import __version__

    where = "variants of a run" if comparison.within else "runs"
    models = list(dict.fromkeys(run.model for run in comparison.runs))
    resampling = comparison.options.scores.resampling
    drawn = f"95 % bootstrap, {resampling.n_resamples:,} resamples of questions, seed {resampling.seed}"
    tables = (replace(table, heading=(), general=()) for table in compared_tables(comparison))
    heads = compared_heading(comparison)
    page = PageView(
        title=" and ".join(models) if len(models) < 3 else f"{len(models)} models",
        subtitle=f"Differences between {where} on the same questions. Ranges are 95\u00a0% intervals.",
        contents=SECTIONS,
        runs=tuple(_run(run, at, head) for at, (run, head) in enumerate(zip(comparison.runs, heads, strict=True))),
        notes=tuple(compared_notes(comparison)),
        definitions=(
            *(definitions.of_metric(metric) for metric in comparison.metrics),
            definitions.DIFFERENCE,
            definitions.P_VALUE,
            definitions.HOLM if comparison.correction == "holm" else definitions.MAX_T,
            *([] if comparison.options.margin is None else [definitions.EQUIVALENCE]),
        ),
        made=(("calprobe", __version__), ("intervals", drawn if resampling.n_resamples else "none asked for")),
        manifests=(),
        pairs=tuple(PairView(table, forest(table, comparison.metrics)) for table in tables),
    )
    return render("compare.html.j2", page)


def _run(run: ComparedRun, at: int, head: str) -> RunView:
    state = state_of(run.extent)
    how = head.removeprefix(f"{run.label}: ").removesuffix(f", {state}")
    return RunView(f"run-{at}", run.label, state, state != "complete", how, ())
