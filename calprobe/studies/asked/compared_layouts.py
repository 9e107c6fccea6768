"""The tables of a comparison of asked runs: a row a number, grouped by set and variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from calprobe.cells.asked_extent import state_of
from calprobe.measures.compare_results import Contrast
from calprobe.messages import counted
from calprobe.show.compare_prose import agreement_shares, contrast_notes
from calprobe.show.prose import range_note, sentence
from calprobe.show.tables.comparison import numbers_layout, numbers_of, sides_named
from calprobe.show.tables.side_by_side import Sides
from calprobe.show.tables.types import Row, Table
from calprobe.studies.asked.compared import AskedComparison, AskedPair, CellPair, ComparedRun

OWN_ANSWERS = (
    "Each estimator is judged on its own answers: where accuracies differ, Brier and calibration errors do too."
)


def compared_tables(comparison: AskedComparison) -> tuple[Table, ...]:
    """A table for each pair of runs, or one for the variants of a run."""
    return tuple(_table(pair, comparison) for pair in comparison.pairs)


def compared_sides(comparison: AskedComparison) -> list[Sides]:
    """The pairs of runs, or of variants of one."""
    pairs: list[Sides] = []
    for pair in comparison.pairs:
        filled = [cell for cell in pair.cells if cell.rows]
        of = "variants" if len(pair.sets) == 1 else "sets" if len(pair.sets) == len(filled) else "variants of sets"
        if comparison.within:
            pairs += [_sides(cell.first, cell.second, [cell], of) for cell in filled]
        else:
            pairs.append(_sides(pair.first, pair.second, filled, of))
    return pairs


def _sides(first: str, second: str, cells: Sequence[CellPair], of: str) -> Sides:
    having = Counter[str]()
    for cell in cells:
        having.update(cell.counts)
    rows = [cell.rows for cell in cells]
    contrasts = [cell.contrasts for cell in cells]
    confident = "questions with both confidences"
    n = max(rows, default=0)
    return Sides(first, second, contrasts, n, of, confident=confident, answers=sum(rows), having=having)


def compared_heading(comparison: AskedComparison) -> tuple[str, ...]:
    """A line for each run: model, number of questions, and whether it is complete."""
    return tuple(
        f"{run.label}: {run.model}, {counted(run.questions, 'question')}, {state_of(run.extent)}"
        for run in comparison.runs
    )


def compared_warnings(runs: Sequence[object]) -> Iterator[str]:
    """What a reader of accuracies has to know, a sentence for each run and set."""
    for run in runs:
        if isinstance(run, ComparedRun):
            yield from (f"Warning: {run.label}, {clause}." for clause in run.warnings)


def compared_notes(comparison: AskedComparison) -> Iterator[str]:
    """What all numbers of a comparison are."""
    yield (
        "Each number is of the rows in which both A and B have the reply or the confidence (n below a name, where that "
        "is not all). Requests that failed or were not made are left out."
    )
    if comparison.options.scores.resampling.n_resamples:
        yield range_note(comparison.options.scores.resampling, "the questions")
    yield from contrast_notes(comparison, OWN_ANSWERS)
    if comparison.by_name:
        yield f"One estimator of each kind is compared, with one reader; others: {'; '.join(comparison.by_name)}."
    if any(cell.agreement for pair in comparison.pairs for cell in pair.cells):
        yield (
            "Same answer, both right, only A, only B: shares of the rows, by reader. McNemar p: exact test of "
            "equal accuracy, not corrected; none where questions have several rows."
        )


def _table(pair: AskedPair, comparison: AskedComparison) -> Table:
    named = sides_named(comparison.contrasts, comparison.options)
    titles = {metric.name: metric.title for metric in comparison.metrics}
    sides = () if comparison.within else (f"A {pair.first}, B {pair.second}",)
    subject = f"variants of {pair.first}" if comparison.within else f"{pair.first} (A) and {pair.second} (B)"
    return numbers_layout(f"Differences of {subject}", "asked-differences", named).table(
        (
            row
            for cell in pair.cells
            for contrast in cell.contrasts
            for row in numbers_of(_head(cell, contrast, titles[contrast.metric]), contrast)
        ),
        *(
            f"{cell.set}, {cell.variants}: {agreement_shares(shares, reader)}"
            for cell in pair.cells
            for reader, shares in cell.agreement.items()
        ),
        heading=(*compared_heading(comparison), *compared_warnings(comparison.runs), *sides),
        lead=tuple(sentence(clause) for clause in pair.left_out),
        general=tuple(compared_notes(comparison)),
        keys={"run": pair.first} if comparison.within else {"first": pair.first, "second": pair.second},
    )


def _head(cell: CellPair, contrast: Contrast, title: str) -> Row:
    keys = {
        "set": cell.set,
        "first_variant": cell.first,
        "second_variant": cell.second,
        _kind(contrast, cell): str(contrast.estimator),
        "metric": contrast.metric,
    }
    return Row(f"{contrast.estimator} {title}", group=_title(cell), note=_fewer(contrast, cell), keys=keys)


def _title(cell: CellPair) -> str:
    rows = "" if cell.rows == cell.questions else f", {cell.rows:,} rows"
    alone = f"; only in A {cell.alone[0]:,}, only in B {cell.alone[1]:,}" if any(cell.alone) else ""
    return f"{cell.set}, {cell.variants}: {counted(cell.questions, 'question')}{rows}{alone}"


def _kind(contrast: Contrast, cell: CellPair) -> str:
    return "reader" if contrast.estimator in cell.agreement else "estimator"


def _fewer(contrast: Contrast, cell: CellPair) -> str:
    """How many rows a number is of, where it is not all."""
    rows = cell.counts[str(contrast.estimator)]
    return "" if rows == cell.rows else f"n {rows:,}"
