"""Several samples in one pass, and resamples of complete clusters: against one at a time and against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from confidence_samples import samples
from hypothesis import given
from metric_functions import ON_ARRAYS
from scipy.stats import norm

from calprobe.metrics import (
    ReferenceMetric,
    Resampling,
    ace,
    bootstrap,
    bootstrap_many,
    bootstrap_mean,
    resamples,
    standard_metrics,
)
from calprobe.metrics import resamples as resamples_module
from calprobe.metrics.bootstrap import draw_samples
from calprobe.metrics.metric import evaluate
from calprobe.metrics.resamples import check_clusters, cluster_signs, resample_counts
from calprobe.metrics.sample import row_sums, sort_instances

METRICS = standard_metrics()


def two_samples(n_instances: int = 90) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """One without ties, one of a few levels."""
    rng = np.random.default_rng(5)
    free, levels = rng.random(n_instances), rng.integers(0, 6, n_instances) / 5
    return {"free": (free, rng.random(n_instances) < free), "levels": (levels, rng.random(n_instances) < 0.4)}


NAMES = ["P30", "P36", "P19", "P6", "P131", "P7", "P17", "P27", "P50", "P54", "P57", "P69"]
LABELS = np.array(NAMES)[np.random.default_rng(0).integers(0, 12, 90)]


@pytest.mark.parametrize("clusters", [None, LABELS])
def test_many_are_each_by_itself(clusters: np.ndarray | None) -> None:
    together = bootstrap_many(METRICS, two_samples(), Resampling(60, 3), clusters)
    for name, sample in two_samples().items():
        assert repr(together[name]) == repr(bootstrap(METRICS, *sample, Resampling(60, 3), clusters))


@pytest.mark.parametrize("clusters", [None, LABELS])
@pytest.mark.parametrize(("rows", "n_threads"), [(100, 2), (7, 1), (7, 3), (1, 2)])
def test_draws_are_the_same_to_the_last_bit_in_any_blocks_and_threads(
    monkeypatch: pytest.MonkeyPatch, clusters: np.ndarray | None, rows: int, n_threads: int
) -> None:
    def drawn(rows: int, n_threads: int) -> dict[tuple[str, str], list[np.ndarray | None]]:
        monkeypatch.setattr(resamples, "BLOCK_ENTRIES", 90 * rows)
        monkeypatch.setattr(resamples_module, "thread_count", lambda: n_threads)
        found = draw_samples(METRICS, two_samples(), Resampling(40), clusters)
        return {(name, m): [d.resampled, d.by_chance] for name, own in found.items() for m, d in own.items()}

    expected = drawn(40, 1)
    for key, (resampled, by_chance) in drawn(rows, n_threads).items():
        assert np.array_equal(resampled, expected[key][0], equal_nan=True), key
        assert (by_chance is None) == (expected[key][1] is None)
        assert by_chance is None or np.array_equal(by_chance, expected[key][1], equal_nan=True), key


@pytest.mark.parametrize("n_instances", [1, 7, 1000, 20_001])
def test_row_sums_do_not_depend_on_the_other_rows(n_instances: int) -> None:
    rng = np.random.default_rng(n_instances)
    weights, values = rng.integers(0, 4, (9, n_instances)).astype(float), rng.random(n_instances)
    own = rng.random((9, n_instances))
    for quantity in (values, own):
        complete = row_sums(weights, quantity)
        by_row = np.broadcast_to(quantity, own.shape)
        assert complete.tolist() == [row_sums(weights[i : i + 1], by_row[i])[0] for i in range(9)]
        np.testing.assert_allclose(complete, [math.fsum(products) for products in weights * quantity], rtol=1e-13)


def test_complete_clusters_are_drawn_as_many_as_there_are() -> None:
    clusters = check_clusters(LABELS, 90)
    counts = np.concatenate(list(resample_counts(90, Resampling(3000, 1), clusters)))
    assert clusters.number == 12
    own = counts[:, LABELS == "P30"]
    assert (own == own[:, :1]).all()
    first = [np.flatnonzero(label == LABELS)[0] for label in np.unique(LABELS)]
    assert (counts[:, first].sum(axis=1) == 12).all()
    # Mean count 1, variance 11/12 over 3,000 resamples: five standard errors are 0.087.
    assert np.abs(counts[:, first].mean(axis=0) - 1).max() < 0.087
    assert len(set(counts.sum(axis=1))) > 1  # clusters differ in size, so resamples do


@given(samples(least=4))
def test_metrics_of_clustered_counts_are_those_of_the_resample_written_out(
    sample: tuple[np.ndarray, np.ndarray],
) -> None:
    confidence, correct = sample
    labels = np.arange(len(confidence)) % 3
    (counts,) = resample_counts(len(confidence), Resampling(5), check_clusters(labels, len(labels)))
    found = evaluate(METRICS, sort_instances(confidence, correct).resampled(counts))
    for row, count in enumerate(counts):
        drawn = np.repeat(np.arange(len(confidence)), count)
        for name, function in ON_ARRAYS.items():
            expected = function(confidence[drawn], correct[drawn]).value
            np.testing.assert_allclose(found[name][row], expected, rtol=1e-13, atol=1e-11, err_msg=name)


def test_clusters_of_one_instance_each_are_instances() -> None:
    sample = two_samples()["free"]
    plain = bootstrap(METRICS, *sample, Resampling(80))
    single = bootstrap(METRICS, *sample, Resampling(80), clusters=range(90))
    for metric in METRICS:
        if isinstance(metric, ReferenceMetric) or metric.name.startswith("spiegelhalter"):
            continue  # made of other draws by chance, and of another variance
        one, other = single[metric.name], plain[metric.name]
        if metric.name.startswith("cox"):  # sums of products in another order
            assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
            continue
        if not metric.biased:  # the lower end of a biased one depends on draws by chance, too
            assert one == other
        assert one.high == other.high
    confidence, correct = map(np.asarray, sample)
    terms = (correct - confidence) * (1 - 2 * confidence)
    z = terms.sum() / np.sqrt((terms**2).sum())
    assert single["spiegelhalter_z"].value == pytest.approx(z)
    assert single["spiegelhalter_p"].value == pytest.approx(2 * norm.sf(abs(z)))


def test_dependent_instances_have_wider_intervals_when_clustered() -> None:
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(30), 20)
    correct = np.repeat(rng.random(30) < 0.5, 20)  # a relation is all right or all wrong
    plain = bootstrap_mean(correct, Resampling(400))
    clustered = bootstrap_mean(correct, Resampling(400), labels)
    # Thirty clusters tell as much as thirty instances: sqrt(20) = 4.5 times as wide.
    assert 3.5 < (clustered.high - clustered.low) / (plain.high - plain.low) < 5.5


def test_clustered_intervals_cover_where_relations_differ() -> None:
    """Each relation is right more or less often than its confidences say, by up to 0.2, and 0.05 lower on average."""
    rng = np.random.default_rng(8)
    truth = {"ece": 0.05, "brier_reliability": 0.05**2}
    metrics = [metric for metric in METRICS if metric.name in truth]
    trials, covered = 80, {(metric.name, clustered): 0 for metric in metrics for clustered in (False, True)}
    for trial in range(trials):
        relation = np.repeat(np.arange(40), 25)
        confidence = rng.uniform(0.25, 0.8, 1000)
        correct = rng.random(1000) < confidence - 0.05 + rng.uniform(-0.2, 0.2, 40)[relation]
        for clustered in (False, True):
            labels = relation if clustered else None
            for name, found in bootstrap(metrics, confidence, correct, Resampling(100, trial), labels).items():
                assert found.low <= found.value <= found.high
                covered[name, clustered] += found.low <= truth[name] <= found.high
    for metric in metrics:  # three standard errors at the nominal 0.95 are 0.073
        assert covered[metric.name, True] / trials >= 0.86, covered
    assert covered["ece", False] < covered["ece", True], covered


def test_turning_residuals_round_keeps_gaps_and_turns_their_sign() -> None:
    confidence, correct = two_samples()["free"]
    instances = sort_instances(confidence, correct)
    signs = np.array([[1.0] * 90, [-1.0] * 90])
    turned = instances.turned(signs)
    np.testing.assert_allclose(turned.correct[0], instances.correct, atol=1e-15)
    np.testing.assert_allclose(turned.correct[1], 2 * instances.confidence - instances.correct)
    found = evaluate([metric for metric in METRICS if metric.name == "ace"], turned)["ace"]
    np.testing.assert_allclose(found, ace(confidence, correct).value)


def test_signs_are_one_a_cluster() -> None:
    clusters = check_clusters(LABELS, 90)
    (signs,) = cluster_signs(90, Resampling(500), clusters)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    for label in np.unique(LABELS):
        own = signs[:, label == LABELS]
        assert (own == own[:, :1]).all()
        assert abs(own[:, 0].mean()) < 0.2  # 4.5 standard errors


def test_one_cluster_tells_nothing() -> None:
    found = bootstrap(METRICS, [0.4, 0.9], [True, False], Resampling(50), clusters=["P30", "P30"])
    assert found["accuracy"].value == 0.5
    assert all(math.isnan(estimate.low) and math.isnan(estimate.high) for estimate in found.values())


def test_no_samples_no_instances() -> None:
    assert bootstrap_many(METRICS, {}) == {}
    found = bootstrap_many(METRICS, {"none": ([], [])}, clusters=[])["none"]
    assert all(math.isnan(number) for e in found.values() for number in (e.value, e.low, e.high))


def test_samples_of_different_instances_are_refused() -> None:
    message = "samples must be of the same instances; 'a' has 2 of them, 'b' 1"
    with pytest.raises(ValueError, match=message):
        bootstrap_many(METRICS, {"a": ([0.5, 0.5], [True, True]), "b": ([0.5], [True])})


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        (["P30"], r"clusters must have one label for each of 2 instances; got shape \(1,\)"),
        ([["P30", "P36"]], r"clusters must have one label for each of 2 instances; got shape \(1, 2\)"),
        ([1.0, float("nan")], "clusters must not be NaN; got it at place 1"),
        ([None, "P30"], "clusters must be numbers or strings; got an array of object"),
    ],
)
def test_labels_that_fit_no_instances_are_refused(clusters: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bootstrap(METRICS, [0.5, 0.5], [True, False], clusters=clusters)


def test_strings_in_an_array_of_objects_are_labels() -> None:
    found = check_clusters(np.array(["P36", "P30", "P36"], dtype=object), 3)
    assert (found.of.tolist(), found.number) == ([1, 0, 1], 2)
