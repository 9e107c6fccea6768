"""The words of the domain as types: what options, manifests and shards may say. Imports nothing that takes time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Literal

# Models
ModelKind = Literal["causal", "masked"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Precision = Literal["auto", "ieee"]  # of float32 products on a card; auto: three on the tensor cores for one
DeviceMap = Literal["auto", "balanced", "balanced_low_0", "sequential"]  # accelerate's

# Scoring
ScoringPath = Literal["flat", "tree", "padded", "masked", "plain"]  # how statements are computed, fastest first
PllMetric = Literal["within_word_l2r", "original", "sentence_l2r", "answer_l2r+word_l2r"]  # docs/methods/estimators.md
WordSplit = Literal["tokenizer", "unicode"]  # the tokenizer's own words, or those of the text (UAX 29)

# Asking
BackendName = Literal["transformers", "vllm", "openai"]  # the engines that answer
REVERSED = "1 - "  # in front of a scale: the reply says how probable it is that the answer is wrong
ENTAILMENT_ALONE = "of two labels: entailment or not"  # what disclosures say of a judge without contradictions

# Grading: what `grade --grader` may say -> when an answer is right
GRADE_BY: Mapping[str, str] = {
    "exact": "is an accepted text",
    "contains": "the answer has one in it",
    "includes": "the whole reply has",
    "rouge": "ROUGE-L with one",
    "number": "of numbers",
    "judge": "a model says so",
}

# Probes and statements
Scored = Literal["statement", "completion"]  # of a text: all of it, or only what completes the context before it
TemplateKind = Literal["paraphrase", "verbal", "numeric"]

# Scores of a run
Reduction = Literal["sum", "mean", "sum_answer", "mean_answer"]  # of a statement's tokens to its score
Compat = Literal["kissling2026"]  # scores as that paper has them: without each statement's first scored token
AskedCompat = Literal["audit2026", "stated2025", "science2026"]  # replies as a paper reads them, its errors
AskedBeside = Literal["audit2026", "stated2025", "science2026", "wording2025"]  # published numbers beside one's own
Ties = Literal["draw", "first"]  # which of the candidates that share the largest score is the prediction
SliceKind = Literal["relation", "domain", "cardinality"]
# Resamples draw single instances, complete relations, or instances within each relation.
ClusterKind = Literal["instance", "relation", "within-relation"]
Correction = Literal["holm", "max-t"]  # of p-values for their number
Calibrate = Literal["isotonic", "logistic"]  # of uncertainties without a scale to confidences
Recalibration = Literal["isotonic", "platt", "beta", "temperature"]  # of confidences, docs/methods/metrics.md

# Curves
CurveKind = Literal[
    "accuracy-rejection", "calibration", "utility", "set-sizes", "options", "accuracy-ace", "markers", "exposure"
]

# Tables of a report, by the kind of runs: what layouts name themselves by, and `report --tables` may say
ScoredTable = Literal[
    "summary", "models", "averages", "runs", "wording", "intervals", "recalibrated", "slices", "paper"
]
AskedTable = Literal[
    "answers",
    "confidence",
    "uncertainty",
    "recalibrated",
    "slices",
    "wording",
    "budget",
    "stated",
    "faithfulness",
    "means",
    "lengths",
    "form",
    "spread",
    "shift",
    "matrix",
    "across",
    "paper",
    "designs",
    "labels",
    "hides",
    "sampled",
    "graders",
    "consistency",
    "correlation",
    "fidelity",
    "conditions",
    "reliability",
    "differences",
    "reversed",
    "models",
]
OwnTable = Literal["overview", "missing", "sets", "sizes", "withheld", "groups", "stakes", "told"]  # of other commands

# Runs in a list
RunState = Literal["complete", "running", "partial", "failed"]
RunKind = Literal["scored", "asked"]
RunOrder = Literal["path", "model", "probe", "state", "accuracy", "ace", "age", "size"]


class Role(IntEnum):
    """What a token belongs to. A token that overlaps a slot at all belongs to it; answer before subject."""

    TEMPLATE = 0
    SUBJECT = 1
    ANSWER = 2

    @property
    def label(self) -> str:
        """The name in exports: template, subject, answer."""
        return self.name.lower()
