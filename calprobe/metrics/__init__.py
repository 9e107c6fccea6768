"""Calibration metrics: arrays of confidence and correctness in, numbers with their bins, points and intervals out."""

from calprobe.metrics.bins import Binning, Bins
from calprobe.metrics.brier_decomposition import BrierDecomposition, brier_decomposition, decomposition_metrics
from calprobe.metrics.calibration import (
    ACE_BINS,
    ace,
    ace_weighted,
    calibration_metrics,
    ece,
    max_calibration_error,
)
from calprobe.metrics.debiased_ece import DEBIASED_ECE, debiased_ece
from calprobe.metrics.holm import holm
from calprobe.metrics.intervals import Estimate
from calprobe.metrics.means import ACCURACY, MEAN_CONFIDENCE, accuracy, mean_confidence
from calprobe.metrics.metric import BinMetric, Metric, RankMetric, SampleBinMetric, SampleMetric
from calprobe.metrics.multiclass import (
    MultiClassMetric,
    brier_mean,
    brier_sum,
    multiclass_metrics,
    static_calibration_error,
)
from calprobe.metrics.multiclass_resampling import bootstrap_multiclass
from calprobe.metrics.ordinal import ordinal_confidence
from calprobe.metrics.paired import Difference, paired_differences
from calprobe.metrics.proportions import wilson_interval
from calprobe.metrics.ranking import AUROC, auroc
from calprobe.metrics.rejection import RejectionCurve, reject_by_rank, reject_by_threshold, reject_by_vote
from calprobe.metrics.rejection_bands import AccuracyBand, AtCoverage, AtThresholds, AtVotes, accuracy_bands
from calprobe.metrics.resamples import Resampling
from calprobe.metrics.resampling import bootstrap, bootstrap_many, bootstrap_mean
from calprobe.metrics.result import Curve, MetricResult
from calprobe.metrics.scoring_rules import BRIER, NLL, brier, nll
from calprobe.metrics.selective import AURC, E_AURC, PRR, aurc, e_aurc, prr
from calprobe.metrics.smooth_ece import SMOOTH_ECE, smooth_ece
from calprobe.metrics.smoothing import SmoothedGap
from calprobe.metrics.spearman import spearman
from calprobe.metrics.target_coverage import OperatingPoint, TargetCoverage, coverage_at_accuracy

__all__ = [
    "ACE_BINS",
    "AccuracyBand",
    "AtCoverage",
    "AtThresholds",
    "AtVotes",
    "BinMetric",
    "Binning",
    "Bins",
    "BrierDecomposition",
    "Curve",
    "Difference",
    "Estimate",
    "Metric",
    "MetricResult",
    "MultiClassMetric",
    "OperatingPoint",
    "RankMetric",
    "RejectionCurve",
    "Resampling",
    "SampleBinMetric",
    "SampleMetric",
    "SmoothedGap",
    "TargetCoverage",
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
    "mean_confidence",
    "multiclass_metrics",
    "nll",
    "ordinal_confidence",
    "paired_differences",
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
