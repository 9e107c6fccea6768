"""Accuracy, mean confidence, and proper scoring rules of top-label confidence, with the Brier score taken apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.metrics.bins import Binning, Bins, bin_sample
from calprobe.metrics.calibration import ACE_BINS, quantile_bins
from calprobe.metrics.metric import BinMetric, Metric, MetricResult, SampleBinMetric, SampleMetric
from calprobe.metrics.sample import Sample, sort_instances

LEAST_PROBABILITY = 1e-12  # of what happened, so that one certain mistake does not make the NLL infinite
MURPHY = "Murphy 1973"


def accuracy(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Share of correct predictions. Larger is better. (It takes confidences, and ignores them, as all metrics do.)

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. A failed prediction counts as incorrect. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> accuracy([0.3, 0.9], [False, True]).value
    0.5
    """
    return MetricResult(float(_accuracy(sort_instances(confidence, correct).sample())[0]))


def mean_confidence(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Mean confidence: above accuracy the model is overconfident on average, below it underconfident.

    Arguments and errors are those of `accuracy`; in [0, 1], NaN without instances.

    >>> mean_confidence([0.25, 0.75], [False, True]).value
    0.5
    """
    return MetricResult(float(_mean_confidence(sort_instances(confidence, correct).sample())[0]))


def _accuracy(sample: Sample) -> Floats:
    return sample.accuracy


def _mean_confidence(sample: Sample) -> Floats:
    return sample.mean_confidence


def confidence_gap(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Mean confidence minus accuracy: above 0 the model is overconfident on average, below 0 underconfident.

    It has no bins and no bias. Arguments and errors are those of `accuracy`; in [-1, 1], NaN without instances.

    >>> confidence_gap([0.75, 0.75], [False, True]).value
    0.25
    """
    return MetricResult(float(_confidence_gap(sort_instances(confidence, correct).sample())[0]))


def _confidence_gap(sample: Sample) -> Floats:
    return sample.mean_confidence - sample.accuracy


ACCURACY = SampleMetric(
    "accuracy",
    "accuracy",
    "share of correct predictions",
    "larger",
    _accuracy,
    proportion=True,
    printed=True,
    priority=1,
)
CONFIDENCE_GAP = SampleMetric(
    "confidence_gap",
    "conf - acc",
    "mean confidence minus accuracy; above 0 overconfident",
    None,
    _confidence_gap,
    bounds=(-1.0, 1.0),
    less_accuracy=True,
    source="calibration in the large",
    priority=13,
)
MEAN_CONFIDENCE = SampleMetric(
    "mean_confidence", "mean conf", "mean confidence", None, _mean_confidence, printed=True, priority=3
)


def brier(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Brier score of the prediction's confidence: mean of `(confidence - correct)^2`.

    Source: Brier 1950, binary form; equals scikit-learn's `brier_score_loss`. It is the paper's; it is not the sum or
    the mean over all classes that lm-evaluation-harness and lm-pub-quiz call Brier. Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [0, 1]. A failed prediction (confidence 0, incorrect) adds 0. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(brier([0.2, 0.9], [False, True]).value, 3)
    0.025
    """
    return MetricResult(float(squared_error(sort_instances(confidence, correct).sample())[0]))


def nll(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Negative log-likelihood of correctness: mean of `-log(conf)` where correct and `-log(1 - conf)` elsewhere.

    In nats, with confidence clipped to [1e-12, 1 - 1e-12]. Source: Good 1952, the logarithmic score, binary form;
    equals scikit-learn's `log_loss` of confidences so clipped. It is not the cross-entropy of the answer space.
    Smaller is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        A value in [1e-12, 27.6]. A failed prediction (confidence 0, incorrect) adds 1e-12. One instance that is certain
        and wrong adds 27.6 / n. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(nll([0.5, 0.25], [True, False]).value, 4)
    0.4904
    """
    return MetricResult(float(nll_of(sort_instances(confidence, correct).sample())[0]))


def brier_skill(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> MetricResult:
    """Brier skill score: `1 - Brier / (y (1 - y))` with the accuracy y; the Brier score of y is the denominator.

    Above 0 the confidences tell more than always saying the accuracy, below 0 less. It does not fall where accuracy
    leaves 1/2, as the Brier score does. Source: Murphy 1973. Larger is better.

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
    Returns:
        At most 1; NaN where all or none are correct, and without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> round(brier_skill([0.5, 0.5, 0.9, 0.9], [False, True, True, True]).value, 4)
    0.3067
    """
    return MetricResult(float(_skill(sort_instances(confidence, correct).sample())[0]))


def _skill(sample: Sample) -> Floats:
    share = sample.accuracy
    uncertainty = np.where((share > 0) & (share < 1), share * (1 - share), np.nan)
    skill: Floats = 1 - squared_error(sample) / uncertainty
    return skill


def squared_error(sample: Sample) -> Floats:
    """Mean of `(confidence - correct)^2` over each resample, [resamples]."""
    return sample.squared_error


def nll_of(sample: Sample) -> Floats:
    """Mean negative log-likelihood of right and wrong in each resample, [resamples]; confidences are clipped."""
    clipped = np.clip(sample.confidence, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    right, wrong = np.log(clipped), np.log1p(-clipped)
    if sample.correct.ndim == 1:
        return sample.mean(-np.where(sample.correct, right, wrong))
    return sample.mean(-(wrong + sample.correct * (right - wrong)))  # correctness may be any number


BRIER = SampleMetric(
    "brier",
    "Brier",
    "mean (confidence - correct)^2 of the prediction",
    "smaller",
    squared_error,
    source="Brier 1950, binary form",
    printed=True,
    priority=5,
)
BRIER_SKILL = SampleMetric(
    "brier_skill",
    "Brier skill",
    "1 - Brier / (y (1 - y)), y the accuracy; below 0 worse than always saying y",
    "larger",
    _skill,
    bounds=(float("-inf"), 1.0),
    source=MURPHY,
)
NLL = SampleMetric(
    "nll",
    "NLL",
    "mean negative log-likelihood of correctness, in nats",
    "smaller",
    nll_of,
    bounds=(0.0, float("inf")),
    source="Good 1952",
    priority=8,
)


@dataclass(frozen=True, slots=True)
class BrierDecomposition:
    """Terms of a Brier score, and the bins they are of. All NaN without instances."""

    reliability: float  # mean squared gap of the bins: calibration error; smaller is better
    resolution: float  # variance of the bins' accuracy; larger is better
    uncertainty: float  # variance of correctness; no confidence can change it
    within_bin_variance: float  # of confidence
    within_bin_covariance: float  # of confidence with correctness, twice
    bins: Bins

    @property
    def within_bins(self) -> float:
        """What the bins are too coarse to tell: variance minus covariance. Negative where bins hide resolution."""
        return self.within_bin_variance - self.within_bin_covariance

    @property
    def brier(self) -> float:
        """The Brier score: `reliability - resolution + uncertainty + within_bins`."""
        return self.reliability - self.resolution + self.uncertainty + self.within_bins


def brier_decomposition(
    confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int | None = ACE_BINS
) -> BrierDecomposition:
    """Reliability, resolution and uncertainty over ACE's bins, with the terms within bins so that they add up exactly.

    With bins b of n_b of the n instances, mean confidence `f_b`, accuracy `y_b` and accuracy `y` of all:
    reliability `sum_b n_b / n (f_b - y_b)^2`, resolution `sum_b n_b / n (y_b - y)^2`, uncertainty `y (1 - y)`, variance
    `1/n sum_i (f_i - f_b)^2` and covariance `2/n sum_i (f_i - f_b) (y_i - y_b)`, b being the bin of i. Sources: Murphy
    1973, "A New Vector Partition of the Probability Score"; the terms within bins: Stephenson, Coelho, Jolliffe 2008,
    "Two Extra Components in the Brier Score Decomposition".

    For Python alone: no command prints these bins. The terms are columns of a report (`decomposition_metrics`).

    Args:
        confidence: [instances], in [0, 1].
        correct: [instances], true or false.
        n_bins: quantile bins, those of `ace`, at least 1.
    Returns:
        The terms; their sum (`.brier`) is the Brier score to the last few bits; reliability, variance in [0, 1],
        resolution, uncertainty in [0, 1/4], covariance in [-1/2, 1/2]. Ties share a bin; where each bin holds one tie
        alone, the terms within bins are 0. With one instance, all but reliability are 0. NaN without instances.
    Raises:
        ValueError: shapes differ, NaN, or a value out of range.

    >>> terms = brier_decomposition([0.2, 0.2, 0.8, 0.8], [False, False, True, False])
    >>> [round(term, 4) for term in (terms.reliability, terms.resolution, terms.uncertainty, terms.within_bins)]
    [0.065, 0.0625, 0.1875, 0.0]
    """
    sample = sort_instances(confidence, correct).sample()
    bins = bin_sample(sample, Binning("quantile", n_bins))
    row = bins.row(0)
    of = np.repeat(np.arange(len(row.count)), row.count)  # instances ascend, and so do bins
    away, apart = sample.confidence - row.confidence[of], sample.correct - row.accuracy[of]
    n_instances = len(of) or np.nan
    return BrierDecomposition(
        reliability=float(_reliability(bins)[0]),
        resolution=float(_resolution(bins)[0]),
        uncertainty=float(_uncertainty(bins)[0]),
        within_bin_variance=float((away**2).sum() / n_instances),
        within_bin_covariance=float(2 * (away * apart).sum() / n_instances),
        bins=row,
    )


def decomposition_metrics(n_bins: int | None = ACE_BINS) -> tuple[Metric, ...]:
    """The terms as metrics, on that many quantile bins."""
    binning = Binning("quantile", n_bins)
    of_bins, rest = f"of {quantile_bins(n_bins)}", f"rest of Brier within {quantile_bins(n_bins)}"
    spread, chance = f"variance of accuracy {of_bins}", "variance of correctness"
    return (
        BinMetric(
            "brier_reliability",
            "Brier rel",
            f"mean squared gap {of_bins}",
            "smaller",
            binning,
            _reliability,
            source=MURPHY,
        ),
        BinMetric("brier_resolution", "Brier res", spread, "larger", binning, _resolution, biased=False, source=MURPHY),
        BinMetric("brier_uncertainty", "Brier unc", chance, None, binning, _uncertainty, biased=False, source=MURPHY),
        SampleBinMetric(
            "brier_within_bins",
            "Brier within",
            rest,
            None,
            binning,
            _within,
            bounds=(-1.0, 1.0),
            source="Stephenson, Coelho, Jolliffe 2008",
        ),
    )


# From bins with a leading axis [resamples] to [resamples]; NaN where a resample is empty.


def _reliability(bins: Bins) -> Floats:
    return _mean(bins, bins.gap**2)


def _resolution(bins: Bins) -> Floats:
    accuracy = _mean(bins, bins.accuracy)
    return _mean(bins, (bins.accuracy - accuracy[:, None]) ** 2)


def _uncertainty(bins: Bins) -> Floats:
    accuracy = _mean(bins, bins.accuracy)
    return accuracy * (1 - accuracy)


def _within(sample: Sample, bins: Bins) -> Floats:
    """What the other terms leave of the Brier score: the variance minus the covariance, without passing over them."""
    return squared_error(sample) - (_reliability(bins) - _resolution(bins) + _uncertainty(bins))


def _mean(bins: Bins, values: Floats) -> Floats:
    """Mean of a quantity of bins over the instances, [resamples]."""
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(bins.count > 0, bins.count * values, 0.0).sum(axis=1) / bins.count.sum(axis=1)
    return mean
