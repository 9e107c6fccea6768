"""Tables of what several sets or several runs show: matrices, recovered shares, size against spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from calprobe.analysis.asked.pictures import matrix_values
from calprobe.analysis.asked.results import AcrossRuns, AskedRunReport, Recovered, SizeAndSpread
from calprobe.analysis.tables.asked.confidence import shift_table
from calprobe.analysis.tables.types import Column, Row, Table


def matrix_tables(run: AskedRunReport) -> Iterator[Table]:
    """Variants by sets, of a run with several sets: accuracy, parse rates, shift."""
    sets = list(run.sets.values())
    if len(sets) < 2:
        return
    variants = list(dict.fromkeys(variant for own in sets for variant in own.cells))
    for title, metric, value in matrix_values(run):
        yield Table(
            title,
            f"matrix-{metric}",
            "variant",
            tuple(Column(own.name, keys={"set": own.name, "metric": metric}) for own in sets),
            tuple(
                Row(
                    variant,
                    tuple(value(own.cells[variant]) if variant in own.cells else None for own in sets),
                    keys={"variant": variant},
                )
                for variant in variants
            ),
            kind="matrix",
            tidy=False,
        )


def across_tables(found: AcrossRuns) -> Iterator[Table]:
    """What several runs show together."""
    if found.shifts:
        yield _across(shift_table(found.shifts))
    if found.recovered:
        yield _across(_recovered_table(found.recovered))
    if found.shown_sizes:
        yield _across(_points_table(found.shown_sizes))
        yield _across(_sizes_table(found.shown_sizes))


def _across(table: Table) -> Table:
    return replace(
        table,
        caption=f"{table.caption}, all runs.",
        label=f"asked-across-{table.label}",
        kind="across",
        best_within=None,
    )


def _recovered_table(shares: tuple[Recovered, ...]) -> Table:
    return Table(
        "Recovered shares, averaged in two ways",
        "recovered",
        "reader",
        tuple(Column(name, keys={"metric": name}) for name in ("cells", "ratio_of_means", "mean_of_ratios")),
        tuple(
            Row(
                own.reader,
                (own.cells, own.ratio_of_means, own.mean_of_ratios),
                group=own.set,
                keys={"set": own.set, "reader": own.reader},
            )
            for own in shares
        ),
        notes=("ratio_of_means: of the mean accuracies. mean_of_ratios: mean of the cells' shares.",),
    )


def _sizes_table(sizes: tuple[SizeAndSpread, ...]) -> Table:
    return Table(
        "Rank correlation of parameters and spread",
        "sizes",
        "reader",
        (
            Column("runs", keys={"metric": "runs"}),
            Column("rho", keys={"metric": "size_spread_rho"}),
            Column("p", keys={"metric": "size_spread_p"}),
            Column("rho without embeddings", keys={"metric": "size_spread_rho_without_embeddings"}),
            Column("least", heading="a family left out", keys={"metric": "size_spread_rho_without_a_family_least"}),
            Column("most", heading="a family left out", keys={"metric": "size_spread_rho_without_a_family_most"}),
        ),
        tuple(
            Row(
                own.reader,
                (len(own.points), own.rho, own.p_value, own.rho_others, *own.without_a_family),
                group=own.set,
                keys={"set": own.set, "reader": own.reader},
            )
            for own in sizes
        ),
        notes=(
            "A correlation needs four runs. Models of one family are no independent draws: the last two columns are "
            "the least and the largest correlation with one family left out.",
        ),
    )


def _points_table(sizes: tuple[SizeAndSpread, ...]) -> Table:
    """A row a run, grouped by set: its size, and its spread under each reader."""
    readers = list(dict.fromkeys(own.reader for own in sizes))
    spreads = {(own.set, point.run, own.reader): point.spread for own in sizes for point in own.points}
    points = {(own.set, point.run): point for own in sizes for point in own.points}
    unknown = dict.fromkeys(run for own in sizes for run in own.unknown)
    return Table(
        "Parameters and spread",
        "points",
        "run",
        (
            Column("parameters", keys={"metric": "parameters"}),
            Column("without embeddings", keys={"metric": "parameters_without_embeddings"}),
            *(Column(reader, heading="spread", keys={"reader": reader, "metric": "spread"}) for reader in readers),
        ),
        tuple(
            Row(
                run,
                (
                    point.size.parameters,
                    point.size.others,
                    *(spreads.get((name, run, reader)) for reader in readers),
                ),
                group=name,
                note=point.model,
                keys={"run": run, "model": point.model, "set": name},
            )
            for (name, run), point in points.items()
        ),
        notes=(f"Number of parameters not known: {', '.join(unknown)}.",) if unknown else (),
    )
