"""Confidence estimators: candidate scores in, a prediction and how sure it is out, for every instance."""

from calprobe.confidence.answer_options import expected_correct, keep_options, option_ranks
from calprobe.confidence.answer_sensitivity import (
    answer_deviation,
    answer_fidelity,
    answer_probabilities,
    base_correlation,
)
from calprobe.confidence.confidence_frame import confidences
from calprobe.confidence.decomposition import (
    Decomposition,
    entropy_decomposition,
    uncertainties,
    variance_decomposition,
)
from calprobe.confidence.distributions import NO_PREDICTION, Distributions, Peak, softmax
from calprobe.confidence.estimator import Estimator, Headline
from calprobe.confidence.estimators import (
    BASE,
    available_estimators,
    estimate,
    estimator_groups,
    headline,
)
from calprobe.confidence.paraphrases import (
    Aggregation,
    aggregations,
    average_confidence,
    consistency_confidence,
    fixed_agreement_confidence,
    fixed_mean_confidence,
    least_confident,
    mixture_confidence,
    most_confident,
    vote,
)
from calprobe.confidence.single_template import (
    base_confidence,
    chance_confidence,
    entropies,
    entropy_confidence,
    margin_confidence,
)
from calprobe.confidence.temperature import (
    fit_temperature,
    fit_top_temperature,
    temperature_confidence,
    top_temperature_confidence,
)
from calprobe.confidence.types import Confidence

__all__ = [
    "BASE",
    "NO_PREDICTION",
    "Aggregation",
    "Confidence",
    "Decomposition",
    "Distributions",
    "Estimator",
    "Headline",
    "Peak",
    "aggregations",
    "answer_deviation",
    "answer_fidelity",
    "answer_probabilities",
    "available_estimators",
    "average_confidence",
    "base_confidence",
    "base_correlation",
    "chance_confidence",
    "confidences",
    "consistency_confidence",
    "entropies",
    "entropy_confidence",
    "entropy_decomposition",
    "estimate",
    "estimator_groups",
    "expected_correct",
    "fit_temperature",
    "fit_top_temperature",
    "fixed_agreement_confidence",
    "fixed_mean_confidence",
    "headline",
    "keep_options",
    "least_confident",
    "margin_confidence",
    "mixture_confidence",
    "most_confident",
    "option_ranks",
    "softmax",
    "temperature_confidence",
    "top_temperature_confidence",
    "uncertainties",
    "variance_decomposition",
    "vote",
]
