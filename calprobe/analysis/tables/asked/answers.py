"""Tables of answers: accuracy by reader, what another form of answer costs, spread over variants."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.asked.results import CellReport, KindReport, Repair, SetReport
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.metrics import Estimate

ALL_KINDS = "all kinds"  # the row of a cell with questions of several


def answers_table(own: SetReport) -> Table:
    """A row a variant: accuracy under each reader, its unread answers, chance, and the mass off the labels."""
    readers = list(own.readers)
    abstained = [_abstained(cell) for cell in own.cells.values()]
    is_open = any(share is not None for share in abstained)
    return Table(
        "Accuracy by reader of answers",
        "answers",
        "variant",
        (
            Column("n", keys={"metric": "n"}),
            Column("chance", keys={"metric": "chance"}),
            *(Column(reader, heading="accuracy", keys={"reader": reader, "metric": "accuracy"}) for reader in readers),
            *(Column(reader, heading="not read", keys={"reader": reader, "metric": "unread"}) for reader in readers),
            Column("off label", keys={"metric": "off_label"}),
            *([Column("abstained", keys={"metric": "abstained"})] if is_open else []),
        ),
        tuple(row for cell in own.cells.values() for row in _answers_rows(cell, readers, is_open=is_open)),
        kind="answers",
        notes=(
            "An answer that was not read is incorrect. Off label: mean probability, at the first position, of anything "
            "but a label.",
            *([f"Warning: {own.exact.warning}."] if own.exact is not None and own.exact.warning else []),
            *(["Abstained: the reply says that the model does not know; such an answer is wrong."] if is_open else []),
        ),
    )


def _abstained(cell: CellReport | KindReport) -> Estimate | None:
    return next(iter(cell.accuracy.values())).abstained if cell.accuracy else None


def _answers_rows(cell: CellReport, readers: list[str], *, is_open: bool) -> Iterator[Row]:
    """A row a cell; of questions of several kinds one for each kind, then one for all."""
    off_label = None if cell.off_label is None else cell.off_label.mean
    keys = {"variant": cell.variant}
    for kind, own in cell.kinds.items():
        of_labels = off_label if kind == "choice" else None  # options alone have labels
        cells = _answers_cells(own, readers, of_labels, is_open=is_open)
        yield Row(kind, cells, group=cell.variant, keys={**keys, "kind": kind})
    cells = _answers_cells(cell, readers, off_label, is_open=is_open)
    if cell.kinds:
        yield Row(ALL_KINDS, cells, group=cell.variant, keys=keys)
    else:
        yield Row(cell.variant, cells, keys=keys)


def _answers_cells(
    found: CellReport | KindReport, readers: list[str], off_label: Estimate | None, *, is_open: bool
) -> tuple[Cell, ...]:
    known = [found.accuracy.get(reader) for reader in readers]
    return (
        found.rows,
        found.chance,
        *(None if own is None else own.value for own in known),
        *(None if own is None else own.unread for own in known),
        off_label,
        *((_abstained(found),) if is_open else ()),
    )


def form_table(own: SetReport) -> Table:
    """A row a reader of each variant that asks for another form of answer: the drop, and what the reader recovers."""
    repairs = {(found.variant, found.reader): found for found in own.repairs}
    baseline = own.drops[0].baseline if own.drops else ""
    return Table(
        "What another form of answer costs, and what readers recover",
        "form",
        "reader",
        (
            Column("paired drop", keys={"metric": "drop"}),
            Column("relative", keys={"metric": "relative_drop"}),
            Column("recovered", keys={"metric": "recovered"}),
            Column("right to wrong", keys={"metric": "right_to_wrong"}),
            Column("wrong to right", keys={"metric": "wrong_to_right"}),
            Column("- baseline", heading="repaired", keys={"metric": "repaired_minus_baseline"}),
            Column("no marker", keys={"metric": "no_marker"}),
            Column("right of those", keys={"metric": "right_without_marker"}),
        ),
        tuple(
            Row(
                drop.reader,
                (drop.paired, drop.relative, *_recovery(repairs.get((drop.variant, drop.reader)))),
                group=drop.variant,
                keys={"variant": drop.variant, "reader": drop.reader},
            )
            for drop in own.drops
            if drop.reader not in own.hidden
        ),
        kind="form",
        notes=(
            f"Paired drop: accuracy under {baseline} minus that under the variant, same reader and rows. Recovered: "
            "(reader - first_char) / (mean of the other variants under first_char - first_char).",
        ),
    )


def _recovery(repair: Repair | None) -> tuple[Cell, ...]:
    if repair is None:
        return (None,) * 6
    return (
        repair.recovered,
        repair.right_to_wrong,
        repair.wrong_to_right,
        repair.against_baseline,
        repair.unread_by_other,
        repair.right_of_those,
    )


def spread_table(own: SetReport) -> Table:
    """A row a reader: the spread, what equally good variants would show, mean accuracy and chance."""
    variants = ", ".join(next(iter(own.spread.values())).variants)
    return Table(
        "Largest minus smallest accuracy over variants",
        "spread",
        "reader",
        (
            Column("spread", better="smaller", keys={"metric": "spread"}),
            Column("by chance", keys={"metric": "spread_by_chance"}),
            Column("accuracy", keys={"metric": "mean_accuracy"}),
            Column("chance", keys={"metric": "chance"}),
            Column("n", keys={"metric": "n"}),
        ),
        tuple(
            Row(
                reader,
                (found.value, found.by_chance, found.accuracy, found.chance, found.rows),
                keys={"reader": reader},
            )
            for reader, found in own.spread.items()
            if reader not in own.hidden
        ),
        kind="spread",
        notes=(f"Over {variants}. By chance: the mean spread if these were equally good.",),
    )
