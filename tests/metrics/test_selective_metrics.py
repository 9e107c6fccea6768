"""AURC, E-AURC, AUGRC and PRR against every order of tied instances, against sums written out, and by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, permutations

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import MetricResult, augrc, aurc, auroc, e_aurc, prr, prr_50
from calprobe.metrics.metric import evaluate
from calprobe.metrics.ranking import AUGRC, AURC, AUROC, E_AURC, PRR, PRR_50
from calprobe.metrics.ranks import harmonic_numbers
from calprobe.metrics.rejection import accuracy_at_coverage
from calprobe.metrics.sample import Sample, sort_instances

ALL = (aurc, e_aurc, prr)
FUNCTIONS: dict[str, Callable[..., MetricResult]] = {
    "auroc": auroc,
    "aurc": aurc,
    "e_aurc": e_aurc,
    "prr": prr,
    "augrc": augrc,
    "prr_50": prr_50,
}

small_tied_samples = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=7)


def mean_risk(correct_in_order: Sequence[bool]) -> Fraction:
    """The definition, in fractions: share incorrect among the first k, averaged over k."""
    risks, wrong = [], 0
    for k, correct in enumerate(correct_in_order, start=1):
        wrong += not correct
        risks.append(Fraction(wrong, k))
    return sum(risks, Fraction(0)) / len(risks)


def expected_aurc(pairs: Sequence[tuple[int, bool]]) -> Fraction:
    """The mean over all orders that are sorted by confidence."""
    orders = [order for order in permutations(pairs) if all(a[0] >= b[0] for a, b in pairwise(order))]
    return sum((mean_risk([correct for _, correct in order]) for order in orders), Fraction(0)) / len(orders)


@given(small_tied_samples)
def test_values_are_expected_over_all_orders_within_ties(pairs: list[tuple[int, bool]]) -> None:
    confidence, correct = [level / 4 for level, _ in pairs], [right for _, right in pairs]
    curve, best = expected_aurc(pairs), mean_risk(sorted(correct, reverse=True))
    random = Fraction(correct.count(False), len(correct))
    assert aurc(confidence, correct).value == pytest.approx(float(curve), abs=1e-13)
    assert e_aurc(confidence, correct).value == pytest.approx(float(curve - best), abs=1e-13)
    if random == best:
        assert len(set(correct)) == 1
        assert np.isnan(prr(confidence, correct).value)
    else:
        assert prr(confidence, correct).value == pytest.approx(float((random - curve) / (random - best)), abs=1e-12)


def curve_sums(correct_in_order: Sequence[bool]) -> tuple[Fraction, Fraction]:
    """By their definitions: AUGRC, and the mean accuracy while half are rejected at most (0 of one instance)."""
    n, kept_right = len(correct_in_order), list(accumulate(map(int, correct_in_order)))
    failures = sum((Fraction(k - right, n) for k, right in enumerate(kept_right, start=1)), Fraction(0)) / n
    late = [Fraction(kept_right[k - 1], k) for k in range(n - n // 2 + 1, n + 1)]
    return failures, sum(late, Fraction(0)) / max(1, len(late))


@given(small_tied_samples)
def test_silent_failures_and_half_rejected_are_expected_over_all_orders(pairs: list[tuple[int, bool]]) -> None:
    confidence, correct = [level / 4 for level, _ in pairs], [right for _, right in pairs]
    orders = [order for order in permutations(pairs) if all(a[0] >= b[0] for a, b in pairwise(order))]
    sums = [curve_sums([right for _, right in order]) for order in orders]
    area, accuracy = (sum(values, Fraction(0)) / len(orders) for values in zip(*sums, strict=True))
    best, mean = curve_sums(sorted(correct, reverse=True))[1], Fraction(sum(correct), len(correct))
    assert augrc(confidence, correct).value == pytest.approx(float(area), abs=1e-13)
    if len(set(correct)) == 1 or len(correct) < 4:
        assert np.isnan(prr_50(confidence, correct).value)
    else:
        assert prr_50(confidence, correct).value == pytest.approx(float((accuracy - mean) / (best - mean)), abs=1e-12)


@given(samples())
def test_silent_failures_follow_from_auroc(sample: tuple[np.ndarray, np.ndarray]) -> None:
    n, right = len(sample[0]), int(sample[1].sum())
    wrong, area = n - right, auroc(*sample).value
    pairs = 0.0 if np.isnan(area) else (1 - area) * right * wrong
    if n:
        assert augrc(*sample).value == pytest.approx((pairs + wrong * (wrong + 1) / 2) / n**2, abs=1e-13)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_without_ties_it_is_the_mean_of_running_error_rates(correct: list[bool]) -> None:
    confidence = np.linspace(1, 0, len(correct))
    assert aurc(confidence, correct).value == pytest.approx(float(mean_risk(correct)), abs=1e-13)


@pytest.mark.parametrize("n_instances", [7731, 200_000])
def test_many_instances_keep_their_digits(n_instances: int) -> None:
    rng = np.random.default_rng(n_instances)
    correct = rng.random(n_instances) < np.linspace(0.9, 0.1, n_instances)
    wrong = np.cumsum(~correct)
    places = np.arange(1, n_instances + 1)
    expected = np.mean((wrong / places).astype(np.longdouble))
    best = np.mean((np.maximum(0, places - correct.sum()) / places).astype(np.longdouble))
    confidence = np.linspace(1, 0, n_instances)
    assert aurc(confidence, correct).value == pytest.approx(float(expected), abs=1e-13)
    assert e_aurc(confidence, correct).value == pytest.approx(float(expected - best), abs=1e-13)


def test_by_hand() -> None:
    # Most confident first: right, then a tie of one right and one wrong, then wrong. Risks 0, 1/4, 1/3, 1/2.
    confidence, correct = [0.3, 0.6, 0.9, 0.6], [False, True, True, False]
    best = (0 + 0 + 1 / 3 + 1 / 2) / 4
    found = (0 + 1 / 4 + 1 / 3 + 1 / 2) / 4
    assert aurc(confidence, correct).value == pytest.approx(found, abs=1e-15)
    assert e_aurc(confidence, correct).value == pytest.approx(found - best, abs=1e-15)
    assert prr(confidence, correct).value == pytest.approx((0.5 - found) / (0.5 - best), abs=1e-15)


def test_best_worst_and_random_order() -> None:
    correct = [True, True, False, False, False]
    assert e_aurc([0.9, 0.8, 0.3, 0.2, 0.1], correct).value == 0
    assert prr([0.9, 0.8, 0.3, 0.2, 0.1], correct).value == 1
    assert prr([0.1, 0.2, 0.3, 0.8, 0.9], correct).value < 0
    assert aurc([0.4] * 5, correct).value == pytest.approx(0.6)
    assert prr([0.4] * 5, correct).value == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("confidence", [[0.5], [0.2, 0.2, 0.2], [0.1, 0.7, 0.4]])
def test_one_class_and_one_instance(confidence: list[float]) -> None:
    for correct, area in ((True, 0), (False, 1)):
        answers = [correct] * len(confidence)
        assert aurc(confidence, answers).value == pytest.approx(area, abs=1e-15)
        assert e_aurc(confidence, answers).value == 0
        assert np.isnan(prr(confidence, answers).value)


@pytest.mark.parametrize("metric", ALL)
def test_no_instances(metric: Callable[..., MetricResult]) -> None:
    assert np.isnan(metric([], []).value)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([0.5, float("nan")], [1, 0], r"confidence must lie in \[0, 1\] and not be NaN; got nan at place 1"),
        ([0.5, 1.01], [1, 0], r"confidence must lie in \[0, 1\] and not be NaN; got 1.01 at place 1"),
        ([0.5], [0.5], r"correct must be true or false \(1 or 0\); got 0.5 at place 0"),
        ([0.5], [1, 0], "correct must have as many entries as confidence, 1; got 2"),
    ],
)
def test_what_is_no_confidence_is_refused(
    metric: Callable[..., MetricResult], confidence: list[float], correct: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        metric(confidence, correct)


@given(samples())
def test_only_the_order_of_confidences_counts(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    ranks = np.unique(confidence, return_inverse=True)[1] / len(confidence)
    for metric in ALL:
        np.testing.assert_equal(metric(ranks**3, correct).value, metric(confidence, correct).value)
        # The caller's order of instances counts as little.
        np.testing.assert_equal(metric(confidence[::-1], correct[::-1]).value, metric(confidence, correct).value)


@given(samples(least=2))
def test_bounds(sample: tuple[np.ndarray, np.ndarray]) -> None:
    area, excess, ratio = (metric(*sample).value for metric in ALL)
    assert -1e-15 <= excess <= area <= 1 + 1e-15
    assert np.isnan(ratio) or ratio <= 1 + 1e-12


def test_ratio_with_answers_in_place_of_rejections_is_that_of_auroc() -> None:
    """Malinin and Gales's ratio, which the docstring tells apart from ours."""
    rng = np.random.default_rng(4)
    confidence, correct = rng.random(40).round(1), rng.random(40) < 0.4
    coverage = np.arange(1, 41) / 40
    risk = 1 - accuracy_at_coverage(sort_instances(confidence, correct).sample(), coverage)[0]
    best = np.maximum(0, np.arange(41) - correct.sum()) / 40
    wrong = np.append(0, risk * coverage)  # as a share of all
    random = np.linspace(0, wrong[-1], 41)
    areas = [np.sum(line[1:] + line[:-1]) for line in (random, wrong, best)]
    ratio = (areas[0] - areas[1]) / (areas[0] - areas[2])
    assert ratio == pytest.approx(2 * auroc(confidence, correct).value - 1, abs=1e-12)


def test_copies_of_a_sample_lead_to_the_area_under_its_curve() -> None:
    rng = np.random.default_rng(1)
    confidence, correct = rng.random(30).round(1), rng.random(30) < 0.5
    levels, tie = np.unique(-confidence, return_inverse=True)
    kept = np.append(0, np.cumsum(np.bincount(tie))) / 30
    wrong = np.append(0, np.cumsum(np.bincount(tie, ~correct, len(levels)))) / 30
    slope = np.diff(wrong) / np.diff(kept)
    # The integral of (wrong + slope (c - kept)) / c over each tie; the first tie's logarithm has a factor of 0.
    logarithms = np.append(0, np.log(kept[2:] / kept[1:-1]))
    area = np.sum(slope * np.diff(kept) + (wrong[:-1] - slope * kept[:-1]) * logarithms)
    off = [abs(aurc(np.tile(confidence, k), np.tile(correct, k)).value - area) for k in (1, 10, 100, 1000)]
    assert all(later < sooner / 5 for sooner, later in pairwise(off))
    assert off[-1] < 1e-4


@given(samples(), st.integers(0, 1000))
def test_each_resample_can_have_correctness_of_its_own(sample: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    confidence = np.sort(sample[0])
    rng = np.random.default_rng(seed)
    correct, counts = rng.integers(0, 2, (4, len(confidence))), rng.integers(0, 4, (4, len(confidence)))
    found = evaluate((AUROC, AURC, E_AURC, AUGRC, PRR, PRR_50), Sample(confidence, correct, counts))
    for row in range(4):
        held = np.repeat(np.arange(len(confidence)), counts[row])
        for name, function in FUNCTIONS.items():
            expected = function(confidence[held], correct[row][held]).value
            np.testing.assert_allclose(found[name][row], expected, rtol=0, atol=1e-12, err_msg=name)


def test_resamples_of_different_sizes() -> None:
    instances = sort_instances([0.9, 0.6, 0.6, 0.3], [True, False, True, False])
    counts = np.array([[1, 1, 1, 1], [0, 0, 0, 2], [0, 0, 0, 0], [2, 0, 0, 2]])
    found = evaluate((AURC, PRR), instances.resampled(counts))
    np.testing.assert_allclose(found["aurc"], [(1 / 4 + 1 / 3 + 1 / 2) / 4, 1, np.nan, (1 / 3 + 1 / 2) / 4], atol=1e-15)
    np.testing.assert_allclose(found["prr"][[1, 2, 3]], [np.nan, np.nan, 1])


@pytest.mark.parametrize("last", [0, 1, 63, 64, 65, 66, 300])
def test_harmonic_numbers(last: int) -> None:
    exact = list(accumulate((Fraction(1, k) for k in range(1, last + 1)), initial=Fraction(0)))
    np.testing.assert_allclose(harmonic_numbers(last), [float(h) for h in exact], rtol=0, atol=3e-15)
