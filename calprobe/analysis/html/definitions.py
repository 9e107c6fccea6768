"""What stands behind a column's head and an estimator's name: the definition in a line, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable

from calprobe.analysis.html.views import Definition
from calprobe.analysis.results import EstimatorReport
from calprobe.metrics import Metric

_PAPER = "Kissling et al. 2026"
# By metric; "" for what needs none. docs/methods.md has the long definitions.
METRIC_SOURCES = {
    "accuracy": "",
    "mean_confidence": "",
    "ace": "Nixon et al. 2019; bins of scikit-learn's calibration_curve",
    "ace_weighted": "ACE's bins, Nixon et al. 2019",
    "ece": "Naeini et al. 2015",
    "ece_15": "Naeini et al. 2015",
    "max_calibration_error": "Naeini et al. 2015",
    "smooth_ece": "Błasiok and Nakkiran 2023, as in relplot",
    "debiased_ece": "Kumar, Liang, Ma 2019, section 4",
    "brier": "Brier 1950, binary form",
    "brier_reliability": "Murphy 1973",
    "brier_resolution": "Murphy 1973",
    "brier_uncertainty": "Murphy 1973",
    "brier_within_bins": "Stephenson, Coelho, Jolliffe 2008",
    "nll": "Good 1952",
    "auroc": "scikit-learn's roc_auc_score",
    "aurc": "Geifman, Uziel, El-Yaniv 2019",
    "e_aurc": "Geifman, Uziel, El-Yaniv 2019",
    "prr": "lm-polygraph",
    "brier_sum": "Brier 1950; lm-evaluation-harness's brier_score",
    "brier_mean": "lm-pub-quiz's brier_score",
    "static_calibration_error": "after Nixon et al. 2019",
}
# By the beginning of an estimator's name.
ESTIMATOR_SOURCES = {
    "base": f"{_PAPER}, section 3.1",
    "margin": f"{_PAPER}, section 3.1",
    "average_": f"{_PAPER}, section 3.2 and appendix C",
    "consistency_": f"{_PAPER}, section 3.2 and appendix C",
    "marker_": f"{_PAPER}, section 3.3",
    "temperature": "Guo et al. 2017, section 4.2",
}
_BETTER = {"smaller": "Smaller is better.", "larger": "Larger is better.", None: ""}

BEAR_SCORE = Definition(
    "bear-score", "BEAR score", "mean over the paraphrases of the accuracy of base", f"{_PAPER}, table 3"
)
CHANCE = Definition("chance-level", "chance", "accuracy of guessing: mean over the instances of 1/K, K candidates")


def of_metric(metric: Metric) -> Definition:
    """A metric's definition."""
    text = f"{metric.definition}. {_BETTER[metric.better]}".rstrip()
    return Definition(f"m-{metric.name}", metric.title, text, METRIC_SOURCES.get(metric.name, ""))


def of_estimator(estimator: EstimatorReport) -> Definition:
    """An estimator's definition."""
    source = next((told for start, told in ESTIMATOR_SOURCES.items() if estimator.name.startswith(start)), "")
    return Definition(f"e-{estimator.name}", estimator.name, f"{estimator.definition}.", source)


def distinct(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """Each key once, in the order they come."""
    return tuple({definition.key: definition for definition in definitions}.values())
