"""`load_model`: from a name to a model that is whole, identified, and ready to score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch

from calprobe.errors import CalprobeError, UsageError
from calprobe.models.adapter import Adapter, find_adapter, put_on
from calprobe.models.failures import explained
from calprobe.models.fingerprint import tokenizer_fingerprint, weights_fingerprint
from calprobe.models.gguf import dequantised
from calprobe.models.kind import kind_of
from calprobe.models.network import load_network, max_positions_of
from calprobe.models.placement import Placement, place
from calprobe.models.quiet import quiet_libraries, shows_bars
from calprobe.models.source import Source, resolve
from calprobe.models.start_token import start_token_of
from calprobe.models.types import Kind, LoadedModel, LoadOptions

_DEFAULTS = LoadOptions()


def load_model(name: str, options: LoadOptions = _DEFAULTS) -> LoadedModel:
    """Load the model that `name` stands for: alias, hub id, local folder, FILE.gguf, or PEFT adapter.

    A GGUF file is dequantised to float32 once and cached; an adapter is merged into its base in float32 where its
    method allows it. Raises UsageError for options or names that make no sense here, DataMissingError for a model that
    has to be fetched or unlocked first, CalprobeError for one that cannot be scored or read; each says the mend.
    """
    with quiet_libraries(options.quiet), explained(name, options):
        return _identified(name, _read(resolve(name), options), options)


@dataclass(frozen=True, slots=True)
class _Weights:
    """A network in place, and where it and its tokenizer came from."""

    network: torch.nn.Module
    config: Any
    kind: Kind
    placement: Placement
    checkpoint_dtype: torch.dtype | None
    tokenizer_location: str
    source: str
    revision: str | None
    note: str
    adapter_merged: bool | None = None


def _read(source: Source, options: LoadOptions) -> _Weights:
    adapter = find_adapter(source.location, options) if source.form != "gguf" else None
    if adapter is not None:
        return _read_adapted(source, adapter, options)
    location, revision, note = source.location, None, source.note
    if source.form == "gguf":
        twin = dequantised(Path(source.location), show_progress=shows_bars(options.quiet))
        location, revision = str(twin.folder), twin.sha256
        note = note or f"{twin.file_type} weights (GGUF), computed from their float32 values"
    config = _config(location, options)
    kind = kind_of(config, source.name, options.kind)
    checkpoint_dtype = config.dtype
    placement = place(options)
    network = load_network(location, config, kind, placement, options)
    revision = revision or getattr(config, "_commit_hash", None)
    return _Weights(network, config, kind, placement, checkpoint_dtype, location, source.location, revision, note)


def _read_adapted(source: Source, adapter: Adapter, options: LoadOptions) -> _Weights:
    """The base in float32, the adapter put on it, then the dtype that was asked for."""
    base_options = replace(options, dtype="float32", revision=adapter.base_revision)
    base = _read(resolve(adapter.base), base_options)
    network, merged = put_on(base.network, adapter)
    placement = place(options)
    network = network.to(placement.dtype or base.checkpoint_dtype)
    return replace(
        base,
        network=network,
        placement=placement,
        tokenizer_location=str(adapter.folder) if adapter.has_tokenizer else base.tokenizer_location,
        source=f"{base.source} + {source.location}",
        note=source.note or base.note,
        adapter_merged=merged,
    )


def _config(location: str, options: LoadOptions) -> Any:
    from transformers import AutoConfig

    if Path(location).is_dir() and not Path(location, "config.json").is_file():
        raise CalprobeError(f"{location}: no model folder: it has no config.json")
    return AutoConfig.from_pretrained(location, revision=options.revision, trust_remote_code=options.trust_remote_code)


def _identified(name: str, weights: _Weights, options: LoadOptions) -> LoadedModel:
    tokenizer = _tokenizer(name, weights, options)
    start_token_id, start_token = start_token_of(tokenizer, weights.kind, name)
    network = weights.network
    first = next(network.parameters())
    return LoadedModel(
        name=name,
        source=weights.source,
        kind=weights.kind,
        network=network,
        tokenizer=tokenizer,
        start_token_id=start_token_id,
        start_token=start_token,
        dtype=str(first.dtype).removeprefix("torch."),
        device=first.device if weights.placement.device_map is not None else weights.placement.device,
        architecture=type(network).__name__,
        attention=str(getattr(network.config, "_attn_implementation", "unknown")),
        weights_fingerprint=weights_fingerprint(network),
        tokenizer_fingerprint=tokenizer_fingerprint(tokenizer),
        max_positions=max_positions_of(network, weights.config),
        revision=weights.revision,
        note=weights.note,
        adapter_merged=weights.adapter_merged,
    )


def _tokenizer(name: str, weights: _Weights, options: LoadOptions) -> Any:
    from transformers import AutoTokenizer

    location, network = weights.tokenizer_location, cast("Any", weights.network)
    tokenizer = AutoTokenizer.from_pretrained(
        location,
        revision=None if Path(location).is_dir() else weights.revision,
        trust_remote_code=options.trust_remote_code,
        use_fast=True,
    )
    if not tokenizer.is_fast:
        raise CalprobeError(
            f"{name}: only a slow tokenizer ({type(tokenizer).__name__}), which gives no character offsets\n"
            "save a fast one (tokenizer.json) into its folder, for example with transformers.convert_slow_tokenizer"
        )
    if weights.kind == "masked" and tokenizer.mask_token_id is None:
        raise UsageError(f"{name}: its tokenizer has no mask token, so it cannot be scored as masked")
    rows = network.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows and max(tokenizer.get_vocab().values()) >= rows:
        raise CalprobeError(
            f"{name}: its tokenizer has {len(tokenizer)} tokens, its embedding only {rows} rows\n"
            "it belongs to another checkpoint: save the tokenizer that the weights were trained with beside them"
        )
    return tokenizer
