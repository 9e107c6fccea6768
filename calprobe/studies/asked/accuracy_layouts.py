"""Tables of answers: accuracy by reader, what another form of answer costs, spread over variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from calprobe.metrics import Estimate
from calprobe.show.tables.layout import Cells, Layout, cells, each, where
from calprobe.show.tables.types import Cell, Row, Table, unless_nan
from calprobe.studies.asked.cell_results import Accuracy, CellReport, KindReport, OffLabel
from calprobe.studies.asked.results import Drop, Repair, SetReport, Spread

ALL_KINDS = "all kinds"  # the row of a cell with questions of several
UNPARSED = "An answer that could not be parsed is incorrect."
OUTSIDE = "Outside: mean probability, at the first position, of anything but a label."
OUTSIDE_SEEN = (
    "Outside seen: mean probability, at the first position, of anything but the labels that were seen: at most that "
    "is on no label. All seen: share of the rows in which every label was seen. Mass seen: share of the labels' mass "
    "that is on those seen, or the least that it can be."
)
ABSTAINED = "Abstained: the reply says that the model does not know; such an answer is wrong."


@dataclass(frozen=True, slots=True)
class Answered:
    """A cell, or its questions of one kind."""

    report: CellReport | KindReport
    off_label: OffLabel | None

    @property
    def first(self) -> Accuracy | None:
        """By the reader that confidences go by; None where it has read nothing."""
        return next(iter(self.report.accuracy.values()), None)

    @property
    def abstained(self) -> Estimate | None:
        """The share of replies that say the model does not know."""
        return next((accuracy.abstained for accuracy in self.report.accuracy.values()), None)

    def by(self, reader: str, of: Callable[[Accuracy], Cell]) -> Cell:
        """What is said of a reader's answers; nothing where it has read none."""
        return of(self.report.accuracy[reader]) if reader in self.report.accuracy else None


def answers_table(report: SetReport) -> Table:
    """A row a variant: accuracy under each reader, its unread answers, chance, and the mass off the labels."""
    readers = {reader: reader for reader in report.readers}
    rows = list(answered(report))
    is_open = any(answered.abstained is not None for _, answered in rows)
    layout = Layout[Answered].given(
        "Accuracy by reader of answers",
        "answers",
        "variant",
        cells("n", "n", lambda answered: answered.report.rows),
        cells("chance", "chance", lambda answered: unless_nan(answered.report.chance)),
        *each(
            readers,
            lambda answered, reader: answered.by(reader, lambda accuracy: accuracy.value),
            lambda reader: {"reader": reader, "metric": "accuracy"},
            heading="accuracy",
        ),
        *each(
            readers,
            lambda answered, reader: answered.by(reader, lambda accuracy: accuracy.unread),
            lambda reader: {"reader": reader, "metric": "unread"},
            heading="unparsed",
        ),
        *mass_columns(answered for _, answered in rows),
        *where(lambda _: is_open, cells("abstained", "abstained", lambda answered: answered.abstained)),
        notes=(f"{UNPARSED} {OUTSIDE_SEEN if labels_missing(answered for _, answered in rows) else OUTSIDE}",),
        kind="answers",
    )
    warning = report.exact.warning if report.exact is not None else ""
    return layout.of_rows(rows, *[f"Warning: {warning}."] * bool(warning), *[ABSTAINED] * is_open)


def mass_columns(rows: Iterable[Answered], outside: str = "outside") -> Iterator[Cells[Answered]]:
    """The mass off the labels; where some labels were not seen, it is off those that were, with how much was seen."""

    def of(value: Callable[[OffLabel], Cell]) -> Callable[[Answered], Cell]:
        return lambda answered: None if answered.off_label is None else value(answered.off_label)

    missing = labels_missing(rows)
    yield cells(f"{outside} seen" if missing else outside, "off_label", of(lambda off: off.mean))
    if missing:
        yield cells("all seen", "all_labels_seen", of(lambda off: off.all_seen))
        yield cells("mass seen", "mass_seen", of(lambda off: off.mass_seen))


def labels_missing(rows: Iterable[Answered]) -> bool:
    """Whether a row's window lacks a label."""
    return any(answered.off_label is not None and answered.off_label.all_seen < 1 for answered in rows)


def answered(report: SetReport) -> Iterator[tuple[Row, Answered]]:
    """The rows of a set, with their heads."""
    for cell in report.cells.values():
        yield from _answered(cell)


def _answered(cell: CellReport) -> Iterator[tuple[Row, Answered]]:
    """A row a cell; of questions of several kinds one for each kind, then one for all."""
    keys = {"variant": cell.variant}
    for kind, report in cell.kinds.items():
        of_labels = cell.off_label if kind == "choice" else None  # options alone have labels
        yield Row(kind, group=cell.variant, keys={**keys, "kind": kind}), Answered(report, of_labels)
    head = Row(ALL_KINDS, group=cell.variant, keys=keys) if cell.kinds else Row(cell.variant, keys=keys)
    yield head, Answered(cell, cell.off_label)


@dataclass(frozen=True, slots=True)
class OtherForm:
    """What another form of answer costs under one reader, and what that recovers."""

    drop: Drop
    repair: Repair | None


def _repaired(title: str, metric: str, of: Callable[[Repair], Cell], heading: str = "") -> Cells[OtherForm]:
    return cells(title, metric, lambda form: None if form.repair is None else of(form.repair), heading=heading)


FORM = Layout[OtherForm](
    "What another form of answer costs, and what readers recover",
    "form",
    "reader",
    lambda form: Row(
        form.drop.reader, group=form.drop.variant, keys={"variant": form.drop.variant, "reader": form.drop.reader}
    ),
    (
        cells("paired drop", "drop", lambda form: form.drop.paired),
        cells("relative", "relative_drop", lambda form: form.drop.relative),
        _repaired("recovered", "recovered", lambda repair: repair.recovered),
        _repaired("right to wrong", "right_to_wrong", lambda repair: repair.right_to_wrong),
        _repaired("wrong to right", "wrong_to_right", lambda repair: repair.wrong_to_right),
        _repaired("- baseline", "repaired_minus_baseline", lambda repair: repair.against_baseline, "repaired"),
        _repaired("no marker", "no_marker", lambda repair: repair.unread_by_other),
        _repaired("right without marker", "right_without_marker", lambda repair: repair.right_of_those),
    ),
    kind="form",
)


def form_table(report: SetReport) -> Table:
    """A row a reader of each variant that asks for another form of answer: the drop, and what the reader recovers."""
    repairs = {(repair.variant, repair.reader): repair for repair in report.repairs}
    drops = [drop for drop in report.drops if drop.reader not in report.hidden]
    baseline = report.drops[0].baseline if report.drops else ""
    return FORM.table(
        (OtherForm(drop, repairs.get((drop.variant, drop.reader))) for drop in drops),
        f"Paired drop: accuracy under {baseline} minus that under the variant, same reader and rows. Recovered: "
        "(reader - first_char) / (mean of the other variants under first_char - first_char). Right to wrong, wrong to "
        "right: answers that change where the reader takes the place of first_char. No marker: replies in which no "
        "marker shows the answer, and the share of these that the reader has right.",
    )


SPREAD = Layout[Spread].given(
    "Largest minus smallest accuracy over variants",
    "spread",
    "reader",
    cells("spread", "spread", lambda spread: spread.value, "smaller"),
    cells("by chance", "spread_by_chance", lambda spread: spread.by_chance),
    cells("accuracy", "mean_accuracy", lambda spread: spread.accuracy),
    cells("chance", "chance", lambda spread: unless_nan(spread.chance)),
    cells("n", "n", lambda spread: spread.rows),
    kind="spread",
)


def spread_table(report: SetReport) -> Table:
    """A row a reader: the spread, what equally good variants would show, mean accuracy and chance."""
    variants = ", ".join(next(iter(report.spread.values())).variants)
    return SPREAD.of_rows(
        (
            (Row(reader, keys={"reader": reader}), spread)
            for reader, spread in report.spread.items()
            if reader not in report.hidden
        ),
        f"Over {variants}. By chance: the mean spread if these were equally good.",
    )
