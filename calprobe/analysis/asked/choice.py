"""A report of asked runs with some estimators and metrics alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.results import AskedRunReport, CellEstimator, CellReport, SetReport
from calprobe.analysis.asked.science.answer_results import AnswerStudy
from calprobe.analysis.asked.stated.choice import choose_stated
from calprobe.analysis.asked.wording_results import BudgetAuroc, CellBudget
from calprobe.analysis.chosen import known_estimators, known_names, only
from calprobe.metrics.ranking import AUROC


def choose_asked(report: AskedReport, estimators: Sequence[str] | None, metrics: Sequence[str] | None) -> AskedReport:
    """The report with these estimators and metrics alone, in this order; None: with all.

    Raises UsageError for a metric that there is not, and for an estimator that no cell has.
    """
    if estimators is None and metrics is None:
        return report
    columns = {metric.name: metric for metric in report.metrics}
    if report.stated is not None:
        columns = {metric.name: metric for metric in report.stated.metrics} | columns
    given = dict.fromkeys(name for run in report.runs for cell in run.reports() for name in cell.estimators)
    wanted = tuple(columns) if metrics is None else known_names("--metric", metrics, columns, "in this report")
    names = tuple(given) if estimators is None else known_estimators("the report", estimators, given)
    plain = {metric.name for metric in report.metrics}
    shown = tuple(columns[name] for name in wanted if name in plain)
    if metrics is not None:
        shown = tuple(replace(metric, printed=True, priority=place) for place, metric in enumerate(shown, 1))
    runs = tuple(_run(run, names, wanted) for run in report.runs)
    studies = [
        None if run.stated is None else choose_stated(run.stated, None if estimators is None else names, metrics)
        for run in report.runs
    ]
    runs = tuple(replace(run, stated=study) for run, study in zip(runs, studies, strict=True))
    return replace(report, runs=runs, metrics=shown, metrics_chosen=metrics is not None)


def _run(run: AskedRunReport, names: Sequence[str], metrics: Sequence[str]) -> AskedRunReport:
    answers = None if run.answers is None else _answers(run.answers, names)
    return replace(run, sets={name: _set(own, names, metrics) for name, own in run.sets.items()}, answers=answers)


def _answers(study: AnswerStudy, names: Sequence[str]) -> AnswerStudy:
    """With the treatments of failures of these estimators alone; the study's own numbers stay."""
    cells = []
    for cell in study.cells:
        treatments = only(cell.responses.treatments, names)
        cells.append(replace(cell, responses=replace(cell.responses, treatments=treatments)))
    return replace(study, cells=tuple(cells))


def _set(own: SetReport, names: Sequence[str], metrics: Sequence[str]) -> SetReport:
    cells = {variant: _cell(cell, names, metrics) for variant, cell in own.cells.items()}
    return replace(own, cells=cells, means=tuple(found for found in own.means if found.estimator in names))


def _cell(cell: CellReport, names: Sequence[str], metrics: Sequence[str]) -> CellReport:
    estimators = _estimators(cell.estimators, names, metrics)
    kinds = {
        kind: replace(own, estimators=_estimators(own.estimators, names, metrics)) for kind, own in cell.kinds.items()
    }
    budgets = tuple(_budget(own, names, metrics) for own in cell.budgets)
    stated, maps = only(cell.overconfidence, names), only(cell.maps, names)
    slices = None if cell.slices is None else cell.slices.only(names)
    return replace(
        cell, estimators=estimators, kinds=kinds, overconfidence=stated, budgets=budgets, maps=maps, slices=slices
    )


def _estimators(
    found: Mapping[str, CellEstimator], names: Sequence[str], metrics: Sequence[str]
) -> dict[str, CellEstimator]:
    return {name: replace(own, metrics=only(own.metrics, metrics)) for name, own in only(found, names).items()}


def _budget(own: CellBudget, names: Sequence[str], metrics: Sequence[str]) -> CellBudget:
    kept = names if AUROC.name in metrics else ()
    found = (each for each in own.aurocs if _named(each) in kept)
    return replace(own, aurocs=tuple(found))


def _named(own: BudgetAuroc) -> str:
    return own.measure if own.reading == "pooled" else f"{own.measure}.{own.reading}"
