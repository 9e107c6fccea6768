"""Paired differences against resamples written out, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from metric_functions import ON_ARRAYS
from simulations import TRIALS, chance

from calprobe.metrics import Resampling, bootstrap, paired_differences, standard_metrics
from calprobe.metrics.resamples import check_clusters, resample_counts
from calprobe.metrics.scoring_rules import MEAN_CONFIDENCE

METRICS = standard_metrics()
BY_NAME = {metric.name: metric for metric in METRICS}


def two_models(n_instances: int, gaps: tuple[float, float], seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Two models on the same instances, which are hard or easy for both; confidence exceeds accuracy by the gap."""
    rng = np.random.default_rng([seed, 77])
    hardness, luck = rng.random(n_instances), rng.random(n_instances)
    found = {}
    for name, gap in zip("ab", gaps, strict=True):
        shared = rng.random(n_instances) < 0.5
        confidence = gap + (1 - gap) * np.where(shared, hardness, rng.random(n_instances))
        draw = np.where(rng.random(n_instances) < 0.5, luck, rng.random(n_instances))
        found[name] = (confidence, draw < confidence - gap)
    return found


@pytest.mark.parametrize("clustered", [False, True])
def test_differences_are_those_of_the_resamples_written_out(clustered: bool) -> None:
    models, resampling = two_models(90, (0.3, 0.1), 1), Resampling(80, 4)
    labels = np.arange(90) % 12 if clustered else None
    found = paired_differences(METRICS, models, [("a", "b")], resampling, labels)["a", "b"]
    single = {name: bootstrap(METRICS, *sample, resampling, labels) for name, sample in models.items()}
    (counts,) = resample_counts(90, resampling, check_clusters(labels, 90))
    drawn = [np.repeat(np.arange(90), count) for count in counts]
    for name, function in ON_ARRAYS.items():
        assert found[name].value == single["a"][name].value - single["b"][name].value
        if BY_NAME[name].biased or BY_NAME[name].overfit:
            assert found[name].low <= found[name].value <= found[name].high
            continue
        values = np.array([function(*_at("a", i, models)).value - function(*_at("b", i, models)).value for i in drawn])
        low, high = np.percentile(values, [2.5, 97.5])
        assert (found[name].low, found[name].high) == pytest.approx((low, high), abs=1e-12)
        p_value = 2 * (1 + min((values <= 0).sum(), (values >= 0).sum())) / 81
        assert found[name].p_value == pytest.approx(min(1, p_value)), name


def _at(name: str, instances: np.ndarray, models: dict) -> tuple[np.ndarray, np.ndarray]:
    confidence, correct = models[name]
    return confidence[instances], correct[instances]


def test_a_difference_of_biased_errors_is_shifted_by_what_chance_may_have_added() -> None:
    # Both far from what calibration gives by chance, so that each may be too large by its own bias.
    models, resampling = two_models(300, (0.45, 0.3), 2), Resampling(200, 5)
    found = paired_differences([BY_NAME["ece"]], models, [("a", "b")], resampling)["a", "b"]["ece"]
    (counts,) = resample_counts(300, resampling)
    drawn = [np.repeat(np.arange(300), count) for count in counts]
    values = {name: np.array([ON_ARRAYS["ece"](*_at(name, i, models)).value for i in drawn]) for name in "ab"}
    own = {name: ON_ARRAYS["ece"](*models[name]).value for name in "ab"}
    bias = {name: values[name].mean() - own[name] for name in "ab"}
    centred = values["a"] - values["b"] - (bias["a"] - bias["b"])
    low, high = centred - max(bias["a"], 0), centred + max(bias["b"], 0)
    assert found.low == pytest.approx(np.percentile(low, 2.5), abs=1e-12)
    assert found.high == pytest.approx(np.percentile(high, 97.5), abs=1e-12)
    assert found.p_value == pytest.approx(2 * (1 + min((low <= 0).sum(), (high >= 0).sum())) / 201)


def test_swapping_a_pair_turns_the_difference_round() -> None:
    models = two_models(120, (0.3, 0.1), 3)
    found = paired_differences(METRICS, models, [("a", "b"), ("b", "a")], Resampling(100))
    for name, there in found["a", "b"].items():
        back = found["b", "a"][name]
        assert (back.value, back.p_value) == (-there.value, there.p_value)
        assert (-back.high, -back.low) == pytest.approx((there.low, there.high), abs=1e-12)


def test_a_sample_and_itself_do_not_differ() -> None:
    models = two_models(60, (0.1, 0.1), 4)
    for name, found in paired_differences(METRICS, models, [("a", "a")], Resampling(50))["a", "a"].items():
        assert (found.value, found.p_value) == (0, 1), name
        assert math.isnan(found.low), name


def test_what_is_equal_on_paper_is_no_difference_whatever_the_rounding() -> None:
    thirds = np.random.default_rng(2).integers(0, 4, size=(2, 12))
    samples = {name: (own / 3, own > 1) for name, own in zip("ab", thirds, strict=True)}
    found = paired_differences([MEAN_CONFIDENCE], samples, [("a", "b")], Resampling(300))["a", "b"]["mean_confidence"]
    (counts,) = resample_counts(12, Resampling(300))
    exact = counts @ (thirds[0] - thirds[1])
    assert (exact == 0).sum() > 10
    assert found.p_value == min(1.0, 2 * (1 + min((exact <= 0).sum(), (exact >= 0).sum())) / 301)


def test_pairing_makes_the_interval_narrower() -> None:
    rng = np.random.default_rng(6)
    hard = rng.random(400) < 0.5
    better = np.where(hard, rng.random(400) < 0.1, True)
    models = {"a": (np.full(400, 0.5), hard), "b": (np.full(400, 0.5), hard & ~better), "c": (np.full(400, 0.5), ~hard)}
    (accuracy,) = (metric for metric in METRICS if metric.name == "accuracy")
    found = paired_differences([accuracy], models, [("a", "b"), ("a", "c")], Resampling(300))
    alike, opposite = (found[pair]["accuracy"] for pair in (("a", "b"), ("a", "c")))
    assert alike.high - alike.low < 0.5 * (opposite.high - opposite.low)


@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.1, 0.1), (0.0, 0.1)])
def test_intervals_cover_the_large_samples_difference(gaps: tuple[float, float]) -> None:
    metrics = [BY_NAME[name] for name in ("ece", "ace", "brier")]
    brier = [gap**2 + (1 - gap) / 2 - (1 - gap) ** 2 / 3 for gap in gaps]
    truth = {"ece": gaps[0] - gaps[1], "ace": gaps[0] - gaps[1], "brier": brier[0] - brier[1]}
    covered, p_values = dict.fromkeys(truth, 0), []
    for trial in range(TRIALS):
        models = two_models(300, gaps, trial)
        found = paired_differences(metrics, models, [("a", "b")], Resampling(100, trial))["a", "b"]
        for name, difference in found.items():
            covered[name] += difference.low <= truth[name] <= difference.high
        p_values.append([found[name].p_value for name in truth])
    assert min(covered.values()) / TRIALS >= 0.94 - chance(0.95), covered
    if gaps[0] == gaps[1]:
        below = np.mean(np.array(p_values) < 0.05, axis=0)
        assert below.max() <= 0.06 + chance(0.05)
        halves = np.mean(np.array(p_values)[:, 2] < [[0.25], [0.5], [0.75]], axis=1)
        assert halves == pytest.approx([0.25, 0.5, 0.75], abs=0.01 + chance(0.5))  # Brier's are uniform


def test_no_resamples_no_instances_one_class() -> None:
    models = {"a": ([0.5, 0.25], [True, False]), "b": ([0.5, 0.75], [True, True])}
    found = paired_differences(METRICS, models, [("a", "b")], Resampling(0))["a", "b"]
    assert found["accuracy"].value == -0.5
    assert math.isnan(found["accuracy"].p_value)
    assert math.isnan(found["auroc"].value)
    resampled = paired_differences(METRICS, models, [("a", "b")], Resampling(20))["a", "b"]
    assert math.isnan(resampled["auroc"].p_value)
    assert paired_differences(METRICS, models, [], Resampling(20), clusters=["P30", "P36"]) == {}
    nothing = paired_differences(METRICS, {"a": ([], []), "b": ([], [])}, [("a", "b")])["a", "b"]
    assert all(math.isnan(d.value) and math.isnan(d.p_value) for d in nothing.values())


def test_what_does_not_pair_is_refused() -> None:
    models = {"a": ([0.5], [True]), "b": ([0.5, 0.5], [True, True])}
    with pytest.raises(ValueError, match="samples must be of the same instances; 'a' has 1 of them, 'b' 2"):
        paired_differences(METRICS, models, [("a", "b")])
    with pytest.raises(ValueError, match="pairs must name samples, 'a', 'b'; got 'c'"):
        paired_differences(METRICS, models, [("a", "c")])


@pytest.mark.parametrize("n_wrong", [9, 10])
def test_an_order_that_rests_on_few_answers_has_no_tested_difference(n_wrong: int) -> None:
    rng = np.random.default_rng(3)
    correct = np.arange(200) >= n_wrong
    samples = {name: (rng.random(200), correct) for name in "ab"}
    found = paired_differences(METRICS, samples, [("a", "b")], Resampling(50))["a", "b"]
    ranks = ("auroc", "aurc", "e_aurc", "augrc", "prr")
    assert {np.isnan(found[name].p_value) for name in ranks} == {n_wrong < 10}
    assert {np.isnan(found[name].low) for name in ranks} == {n_wrong < 10}
    assert not any(np.isnan(found[name].value) for name in ranks)
    assert found["brier"].p_value > 0
