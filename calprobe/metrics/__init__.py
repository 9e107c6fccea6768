"""Calibration metrics: arrays of confidence and correctness in, numbers with their bins, points and intervals out."""

from calprobe.metrics.bins import Binning, Bins
from calprobe.metrics.bootstrap import Estimate, bootstrap, bootstrap_many, bootstrap_mean
from calprobe.metrics.calibration import (
    ACE_BINS,
    DEBIASED_ECE,
    ace,
    ace_weighted,
    calibration_metrics,
    debiased_ece,
    ece,
    max_calibration_error,
)
from calprobe.metrics.metric import (
    BinMetric,
    Metric,
    MetricResult,
    RankMetric,
    SampleBinMetric,
    SampleMetric,
    SmoothedGap,
)
from calprobe.metrics.multiclass import (
    MultiClassMetric,
    bootstrap_multiclass,
    brier_mean,
    brier_sum,
    multiclass_metrics,
    static_calibration_error,
)
from calprobe.metrics.paired import Difference, PairedDraws, mean_draws, paired_differences, paired_draws
from calprobe.metrics.ranking import AURC, AUROC, E_AURC, PRR, aurc, auroc, e_aurc, ordinal_confidence, prr
from calprobe.metrics.rejection import (
    AccuracyBand,
    AtCoverage,
    AtThresholds,
    AtVotes,
    RejectionCurve,
    accuracy_bands,
    reject_by_rank,
    reject_by_threshold,
    reject_by_vote,
)
from calprobe.metrics.resamples import LEAST_CLUSTERS, MANY_CLUSTERS, Resampling, Within
from calprobe.metrics.scoring_rules import (
    ACCURACY,
    BRIER,
    MEAN_CONFIDENCE,
    NLL,
    BrierDecomposition,
    accuracy,
    brier,
    brier_decomposition,
    decomposition_metrics,
    mean_confidence,
    nll,
)
from calprobe.metrics.smooth_ece import SMOOTH_ECE, smooth_ece
from calprobe.metrics.statistics import holm, max_t, mcnemar, spearman, wilson_interval
from calprobe.metrics.target_coverage import OperatingPoint, TargetCoverage, coverage_at_accuracy

__all__ = [
    "ACCURACY",
    "ACE_BINS",
    "LEAST_CLUSTERS",
    "MANY_CLUSTERS",
    "AccuracyBand",
    "AtCoverage",
    "AtThresholds",
    "AtVotes",
    "BinMetric",
    "Binning",
    "Bins",
    "BrierDecomposition",
    "Difference",
    "Estimate",
    "Metric",
    "MetricResult",
    "MultiClassMetric",
    "OperatingPoint",
    "PairedDraws",
    "RankMetric",
    "RejectionCurve",
    "Resampling",
    "SampleBinMetric",
    "SampleMetric",
    "SmoothedGap",
    "TargetCoverage",
    "Within",
    "accuracy",
    "accuracy_bands",
    "ace",
    "ace_weighted",
    "aurc",
    "auroc",
    "bootstrap",
    "bootstrap_many",
    "bootstrap_mean",
    "bootstrap_multiclass",
    "brier",
    "brier_decomposition",
    "brier_mean",
    "brier_sum",
    "coverage_at_accuracy",
    "debiased_ece",
    "e_aurc",
    "ece",
    "holm",
    "max_calibration_error",
    "max_t",
    "mcnemar",
    "mean_confidence",
    "mean_draws",
    "multiclass_metrics",
    "nll",
    "ordinal_confidence",
    "paired_differences",
    "paired_draws",
    "prr",
    "reject_by_rank",
    "reject_by_threshold",
    "reject_by_vote",
    "smooth_ece",
    "spearman",
    "standard_metrics",
    "static_calibration_error",
    "wilson_interval",
]


def standard_metrics(ace_bins: int = ACE_BINS) -> tuple[Metric, ...]:
    """Every metric of a report, in the order of its columns, ACE with that many quantile bins. Add a metric here.

    Raises ValueError for less than one bin.

    >>> [metric.name for metric in standard_metrics() if metric.better == "larger"]
    ['accuracy', 'brier_resolution', 'auroc', 'prr']
    """
    errors = (*calibration_metrics(ace_bins), SMOOTH_ECE, DEBIASED_ECE)
    rules = (BRIER, *decomposition_metrics(ace_bins), NLL)
    return (ACCURACY, MEAN_CONFIDENCE, *errors, *rules, AUROC, AURC, E_AURC, PRR)
