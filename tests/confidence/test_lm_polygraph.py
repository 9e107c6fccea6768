"""Measures over samples beside lm-polygraph's, where it is installed: `make test-proofs` installs it."""

from __future__ import annotations

import sys
import types
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calprobe.arrays import Floats
from calprobe.confidence.samples import (
    affinity,
    both_entail,
    ccp,
    class_counts,
    cocoa,
    degree,
    different_strings,
    eccentricity,
    eigv,
    greedy_classes,
    kernel_entropy,
    lexsim,
    monte_carlo_entropy,
    rouge_matrix,
    semantic_density,
    semantic_kernel,
    sentence_sar,
)
from calprobe.confidence.samples.entropy import answer_entropy

pytestmark = pytest.mark.proof
CLOSE = 1e-9


def estimator(module: str) -> Any:
    """A module of lm_polygraph.estimators, without the package's own imports of everything."""
    return import_module(f"lm_polygraph.estimators.{module}")


@pytest.fixture(autouse=True, scope="module")
def own_modules() -> Any:
    before = set(sys.modules)
    spec = find_spec("lm_polygraph")
    if spec is None or spec.origin is None:
        pytest.skip("no lm-polygraph: make test-proofs installs it")
    for name in ("lm_polygraph", "lm_polygraph.estimators", "lm_polygraph.utils"):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(spec.origin).parent.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    yield
    for name in set(sys.modules) - before:
        if name.startswith("lm_polygraph"):
            del sys.modules[name]


def judgements(m: int, seed: int) -> Floats:
    """Probabilities of three relations, [samples, samples, 3], a sample entailing itself."""
    drawn = np.random.default_rng(seed).dirichlet(np.full(3, 0.4), (m, m))
    drawn[np.arange(m), np.arange(m)] = (1, 0, 0)
    return drawn


@pytest.mark.parametrize("seed", range(4))
def test_the_graph_measures_are_the_same(seed: int) -> None:
    entail = judgements(7, seed)[..., 0]
    stats = {"sample_texts": [[str(i) for i in range(7)]], "semantic_matrix_entail": entail[None]}
    own = affinity(entail)
    for module, name, found in (
        ("eig_val_laplacian", "EigValLaplacian", eigv(own)),
        ("deg_mat", "DegMat", degree(own)),
        ("eccentricity", "Eccentricity", eccentricity(own)),
    ):
        theirs = getattr(estimator(module), name)()(stats)
        assert found == pytest.approx(float(theirs[0]), abs=CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_semantic_entropy_is_the_same_of_the_same_classes(seed: int) -> None:
    said = judgements(6, seed)
    classes = greedy_classes(both_entail(said))
    logprobs = -np.random.default_rng(seed).random(6) * 5
    members = [np.flatnonzero(classes == own).tolist() for own in range(classes.max() + 1)]
    stats = {
        "sample_texts": [[str(i) for i in range(6)]],
        "sample_log_probs": [logprobs.tolist()],
        "semantic_classes_entail": {"class_to_sample": {0: members}, "sample_to_class": {0: dict(enumerate(classes))}},
    }
    theirs = estimator("semantic_entropy").SemanticEntropy
    assert monte_carlo_entropy(classes, logprobs) == pytest.approx(float(theirs()(stats)[0]), abs=CLOSE)
    counted = theirs(class_probability_estimation="frequency")(stats)
    assert answer_entropy(class_counts(classes)) == pytest.approx(float(counted[0]), abs=CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_kernel_entropy_is_the_same(seed: int) -> None:
    said = judgements(7, seed)
    stats = {"semantic_matrix_entail": said[None, ..., 0], "semantic_matrix_contra": said[None, ..., 2]}
    theirs = estimator("kernel_language_entropy").KernelLanguageEntropy()(stats)
    assert kernel_entropy(semantic_kernel(said)) == pytest.approx(float(theirs[0]), abs=CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_beside_its_samples_is_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, near = semantic_kernel(judgements(6, seed)), rng.random(5)
    tokens = [np.log(rng.random(n)) for n in (3, 1, 4, 2, 5)]
    own = np.log(rng.random(4))
    entropies = rng.random(4)
    stats = {
        "greedy_sentence_similarity": [near],
        "greedy_log_likelihoods": [own],
        "greedy_log_probs": [own],
        "entropy": [entropies],
        "sample_log_probs": [[logs.sum() for logs in tokens]],
        "sample_tokens": [tokens],
        "sample_texts": [[str(i) for i in range(5)]],
        "concat_greedy_semantic_matrix_contra_forward": [1 - kernel[0, 1:]],
        "concat_greedy_semantic_matrix_neutral_forward": [np.zeros(5)],
    }
    for name, uncertainty in (
        ("CocoaMSP", -own.sum()),
        ("CocoaPPL", -own.mean()),
        ("CocoaMTE", entropies.mean()),
    ):
        theirs = getattr(estimator("cocoa"), name)()(stats)
        assert cocoa(float(uncertainty), near) == pytest.approx(float(theirs[0]), abs=CLOSE)
    density = semantic_density(kernel[0, 1:], [logs.mean() for logs in tokens], own.mean())
    theirs = estimator("semantic_density").SemanticDensity()(stats)
    assert -density == pytest.approx(float(theirs[0]), abs=CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_sentence_sar_is_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, logprobs = affinity(rng.random((6, 6))), -rng.random(6) * 9
    stats = {"sample_log_probs": [logprobs], "sample_sentence_similarity": [similarity]}
    theirs = estimator("sentence_sar").SentenceSAR()(stats)
    assert sentence_sar(similarity, logprobs) == pytest.approx(float(theirs[0]), abs=CLOSE)


def test_ccp_is_the_same_of_the_same_judgements() -> None:
    names = np.array(["entail", "neutral", "contra"])
    rng = np.random.default_rng(0)
    tokens = [[(f"t{t}a{a}", float(p)) for a, p in enumerate(np.log(rng.dirichlet(np.ones(5))))] for t in range(4)]
    said: dict[tuple[str, str], int] = {}

    def judge(pairs: list[tuple[str, str]]) -> Floats:
        said.update({pair: int(rng.integers(3)) for pair in pairs})
        return np.eye(3)[[said[pair] for pair in pairs]]

    found = ccp(tokens, judge, "token")
    relation = [[[str(names[said.get((a, b), 0)]) for b, _ in own] for a, _ in own] for own in tokens]
    stats = {
        "greedy_tokens": [[own[0][0] for own in tokens]],
        "greedy_tokens_alternatives": [tokens],
        "greedy_tokens_alternatives_nli": [relation],
    }
    theirs = estimator("claim_conditioned_probability").ClaimConditionedProbability()(stats)
    assert -found.product == pytest.approx(float(theirs[0]), abs=CLOSE)


def test_lexical_similarity_differs_by_their_stemmer_alone() -> None:
    for package in ("rouge_score", "nltk", "absl", "six"):
        pytest.importorskip(package)
    texts = ["the city of Paris", "Paris", "Paris", "the town of Lyon"]  # words that stemming leaves equal or unequal
    strings = different_strings(texts)
    theirs = estimator("lexical_similarity").LexicalSimilarity()({"sample_texts": [texts]})
    assert lexsim(strings.expand(rouge_matrix(strings.texts))) == pytest.approx(float(theirs[0]), abs=CLOSE)
