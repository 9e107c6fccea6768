"""The pages of `calprobe compare`: of runs of scores, of runs of replies, and of the same facts in several ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from calprobe.measures.compare_results import Comparison, Corrected
from calprobe.messages import counted
from calprobe.metrics import Metric
from calprobe.presentation.asked_figure_views import way_figures
from calprobe.presentation.forest import forest
from calprobe.presentation.page_heads import asked_head, manifests, page_title, run_head
from calprobe.show.compare_prose import comparison_notes, unpaired_notes
from calprobe.show.html import definitions
from calprobe.show.html.page import render
from calprobe.show.html.views import (
    FigureView,
    Heading,
    Page,
    Part,
    RunHead,
    Section,
    Verdict,
    few,
    side_by_side,
    with_name,
)
from calprobe.show.prose import intervals_made, options_made
from calprobe.show.tables import Table
from calprobe.show.tables.comparison import pair_tables
from calprobe.show.tables.side_by_side import Sides, told
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.compared_layouts import compared_heading, compared_notes, compared_tables, compared_warnings
from calprobe.studies.asked.compared_layouts import compared_sides as asked_sides
from calprobe.studies.four_ways.figures import way_pictures
from calprobe.studies.four_ways.glance import ways_told
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.layouts import four_ways_tables, general_notes, joined_notes, models_note, run_parts
from calprobe.studies.scored.glance import compared_sides

WAYS: Mapping[str, tuple[str, tuple[str, ...]]] = {  # anchor -> title, labels of tables
    "known": ("Ranked right, answered right", ("ways", "two-by-two")),
    "confidences": ("Confidences", ("views", "view-differences")),
    "agreement": ("Do they agree on what is certain?", ("correlations",)),
    "relations": ("Which relations are known better than said", ("relations",)),
    "facts": ("Facts that one way alone gets right", ("facts",)),
}


def comparison_page(comparison: Comparison) -> str:
    """The page of runs of scores as HTML."""
    where = "within a run" if comparison.within is not None else "between runs"
    heads = (run_head(run, place) for place, run in enumerate(comparison.runs))
    first, pairs = _pairs(pair_tables(comparison), comparison.metrics)
    notes = (*unpaired_notes(comparison), *comparison_notes(comparison))
    # The unit that was resampled: that of all relations, where domains have another.
    options = replace(comparison.options.scores, cluster=next(iter(comparison.units), None))
    page = Page(
        title=page_title(comparison.runs),
        subtitle=f"Differences {where} on the same instances. Ranges are 95\u00a0% intervals.",
        sections=(
            _runs(_sentences(compared_sides(comparison), comparison), heads, first),
            Section("pairs", "Differences", (*pairs, *notes)),
        ),
        definitions=(
            *map(definitions.of_metric, comparison.metrics),
            definitions.BEAR_SCORE,
            *definitions.of_differences(comparison.correction, comparison.options.margin),
        ),
        made=options_made(options),
        manifests=manifests(comparison.runs),
    )
    return render(page)


def asked_comparison_page(comparison: AskedComparison) -> str:
    """The page of runs of replies as HTML."""
    where = "variants of a run" if comparison.within else "runs"
    lines = zip(comparison.runs, compared_heading(comparison), strict=True)
    heads = (asked_head(run, place, line) for place, (run, line) in enumerate(lines))
    sentences = (*compared_warnings(comparison.runs), *_sentences(asked_sides(comparison), comparison))
    first, pairs = _pairs(compared_tables(comparison), comparison.metrics)
    page = Page(
        title=few([run.model for run in comparison.runs], "model"),
        subtitle=f"Differences between {where} on the same questions. Ranges are 95\u00a0% intervals.",
        sections=(
            _runs(sentences, heads, first),
            Section("pairs", "Differences", (*pairs, *compared_notes(comparison))),
        ),
        definitions=(
            *map(definitions.of_metric, comparison.metrics),
            *definitions.of_differences(comparison.correction, comparison.options.margin),
        ),
        made=(intervals_made(comparison.options.scores.resampling, "questions"),),
    )
    return render(page)


def four_ways_page(ways: FourWays) -> str:
    """The page of the same facts in several ways as HTML."""
    tables = {table.label: replace(table, lead=()) for table in four_ways_tables(ways)}
    figures = way_figures(way_pictures(ways))
    first = [view for anchor in WAYS for view in figures.get(anchor, ())][:1]
    heads = []
    for place, run in enumerate(ways.runs):
        state, how, *lines = run_parts(run)
        heads.append(RunHead(place, run.label, state, how, tuple(lines)))
    sentences = (*joined_notes(ways), *ways_told(ways))
    sections = [_runs(sentences, heads, first, (*models_note(ways), *general_notes(ways)))]
    for anchor, (title, labels) in WAYS.items():
        if section_tables := [tables[label] for label in labels if label in tables]:
            sections.append(
                Section(
                    anchor,
                    title,
                    (*side_by_side(view for view in figures.get(anchor, ()) if view not in first), *section_tables),
                )
            )
    page = Page(
        title=few(ways.models, "model"),
        subtitle=f"{counted(len(ways.facts), 'fact')} of {ways.probe} in {counted(len(ways.ways), 'way')}: ranked, "
        "chosen or answered, and how sure each way is. Ranges are 95\u00a0% intervals.",
        sections=tuple(sections),
        definitions=definitions.distinct(
            [
                *(definitions.of_metric(metric) for metric in ways.columns if metric.printed),
                *definitions.of_differences(ways.correction, title="difference"),
                *(
                    definitions.of_estimator(numbers.view.name, numbers.view.estimator.definition)
                    for numbers in ways.views
                ),
            ]
        ),
        made=(intervals_made(ways.options.scores.resampling),),
    )
    return render(page)


def _sentences(pairs: Sequence[Sides], comparison: Corrected) -> Iterator[str]:
    """The verdict on each pair, and which sides it is about where it does not say so."""
    if len(pairs) == 1:
        yield f"A is {pairs[0].first}, B is {pairs[0].second}."
    yield from told(pairs, comparison)


def _runs(
    sentences: Iterable[str], heads: Iterable[RunHead], first: Iterable[FigureView], notes: Iterable[str] = ()
) -> Section:
    """What a reader looks at first: the verdict, what was compared, and a figure beside them."""
    return Section("runs", "Runs", (Verdict(tuple(sentences)), *heads, *first, *notes), "", "many")


def _pairs(tables: Iterable[Table], metrics: Sequence[Metric]) -> tuple[list[FigureView], list[Part]]:
    """The first figure, then two runs side by side, for each table of their differences."""
    parts: list[Part] = []
    for table in tables:
        if "first" in table.keys:
            parts.append(Heading(with_name("A {}, B {}", table.keys["first"], table.keys["second"])))
        if (figure := forest(table, metrics)) is not None:
            parts.append(figure)
        parts.append(table)
    first = [part for part in parts if isinstance(part, FigureView)][:1]
    return first, [part for part in parts if part not in first]
