"""What correcting for a judge's errors gives, in simulated answers of which a part was graded by hand too.

Prints a Markdown table (docs/methods/asked-answers.md says what it shows), a row for each kind of judge, all with
sensitivity 0.9 and specificity 0.7 on average over confidences of 0.5. Its errors either do not go by confidence, or it
calls right what the model is sure of: with a probability that is 0.4 higher at confidence 1 than at 0.

    python bench/judge_errors.py judges --trials 200

AUROC and Brier score: in truth, by the judge, and corrected, means over the trials. Held: in how many percent of the
trials the interval of the corrected number holds the truth. Seen: in how many percent the share of pairs of wrong
answers of which the judge calls right the surer one is above 0.5, by its interval.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calprobe.metrics import Estimate, Resampling, auroc, brier
from calprobe.metrics.judged import JudgedConfidence, judged_confidence

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.trials import Trials, print_head, print_table

BY_HAND = 4  # one answer in so many
JUDGES = {"errors that do not go by confidence": 0.0, "calls right what is sure": 0.4}


@dataclass(frozen=True, slots=True)
class Trial:
    """What is found in one sample, and what is so."""

    found: JudgedConfidence
    auroc: float
    brier: float


def simulated(resampling: Resampling, n: int, leaning: float) -> Trial:
    """A confidence in answers, four in ten of them right, of which the first quarter is graded by hand."""
    rng = np.random.default_rng(resampling.seed)
    right = rng.random(n) < 0.4
    confidence = rng.beta(np.where(right, 3, 1.5), 2)
    says = rng.random(n) < np.where(right, 0.9, 0.3) + leaning * (confidence - 0.5)
    hand = np.where(np.arange(n) < n // BY_HAND, right.astype(np.float64), np.nan)
    found = judged_confidence(confidence, says, hand, resampling)
    return Trial(found, auroc(confidence, right).value, brier(confidence, right).value)


def judges(trials: Trials) -> None:
    """A row for each kind of judge."""
    of_metric = ("in truth", "by the judge", "corrected", "held")
    print_head("judge", *(f"{metric} {name}" for metric in ("AUROC", "Brier") for name in of_metric), "seen")
    for label, leaning in JUDGES.items():
        row = [simulated(resampling, trials.instances, leaning) for resampling in trials]
        cells = [cell for metric in ("auroc", "brier") for cell in _of_metric(row, metric)]
        seen = np.mean([trial.found.sure_where_wrong.low > 0.5 for trial in row])
        print(f"| {label} | {' | '.join(cells)} | {100 * seen:.0f} |", flush=True)


def _of_metric(row: list[Trial], metric: str) -> Iterator[str]:
    truth = [getattr(trial, metric) for trial in row]
    by_judge: list[Estimate] = [getattr(trial.found, metric) for trial in row]
    corrected: list[Estimate] = [getattr(trial.found, f"{metric}_corrected") for trial in row]
    for values in (truth, [own.value for own in by_judge], [own.value for own in corrected]):
        yield f"{np.mean(values):.3f}"
    held = [own.low <= true <= own.high for own, true in zip(corrected, truth, strict=True)]
    yield f"{100 * np.mean(held):.0f}"


TABLES = {"judges": judges}

if __name__ == "__main__":
    print_table(__doc__, TABLES, Trials(2000, 200, 200))
