"""The network itself: read by transformers, then checked to be complete."""

from __future__ import annotations

import re
from typing import Any

import torch

from calprobe.errors import CalprobeError
from calprobe.models.loaded_model import LoadOptions
from calprobe.models.placement import Placement, check_memory
from calprobe.models.source import Source
from calprobe.words import ModelKind


def auto_class(kind: ModelKind) -> Any:
    """transformers' auto class with the head that `kind` needs."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

    return AutoModelForCausalLM if kind == "causal" else AutoModelForMaskedLM


def load_network(
    source: Source, config: Any, kind: ModelKind, placement: Placement, options: LoadOptions
) -> torch.nn.Module:
    """The model of `source` (folder or hub id) with its head, in evaluation mode, on its device.

    Raises CalprobeError if it does not fit into memory, or if any of its parameters was not in the checkpoint (such
    parameters are random: the head of DeBERTa, of a bare encoder, of a half-copied folder).
    """
    check_memory(config, auto_class(kind), placement, source)
    device_map: Any = placement.device_map
    if device_map is None and placement.device.type == "cuda":
        device_map = {"": placement.device}  # straight onto the GPU, without a copy in the machine's memory
    network, info = auto_class(kind).from_pretrained(
        source.location,
        config=config,
        dtype=placement.dtype or "auto",
        device_map=device_map,
        attn_implementation=_attention(config, options),
        use_safetensors=None if options.allow_pickle else True,
        trust_remote_code=options.trust_remote_code,
        revision=getattr(config, "_commit_hash", None) or options.revision,
        output_loading_info=True,
    )
    missing = set(info["missing_keys"])
    if device_map is None:
        # Seen with halves of converted checkpoints: parameters without storage that no list reports.
        every = network.named_parameters(remove_duplicate=False)
        missing |= {name for name, parameter in every if parameter.is_meta}
    refuse_random_parameters(network, missing, source.shown)
    ready: torch.nn.Module = network.eval().requires_grad_(False)
    return ready


def in_dtype(network: Any, dtype: torch.dtype) -> torch.nn.Module:
    """The network, which was read in float32, as it is when it is read in another dtype.

    What no checkpoint has stays as it is: frequencies of positions, which bfloat16 would make others. So do the
    parameters that its class keeps in float32 (DeepSeek's biases of experts).
    """
    names = ["_keep_in_fp32_modules_strict"] if dtype == torch.bfloat16 else []
    names = ["_keep_in_fp32_modules_strict", "_keep_in_fp32_modules"] if dtype == torch.float16 else names
    kept = [pattern.replace("*", ".*") for name in names for pattern in getattr(network, name, None) or ()]
    for name, tensor in network.state_dict(keep_vars=True).items():
        if tensor.is_floating_point() and not any(re.search(pattern, name) for pattern in kept):
            tensor.data = tensor.data.to(dtype)
    ready: torch.nn.Module = network
    return ready


def _attention(config: Any, options: LoadOptions) -> str | None:
    """None leaves the choice to transformers: SDPA where the model has it, else eager."""
    if options.attention != "auto":
        return options.attention
    # SDPA has no soft-capping, and some releases of transformers drop the cap without a word (Gemma 2).
    capped = getattr(config.get_text_config(), "attn_logit_softcapping", None) is not None
    return "eager" if capped else None


def refuse_random_parameters(network: Any, missing: set[str], name: str) -> None:
    """Raise CalprobeError if any of the parameters that the checkpoint lacks is not another's under a second name."""
    parameters = dict(network.named_parameters(remove_duplicate=False))
    loaded = {id(parameter) for key, parameter in parameters.items() if key not in missing}
    random = sorted(key for key in missing & parameters.keys() if id(parameters[key]) not in loaded)
    if not random:
        return
    head = network.get_output_embeddings() if hasattr(network, "get_output_embeddings") else None
    head_parameters = {id(parameter) for parameter in head.parameters()} if head is not None else set()
    what = "its head" if any(id(parameters[key]) in head_parameters for key in random) else "parameters"
    shown = ", ".join(random[:3]) + (f" and {len(random) - 3} more" if len(random) > 3 else "")
    raise CalprobeError(
        f"{name}: its checkpoint lacks {what} ({shown}), which would be random numbers\n"
        f"use a checkpoint that was saved as {type(network).__name__}; if its pickle file has all, add --allow-pickle"
    )


def max_positions_of(network: torch.nn.Module, config: Any) -> int | None:
    """Longest row in tokens, special tokens included: from the config, minus RoBERTa's positions for padding.

    None for architectures without a limit (ALiBi, state-space models).
    """
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa and kin count positions from padding_idx + 1.
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    text_config = config.get_text_config()
    for key in ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"):
        value = getattr(text_config, key, None)
        if isinstance(value, int) and value > 0:
            return value
    return None
