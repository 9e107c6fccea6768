"""Smooth ECE against relplot, against its definition in plain loops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import relplot
from confidence_samples import samples
from hypothesis import example, given
from proofs import few_of

from calprobe.metrics import SmoothedGap, smooth_ece
from calprobe.metrics.sample import sort_instances
from calprobe.metrics.smooth_ece import SMOOTH_ECE

SHAPES = ("even", "low", "high", "ends", "middle", "votes", "tenths", "hundredths", "two", "close", "some certain")
TRUTHS = ("calibrated", "overconfident", "underconfident", "unrelated", "reversed", "waves", "all right", "all wrong")


def draw(shape: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """Confidences [size] of that shape."""
    even = rng.random(size)
    return {
        "even": even,
        "low": rng.beta(0.5, 3, size),
        "high": rng.beta(5, 0.4, size),
        "ends": rng.beta(0.2, 0.2, size),
        "middle": rng.beta(30, 30, size),
        "votes": rng.choice([0, 0.4, 0.6, 0.8, 1], size, p=[0.3, 0.3, 0.2, 0.1, 0.1]),
        "tenths": even.round(1),
        "hundredths": even.round(2),
        "two": rng.choice([0.25, 0.75], size),
        "close": 0.5 + rng.choice([-0.01, 0.01], size),
        "some certain": np.where(even < 0.3, rng.integers(0, 2, size), even),
    }[shape]


def truth(kind: str, confidence: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Correctness, bool [instances], that depends on confidence in that way."""
    probability = {
        "calibrated": confidence,
        "overconfident": confidence**2,
        "underconfident": np.sqrt(confidence),
        "unrelated": np.full(len(confidence), 0.4),
        "reversed": 1 - confidence,
        "waves": np.clip(confidence + 0.2 * np.sin(20 * confidence), 0, 1),
        "all right": np.ones(len(confidence)),
        "all wrong": np.zeros(len(confidence)),
    }[kind]
    return rng.random(len(confidence)) < probability


CASES = [(kind, shape) for kind in TRUTHS for shape in SHAPES]


@pytest.mark.parametrize(
    ("kind", "shape"), few_of(CASES, lambda kind, shape: (TRUTHS.index(kind) + SHAPES.index(shape)) % 3 == 0)
)
def test_it_is_that_of_relplot(kind: str, shape: str) -> None:
    rng = np.random.default_rng([SHAPES.index(shape), TRUTHS.index(kind)])
    for size in (3, 20, 200, 2000):
        confidence = draw(shape, size, rng)
        correct = truth(kind, confidence, rng)
        expected = relplot.smECE(confidence, correct.astype(float))
        # relplot adds a density of 1e-4 everywhere, which tells on a handful of instances.
        assert smooth_ece(confidence, correct).value == pytest.approx(expected, abs=5e-4 if size < 20 else 1e-4), size


@pytest.mark.parametrize("shape", ["even", "votes", "low"])
def test_small_errors_of_many_instances_are_those_of_relplot(shape: str) -> None:
    # Bandwidths of less than a hundredth, for which relplot makes its grid finer.
    rng = np.random.default_rng(8)
    confidence = draw(shape, 40_000, rng)
    correct = truth("calibrated", confidence, rng)
    expected, bandwidth = relplot.smECE(confidence, correct.astype(float), return_width=True)
    found = smooth_ece(confidence, correct)
    assert found.value == pytest.approx(expected, abs=5e-5)
    assert found.smoothed is not None
    assert found.smoothed.bandwidth == bandwidth < 0.01


@given(samples(least=2))
@example((np.array([0.0, 1.0]), np.array([True, False])))
@example((np.array([0.83252874, 0.49780002, 0.27914664]), np.array([False, True, False])))
def test_it_is_that_of_relplot_on_any_sample(sample: tuple[np.ndarray, np.ndarray]) -> None:
    confidence, correct = sample
    expected = relplot.smECE(confidence, correct.astype(float))
    # The density that relplot adds tells on a few instances, and where the error all but equals a bandwidth, it decides
    # for the next one: the error at that differs by no more than the step does.
    assert smooth_ece(confidence, correct).value == pytest.approx(expected, abs=1 / 1024 + 2e-3 / len(confidence))


def kernel_sums(confidence: float, points: np.ndarray, bandwidth: float) -> np.ndarray:
    """What an instance adds at each point: a Gaussian cut at 1/2, and its images at 0 and 1; half of it at an end."""
    total = np.zeros(len(points))
    for centre in {confidence, -confidence, 2 - confidence}:
        distance = np.abs(points - centre)
        total += np.where(distance <= 0.5, np.exp(-(distance**2) / (2 * bandwidth**2)), 0)
    return total


def test_it_is_what_its_definition_says() -> None:
    # On the grid, so that the definition needs no sharing between grid points.
    confidence = [0.0, 0.125, 0.125, 0.3, 0.45, 0.8, 0.9, 1.0]
    correct = [True, False, True, False, True, True, False, True]
    found = smooth_ece(confidence, correct).smoothed
    assert found is not None
    points = np.linspace(0, 1, max(200, round(10 / found.bandwidth)))
    errors = []
    for bandwidth in (found.bandwidth - 1 / 1024, found.bandwidth):
        residual, mass = np.zeros(len(points)), np.zeros(len(points))
        for value, right in zip(confidence, correct, strict=True):
            kernel = kernel_sums(value, points, bandwidth)
            mass += kernel
            residual += kernel * (right - value)
        errors.append(np.abs(residual).sum() / mass.sum())
    assert errors[0] > found.bandwidth - 1 / 1024
    assert errors[1] <= found.bandwidth
    # The curve is read between the points of a grid of 1/1000, which tells where a kernel is cut.
    assert smooth_ece(confidence, correct).value == pytest.approx(errors[1], abs=1e-4)
    assert np.median(np.abs(found.density - mass / mass.mean())) < 5e-4
    assert np.median(np.abs(found.residual - residual / mass.mean())) < 5e-4


@given(samples())
def test_the_curve_is_what_the_value_is_made_of(sample: tuple[np.ndarray, np.ndarray]) -> None:
    found = smooth_ece(*sample)
    curve = found.smoothed
    assert curve is not None
    assert 2 / 1024 <= curve.bandwidth <= 1
    assert curve.confidence[[0, -1]].tolist() == [0, 1]
    assert curve.density.mean() == pytest.approx(1, abs=1e-12)
    assert np.abs(curve.residual).mean() == pytest.approx(found.value, abs=1e-12)
    assert found.value <= curve.bandwidth + 1e-12
    near = ~np.isnan(curve.accuracy)
    assert near.any()
    assert ((curve.accuracy[near] >= 0) & (curve.accuracy[near] <= 1)).all()
    np.testing.assert_allclose((curve.accuracy * curve.density)[near], curve.correct[near], atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", TRUTHS)
def test_the_curve_is_relplots_smoothed_correctness(shape: str, kind: str) -> None:
    rng = np.random.default_rng([SHAPES.index(shape), TRUTHS.index(kind), 1])
    confidence = draw(shape, 500, rng)
    correct = truth(kind, confidence, rng)
    curve = smooth_ece(confidence, correct).smoothed
    assert curve is not None
    kernel = relplot.kernels.ReflectedGaussianKernel(curve.bandwidth)
    expected, _ = kernel.smooth(confidence, correct.astype(float), curve.confidence)
    near = curve.density > 0.05  # below it relplot's additional density tells, and the two grids
    np.testing.assert_allclose(curve.accuracy[near], expected[near], atol=2e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_curve_never_leaves_what_a_share_can_be(shape: str) -> None:
    for seed, size in enumerate((1, 2, 5, 40, 600)):
        rng = np.random.default_rng([seed, SHAPES.index(shape)])
        for correct in (rng.random(size) < 0.5, np.ones(size, bool), np.zeros(size, bool), np.arange(size) % 2 == 0):
            curve = smooth_ece(draw(shape, size, rng), correct).smoothed
            assert curve is not None
            near = ~np.isnan(curve.accuracy)
            assert ((curve.accuracy[near] >= 0) & (curve.accuracy[near] <= 1)).all()


def test_accuracy_is_unknown_far_from_any_instance() -> None:
    points, density, correct = np.array([0.0, 0.5, 1.0]), np.array([2.0, 1.0, 0.0]), np.array([1.0, 0.25, 0.0])
    curve = SmoothedGap(0.1, points, density, residual=np.zeros(3), correct=correct)
    np.testing.assert_array_equal(curve.accuracy, [0.5, 0.25, np.nan])


@pytest.mark.parametrize("confidence", [0.0, 0.0005, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("hits", [0, 3, 10])
def test_tied_instances_have_the_gap_of_their_means(confidence: float, hits: int) -> None:
    found = smooth_ece(np.full(10, confidence), np.arange(10) < hits)
    assert found.value == pytest.approx(abs(confidence - hits / 10), abs=1e-12)


def test_few_instances() -> None:
    nothing = smooth_ece([], [])
    assert np.isnan(nothing.value)
    assert nothing.smoothed is None
    assert smooth_ece([0.3], [True]).value == pytest.approx(0.7)
    assert smooth_ece([0.0, 1.0], [True, False]).value == 1  # far apart: neither makes up for the other
    assert smooth_ece([0.0, 1.0], [False, True]).value == 0
    assert smooth_ece([0.4, 0.6], [True, False]).value < 0.3  # near: they do, in part
    assert smooth_ece([0.2, 0.9, 0.7], [True, True, True]).value == pytest.approx(0.4, abs=1e-3)


def test_a_resample_has_the_same_error_whatever_lies_beside_it() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.beta(0.6, 1.5, 300)
    instances = sort_instances(confidence, rng.random(300) < confidence**1.3)
    counts = rng.multinomial(300, np.full(300, 1 / 300), 7)
    together = SMOOTH_ECE.compute(instances.resampled(counts))
    alone = [SMOOTH_ECE.compute(instances.resampled(row[None]))[0] for row in counts]
    assert together.tolist() == alone
