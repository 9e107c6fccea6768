"""The list of metrics: what a report has columns of."""

from __future__ import annotations

from collections.abc import Container

from calprobe.metrics.calibration import ACE_BINS, DEBIASED_ECE, calibration_metrics
from calprobe.metrics.calibration_tests import calibration_tests
from calprobe.metrics.corp import corp_metrics
from calprobe.metrics.cumulative import ECCE_MAD, ECCE_RANGE
from calprobe.metrics.metric import Metric
from calprobe.metrics.ranking import AUGRC, AURC, AUROC, E_AURC, PRR, PRR_50
from calprobe.metrics.reference import chance_metrics, reference_metrics
from calprobe.metrics.scoring_rules import (
    ACCURACY,
    BRIER,
    BRIER_SKILL,
    CONFIDENCE_GAP,
    MEAN_CONFIDENCE,
    NLL,
    decomposition_metrics,
)
from calprobe.metrics.smooth_ece import SMOOTH_ECE


def standard_metrics(ace_bins: int | None = ACE_BINS) -> tuple[Metric, ...]:
    """Every metric of a report, in the order of its columns, ACE with that many quantile bins. Add a metric here.

    ECE over distinct values and the errors of `stated2025` are of the study of stated confidence alone, with few values
    on the edges of bins: `calprobe.studies.stated.reliability`.

    Bins of None go by the number of instances, `bins_for`. Raises ValueError for less than one bin.

    >>> [metric.name for metric in standard_metrics() if metric.better == "larger"]
    ['accuracy', 'brier_skill', 'brier_resolution', 'brier_dsc', 'nll_dsc', 'auroc', 'prr', 'prr_50']
    """
    errors = (*calibration_metrics(ace_bins), SMOOTH_ECE, DEBIASED_ECE, ECCE_MAD, ECCE_RANGE)
    by_chance = reference_metrics((*errors, *corp_metrics()))
    rules = (BRIER, BRIER_SKILL, *decomposition_metrics(ace_bins), NLL, *corp_metrics())
    order = (AUROC, AURC, E_AURC, AUGRC, PRR, PRR_50)
    return (ACCURACY, MEAN_CONFIDENCE, CONFIDENCE_GAP, *errors, *by_chance, *calibration_tests(), *rules, *order)


def named_metrics(names: Container[str], ace_bins: int | None = ACE_BINS) -> tuple[Metric, ...]:
    """The metrics of a report that are named; behind ECE with 15 bins what chance makes of it, which studies show.

    >>> [metric.name for metric in named_metrics(("ece_15", "brier"))]
    ['ece_15', 'ece_15_if_calibrated', 'ece_15_p', 'brier']
    """
    named = [metric for metric in standard_metrics(ace_bins) if metric.name in names]
    chance = {metric.name: chance_metrics(metric) for metric in named if metric.name == "ece_15"}
    return tuple(shown for metric in named for shown in (metric, *chance.get(metric.name, ())))
