"""Measures over repeated samples: by hand, by closed forms, and by what must not change them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calprobe.arrays import Floats
from calprobe.confidence import Distributions, variance_decomposition
from calprobe.confidence.samples import (
    affinity,
    answer_entropy,
    both_entail,
    ccp,
    class_counts,
    different_strings,
    eccentricity,
    eigv,
    frequencies,
    greedy_classes,
    kernel_entropy,
    lexsim,
    likelihood_entropy,
    miller_madow_entropy,
    most_frequent,
    no_contradiction,
    one_hot,
    rouge_matrix,
    semantic_density,
    sentence_sar,
    sequence_probability,
    spectral_embedding,
    split_variance,
)
from calprobe.confidence.samples.spectral import HEAT, Spectrum, degree


def blocks(*sizes: int) -> Floats:
    """The affinity of perfect clusters of these sizes."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    return (of[:, None] == of).astype(np.float64)


def some_affinity(m: int, seed: int) -> Floats:
    return affinity(np.random.default_rng(seed).random((m, m)))


@pytest.mark.parametrize("sizes", [(6,), (6, 6), (9, 3), (11, 1), (4, 3, 2, 2, 1)])
def test_perfect_clusters_of_any_sizes_have_closed_forms(sizes: tuple[int, ...]) -> None:
    w, m, c = blocks(*sizes), sum(sizes), len(sizes)
    assert eigv(w) == pytest.approx(c)
    points = spectral_embedding(w)
    assert split_variance(points, np.arange(m)).total == pytest.approx((c - 1) / m, abs=1e-12)
    assert eccentricity(w) == pytest.approx(math.sqrt(c - 1), abs=1e-6)
    shares = np.array(sizes) / m
    assert degree(w) == pytest.approx(1 - (shares**2).sum())
    classes = np.repeat(np.arange(c), sizes)
    assert split_variance(one_hot(classes), np.arange(m)).total == pytest.approx(1 - (shares**2).sum())


@pytest.mark.parametrize("sizes", [(2,), (6, 6), (9, 3), (4, 3, 2, 2, 1)])
def test_kernel_entropy_of_perfect_clusters_has_a_closed_form(sizes: tuple[int, ...]) -> None:
    shares: list[float] = []
    for size in sizes:  # eigenvalues of the Laplacian are 0 once and 2 * size else
        fading = math.exp(-HEAT * 2 * size)
        likeness = (1 - fading) / (1 + (size - 1) * fading)
        shares += [1 + (size - 1) * likeness, *[1 - likeness] * (size - 1)]
    m = sum(sizes)
    expected = -sum(share / m * math.log(share / m) for share in shares) / math.log(m)
    assert kernel_entropy(blocks(*sizes)) == pytest.approx(expected, abs=1e-9)
    assert kernel_entropy([[1.0]]) == 0


def test_measures_beside_samples_do_not_depend_on_the_samples_order() -> None:
    rng = np.random.default_rng(0)
    kernel, logprobs, order = rng.random((7, 7)), -rng.random(7), rng.permutation(7)
    moved = kernel[np.ix_(order, order)]
    assert kernel_entropy(moved) == pytest.approx(kernel_entropy(kernel), abs=1e-12)
    assert sentence_sar(moved, logprobs[order]) == pytest.approx(sentence_sar(kernel, logprobs), abs=1e-12)
    assert semantic_density(kernel[0][order], logprobs[order], -0.5) == pytest.approx(
        semantic_density(kernel[0], logprobs, -0.5), abs=1e-12
    )


def test_improbable_replies_have_a_finite_relevance() -> None:
    # Probabilities of long replies are 0 in float64; their logarithms are not.
    assert sentence_sar(np.eye(2), [-2000.0, -3000.0]) == 2500.0
    assert sentence_sar(np.ones((2, 2)), [-2000.0, -2000.0]) == pytest.approx(2000 - math.log(1001))


def test_parts_add_up_and_the_total_is_what_the_projector_gives() -> None:
    for seed in range(5):
        w = some_affinity(12, seed)
        points = spectral_embedding(w, 0.999)
        found = split_variance(points, np.repeat(np.arange(4), 3))
        assert found.total == pytest.approx(found.within + found.between)
        projector = points @ points.T
        assert found.total == pytest.approx(points.shape[1] / 12 - projector.sum() / 144)
        # Rows belong to samples: handing the numbers out in another order would be another split.
        by_hand = np.mean([((points[i * 3 : i * 3 + 3].mean(0) - points.mean(0)) ** 2).sum() for i in range(4)])
        assert found.between == pytest.approx(by_hand)


def test_the_order_of_samples_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    w, groups = some_affinity(10, 3), np.repeat(np.arange(5), 2)
    order = rng.permutation(10)
    turned = w[np.ix_(order, order)]
    for measure in (eigv, degree, eccentricity, lexsim):
        assert measure(turned) == pytest.approx(measure(w))
    before = split_variance(spectral_embedding(w, 0.95), groups)
    after = split_variance(spectral_embedding(turned, 0.95), groups[order])
    assert (after.total, after.between) == pytest.approx((before.total, before.between))
    texts = ["b", "a", None, "b", "c", "a"]
    one, other = different_strings(texts), different_strings(texts[::-1])
    assert one.texts == other.texts == ("a", "b", "c")  # equally frequent ones by text
    assert one.of.tolist() == other.of.tolist()[::-1]


def test_what_copies_change() -> None:
    w = affinity([[1, 0.4], [0.2, 1]])  # two strings with an affinity of 0.3
    strings = different_strings(["x", "x", "x", "y"])
    copied = strings.expand(w)
    assert copied[0].tolist() == pytest.approx([1, 1, 1, 0.3])
    assert eigv(copied) != pytest.approx(eigv(w))  # over samples copies count, over strings they do not
    assert lexsim(copied) == pytest.approx(-(3 * 1 + 3 * 0.3) / 6)
    logs = np.log([0.3, 0.3, 0.3, 0.1])
    assert likelihood_entropy([0, 0, 0, 1], [0, 0, 0, 1], logs) == pytest.approx(answer_entropy([3, 1]))
    assert likelihood_entropy([0, 1], [0, 1], logs[2:]) == pytest.approx(answer_entropy([3, 1]))


def test_a_string_equals_itself_whatever_a_judge_says() -> None:
    said = np.zeros((2, 2, 3))
    said[..., 2] = 1  # contradiction everywhere
    assert both_entail(said).tolist() == no_contradiction(said).tolist() == np.eye(2, dtype=bool).tolist()
    neutral = np.zeros((2, 2, 3))
    neutral[..., 1] = 1  # where the two rules differ
    assert greedy_classes(both_entail(neutral)).tolist() == [0, 1]
    assert greedy_classes(no_contradiction(neutral)).tolist() == [0, 0]
    assert affinity(np.zeros((2, 2))).tolist() == np.eye(2).tolist()


def test_frequencies_count_what_was_asked() -> None:
    assert frequencies([1, 1, -1], 10).tolist() == [0.2, 0.2, 0.0]
    assert most_frequent([2, 0, 2, 0, 1]).tolist() == [0, 2]
    with pytest.raises(ValueError, match="asked must be a whole number of at least 3; got 2"):
        frequencies([0, 0, 0], 2)


def test_miller_madow_takes_most_of_the_bias_away() -> None:
    rng = np.random.default_rng(0)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    truth = answer_entropy((p * 10).astype(int))
    drawn = rng.multinomial(20, p, 2000)
    plain = np.mean([answer_entropy(own) for own in drawn])
    corrected = np.mean([miller_madow_entropy(own) for own in drawn])
    assert truth - plain > 0.06
    assert abs(truth - corrected) < 0.015


def test_sampled_variance_converges_to_the_exact_one_of_a_closed_set() -> None:
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])  # two wordings
    exact = variance_decomposition(Distributions.from_scores(np.log(p), [0, 3], [0]), [0, 1])
    rng = np.random.default_rng(4)
    classes = np.concatenate([rng.choice(3, 40_000, p=own) for own in p])
    found = split_variance(one_hot(classes), np.repeat([0, 1], 40_000))
    expected = (exact.total[0], exact.aleatoric[0], exact.epistemic[0])
    assert (found.total, found.within, found.between) == pytest.approx(expected, abs=0.005)


def test_lexical_similarity_by_hand() -> None:
    texts = ["the city of Paris", "Paris", "Paris"]
    strings = different_strings(texts)
    assert lexsim(strings.expand(rouge_matrix(strings.texts))) == pytest.approx(-(1 + 0.4 + 0.4) / 3)
    assert lexsim(rouge_matrix(["one"])) == -1.0
    assert lexsim(rouge_matrix(["?", "?"])) == -0.0  # other strings without words have nothing in common
    assert lexsim(different_strings(["?", "?"]).expand(rouge_matrix(["?"]))) == -1.0  # copies have


def test_nothing_gives_nan_and_wrong_shapes_are_refused() -> None:
    none = np.zeros((0, 0))
    for value in (eigv(none), degree(none), eccentricity(none), lexsim(none), answer_entropy([])):
        assert math.isnan(value)
    assert math.isnan(sequence_probability([]))
    assert math.isnan(likelihood_entropy([-1], [0], [-1.0]))
    assert class_counts([-1, -1]).tolist() == []
    with pytest.raises(ValueError, match=r"affinity must be square, \[n, n\]; got shape \(2, 1\)"):
        eigv([[1], [1]])
    with pytest.raises(ValueError, match="affinity must be symmetric"):
        eigv([[1, 0.5], [0, 1]])


def test_ccp_by_hand() -> None:
    paris = [(" Paris", math.log(0.6)), (" paris", math.log(0.1)), (" Rome", math.log(0.2)), (" in", math.log(0.1))]
    said = {"paris": 0, "Rome": 2, "in": 1}

    def judge(pairs: list[tuple[str, str]]) -> Floats:
        relations = [said.get(one.split()[-1], said.get(other.split()[-1], 1)) for one, other in pairs]
        return np.eye(3)[relations]

    found = ccp([[("It is", -0.2)], paris], judge)
    assert found.tokens.tolist() == pytest.approx([1.0, 0.7 / 0.9])
    assert found.product == pytest.approx(0.7 / 0.9)
    assert found.mean == pytest.approx(math.sqrt(0.7 / 0.9))
    seen: list[tuple[str, str]] = []
    ccp([[("It is", -0.2)], paris], lambda pairs: seen.extend(pairs) or np.eye(3)[[1] * len(pairs)])
    assert ("It is Paris", "It is Rome") in seen  # the reply up to the token
    assert ("Paris", "Rome") in ccp_pairs_of_tokens(paris)


def ccp_pairs_of_tokens(own: list[tuple[str, float]]) -> list[tuple[str, str]]:
    from calprobe.confidence.samples import ccp_pairs

    return ccp_pairs([own], "token")


def test_counts_stand_for_copies() -> None:
    """Copies as rows of a matrix, and as counts of its strings, have the same measures."""
    texts = ["a", "b", None, "a", "c", "b", "a", None]
    strings, w, groups = different_strings(texts), some_affinity(3, 7), [0, 1] * 4
    rows, found = strings.expand(w), Spectrum.of(strings.with_unread(w), strings.copies)
    assert found.eigv() == pytest.approx(eigv(rows))
    for threshold in (0.5, 0.9):
        assert found.eccentricity(threshold) == pytest.approx(eccentricity(rows, threshold))
    own, copies = strings.with_unread(w), strings.copies
    assert (degree(own, copies), lexsim(own, copies)) == pytest.approx((degree(rows), lexsim(rows)))
    for weights in ("cut", "smooth"):
        points = found.points(0.9, weights)[strings.places]
        parts = [split_variance(each, groups) for each in (points, spectral_embedding(rows, 0.9, weights))]
        assert parts[0].between == pytest.approx(parts[1].between)
        assert parts[0].total == pytest.approx(parts[1].total)
