"""How many tokens go through the model at once when the user does not say."""

from __future__ import annotations

from typing import Any

import torch

from calprobe.models import LoadedModel

_CPU_TOKENS = 1024  # enough to keep matrix products busy; 2,048 and more are slower by a tenth (SmolLM2-135M, P30)
_GPU_TOKENS = 32768
_CPU_LOGITS_BYTES = 2**29
_GPU_FREE_SHARE = 0.25  # of the free memory, for logits and their float32 copies; the rest is for activations


def auto_batch_tokens(model: LoadedModel) -> int:
    """A token budget whose logits fit: at most 0.5 GiB of them on a CPU, a quarter of the free memory on a GPU."""
    bytes_per_token = vocabulary_size(model) * 4
    if model.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(model.device)
        return max(64, min(_GPU_TOKENS, int(free * _GPU_FREE_SHARE) // bytes_per_token))
    return max(64, min(_CPU_TOKENS, _CPU_LOGITS_BYTES // bytes_per_token))


def vocabulary_size(model: LoadedModel) -> int:
    """Rows of the output embedding, padded ones included: the width of the logits."""
    network: Any = model.network
    head = network.get_output_embeddings()
    return int(network.config.vocab_size if head is None else head.weight.shape[0])
