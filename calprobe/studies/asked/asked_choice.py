"""A report of asked runs with some estimators and metrics alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calprobe.measures.chosen import Choice
from calprobe.measures.slices import RunSlices
from calprobe.metrics.ranking import AUROC
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.cell_results import CellEstimator, CellReport
from calprobe.studies.asked.results import AskedRunReport, SetReport
from calprobe.studies.asked.run_studies import STUDIES
from calprobe.studies.wording.results import BudgetAuroc


def choose_asked(report: AskedReport, estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> AskedReport:
    """The report with these estimators and metrics alone, in this order; None: with all.

    Raises UsageError for a metric that there is not, and for an estimator that no cell has.
    """
    if estimators is None and metrics is None:
        return report
    of_stated = () if report.stated is None else report.stated.metrics
    columns = dict.fromkeys(metric.name for metric in (*of_stated, *report.metrics))
    reported = dict.fromkeys(name for run in report.runs for cell in run.reports() for name in cell.estimators)
    choice = Choice.of_report(estimators, reported, metrics, columns)
    runs = tuple(_run(run, choice) for run in report.runs)
    return replace(report, runs=runs, metrics=choice.columns(report.metrics), metrics_chosen=metrics is not None)


def _run(run: AskedRunReport, choice: Choice) -> AskedRunReport:
    return replace(
        run,
        sets={name: _set(report, choice) for name, report in run.sets.items()},
        studies={
            key: chosen
            for key, study in run.studies.items()
            if (chosen := STUDIES[key].chosen(study, choice)) is not None
        },
    )


def _set(report: SetReport, choice: Choice) -> SetReport:
    cells = {variant: _cell(cell, choice) for variant, cell in report.cells.items()}
    return replace(report, cells=cells, means=tuple(mean for mean in report.means if choice.shows(mean.estimator)))


def _cell(cell: CellReport, choice: Choice) -> CellReport:
    of_auroc = bool(choice.by_metric({AUROC.name: AUROC}))
    return replace(
        cell,
        estimators=_estimators(cell.estimators, choice),
        kinds={
            kind: replace(record, estimators=_estimators(record.estimators, choice))
            for kind, record in cell.kinds.items()
        },
        overconfidence=choice.by_estimator(cell.overconfidence),
        budgets=tuple(
            replace(record, aurocs=tuple(auroc for auroc in record.aurocs if of_auroc and choice.shows(_named(auroc))))
            for record in cell.budgets
        ),
        maps=choice.by_estimator(cell.maps),
        recalibrated=None if cell.recalibrated is None else cell.recalibrated.only(choice),
        slices=None if cell.slices is None else _slices(cell.slices, choice),
    )


def _estimators(estimators: Mapping[str, CellEstimator], choice: Choice) -> dict[str, CellEstimator]:
    chosen = choice.by_estimator(estimators)
    return {name: replace(estimator, metrics=choice.by_metric(estimator.metrics)) for name, estimator in chosen.items()}


def _slices(slices: RunSlices, choice: Choice) -> RunSlices:
    parts = (replace(part, estimators=choice.by_estimator(part.estimators)) for part in slices.slices)
    averages = {
        name: replace(part, estimators=choice.by_estimator(part.estimators)) for name, part in slices.averages.items()
    }
    return replace(
        slices,
        slices=tuple(parts),
        trends=choice.by_estimator(slices.trends),
        averages=averages,
        gaps=choice.by_estimator(slices.gaps),
    )


def _named(auroc: BudgetAuroc) -> str:
    return auroc.measure if auroc.reading == "pooled" else f"{auroc.measure}.{auroc.reading}"
