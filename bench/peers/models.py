"""The model of a comparison, the same for every contestant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers

from peers.job import ModelSpec

# gemma-7b's body with Gemma 3's vocabulary, since that tokenizer can be had without a licence.
SHAPES: dict[str, Callable[..., Any]] = {
    "gpt2": transformers.GPT2Config,
    "opt-1.3b": lambda **changes: transformers.OPTConfig(
        **({"hidden_size": 2048, "ffn_dim": 8192, "num_hidden_layers": 24, "num_attention_heads": 32} | changes),
        word_embed_proj_dim=changes.get("hidden_size", 2048),
    ),
    "gemma-7b": lambda **changes: transformers.GemmaConfig(**({"vocab_size": 262_144} | changes)),
}
_SEED = 0


def load_network(spec: ModelSpec, **changes: Any) -> Any:
    """The causal model of `spec`, in evaluation mode on its device; `changes` make a random one's shape smaller.

    Random weights are drawn in `spec.dtype` on its device from a fixed seed: every process gets the same.
    """
    dtype = getattr(torch, spec.dtype)
    if spec.folder is not None:
        network = transformers.AutoModelForCausalLM.from_pretrained(spec.folder, dtype=dtype, local_files_only=True)
        return network.eval().to(spec.device)
    assert spec.shape is not None, "a model without a folder has a shape"
    torch.manual_seed(_SEED)
    with torch.device(spec.device):
        network = transformers.AutoModelForCausalLM.from_config(SHAPES[spec.shape](**changes), dtype=dtype)
    return network.eval()


def load_tokenizer(spec: ModelSpec) -> Any:
    """Its tokenizer, padding on the right.

    Gemma's pads on the left, and lm-pub-quiz looks for the start token in the first column of the first row only: it
    would put a second one in and score other statements. The others pad by themselves, or set the right side anyway.
    """
    return transformers.AutoTokenizer.from_pretrained(spec.tokenizer, padding_side="right", local_files_only=True)
