"""The sample of a relation's instances: every instance equally likely, spread over the answers, nested, and the same
everywhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from calprobe.probes import Instance, Relation, load_probe
from calprobe.probes.relation_sample import first_instances, sampled_instances

SIZES = (23, 11, 4, 1, 1)  # instances of each answer, sorted by answer as BEAR's files are
N = sum(SIZES)
SORTED = Relation(
    "sorted",
    tuple("ABCDE"),
    tuple(Instance(i, f"s{i}", answer) for i, answer in enumerate(np.repeat(range(5), SIZES).tolist())),
)
CORRECT = np.array([instance.answer_idx == 0 for instance in SORTED.instances])  # a model that always says A


def indices(relation: Relation) -> list[int]:
    return [instance.index for instance in relation.instances]


@pytest.mark.parametrize("count", [1, 5, 13])
def test_accuracy_of_the_sample_is_unbiased_and_that_of_the_first_is_not(count: int) -> None:
    draws = 200
    accuracies = [CORRECT[indices(sampled_instances(SORTED, count, seed))].mean() for seed in range(draws)]
    error = np.sqrt(CORRECT.mean() * (1 - CORRECT.mean()) / count / draws)  # larger than that of a stratified sample
    assert abs(np.mean(accuracies) - CORRECT.mean()) < 4 * error
    assert CORRECT[indices(first_instances(SORTED, count))].mean() == 1.0


def test_the_spread_over_answers_makes_accuracy_vary_less_than_simple_random_sampling() -> None:
    count = 10
    accuracies = [CORRECT[indices(sampled_instances(SORTED, count, seed))].mean() for seed in range(150)]
    simple = CORRECT.mean() * (1 - CORRECT.mean()) / count * (N - count) / (N - 1)
    assert np.var(accuracies) < simple / 3


def test_every_instance_is_equally_likely() -> None:
    draws, count = 600, 6
    drawn = Counter(index for seed in range(draws) for index in indices(sampled_instances(SORTED, count, seed)))
    shares = np.array([drawn[index] for index in range(N)]) / draws
    expected = count / N
    assert np.abs(shares - expected).max() < 4.5 * np.sqrt(expected * (1 - expected) / draws)


def test_each_answer_has_nearly_its_share() -> None:
    relation = load_probe("mini").relation("continent")
    n_of = Counter(instance.answer_idx for instance in relation.instances)
    for count in (6, 12, 24, 48):
        sample = sampled_instances(relation, count)
        drawn = Counter(instance.answer_idx for instance in sample.instances)
        assert all(abs(drawn[answer] - count * n / len(relation.instances)) < 2 for answer, n in n_of.items())


def test_samples_are_nested_and_in_the_files_order() -> None:
    smaller: set[int] = set()
    for count in range(1, N + 2):
        sample = indices(sampled_instances(SORTED, count, seed=3))
        assert sample == sorted(sample)
        assert len(sample) == min(count, N)
        assert smaller < set(sample) or count > N
        smaller = set(sample)


def test_the_sample_depends_on_the_facts_and_the_seed_only() -> None:
    assert indices(sampled_instances(SORTED, 5)) == [10, 14, 16, 23, 39]
    assert sampled_instances(SORTED, 5, 1) != sampled_instances(SORTED, 5)
    other_words = replace(SORTED, templates=("[X] is [Y].",), domains=("Made-up",))
    assert indices(sampled_instances(other_words, 5)) == indices(sampled_instances(SORTED, 5))
    renamed = replace(SORTED, name="other")
    assert indices(sampled_instances(renamed, 5)) != indices(sampled_instances(SORTED, 5))


def test_instances_with_candidates_of_their_own_are_spread_over_the_answers_texts() -> None:
    own = tuple(replace(i, candidates=SORTED.candidates[i.answer_idx :], answer_idx=0) for i in SORTED.instances)
    sample = sampled_instances(replace(SORTED, candidates=(), instances=own), 20)
    answers = Counter((i.candidates or ())[i.answer_idx] for i in sample.instances)
    assert all(abs(answers[letter] - 20 * n / N) < 2 for letter, n in zip("ABCDE", SIZES, strict=True))


def test_a_relation_without_instances() -> None:
    assert sampled_instances(replace(SORTED, instances=()), 3).instances == ()
