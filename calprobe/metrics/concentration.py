"""How confidences are spread over bins, and calibration errors that take a bin's place for its mean confidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_count
from calprobe.metrics.bins import Binning, Bins, bin_sample, width_edges
from calprobe.metrics.metric import BinMetric, Metric, SampleMetric
from calprobe.metrics.sample import Sample, sort_instances

BINS, FINE = 15, 100
FREQUENCY_BINS = 11  # of frequencies among ten samples, which a study of them has


def bin_entropy(confidence: npt.ArrayLike, n_bins: int = BINS) -> float:
    """Normalised entropy of the counts in bins of equal width, `-sum_b s_b log s_b / log B`, s_b the share in bin b.

    Bins are those of `ece`. 0 where all confidences lie in one bin, 1 where every bin has as many. Neither is better:
    a model that is always right has 0 if it is calibrated; `largest_bin_entropy` says what accuracy allows.

    Args:
        confidence: [instances], in [0, 1].
        n_bins: at least 2.
    Returns:
        In [0, 1]; NaN without instances.
    Raises:
        ValueError: NaN, or a value out of range.

    >>> bin_entropy([0.95] * 8), bin_entropy([0.1, 0.4, 0.6, 0.9], n_bins=4)
    (0.0, 1.0)
    """
    check_count("n_bins", n_bins, 2)
    return float(_entropy_of(_bins_of(confidence, n_bins))[0])


def largest_bin(confidence: npt.ArrayLike, n_bins: int = BINS) -> float:
    """The share of the confidences in the fullest bin of equal width; arguments and errors of `bin_entropy`.

    >>> largest_bin([0.95, 0.96, 0.97, 0.2])
    0.75
    """
    return float(_largest_share(_bins_of(confidence, n_bins))[0])


def largest_bin_entropy(accuracy: float, n_bins: int = BINS) -> float:
    """The largest `bin_entropy` that calibrated confidences with that accuracy can have; the smallest is 0.

    Calibrated confidences have the accuracy as their mean, so their shares s_b keep `sum_b s_b lower_b <= accuracy <=
    sum_b s_b upper_b`. The entropy is largest where s_b is proportional to `exp(t upper_b)` or `exp(t lower_b)`.

    Args:
        accuracy: in [0, 1].
        n_bins: at least 2.
    Returns:
        In [0, 1]; NaN for an accuracy that is NaN.
    Raises:
        ValueError: an accuracy beyond [0, 1].

    >>> largest_bin_entropy(1.0), round(largest_bin_entropy(0.5), 6), round(largest_bin_entropy(0.99), 2)
    (0.0, 1.0, 0.16)
    """
    check_count("n_bins", n_bins, 2)
    if np.isnan(accuracy):
        return float("nan")
    if not 0 <= accuracy <= 1:
        raise ValueError(f"accuracy must lie in [0, 1]; got {accuracy}")
    edges = width_edges(n_bins)
    lower, upper = edges[:-1], edges[1:]
    if lower.mean() <= accuracy <= upper.mean():
        return 1.0
    places = upper if accuracy > upper.mean() else lower
    if not places.min() < accuracy < places.max():
        return 0.0
    return _entropy(_tilted(places, accuracy), n_bins)


def ece_of_middles(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = BINS) -> float:
    """ECE with the middle of each bin in the place of its mean confidence: `sum_b n_b/N |middle_b - acc_b|`.

    Confidences that lie together at the edge of a bin are judged as if they lay in its middle, up to 1/(2 B) away. Bins
    are those of `ece`. Smaller is better; arguments, range and errors are those of `ece`.

    >>> ece_of_middles([1.0] * 20, [True] * 19 + [False], n_bins=10)  # |0.95 - 0.95|
    0.0
    """
    check_count("n_bins", n_bins, 1)
    bins = bin_sample(sort_instances(confidence, correct).sample(), Binning("width", n_bins))
    return float(_middle_error(bins)[0])


def ece_of_centred_bins(confidence: npt.ArrayLike, correct: npt.ArrayLike, n_bins: int = BINS) -> float:
    """ECE over bins centred on 0, 1/(B - 1), .., 1: `sum_b n_b/N |centre_b - acc_b|`.

    For a frequency among B - 1 samples each bin has one value, and this is its ECE. Smaller is better; range and errors
    are those of `ece`; at least 2 bins.

    >>> ece_of_centred_bins([0.5, 0.5, 1.0], [True, False, True], n_bins=11)
    0.0
    """
    check_count("n_bins", n_bins, 2)
    return float(_centred_error(sort_instances(confidence, correct).sample(), n_bins)[0])


def _bins_of(confidence: npt.ArrayLike, n_bins: int) -> Bins:
    values = np.asarray(confidence, np.float64)
    return bin_sample(sort_instances(values, np.zeros(len(values), np.bool_)).sample(), Binning("width", n_bins))


# From bins or samples with a leading axis [resamples] to [resamples]; NaN where a resample is empty.


def _entropy_of(bins: Bins) -> Floats:
    with np.errstate(invalid="ignore"):
        shares = bins.count / bins.count.sum(axis=1, keepdims=True)
    positive = np.where(shares == 0, 1.0, shares)
    entropy: Floats = -(positive * np.log(positive)).sum(axis=1) / np.log(bins.count.shape[1]) + 0.0
    return entropy


def _largest_share(bins: Bins) -> Floats:
    with np.errstate(invalid="ignore"):
        share: Floats = bins.count.max(axis=1) / bins.count.sum(axis=1)
    return share


def _middle_error(bins: Bins) -> Floats:
    edges = width_edges(bins.count.shape[1])
    gaps = np.abs((edges[:-1] + edges[1:]) / 2 - bins.accuracy)
    with np.errstate(invalid="ignore"):
        error: Floats = np.where(bins.count > 0, gaps * bins.count, 0.0).sum(axis=1) / bins.count.sum(axis=1)
    return error


def _centred_error(sample: Sample, n_bins: int = BINS) -> Floats:
    centres = np.linspace(0.0, 1.0, n_bins)
    of = np.searchsorted((centres[:-1] + centres[1:]) / 2, sample.confidence, side="left")
    beyond = np.stack(
        [(sample.right - sample.weights * at)[:, of == place].sum(axis=1) for place, at in enumerate(centres)]
    )
    with np.errstate(invalid="ignore"):
        error: Floats = np.abs(beyond).sum(axis=0) / sample.sizes
    return error


CENTRED_ECE = SampleMetric(
    "ece_15_centred",
    "ECE centred",
    "ECE with 15 bins centred on 0, 1/14, .., 1, which stand for their confidences",
    "smaller",
    _centred_error,
    biased=True,
)


def frequency_ece(samples: int) -> Metric:
    """ECE of frequencies among so many samples: a bin for each value that they have, 0, 1/m, .., 1."""
    bins = samples + 1
    return SampleMetric(
        f"ece_{bins}_centred",
        f"ECE {bins} centred",
        f"ECE with {bins} bins centred on the values of frequencies among {samples} samples",
        "smaller",
        lambda sample: _centred_error(sample, bins),
        biased=True,
    )


def place_metrics() -> tuple[Metric, ...]:
    """ECE by the middles of its bins, and over centred bins."""
    fifteen = Binning("width", BINS)
    return (
        BinMetric(
            "ece_15_middle",
            "ECE middle",
            "ECE with 15 bins, each standing for its middle instead of its mean confidence",
            "smaller",
            fifteen,
            _middle_error,
        ),
        CENTRED_ECE,
    )


def _entropy(shares: Floats, n_bins: int | None = None) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum() / np.log(n_bins or len(shares))) + 0.0


def _tilted(places: Floats, mean: float) -> Floats:
    """Shares proportional to `exp(t place)` with that mean: of all with it, those of the largest entropy."""
    from scipy.optimize import brentq

    def shares(t: float) -> Floats:
        raised = np.exp(t * places - (t * places).max())
        tilted: Floats = raised / raised.sum()
        return tilted

    limit = 2e3 * len(places)
    return shares(float(brentq(lambda t: float(shares(t) @ places) - mean, -limit, limit)))
