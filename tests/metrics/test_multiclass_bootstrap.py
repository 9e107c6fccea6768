"""The bootstrap of metrics of distributions against resamples written out, and its intervals by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from metric_functions import ON_DISTRIBUTIONS, Forecast, drawn
from simulations import TRIALS, chance

from calprobe.metrics import (
    Estimate,
    Resampling,
    bootstrap,
    bootstrap_multiclass,
    multiclass_metrics,
    resamples,
    standard_metrics,
)
from calprobe.metrics.resamples import check_clusters, resample_counts

WIDTHS = np.array([2, 7, 25, 1, 4] * 12)


def taken(forecast: Forecast, instances: np.ndarray) -> Forecast:
    """The forecast of these instances, repeats included."""
    probabilities, offsets, answers = forecast
    pieces = [probabilities[offsets[i] : offsets[i + 1]] for i in instances]
    return np.concatenate(pieces), np.concatenate([[0], np.cumsum([len(p) for p in pieces])]), answers[instances]


def with_failed(forecast: Forecast, instances: list[int]) -> Forecast:
    probabilities, offsets, answers = forecast[0].copy(), *forecast[1:]
    for instance in instances:
        probabilities[offsets[instance] : offsets[instance + 1]] = np.nan
    return probabilities, offsets, answers


def intervals(forecast: Forecast, resampling: Resampling, clusters: np.ndarray | None = None) -> dict[str, Estimate]:
    probabilities, offsets, answers = forecast
    found = bootstrap_multiclass(multiclass_metrics(), {"": probabilities}, offsets, answers, resampling, clusters)
    return found[""]


def values_of_resamples(
    forecast: Forecast, resampling: Resampling, clusters: np.ndarray | None
) -> dict[str, list[float]]:
    drawn_together = check_clusters(clusters, len(forecast[2]))
    counts = np.concatenate(list(resample_counts(len(forecast[2]), resampling, drawn_together)))
    written_out = [taken(forecast, np.repeat(np.arange(len(forecast[2])), count)) for count in counts]
    return {name: [metric(*resample).value for resample in written_out] for name, metric in ON_DISTRIBUTIONS.items()}


@pytest.mark.parametrize("clusters", [None, np.arange(60) % 12])
@pytest.mark.parametrize("failed", [[], [3, 20, 41]])
def test_intervals_are_those_of_the_resamples_written_out(failed: list[int], clusters: np.ndarray | None) -> None:
    forecast = with_failed(drawn(np.random.default_rng(5), WIDTHS, 0.1), failed)
    resampling = Resampling(60, seed=2)
    found = intervals(forecast, resampling, clusters)
    values = values_of_resamples(forecast, resampling, clusters)
    for name, metric in ON_DISTRIBUTIONS.items():
        assert found[name].value == pytest.approx(metric(*forecast).value, abs=1e-12)
        low, high = np.percentile(values[name], [2.5, 97.5])
        if name == "static_calibration_error":  # shifted, docs/methods/intervals-and-tests.md
            bias = np.mean(values[name]) - found[name].value
            assert bias > 0
            assert found[name].low in (0, pytest.approx(low - 2 * bias, abs=1e-12))
            high = max(high - bias, found[name].value)
        else:
            assert found[name].low == pytest.approx(low, abs=1e-12)
        assert found[name].high == pytest.approx(high, abs=1e-12)


def test_resamples_are_those_of_the_other_metrics() -> None:
    # Two candidates, and a confidence that is one of the two probabilities: half of brier_sum is brier.
    rng = np.random.default_rng(1)
    surest = rng.uniform(0.5, 1, 90)
    correct = rng.random(90) < surest
    both = np.stack([surest, 1 - surest], axis=1).ravel()
    ours = intervals((both, np.arange(0, 181, 2), ~correct), Resampling(200))
    (brier,) = (metric for metric in standard_metrics() if metric.name == "brier")
    theirs = bootstrap([brier], surest, correct, Resampling(200))["brier"]
    assert ours["brier_sum"].low == pytest.approx(2 * theirs.low, abs=1e-12)
    assert ours["brier_sum"].high == pytest.approx(2 * theirs.high, abs=1e-12)
    assert ours["brier_mean"].high == pytest.approx(theirs.high, abs=1e-12)


def test_the_interval_of_static_calibration_error_holds_by_simulation() -> None:
    """Answers drawn from the probabilities: its value in a large sample is 0, and 0 must be in nearly all intervals.

    Then answers of a model that is far too sure: 0 must be in none, and the value of a large sample in nearly all.
    """
    widths, covered, held, apart = np.array([3, 8, 25] * 40), 0, 0, 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([trial, 9])
        pieces = [rng.dirichlet(np.full(width, 0.3)) for width in widths]
        truth, offsets = np.concatenate(pieces), np.concatenate([[0], np.cumsum(widths)])
        answers = np.array([rng.choice(len(piece), p=piece) for piece in pieces])
        calibrated = intervals((truth, offsets, answers), Resampling(100, trial))["static_calibration_error"]
        assert 0 <= calibrated.low <= calibrated.value <= calibrated.high
        held += calibrated.low == 0
        flat = np.array([rng.choice(len(piece)) for piece in pieces])  # the answer has nothing to do with p
        unsure = intervals((truth, offsets, flat), Resampling(100, trial))["static_calibration_error"]
        apart += unsure.low > 0
        covered += unsure.low <= LARGE_SAMPLE <= unsure.high
    assert min(held, covered) / TRIALS >= 0.94 - chance(0.95)
    assert apart == TRIALS


# Static calibration error of the second kind of answers above, over 420,000 instances.
LARGE_SAMPLE = 0.0769


def test_the_seed_decides() -> None:
    forecast = drawn(np.random.default_rng(3), WIDTHS)
    one, again, other = (intervals(forecast, Resampling(50, seed)) for seed in (1, 1, 2))
    assert one == again
    assert one["brier_sum"].value == other["brier_sum"].value
    assert one["brier_sum"].low != other["brier_sum"].low


def test_neither_blocks_nor_threads_nor_others_change_a_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    forecast = drawn(np.random.default_rng(4), WIDTHS)
    complete = intervals(forecast, Resampling(100))
    probabilities, *rest = forecast
    other = drawn(np.random.default_rng(5), WIDTHS)[0]
    monkeypatch.setattr(resamples, "BLOCK_ENTRIES", len(WIDTHS) * 7)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = bootstrap_multiclass(multiclass_metrics(), {"other": other, "own": probabilities}, *rest, Resampling(100))
    assert found["own"] == complete
    assert found["other"] != complete


def test_answers_that_hang_together_widen_the_interval_of_clusters() -> None:
    rng = np.random.default_rng(8)
    clusters = np.repeat(np.arange(40), 10)
    known = np.repeat(rng.random(40) < 0.5, 10)
    forecast = np.tile([0.7, 0.1, 0.1, 0.1], 400), np.arange(0, 1601, 4), np.where(known, 0, 2)
    single, together = intervals(forecast, Resampling(300)), intervals(forecast, Resampling(300), clusters)
    for name in ON_DISTRIBUTIONS:
        assert together[name].high - together[name].low > 2 * (single[name].high - single[name].low), name
        assert together[name].value == single[name].value


@pytest.mark.parametrize("forecast", [([], [0], []), ([np.nan, np.nan], [0, 2], [1])])
def test_nothing_to_measure(forecast: Forecast) -> None:
    found = intervals(forecast, Resampling(10))
    assert all(math.isnan(number) for e in found.values() for number in (e.value, e.low, e.high))


def test_no_resamples_no_intervals() -> None:
    found = intervals(([0.5, 0.5], [0, 2], [0]), Resampling(0))
    assert found["brier_sum"].value == 0.5
    assert all(math.isnan(estimate.low) for estimate in found.values())


def test_one_instance_beside_failed_ones() -> None:
    # Some resamples hold failed instances only: they have no value, and are left out.
    # All others hold the same instance, and resamples that agree have no interval.
    probabilities = [0.5, 0.5, np.nan, np.nan, np.nan]
    found = intervals((probabilities, [0, 2, 3, 5], [0, 0, 1]), Resampling(100))
    assert (found["brier_sum"].value, found["static_calibration_error"].value) == (0.5, 0)
    assert all(math.isnan(end) for own in found.values() for end in (own.low, own.high))


def test_two_instances_beside_failed_ones() -> None:
    probabilities = [0.5, 0.5, 0.25, 0.75, np.nan, np.nan, np.nan]
    found = intervals((probabilities, [0, 2, 4, 5, 7], [0, 0, 0, 1]), Resampling(100))
    # Squared errors 2 (1/2)^2 and 2 (3/4)^2: a resample holds either alone, or both.
    brier = found["brier_sum"]
    assert (brier.low, brier.value, brier.high) == (0.5, 0.8125, 1.125)
    sce = found["static_calibration_error"]
    assert 0 <= sce.low <= sce.value <= sce.high <= 1


def test_a_single_candidate_is_always_right() -> None:
    found = intervals(([1.0, 1.0], [0, 1, 2], [0, 0]), Resampling(20))
    assert {e.value for e in found.values()} == {0}
    assert all(math.isnan(end) for e in found.values() for end in (e.low, e.high))  # no resample differs
