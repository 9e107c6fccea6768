"""From a run's scores to its report: every number is computed here, none where it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calprobe.analysis.clusters import Labels, cluster_labels
from calprobe.analysis.results import DEFAULT_OPTIONS, EstimatorReport, Report, ReportOptions, RunReport
from calprobe.analysis.sensitivity import sensitivity_of
from calprobe.analysis.slices import Estimated, slice_run
from calprobe.analysis.source import RunLike, open_runs
from calprobe.analysis.uncertainty import mean_uncertainty
from calprobe.confidence import Confidence, Distributions, estimator_groups
from calprobe.confidence.types import paraphrase_rows
from calprobe.metrics import (
    Estimate,
    bootstrap_many,
    bootstrap_mean,
    bootstrap_multiclass,
    multiclass_metrics,
    standard_metrics,
)
from calprobe.runs import Run
from calprobe.types import Floats


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
    found = tuple(_report_run(label, run, options) for label, run in open_runs(runs).items())
    return Report(found, metrics, options)


def _report_run(label: str, run: Run, options: ReportOptions) -> RunReport:
    table = run.table(options.reduction, options.compat)
    distributions, clusters = Distributions.from_table(table), cluster_labels(table, options)
    groups = {
        estimator: group for group, estimators in estimator_groups(table.templates).items() for estimator in estimators
    }
    confidences = {estimator.name: estimator(distributions) for estimator in groups}
    paraphrases = paraphrase_rows(table.templates)
    shares = right_shares(distributions, paraphrases)
    estimated = Estimated(table, confidences, shares)
    slices = slice_run(label, run.manifest, estimated, options) if options.slices else None
    metrics = _metrics(confidences, distributions, options, clusters)
    estimators = tuple(
        EstimatorReport(
            name=estimator.name,
            group=group,
            definition=estimator.definition,
            templates=estimator.templates,
            failed=int(confidences[estimator.name].failed.sum()),
            metrics=metrics[estimator.name],
        )
        for estimator, group in groups.items()
    )
    return RunReport.of(
        label,
        run,
        table,
        accuracy=metrics["base"]["accuracy"] if "base" in metrics else None,
        bear_score=None if shares is None else bootstrap_mean(shares, options.resampling, clusters),
        estimators=estimators,
        sensitivity=sensitivity_of(table.templates, distributions, options, clusters) if paraphrases else None,
        uncertainty=mean_uncertainty(distributions, paraphrases, options, clusters) if paraphrases else None,
        slices=slices,
    )


def _metrics(
    confidences: Mapping[str, Confidence], distributions: Distributions, options: ReportOptions, clusters: Labels | None
) -> dict[str, dict[str, Estimate]]:
    """Every metric by its name, for each estimator by its own; NaN where it takes distributions and there are none."""
    predictions = {name: (found.confidence, found.correct) for name, found in confidences.items()}
    top_label = bootstrap_many(standard_metrics(options.ace_bins), predictions, options.resampling, clusters)
    whole = bootstrap_multiclass(
        multiclass_metrics(),
        {name: found.probabilities for name, found in confidences.items() if found.probabilities is not None},
        distributions.offsets,
        distributions.answer_idx,
        options.resampling,
        clusters,
    )
    none = {metric.name: Estimate(float("nan")) for metric in multiclass_metrics()}
    return {name: found | whole.get(name, none) for name, found in top_label.items()}


def right_shares(distributions: Distributions, paraphrases: Sequence[int]) -> Floats | None:
    """The share of the paraphrases that get each instance right, [instances]; None with fewer than two paraphrases.

    Its mean is the BEAR score: the mean accuracy over the paraphrases, every instance weighing the same.
    """
    if not paraphrases:
        return None
    shares: Floats = (distributions.peak(paraphrases).prediction == distributions.answer_idx).mean(axis=0)
    return shares
