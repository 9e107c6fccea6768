"""The check on load in the short dtypes: rounding passes, a mask that leaks does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from chosen_paths import choose_path
from statement_rows import random_rows
from tiny_models import loaded, tiny_causal
from torch import Tensor

import calprobe.scoring.tree as tree
from calprobe.scoring.executor import score_rows
from calprobe.scoring.options import Path
from calprobe.scoring.path_choice import Tolerance, executor_of, tolerance_for


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma2", "opt"])
def test_rounding_is_no_reason_to_step_down(architecture: str, dtype: str) -> None:
    network = tiny_causal(architecture).to(getattr(torch, dtype))
    assert choose_path(loaded(network, dtype=dtype), 256, random_rows(seed=21, longest=40)) == "tree"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_mask_that_leaks_is_found(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(network: object, position_ids: Tensor, end: Tensor, deepest: int) -> Tensor:
        width = end.shape[1]
        everything_before = torch.ones(width, width, dtype=torch.bool).tril()  # siblings see each other
        return tree._additive(everything_before.expand(len(end), -1, -1), getattr(torch, dtype))

    monkeypatch.setattr(tree, "attention_masks", leaky)
    network = tiny_causal("llama").to(getattr(torch, dtype))
    assert choose_path(loaded(network, dtype=dtype), 256, random_rows(seed=22, longest=40)) == "padded"


@pytest.mark.parametrize("architecture", ["llama", "gemma2"])
def test_the_headless_paths_are_nearer_to_float32_than_the_models_own_logits(architecture: str) -> None:
    network, rows = tiny_causal(architecture), random_rows(seed=23, n_statements=60)
    exact = score_rows(executor_of("plain", loaded(network), 512), rows)
    short = loaded(network.bfloat16(), dtype="bfloat16")
    paths: tuple[Path, ...] = ("tree", "padded", "plain")
    error = {path: abs(score_rows(executor_of(path, short, 512), rows) - exact).mean() for path in paths}
    assert error["padded"] <= error["plain"] + 1e-3
    assert error["tree"] <= 1.2 * error["plain"]


def test_the_tolerance_grows_with_the_models_own_noise_except_in_float32() -> None:
    noise = np.array([0.0, 0.1, 0.5])
    assert tolerance_for("bfloat16", noise).largest == pytest.approx(1.5)
    assert tolerance_for("bfloat16", noise).mean == pytest.approx(0.6)
    assert tolerance_for("bfloat16", np.zeros(3)) == tolerance_for("bfloat16", np.zeros(0))
    assert tolerance_for("bfloat16", noise, experts=True) == Tolerance(np.inf, tolerance_for("bfloat16", noise).mean)
    assert tolerance_for("float32", noise, experts=True) == tolerance_for("float32", noise)
    assert tolerance_for("float32", noise) == tolerance_for("float32", np.zeros(3))
