"""Bands of accuracy-rejection curves: a plain loop over resamples, few instances, clusters, seeds."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics import Resampling, covered_share, reject_by_rank, reject_by_threshold, reject_by_vote
from calprobe.metrics.rejection import THRESHOLDS, AccuracyCurve, AtCoverage, AtThresholds, AtVotes, accuracy_bands
from calprobe.metrics.resamples import check_clusters, resample_counts
from calprobe.metrics.sample import sort_instances

RNG = np.random.default_rng(3)
CONFIDENCE = np.round(RNG.random(40), 1)  # with ties
CORRECT = RNG.random(40) < CONFIDENCE
FAILED = np.array([RNG.random(40) < share for share in (0.2, 0.5)])
HITS = (RNG.random((2, 40)) < 0.6) & ~FAILED
RELATIONS = np.repeat([f"P{number}" for number in range(10)], 4)


def curves() -> dict[str, AccuracyCurve]:
    instances = sort_instances(CONFIDENCE, CORRECT)
    return {
        "threshold": AtThresholds(instances, np.array(THRESHOLDS)),
        "coverage": AtCoverage(instances, np.arange(1, 11) / 10),
        "votes": AtVotes((2, 3), FAILED, HITS),
    }


def loop(name: str, chosen: np.ndarray) -> np.ndarray:
    """The accuracies of one resample, by the functions for samples that are written out."""
    if name == "threshold":
        return reject_by_threshold(CONFIDENCE[chosen], CORRECT[chosen]).accuracy
    if name == "votes":
        return reject_by_vote((2, 3), FAILED[:, chosen], HITS[:, chosen]).accuracy
    curve = AtCoverage(sort_instances(CONFIDENCE[chosen], CORRECT[chosen]), np.arange(1, 11) / 10)
    accuracy: np.ndarray = curve(np.ones((1, len(chosen)), np.int64))[0]
    return accuracy


@pytest.mark.parametrize("name", ["threshold", "coverage", "votes"])
@pytest.mark.parametrize("clusters", [None, RELATIONS])
def test_a_band_is_that_of_a_plain_loop(name: str, clusters: np.ndarray | None) -> None:
    resampling = Resampling(50, 7)
    band = accuracy_bands(curves(), 40, resampling, clusters)[name]
    counts = np.concatenate(list(resample_counts(40, resampling, check_clusters(clusters, 40))))
    resampled = np.array([loop(name, np.repeat(np.arange(40), row)) for row in counts])
    for at in range(resampled.shape[1]):
        values = resampled[~np.isnan(resampled[:, at]), at]
        if np.isnan(band.accuracy[at]):
            assert np.isnan([band.low[at], band.high[at]]).all()
            continue
        if np.ptp(values) < 1e-12 and values[0] in (0, 1):
            assert band.high[at] - band.low[at] > 0.1
            continue
        assert band.low[at] == pytest.approx(np.quantile(values, 0.025), abs=1e-12)
        assert band.high[at] == pytest.approx(np.quantile(values, 0.975), abs=1e-12)


def test_points_are_those_of_the_curves() -> None:
    found = accuracy_bands(curves(), 40, Resampling(0))
    np.testing.assert_array_equal(found["threshold"].accuracy, reject_by_threshold(CONFIDENCE, CORRECT).accuracy)
    np.testing.assert_array_equal(found["votes"].accuracy, reject_by_vote((2, 3), FAILED, HITS).accuracy)
    ranks = reject_by_rank(CONFIDENCE, CORRECT)
    complete = ranks.accuracy[np.isclose(ranks.rejected, 0.0)]
    assert found["coverage"].accuracy[-1] == pytest.approx(complete[0], abs=1e-15)
    assert all(np.isnan(band.low).all() and np.isnan(band.high).all() for band in found.values())


def test_a_curve_alone_has_the_band_that_it_has_among_others() -> None:
    together = accuracy_bands(curves(), 40, Resampling(30))
    for name, curve in curves().items():
        alone = accuracy_bands({name: curve}, 40, Resampling(30))[name]
        np.testing.assert_array_equal(alone.low, together[name].low)
        np.testing.assert_array_equal(alone.high, together[name].high)


def test_the_seed_decides() -> None:
    first, again, other = (accuracy_bands(curves(), 40, Resampling(30, seed))["coverage"].low for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_without_instances_and_with_one_cluster_there_is_no_band() -> None:
    nothing = AtThresholds(sort_instances([], []), np.array([0.0, 0.5]))
    band = accuracy_bands({"": nothing}, 0)[""]
    assert np.isnan([band.accuracy, band.low, band.high]).all()
    one = accuracy_bands(curves(), 40, clusters=np.repeat("P1", 40))["threshold"]
    assert not np.isnan(one.accuracy[0])
    assert np.isnan(one.low).all()


def test_the_band_holds_the_true_accuracy_at_about_its_rate() -> None:
    # Confidence c is right with probability c: of those kept at 0.5, 75 % are.
    rng, held = np.random.default_rng(1), 0
    for trial in range(200):
        confidence = rng.random(200)
        instances = sort_instances(confidence, rng.random(200) < confidence)
        band = accuracy_bands({"": AtThresholds(instances, np.array([0.5]))}, 200, Resampling(200, trial))[""]
        held += band.low[0] <= 0.75 <= band.high[0]
    assert 0.89 <= held / 200 <= 0.99


def all_right_above(share: float, number: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Confidences that are right from this share up, and half the time below; ties among them."""
    confidence = np.round(np.linspace(0, 0.99, number), 2)
    return confidence, (confidence >= share) | (np.arange(number) % 4 < 2)


@pytest.mark.parametrize("clusters", [None, np.arange(200) // 5])
def test_where_all_that_is_kept_is_right_the_interval_is_exact(clusters: np.ndarray | None) -> None:
    confidence, correct = all_right_above(0.4)
    instances = sort_instances(confidence, correct)
    failed = confidence < [[0.0], [0.85], [0.95]]
    points = {
        "threshold": AtThresholds(instances, np.array([0.0, 0.85, 0.95])),
        "coverage": AtCoverage(instances, np.array([1.0, 0.15, 0.05])),
        "votes": AtVotes((2, 3, 4), failed, correct & ~failed),
    }
    for name, band in accuracy_bands(points, 200, Resampling(100), clusters).items():
        trials = [30, 10] if clusters is None else [6, 2]
        assert band.accuracy[1:].tolist() == [1, 1], name
        assert band.low[1:] == pytest.approx([covered_share([True] * n).low for n in trials])
        assert (band.band_low[1:] < band.low[1:]).all()
        assert band.high[1:].tolist() == band.band_high[1:].tolist() == [1, 1]


def test_no_end_leaves_the_unit_interval() -> None:
    rng = np.random.default_rng(0)
    for trial in range(20):
        confidence = rng.random(97)
        instances = sort_instances(confidence, rng.random(97) < confidence**0.3)
        curve = AtCoverage(instances, np.arange(1, 101) / 100)
        band = accuracy_bands({"": curve}, 97, Resampling(50, trial))[""]
        for ends in (band.accuracy, band.low, band.high, band.band_low, band.band_high):
            assert ends.min() >= 0
            assert ends.max() <= 1
        assert (band.high > band.low).all()


def test_the_band_of_a_complete_curve_is_wider_than_its_points_intervals() -> None:
    band = accuracy_bands(curves(), 40, Resampling(200, 7))["coverage"]
    known = ~np.isnan(band.low)
    assert (band.band_low[known] <= band.low[known] + 1e-12).all()
    assert (band.band_high[known] >= band.high[known] - 1e-12).all()
    assert (band.band_low[known] < band.low[known]).any()
    none = accuracy_bands(curves(), 40, Resampling(0))["coverage"]
    assert np.isnan(none.band_low).all()
