"""Estimators of one answer beside the other samples of its question. One more is one more entry."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from calprobe.arrays import Floats
from calprobe.confidence.asked.label_masses import NO_ANSWER
from calprobe.confidence.asked.reply_table import Row
from calprobe.confidence.asked.sample_readings import OfAnswer, of_answers, of_beside, of_replies
from calprobe.confidence.asked.sampled import SampledQuestion, mean_logprob, sum_logprob
from calprobe.confidence.asked.token_estimators import mean_entropy
from calprobe.confidence.estimator import Entry, Estimator, Scale
from calprobe.confidence.samples import cocoa, semantic_density
from calprobe.confidence.samples.answer_beside import QIU, VASHURIN
from calprobe.confidence.types import NOT_JUDGED, OK

ALONE = "no other sample"
Value = tuple[float, str]  # and why it is not known
Own = Callable[[Row, str], Value]  # of a row's reply at a stage
Likeness = Callable[[SampledQuestion], Floats | None]  # [strings, strings]


def _others(question: SampledQuestion, at: int, likeness: Likeness) -> tuple[Floats, str]:
    """How like the others the answer at a place is, [samples but it], and why it is not known."""
    if question.strings.of[at] < 0:
        return np.zeros(0), NO_ANSWER
    matrix = likeness(question)
    if matrix is None:
        return np.zeros(0), NOT_JUDGED
    places = question.strings.places
    return np.delete(question.strings.with_unread(matrix)[places[at]][places], at), OK


def _cocoa(question: SampledQuestion, at: int, row: Row, stage: str, own: Own, likeness: Likeness) -> Value:
    near, why = _others(question, at, likeness)
    uncertainty, unknown = own(row, stage)
    if why != OK or unknown != OK:
        return float("nan"), why if why != OK else unknown
    return cocoa(uncertainty, near), OK if len(near) else ALONE


def _density(question: SampledQuestion, at: int, row: Row, stage: str) -> Value:
    near, why = _others(question, at, lambda samples: samples.kernel)
    own, unknown = mean_logprob(row, stage)
    if why != OK or unknown != OK:
        return float("nan"), why if why != OK else unknown
    _, different = np.unique(np.delete(question.replies, at), return_index=True)
    others = np.delete(question.logprobs, at)[different]
    known = ~np.isnan(others)  # what is empty has no probability
    return semantic_density(near[different][known], others[known], own), OK


def _minus(of: Own) -> Own:
    def uncertainty(row: Row, stage: str) -> Value:
        value, why = of(row, stage)
        return -value, why

    return uncertainty


def _entry(name: str, definition: str, measure: OfAnswer, source: str, needs: Collection[str], scale: Scale) -> Entry:
    estimator = Estimator(
        name,
        definition,
        "samples",
        of_answers(measure),
        source,
        scale,
        frozenset(needs) | {"samples"},
        on_request=True,
    )
    # Greedy answers are asked without the alternatives of their tokens.
    return Entry(estimator, of_replies if "alternatives" in needs else partial(of_beside, measure=measure))


_PAIRS = frozenset(("relations",))
_OWN: tuple[tuple[str, str, Own, str], ...] = (
    ("sequence", "minus the reply's log-probability", _minus(sum_logprob), "logprobs"),
    ("perplexity", "minus the mean log-probability of the reply's tokens", _minus(mean_logprob), "logprobs"),
    ("token_entropy", "the mean entropy of the reply's tokens", mean_entropy, "alternatives"),
)
_LIKENESS: tuple[tuple[str, str, Likeness, frozenset[str]], ...] = (
    ("", "affinity to", lambda question: question.affinity, _PAIRS),
    (".rouge", "ROUGE-L with", lambda question: question.common_words, frozenset()),
)
BESIDE: tuple[Entry, ...] = (
    *(
        _entry(
            f"cocoa.{form}{end}",
            f"{definition}, times 1 minus its mean {like} the other samples",
            partial(_cocoa, own=own, likeness=likeness),
            VASHURIN,
            pairs | {evidence},
            "uncertainty",
        )
        for end, like, likeness, pairs in _LIKENESS
        for form, definition, own, evidence in _OWN
    ),
    _entry(
        "semantic_density",
        "share of the probability of all different replies that lies near the answer, by what was judged",
        _density,
        QIU,
        _PAIRS | {"contradictions", "logprobs"},
        "order",
    ),
)
