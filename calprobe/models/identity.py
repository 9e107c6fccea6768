"""A network that is in memory already, as a `LoadedModel`: what loading ends with, and what training begins with."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import torch

from calprobe.errors import CalprobeError
from calprobe.models.fingerprint import tokenizer_fingerprint, weights_fingerprint
from calprobe.models.kind import kind_of
from calprobe.models.loaded_model import LoadedModel
from calprobe.models.network import max_positions_of
from calprobe.models.tokenizers import special_tokens_of, start_token_of
from calprobe.planning.token_rows import SpecialTokens
from calprobe.words import Dtype, ModelKind


def live_model(network: torch.nn.Module, tokenizer: Any, name: str) -> LoadedModel:
    """A transformers model with its tokenizer, as it is: nothing is copied, moved or switched to evaluation mode.

    The kind is read off the network's class. `name` is what messages and manifests call it.

    Raises:
        CalprobeError: it is no language model of transformers, its dtype is none that is scored, or its tokenizer is
            not a fast one or belongs to another model. UsageError: its tokenizer has no start or mask token.
    """
    config: Any = getattr(network, "config", None)
    if not hasattr(config, "get_text_config"):
        raise CalprobeError(
            f"{name}: {type(network).__name__} is not a model of transformers; only these can be scored"
        )
    of_class = copy.copy(config)
    of_class.architectures = [type(network).__name__]  # a model that was never saved has none
    kind = kind_of(of_class, name)
    if not getattr(tokenizer, "is_fast", False):
        raise CalprobeError(
            f"{name}: its tokenizer ({type(tokenizer).__name__}) gives no character offsets; use a fast one"
        )
    return identified(network, tokenizer, name, kind)


def identified(network: Any, tokenizer: Any, name: str, kind: ModelKind, folders: Iterable[Path] = ()) -> LoadedModel:
    """The network with its tokenizer and all that can be read off the two.

    `folders` hold the weight files of what is not in memory, see `weights_fingerprint`. Raises CalprobeError for a
    tokenizer with ids that have no embedding and for a dtype that is not scored, UsageError for one without a start
    or mask token.
    """
    start_token_id, start_token = start_token_of(tokenizer, kind, name)
    special = special_tokens_of(tokenizer) if kind == "masked" else None
    embedding = network.get_input_embeddings().weight
    _check_ids(name, tokenizer, start_token_id, special, embedding.shape[0])
    first = next(parameter for parameter in network.parameters() if parameter.is_floating_point())
    dtype = str(first.dtype).removeprefix("torch.")
    if dtype not in get_args(Dtype):
        raise CalprobeError(f"{name}: its weights are {dtype}; only float32, bfloat16 and float16 are scored")
    return LoadedModel(
        name=name,
        source=name,
        kind=kind,
        network=network,
        tokenizer=tokenizer,
        start_token_id=start_token_id,
        start_token=start_token,
        dtype=dtype,
        device=embedding.device,
        architecture=type(network).__name__,
        attention=str(getattr(network.config, "_attn_implementation", "unknown")),
        weights_fingerprint=weights_fingerprint(network, folders),
        tokenizer_fingerprint=tokenizer_fingerprint(tokenizer),
        max_positions=max_positions_of(network, network.config),
        special=special,
        embedding_rows=embedding.shape[0],
    )


def _check_ids(name: str, tokenizer: Any, start_token_id: int, special: SpecialTokens | None, rows: int) -> None:
    """Refuse a tokenizer with words, or special tokens that every row needs, past the embedding's `rows`.

    Other added tokens may: Gemma 3's and CodeLlama's tokenizers serve larger models too; plain text has none of them.
    """
    ids = [start_token_id, *tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False).values()]
    if special is not None:
        ids += [*special.before, *special.after, special.mask]
    if max(ids) >= rows:
        raise CalprobeError(
            f"{name}: its tokenizer gives ids up to {max(ids)}, its embedding only {rows} rows\n"
            "it belongs to another checkpoint: save the tokenizer that the weights were trained with beside them"
        )
