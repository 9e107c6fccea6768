"""Gaps of groups with intervals that hold at once, and the grouping loss, against closed forms and brute force."""

import numpy as np
import pytest

from calprobe.metrics import Resampling
from calprobe.metrics.group_gaps import gaps_of, group_gaps, grouping_loss
from calprobe.metrics.resamples import check_clusters, resample_counts


def two_groups(rng, n, gaps):
    confidence = rng.uniform(0.3, 0.7, n)
    group = rng.integers(len(gaps), size=n)
    return confidence, rng.random(n) < confidence - np.asarray(gaps)[group], group.astype(str)


def test_a_group_that_is_too_sure_is_found():
    confidence, correct, group = two_groups(np.random.default_rng(1), 1200, (0.0, 0.0, 0.25))
    found = group_gaps(confidence, correct, group, Resampling(300))
    assert [own.name for own in found.groups] == ["0", "1", "2"]
    assert found.largest.name == "2"
    assert found.largest.gap.low > 0
    assert found.p_value < 0.01
    assert all(own.gap.low < 0 < own.gap.high for own in found.groups[:2])
    of_two = group == "2"
    assert found.groups[2].gap.value == pytest.approx(confidence[of_two].mean() - correct[of_two].mean())


def test_small_and_unvaried_groups_have_no_interval():
    found = group_gaps([0.8] * 49, [1] * 40 + [0, 1] * 4 + [0], ["all right"] * 40 + ["few"] * 9, Resampling(50))
    assert all(np.isnan(own.gap.low) and np.isnan(own.p_value) for own in found.groups)
    assert found.largest is None
    assert np.isnan(found.p_value)


def test_resamples_draw_whole_clusters():
    confidence, correct, group = two_groups(np.random.default_rng(2), 80, (0.0, 0.0))
    rows = [np.repeat(values, 5) for values in (confidence, correct, group)]
    alone = group_gaps(confidence, correct, group, Resampling(200))
    together = group_gaps(*rows, Resampling(200), np.repeat(np.arange(80), 5))
    assert together.groups[0].gap.low == pytest.approx(alone.groups[0].gap.low)


def by_hand(confidence, correct, masks, clusters, resampling):
    """Ends of the intervals, each resample written out unit by unit."""
    off = confidence - correct
    units = [[np.flatnonzero(mask & (clusters == unit)) for unit in np.unique(clusters[mask])] for mask in masks]
    found = [off[mask].mean() for mask in masks]
    squares = [[(off[rows] - gap).sum() ** 2 for rows in of_mask] for gap, of_mask in zip(found, units, strict=True)]
    shared = np.concatenate(squares).mean()

    def gap_and_error(of_mask, times):
        rows = np.concatenate([np.tile(rows, n) for rows, n in zip(of_mask, times, strict=True)])
        gap = off[rows].mean()
        total = sum(n * (off[of] - gap).sum() ** 2 for of, n in zip(of_mask, times, strict=True))
        return gap, np.sqrt((total + 4 * shared) / (sum(times) + 3) * sum(times)) / len(rows)

    errors = [gap_and_error(of_mask, [1] * len(of_mask))[1] for of_mask in units]
    largest = []
    for block in resample_counts(len(off), resampling, check_clusters(clusters, len(off))):
        for counts in block:
            drawn = [gap_and_error(of_mask, [counts[rows[0]] for rows in of_mask]) for of_mask in units]
            largest.append(max(abs(gap - own) / error for (gap, error), own in zip(drawn, found, strict=True)))
    reach = np.quantile(largest, 0.95)
    return [(gap - reach * error, gap + reach * error) for gap, error in zip(found, errors, strict=True)]


@pytest.mark.parametrize("sizes", [(1,), (1, 2, 3)], ids=["single", "clusters"])
def test_intervals_are_those_of_resamples_written_out(sizes):
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(60), rng.choice(sizes, 60))
    confidence = rng.uniform(0.3, 0.7, len(clusters))
    correct = rng.random(len(clusters)) < 0.5
    masks = {"even": clusters % 2 == 0, "first": clusters < 40}  # which overlap
    found = gaps_of(confidence, correct, masks, Resampling(40), clusters)
    expected = by_hand(confidence, correct.astype(float), list(masks.values()), clusters, Resampling(40))
    assert [(group.gap.low, group.gap.high) for group in found.groups] == [pytest.approx(ends) for ends in expected]


def test_intervals_hold_in_all_groups_at_once():
    held = []
    for trial in range(150):
        confidence, correct, group = two_groups(np.random.default_rng([6, trial]), 240, (0.1, 0.0, -0.1, 0.2))
        found = group_gaps(confidence, correct, group, Resampling(100, trial))
        held.append(
            all(own.gap.low <= gap <= own.gap.high for own, gap in zip(found.groups, (0.1, 0, -0.1, 0.2), strict=True))
        )
    assert np.mean(held) > 0.9  # 0.95 is promised; the standard error is 0.018


def test_a_group_with_too_few_errors_to_see_has_no_interval():
    confidence, correct = [0.97] * 60 + [0.7] * 60, [1] * 58 + [0] * 2 + [1] * 40 + [0] * 20
    found = group_gaps(confidence, correct, ["sure"] * 60 + ["half sure"] * 60, Resampling(50))
    assert [np.isnan(own.gap.low) for own in found.groups] == [False, True]
    wrong = group_gaps([0.97] * 60, [1] * 40 + [0] * 20, ["too sure"] * 60, Resampling(50))
    assert wrong.groups[0].gap.low > 0


def test_grouping_loss_has_the_variance_of_the_groups_as_its_mean():
    rng = np.random.default_rng(3)
    group = np.repeat(["a", "b"], 6)
    chance = np.where(group == "a", 0.7, 0.3)
    drawn = [grouping_loss([0.5] * 12, rng.random(12) < chance, group) for _ in range(1500)]
    assert abs(np.mean(drawn) - 0.04) < 4 * np.std(drawn) / np.sqrt(len(drawn))
    assert min(drawn) < 0


def test_groups_that_differ_in_confidence_alone_lose_nothing():
    rng = np.random.default_rng(4)
    confidence = np.concatenate([rng.uniform(0.5, 0.6, 20_000), rng.uniform(0.4, 0.5, 20_000)])
    loss = grouping_loss(confidence, rng.random(40_000) < confidence, np.repeat(["a", "b"], 20_000), n_bins=1)
    assert abs(loss) < 5e-4


def test_nothing_and_what_does_not_fit():
    assert group_gaps([], [], []).groups == ()
    assert np.isnan(grouping_loss([], [], []))
    with pytest.raises(ValueError, match="one label for each of 2 instances"):
        group_gaps([0.5, 0.5], [1, 0], ["a"])
