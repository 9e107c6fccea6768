"""The verdict on a confidence: how far it is from accuracy, in a sentence with the numbers that it rests on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calprobe.measures.number_text import short, short_p, short_signed, short_spelled
from calprobe.messages import counted
from calprobe.metrics import Estimate
from calprobe.metrics.error_shown import ErrorName, with_chance
from calprobe.metrics.intervals import FEW, SAME, SIGNIFICANT, UNDEFINED

OVER, UNDER, NEITHER, APART, BALANCED, UNKNOWN = (
    "overconfident",
    "underconfident",
    "cannot be told from calibrated",
    "miscalibrated, though it cannot be told whether over- or underconfident on average",
    "cannot be told to be over- or underconfident on average",
    "without an interval, so over- or underconfidence cannot be told",
)
MOST = 0.9  # of the answers: with a confidence in fewer of them, a verdict says in how many


@dataclass(frozen=True, slots=True)
class Judged:
    """A confidence with its metrics by name: mean confidence minus accuracy, a calibration error, AUROC, accuracy."""

    name: str
    metrics: Mapping[str, Estimate]  # of one cell with intervals; of several the means, without
    n: int  # questions with the confidence, the most of a cell: they say how many digits numbers bear
    error: ErrorName
    cells: Sequence[Mapping[str, Estimate]] = ()  # each cell's, where the metrics are means
    of: str = "variants"  # what the cells are
    answered: tuple[int, int] | None = None  # answers that have the confidence, and all that could; None: all have it
    rests_on: str = ""  # the right answers, or the wrong ones, that its order rests on, where these are few

    @property
    def few(self) -> str:
        """In how many answers the confidence is, where that is not in almost all of them; else empty."""
        having, asked = self.answered or (1, 1)
        return f"{having:,} of {asked:,} answers" if having < MOST * asked else ""

    @property
    def verdict(self) -> str:
        """In words; of several cells how many of them it holds for, those without such a confidence left out."""
        cells = [cell for cell in self.cells if _defined(cell, "confidence_gap")]
        if len(cells) < 2:
            return _word(cells[0] if cells else self.metrics, self.error)
        words = Counter(_word(cell, self.error) for cell in cells)
        if words.keys() == {UNKNOWN}:
            return UNKNOWN
        if len(words) == 1:
            return f"{next(iter(words))} under each of {len(cells)} {self.of}"
        (first, number), *others = words.most_common()
        return ", ".join(
            [f"{first} under {number} of {len(cells)} {self.of}", *(f"under {n} {word}" for word, n in others)]
        )


def _word(metrics: Mapping[str, Estimate], error: ErrorName) -> str:
    """By the interval of the gap, and where that has 0 in it by how often a calibrated model shows such an error.

    With 0 in the interval no direction is shown; that there is none, is not shown either. A gap that no resample moves
    has no interval: its sign is the direction of an error that calibrated models seldom show.
    """
    gap, p = metrics.get("confidence_gap", UNDEFINED), metrics.get(with_chance(error)[2], UNDEFINED)
    unmoved = math.isnan(gap.low)
    if math.isnan(gap.value) or (unmoved and math.isnan(p.value)):
        return UNKNOWN
    if unmoved and p.value < SIGNIFICANT and abs(gap.value) > SAME:
        return OVER if gap.value > 0 else UNDER
    if gap.low > 0 or gap.high < 0:
        return OVER if gap.low > 0 else UNDER
    if math.isnan(p.value):  # no draws of a calibrated model to compare with
        return BALANCED
    return APART if p.value < SIGNIFICANT else NEITHER


def sentence_on(judged: Judged, accuracy: float) -> str:
    """What a confidence is worth. Its accuracy is said where its answers are others than those of the run.

    Args:
        judged: the confidence; a metric that is missing or undefined is left out.
        accuracy: of the run's answers, in [0, 1].

    >>> sentence_on(Judged("stated", {}, 0, "ece", answered=(0, 30)), 0.6)
    'stated: none of 30 answers has one.'
    >>> numbers = {"confidence_gap": Estimate(0.1, 0.04, 0.16), "ece": Estimate(0.12), "accuracy": Estimate(0.6)}
    >>> sentence_on(Judged("label", numbers, 100, "ece"), 0.6)
    'label: overconfident. Confidence - accuracy +.10 (+.04 to +.16), ECE .12.'
    """
    if judged.answered and not judged.answered[0]:
        return f"{judged.name}: none of {judged.answered[1]:,} answers has one."
    metrics, digits = judged.metrics, decimals_of(judged.n)
    error, size, p = with_chance(judged.error)
    parts = [f"of {judged.few}"] if judged.few else []
    if _defined(metrics, "confidence_gap"):
        parts.append(f"confidence - accuracy {short_signed(metrics['confidence_gap'], digits)}")
    if _defined(metrics, error):
        chance = f", {short(metrics[size].value, digits)} if calibrated" if _defined(metrics, size) else ""
        chance += f" ({error.upper()} p {short_p(metrics[p].value)})" if _defined(metrics, p) else ""
        parts.append(f"{error.upper()} {short(metrics[error].value, digits)}{chance}")
    if _defined(metrics, "auroc"):
        rests = f" (only {judged.rests_on})" if judged.rests_on else ""
        parts.append(f"AUROC {short_spelled(metrics['auroc'], digits)}{rests}")
    numbers = ", ".join(parts)
    own = metrics.get("accuracy", UNDEFINED).value
    other = f" Accuracy of its answers {short(own, digits)}." if abs(own - accuracy) >= 10**-digits else ""
    told = f" {numbers[:1].upper()}{numbers[1:]}." if numbers else ""
    return f"{judged.name}: {judged.verdict}.{told}{other}"


def few_answers(rarer: Sequence[int], accuracy: float, *, of_questions: bool = False) -> str:
    """How many right or wrong answers an order rests on, whichever are fewer; empty where they are many.

    Args:
        rarer: their number, of each cell; 0: there is no order.
        accuracy: in [0, 1].
        of_questions: numbers are of questions with such answers.

    >>> few_answers([1], 0.02), few_answers([3, 12], 0.9, of_questions=True), few_answers([12], 0.2)
    ('1 right', '3 to 12 questions with wrong answers', '')
    """
    numbers = [number for number in rarer if number]
    least, most = min(numbers, default=FEW), max(numbers, default=FEW)
    if least >= FEW:
        return ""
    outcome = "right" if accuracy < 0.5 else "wrong"
    several = f"{least:,} to " if least < most else ""
    if of_questions:
        return f"{several}{counted(most, 'question')} with {outcome} answers"
    return f"{several}{most:,} {outcome}"


def _defined(metrics: Mapping[str, Estimate], name: str) -> bool:
    return name in metrics and not math.isnan(metrics[name].value)


def decimals_of(n: int) -> int:
    """Decimals that n questions bear: the last is about the standard error of a share of them.

    >>> [decimals_of(n) for n in (20, 583, 14_042, 70_210)]
    [2, 3, 3, 4]
    """
    return 2 if n < 200 else 3 if n < 20_000 else 4
