"""The token budget that is chosen when the user does not say."""

from __future__ import annotations

import pytest
import torch
from tiny_models import loaded, tiny_causal, tiny_masked, tiny_masked_tokenizer

from calprobe.scoring import budget
from calprobe.scoring.budget import auto_batch_tokens, vocabulary_size


def test_a_large_vocabulary_limits_full_logits_and_not_the_masked_path() -> None:
    network = tiny_masked("bert")
    model = loaded(network, kind="masked", tokenizer=tiny_masked_tokenizer())
    assert auto_batch_tokens(model) == 1024
    network.set_output_embeddings(torch.nn.Linear(32, 2**20))  # type: ignore[operator]
    assert auto_batch_tokens(model) == auto_batch_tokens(model, "plain") == 2**29 // 2**22
    assert auto_batch_tokens(model, "masked") == 4096


def test_the_vocabulary_counts_padded_rows_and_heads_that_are_no_embedding() -> None:
    causal = tiny_causal("llama")
    causal.set_output_embeddings(torch.nn.Linear(32, 128))  # type: ignore[operator]
    assert vocabulary_size(loaded(causal)) == 128
    assert vocabulary_size(loaded(tiny_masked("deberta-v2-own-head"))) == 260


def test_a_cpu_with_little_memory_takes_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded(tiny_causal("llama"))
    usual = auto_batch_tokens(model, "tree")
    monkeypatch.setattr(budget, "free_bytes", lambda device: 2**31)
    assert auto_batch_tokens(model, "tree") == usual == 1024
    # The widest layer has 48 values, eight of which are held for a token, in float32: 1,536 bytes.
    monkeypatch.setattr(budget, "free_bytes", lambda device: 2**20)
    assert auto_batch_tokens(model, "tree") == int(2**20 * 0.8) // 1536 == 546
    assert auto_batch_tokens(model, "plain") == int(2**20 * 0.8) // (1536 + 2 * 97 * 4)
    monkeypatch.setattr(budget, "free_bytes", lambda device: 0)
    assert auto_batch_tokens(model, "tree") == 64
    assert auto_batch_tokens(model, "tree", longest=100) == 125
