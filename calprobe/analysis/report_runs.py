"""From a run's scores to its report: every number is computed here, none where it is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.analysis.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.analysis.scored_run import RunLike, ScoredRun, open_scored_runs
from calprobe.analysis.sensitivity import sensitivity_of
from calprobe.analysis.slices import slice_run
from calprobe.analysis.uncertainty import mean_uncertainty
from calprobe.confidence import BASE
from calprobe.confidence.types import paraphrase_rows
from calprobe.metrics import (
    Estimate,
    bootstrap_many,
    bootstrap_mean,
    bootstrap_multiclass,
    multiclass_metrics,
    standard_metrics,
)


def report(runs: RunLike | Sequence[RunLike], options: ReportOptions = DEFAULT_OPTIONS) -> Report:
    """Accuracy, BEAR score and, for each estimator that a run's templates allow, every metric with its 95 % interval.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE bins, bootstrap, what it draws as a whole, slices.
    Returns:
        A report for each run, over its complete relations: a partial run is marked as such. Without any instances all
        values are NaN.
    Raises:
        UsageError: no run, one named twice, or slices of an estimator that a run does not have. DataMissingError: no
            run at a path. CalprobeError: a run is damaged, or an import that lacks the scores which reduction and
            compat need.

    `report("runs/smollm2-135m-mini").runs[0].accuracy.value` is an accuracy; `report([..]).to_json()` the contents of
    `calprobe report --json`.
    """
    metrics = (*standard_metrics(options.ace_bins), *multiclass_metrics())
    found: list[RunReport] = []
    scored: list[ScoredRun] = []
    for run in open_scored_runs(runs, options):
        found.append(_report_run(run, options))
        scored.append(run.released())  # whoever draws the report reads confidences alone
    return Report(tuple(found), metrics, options, tuple(scored))


def _report_run(run: ScoredRun, options: ReportOptions) -> RunReport:
    metrics = _metrics(run, options)
    estimators = tuple(
        EstimatorReport(
            name=name,
            group=estimator.group,
            definition=estimator.definition,
            source=estimator.source,
            templates=estimator.templates,
            failed=int(run.confidence(name).failed.sum()),
            metrics=metrics[name],
        )
        for name, estimator in run.estimators.items()
    )
    shares, paraphrases = run.right_shares, paraphrase_rows(run.table.templates)
    return RunReport(
        facts=run.facts,
        accuracy=metrics[BASE]["accuracy"] if BASE in metrics else None,
        bear_score=None if shares is None else bootstrap_mean(shares, options.resampling, run.clusters),
        estimators=estimators,
        sensitivity=sensitivity_of(run.closed_set, options, run.clusters) if paraphrases else None,
        uncertainty=mean_uncertainty(run.distributions, paraphrases, options, run.clusters) if paraphrases else None,
        slices=slice_run(run, options) if options.slices else None,
    )


def _metrics(run: ScoredRun, options: ReportOptions) -> dict[str, dict[str, Estimate]]:
    """Every metric by its name, for each estimator by its own; NaN where it takes distributions and there are none."""
    confidences = run.confidences()
    predictions = {name: (found.confidence, found.correct) for name, found in confidences.items()}
    top_label = bootstrap_many(standard_metrics(options.ace_bins), predictions, options.resampling, run.clusters)
    whole = bootstrap_multiclass(
        multiclass_metrics(),
        {name: found.probabilities for name, found in confidences.items() if found.probabilities is not None},
        run.distributions.offsets,
        run.distributions.answer_idx,
        options.resampling,
        run.clusters,
    )
    none = {metric.name: Estimate(float("nan")) for metric in multiclass_metrics()}
    return {name: found | whole.get(name, none) for name, found in top_label.items()}
