"""calprobe's numbers as metrics of inspect_ai, and a scorer that finds the confidence which they need.

    from inspect_ai.scorer import match
    from calprobe.integrations.inspect_ai import with_confidence

    Task(dataset, solver=.., scorer=with_confidence(match()))

A metric takes the grade of each sample and its confidence: `metadata["confidence"]` of its score, or the keys `correct`
and `confidence` of a score that is a dict. A sample without a confidence, or that was left unscored, is not in the
numbers; `with_a_confidence` is the share that is. Grades are read as by inspect_ai's `accuracy`, and have to be right
or wrong. Of several epochs inspect_ai shows metrics one score a sample, with the mean of the grades and the confidence
of the first: where the epochs of a sample differ, the metrics are NaN. `calprobe import inspect` takes each epoch.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, accuracy, metric, scorer, stderr
from inspect_ai.scorer import value_to_float as to_float_of
from inspect_ai.solver import TaskState

from calprobe.answers import read_stated_line
from calprobe.integrations.run_numbers import NUMBERS
from calprobe.runs.window import Step, WindowToken, window_label_scores

log = logging.getLogger(__name__)

Source = Literal["stated", "probability"]
_GRADE = to_float_of()


def _metric(name: str) -> Metric:
    def compute(scores: list[SampleScore]) -> float:
        confidence, grades = confidence_pairs(scores)
        if not set(grades) <= {0.0, 1.0}:
            log.warning(
                "%s: grades that are neither right nor wrong (epochs that differ?), so it is not computed", name
            )
            return math.nan
        return NUMBERS[name].of(confidence, [grade == 1 for grade in grades])

    return compute


def _grade(score: Score) -> float | None:
    value = score.value
    if isinstance(value, dict):
        value = value.get("correct", math.nan)
    if value is None or isinstance(value, list) or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(_GRADE(value))


def _confidence(score: Score) -> float | None:
    known = {**(score.metadata or {}), **(score.value if isinstance(score.value, dict) else {})}
    found = known.get("confidence")
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
        return None
    return float(found)


@metric
def ece() -> Metric:
    """`calprobe.metrics.ece`: ten equal-width bins. In [0, 1], smaller is better. inspect_ai has no such metric."""
    return _metric("ece")


@metric
def ace() -> Metric:
    """`calprobe.metrics.ace`: twenty quantile bins, each weighing the same. In [0, 1], smaller is better."""
    return _metric("ace")


@metric
def smooth_ece() -> Metric:
    """`calprobe.metrics.smooth_ece`, as relplot 1.0.3 has it, up to its grid. In [0, 1], smaller is better."""
    return _metric("smooth_ece")


@metric
def brier() -> Metric:
    """`calprobe.metrics.brier`: scikit-learn's `brier_score_loss`. In [0, 1], smaller is better."""
    return _metric("brier")


@metric
def nll() -> Metric:
    """`calprobe.metrics.nll`, in nats: scikit-learn's `log_loss`. Smaller is better."""
    return _metric("nll")


@metric
def auroc() -> Metric:
    """`calprobe.metrics.auroc`: scikit-learn's `roc_auc_score`. In [0, 1], larger is better; NaN of one class."""
    return _metric("auroc")


@metric
def aurc() -> Metric:
    """`calprobe.metrics.aurc`, ties in expectation. In [0, 1], smaller is better."""
    return _metric("aurc")


@metric
def mean_confidence() -> Metric:
    """Mean of the confidences, in [0, 1]."""
    return _metric("mean_confidence")


@metric
def confidence_gap() -> Metric:
    """Mean confidence minus accuracy of the samples with a confidence. In [-1, 1], above 0 overconfident."""
    return _metric("confidence_gap")


@metric
def with_a_confidence() -> Metric:
    """The share of the scored samples that have a confidence, in [0, 1]; NaN where none was scored."""

    def share(scores: list[SampleScore]) -> float:
        graded = [own for own in scores if _grade(own.score) is not None]
        there = [own for own in graded if _confidence(own.score) is not None]
        return len(there) / len(graded) if graded else math.nan

    return share


def confidence_pairs(scores: Sequence[SampleScore]) -> tuple[list[float], list[float]]:
    """The confidence and the grade of each sample that has both, in order."""
    pairs = [(_confidence(own.score), _grade(own.score)) for own in scores]
    known = [(confidence, grade) for confidence, grade in pairs if confidence is not None and grade is not None]
    return [confidence for confidence, _ in known], [grade for _, grade in known]


@scorer(
    metrics=[
        *(accuracy(), stderr(), with_a_confidence(), mean_confidence(), confidence_gap()),
        *(ece(), smooth_ece(), brier(), auroc()),
    ]
)
def with_confidence(by: Scorer, source: Source = "stated", scale: str = "x", parser: str = "strict") -> Scorer:
    """The scores of another scorer, with the confidence of each reply in `metadata["confidence"]`.

    Args:
        by: what grades the reply.
        source: `stated`: what the reply says of itself, read by `calprobe.answers.read_stated_line`: a number counts in
            a line that speaks of confidence, as in `Confidence: 80%`, and nowhere else. `probability`: of a
            multiple-choice reply, the probability of the letter that `by` read as the answer, among the letters that
            the model's `top_logprobs` show where the letter was generated (`GenerateConfig(logprobs=True,
            top_logprobs=20)`).
        scale: of a number without a sign, `x` (0 to 1) or `x/100`; see `read_stated`.
        parser: how strictly numbers are read, see `read_stated`.
    Raises:
        ValueError: another source.
    """
    if source not in ("stated", "probability"):
        raise ValueError(f"no source {source!r} of confidence; give stated or probability")

    async def score(state: TaskState, target: Target) -> Score | None:
        found = await by(state, target)
        if found is None:
            return None
        if source == "stated":
            confidence = stated_confidence(state.output.completion, scale, parser)
        else:
            confidence = label_probability(state.output, [*_letters(state)], found.answer or "")
        more = {} if confidence is None else {"confidence": confidence, "confidence_from": source}
        return found.model_copy(update={"metadata": {**(found.metadata or {}), **more}})

    return score


def stated_confidence(reply: str, scale: str = "x", parser: str = "strict") -> float | None:
    """The confidence in [0, 1] that a reply states; None where it states none that can be read.

    >>> stated_confidence("In 1912, 3% of all ships.\\nConfidence: 80%"), stated_confidence("In 1912, 3% of all ships.")
    (0.8, None)
    """
    value = read_stated_line(reply, scale, parser=parser).value  # type: ignore[arg-type]  # checked
    return value if isinstance(value, float) else None


def label_probability(output: Any, labels: Sequence[str], answer: str) -> float | None:
    """The probability of the answer's letter among the letters, at the last place where the model wrote it.

    Args:
        output: inspect_ai's `ModelOutput`, with log-probabilities of tokens.
        labels: the letters of the options.
        answer: one of them.
    Returns:
        A value in [0, 1]; the letters that the window lacks count 0. None without log-probabilities, or where no token
        is the letter.
    """
    logprobs = output.choices[0].logprobs if output.choices else None
    if answer not in labels or logprobs is None:
        return None
    steps = [
        Step(_token(own), [_token(other) for other in own.top_logprobs or ()] or [_token(own)])
        for own in logprobs.content
    ]
    scores = window_label_scores(tuple(labels), steps, output.completion)
    place = labels.index(answer)
    written = [n for n, at in enumerate(scores.positions) if steps[at].chosen.text.strip() == answer]
    if not written:
        return None
    masses = np.exp(scores.logprobs[written[-1]])
    return float(masses[place] / masses.sum()) if masses[place] > 0 else None


def _letters(state: TaskState) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(state.choices)]


def _token(own: Any) -> WindowToken:
    return WindowToken(own.token, min(own.logprob, 0.0))
