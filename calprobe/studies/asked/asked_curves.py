"""What `calprobe curve` draws of runs of replies: each run is read, and its curves are named by run and set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from calprobe.cells.asked import Asked, AskedCell
from calprobe.cells.candidates import LABELS, asked_cells
from calprobe.curves.accuracy_rejection import AccuracyRejection
from calprobe.curves.calibration_curve import Calibration
from calprobe.curves.curve import AnyLine
from calprobe.curves.set_sizes import SetSizeLine, SetSizes, one_estimator, set_size_lines
from calprobe.curves.utility_curve import Utility
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators
from calprobe.measures.halves import check_promised
from calprobe.measures.options import ReportOptions
from calprobe.measures.run_names import state
from calprobe.metrics import Resampling
from calprobe.studies.asked.pooled_curves import (
    every_estimator,
    joined,
    rejection_lines,
    reliability_lines,
    utility_lines,
    with_scale,
)
from calprobe.studies.asked.pooled_samples import LinesOfSet, cells_of_set
from calprobe.studies.asked.report_asked import report_asked_run
from calprobe.studies.asked.results import SetReport

log = logging.getLogger(__name__)


def asked_calibration(runs: Sequence[Asked], options: ReportOptions, estimators: Sequence[str] | None) -> Calibration:
    """The reliability diagrams of runs: a panel for each set, of several runs for each of both.

    None: of the estimators that `report` draws. Logged are the cells that a parse rate leaves out.

    Raises UsageError for an estimator that no run has, or that has no scale, and where parse rates leave no cell.
    """
    calibration = joined(_asked_lines(runs, options, estimators, with_scale, reliability_lines))
    return calibration if estimators is None else calibration.only(estimators)


def asked_rejection(
    runs: Sequence[Asked], options: ReportOptions, estimators: Sequence[str] | None
) -> AccuracyRejection:
    """The accuracy-rejection curves of runs, a line for each set and estimator, pooled over the usual variants.

    Unlike a reliability diagram it can be of an uncertainty: its ranks stand for it, from 0, least sure, to 1,
    and it has no points by threshold. Resamples draw complete questions where a question has several answers.

    Args:
        runs: one or several.
        options: reading rules, resamples.
        estimators: None: those that `report` draws.
    Raises:
        UsageError: an estimator that no run has, and where parse rates leave no cell.
    """
    rejection = AccuracyRejection(tuple(_asked_lines(runs, options, estimators, every_estimator, rejection_lines)), ())
    return rejection if estimators is None else rejection.only(estimators)


def asked_utility(runs: Sequence[Asked], options: ReportOptions, estimators: Sequence[str] | None) -> Utility:
    """The utility curves of runs, a line for each set and estimator, pooled over the usual variants.

    Resamples draw complete questions where a question has several answers. Raises as `asked_calibration`.
    """
    utility = Utility(tuple(_asked_lines(runs, options, estimators, with_scale, utility_lines)))
    return utility if estimators is None else utility.only(estimators)


def asked_set_sizes(runs: Sequence[Asked], options: ReportOptions, estimators: Sequence[str] | None) -> SetSizes:
    """The set-size curves of the labels of choices, a line for each set, variant and rule.

    By default they are of the first of `LABELS` that a cell has.

    Raises UsageError where no cell has label probabilities, and for an estimator that a cell lacks.
    """
    lines: list[SetSizeLine] = []
    for run in runs:
        for cell in asked_cells(run, options):
            usual = next((name for name in LABELS if name in cell.cell.estimators), None)
            if usual is None and estimators is None:
                continue
            name = one_estimator(estimators, usual or "")
            check_promised(cell.cell, name)
            parts = run.label if len(runs) > 1 else "", cell.cell.set, cell.cell.variant
            title = " ".join(filter(None, parts))
            lines += set_size_lines(cell, (title, title, name, ()), options.resampling.seed)
    if not lines:
        raise UsageError("no label probabilities to make sets of; ask with --collect labels")
    return SetSizes(tuple(lines))


def _asked_lines(
    runs: Sequence[Asked],
    options: ReportOptions,
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
            for line in lines_of_set(set_report, cells_of_set(report, set_report.name), options, estimators):
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


def _below(report: SetReport, options: ReportOptions, estimators: Sequence[str] | None) -> Iterator[str]:
    """The cells that a parse rate leaves out of the curves that are wanted."""
    for mean in report.means:
        if mean.estimator in estimators if estimators is not None else mean.variants:
            for variant in mean.left_out:
                rate = report.cells[variant].estimators[mean.estimator].coverage.value
                yield f"{report.name}, {variant} ({mean.estimator} {rate:.3f})"
