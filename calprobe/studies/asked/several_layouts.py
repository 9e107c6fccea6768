"""Tables of what several sets or several runs show: matrices, recovered shares, size against spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calprobe.show.tables.layout import Layout, cells, each
from calprobe.show.tables.types import Cell, Row, Table
from calprobe.studies.asked.confidence_layouts import SHIFT
from calprobe.studies.asked.figures import MatrixValue, matrix_values
from calprobe.studies.asked.results import AcrossRuns, AskedRunReport, Recovered, SizeAndSpread


def matrix_tables(run: AskedRunReport) -> Iterator[Table]:
    """Variants by sets, of a run with several sets: accuracy, parse rates, shift."""
    if len(run.sets) > 1:
        yield from (_matrix(run, title, metric, value) for title, metric, value in matrix_values(run))


def _matrix(run: AskedRunReport, title: str, metric: str, value: MatrixValue) -> Table:
    def cell(variant: str, of_set: str) -> Cell:
        cells = run.sets[of_set].cells
        return value(cells[variant]) if variant in cells else None

    layout = Layout[str](
        title,
        f"matrix-{metric}",
        "variant",
        lambda variant: Row(variant, keys={"variant": variant}),
        each({name: name for name in run.sets}, cell, lambda name: {"set": name, "metric": metric}),
        kind="matrix",
        more={"tidy": False},
    )
    return layout.table(dict.fromkeys(variant for set_report in run.sets.values() for variant in set_report.cells))


def across_tables(across: AcrossRuns) -> Iterator[Table]:
    """What several runs show together."""
    sizes = across.shown_sizes
    for table in (SHIFT.table(across.shifts), RECOVERED.table(across.recovered), _points(sizes), SIZES.table(sizes)):
        if table.rows:
            caption, label = f"{table.caption}, all runs.", f"asked-across-{table.label}"
            yield replace(table, caption=caption, label=label, kind="across", best_within=None)


def _of_reader(record: Recovered | SizeAndSpread) -> Row:
    return Row(record.reader, group=record.set, keys={"set": record.set, "reader": record.reader})


RECOVERED = Layout[Recovered](
    "Recovered shares, averaged in two ways",
    "recovered",
    "reader",
    _of_reader,
    (
        cells("variants", "cells", lambda shares: shares.cells),
        cells("ratio_of_means", "ratio_of_means", lambda shares: shares.ratio_of_means),
        cells("mean_of_ratios", "mean_of_ratios", lambda shares: shares.mean_of_ratios),
    ),
    ("ratio_of_means: of the mean accuracies. mean_of_ratios: mean of the variants' shares.",),
)
LEFT_OUT = "a family left out"
WITHOUT = "size_spread_rho_without_"
SIZES = Layout[SizeAndSpread](
    "Rank correlation of parameters and spread",
    "sizes",
    "reader",
    _of_reader,
    (
        cells("runs", "runs", lambda sizes: len(sizes.points)),
        cells("rho", "size_spread_rho", lambda sizes: sizes.rho),
        cells("p", "size_spread_p", lambda sizes: sizes.p_value),
        cells("rho without embeddings", f"{WITHOUT}embeddings", lambda sizes: sizes.rho_others),
        cells("least", f"{WITHOUT}a_family_least", lambda sizes: sizes.without_a_family[0], heading=LEFT_OUT),
        cells("most", f"{WITHOUT}a_family_most", lambda sizes: sizes.without_a_family[1], heading=LEFT_OUT),
    ),
    (
        "A correlation needs four runs. Models of one family are no independent draws: the last two columns are "
        "the least and the largest correlation with one family left out.",
    ),
)


def _points(sizes: Sequence[SizeAndSpread]) -> Table:
    """A row a run, grouped by set: its size, and its spread under each reader."""
    spreads = {(size.set, point.run, size.reader): point.spread for size in sizes for point in size.points}
    points = {(size.set, point.run): point for size in sizes for point in size.points}
    unknown = dict.fromkeys(run for size in sizes for run in size.unknown)
    layout = Layout[tuple[str, str]].given(
        "Parameters and spread",
        "points",
        "run",
        cells("parameters", "parameters", lambda place: points[place].size.parameters),
        cells("without embeddings", "parameters_without_embeddings", lambda place: points[place].size.others),
        *each(
            {size.reader: size.reader for size in sizes},
            lambda place, reader: spreads.get((*place, reader)),
            lambda reader: {"reader": reader, "metric": "spread"},
            heading="spread",
        ),
    )
    return layout.of_rows(
        (
            (
                Row(run, group=name, note=point.model, keys={"run": run, "model": point.model, "set": name}),
                (name, run),
            )
            for (name, run), point in points.items()
        ),
        *[f"Number of parameters not known: {', '.join(unknown)}."] * bool(unknown),
    )
