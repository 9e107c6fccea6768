"""Confidence estimators: candidate scores in, a prediction and how sure it is out, for every instance."""

from calprobe.confidence.base import base_confidence
from calprobe.confidence.distributions import Distributions, Peak
from calprobe.confidence.frame import confidences
from calprobe.confidence.margin import margin_confidence
from calprobe.confidence.registry import available_estimators, estimate
from calprobe.confidence.softmax import softmax
from calprobe.confidence.types import NO_PREDICTION, Confidence, Estimator

__all__ = [
    "NO_PREDICTION",
    "Confidence",
    "Distributions",
    "Estimator",
    "Peak",
    "available_estimators",
    "base_confidence",
    "confidences",
    "estimate",
    "margin_confidence",
    "softmax",
]
