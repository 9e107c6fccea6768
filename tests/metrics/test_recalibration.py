"""Recalibrated confidences against scikit-learn, and what folds of relations keep apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from calprobe.metrics import brier, recalibrated
from calprobe.metrics.recalibration import fit_map, fit_uncertainty
from calprobe.words import Calibrate

FORMS_OF_ONE_VALUE: dict[Calibrate, str] = {"isotonic": "isotonic", "logistic": "constant"}
METHODS = ("isotonic", "platt", "beta", "temperature")


def sample(n_instances: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(2, 2, n_instances)
    return confidence, rng.random(n_instances) < confidence**2, rng.integers(0, 20, n_instances)


@pytest.mark.parametrize("method", METHODS)
def test_maps_are_those_of_scikit_learn(method: str) -> None:
    confidence, correct, _ = sample()
    given = np.linspace(0.01, 0.99, 50)
    found = fit_map(confidence, correct.astype(float), method)(given)  # type: ignore[arg-type]
    logit = {name: np.log(own / (1 - own))[:, None] for name, own in (("fit", confidence), ("given", given))}
    logistic = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000, fit_intercept=method != "temperature")
    if method == "isotonic":
        expected = IsotonicRegression(out_of_bounds="clip").fit(confidence, correct).predict(given)
    elif method == "beta":
        features = [np.stack([np.log(own), -np.log1p(-own)], axis=1) for own in (confidence, given)]
        expected = logistic.fit(features[0], correct).predict_proba(features[1])[:, 1]
    else:
        expected = logistic.fit(logit["fit"], correct).predict_proba(logit["given"])[:, 1]
    np.testing.assert_allclose(found, expected, atol=2e-4 if method != "isotonic" else 1e-12)


@pytest.mark.parametrize("rises_at", ["1", "0"])
def test_beta_leaves_out_the_negative_coefficient_alone(rises_at: str) -> None:
    # All of the rise is near one end: the coefficient of the other end's logarithm would be negative.
    rng = np.random.default_rng(0)
    confidence = rng.beta(0.8, 0.8, 400)
    share = 0.1 + 0.8 * confidence**8 if rises_at == "1" else 0.9 - 0.8 * (1 - confidence) ** 8
    correct = (rng.random(400) < share).astype(float)

    def loss(coefficients: np.ndarray) -> float:
        a, b, c = coefficients
        logit = a * np.log(confidence) - b * np.log1p(-confidence) + c
        return float((np.logaddexp(0, logit) - correct * logit).sum())

    best = minimize(loss, [1, 1, 0], bounds=[(0, None), (0, None), (None, None)], method="L-BFGS-B")
    assert best.x[:2].min() == 0.0
    found = fit_map(confidence, correct, "beta")(confidence)
    own = -(correct * np.log(found) + (1 - correct) * np.log1p(-found)).sum()
    assert own == pytest.approx(best.fun, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_relation_says_of_itself_does_not_reach_it(method: str) -> None:
    confidence, correct, relation = sample()
    found = recalibrated(confidence, correct, relation, method)  # type: ignore[arg-type]
    own = relation == 3
    other = recalibrated(confidence, correct ^ own, relation, method)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found[own], other[own])
    assert not np.array_equal(found, other)
    assert ((found >= 0) & (found <= 1)).all()
    if method != "temperature":  # which cannot lower all confidences
        assert brier(found, correct).value < brier(confidence, correct).value


@pytest.mark.parametrize("method", METHODS)
def test_hostile_confidences_stay_in_range(method: str) -> None:
    for confidence, correct in (
        (np.array([0.0, 0.0, 1.0, 1.0]), np.array([True, False, True, False])),
        (np.array([0.2, 0.2, 0.9, 0.9]), np.array([False, False, True, True])),
        (np.full(4, 0.3), np.array([True, False, True, True])),
        (np.array([0.9, 0.8, 0.1, 0.2]), np.array([False, False, True, True])),
        (np.full(4, 0.5), np.zeros(4, dtype=bool)),
    ):
        found = recalibrated(confidence, correct, ["a", "b", "a", "b"], method)  # type: ignore[arg-type]
        assert ((found >= 0) & (found <= 1)).all()


def test_one_relation_and_unknown_methods_are_refused() -> None:
    with pytest.raises(ValueError, match="two different ones at least"):
        recalibrated([0.1, 0.2], [True, False], ["a", "a"], "isotonic")
    with pytest.raises(ValueError, match="method must be one of isotonic, platt, beta, temperature; got 'spline'"):
        recalibrated([0.1, 0.2], [True, False], ["a", "b"], "spline")  # type: ignore[arg-type]


def test_logistic_uncertainties_are_those_of_scikit_learns_sigmoid() -> None:
    from sklearn.calibration import _sigmoid_calibration

    from calprobe.metrics.recalibration import _fit_uncertainty

    rng = np.random.default_rng(2)
    sure = rng.random(200)
    right = (rng.random(200) < sure).astype(np.float64)
    slope, intercept = _sigmoid_calibration(sure, right)
    expected = 1 / (1 + np.exp(slope * sure + intercept))
    np.testing.assert_allclose(_fit_uncertainty(sure, right, "logistic")(sure), expected, atol=1e-4)
    separated = _fit_uncertainty(np.array([0.0, 0.1, 0.9, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]), "logistic")
    assert separated(np.array([0.0]))[0] < 0.3 < 0.7 < separated(np.array([1.0]))[0]


def test_maps_of_uncertainties_are_those_that_made_the_values() -> None:
    rng = np.random.default_rng(4)
    uncertainty = rng.integers(0, 9, 120) * 0.7 - 2
    correct = rng.random(120) < 0.9 - 0.1 * (uncertainty + 2)
    questions = rng.integers(0, 30, 120).astype(str)
    for method in FORMS_OF_ONE_VALUE:
        values, maps = fit_uncertainty(uncertainty, correct, questions, method)
        made = np.stack([own(uncertainty) for own in maps.folds])
        assert len(maps.folds) == 5
        assert np.isclose(made, values, atol=1e-9).any(axis=0).all()
        for question in np.unique(questions):  # one fold, and so one map, has all of a question
            own = questions == question
            assert np.isclose(made[:, own], values[own], atol=1e-9).all(axis=1).any()
    # Of all: where the likelihood of Platt's targets is largest, its derivatives by a and by b are 0.
    right = correct.sum()
    targets = np.where(correct, (right + 1) / (right + 2), 1 / (120 - right + 2))
    left = maps.all(uncertainty) - targets
    assert (left.sum(), left @ uncertainty) == pytest.approx((0, 0), abs=1e-6)
    steps = fit_uncertainty(uncertainty, correct, questions, "isotonic")[1].all
    wanted = IsotonicRegression(increasing=False).fit(uncertainty, correct).predict(uncertainty)
    assert steps(uncertainty) == pytest.approx(wanted)
    assert steps.steps == len(np.unique(wanted))


def test_uncertainties_that_are_all_alike_get_the_share_correct() -> None:
    right = [True, False, True, True]
    for method, form in FORMS_OF_ONE_VALUE.items():
        values, maps = fit_uncertainty([2.0] * 4, right, ["1", "1", "2", "2"], method)
        assert values.tolist() == [1, 1, 0.5, 0.5]
        assert (maps.all.form, maps.all(np.array([2.0])).tolist()) == (form, [0.75])
