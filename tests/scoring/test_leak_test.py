"""Scores of a packed row, its other statements and its places: exact paths see neither, hybrids and ALiBi do."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from chosen_paths import choose_path
from proofs import few_of
from statement_rows import random_rows
from tiny_models import BY_PLACES, CAUSAL_CONFIGS, HYBRID_CONFIGS, QUICK, TAKES_NO_TREE, loaded, tiny_causal, tiny_named
from torch import Tensor

import calprobe.scoring.tree as tree
from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.planning import TreeBatch
from calprobe.scoring.leaks import MOST, _paths, has_experts, leak, why_leaking
from calprobe.scoring.path_choice import FLOORS, MOVED, Tolerance, executor_of
from calprobe.scoring.tree import TreeExecutor

TREES = [name for name in CAUSAL_CONFIGS if name not in TAKES_NO_TREE]


def model_of(architecture: str, dtype: str) -> LoadedModel:
    return loaded(tiny_causal(architecture).to(getattr(torch, dtype)), dtype=dtype)


def tree_of(model: LoadedModel, batch_tokens: int = 200) -> TreeExecutor:
    executor = executor_of("tree", model, batch_tokens)
    assert isinstance(executor, TreeExecutor)
    return executor


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("architecture", few_of(TREES, QUICK.__contains__))
def test_an_exact_path_does_not_see_other_statements(architecture: str, dtype: str) -> None:
    executor = tree_of(model_of(architecture, dtype))
    assert leak(executor, executor.plan(random_rows(seed=21, longest=40))) <= MOST


@pytest.mark.parametrize("path", ["tree", "flat"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("architecture", few_of(HYBRID_CONFIGS, lambda name: name == "granite-hybrid"))
def test_a_hybrid_that_hides_its_layers_is_not_scored_on_a_tree(
    architecture: str, dtype: str, path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calprobe.scoring.path_choice.layer_kinds", lambda network: set())
    with pytest.raises(CalprobeError, match="nats"):
        choose_path(model_of(architecture, dtype), 200, random_rows(seed=21, longest=40), asked=path)


@pytest.mark.parametrize("path", ["tree", "flat"])
def test_statements_as_long_as_a_row_have_others_beside_them(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tolerance tells here: only the tests with other tokens and at other places do."""
    monkeypatch.setattr("calprobe.scoring.path_choice.layer_kinds", lambda network: set())
    monkeypatch.setitem(FLOORS, "float32", Tolerance(np.inf, np.inf))
    monkeypatch.setitem(MOVED, "float32", Tolerance(np.inf, np.inf))
    network = tiny_causal("granite-hybrid")
    with pytest.raises(CalprobeError, match="with the tokens of other statements in the row"):
        choose_path(loaded(network), 200, random_rows(seed=3, n_statements=8, longest=400), asked=path)


def test_who_has_experts_is_told_by_their_number() -> None:
    def network_of(**settings: Any) -> SimpleNamespace:
        config = SimpleNamespace(**settings)
        return SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: config))

    assert has_experts(network_of(num_experts=4))
    assert has_experts(network_of(ffn_config=SimpleNamespace(moe_num_experts=16)))
    assert not has_experts(network_of(num_experts=1))
    assert not has_experts(network_of(num_experts=16, is_moe=False))
    assert not has_experts(network_of())


@pytest.mark.parametrize("path", ["tree", "flat"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", few_of(["qwen3_next", "qwen3_5_text", "jamba"], lambda name: name == "qwen3_next"))
def test_nor_are_newer_ones(name: str, dtype: str, path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calprobe.scoring.path_choice.layer_kinds", lambda network: set())
    model = loaded(tiny_named(name).to(getattr(torch, dtype)), dtype=dtype)
    with pytest.raises(CalprobeError, match="nats"):
        choose_path(model, 200, random_rows(seed=21, longest=40), asked=path)


@pytest.mark.parametrize("seed", few_of(range(4), lambda seed: seed == 0))
@pytest.mark.parametrize("path", ["tree", "flat"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", few_of(["olmoe", "qwen3_moe", "mixtral"], lambda name: name == "olmoe"))
def test_experts_are_no_leak(name: str, dtype: str, path: Any, seed: int) -> None:
    model = loaded(tiny_named(name).to(getattr(torch, dtype)), dtype=dtype)
    assert choose_path(model, 200, random_rows(seed=seed, longest=40), asked=path) == path


@pytest.mark.parametrize("architecture", ["granite-hybrid", "lfm2"])
def test_layers_that_pass_over_the_mask_are_named(architecture: str) -> None:
    reasons: list[str] = []
    sample = random_rows(seed=21, longest=40)
    model = model_of(architecture, "bfloat16")
    assert choose_path(model, 200, sample, on_pass=lambda _, reason: reasons.append(reason)) == "padded"
    assert reasons[0].startswith("it has layers of ")


@pytest.mark.parametrize("seed", few_of(range(6), lambda seed: seed == 0))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("architecture", BY_PLACES)
def test_what_measures_by_places_is_not_scored_on_a_tree(architecture: str, dtype: str, seed: int) -> None:
    """A short row hides it: only where a row is full are places far from what they should see."""
    network = tiny_causal(architecture, configs=BY_PLACES).to(getattr(torch, dtype))
    sample = random_rows(seed=seed, n_statements=8, longest=20)
    assert choose_path(loaded(network, dtype=dtype), 200, sample) == "padded"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_siblings_that_see_each_other_are_found_by_the_leak_alone(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(network: object, position_ids: Tensor, end: Tensor, deepest: int) -> Tensor:
        everything_before = torch.ones(end.shape[1], end.shape[1], dtype=torch.bool).tril()
        return tree._additive(everything_before.expand(len(end), -1, -1), getattr(torch, dtype))

    executor = tree_of(model_of("llama", dtype))
    plan = executor.plan(random_rows(seed=22, longest=40))
    assert why_leaking(executor, plan) is None
    monkeypatch.setattr(tree, "attention_masks", leaky)
    assert "with the tokens of other statements in the row" in (why_leaking(executor, plan) or "")


def test_a_place_that_sees_what_follows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def sees_all(network: object, position_ids: Tensor, end: Tensor, deepest: int) -> Tensor:
        return tree._additive(torch.ones(len(end), end.shape[1], end.shape[1], dtype=torch.bool), torch.float32)

    monkeypatch.setattr(tree, "attention_masks", sees_all)
    executor = tree_of(model_of("llama", "float32"))
    assert leak(executor, executor.plan(random_rows(seed=22, longest=40))) > 0.01


def test_nan_is_a_leak() -> None:
    executor = tree_of(model_of("llama", "float32"))
    executor.model.network.get_parameter("model.norm.weight").data[0] = torch.nan
    assert why_leaking(executor, executor.plan(random_rows(seed=22))) is not None


def test_the_path_to_a_place_is_its_ancestors_and_itself() -> None:
    # Start, a, its children b and c, then d below c; a second row of padding behind its first place.
    end = np.array([[5, 5, 3, 5, 5], [1, 2, 3, 4, 5]])
    batch = TreeBatch(
        token_ids=np.arange(10).reshape(2, 5),
        position_ids=np.array([[0, 1, 2, 2, 3], [0, 0, 0, 0, 0]]),
        end=end,
        lengths=np.array([5, 1]),
        scored=np.array([2, 4, 5]),  # b and d, and the first place of the second row
        target_offsets=np.array([0, 1, 2, 3]),
        targets=np.array([7, 8, 9]),
        edges=slice(0, 3),
    )
    first, last = _paths(batch, 0), _paths(batch, -1)
    assert first.tolist() == [[True, True, True, False, False], [True, False, False, False, False]]
    assert last.tolist() == [[True, True, False, True, True], [True, False, False, False, False]]
    nothing_scored = replace(batch, scored=np.array([2, 4]))
    assert _paths(nothing_scored, 0)[1].all()
