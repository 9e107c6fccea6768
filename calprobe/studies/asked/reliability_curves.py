"""Reliability curves of asked runs: of which cells and rows the curves of one panel are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from calprobe.cells.asked import Asked, AskedCell
from calprobe.curves.calibration import METRICS, Calibration, CalibrationLine, calibration_line
from calprobe.curves.curve import AnyLine
from calprobe.errors import UsageError
from calprobe.measures.asked_options import AskedOptions
from calprobe.measures.chosen import known_estimators
from calprobe.measures.run_names import state
from calprobe.metrics import ACE_BINS, Resampling, bootstrap_many, standard_metrics
from calprobe.studies.asked.report_asked import report_asked_run
from calprobe.studies.asked.results import AskedRunReport, SetReport

log = logging.getLogger(__name__)

NORMALISED = "label"
SAMPLED = ("p_true", "frequency")
LinesOfSet = Callable[
    [SetReport, Mapping[str, AskedCell], AskedOptions, Sequence[str] | None], Iterable[AnyLine]
]  # of one kind of curve


def asked_calibration(runs: Sequence[Asked], options: AskedOptions, estimators: Sequence[str] | None) -> Calibration:
    """The reliability diagrams of runs: a panel for each set, of several runs for each of both.

    None: of the estimators that `report` draws. Logged are the cells that a parse rate leaves out.

    Raises UsageError for an estimator that no run has, or that has no scale, and where parse rates leave no cell.
    """
    calibration = _named(asked_lines(runs, options, estimators, _with_scale, _lines))
    return calibration if estimators is None else calibration.only(estimators)


def asked_lines(
    runs: Sequence[Asked],
    options: AskedOptions,
    estimators: Sequence[str] | None,
    drawable: Callable[[AskedCell], Iterable[str]],
    lines_of_set: LinesOfSet[AnyLine],
) -> list[AnyLine]:
    """The lines of one kind of curve of runs, each named by its set, and of several runs by its run.

    Args:
        runs: one or several.
        options: reading rules; the parse rate below which a cell is in no curve.
        estimators: those wanted; None: those that `report` draws.
        drawable: the estimators of a cell that such a curve can be of.
        lines_of_set: the lines of a set, of its report, its cells by variant, the options and estimators.
    Raises:
        UsageError: as `asked_calibration`.
    """
    quick = replace(options, resampling=Resampling(0))
    lines: list[AnyLine] = []
    available: dict[str, None] = {}
    below: list[str] = []
    for run in runs:
        report = report_asked_run(run, quick)
        available |= dict.fromkeys(name for cell in report.cells for name in drawable(cell))
        for set_report in report.sets.values():
            below += (f"{run.label}, {cell}" for cell in _below(set_report, quick, estimators))
            for line in lines_of_set(set_report, _cells(report, set_report.name), options, estimators):
                name = f"{run.label}, {line.run}" if len(runs) > 1 else line.run
                name += state(limited=report.limited, partial=run.partial)
                lines.append(replace(line, run=name, model=name))
    known_estimators("this curve", estimators or (), available)
    if below:
        rule = f"fewer than {options.threshold:.0%} of the stated confidences could be read"
        if not lines:
            raise UsageError(f"{rule} in every cell: {'; '.join(below)}; give a lower --parse-threshold")
        log.warning("left out, since %s: %s", rule, "; ".join(below))
    return lines


def run_calibration(run: AskedRunReport, options: AskedOptions) -> Calibration:
    """The reliability diagrams of one run, a panel for each set, of the estimators that a report draws."""
    lines = [line for report in run.sets.values() for line in _lines(report, _cells(run, report.name), options)]
    return _named(lines)


def _named(lines: Sequence[CalibrationLine]) -> Calibration:
    """The curves, whose instances are called questions only where each is one."""
    return Calibration(tuple(lines), "questions" if all(line.questions is None for line in lines) else "replies")


def _cells(run: AskedRunReport, name: str) -> dict[str, AskedCell]:
    return {cell.table.variant: cell for cell in run.cells if cell.table.set == name}


def _lines(
    report: SetReport, cells: Mapping[str, AskedCell], options: AskedOptions, estimators: Sequence[str] | None = None
) -> Iterator[CalibrationLine]:
    """The curves of a set, all of the same variants and of the same rows: see `_shown` and `_kept`.

    By default `label`, each stated confidence that some variant states well enough, and those of samples.
    """
    metrics = [metric for metric in standard_metrics(options.ace_bins) if metric.name in METRICS]
    samples = samples_of_set(report, cells, options, estimators, _with_scale)
    for name, (confidence, correct, questions) in samples.items():
        if len(confidence):
            values = bootstrap_many(metrics, {name: (confidence, correct)}, Resampling(0))[name]
            # Twenty bins of a few questions would be a question each.
            bins = None if options.ace_bins == ACE_BINS else options.ace_bins
            yield calibration_line((report.name, report.name, name, ()), (confidence, correct), values, bins, questions)


def samples_of_set(
    report: SetReport,
    cells: Mapping[str, AskedCell],
    options: AskedOptions,
    estimators: Sequence[str] | None,
    drawable: Callable[[AskedCell], Iterable[str]],
) -> dict[str, tuple[np.ndarray, ...]]:
    """Confidence, correctness and questions by estimator, pooled over the variants shown; empty where none has it."""
    names = estimators or [NORMALISED, *(mean.estimator for mean in report.means if mean.variants), *SAMPLED]
    usual = [cells[variant] for variant in _shown(report, cells, names)]
    together = () if options.by_study else names
    return {name: pooled([cell for cell in usual if name in drawable(cell)], name, together) for name in names}


def _with_scale(cell: AskedCell) -> list[str]:
    """The estimators that a reliability diagram can be of: an uncertainty has no scale."""
    return [name for name in cell.confidences if cell.estimators[name].scale == "probability"]


def _shown(report: SetReport, cells: Mapping[str, AskedCell], names: Sequence[str]) -> list[str]:
    """The variants of the usual form under which each of the stated confidences to be drawn is read well enough."""
    stated = [mean.variants for mean in report.means if mean.estimator in names]
    usual = [name for name in cells if name not in report.format_changes]
    return [name for name in usual if all(name in read_well for read_well in stated)]


def _below(report: SetReport, options: AskedOptions, estimators: Sequence[str] | None) -> Iterator[str]:
    """The cells that a parse rate leaves out of the curves that are wanted."""
    for mean in report.means:
        if mean.estimator in estimators if estimators is not None else mean.variants:
            for variant in mean.left_out:
                rate = report.cells[variant].estimators[mean.estimator].coverage.value
                yield f"{report.name}, {variant} ({mean.estimator} {rate:.3f})"


def pooled(cells: Sequence[AskedCell], name: str, together: Sequence[str] = ()) -> tuple[np.ndarray, ...]:
    """The confidences of several cells, their correctness and their questions, end to end.

    Of the rows that could be read under each of the estimators `together`, too, that their cell has.
    """
    pairs = [(cell.confidences[name], _kept(cell, name, together)) for cell in cells]
    confidence = np.concatenate([of_cell.confidence[kept] for of_cell, kept in pairs]) if pairs else np.empty(0)
    correct = np.concatenate([of_cell.correct[kept] for of_cell, kept in pairs]) if pairs else np.empty(0, np.bool_)
    rows = (
        cell.table.rows[place] for cell, (_, kept) in zip(cells, pairs, strict=True) for place in np.flatnonzero(kept)
    )
    return confidence, correct, np.array([row.question.root for row in rows], np.str_)


def _kept(opened: AskedCell, name: str, together: Sequence[str]) -> np.ndarray:
    """The rows with that confidence and the others; of label probabilities, which all samples share, the first one."""
    kept = opened.confidences[name].read.copy()
    for estimator in together:
        if estimator in opened.confidences:
            kept &= opened.confidences[estimator].read
    if name == NORMALISED:
        seen: set[tuple[str, int]] = set()
        for place in np.flatnonzero(kept):
            row = opened.table.rows[place]
            kept[place] = (row.question.id, row.paraphrase) not in seen
            seen.add((row.question.id, row.paraphrase))
    return kept
