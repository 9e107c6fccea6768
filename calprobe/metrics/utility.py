"""What answers are worth at stated stakes, where answers that are not sure enough are withheld.

At stakes t a right answer is worth 1, a wrong one `-t / (1 - t)`, and none 0: answering pays if the answer is right
with probability t or more, so a confidence is compared with t (Kalai et al. 2025). At 0 a wrong answer costs nothing,
at 0.5 it costs 1, at 0.75 it costs 3, at 0.9 it costs 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_confidence, check_correct
from calprobe.metrics.intervals import percentiles
from calprobe.metrics.resamples import Block, ClusterLabels, Resampling, check_clusters, of_blocks

MOST_STAKES = 0.9  # that stakes are averaged up to: towards 1 the cost of a wrong answer has no end


def cost_of_error(stakes: float) -> float:
    """What a wrong answer costs: `t / (1 - t)`. Raises ValueError unless stakes are at least 0 and below 1.

    >>> [round(cost_of_error(stakes), 9) for stakes in (0, 0.5, 0.75, 0.9)]
    [0.0, 1.0, 3.0, 9.0]
    """
    if not 0 <= stakes < 1:
        raise ValueError(f"stakes must be at least 0 and below 1; got {stakes}")
    return stakes / (1 - stakes)


def utilities(confidence: npt.ArrayLike, correct: npt.ArrayLike, stakes: float) -> Floats:
    """What each answer is worth, if those with a confidence of at least the stakes are given. Larger is better.

    Answering always is that of confidences of 1, answering never is 0, and the best possible mean is the accuracy.

    Args:
        confidence: [answers], in [0, 1].
        correct: [answers], true or false.
        stakes: t, at least 0 and below 1.
    Returns:
        [answers], 1, 0, or minus the cost of an error.
    Raises:
        ValueError: shapes differ, or a value out of range.

    >>> utilities([0.9, 0.8, 0.3], [True, False, False], stakes=0.75).round(9).tolist()
    [1.0, -3.0, 0.0]
    """
    sureness = check_confidence(confidence)
    right = check_correct(correct, len(sureness))
    worth: Floats = np.where(sureness >= stakes, right - (1 - right) * cost_of_error(stakes), 0.0)
    return worth


def mean_utilities(confidence: npt.ArrayLike, correct: npt.ArrayLike, most: float = MOST_STAKES) -> Floats:
    """The mean of `utilities` over all stakes from 0 to `most`, of each answer, in closed form.

    `(c + (1 - y) ln(1 - c)) / most` of a confidence c, cut at `most`, in an answer that is right (y = 1) or wrong (0).
    It is a proper scoring rule: no other confidence is worth more in the mean than the probability to be right, up to
    `most`. Larger is better; at most 1, at least `1 + ln(1 - most) / most`.

    Args:
        confidence, correct: as `utilities` takes them.
        most: the largest stakes, within 0 and 1.
    Raises:
        ValueError: shapes differ, or a value out of range.

    >>> mean_utilities([0.5, 0.5, 1.0], [True, False, False], most=0.5).round(3).tolist()
    [1.0, -0.386, -0.386]
    """
    if not 0 < most < 1:
        raise ValueError(f"most must lie between 0 and 1; got {most}")
    cut = np.minimum(check_confidence(confidence), most)
    right = check_correct(correct, len(cut))
    worth: Floats = (cut + (1 - right) * np.log1p(-cut)) / most
    return worth


@dataclass(frozen=True, slots=True)
class UtilityCurve:
    """Mean utility against stakes, with the interval of each point. Arrays are [points]."""

    stakes: Floats  # ascending
    answered: Floats  # share whose confidence is at least the stakes
    utility: Floats
    low: Floats  # 95 % percentile interval of each point; NaN without resamples
    high: Floats
    always: Floats  # mean utility of giving all answers


def utility_curve(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    stakes: npt.ArrayLike,
    resampling: Resampling = Resampling(),
    clusters: ClusterLabels | None = None,
) -> UtilityCurve:
    """The mean of `utilities` at each of several stakes.

    Args:
        confidence, correct: as `utilities` takes them.
        stakes: [points], at least 0 and below 1.
        resampling: number of resamples, and seed.
        clusters: [answers], the label of each one's cluster, drawn complete; None draws single answers.
    Raises:
        ValueError: as `utilities`.

    >>> curve = utility_curve([0.9, 0.8, 0.3], [True, False, False], [0.0, 0.5, 0.75])
    >>> curve.utility.round(3).tolist(), curve.always.round(3).tolist()
    ([0.333, 0.0, -0.667], [0.333, -0.333, -1.667])
    """
    points = np.asarray(stakes, np.float64)
    sureness = check_confidence(confidence)
    worth = np.array([utilities(sureness, correct, t) for t in points.tolist()]).reshape(len(points), len(sureness)).T
    certain = np.ones_like(sureness)
    always = np.array([_mean(utilities(certain, correct, t)) for t in points.tolist()])

    def means(block: Block) -> Floats:
        counts = block.counts.astype(np.float64)
        drawn: Floats = counts @ worth / counts.sum(axis=1, keepdims=True)
        return drawn

    drawn = of_blocks(means, len(sureness), resampling, check_clusters(clusters, len(sureness)))
    ends = np.full((2, len(points)), np.nan)
    if drawn:
        ends = np.array([percentiles(column) for column in np.concatenate(drawn).T]).reshape(len(points), 2).T
    answered = np.array([_mean((sureness >= t).astype(np.float64)) for t in points.tolist()])
    utility = np.array([_mean(column) for column in worth.T])
    return UtilityCurve(points, answered, utility, ends[0], ends[1], always)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
