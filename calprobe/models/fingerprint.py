"""Identity of weights and tokenizer, so that a run is never resumed with another model under the same name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from calprobe.models.libraries import PICKLES

SAMPLES = 4096  # values of each tensor that are read: a 7B model costs well under a second, any fine-tune shows


def weights_fingerprint(network: torch.nn.Module, folders: Iterable[Path] = ()) -> str:
    """SHA-256 (hex) over names, shapes, dtypes and up to 4,096 evenly spaced values of every tensor in `state_dict`.

    A sample, not a checksum: a change to single weights between the sampled ones goes unseen; training, merging,
    re-quantising or another dtype does not. Tensors are read where they are and never copied as one. Weights that
    accelerate keeps off the device ("meta") count with name, shape and dtype only; if there are any, names, sizes and
    time stamps of the weight files in `folders` stand for their values. Computed buffers (rotary tables) are left out
    because their last bits differ between devices.
    """
    digest = hashlib.sha256()
    # What is no tensor is extra state of quantised layers.
    tensors = {name: value for name, value in network.state_dict().items() if isinstance(value, torch.Tensor)}
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        if tensor.device.type != "meta" and tensor.numel():
            digest.update(_sampled_bytes(tensor))
    if any(tensor.device.type == "meta" for tensor in tensors.values()):
        for folder in folders:
            digest.update(_files(folder).encode())
    return digest.hexdigest()


def _files(folder: Path) -> str:
    """A line for each weight file in `folder`: name, size in bytes, time of the last change in nanoseconds."""
    stats = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.suffix in (".safetensors", *PICKLES)]
    return "".join(f"{name} {stat.st_size} {stat.st_mtime_ns}\n" for name, stat in stats)


def _sampled_bytes(tensor: torch.Tensor) -> bytes:
    count = tensor.numel()
    taken = min(count, SAMPLES)
    flat = torch.arange(taken, dtype=torch.int64, device=tensor.device) * (count - 1) // max(taken - 1, 1)
    if tensor.element_size() == 1:  # torch cannot index the types of four bits, two of which are a byte
        tensor = tensor.view(torch.uint8)
    # Indexing by coordinates reads a transposed tensor in place; flattening it would copy all of it.
    values = tensor[torch.unravel_index(flat, tensor.shape)] if tensor.dim() else tensor.reshape(1)
    return values.contiguous().view(torch.uint8).cpu().numpy().tobytes()


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """SHA-256 (hex) over the fast tokenizer's JSON and its special token ids.

    Padding and truncation are left out: they are switches of the last call, not part of the vocabulary. Releases of the
    library `tokenizers` may write the same tokenizer differently; the manifest has the versions beside it.
    """
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    special = {name: tokenizer.convert_tokens_to_ids(token) for name, token in _single_tokens(tokenizer)}
    digest = hashlib.sha256(backend.to_str().encode())
    digest.update(json.dumps(special, sort_keys=True).encode())
    return digest.hexdigest()


def _single_tokens(tokenizer: Any) -> list[tuple[str, str]]:
    named = tokenizer.special_tokens_map.items()
    return [(name, str(token)) for name, token in named if not isinstance(token, list | tuple)]
