"""Tables of the study of graders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from calprobe.answers.graders import IMPORTED, JUDGE
from calprobe.measures.number_text import short
from calprobe.metrics import Difference, Estimate
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.judged import JudgedConfidence
from calprobe.show.prose import listed
from calprobe.show.tables.layout import UNRANKED, Layout, below, cells, each, quantity, where
from calprobe.show.tables.types import Row, Table
from calprobe.studies.graders.results import CellGraders, GraderErrors, GraderNumbers, GraderPair, GraderStudy

READINGS = {"answers": "each answer", "majority": "most frequent answer", "greedy": "greedy answer"}
Record = TypeVar("Record")
PAIRS = Layout[GraderPair].given(
    "Agreement of graders, and of the orders that they put confidences in",
    "grader-pairs",
    "graders",
    cells("n", "n", lambda pair: pair.answers),
    cells("agree", "agree", lambda pair: pair.agree),
    cells("tau", "tau", lambda pair: pair.order.tau),
    cells("rho", "rho", lambda pair: pair.order.rho, printed=False),
    quantity("best by the first", lambda pair: pair.order.best[0], name="best_first", printed=False),
    quantity("by the second", lambda pair: pair.order.best[1], name="best_second", printed=False),
    cells("same best", "same_best", lambda pair: pair.order.same_best),
    cells("AUROC lost", "lost", lambda pair: pair.order.lost),
    notes=(
        "Agree: the share of the answers that both have graded in which they say the same. Tau: Kendall's tau-b of the "
        "AUROCs of all estimators under both, on these answers; 1 where both put them in one order. Same best: the "
        "share of resamples in which one estimator is the best under both. AUROC lost: under the second, where the "
        "first has chosen the estimator.",
    ),
    kind="graders",
    more=UNRANKED,
)
GRADED = Layout[GraderNumbers].given(
    "Accuracy by grader",
    "grader-accuracy",
    "grader",
    cells("n", "n", lambda grader: grader.answers),
    cells("accuracy", "accuracy", lambda grader: grader.accuracy),
    *where(
        lambda grader: not math.isnan(grader.right_with_length.value),
        cells("rho with length", "right_with_length", lambda grader: grader.right_with_length),
    ),
    notes=("Rho with length: Spearman's correlation of being right and the length of the reply.",),
    kind="graders",
    more=UNRANKED,
)
ERRORS = Layout[GraderErrors].given(
    "Errors of each grader, by the imported grades",
    "grader-errors",
    "grader",
    quantity("right", lambda errors: errors.accuracy.right),
    quantity("wrong", lambda errors: errors.accuracy.wrong),
    cells("sensitivity", "sensitivity", lambda errors: errors.accuracy.sensitivity),
    cells("specificity", "specificity", lambda errors: errors.accuracy.specificity),
    cells("accuracy", "accuracy_judged", lambda errors: errors.accuracy.judged),
    cells("corrected", "accuracy_corrected", lambda errors: errors.accuracy.accuracy),
    notes=(
        "Right, wrong: answers that are so by the imported grades. Corrected: the accuracy without the grader's errors "
        "(Rogan and Gladen), which takes the answers with imported grades as drawn at random.",
    ),
    kind="graders",
    more=UNRANKED,
)
CORRECTED = Layout[JudgedConfidence].given(
    "Confidences without the errors of a grader",
    "grader-corrected",
    "estimator",
    cells("graded", "auroc_judged", lambda found: found.auroc, heading="AUROC"),
    cells("corrected", "auroc_corrected", lambda found: found.auroc_corrected, heading="AUROC"),
    cells("imported", "auroc_by_hand", lambda found: found.auroc_by_hand, heading="AUROC"),
    *where(
        lambda found: not math.isnan(found.brier.value),
        cells("graded", "brier_judged", lambda found: found.brier, heading="Brier"),
        cells("corrected", "brier_corrected", lambda found: found.brier_corrected, heading="Brier"),
        cells("imported", "brier_by_hand", lambda found: found.brier_by_hand, heading="Brier"),
    ),
    cells("right", "sure_where_right", lambda found: found.sure_where_right, heading="error by confidence"),
    cells("wrong", "sure_where_wrong", lambda found: found.sure_where_wrong, heading="error by confidence"),
    notes=(
        "Graded: by the grader, all answers. Imported: by the imported grades, only the answers that have one. "
        "Corrected: for the grader's errors, if these do not go by confidence, as 0.5 in the last columns says; above "
        "it the grader rather calls right what the model is sure of, among right answers and among wrong ones, and the "
        "corrected numbers are too good.",
    ),
    kind="graders",
    more=UNRANKED,
)
SCORE = Layout[GraderErrors].given(
    "The judge's own probability that an answer is right, by the imported grades",
    "grader-judge",
    "variant",
    cells("n", "n", lambda errors: errors.scored),
    cells("mean", "mean_confidence", lambda errors: errors.score.get("mean_confidence", UNDEFINED)),
    cells("right", "accuracy", lambda errors: errors.score.get("accuracy", UNDEFINED)),
    cells("ECE", "ece", lambda errors: errors.score.get("ece", UNDEFINED)),
    cells("Brier", "brier", lambda errors: errors.score.get("brier", UNDEFINED)),
    cells("AUROC", "auroc", lambda errors: errors.score.get("auroc", UNDEFINED)),
    notes=("Of the answers that the judge was asked about. Right: the share that is right by the imported grades.",),
    kind="graders",
    more=UNRANKED,
)


@dataclass(frozen=True, slots=True)
class UnderGraders:
    """An estimator of a cell, and the cell."""

    name: str
    cell: CellGraders

    def metric(self, grader: str, metric: str) -> Estimate | None:
        """What a grader makes of it."""
        numbers = self.cell.graders.get(grader)
        return None if numbers is None else numbers.estimators.get(self.name, {}).get(metric)

    def within(self, grader: str) -> Estimate | None:
        """AUROC within tenths of length."""
        numbers = self.cell.graders.get(grader)
        found = None if numbers is None else numbers.within_length.get(self.name)
        return None if found is None else found.within

    def change(self, grader: str) -> Difference | None:
        """The same minus AUROC over all."""
        numbers = self.cell.graders.get(grader)
        found = None if numbers is None else numbers.within_length.get(self.name)
        return None if found is None else found.change

    @property
    def with_length(self) -> Estimate | None:
        """The correlation of being sure and length."""
        return self.cell.with_length.get(self.name)


def grader_tables(study: GraderStudy, set_name: str) -> Iterator[Table]:
    """Those of a set."""
    if found := [cell for cell in study.cells if cell.set == set_name]:
        yield from (table for table in _tables(found) if table.rows)


def _tables(found: Sequence[CellGraders]) -> Iterator[Table]:
    graders = {name: name for cell in found for name in cell.graders}
    rows = [UnderGraders(name, cell) for cell in found for name in cell.estimators]
    by_grader = Layout[UnderGraders].given(
        "Confidences under each grader of the same answers",
        "graders",
        "estimator",
        *each(graders, lambda row, name: row.metric(name, "auroc"), _keys("auroc"), "larger", heading="AUROC"),
        *each(
            graders,
            lambda row, name: row.metric(name, "brier"),
            _keys("brier"),
            "smaller",
            heading="Brier",
            printed=False,
        ),
        kind="graders",
        more={"best_within": "group"},
    )
    table = by_grader.of_rows([(_head(row, found), row) for row in rows])
    yield replace(table, lead=tuple(sentence for cell in found for sentence in grader_sentences(cell)))
    yield GRADED.of_rows(_single(below({cell.variant: cell.graders for cell in found}, "grader"), found))
    yield PAIRS.of_rows(_pair_rows(found))
    if any(cell.length for cell in found):
        yield _lengths([row for row in rows if row.cell.length], found)
    yield from _errors(found)


def _errors(found: Sequence[CellGraders]) -> Iterator[Table]:
    yield ERRORS.of_rows(_single(below({cell.variant: cell.errors for cell in found}, "grader"), found))
    of_graders = {
        ", ".join(filter(None, (cell.variant if len(found) > 1 else "", name))): (cell, name, errors)
        for cell in found
        for name, errors in cell.errors.items()
        if not math.isnan(errors.accuracy.accuracy.value)  # else nothing can be corrected
    }
    yield CORRECTED.of_rows(
        (Row(estimator, group=title, keys={"variant": cell.variant, "grader": name, "estimator": estimator}), numbers)
        for title, (cell, name, errors) in of_graders.items()
        for estimator, numbers in errors.confidences.items()
    )
    yield SCORE.of_rows(
        (Row(cell.variant, keys={"variant": cell.variant}), cell.errors[JUDGE])
        for cell in found
        if JUDGE in cell.errors and cell.errors[JUDGE].scored
    )


def _pair_rows(found: Sequence[CellGraders]) -> Iterator[tuple[Row, GraderPair]]:
    for cell in found:
        pairs = [pair for pair in cell.pairs if len(pair.order.names) > 1 or not pair.repeated]
        several = len({pair.reading for pair in pairs}) > 1
        for reading in dict.fromkeys(pair.reading for pair in pairs):
            group = ", ".join(filter(None, (cell.variant * (len(found) > 1), READINGS[reading] * several)))
            for pair in (pair for pair in pairs if pair.reading == reading):
                name = f"{pair.first}, {pair.second}"
                keys = {"variant": cell.variant, "graders": name} | ({"reading": reading} if several else {})
                yield Row(name, group=group, keys=keys), pair


def _lengths(rows: Sequence[UnderGraders], found: Sequence[CellGraders]) -> Table:
    unit = " or ".join(dict.fromkeys(row.cell.length for row in rows))
    layout = Layout[tuple[UnderGraders, str]].given(
        "Confidences and the length of replies",
        "grader-length",
        "estimator",
        cells("rho with length", "with_length", lambda row: row[0].with_length),
        cells("AUROC", "auroc", lambda row: row[0].metric(row[1], "auroc")),
        cells("within tenths", "auroc_within_length", lambda row: row[0].within(row[1])),
        cells("minus AUROC", "within_length_minus_all", lambda row: row[0].change(row[1])),
        notes=(
            f"Lengths are in {unit}. Rho with length: Spearman's correlation of being sure and the length of the "
            "reply; where being right goes with length too, a part of AUROC is length. Within tenths: of pairs of a "
            "right and a wrong answer of about one length, the share in which the right one is surer.",
        ),
        kind="graders",
        more=UNRANKED,
    )
    return layout.of_rows(
        (_head(row, found, grader), (row, grader))
        for cell in found
        for grader in cell.graders
        for row in rows
        if row.cell is cell and row.within(grader) is not None
    )


def grader_sentences(cell: CellGraders) -> Iterator[str]:
    """Which confidence ranks best under each of two graders, with the imported grades or the judge as one of them.

    Graders of which the same is to be said share a sentence; there are three at most.
    """
    if len(cell.graders) == 1:
        yield f"{cell.variant}: one grader, {next(iter(cell.graders))}, and so nothing to compare."
    pairs = [pair for pair in cell.pairs if len(pair.order.names) > 1 and pair.reading == cell.pairs[0].reading]
    by_second = {name: [pair for pair in pairs if pair.second == name] for name in (IMPORTED, JUDGE)}
    chosen = by_second[IMPORTED] or by_second[JUDGE] or [pair for pair in pairs if pair.first == pairs[0].first]
    alike: dict[str, list[GraderPair]] = {}
    for pair in chosen:
        others = ("", pair.second) if pair.second in by_second else (pair.first, "")
        alike.setdefault(_order_sentence(pair, *others), []).append(pair)
    for pairs in list(alike.values())[:3]:
        first, second = (listed(list(dict.fromkeys(names))) for names in zip(*map(_names, pairs), strict=True))
        yield f"{cell.variant}: {_order_sentence(pairs[0], first, second)}"


def _names(pair: GraderPair) -> tuple[str, str]:
    return pair.first, pair.second


def _order_sentence(pair: GraderPair, by_first: str, by_second: str) -> str:
    """Which is best by each, with their AUROCs; the graders are named as given."""
    order = pair.order
    best, other = order.best
    first, second = (dict(zip(order.names, side, strict=True)) for side in (order.first, order.second))
    ranks = (
        f"{best} ranks best by {by_first} ({first[best]:.3f}) and by {by_second} ({second[best]:.3f})"
        if best == other
        else f"{best} ranks best by {by_first} ({first[best]:.3f}), {other} by {by_second} "
        f"({second[other]:.3f}, {best} {second[best]:.3f})"
    )
    surely = (
        ""
        if math.isnan(order.same_best)
        else f"; the same one is best by both in {100 * order.same_best:.0f} % of resamples"
    )
    return f"{ranks}{surely}; orders agree by tau {short(order.tau.value, 2)}."


def _keys(metric: str) -> Callable[[str], Mapping[str, str]]:
    return lambda grader: {"grader": grader, "metric": metric}


def _head(row: UnderGraders, found: Sequence[CellGraders], grader: str = "") -> Row:
    group = ", ".join(filter(None, (row.cell.variant * (len(found) > 1), grader)))
    keys = {"variant": row.cell.variant} | ({"grader": grader} if grader else {}) | {"estimator": row.name}
    return Row(row.name, group=group, keys=keys)


def _single(rows: Iterator[tuple[Row, Record]], found: Sequence[CellGraders]) -> Iterator[tuple[Row, Record]]:
    """Without the variant above rows where there is one."""
    for row, record in rows:
        yield (row if len(found) > 1 else replace(row, group="")), record
