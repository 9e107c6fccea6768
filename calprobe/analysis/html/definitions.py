"""What stands behind a column's head and an estimator's name: the definition in a line, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from calprobe.analysis.html.views import Definition
from calprobe.analysis.results import EstimatorReport
from calprobe.metrics import Metric

_PAPER = "Kissling et al. 2026"
_BETTER = {"smaller": "Smaller is better.", "larger": "Larger is better.", None: ""}

BEAR_SCORE = Definition(
    "m-bear_score",
    "mean accuracy",
    "mean over the paraphrases of the accuracy of base; called BEAR score for BEAR in its authors' own templates alone",
    f"{_PAPER}, table 3",
)
COVERAGE = Definition("m-coverage", "coverage", "share of the instances that the estimator answers")
CHANCE = Definition("m-chance_accuracy", "chance", "accuracy of guessing: mean over the instances of 1/K, K candidates")


DIFFERENCE = Definition("q-difference", "A - B", "the first value minus the second, on the same resamples")
P_VALUE = Definition("q-p", "p", "two-sided, of no difference, from the paired bootstrap")
HOLM = Definition("q-p_holm", "Holm p", "p corrected for all p-values of the comparison; * below 0.05", "Holm 1979")
MAX_T = Definition(
    "q-p_max_t",
    "max-T p",
    "p corrected by the largest of all differences on each resample; * below 0.05",
    "Westfall and Young 1993",
)
EQUIVALENCE = Definition(
    "q-p_equivalence",
    "p ±margin",
    "Holm-corrected, of a difference as large as the margin or larger; below 0.05 both are equivalent within it",
    "Schuirmann 1987",
)
_KINDS = {"metric": "m", "quantity": "q", "estimator": "e"}


def definition_key(keys: Mapping[str, str]) -> str:
    """The key of what a column or row is of; empty where it is of nothing that could have a definition.

    >>> definition_key({"estimator": "margin", "metric": "ace"}), definition_key({"domain": "Arts"})
    ('m-ace', '')
    """
    return next((f"{kind}-{keys[name]}" for name, kind in _KINDS.items() if name in keys), "")


def of_metric(metric: Metric) -> Definition:
    """A metric's definition."""
    text = f"{metric.definition}. {_BETTER[metric.better]}".rstrip()
    return Definition(f"m-{metric.name}", metric.title, text, metric.source)


def of_estimator(estimator: EstimatorReport) -> Definition:
    """An estimator's definition."""
    return Definition(f"e-{estimator.name}", estimator.name, f"{estimator.definition}.", estimator.source)


def distinct(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """Each key once, in the order they come."""
    return tuple({definition.key: definition for definition in definitions}.values())
