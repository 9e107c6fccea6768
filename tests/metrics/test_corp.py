"""Isotonic recalibration and the terms that it takes scores apart into, against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from simulations import TRIALS, chance
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from calprobe.metrics import (
    Resampling,
    bootstrap,
    brier,
    corp_brier,
    corp_log,
    isotonic_confidence,
    nll,
    standard_metrics,
)
from calprobe.metrics.corp import corp_metrics
from calprobe.metrics.isotonic import fit_isotonic
from calprobe.metrics.metric import evaluate
from calprobe.metrics.sample import sort_instances


def recalibrated_by_sklearn(confidence: np.ndarray, correct: np.ndarray) -> np.ndarray:
    return IsotonicRegression().fit_transform(confidence, correct.astype(float))


@given(samples())
def test_terms_are_those_of_scikit_learns_isotonic_regression(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample[0].round(9), sample[1]  # scikit-learn ties what is nearly equal
    fitted, share = recalibrated_by_sklearn(confidence, correct), np.full(len(correct), correct.mean())
    squares = [brier_score_loss(correct, own, labels=[False, True]) for own in (confidence, fitted, share)]
    found = corp_brier(confidence, correct)
    terms = found.miscalibration, found.discrimination, found.uncertainty
    np.testing.assert_allclose(terms, [squares[0] - squares[1], squares[2] - squares[1], squares[2]], atol=1e-12)
    assert min(terms) > -1e-12
    assert found.score == pytest.approx(brier(confidence, correct).value, abs=1e-12)
    clipped = np.clip(confidence, 1e-12, 1 - 1e-12)
    losses = [log_loss(correct, own, labels=[False, True]) for own in (clipped, fitted, share)]
    logs = corp_log(confidence, correct)
    log_terms = logs.miscalibration, logs.discrimination, logs.uncertainty
    np.testing.assert_allclose(log_terms, [losses[0] - losses[1], losses[2] - losses[1], losses[2]], atol=1e-9)
    assert logs.score == pytest.approx(nll(confidence, correct).value, abs=1e-12)


@given(samples(least=2))
def test_resamples_are_fitted_as_if_each_were_written_out(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample[0].round(9), sample[1]  # scikit-learn ties what is nearly equal
    n_instances = len(confidence)
    counts = np.random.default_rng(n_instances).integers(0, 3, (6, n_instances))
    counts[:, 0] += counts.sum(axis=1) == 0
    instances = sort_instances(confidence, correct)
    found = fit_isotonic(instances.resampled(counts))
    for row, count in enumerate(counts):
        drawn = np.repeat(np.arange(n_instances), count)
        fitted = np.sort(recalibrated_by_sklearn(confidence[drawn], correct[drawn]))
        own = found.resample == row
        ours = np.repeat(found.mean[own], found.size[own].astype(int))
        np.testing.assert_allclose(ours, fitted, atol=1e-12)


def test_correctness_of_each_resamples_own_is_fitted_too() -> None:
    rng = np.random.default_rng(4)
    confidence = rng.integers(0, 9, 60) / 8
    instances = sort_instances(confidence, rng.random(60) < confidence)
    drawn = instances.redrawn(rng.random((5, 60)))
    found = fit_isotonic(drawn)
    for row in range(5):
        fitted = recalibrated_by_sklearn(instances.confidence, drawn.correct[row])
        own = found.resample == row
        np.testing.assert_allclose(np.repeat(found.mean[own], found.size[own].astype(int)), fitted, atol=1e-12)


def test_steps_by_hand() -> None:
    least, share = isotonic_confidence([0.1, 0.3, 0.3, 0.6, 0.7, 0.9], [True, False, False, False, True, True])
    assert least.tolist() == [0.1, 0.7]
    assert share.tolist() == [0.25, 1.0]
    assert [part.tolist() for part in isotonic_confidence([], [])] == [[], []]


def test_no_instances_and_one_class() -> None:
    nothing = corp_brier([], [])
    assert all(math.isnan(term) for term in (nothing.miscalibration, nothing.discrimination, nothing.uncertainty))
    wrong = corp_brier([0.2, 0.6], [False, False])
    assert (wrong.miscalibration, wrong.discrimination, wrong.uncertainty) == pytest.approx((0.2, 0.0, 0.0))


def test_an_increasing_transform_changes_miscalibration_alone() -> None:
    rng = np.random.default_rng(6)
    confidence = rng.random(300)
    correct = rng.random(300) < confidence
    own, other = corp_brier(confidence, correct), corp_brier(confidence**3, correct)
    assert other.discrimination == pytest.approx(own.discrimination, abs=1e-14)
    assert other.miscalibration > 2 * own.miscalibration


def test_intervals_hold_the_value_and_cover() -> None:
    """`correct` with probability f^2: MCB is the mean of (f - f^2)^2, 1/30, and DSC the variance of f^2, 4/45."""
    truth = {"brier_mcb": 1 / 30, "brier_dsc": 4 / 45}
    covered = dict.fromkeys(truth, 0)
    metrics = [metric for metric in corp_metrics() if metric.name in truth]
    for trial in range(TRIALS):
        rng = np.random.default_rng([9, trial])
        confidence = rng.random(600)
        correct = rng.random(600) < confidence**2
        for name, found in bootstrap(metrics, confidence, correct, Resampling(80, trial)).items():
            assert 0 <= found.low <= found.value <= found.high
            covered[name] += found.low <= truth[name] <= found.high
    assert min(covered.values()) / TRIALS >= 0.92 - chance(0.92), covered


def test_miscalibration_of_a_calibrated_model_and_of_one_slightly_off_is_covered() -> None:
    """Of right and wrong by f the truth is 0; by f + (1 - 2 f)/8 it is the mean of ((1 - 2 f)/8)^2, 1/192."""
    worlds = {0.0: lambda f: f, 1 / 192: lambda f: f + (1 - 2 * f) / 8}
    metrics = [metric for metric in standard_metrics() if metric.name in ("brier_mcb", "brier_mcb_p")]
    for truth, right in worlds.items():
        covered = rejected = 0
        for trial in range(TRIALS):
            rng = np.random.default_rng([10, trial])
            confidence = rng.random(300)
            correct = rng.random(300) < right(confidence)
            found = bootstrap(metrics, confidence, correct, Resampling(60, trial))
            own = found["brier_mcb"]
            assert own.low <= own.value <= own.high
            covered += own.low <= truth <= own.high
            rejected += found["brier_mcb_p"].value < 0.05
        assert covered / TRIALS >= 0.95 - chance(0.95), truth
        assert truth or rejected / TRIALS <= 0.05 + chance(0.05)


def test_turned_clusters_have_the_terms_of_their_own_least_squares() -> None:
    """Correctness from -1 to 2: the squared error of the confidences, less that of scikit-learn's regression."""
    rng = np.random.default_rng(11)
    instances = sort_instances(rng.random(40), rng.random(40) < 0.5)
    turned = instances.turned(rng.choice([-1.0, 1.0], (3, 40)))
    found = evaluate([metric for metric in corp_metrics() if metric.name == "brier_mcb"], turned)["brier_mcb"]
    for value, correct in zip(found, turned.correct, strict=True):
        fitted = recalibrated_by_sklearn(instances.confidence, correct)
        gained = np.mean((instances.confidence - correct) ** 2) - np.mean((fitted - correct) ** 2)
        assert value == pytest.approx(gained, abs=1e-12)
    losses = evaluate([metric for metric in standard_metrics() if metric.name == "nll"], turned)["nll"]
    clipped = np.clip(instances.confidence, 1e-12, 1 - 1e-12)
    linear = -(turned.correct * np.log(clipped) + (1 - turned.correct) * np.log1p(-clipped)).mean(axis=1)
    np.testing.assert_allclose(losses, linear, atol=1e-12)


def test_metrics_of_resamples_are_the_public_functions() -> None:
    rng = np.random.default_rng(7)
    confidence = rng.random(50)
    correct = rng.random(50) < 0.4
    counts = rng.integers(0, 3, (4, 50))
    found = evaluate(corp_metrics(), sort_instances(confidence, correct).resampled(counts))
    for row, count in enumerate(counts):
        drawn = np.repeat(np.arange(50), count)
        square, log = corp_brier(confidence[drawn], correct[drawn]), corp_log(confidence[drawn], correct[drawn])
        expected = [square.miscalibration, square.discrimination]
        expected += [log.miscalibration, log.discrimination, log.uncertainty]
        np.testing.assert_allclose([values[row] for values in found.values()], expected, atol=1e-12)
