"""Calibration metrics: arrays of confidence and correctness in, numbers with their bins, points and intervals out."""

from calprobe.metrics.bins import Binning, Bins, bins_for
from calprobe.metrics.bootstrap import bootstrap, bootstrap_many, bootstrap_mean
from calprobe.metrics.calibration import (
    ACE_BINS,
    ace,
    ace_weighted,
    debiased_ece,
    ece,
    max_calibration_error,
)
from calprobe.metrics.calibration_tests import CoxRecalibration, cox_recalibration, spiegelhalter_z
from calprobe.metrics.corp import CorpDecomposition, corp_brier, corp_log
from calprobe.metrics.cumulative import ecce_mad, ecce_range
from calprobe.metrics.intervals import Estimate
from calprobe.metrics.isotonic import isotonic_confidence
from calprobe.metrics.means import bootstrap_of_means, recovered_share, spread, spread_by_chance
from calprobe.metrics.metric import (
    BinMetric,
    ClosedFormMetric,
    IsotonicMetric,
    Metric,
    MetricResult,
    RankMetric,
    ReferenceMetric,
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
from calprobe.metrics.ranking import augrc, aurc, auroc, e_aurc, ordinal_confidence, prr, prr_50
from calprobe.metrics.recalibration import recalibrated
from calprobe.metrics.reference import p_of_calibration
from calprobe.metrics.registry import standard_metrics
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
from calprobe.metrics.risk_control import FixedThreshold, Kept, answers_needed, fix_threshold, kept_at
from calprobe.metrics.scoring_rules import (
    ACCURACY,
    BrierDecomposition,
    accuracy,
    brier,
    brier_decomposition,
    brier_skill,
    confidence_gap,
    mean_confidence,
    nll,
)
from calprobe.metrics.simultaneous import simultaneous_band
from calprobe.metrics.smooth_ece import smooth_ece
from calprobe.metrics.statistics import holm, max_t, mcnemar, spearman, spearman_p_value, wilson_interval
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
    "ClosedFormMetric",
    "CorpDecomposition",
    "CoxRecalibration",
    "Difference",
    "Estimate",
    "FixedThreshold",
    "IsotonicMetric",
    "Kept",
    "Metric",
    "MetricResult",
    "MultiClassMetric",
    "OperatingPoint",
    "PairedDraws",
    "RankMetric",
    "ReferenceMetric",
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
    "answers_needed",
    "augrc",
    "aurc",
    "auroc",
    "bins_for",
    "bootstrap",
    "bootstrap_many",
    "bootstrap_mean",
    "bootstrap_multiclass",
    "bootstrap_of_means",
    "brier",
    "brier_decomposition",
    "brier_mean",
    "brier_skill",
    "brier_sum",
    "confidence_gap",
    "corp_brier",
    "corp_log",
    "coverage_at_accuracy",
    "cox_recalibration",
    "debiased_ece",
    "e_aurc",
    "ecce_mad",
    "ecce_range",
    "ece",
    "fix_threshold",
    "holm",
    "isotonic_confidence",
    "kept_at",
    "max_calibration_error",
    "max_t",
    "mcnemar",
    "mean_confidence",
    "mean_draws",
    "multiclass_metrics",
    "nll",
    "ordinal_confidence",
    "p_of_calibration",
    "paired_differences",
    "paired_draws",
    "prr",
    "prr_50",
    "recalibrated",
    "recovered_share",
    "reject_by_rank",
    "reject_by_threshold",
    "reject_by_vote",
    "simultaneous_band",
    "smooth_ece",
    "spearman",
    "spearman_p_value",
    "spiegelhalter_z",
    "spread",
    "spread_by_chance",
    "standard_metrics",
    "static_calibration_error",
    "wilson_interval",
]
