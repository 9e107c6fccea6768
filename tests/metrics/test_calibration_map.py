"""Fitted maps: their parameters against scikit-learn, their JSON, and what none may be."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from calprobe.metrics.calibration_map import CalibrationMap
from calprobe.metrics.recalibration import fit_folds, fit_map

METHODS = ("isotonic", "platt", "beta", "temperature")
GIVEN = np.linspace(0.0, 1.0, 101)


def sample(n_instances: int = 300, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(2, 2, n_instances).round(2).clip(0.01, 0.99)
    return confidence, (rng.random(n_instances) < confidence**2).astype(float)


def test_parameters_are_those_of_scikit_learn() -> None:
    confidence, correct = sample()
    logistic = LogisticRegression(C=np.inf, tol=1e-12, max_iter=5000)
    platt = logistic.fit(logit(confidence)[:, None], correct)
    found = fit_map(confidence, correct, "platt").parameters
    assert found == pytest.approx({"a": platt.intercept_[0], "b": platt.coef_[0, 0]}, abs=1e-4)
    beta = logistic.fit(np.stack([np.log(confidence), -np.log1p(-confidence)], axis=1), correct)
    found = fit_map(confidence, correct, "beta").parameters
    expected = {"a": beta.coef_[0, 0], "b": beta.coef_[0, 1], "c": beta.intercept_[0]}
    assert found == pytest.approx(expected, abs=1e-3)
    scale = LogisticRegression(C=np.inf, tol=1e-12, max_iter=5000, fit_intercept=False)
    slope = scale.fit(logit(confidence)[:, None], correct).coef_[0, 0]
    assert fit_map(confidence, correct, "temperature").parameters["T"] == pytest.approx(1 / slope, abs=1e-4)
    isotonic = IsotonicRegression().fit(confidence, correct)
    knots = np.array(fit_map(confidence, correct, "isotonic").knots)
    assert knots[:, 0] == pytest.approx(isotonic.X_thresholds_, abs=1e-12)
    assert knots[:, 1] == pytest.approx(isotonic.y_thresholds_, abs=1e-12)
    assert fit_map(confidence, correct, "isotonic").steps == len(set(isotonic.y_thresholds_.tolist()))


@pytest.mark.parametrize("method", METHODS)
def test_a_map_is_the_same_after_json(method: str) -> None:
    found = fit_map(*sample(), method)  # type: ignore[arg-type]
    again = CalibrationMap.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    np.testing.assert_array_equal(again(GIVEN), found(GIVEN))


def test_formulas_by_hand() -> None:
    at = np.array([0.2, 0.9])
    assert CalibrationMap("platt", {"a": -1.0, "b": 0.5})(at) == pytest.approx(expit(-1 + 0.5 * logit(at)))
    beta = CalibrationMap("beta", {"a": 2.0, "b": 0.5, "c": 1.0})
    assert beta(at) == pytest.approx(expit(2 * np.log(at) - 0.5 * np.log(1 - at) + 1))
    assert CalibrationMap("temperature", {"T": 2.0})(at) == pytest.approx(expit(logit(at) / 2))
    steps = CalibrationMap("isotonic", knots=((0.1, 0.0), (0.3, 0.0), (0.5, 0.5), (0.8, 1.0)))
    assert steps(np.array([0.0, 0.2, 0.4, 0.65, 1.0])) == pytest.approx([0, 0, 0.25, 0.75, 1])
    assert CalibrationMap("constant", {"share": 0.25})(at).tolist() == [0.25, 0.25]


def test_maps_of_folds_made_the_numbers() -> None:
    confidence, correct = sample()
    relation = np.arange(len(confidence)) % 7
    found, maps = fit_folds(confidence, correct, relation, "platt")
    assert len(maps) == 5
    by_some_map = np.stack([own(confidence) for own in maps])
    assert (by_some_map == found).any(axis=0).all()
    right = np.ones(len(confidence))
    assert {own.form for own in fit_folds(confidence, right, relation, "beta")[1]} == {"constant"}


@pytest.mark.parametrize(
    "given",
    [
        {"form": "platt", "a": 1.0},
        {"form": "platt", "a": 1.0, "b": float("nan")},
        {"form": "spline"},
        {"a": 1.0},
        {"form": "isotonic"},
        {"form": "isotonic", "knots": [[0.5, 0.2], [0.1, 0.4]]},
        {"form": "isotonic", "knots": [[0.1, 0.2], [0.5, 1.4]]},
        {"form": "temperature", "T": "warm"},
        {"form": "temperature", "T": 0.0},
        {"form": "platt", "a": 1.0, "b": float("inf")},
        {"form": "constant", "share": 7.0},
    ],
)
def test_what_is_no_map(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not a map|knots must|could not convert"):
        CalibrationMap.from_json(given)
