"""`load_model`: from a name to a model that is complete, identified, and ready to score."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError, UsageError
from calprobe.kernels.arguments import triton_takes
from calprobe.models.adapter import Adapter, find_adapter, put_on
from calprobe.models.fused_layers import forwards_of
from calprobe.models.gguf import check_words, dequantised
from calprobe.models.identity import identified
from calprobe.models.kind import kind_of
from calprobe.models.libraries import explained, first_line, look_for_hub, patient_hub, quiet_libraries, shows_bars
from calprobe.models.loaded_model import LoadedModel, LoadOptions, Products
from calprobe.models.network import in_dtype, load_network, max_positions_of
from calprobe.models.placement import Placement, dtype_on, float32_products, place
from calprobe.models.source import Source, resolve
from calprobe.models.split_linears import layers_taken
from calprobe.models.torch_settings import tensors_on_host
from calprobe.words import ModelKind

log = logging.getLogger(__name__)
_DEFAULTS = LoadOptions()
OnKind = Callable[[ModelKind], object]
_COPY_TOKENIZER = "its files are missing or damaged: copy tokenizer.json and tokenizer_config.json into its folder"


@tensors_on_host()
def load_model(name: str, options: LoadOptions = _DEFAULTS, on_kind: OnKind = lambda kind: None) -> LoadedModel:
    """Load the model that `name` stands for: alias, hub id, local folder, FILE.gguf, or PEFT adapter.

    A GGUF file is dequantised to float32 once and cached; an adapter is merged into its base in float32 where its
    method allows it. `on_kind` is called with the kind as soon as the config is read, before any weights are, and may
    raise. Raises UsageError for options or names that make no sense here, DataMissingError for a model that
    has to be fetched or unlocked first, CalprobeError for one that cannot be scored or read; each says the fix.
    """
    source = resolve(name)
    if options.revision is not None and source.form != "hub":
        kept = "GGUF file" if source.form == "gguf" else "folder"
        raise UsageError(
            f"--revision {options.revision}: {name} is a {kept} on this machine, not on the hub; leave it out"
        )
    _check_kernels()
    with quiet_libraries(options.quiet), patient_hub(), explained(source, options):
        return _identified(source, _read(source, options, on_kind), options)


def _check_kernels() -> None:
    """Raise UsageError for a CALPROBE_KERNELS that is no choice, or none on this machine."""
    try:
        triton_takes(torch.empty(0))
    except ValueError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Weights:
    """A network in place, and where it and its tokenizer came from."""

    network: torch.nn.Module
    config: Any
    kind: ModelKind
    placement: Placement
    checkpoint_dtype: torch.dtype | None
    tokenizer_location: str
    source: str
    revision: str | None
    note: str
    folders: tuple[Path, ...] = ()  # local ones; their files identify the weights where no revision does
    adapter_merged: bool | None = None
    unpacked: Path | None = None  # a GGUF file's twin


def _read(source: Source, options: LoadOptions, on_kind: OnKind) -> _Weights:
    if source.form == "gguf":
        return _read_gguf(source, options, on_kind)
    if source.form == "hub":
        look_for_hub()
    with explained(source, options):
        adapter = find_adapter(source, options)
        if adapter is not None:
            return _read_adapted(source, adapter, options, on_kind)
        config = _config(source, options)
        kind = kind_of(config, source.shown, options.kind)
        on_kind(kind)
        checkpoint_dtype = config.dtype  # before loading writes the chosen one over it
        placement = place(options, checkpoint_dtype, source)
        network = load_network(source, config, kind, placement, options)
        if options.dtype == "auto" and _overflows(network, placement.device, placement.dtype, source):
            del network  # both may be more than there is room for
            return _read(source, replace(options, dtype="float32"), on_kind)
    return _Weights(
        network=network,
        config=config,
        kind=kind,
        placement=placement,
        checkpoint_dtype=checkpoint_dtype,
        tokenizer_location=source.location,
        source=source.location,
        revision=getattr(config, "_commit_hash", None),
        note=source.note,
        folders=(Path(source.location),) if source.form == "folder" else (),
    )


_TRIED_TOKENS = 16


@torch.inference_mode()
def _overflows(network: Any, device: torch.device, dtype: torch.dtype | None, source: Source) -> bool:
    """Whether float16, where it is taken for bfloat16, is too small; a warning says so.

    The network's own forward of a few tokens, behind the start token if it has one, gives NaN then.
    """
    if dtype != torch.float16:
        return False
    config = network.config.get_text_config()
    start = config.bos_token_id if isinstance(getattr(config, "bos_token_id", None), int) else 0
    ids = torch.tensor([[start, *range(min(_TRIED_TOKENS, config.vocab_size))]], device=device)
    if not network(input_ids=ids).logits.isnan().any():
        return False
    log.warning("%s: its numbers are too large for float16; float32 instead, which is slower", source.shown)
    return True


def _read_gguf(source: Source, options: LoadOptions, on_kind: OnKind) -> _Weights:
    twin = dequantised(Path(source.location), show_progress=shows_bars(options.quiet))
    weights = _read(Source(source.name, str(twin.folder), "folder"), options, on_kind)
    note = source.note or f"weights rounded to {twin.file_type} (GGUF)"
    return replace(weights, source=source.location, revision=twin.sha256, note=note, folders=(), unpacked=twin.folder)


def _read_adapted(source: Source, adapter: Adapter, options: LoadOptions, on_kind: OnKind) -> _Weights:
    """The base in float32, the adapter put on it, then the dtype that was asked for."""
    in_float32 = replace(options, dtype="float32", revision=adapter.base_revision)
    of_base = resolve(adapter.base)
    base = _read(of_base, in_float32, on_kind)
    network, merged = put_on(base.network, adapter)
    device = base.placement.device
    dtype = dtype_on(device, options, base.checkpoint_dtype, of_base)
    network = in_dtype(network, dtype or base.checkpoint_dtype or torch.float32)
    if options.dtype == "auto" and _overflows(network, device, dtype, source):
        del base, network
        return _read_adapted(source, adapter, replace(options, dtype="float32"), on_kind)
    return replace(
        base,
        network=network,
        placement=replace(base.placement, dtype=dtype),
        tokenizer_location=str(adapter.folder) if adapter.has_tokenizer else base.tokenizer_location,
        source=f"{base.source} + {source.location}",
        note=source.note or base.note,
        folders=(*base.folders, adapter.folder),
        adapter_merged=merged,
    )


def _config(source: Source, options: LoadOptions) -> Any:
    from transformers import AutoConfig

    folder = Path(source.location)
    if source.form == "folder" and not (folder / "config.json").is_file():
        inside = next(folder.glob("*.gguf"), None)
        fix = f"give the file: {inside}" if inside else "give the folder that save_pretrained wrote"
        raise CalprobeError(f"{source.name} is not a model folder (it has no config.json); {fix}")
    return AutoConfig.from_pretrained(
        source.location, revision=options.revision, trust_remote_code=options.trust_remote_code
    )


def _identified(source: Source, weights: _Weights, options: LoadOptions) -> LoadedModel:
    tokenizer = _tokenizer(source.shown, weights, options)
    found = identified(weights.network, tokenizer, source.shown, weights.kind, weights.folders)
    device = _input_device(found.device, weights.placement)
    return replace(
        found,
        name=source.name,
        source=weights.source,
        device=device,
        precision=_products(options, found, device),
        fused=options.fused and bool(forwards_of(found.network)),
        max_positions=max_positions_of(weights.network, weights.config),
        revision=weights.revision,
        note=weights.note,
        adapter_merged=weights.adapter_merged,
    )


def _products(options: LoadOptions, found: LoadedModel, device: torch.device) -> Products:
    """Those of `float32_products` where both the linear layers and the head can take them: one name stands for both."""
    wanted = float32_products(options.precision, found.dtype, device)
    if wanted == "ieee" or (triton_takes(torch.empty(0, device=device)) and layers_taken(found.network)):
        return wanted
    return "ieee"


def _input_device(first: torch.device, placement: Placement) -> torch.device:
    """Where token ids go: to the first parameters; where these are offloaded, accelerate fetches them to the device."""
    return placement.device if placement.device_map is None or first.type == "meta" else first


def _tokenizer(name: str, weights: _Weights, options: LoadOptions) -> Any:
    """The fast tokenizer beside the weights, checked to be theirs and to be complete."""
    tokenizer = _read_tokenizer(name, weights, options)
    if not tokenizer.is_fast:
        raise CalprobeError(
            f"{name}: only a slow tokenizer ({type(tokenizer).__name__}), which gives no character offsets\n"
            "save a fast one (tokenizer.json) into its folder, for example with transformers.convert_slow_tokenizer"
        )
    vocabulary = tokenizer.get_vocab()
    named = {str(token) for token in tokenizer.added_tokens_decoder.values()} | set(tokenizer.all_special_tokens)
    if named.issuperset(vocabulary):
        # transformers makes one out of thin air where a folder has none: to it every word is unknown.
        raise CalprobeError(f"{name}: its tokenizer knows no words, only special tokens\n{_COPY_TOKENIZER}")
    if weights.unpacked is not None and weights.tokenizer_location == str(weights.unpacked):
        check_words(tokenizer, name, weights.unpacked)
    return tokenizer


def _read_tokenizer(name: str, weights: _Weights, options: LoadOptions) -> Any:
    from transformers import AutoTokenizer

    location = weights.tokenizer_location
    try:
        return AutoTokenizer.from_pretrained(
            location,
            revision=None if Path(location).is_dir() else weights.revision,
            trust_remote_code=options.trust_remote_code,
            use_fast=True,
        )
    except (ImportError, ValueError, TypeError) as error:
        raise CalprobeError(f"{name}: its tokenizer cannot be read ({first_line(error)})\n{_COPY_TOKENIZER}") from error
