"""The tables of asked runs: answers by reader, confidences, what stating, normalising and another form of answer do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from calprobe.analysis.asked.pictures import matrix_values
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.results import AskedRunReport, CellReport, SetReport, ShiftSummary
from calprobe.analysis.run_names import last_names
from calprobe.analysis.tables.labels import table_labels
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.messages import counted

COVERAGE = Column("coverage", keys={"metric": "coverage"}, priority=1)
KINDS = ("answers", "confidence", "stated", "form", "spread", "means", "shift", "matrix", "across")


@dataclass(frozen=True, slots=True)
class _Named:
    """A run's report, and what its tables call it."""

    run: AskedRunReport
    report: AskedReport
    of: str  # in captions
    label: str  # [a-z0-9-]+

    def table(
        self, kind: str, own: SetReport | None, caption: str, stub: str, *columns: Column, name: str = ""
    ) -> Callable[..., Table]:
        """A table of the run, or of one of its sets, that lacks its rows alone."""
        at = f"-{own.name}" if own is not None else ""

        def made(rows: Iterator[Row] | tuple[Row, ...], **more: object) -> Table:
            keys = {"run": self.run.label, "model": self.run.model} | ({} if own is None else {"set": own.name})
            return Table(
                caption=f"{caption}{f' on {own.name}' if own is not None else ''}: {self.of}.",
                label=next(iter(table_labels(self.label, [f"{name or kind}{at}"]))),
                kind=kind,
                stub=stub,
                columns=columns,
                rows=tuple(rows),
                keys=keys,
                best_within=None,
                **more,  # type: ignore[arg-type]  # fields of Table
            )

        return made


def asked_tables(report: AskedReport) -> tuple[Table, ...]:
    """Every table: those of each run, its disclosure below the last of them, then those of several runs."""
    names = last_names([run.label for run in report.runs])
    models = [run.model for run in report.runs]
    tables: list[Table] = []
    labels = table_labels("asked", [run.label for run in report.runs])
    for run, label in zip(report.runs, labels, strict=True):
        of = f"{run.model} (run {names[run.label]})" if models.count(run.model) > 1 else run.model
        tables += _of_run(_Named(run, report, of, label))
    return (*tables, *_across(report))


def heading(run: AskedRunReport) -> tuple[str, ...]:
    """What was asked of which model, and whether all of it was answered."""
    sets = ", ".join(f"{own.name} ({counted(own.questions, 'question')})" for own in run.sets.values())
    sets = sets or "no complete set and variant"
    variants = counted(len(run.disclosure.variants), "variant")
    state = "PARTIAL, not all replies are there" if run.partial else "complete"
    failed = sum(cell.failed for cell in run.reports())
    more = f", {counted(failed, 'request')} failed" if failed else ""
    return (f"{run.label}: {run.model}, {sets}, {variants}, {state}{more}",)


def _of_run(named: _Named) -> list[Table]:
    run = named.run
    tables = [table for own in run.sets.values() for table in _of_set(own, named)]
    if run.shifts:
        tables.append(shift_table(named.table, run.shifts))
    tables += _matrices(named)
    if not tables:
        tables = [named.table("answers", None, "Answers", "variant")(())]
    first, last = tables[0], [f"{title}: {said}." for title, said in run.disclosure.lines()]
    tables[0] = replace(first, heading=heading(run))
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *last))
    return tables


def _of_set(own: SetReport, named: _Named) -> Iterator[Table]:
    yield answers_table(own, named)
    if any(cell.estimators for cell in own.cells.values()):
        yield confidence_table(own, named)
    if any(cell.overconfidence for cell in own.cells.values()):
        yield stated_table(own, named)
        yield means_table(own, named)
    if own.drops or own.repairs:
        yield form_table(own, named)
    if own.spread:
        yield spread_table(own, named)


def answers_table(own: SetReport, named: _Named) -> Table:
    """A row a variant: accuracy under each reader, its unread answers, chance, and the mass off the labels."""
    readers = list(dict.fromkeys(reader for cell in own.cells.values() for reader in cell.accuracy))
    columns = [
        Column("n", keys={"metric": "n"}),
        Column("chance", keys={"metric": "chance"}),
        *(Column(reader, heading="accuracy", keys={"reader": reader, "metric": "accuracy"}) for reader in readers),
        *(Column(reader, heading="not read", keys={"reader": reader, "metric": "unread"}) for reader in readers),
        Column("off label", keys={"metric": "off_label"}),
    ]
    return named.table("answers", own, "Accuracy by reader of answers", "variant", *columns)(
        (_answers_row(cell, readers) for cell in own.cells.values()),
        notes=(
            "An answer that was not read is incorrect. Off label: mean probability, at the first position, of anything "
            "but a label.",
        ),
    )


def _answers_row(cell: CellReport, readers: list[str]) -> Row:
    known = [cell.accuracy.get(reader) for reader in readers]
    return Row(
        cell.variant,
        (
            cell.rows,
            cell.chance,
            *(None if found is None else found.value for found in known),
            *(None if found is None else found.unread for found in known),
            None if cell.off_label is None else cell.off_label.mean,
        ),
        keys={"variant": cell.variant},
    )


def confidence_table(own: SetReport, named: _Named) -> Table:
    """A row an estimator, grouped by variant: coverage and every metric."""
    metrics = [Column.of(metric) for metric in named.report.metrics]
    rows = [
        Row(
            name,
            (found.metrics[first.name], found.coverage, *(found.metrics[metric.name] for metric in others)),
            group=cell.variant,
            note=_bounds(found.brier_bounds) if found.reasons else "",
            keys={"variant": cell.variant, "estimator": name},
        )
        for cell in own.cells.values()
        for name, found in cell.estimators.items()
        for first, *others in [named.report.metrics]
    ]
    caption = "Accuracy and calibration by estimator of confidence"
    return named.table("confidence", own, caption, "estimator", *metrics[:1], COVERAGE, *metrics[1:])(
        rows,
        directions=True,
        notes=(
            "Coverage: share of the rows asked with a confidence that could be read; metrics are of these. Where some "
            "are missing, the bounds of the Brier score over all rows stand below the name.",
        ),
    )


def _bounds(bounds: tuple[float, float]) -> str:
    return f"Brier {bounds[0]:.3f} to {bounds[1]:.3f}"


def stated_table(own: SetReport, named: _Named) -> Table:
    """A row a phrasing and variant: parse rate, reasons, signed overconfidence, ECE gap, how many values there are."""
    columns = (
        Column("parse rate", keys={"metric": "parse_rate"}),
        Column("- accuracy", heading="stated", keys={"metric": "over_accuracy"}),
        Column("- label", heading="stated", keys={"metric": "over_label"}),
        Column("ECE gap", keys={"metric": "ece_gap"}),
        Column("values", keys={"metric": "distinct_values"}),
        Column("mode", keys={"metric": "mode"}),
        Column("its share", keys={"metric": "mode_share"}),
    )
    rows = [
        Row(
            cell.variant,
            (
                cell.estimators[name].coverage,
                found.accuracy,
                found.label,
                found.ece_gap,
                found.distinct,
                found.mode,
                found.mode_share,
            ),
            group=name,
            note=_reasons(cell.estimators[name].reasons),
            keys={"variant": cell.variant, "estimator": name},
        )
        for name in dict.fromkeys(name for cell in own.cells.values() for name in cell.overconfidence)
        for cell in own.cells.values()
        for found in ([cell.overconfidence[name]] if name in cell.overconfidence else [])
    ]
    return named.table("stated", own, "Stated confidence", "variant", *columns)(
        rows,
        notes=(
            "Differences are on the rows that have both. ECE gap: ECE of the stated confidence minus that of label. "
            "Below a name: why statements could not be read.",
        ),
    )


def _reasons(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in reasons.items())


def means_table(own: SetReport, named: _Named) -> Table:
    """A row a phrasing: plain means over the variants that are read well enough."""
    titles = {
        "accuracy": "accuracy",
        "ece_label": "ECE label",
        "ece": "ECE stated",
        "ece_gap": "ECE gap",
        "over_accuracy": "stated - accuracy",
        "over_label": "stated - label",
    }
    columns = [
        Column("variants", keys={"metric": "variants"}),
        *(Column(title, keys={"metric": f"mean_{name}"}) for name, title in titles.items()),
    ]
    rows = [
        Row(
            found.estimator,
            (", ".join(found.variants) or "none", *(getattr(found, name) for name in titles)),
            note=f"left out: {', '.join(found.left_out)}" if found.left_out else "",
            keys={"estimator": found.estimator},
        )
        for found in own.means
    ]
    threshold = named.report.options.threshold
    return named.table("means", own, f"Means over variants with a parse rate of {threshold:g} or more", "", *columns)(
        rows
    )


def form_table(own: SetReport, named: _Named) -> Table:
    """A row a reader of each variant that asks for another form of answer: the drop, and what the reader recovers."""
    columns = (
        Column("paired drop", keys={"metric": "drop"}),
        Column("relative", keys={"metric": "relative_drop"}),
        Column("recovered", keys={"metric": "recovered"}),
        Column("right to wrong", keys={"metric": "right_to_wrong"}),
        Column("wrong to right", keys={"metric": "wrong_to_right"}),
        Column("- baseline", heading="repaired", keys={"metric": "repaired_minus_baseline"}),
        Column("no marker", keys={"metric": "no_marker"}),
        Column("right of those", keys={"metric": "right_without_marker"}),
    )
    repairs = {(found.variant, found.reader): found for found in own.repairs}
    rows = []
    for drop in own.drops:
        repair = repairs.get((drop.variant, drop.reader))
        cells: tuple[Cell, ...] = (None,) * 6
        if repair is not None:
            cells = (
                repair.recovered,
                repair.right_to_wrong,
                repair.wrong_to_right,
                repair.against_baseline,
                repair.unread_by_other,
                repair.right_of_those,
            )
        rows.append(
            Row(
                drop.reader,
                (drop.paired, drop.relative, *cells),
                group=drop.variant,
                keys={"variant": drop.variant, "reader": drop.reader},
            )
        )
    baseline = own.drops[0].baseline if own.drops else ""
    return named.table("form", own, "What another form of answer costs, and what readers recover", "reader", *columns)(
        rows,
        notes=(
            f"Paired drop: accuracy under {baseline} minus that under the variant, same reader and rows. Recovered: "
            "(reader - first_char) / (mean of the other variants under first_char - first_char).",
        ),
    )


def spread_table(own: SetReport, named: _Named) -> Table:
    """A row a reader: the spread, what equally good variants would show, mean accuracy and chance."""
    columns = (
        Column("spread", better="smaller", keys={"metric": "spread"}),
        Column("by chance", keys={"metric": "spread_by_chance"}),
        Column("accuracy", keys={"metric": "mean_accuracy"}),
        Column("chance", keys={"metric": "chance"}),
        Column("n", keys={"metric": "n"}),
    )
    rows = [
        Row(
            reader,
            (found.value, found.by_chance, found.accuracy, found.chance, found.rows),
            keys={"reader": reader},
        )
        for reader, found in own.spread.items()
    ]
    variants = ", ".join(next(iter(own.spread.values())).variants)
    return named.table("spread", own, "Largest minus smallest accuracy over variants", "reader", *columns)(
        rows, notes=(f"Over {variants}. By chance: the mean spread if these were equally good.",)
    )


def shift_table(table: Callable[..., Callable[..., Table]], shifts: tuple[ShiftSummary, ...]) -> Table:
    """A row a variant, then all: how far normalising over the labels moves ECE."""
    columns = (
        Column("cells", keys={"metric": "cells"}),
        Column("mean", keys={"metric": "shift_mean"}),
        Column("median", keys={"metric": "shift_median"}),
        Column("max", keys={"metric": "shift_max"}),
        Column("> 0.05", keys={"metric": "shift_above_0.05"}),
        Column("> 0.20", keys={"metric": "shift_above_0.20"}),
    )
    rows = [
        Row(
            own.of,
            (own.cells, own.mean, own.median, own.largest, own.above_005, own.above_020),
            keys={"variant": own.of},
        )
        for own in shifts
    ]
    caption = "Normalisation shift, |ECE of label_raw - ECE of label|, over cells"
    return table("shift", None, caption, "variant", *columns)(
        rows, notes=("A description of these cells, which share questions and models, not a sample of others.",)
    )


def _matrices(named: _Named) -> Iterator[Table]:
    """Variants by sets, of a run with several sets: accuracy, parse rates, shift."""
    sets = list(named.run.sets.values())
    if len(sets) < 2:
        return
    variants = list(dict.fromkeys(variant for own in sets for variant in own.cells))
    for title, metric, value in matrix_values(named.run):
        columns = [Column(own.name, keys={"set": own.name, "metric": metric}) for own in sets]
        rows = [
            Row(
                variant,
                tuple(value(own.cells[variant]) if variant in own.cells else None for own in sets),
                keys={"variant": variant},
            )
            for variant in variants
        ]
        yield named.table("matrix", None, title, "variant", *columns, name=f"matrix-{metric}")(rows, tidy=False)


def _across(report: AskedReport) -> Iterator[Table]:
    """What several runs show together."""
    found = report.across
    if found is None:
        return

    def table(kind: str, _own: None, caption: str, stub: str, *columns: Column) -> Callable[..., Table]:
        def made(rows: Iterator[Row] | tuple[Row, ...], **more: object) -> Table:
            label = f"asked-across-{kind}"
            return Table(
                f"{caption}, all runs.",
                label,
                stub,
                columns,
                tuple(rows),
                kind="across",
                best_within=None,
                heading=(f"across {counted(len(report.runs), 'run')}",),
                **more,  # type: ignore[arg-type]
            )

        return made

    if found.shifts:
        yield shift_table(table, found.shifts)
    if found.recovered:
        columns = tuple(Column(name, keys={"metric": name}) for name in ("cells", "ratio_of_means", "mean_of_ratios"))
        yield table("recovered", None, "Recovered shares, averaged in two ways", "reader", *columns)(
            [
                Row(
                    own.reader,
                    (own.cells, own.ratio_of_means, own.mean_of_ratios),
                    group=own.set,
                    keys={"set": own.set, "reader": own.reader},
                )
                for own in found.recovered
            ],
            notes=("ratio_of_means: of the mean accuracies. mean_of_ratios: mean of the cells' shares.",),
        )
    if found.sizes:
        names = {"runs": "runs", "rho": "size_spread_rho", "p": "size_spread_p"}
        columns = tuple(Column(title, keys={"metric": metric}) for title, metric in names.items())
        yield table("sizes", None, "Rank correlation of parameters and spread", "reader", *columns)(
            [
                Row(
                    own.reader,
                    (own.runs, own.rho, own.p_value),
                    group=own.set,
                    keys={"set": own.set, "reader": own.reader},
                )
                for own in found.sizes
            ]
        )
