"""A model in the middle of its training as a `LoadedModel`: taken out of what a trainer wraps it in, never copied."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch

from calprobe.errors import UsageError
from calprobe.models.identity import live_model
from calprobe.models.loaded_model import LoadedModel


def model_in_training(wrapped: torch.nn.Module, tokenizer: Any, step: int) -> LoadedModel:
    """The model as it is at that optimiser step, named `NAME@STEP` after what its training began with.

    Raises CalprobeError as `live_model`, UsageError as `unwrapped`.
    """
    network: Any = unwrapped(wrapped)
    config = network.config
    began_with = getattr(config, "name_or_path", "")
    name = f"{Path(began_with).name or config.model_type}@{step}"
    model = live_model(network, tokenizer, name)
    adapted = False if network is not _without_wrappers(wrapped) else None
    return replace(model, source=began_with or name, note=f"in training, step {step}", adapter_merged=adapted)


def unwrapped(wrapped: torch.nn.Module) -> torch.nn.Module:
    """The transformers model inside torch.compile, DataParallel, accelerate's wrappers and peft's, adapter still on.

    Raises UsageError for prompt tuning, which puts trained vectors in front of the statement.
    """
    network: Any = _without_wrappers(wrapped)
    if not hasattr(network, "get_base_model"):
        return cast("torch.nn.Module", network)
    if network.active_peft_config.is_prompt_learning:
        method = network.active_peft_config.peft_type.value
        raise UsageError(f"{method} puts trained vectors in front of the text, so no statement has a score of its own")
    return cast("torch.nn.Module", network.get_base_model())


def refuse_sharded(arguments: Any, wrapped: torch.nn.Module) -> None:
    """Raise UsageError if no single process holds all weights: FSDP, ZeRO-3, tensor parallelism.

    `arguments` are a trainer's.
    """
    if getattr(arguments, "fsdp", None):
        found = "FSDP"
    elif any(hasattr(parameter, "ds_id") for parameter in wrapped.parameters()):
        found = "DeepSpeed ZeRO-3"
    elif any(hasattr(parameter, "placements") for parameter in wrapped.parameters()):
        found = "DTensor"
    else:
        return
    raise UsageError(
        f"the model's weights are sharded over processes ({found}), and a probe is scored by one of them;"
        " score the checkpoints with calprobe score"
    )


def own_tokenizer(given: Any) -> Any:
    """A copy of the tokenizer, or of the one in a processor: a data loader may be using the original.

    Raises UsageError for None.
    """
    if given is None:
        raise UsageError("no tokenizer; give the Trainer a processing_class, or the callback a tokenizer")
    return copy.deepcopy(getattr(given, "tokenizer", given))


def _without_wrappers(wrapped: torch.nn.Module) -> torch.nn.Module:
    from accelerate.utils import extract_model_from_parallel

    network: torch.nn.Module = extract_model_from_parallel(wrapped, keep_torch_compile=False)
    return network
