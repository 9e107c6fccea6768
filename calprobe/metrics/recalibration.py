"""Recalibrated confidences: a map from confidence to the chance of being right, fitted on other relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, check_confidence, check_correct, check_vector, refuse
from calprobe.metrics.calibration_map import CalibrationMap, Form
from calprobe.metrics.calibration_tests import logit
from calprobe.metrics.isotonic import isotonic_confidence
from calprobe.metrics.logistic import fit_logistic, sigmoid
from calprobe.metrics.scoring_rules import LEAST_PROBABILITY
from calprobe.metrics.uncertainty_map import UncertaintyMap, UncertaintyMaps
from calprobe.words import Calibrate, Recalibration

FOLDS = 5
SEED = 0
Map = Callable[[Floats], Floats]  # from confidences [instances] to recalibrated ones


def recalibrated(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    groups: npt.ArrayLike,
    method: Recalibration,
    n_folds: int = FOLDS,
    seed: int = SEED,
) -> Floats:
    """Confidences as a map makes them that was fitted on the other folds, with all of a group in one fold.

    | method | map |
    |---|---|
    | isotonic | the non-decreasing step function with the least squared error (Zadrozny and Elkan 2002) |
    | platt | `sigmoid(a + b logit f)` with the largest likelihood (Platt 1999) |
    | beta | `sigmoid(a log f - b log(1 - f) + c)`, a and b not negative (Kull, Silva Filho, Flach 2017) |
    | temperature | `sigmoid(b logit f)`, as Guo et al. 2017 for two classes |

    Args:
        confidence: [instances], in [0, 1]; clipped to [1e-12, 1 - 1e-12] before logarithms are taken.
        correct: [instances], true or false.
        groups: [instances], labels, two or more different ones: relations. What is learned of a group's facts never
            reaches them.
        method: see above.
        n_folds: at most; groups are permuted (seeded) and go to the folds in turn.
        seed: of the folds.
    Returns:
        [instances], in [0, 1]. A fold gets the share correct of the others where those are all right or all wrong, or
        have no finite best coefficients.
    Raises:
        ValueError: shapes differ, NaN, a value out of range, fewer than two groups or folds, or an unknown method.

    >>> found = recalibrated([0.9, 0.9, 0.9, 0.9], [True, False, True, False], ["P30", "P30", "P36", "P36"], "isotonic")
    >>> found.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return fit_folds(confidence, correct, groups, method, n_folds, seed)[0]


def fit_folds(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    groups: npt.ArrayLike,
    method: Recalibration,
    n_folds: int = FOLDS,
    seed: int = SEED,
) -> tuple[Floats, tuple[CalibrationMap, ...]]:
    """What `recalibrated` gives, and the maps of its folds. Arguments and errors are those of `recalibrated`.

    >>> right = [True, False, True, False]
    >>> fit_folds([0.9, 0.9, 0.9, 0.9], right, ["P30", "P30", "P36", "P36"], "platt")[1][0].to_json()
    {'form': 'constant', 'share': 0.5}
    """
    values = check_confidence(confidence)
    right = check_correct(correct, len(values)).astype(np.float64)
    if method not in get_args(Recalibration):
        raise ValueError(f"method must be one of {', '.join(get_args(Recalibration))}; got {method!r}")
    maps: list[CalibrationMap] = []

    def fit(inputs: Floats, outcomes: Floats) -> Map:
        maps.append(fit_map(inputs, outcomes, method))
        return maps[-1]

    return _by_folds(values, right, groups, fit, (n_folds, seed)), tuple(maps)


@dataclass(frozen=True, slots=True)
class _Logistic:
    """`sigmoid(a + b x)`."""

    a: float
    b: float

    def __call__(self, given: Floats) -> Floats:
        return sigmoid(_with_intercept(given) @ np.array([self.a, self.b]))


def fit_uncertainty(
    uncertainty: npt.ArrayLike, correct: npt.ArrayLike, groups: npt.ArrayLike, method: Calibrate
) -> tuple[Floats, UncertaintyMaps]:
    """Uncertainties of any scale as the chance of being right, by a map that was fitted on the other folds of groups.

    `isotonic`: the step function that never rises with the uncertainty and has the least squared error. `logistic`:
    `sigmoid(a + b U)` with the largest likelihood of Platt's (1999) targets, `(n_right + 1) / (n_right + 2)` of what is
    right and `1 / (n_wrong + 2)` of what is wrong, so that it is finite where uncertainty separates them; it may rise.

    Args:
        uncertainty: [instances], any finite numbers, larger is less sure.
        correct: [instances], true or false.
        groups: [instances], labels, two or more different ones: questions.
        method: see above.
    Returns:
        [instances], in [0, 1], larger is surer, and the maps in the uncertainty's own unit. A fold gets the share
        correct of the others where those are all right or all wrong, or all as uncertain.
    Raises:
        ValueError: shapes differ, numbers that are not finite, fewer than two groups, or an unknown method.

    >>> questions = ["1", "1", "2", "2"]
    >>> values, maps = fit_uncertainty([0.0, 2.5, 0.0, 2.5], [True, False, True, False], questions, "isotonic")
    >>> values.tolist(), maps.all.knots
    ([1.0, 0.0, 1.0, 0.0], ((0.0, 1.0), (2.5, 0.0)))
    """
    values = check_vector("uncertainty", uncertainty)
    refuse("uncertainty", "must be finite", values, ~np.isfinite(values))
    right = check_correct(correct, len(values)).astype(np.float64)
    if method not in get_args(Calibrate):
        raise ValueError(f"method must be one of {', '.join(get_args(Calibrate))}; got {method!r}")
    # On [0, 1], where the least sure have 0: no map below depends on origin and unit.
    spread = float(np.ptp(values)) if len(values) else 0.0
    top = float(values.max()) if len(values) else 0.0
    sure = (top - values) / spread if spread else np.zeros(len(values))
    folds: list[UncertaintyMap] = []

    def fit(inputs: Floats, outcomes: Floats) -> Map:
        fitted = _fit_uncertainty(inputs, outcomes, method)
        folds.append(_in_unit(fitted, top, spread))
        return fitted

    confidences = _by_folds(sure, right, groups, fit, (FOLDS, SEED))
    return confidences, UncertaintyMaps(_in_unit(_fit_uncertainty(sure, right, method), top, spread), tuple(folds))


def _in_unit(fit: CalibrationMap | _Logistic, top: float, spread: float) -> UncertaintyMap:
    """A map of `(top - U) / spread` as one of U."""
    if isinstance(fit, _Logistic):
        return UncertaintyMap("logistic", {"a": fit.a + fit.b * top / spread, "b": -fit.b / spread})
    if fit.form == "isotonic":
        return UncertaintyMap("isotonic", knots=tuple((top - spread * at, share) for at, share in fit.knots[::-1]))
    return UncertaintyMap("constant", dict(fit.parameters))


def _fit_uncertainty(sure: Floats, correct: Floats, method: Calibrate) -> CalibrationMap | _Logistic:
    if method == "isotonic":
        return fit_map(sure, correct, "isotonic")
    share = float(correct.mean())
    right = float(correct.sum())
    targets = np.where(correct > 0, (right + 1) / (right + 2), 1 / (len(correct) - right + 2))
    coefficients = None if share in (0.0, 1.0) else fit_logistic(_with_intercept(sure), targets)
    if coefficients is None:
        return CalibrationMap("constant", {"share": share})
    return _Logistic(float(coefficients[0]), float(coefficients[1]))


def _with_intercept(values: Floats) -> Floats:
    return np.stack([np.ones(len(values)), values], axis=1)


def _by_folds(
    values: Floats, right: Floats, groups: npt.ArrayLike, fit: Callable[[Floats, Floats], Map], folds: tuple[int, int]
) -> Floats:
    """Each fold's values by a map that was fitted on the others; `folds`: how many at most, and their seed."""
    n_folds, seed = folds
    names, of = np.unique(np.asarray(groups), return_inverse=True)
    if len(of) != len(values) or len(names) < 2 or n_folds < 2:
        raise ValueError(
            f"groups must have a label for each of {len(values)} instances, two different ones at least, and n_folds "
            f"must be 2 or more; got {len(of)} labels of {len(names)} groups and n_folds {n_folds}"
        )
    fold = (np.random.default_rng(seed).permutation(len(names)) % n_folds)[of.reshape(-1)]
    mapped = np.empty(len(values))
    for held in np.unique(fold):
        is_held = fold == held
        mapped[is_held] = fit(values[~is_held], right[~is_held])(values[is_held])
    return mapped


def fit_map(confidence: Floats, correct: Floats, method: Recalibration) -> CalibrationMap:
    """The map of that method, fitted on these instances, of which there is one at least."""
    share = float(correct.mean())
    fitted = None if share in (0.0, 1.0) else _FITS[method](confidence, correct)
    return fitted or CalibrationMap("constant", {"share": share})


def _isotonic(confidence: Floats, correct: Floats) -> CalibrationMap:
    """Steps, with straight lines between the end of one and the start of the next, as scikit-learn predicts."""
    starts, shares = isotonic_confidence(confidence, correct)
    ascending = np.sort(confidence)
    ends = ascending[np.concatenate([np.searchsorted(ascending, starts[1:]) - 1, [len(ascending) - 1]])]
    ends_of_steps = zip(np.stack([starts, ends], axis=1).ravel().tolist(), np.repeat(shares, 2).tolist(), strict=True)
    return CalibrationMap("isotonic", knots=tuple(dict.fromkeys(ends_of_steps)))


def _platt(confidence: Floats, correct: Floats) -> CalibrationMap | None:
    features = np.stack([np.ones(len(confidence)), logit(confidence)], axis=1)
    return _of("platt", ("a", "b"), fit_logistic(features, correct))


def _temperature(confidence: Floats, correct: Floats) -> CalibrationMap | None:
    """As a temperature; None where confidence says nothing, whose temperature would be infinite."""
    coefficients = fit_logistic(logit(confidence)[:, None], correct)
    return None if coefficients is None or coefficients[0] == 0 else _of("temperature", ("T",), 1 / coefficients)


def _beta(confidence: Floats, correct: Floats) -> CalibrationMap | None:
    """A coefficient that would be negative is left out, and the others fitted again; then none may be negative."""
    clipped = np.clip(confidence, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    features = np.stack([np.log(clipped), -np.log1p(-clipped), np.ones(len(confidence))], axis=1)
    columns = [0, 1, 2]
    coefficients = fit_logistic(features, correct)
    if coefficients is not None and (coefficients[:2] < 0).any():
        columns = [1, 2] if coefficients[0] < 0 else [0, 2]
        coefficients = fit_logistic(features[:, columns], correct)
    if coefficients is None or (coefficients[:-1] < 0).any():
        return None
    complete = np.zeros(3)
    complete[columns] = coefficients
    return _of("beta", ("a", "b", "c"), complete)


def _of(form: Form, names: tuple[str, ...], coefficients: Floats | None) -> CalibrationMap | None:
    return None if coefficients is None else CalibrationMap(form, dict(zip(names, coefficients.tolist(), strict=True)))


_FITS: dict[Recalibration, Callable[[Floats, Floats], CalibrationMap | None]] = {
    "isotonic": _isotonic,
    "platt": _platt,
    "beta": _beta,
    "temperature": _temperature,
}
