"""The path `flat`: one row a batch, attention read from the preorder, against one statement at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from chosen_paths import choose_path
from packaging.version import Version
from proofs import few_of
from statement_rows import one_at_a_time, random_rows
from tiny_models import CAUSAL_CONFIGS, QUICK, TAKES_NO_TREE, loaded, tiny_causal
from tolerances import TINY_SCORE

from calprobe.errors import CalprobeError
from calprobe.models import flat_attention
from calprobe.scoring.executor import score_rows
from calprobe.scoring.path_choice import checked_path, executor_of, paths_of
from calprobe.scoring.tree import TreeExecutor

OWN_ATTENTION = {"falcon", "gptj"}  # their layers compute it themselves
if Version(transformers.__version__) < Version("5"):
    OWN_ATTENTION.add("opt")  # it builds its own mask there
ARCHITECTURES = [name for name in CAUSAL_CONFIGS if name not in TAKES_NO_TREE | OWN_ATTENTION]


@pytest.mark.parametrize("architecture", few_of(ARCHITECTURES, QUICK.__contains__))
def test_flat_attention_equals_one_statement_at_a_time(architecture: str) -> None:
    network, rows = tiny_causal(architecture), random_rows(seed=21, n_statements=40, longest=40)
    if architecture == "gemma2":
        network.set_attn_implementation("eager")  # as it is loaded: sdpa has no soft-cap in transformers 4
    expected = one_at_a_time(network, rows)
    for batch_tokens in (50, 100_000):
        scores = score_rows(executor_of("flat", loaded(network), batch_tokens), rows)
        np.testing.assert_allclose(scores, expected, atol=TINY_SCORE, rtol=0)
    implementation = network.config._attn_implementation
    assert implementation in ("sdpa", "eager")
    sample = random_rows(seed=12, n_statements=6, longest=40)
    assert choose_path(loaded(network), 96, sample, asked="flat") == "flat"


def test_a_batch_is_one_row_without_a_mask() -> None:
    network, rows, given = tiny_causal("llama"), random_rows(seed=22, n_statements=60, longest=30), []

    def note(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        given.append((tuple(kwargs["input_ids"].shape), kwargs.get("attention_mask")))

    network.register_forward_pre_hook(note, with_kwargs=True)
    executor = executor_of("flat", loaded(network), 200)
    plan = executor.plan(rows)
    score_rows(executor, rows)
    batches = given[1:]  # the first pass measures what happens to logits
    assert [shape for shape, _ in batches] == [(1, int(n)) for n in np.diff(plan.row_offsets)]
    assert len(batches) > 1
    assert all(mask is None for _, mask in batches)


def test_contexts_deeper_than_the_limit_stay_on_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calprobe.scoring.tree.DEEPEST_FLAT", 16)
    model, rows = loaded(tiny_causal("llama")), random_rows(seed=23, n_statements=30, longest=40)
    executor = executor_of("flat", model, 400, row_length=60)
    assert isinstance(executor, TreeExecutor)
    rowwise = replace(executor, flat=False)
    np.testing.assert_array_equal(executor.plan(rows).row_offsets, rowwise.plan(rows).row_offsets)
    np.testing.assert_allclose(score_rows(executor, rows), score_rows(rowwise, rows), atol=TINY_SCORE, rtol=0)


@pytest.mark.parametrize(
    ("deepest", "reason"), [(16, "in rows of 400 its token scores differ"), (1, "is short enough")]
)
def test_flat_attention_is_checked_where_the_longest_statement_is_too_deep_for_it(
    deepest: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calprobe.scoring.tree.DEEPEST_FLAT", deepest)
    model, sample = loaded(tiny_causal("llama")), random_rows(seed=23, n_statements=30, longest=40)
    assert (sample.lengths <= 16).any()
    assert sample.lengths.max() > 16
    assert choose_path(model, 400, sample, asked="tree") == "tree"
    if deepest == 16:
        assert checked_path(model, 400, sample, ("flat",)) == ("flat", "flash", ())
    right = flat_attention._attend

    def wrong_in_long_rows(module: Any, query: torch.Tensor, *rest: Any, **others: Any) -> Any:
        found, weights = right(module, query, *rest, **others)
        return (found * 0.5 if query.shape[2] >= 64 else found), weights

    monkeypatch.setattr(flat_attention, "_attend", wrong_in_long_rows)
    with pytest.raises(CalprobeError, match=reason):
        choose_path(model, 400, sample, asked="flat")


@pytest.mark.parametrize(
    ("architecture", "reason"),
    [
        ("gptj", "its layers do not look their attention up by name"),
        ("bloom", "its layers do not look their attention up by name"),
        ("falcon-alibi", "."),
        ("mamba", "it has layers of "),
        ("falcon-h1", "."),
    ],
)
def test_other_attention_is_passed_over(architecture: str, reason: str) -> None:
    model, sample = loaded(tiny_causal(architecture)), random_rows(seed=24, n_statements=6)
    with pytest.raises(CalprobeError, match=reason):
        choose_path(model, 96, sample, asked="flat")
    assert model.network.config._attn_implementation in ("sdpa", "eager")


def test_layers_that_hide_their_window_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flat_attention._attend

    def without_window(*args: Any, sliding_window: int | None = None, **others: Any) -> Any:
        return right(*args, **others)

    monkeypatch.setattr(flat_attention, "_attend", without_window)
    with pytest.raises(CalprobeError, match="its layers do not say how far up they see"):
        choose_path(loaded(tiny_causal("mistral")), 96, random_rows(seed=25, longest=40), asked="flat")


def test_flat_is_tried_only_where_its_kernel_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded(tiny_causal("llama"))
    assert paths_of(model) == ("tree", "padded", "plain")
    monkeypatch.setattr("calprobe.scoring.path_choice._compiles", lambda device: True)
    assert paths_of(model) == ("flat", "tree", "padded", "plain")


def test_the_kernel_scores_as_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")
    if torch.cuda.is_available():
        pytest.skip("the tests of the paths run compiled kernels there")
    model, rows = loaded(tiny_causal("gemma2")), random_rows(seed=26, n_statements=12, longest=24)
    expected = score_rows(executor_of("flat", model, 10_000), rows)
    monkeypatch.setenv("CALPROBE_KERNELS", "triton")
    scores = score_rows(executor_of("flat", model, 10_000), rows)
    np.testing.assert_allclose(scores, expected, atol=TINY_SCORE, rtol=0)
