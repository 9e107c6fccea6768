"""The token budget that is chosen when the user does not say."""

from __future__ import annotations

import torch
from tiny_models import loaded, tiny_causal, tiny_masked, tiny_masked_tokenizer

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
