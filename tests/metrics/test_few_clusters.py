"""How many clusters an interval needs, instances drawn within clusters, and intervals inside what is possible."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import (
    ACCURACY,
    LEAST_CLUSTERS,
    AtThresholds,
    Resampling,
    Within,
    accuracy_bands,
    bootstrap,
    bootstrap_mean,
    mean_draws,
    paired_differences,
    standard_metrics,
)
from calprobe.metrics.resamples import check_clusters, resample_counts
from calprobe.metrics.sample import sort_instances

METRICS = standard_metrics()
BOUNDS = {metric.name: metric.bounds for metric in METRICS}


def sample(n_instances: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.random(n_instances)
    return confidence, rng.random(n_instances) < confidence


@pytest.mark.parametrize("number", [1, 2, 3, LEAST_CLUSTERS - 1])
def test_a_handful_of_clusters_has_no_interval_and_no_p(number: int) -> None:
    labels = np.arange(40) % number
    first, second = sample(40), sample(40, 1)
    found = bootstrap(METRICS, *first, Resampling(20), labels)
    assert all(math.isnan(own.low) and math.isnan(own.high) for own in found.values())
    assert not math.isnan(found["accuracy"].value)
    pair = paired_differences(METRICS, {"a": first, "b": second}, [("a", "b")], Resampling(20), labels)["a", "b"]
    assert all(math.isnan(own.low) and math.isnan(own.p_value) for own in pair.values())
    assert math.isnan(bootstrap_mean(first[0], Resampling(20), labels).low)
    curve = AtThresholds(sort_instances(*first), np.array([0.0]))
    assert np.isnan(accuracy_bands({"": curve}, 40, Resampling(20), labels)[""].low).all()


def test_ten_clusters_have_intervals() -> None:
    found = bootstrap(METRICS, *sample(400), Resampling(20), np.arange(400) % LEAST_CLUSTERS)
    without = {name for name, own in found.items() if math.isnan(own.low)}
    # p-values, percentiles and a test statistic are no estimates, and never have one; their values are there.
    assert without == {name for name in found if name.endswith(("_p", "_p95")) or name == "spiegelhalter_z"}
    assert not any(math.isnan(own.value) for own in found.values())
    assert not any(math.isnan(own.high) for name, own in found.items() if name not in without)


@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=30), seed=st.integers(0, 9))
def test_within_clusters_every_resample_has_each_cluster_as_often_as_the_sample(labels: list[int], seed: int) -> None:
    own = np.array(labels)
    counts = np.concatenate(list(resample_counts(len(own), Resampling(8, seed), check_clusters(Within(own), len(own)))))
    for label in np.unique(own):
        assert (counts[:, own == label].sum(axis=1) == (own == label).sum()).all()


def test_draws_within_a_cluster_are_uniform() -> None:
    own = np.array([0, 1, 0, 1, 1, 0, 2])
    (counts,) = resample_counts(7, Resampling(4000), check_clusters(Within(own), 7))
    # Mean count 1, variance 2/3: five standard errors of 4,000 are 0.065. A cluster of one instance never changes.
    assert np.abs(counts.mean(axis=0) - 1).max() < 0.065
    assert counts[:, :6].var(axis=0) == pytest.approx(np.full(6, 2 / 3), abs=0.1)
    assert (counts[:, 6] == 1).all()


def test_within_relations_the_standard_error_is_that_of_a_stratified_mean() -> None:
    rng = np.random.default_rng(3)
    relation = np.repeat(np.arange(20), 30)
    correct = rng.random(600) < np.repeat(rng.random(20), 30)  # relations differ much
    found = bootstrap_mean(correct, Resampling(2000), Within(relation))
    shares = correct.reshape(20, 30).mean(axis=1)
    error = math.sqrt((shares * (1 - shares)).sum() / 30) / 20
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.08)
    plain = bootstrap_mean(correct, Resampling(2000))
    by_relation = bootstrap_mean(correct, Resampling(2000), relation)
    assert found.high - found.low < plain.high - plain.low < by_relation.high - by_relation.low


def test_labels_within_can_be_cut_to_some_instances() -> None:
    labels = Within(np.array(["P30", "P36", "P30"]))
    assert labels[np.array([True, False, True])].labels.tolist() == ["P30", "P30"]


@pytest.mark.proof
@given(n_instances=st.integers(1, 12), seed=st.integers(0, 200), level=st.sampled_from([0.0, 0.5, 1.0]))
def test_intervals_stay_inside_what_is_possible(n_instances: int, seed: int, level: float) -> None:
    first = sample(n_instances, seed)
    second = np.full(n_instances, level), ~first[1]
    samples = {"a": first, "b": second}
    for name, own in bootstrap(METRICS, *first, Resampling(30, seed)).items():
        least, most = BOUNDS[name]
        assert math.isnan(own.low) or least - 1e-12 <= own.low <= own.high <= most + 1e-12, (name, own)
    for name, own in paired_differences(METRICS, samples, [("a", "b")], Resampling(30, seed))["a", "b"].items():
        most = BOUNDS[name][1] - BOUNDS[name][0]
        assert math.isnan(own.low) or -most <= own.low <= own.value <= own.high <= most or not BIASED[name], name
        assert math.isnan(own.low) or -most - 1e-12 <= own.low <= own.high <= most + 1e-12, (name, own)


BIASED = {metric.name: metric.biased for metric in METRICS}


@pytest.mark.parametrize("n_instances", [1, 2, 3, 9])
def test_a_handful_of_instances_proves_no_difference(n_instances: int) -> None:
    """Each differs the same way, so that every resample does: a sign-flip test of three cannot go below .25."""
    samples = {
        "a": (np.full(n_instances, 0.9), np.ones(n_instances, bool)),
        "b": (np.full(n_instances, 0.8), np.zeros(n_instances, bool)),
    }
    for name, found in paired_differences(METRICS, samples, [("a", "b")])["a", "b"].items():
        assert all(map(math.isnan, (found.low, found.high, found.p_value))), name
    assert paired_differences([ACCURACY], samples, [("a", "b")])["a", "b"]["accuracy"].value == 1.0
    each = mean_draws(np.ones(n_instances))
    assert each.few == n_instances
    assert math.isnan(each.equivalence(2.0))
    within = Within(np.arange(n_instances))
    assert math.isnan(paired_differences([ACCURACY], samples, [("a", "b")], clusters=within)["a", "b"]["accuracy"].low)
    assert mean_draws(np.ones(10)).difference().p_value < 0.05


def test_a_difference_of_two_errors_stays_within_one() -> None:
    """An error of 0 and one of nearly 1 on a handful of instances: shifted ends would reach beyond 1."""
    rng = np.random.default_rng(1)
    wrong = rng.uniform(0.8, 1.0, 10), np.zeros(10, dtype=bool)
    right = rng.uniform(0.4, 0.6, 10), rng.random(10) < 0.5
    pair = paired_differences(METRICS, {"a": wrong, "b": right}, [("a", "b"), ("b", "a")], Resampling(200))
    for (first, _), found in pair.items():
        for name in ("ace", "ece", "smooth_ece", "max_calibration_error"):
            assert -1 <= found[name].low <= found[name].high <= 1, (first, name, found[name])
