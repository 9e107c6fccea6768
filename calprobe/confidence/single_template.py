"""Estimators that read one template: the probability of the prediction, its lead, how little else is probable."""

from __future__ import annotations

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.confidence.distributions import Distributions
from calprobe.confidence.types import Confidence


def base_confidence(distributions: Distributions, row: int = 0) -> Confidence:
    """The largest probability, `max_k p_k`, under one template; the prediction is its candidate.

    On a tie it is the first candidate or, in distributions of a run, a drawn one (`Distributions.from_table`).
    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026. Higher is surer; within [1/K, 1] for K
    candidates.

    Args:
        distributions: of any number of instances.
        row: the row of `distributions.probabilities` to read, that of one template.
    Returns:
        Arrays [instances], with the template's probabilities. An instance with NaN probabilities fails: confidence 0,
        incorrect.

    >>> spaces = Distributions.from_scores([[-1.0, -1.0, -3.0, -1.0]], offsets=[0, 2, 4], answer_idx=[0, 0])
    >>> found = base_confidence(spaces)
    >>> found.prediction.tolist(), found.confidence.round(3).tolist(), found.correct.tolist()
    ([0, 1], [0.5, 0.881], [True, False])
    """
    peak = distributions.peak([row])
    probabilities = distributions.probabilities[row]
    return Confidence.of(peak.prediction[0], peak.largest[0], distributions.answer_idx, probabilities)


def margin_confidence(distributions: Distributions, row: int = 0) -> Confidence:
    """The largest minus the second-largest probability under one template; predictions are those of base.

    docs/methods/estimators.md, "Confidence estimators"; Kissling et al. 2026. Higher is surer; within [0, 1], 0 on a
    tie. With a single candidate there is no second, and the margin is its probability, 1.

    Args:
        distributions: of any number of instances.
        row: the row of `distributions.probabilities` to read, that of one template.
    Returns:
        Arrays [instances]. An instance with NaN probabilities fails: confidence 0, incorrect.

    >>> spaces = Distributions.from_scores([[-1.0, -1.0, -3.0, -1.0]], offsets=[0, 2, 4], answer_idx=[0, 0])
    >>> margin_confidence(spaces).confidence.round(3).tolist()
    [0.0, 0.762]
    """
    peak = distributions.peak([row])
    return Confidence.of(peak.prediction[0], peak.largest[0] - peak.second[0], distributions.answer_idx)


def entropy_confidence(distributions: Distributions, row: int = 0) -> Confidence:
    """`1 - H(p) / log K` under one template, with `H(p) = -sum_k p_k log p_k`; predictions are those of base.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. Higher is surer; within [0, 1]: 0 where all K
    candidates are equally probable, 1 where one has all the probability, or is the only one.

    Args:
        distributions: of any number of instances.
        row: the row of `distributions.probabilities` to read, that of one template.
    Returns:
        Arrays [instances]. An instance with NaN probabilities fails: confidence 0, incorrect.

    >>> spaces = Distributions.from_scores([[-1.0, -1.0, -3.0, -1.0, -5.0]], offsets=[0, 2, 4, 5], answer_idx=[0, 0, 0])
    >>> entropy_confidence(spaces).confidence.round(3).tolist()
    [0.0, 0.473, 1.0]
    """
    spread = entropies(distributions.probabilities[row], distributions.offsets)
    most = np.log(distributions.widths)
    # With one candidate both are 0, and nothing is spread. Rounding can take H(p) past log K.
    confidence = np.clip(1 - spread / np.where(most > 0, most, 1.0), 0.0, 1.0)
    return Confidence.of(distributions.peak([row]).prediction[0], confidence, distributions.answer_idx)


def entropies(probabilities: Floats, offsets: Ints) -> Floats:
    """Entropy in nats of each instance's distribution, `-sum_k p_k log p_k`, where 0 log 0 is 0.

    Args:
        probabilities: [.., candidates], flat over ragged answer spaces.
        offsets: [instances + 1], instance `i` owns the columns `offsets[i]:offsets[i + 1]`, at least one.
    Returns:
        [.., instances], from 0 (one candidate has it all) to log K; NaN where a probability is.

    >>> entropies(np.array([0.5, 0.5, 0.0, 1.0]), np.array([0, 2, 4])).round(6).tolist()
    [0.693147, 0.0]
    """
    logs = np.log(np.where(probabilities == 0, 1.0, probabilities))
    spread: Floats = 0.0 - np.add.reduceat(probabilities * logs, offsets[:-1], axis=-1)  # a bare minus would give -0.0
    return spread


def chance_confidence(distributions: Distributions, row: int = 0) -> Confidence:
    """`(max_k p_k - 1/K) / (1 - 1/K)` under one template: base with chance at 0; predictions are those of base.

    docs/methods/estimators.md, "Confidence estimators", beyond the paper. It makes answer spaces of different sizes
    comparable; calibrated it is not meant to be, since accuracy does not start at 0. Higher is surer; within [0, 1]. 1
    with a single candidate.

    Args:
        distributions: of any number of instances.
        row: the row of `distributions.probabilities` to read, that of one template.
    Returns:
        Arrays [instances]. An instance with NaN probabilities fails: confidence 0, incorrect.

    >>> spaces = Distributions.from_scores([[-1.0, -1.0, -3.0, -1.0, -5.0]], offsets=[0, 2, 4, 5], answer_idx=[0, 0, 0])
    >>> chance_confidence(spaces).confidence.round(3).tolist()
    [0.0, 0.762, 1.0]
    """
    peak, k = distributions.peak([row]), distributions.widths
    above = (peak.largest[0] * k - 1) / np.maximum(k - 1, 1)  # the formula times K over K
    confidence = np.where((k == 1) & ~np.isnan(above), 1.0, np.maximum(above, 0.0))  # rounding can go below 0
    return Confidence.of(peak.prediction[0], confidence, distributions.answer_idx)
