"""From a run's scores to its report: every number is computed here, none where it is drawn."""

from __future__ import annotations

import numpy as np

from calprobe.cells.opening import Runs, open_scored_runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE
from calprobe.confidence.types import default_row, paraphrase_rows
from calprobe.measures.estimates import estimates_of
from calprobe.measures.headline_intervals import headline_intervals
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.measures.recalibrated import recalibrate_run
from calprobe.measures.sensitivity import PromptSensitivity, sensitivity_of
from calprobe.measures.slices import slice_run
from calprobe.measures.uncertainty import MeanUncertainty, mean_uncertainty
from calprobe.metrics import (
    Estimate,
    bootstrap_mean,
    bootstrap_multiclass,
    multiclass_metrics,
    standard_metrics,
)
from calprobe.metrics.intervals import UNDEFINED
from calprobe.studies.scored.results import EstimatorReport, Report, RunReport, Ties


def report(runs: Runs, options: ReportOptions = DEFAULT_OPTIONS) -> Report:
    """Accuracy, also over the paraphrases, and every metric of each estimator that a run allows, with 95 % intervals.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE bins, bootstrap, its clusters, slices.
    Returns:
        A report for each run, over its complete relations: a partial run is marked as such. Without any instances all
        values are NaN.
    Raises:
        UsageError: no run, one named twice, slices of an estimator that a run does not have, or recalibration of a run
            of one relation. DataMissingError: no run at a path. CalprobeError: a run is damaged, or an import that
            lacks the scores which reduction and compat need.

    `report("runs/smollm2-135m-mini").runs[0].accuracy.value` is an accuracy; `report([..]).to_json()` the contents of
    `calprobe report --json`.
    """
    metrics = (*standard_metrics(options.ace_bins), *multiclass_metrics())
    reports: list[RunReport] = []
    scored: list[ScoredRun] = []
    for run in open_scored_runs(runs, options):
        reports.append(report_run(run, options))
        scored.append(run.released())  # whoever draws the report reads confidences alone
    return Report(tuple(reports), metrics, options, tuple(scored))


def report_run(run: ScoredRun, options: ReportOptions) -> RunReport:
    """The numbers of one run. Sections that need the scores of candidates are None without them.

    Raises UsageError for slices of an estimator that the run does not have.
    """
    metrics, answered = _metrics(run, options), _answered(run, options)
    estimators = tuple(
        EstimatorReport(
            name=name,
            group=estimator.group,
            definition=estimator.definition,
            source=estimator.source,
            scale=estimator.scale,
            templates=estimator.templates,
            instances=len(run.instances),
            failed=int(run.confidence(name).failed.sum()),
            coverage=_coverage(run, name, options),
            fitted=run.confidence(name).fitted,
            metrics=metrics[name],
            answered=answered.get(name, {}),
        )
        for name, estimator in run.estimators.items()
    )
    shares = run.right_shares
    sensitivity, uncertainty = _of_the_wording(run, options)
    return RunReport(
        facts=run.facts,
        accuracy=metrics[BASE]["accuracy"] if BASE in metrics else None,
        bear_score=None if shares is None else bootstrap_mean(shares, options.resampling, run.clusters),
        estimators=estimators,
        sensitivity=sensitivity,
        uncertainty=uncertainty,
        ties=_ties(run),
        slices=slice_run(run, options) if options.slices else None,
        recalibrated=recalibrate_run(run, options) if options.recalibrate else None,
        intervals=headline_intervals(run, options),
    )


def _ties(run: ScoredRun) -> Ties | None:
    """How often the prediction of base is one of several."""
    row = None if run.evidence is None else default_row(run.table.templates)
    if row is None:
        return None
    tied, right = run.distributions.tied(row), run.distributions.at_peak(row)
    expected = np.divide(right, tied, out=np.zeros(len(tied)), where=tied > 0)
    return Ties(int((tied > 1).sum()), float(expected.mean()) if len(tied) else float("nan"))


def _of_the_wording(
    run: ScoredRun, options: ReportOptions
) -> tuple[PromptSensitivity, MeanUncertainty] | tuple[None, None]:
    """What the wording changes; None without scores of candidates under two paraphrases or more."""
    rows = () if run.evidence is None else paraphrase_rows(run.table.templates)
    if not rows:
        return None, None
    sensitivity = sensitivity_of(run.closed_set, options, run.clusters)
    return sensitivity, mean_uncertainty(run.distributions, rows, options, run.clusters)


def _metrics(run: ScoredRun, options: ReportOptions) -> dict[str, dict[str, Estimate]]:
    """The metrics of each estimator that have a meaning for its scale and the run's evidence, by both names."""
    estimates = estimates_of(run.cell, standard_metrics(options.ace_bins), options.resampling)
    if run.evidence is None:
        return estimates
    distributions = {name: run.confidence(name).probabilities for name in run.estimators}
    complete = bootstrap_multiclass(
        multiclass_metrics(),
        {name: probabilities for name, probabilities in distributions.items() if probabilities is not None},
        run.distributions.offsets,
        run.distributions.answer_idx,
        options.resampling,
        run.clusters,
    )
    none = {metric.name: UNDEFINED for metric in multiclass_metrics()}
    return {name: metrics | complete.get(name, none) for name, metrics in estimates.items()}


def _coverage(run: ScoredRun, estimator: str, options: ReportOptions) -> Estimate:
    """The share of the instances that the estimator answers, with an interval where it fails on some."""
    failed = run.confidence(estimator).failed
    if failed.any():
        return bootstrap_mean(~failed, options.resampling, run.clusters)
    return Estimate(1.0 if len(failed) else float("nan"))


def _answered(run: ScoredRun, options: ReportOptions) -> dict[str, dict[str, Estimate]]:
    """The metrics over the instances that an estimator answers, of those that fail on some, by both names.

    Estimators that answer the same instances see the same resamples, as votes of average and of consistency do.
    """
    by_instances: dict[bytes, list[str]] = {}
    for name in run.estimators:
        failed = run.confidence(name).failed
        if failed.any():
            by_instances.setdefault(failed.tobytes(), []).append(name)
    metrics = standard_metrics(options.ace_bins)
    estimates: dict[str, dict[str, Estimate]] = {}
    for names in by_instances.values():
        answered = ~run.confidence(names[0]).failed
        estimates |= estimates_of(run.cell, metrics, options.resampling, names, answered)
    return estimates
