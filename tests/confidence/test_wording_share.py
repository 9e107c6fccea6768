"""The share of the wording: an insensitive model, a sensitive one, settled questions, permutations."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.arrays import Floats, Ints
from calprobe.confidence.samples import VarianceSplit, one_hot, split_variance, wording_p_value, wording_share

PLANS = [(2, 6), (3, 4), (4, 3), (6, 2)]


def simulated(n_questions: int, plan: tuple[int, int], sensitivity: float, seed: int) -> list[tuple[Floats, Ints]]:
    """Classes of answers, one-hot; each wording's distribution is the question's, mixed with one of its own."""
    rng = np.random.default_rng(seed)
    n_p, n_s = plan
    found = []
    for _ in range(n_questions):
        base = rng.dirichlet(np.full(4, 0.5))
        wordings = [(1 - sensitivity) * base + sensitivity * rng.dirichlet(np.full(4, 0.5)) for _ in range(n_p)]
        classes = np.concatenate([rng.choice(4, n_s, p=own) for own in wordings])
        found.append((one_hot(classes), np.repeat(np.arange(n_p), n_s)))
    return found


def splits_of(questions: list[tuple[Floats, Ints]]) -> list[VarianceSplit]:
    return [split_variance(points, groups) for points, groups in questions]


@pytest.mark.parametrize("plan", PLANS[1:3])
def test_an_insensitive_model_has_no_share_and_the_ratio_of_chance(plan: tuple[int, int]) -> None:
    share = wording_share(splits_of(simulated(1_000, plan, 0.0, 7)))
    n_p, m = plan[0], 12
    assert share.by_chance == pytest.approx((n_p - 1) / (m - 1))
    assert share.ratio_of_sums == pytest.approx((n_p - 1) / (m - 1), abs=0.02)
    assert abs(share.unbiased) < 0.024  # three standard errors of 1,000 questions


@pytest.mark.proof
@pytest.mark.parametrize("plan", PLANS)
def test_an_insensitive_model_has_no_share_to_three_digits(plan: tuple[int, int]) -> None:
    assert abs(wording_share(splits_of(simulated(12_000, plan, 0.0, 0))).unbiased) < 0.006  # three standard errors


def test_one_sensitive_model_has_one_share_under_all_plans() -> None:
    found = [wording_share(splits_of(simulated(800, plan, 0.4, 3))) for plan in PLANS]
    unbiased = np.array([share.unbiased for share in found])
    assert np.ptp(unbiased) < 0.06
    assert unbiased.min() > 0.05
    assert np.ptp([share.ratio_of_sums for share in found]) > 0.25  # the raw share goes with the plan


def test_settled_questions_pull_the_printed_share_to_a_half() -> None:
    alike = split_variance(np.ones((4, 1)), [0, 0, 1, 1])
    other = split_variance(np.array([[0.0], [1.0], [0.0], [1.0]]), [0, 0, 1, 1])
    share = wording_share([alike, alike, alike, other])
    assert share.settled == 0.75
    assert share.rho == pytest.approx((3 * 0.5 + 1e-4 / (0.25 + 2e-4)) / 4)
    assert share.rho_unsettled == pytest.approx(1e-4 / (0.25 + 2e-4))
    assert share.ratio_of_sums == 0.0


def test_plans_without_a_share_have_none() -> None:
    one_wording = split_variance(np.eye(4), [0, 0, 0, 0])
    one_sample = split_variance(np.eye(4), [0, 1, 2, 3])
    assert (one_wording.between, one_sample.within) == (0.0, 0.0)
    assert np.isnan(wording_share([one_wording, one_sample]).unbiased)
    assert np.isnan(wording_share([]).rho)
    uneven = split_variance(np.eye(5), [0, 0, 0, 1, 1])  # a sample has failed
    assert uneven.group_size == pytest.approx((5 - 13 / 5) / 1)


def test_permutations_tell_a_sensitive_model_from_an_insensitive_one() -> None:
    sensitive = simulated(40, (3, 4), 0.9, 1)
    assert wording_p_value(sensitive, 199) == 1 / 200
    drawn = [wording_p_value(simulated(20, (3, 4), 0.0, seed), 99) for seed in range(40)]
    assert 0.3 < np.mean(drawn) < 0.7
    order = np.random.default_rng(0).permutation(12)
    turned = [(points[order], groups[order]) for points, groups in sensitive]
    before, after = wording_share(splits_of(sensitive)), wording_share(splits_of(turned))
    assert after.unbiased == pytest.approx(before.unbiased)
    assert wording_p_value([(np.ones((4, 1)), np.array([0, 0, 1, 1]))], 9) == 1.0  # nothing varies
