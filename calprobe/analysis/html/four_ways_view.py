"""`calprobe compare` of runs of scores with runs of replies as a page: the same facts in several ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from calprobe.analysis.four_ways.joint import FourWays
from calprobe.analysis.four_ways.pictures import WayPictures, way_pictures
from calprobe.analysis.four_ways.results import RunRecord
from calprobe.analysis.html import charts, definitions
from calprobe.analysis.html.page import render
from calprobe.analysis.html.stated_charts import correlations
from calprobe.analysis.html.views import Choice, Definition, FigureView, PageView, RunView, SectionView
from calprobe.analysis.html.ways_charts import PLACES, dumbbells, part_key, quarters
from calprobe.analysis.palette import series_places
from calprobe.analysis.tables.four_ways import four_ways_tables
from calprobe.analysis.tables.four_ways.every import general_notes, joined_notes, models_note, run_parts
from calprobe.messages import counted

SECTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {  # anchor -> title, labels of tables
    "known": ("Ranked right, answered right", ("ways", "two-by-two")),
    "confidences": ("Confidences", ("views", "view-differences")),
    "agreement": ("Do they agree on what is certain?", ("correlations",)),
    "relations": ("Which relations are known better than said", ("relations",)),
    "facts": ("Facts that one way alone gets right", ("facts",)),
}


def four_ways_page(found: FourWays) -> str:
    """The page as HTML."""
    return render("ways.html.j2", _page(found))


def _page(found: FourWays) -> PageView:
    from calprobe.version import __version__

    tables = {table.label: replace(table, heading=(), lead=(), general=()) for table in four_ways_tables(found)}
    figures = _figures(way_pictures(found))
    sections = tuple(
        SectionView(anchor, title, tuple(tables[name] for name in labels if name in tables), figures=figures[anchor])
        for anchor, (title, labels) in SECTIONS.items()
    )
    sections = tuple(section for section in sections if section.tables)
    resampling = found.options.scores.resampling
    drawn = f"95 % bootstrap, {resampling.n_resamples:,} resamples, seed {resampling.seed}"
    return PageView(
        title=" and ".join(found.models) if len(found.models) < 3 else f"{len(found.models)} models",
        subtitle=f"{counted(len(found.facts), 'fact')} of {found.probe} in {counted(len(found.ways), 'way')}: ranked, "
        "chosen or answered, and how sure each way is. Ranges are 95\u00a0% intervals.",
        contents=(
            ("runs", "Runs"),
            *((section.anchor, section.title) for section in sections),
            ("definitions", "Definitions"),
            ("made", "How it was made"),
        ),
        runs=tuple(_run(run, at) for at, run in enumerate(found.runs)),
        notes=(*models_note(found), *joined_notes(found), *general_notes(found)),
        definitions=_definitions(found),
        made=(("calprobe", __version__), ("intervals", drawn if resampling.n_resamples else "none asked for")),
        manifests=(),
        sections=sections,
    )


def _run(run: RunRecord, at: int) -> RunView:
    state, how, *others = run_parts(run)
    return RunView(f"run-{at}", run.label, state, state != "complete", how, tuple(others))


def _definitions(found: FourWays) -> tuple[Definition, ...]:
    difference = replace(definitions.DIFFERENCE, title="difference")
    own = (
        Definition(f"e-{each.view.name}", each.view.name, f"{each.view.estimator.definition}.") for each in found.views
    )
    corrected = definitions.HOLM if found.correction == "holm" else definitions.MAX_T
    metrics = (definitions.of_metric(metric) for metric in found.columns if metric.printed)
    return definitions.distinct([*metrics, difference, definitions.P_VALUE, corrected, *own])


def _figures(found: WayPictures) -> dict[str, tuple[FigureView, ...]]:
    """By section."""
    return {
        "known": tuple(_bars(found)),
        "confidences": tuple(_calibration(found)),
        "agreement": tuple(_correlations(found)),
        "relations": tuple(_relations(found)),
        "facts": (),
    }


def _bars(found: WayPictures) -> Iterator[FigureView]:
    if found.quarters:
        choices = zip(found.quarters[0].names, PLACES, strict=True)
        yield FigureView(
            "Ranked right, answered right",
            quarters(found.quarters),
            "Shares of the facts in percent. Only ranked right: the model finds it the most probable and says another.",
            tuple(Choice(name, place, part_key(place)) for name, place in choices),
            choosable=False,
        )


def _calibration(found: WayPictures) -> Iterator[FigureView]:
    lines = found.calibration.lines
    if lines:
        places = series_places([line.estimator for line in lines])
        yield FigureView(
            "Reliability",
            charts.calibration(lines, places, "fact"),
            "Accuracy against mean confidence of quantile bins, each confidence over the facts that have it. On the "
            "dotted line the two are equal. Below: the share of the facts in bins of equal width.",
            tuple(Choice(name, place, charts.key(place)) for name, place in places.items()),
        )


def _correlations(found: WayPictures) -> Iterator[FigureView]:
    if found.correlations is not None:
        yield FigureView(
            "Rank correlation of the confidences",
            correlations(found.correlations),
            "Spearman's rho over the facts that have both; the darker, the farther from 0.",
        )


def _relations(found: WayPictures) -> Iterator[FigureView]:
    for own in found.dumbbells:
        chance = "" if own.chance != own.chance else " Dotted: chance of the answers."
        yield FigureView(
            own.title,
            dumbbells(own),
            f"Shares of each relation's facts, whose number stands in brackets. Thick: Holm p below 0.05.{chance}",
            (Choice(own.first, 0, charts.key(0)), Choice(own.second, 1, charts.key(1))),
            choosable=False,
        )
