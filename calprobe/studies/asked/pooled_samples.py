"""Which cells and rows of an asked run a curve is of: those pooled over the variants that are read well enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from calprobe.cells.asked import AskedCell
from calprobe.curves.curve import AnyLine
from calprobe.measures.options import ReportOptions
from calprobe.studies.asked.results import AskedRunReport, SetReport

NORMALISED = "label"
SAMPLED = ("p_true", "frequency")
LinesOfSet = Callable[
    [SetReport, Mapping[str, AskedCell], ReportOptions, Sequence[str] | None], Iterable[AnyLine]
]  # of one kind of curve


def run_lines(
    run: AskedRunReport, options: ReportOptions, lines_of_set: LinesOfSet[AnyLine], estimators: Sequence[str] | None
) -> list[AnyLine]:
    """The lines of one kind of curve of one run; None: of the estimators that a report draws."""
    return [
        line
        for report in run.sets.values()
        for line in lines_of_set(report, cells_of_set(run, report.name), options, estimators)
    ]


def cells_of_set(run: AskedRunReport, name: str) -> dict[str, AskedCell]:
    """The cells of a set by variant."""
    return {cell.table.variant: cell for cell in run.cells if cell.table.set == name}


def samples_of_set(
    report: SetReport,
    cells: Mapping[str, AskedCell],
    options: ReportOptions,
    estimators: Sequence[str] | None,
    drawable: Callable[[AskedCell], Iterable[str]],
) -> dict[str, tuple[np.ndarray, ...]]:
    """Confidence, correctness and questions by estimator, pooled over the variants shown; empty where none has it."""
    names = estimators or [NORMALISED, *(mean.estimator for mean in report.means if mean.variants), *SAMPLED]
    usual = [cells[variant] for variant in _shown(report, cells, names)]
    together = () if options.by_study else names
    return {name: pooled([cell for cell in usual if name in drawable(cell)], name, together) for name in names}


def _shown(report: SetReport, cells: Mapping[str, AskedCell], names: Sequence[str]) -> list[str]:
    """The variants of the usual form under which each of the stated confidences to be drawn is read well enough."""
    stated = [mean.variants for mean in report.means if mean.estimator in names]
    usual = [name for name in cells if name in report.usual]
    return [name for name in usual if all(name in read_well for read_well in stated)]


def pooled(cells: Sequence[AskedCell], name: str, together: Sequence[str] = ()) -> tuple[np.ndarray, ...]:
    """The confidences of several cells, their correctness and their questions, end to end.

    Of the rows that could be read under each of the estimators `together`, too, that their cell has. Where all samples
    of a question share its label probabilities, one row stands for them.
    """
    pairs = [(cell.confidences[name], _kept(cell, name, together)) for cell in cells]
    confidence = np.concatenate([of_cell.confidence[kept] for of_cell, kept in pairs]) if pairs else np.empty(0)
    correct = np.concatenate([of_cell.correct[kept] for of_cell, kept in pairs]) if pairs else np.empty(0, np.bool_)
    rows = [
        (at, cell.table.rows[place])
        for at, (cell, (_, kept)) in enumerate(zip(cells, pairs, strict=True))
        for place in np.flatnonzero(kept)
    ]
    questions = np.array([row.question.root for _, row in rows], np.str_)
    if name != NORMALISED:
        return confidence, correct, questions
    once = _once([(at, row.question.id, row.paraphrase) for at, row in rows], confidence, correct)
    return confidence[once], correct[once], questions[once]


def _kept(opened: AskedCell, name: str, together: Sequence[str]) -> np.ndarray:
    """The rows with that confidence and the others."""
    kept = opened.confidences[name].read.copy()
    for estimator in together:
        if estimator in opened.confidences:
            kept &= opened.confidences[estimator].read
    return kept


def _once(asked: Sequence[tuple[int, str, int]], confidence: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The first sample of each question, where its samples are alike and no question has more of them; else all rows.

    No number then depends on which rows are taken: imports may have other label probabilities in each sample.
    """
    first: dict[tuple[int, str, int], int] = {}
    firsts = np.array([first.setdefault(key, place) for place, key in enumerate(asked)], np.int64)
    alike = (confidence == confidence[firsts]) & (correct == correct[firsts])
    samples = np.bincount(firsts)
    if alike.all() and len(set(samples[samples > 0].tolist())) == 1:
        return np.array(list(first.values()), np.int64)
    return np.arange(len(asked))
