"""Tests of calibration: cumulative differences, Spiegelhalter, Cox, and what perfect calibration shows by chance."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from proofs import few_of
from simulations import TRIALS, chance
from sklearn.linear_model import LogisticRegression

from calprobe.metrics import (
    Resampling,
    Within,
    ace,
    bootstrap,
    brier_skill,
    confidence_gap,
    cox_recalibration,
    ecce_mad,
    ecce_range,
    ece,
    p_of_calibration,
    spiegelhalter_z,
    standard_metrics,
)
from calprobe.metrics.logistic import fit_logistic
from calprobe.metrics.resamples import uniform_numbers

METRICS = standard_metrics()
BY_NAME = {metric.name: metric for metric in METRICS}


def drawn(n_instances: int, seed: int, power: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, right with that power of them as probability: calibrated at 1."""
    rng = np.random.default_rng([n_instances, seed])
    confidence = rng.random(n_instances)
    return confidence, rng.random(n_instances) < confidence**power


@given(samples())
def test_cumulative_errors_are_those_of_a_loop(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    sums = [0.0]
    for level in np.unique(confidence):
        sums.append(math.fsum((correct - confidence)[confidence <= level]))
    n_instances = len(confidence)
    assert ecce_mad(confidence, correct).value == pytest.approx(max(map(abs, sums)) / n_instances, abs=1e-12)
    assert ecce_range(confidence, correct).value == pytest.approx((max(sums) - min(sums)) / n_instances, abs=1e-12)
    assert ecce_range(confidence, correct).value >= ecce_mad(confidence, correct).value - 1e-15
    assert ecce_mad(confidence, correct).value >= abs(confidence_gap(confidence, correct).value) - 1e-12


@given(samples())
def test_gap_skill_and_halves_of_ece(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    found = {name: own.value for name, own in bootstrap(METRICS, confidence, correct, Resampling(0)).items()}
    assert found["confidence_gap"] == pytest.approx(confidence.mean() - correct.mean(), abs=1e-12)
    assert found["ece_over"] + found["ece_under"] == pytest.approx(ece(confidence, correct).value, abs=1e-12)
    assert found["ece_over"] - found["ece_under"] == pytest.approx(found["confidence_gap"], abs=1e-12)
    share = correct.mean()
    if share in (0, 1):
        assert math.isnan(found["brier_skill"])
    else:
        assert found["brier_skill"] == pytest.approx(1 - found["brier"] / (share * (1 - share)), abs=1e-9)
        assert brier_skill(np.full(len(correct), share), correct).value == pytest.approx(0, abs=1e-9)


def test_spiegelhalters_z_is_standard_normal_for_a_calibrated_model() -> None:
    found = np.array([spiegelhalter_z(*drawn(400, seed)) for seed in range(400)])
    assert found.mean() == pytest.approx(0, abs=0.15)
    assert found.std() == pytest.approx(1, abs=0.11)  # three standard errors
    assert spiegelhalter_z(*drawn(400, 0, power=0.3)) != pytest.approx(0, abs=2)


def test_spiegelhalters_z_is_the_excess_of_the_brier_score() -> None:
    confidence, correct = drawn(50, 1)
    excess = np.mean((confidence - correct) ** 2) - np.mean(confidence * (1 - confidence))
    error = math.sqrt(np.sum((1 - 2 * confidence) ** 2 * confidence * (1 - confidence))) / 50
    assert spiegelhalter_z(confidence, correct) == pytest.approx(excess / error)
    assert math.isnan(spiegelhalter_z([0.5, 1.0, 0.0], [True, True, False]))
    assert math.isnan(spiegelhalter_z([], []))


@pytest.mark.parametrize("power", [0.4, 1.0, 2.5])
def test_coxs_line_is_that_of_scikit_learn(power: float) -> None:
    confidence, correct = drawn(500, 2, power)
    found = cox_recalibration(confidence, correct)
    assert found is not None
    feature = np.log(confidence / (1 - confidence))[:, None]
    expected = LogisticRegression(C=np.inf, tol=1e-10, max_iter=500).fit(feature, correct)
    assert found.intercept == pytest.approx(expected.intercept_[0], abs=1e-5)
    assert found.slope == pytest.approx(expected.coef_[0, 0], abs=1e-5)
    draws = np.random.default_rng(0).integers(500, size=(200, 500))
    bootstrapped = [cox_recalibration(confidence[rows], correct[rows]) for rows in draws]
    spread = np.std([[own.intercept, own.slope] for own in bootstrapped if own is not None], axis=0)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(spread, rel=0.25)


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ([0.1, 0.2, 0.8, 0.9], [False, False, True, True]),
        ([0.1, 0.2, 0.8, 0.9], [True, True, False, False]),
        ([0.4, 0.4, 0.4], [True, False, True]),
        ([0.1, 0.9], [True, True]),
        ([], []),
    ],
)
def test_what_has_no_best_line_has_none(confidence: list[float], correct: list[bool]) -> None:
    assert cox_recalibration(confidence, correct) is None


def test_coxs_intervals_cover_and_widen_by_cluster() -> None:
    metrics = [BY_NAME["cox_intercept"], BY_NAME["cox_slope"]]
    covered = {"cox_intercept": 0, "cox_slope": 0}
    for trial in range(TRIALS):
        for name, found in bootstrap(metrics, *drawn(300, trial), Resampling(1)).items():
            covered[name] += found.low <= (name == "cox_slope") <= found.high
    assert min(covered.values()) / TRIALS >= 0.95 - chance(0.95), covered
    relation = np.repeat(np.arange(30), 20)
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.3, 0.7, 600)
    correct = rng.random(600) < confidence + rng.uniform(-0.3, 0.3, 30)[relation]
    widths = {}
    for name, labels in (("instances", None), ("within", Within(relation)), ("relations", relation)):
        found = bootstrap(metrics, confidence, correct, Resampling(1), labels)["cox_intercept"]
        widths[name] = found.high - found.low
    assert widths["within"] < widths["instances"] < widths["relations"] / 1.5
    few = bootstrap(metrics, confidence, correct, Resampling(1), relation % 3)["cox_slope"]
    assert math.isnan(few.low)
    assert not math.isnan(few.value)


@pytest.mark.parametrize("labels", [None, np.arange(60) % 12])
def test_intercept_and_slope_share_a_fit(labels: np.ndarray | None, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def counting(*arguments: np.ndarray) -> np.ndarray | None:
        fits.append(arguments)
        return fit_logistic(*arguments)

    module = sys.modules["calprobe.metrics.calibration_tests"]  # the package has a function of this name
    monkeypatch.setattr(module, "fit_logistic", counting)
    names = [BY_NAME["cox_intercept"], BY_NAME["cox_slope"]]
    found = bootstrap(names, *drawn(60, 1), Resampling(1), labels)
    assert len(fits) == 1
    alone = [bootstrap([metric], *drawn(60, 1), Resampling(1), labels)[metric.name] for metric in names]
    assert list(found.values()) == alone


def test_reference_of_ace_is_the_mean_ace_of_correctness_drawn_by_confidence() -> None:
    confidence, correct = drawn(80, 5, power=2)
    found = bootstrap(METRICS, confidence, correct, Resampling(60, 2))
    (uniform,) = uniform_numbers(80, Resampling(60, 2))
    ascending = np.sort(confidence)
    values = np.array([ace(ascending, row < ascending).value for row in uniform])
    reference = found["ace_if_calibrated"]
    assert reference.value == pytest.approx(values.mean())
    assert (reference.low, reference.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    assert found["ace_if_calibrated_p95"].value == pytest.approx(np.quantile(values, 0.95))
    assert found["ace_p"].value == (1 + (values >= ace(confidence, correct).value).sum()) / 61
    none = bootstrap(METRICS, confidence, correct, Resampling(0))
    assert math.isnan(none["ace_p"].value)
    assert math.isnan(none["cox_slope"].low)
    assert not math.isnan(none["cox_slope"].value)


@pytest.mark.parametrize("n_trials", few_of([40, 150], lambda count: count == 40))
def test_p_values_of_calibration_are_uniform_for_a_calibrated_model_and_small_for_another(n_trials: int) -> None:
    names = ("ace_p", "ece_p", "ecce_mad_p", "smooth_ece_p")
    chosen = [metric for metric in METRICS if metric.name in {*names, "ace", "ece", "ecce_mad", "smooth_ece"}]

    def p_values(power: float, trials: int) -> np.ndarray:
        found = (bootstrap(chosen, *drawn(150, trial, power), Resampling(60, trial)) for trial in range(trials))
        return np.array([[own[name].value for name in names] for own in found])

    calibrated = p_values(1.0, n_trials)
    for limit in (0.1, 0.5):
        assert np.mean(calibrated <= limit, axis=0) == pytest.approx(
            np.full(4, limit), abs=3 * math.sqrt(0.25 / n_trials)
        )
    assert np.median(p_values(3.0, 10), axis=0).max() < 0.05


def test_ace_of_a_calibrated_model_grows_as_instances_get_fewer() -> None:
    """20 bins: about .12 of 150 instances, .061 of 583: chance alone."""
    for n_instances, expected in ((150, 0.12), (583, 0.061)):
        found = bootstrap(METRICS, *drawn(n_instances, 0), Resampling(60))
        assert found["ace_if_calibrated"].value == pytest.approx(expected, rel=0.15)


def test_p_of_calibration_by_hand() -> None:
    assert p_of_calibration(0.5, np.array([0.1, 0.2])) == 1 / 3
    assert p_of_calibration(0.0, np.zeros(4)) == 1.0
    assert math.isnan(p_of_calibration(float("nan"), np.zeros(4)))
    assert math.isnan(p_of_calibration(0.1, np.empty(0)))
