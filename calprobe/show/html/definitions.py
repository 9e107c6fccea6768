"""What stands behind a column's head and an estimator's name: the definition in a line, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from calprobe.metrics import Metric
from calprobe.show.html.views import Definition
from calprobe.words import Correction

_PAPER = "Kissling et al. 2026"
_BETTER = {"smaller": "Smaller is better.", "larger": "Larger is better.", None: ""}

BEAR_SCORE = Definition(
    "m-bear_score",
    "mean accuracy",
    "mean over the paraphrases of the accuracy of base; called BEAR score for BEAR in its authors' own templates alone",
    f"{_PAPER}, table 3",
)
ACCURACY = Definition(
    "m-accuracy", "accuracy", "share of rows with a right answer; an answer that could not be parsed is incorrect"
)
COVERAGE = Definition("m-coverage", "coverage", "share of the instances that the estimator answers")
CHANCE = Definition("m-chance_accuracy", "chance", "accuracy of guessing: mean over the instances of 1/K, K candidates")
CHANCE_OF_QUESTIONS = replace(CHANCE, text="accuracy of guessing: mean over the questions of 1/K, K options")

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


def of_estimator(name: str, definition: str, source: str = "") -> Definition:
    """An estimator's definition."""
    return Definition(f"e-{name}", name, f"{definition}.", source)


def of_differences(
    correction: Correction, margin: float | None = None, title: str = DIFFERENCE.title
) -> tuple[Definition, ...]:
    """What a difference is, its p-values under the correction, and equivalence where it is tested, within a margin."""
    corrected = HOLM if correction == "holm" else MAX_T
    return (replace(DIFFERENCE, title=title), P_VALUE, corrected, *([] if margin is None else [EQUIVALENCE]))


def distinct(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """Each key once, in the order they come."""
    return tuple({definition.key: definition for definition in definitions}.values())
