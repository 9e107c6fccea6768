"""Which calibration error is printed of which confidences, and what stands beside it."""

from __future__ import annotations

import numpy as np
import pytest

from calprobe.metrics import Resampling, ace, bootstrap, bootstrap_mean, ece, group_gaps, spread, standard_metrics
from calprobe.metrics.correlation import correlation
from calprobe.metrics.error_shown import (
    ERRORS,
    chance_shown,
    columns_shown,
    error_shown,
    for_chance,
    has_few_values,
    with_chance,
)
from calprobe.metrics.intervals import Draws, reference
from calprobe.metrics.reference import chance_metrics
from calprobe.metrics.scoring_rules import BRIER


@pytest.mark.parametrize(
    ("values", "n_bins", "few"),
    [
        (np.linspace(0, 1, 20), 20, False),  # as many values as bins
        (np.repeat(np.linspace(0, 1, 19), 5), 20, True),
        (np.repeat(np.linspace(0, 1, 19), 5), 10, False),
        ([0.2, 0.4, 0.6], 20, False),  # fewer than bins, and all different
        ([0.2, 0.4, 0.4], 20, True),
        (np.repeat([0.1, 0.2, 0.3, 0.4], 15), None, False),  # 60 instances have four bins
        (np.repeat([0.1, 0.2, 0.3], 20), None, True),
        ([], 20, False),
    ],
)
def test_few_values_are_fewer_than_the_bins_that_there_can_be(
    values: list[float], n_bins: int | None, few: bool
) -> None:
    assert has_few_values(values, n_bins) is few


def test_ece_is_printed_where_six_answers_would_weigh_as_much_as_a_hundred() -> None:
    confidence, correct = [0.9] * 100 + [0.1] * 6, [True] * 90 + [False] * 10 + [True] * 6
    assert float(ace(confidence, correct)) == pytest.approx(0.45)  # (0 + 0.9) / 2
    assert float(ece(confidence, correct)) == pytest.approx(0.9 * 6 / 106)
    assert error_shown(few_values=has_few_values(confidence)) == "ece"


def test_what_chance_makes_of_errors_is_shown_of_fewer_than_a_thousand_questions() -> None:
    assert [chance_shown(n, Resampling()) for n in (999, 1000)] == [True, False]
    assert not chance_shown(60, Resampling(0)), "without draws there is none"


def test_what_chance_makes_of_an_error_by_hand() -> None:
    drawn = Draws(0.3, np.empty(0), np.array([0.1, 0.2, 0.3, 0.4]))
    size, p = (reference(drawn, metric) for metric in chance_metrics(BRIER))
    assert size.value == pytest.approx(0.25)
    assert p.value == pytest.approx((1 + 2) / (1 + 4))
    assert np.isnan(reference(Draws(0.3, np.empty(0)), chance_metrics(BRIER)[0]).value), "without draws there is none"


@pytest.mark.parametrize("clusters", [None, np.arange(120) % 15])
def test_a_list_draws_what_chance_makes_of_errors_and_no_intervals(clusters: np.ndarray | None) -> None:
    confidence = np.linspace(0.3, 0.9, 120)
    correct = np.random.default_rng(0).random(120) < 0.5
    whole = bootstrap(standard_metrics(), confidence, correct, Resampling(200), clusters)
    found = bootstrap(standard_metrics(), confidence, correct, for_chance(120, Resampling(200)), clusters)
    for error in ERRORS:
        _, *chance = with_chance(error)
        assert [found[name] for name in chance] == [whole[name] for name in chance]
        assert 0 < found[f"{error}_p"].value < 1
        assert (found[error].value, np.isnan(found[error].low)) == (whole[error].value, True)
        assert not np.isnan(whole[error].low)


def test_without_intervals_other_numbers_are_as_without_resamples() -> None:
    rng = np.random.default_rng(1)
    confidence, correct, groups = rng.random(120), rng.random(120) < 0.5, np.arange(120) % 3
    drawn, none = Resampling(200, intervals=False), Resampling(0)
    found = bootstrap(standard_metrics(), confidence, correct, drawn)
    assert all(np.isnan(own.low) for name, own in found.items() if not name.endswith("if_calibrated"))
    for numbers in (
        lambda resampling: spread(correct.reshape(4, 30), resampling),
        lambda resampling: correlation(confidence, correct, resampling),
        lambda resampling: group_gaps(confidence, correct, groups, resampling),
        lambda resampling: bootstrap_mean(confidence, resampling),
    ):
        assert repr(numbers(drawn)) == repr(numbers(none))


@pytest.mark.parametrize("few", [False, True])
def test_one_error_is_printed_with_what_chance_makes_of_it_behind_it(few: bool) -> None:
    error = "ece" if few else "ace"
    shown = columns_shown(standard_metrics(), few_values=few, chance=True)
    assert sorted(own.name for own in shown) == sorted(own.name for own in standard_metrics())
    printed = [own.name for own in shown if own.printed]
    beside = [error, f"{error}_if_calibrated", f"{error}_p"]
    assert printed == ["accuracy", "mean_confidence", *beside, "brier", "auroc"]
    assert [own.priority for own in shown if own.name in beside] == [2, 2, 3], "p gets room behind mean confidence"
    names = [own.name for own in shown]
    for name in ("ace", "ece"):
        at = names.index(name)
        assert names[at + 1 : at + 4] == [f"{name}_if_calibrated", f"{name}_if_calibrated_p95", f"{name}_p"]


def test_of_many_questions_errors_are_printed_alone() -> None:
    printed = [[own.name for own in columns_shown(standard_metrics(), few_values=few, chance=False) if own.printed]
               for few in (False, True)]  # fmt: skip
    assert printed[0] == ["accuracy", "mean_confidence", "ace", "ece", "brier", "auroc"]
    assert printed[1] == ["accuracy", "mean_confidence", "ece", "brier", "auroc"]
