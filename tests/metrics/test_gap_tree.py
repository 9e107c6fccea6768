"""Groups that a tree finds: the best cut by brute force, names that say what is in them, and what halves are for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from calprobe.metrics import Resampling, gaps_of
from calprobe.metrics.gap_tree import Feature, gap_tree

N = 400


def world(seed: int) -> tuple[npt.NDArray[np.float64], list[Feature], npt.NDArray[np.bool_]]:
    """Instances with a number, a category and noise, whose gap is 0.3 where the number is above 20."""
    rng = np.random.default_rng(seed)
    number, category = rng.integers(1, 31, N).astype(float), np.array(list("abcdef"))[rng.integers(6, size=N)]
    gap = np.where(number > 20, 0.3, 0.0) + rng.normal(0, 0.3, N)
    features = [Feature("words", number), Feature("subject", category), Feature("noise", rng.random(N))]
    return gap, features, rng.permutation(N) < N // 2


def test_a_cut_is_the_one_that_lowers_squares_most_in_the_other_half() -> None:
    gap, features, half = world(0)
    found = gap_tree(gap, features, half, depth=1)
    for letter, members in (("a", half), ("b", ~half)):
        searched = ~members
        best = (np.inf, "")
        numbers = [feature for feature in features if feature.numeric]
        for feature in numbers:
            values = feature.values.astype(float)
            for cut in np.unique(np.quantile(values[searched], np.arange(1, 20) / 20, method="lower")):
                sides = [searched & (values <= cut), searched & (values > cut)]
                if min(side.sum() for side in sides) >= 30 and min((members & (values <= cut)).sum(), 30) >= 30:
                    best = min(best, (sum(((gap[s] - gap[s].mean()) ** 2).sum() for s in sides), f"{cut:,.5g}"))
        names = set(found[members].tolist())
        assert names == {f"{letter}: words <= {best[1]}", f"{letter}: words > {best[1]}"}
        assert 18 <= float(best[1]) <= 22


def test_groups_do_not_depend_on_their_own_gaps() -> None:
    gap, features, half = world(1)
    other = np.where(half, np.random.default_rng(9).normal(size=N), gap)
    np.testing.assert_array_equal(gap_tree(gap, features, half)[half], gap_tree(other, features, half)[half])
    order = np.random.default_rng(2).permutation(N)
    again = gap_tree(gap[order], [Feature(f.name, f.values[order]) for f in features], half[order])
    np.testing.assert_array_equal(again, gap_tree(gap, features, half)[order])
    # An instance without a gap is grouped all the same.
    unknown = np.where(np.arange(N) % 5 == 0, np.nan, gap)
    assert (gap_tree(unknown, features, half) != "").all()


def test_names_say_what_is_in_a_group() -> None:
    rng = np.random.default_rng(3)
    letters = np.array(list("abcdef"))[rng.integers(6, size=2000)]
    number = rng.integers(1, 11, 2000).astype(float)
    number[:40] = np.nan
    gap = np.where(letters == "c", 0.5, 0.0) + np.where(number > 5, 0.2, 0.0) + rng.normal(0, 0.05, 2000)
    half = rng.permutation(2000) < 1000
    found = gap_tree(gap, [Feature("subject", letters), Feature("words", number)], half)
    assert set(found[half].tolist()) == {
        "a: subject c and words <= 5 or not known",
        "a: subject c and words > 5",
        "a: subject not c and words <= 5 or not known",
        "a: subject not c and words > 5",
    }
    members = found == "a: subject not c and words > 5"
    np.testing.assert_array_equal(members, half & (letters != "c") & (number > 5))
    steps = np.where(number > 8, 0.9, np.where(number > 5, 0.6, 0.0))
    twice = gap_tree(steps, [Feature("words", number)], half)
    assert set(twice[half].tolist()) == {"a: words <= 5 or not known", "a: 5 < words <= 8", "a: words > 8"}


def test_two_cuts_of_one_category_become_one_rule() -> None:
    rng = np.random.default_rng(4)
    place = rng.integers(6, size=3000)
    half = rng.permutation(3000) < 1500
    gap = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0])[place] + rng.normal(0, 0.01, 3000)
    found = gap_tree(gap, [Feature("subject", np.array(list("abcdef"))[place])], half)
    assert set(found[half].tolist()) == {"a: subject a, b", "a: subject e, f", "a: subject not a, b +2"}
    for name, letters in {"a: subject not a, b +2": "cd", "a: subject e, f": "ef"}.items():
        np.testing.assert_array_equal(found == name, half & np.isin(np.array(list("abcdef"))[place], list(letters)))


def test_nothing_is_cut_below_thirty_or_without_a_difference() -> None:
    half = np.arange(100) % 2 == 0
    few = gap_tree(np.repeat([0.0, 1.0], 50), [Feature("words", np.repeat([1.0, 2.0], 50))], half)
    assert set(few.tolist()) == {"a: all", "b: all"}  # 25 on each side of each half
    same = gap_tree(np.zeros(400), [Feature("words", np.arange(400.0))], np.arange(400) % 2 == 0)
    assert set(same.tolist()) == {"a: all", "b: all"}
    assert gap_tree([], [], np.zeros(0, bool)).tolist() == []
    with pytest.raises(ValueError, match="one entry for each of 3 instances"):
        gap_tree([0.1, 0.2, 0.3], [Feature("words", np.zeros(2))], np.zeros(3, bool))


def test_a_search_on_the_other_half_finds_no_gaps_that_are_not_there() -> None:
    """Of 60 calibrated worlds a p below 0.05 is rare; trees that see their own instances find one in most."""
    found = {True: 0, False: 0}
    for trial in range(60):
        rng = np.random.default_rng([5, trial])
        confidence = rng.uniform(0.2, 0.8, N)
        correct = (rng.random(N) < confidence).astype(float)
        features = [Feature("words", rng.integers(1, 30, N).astype(float)), Feature("noise", rng.random(N))]
        half = rng.permutation(N) < N // 2
        for honest in found:
            # To see its own instances, each is there twice, once in each half.
            if honest:
                names = gap_tree(confidence - correct, features, half)
            else:
                both = [Feature(f.name, np.tile(f.values, 2)) for f in features]
                names = gap_tree(np.tile(confidence - correct, 2), both, np.arange(2 * N) < N)[:N]
            kept = {str(name): names == name for name in np.unique(names)}
            found[honest] += gaps_of(confidence, correct, kept, Resampling(100, trial)).p_value < 0.05
    assert found[True] <= 8  # 3 expected
    assert found[False] >= 15
