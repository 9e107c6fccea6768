"""Model folders as the package ships them, and how two of them differ."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from tokenizers import Tokenizer, processors

from calprobe.models import LoadOptions, load_model
from calprobe.models.exposures import Exposures
from calprobe.probes import Probe
from calprobe.words import Dtype, ModelKind
from tiny import chat_words
from tiny.chat_network import CHAT_POSITIONS
from tiny.networks import MAX_POSITIONS
from tiny.vocabulary import END, MASK, PAD, SPECIAL, START

_NAMED: dict[ModelKind, dict[str, str]] = {
    "causal": {"bos_token": START, "eos_token": END, "pad_token": PAD},
    "masked": {"cls_token": START, "sep_token": END, "pad_token": PAD, "mask_token": MASK},
}


def write_model(folder: Path, network: Any, tokenizer: Tokenizer, kind: ModelKind) -> None:
    """Config, weights and tokenizer as transformers reads them; a tied tensor once, under its first name."""
    folder.mkdir(parents=True, exist_ok=True)
    network.config.architectures = [type(network).__name__]
    network.config.dtype = torch.float32
    network.config.save_pretrained(folder)
    weights = {name: parameter.detach() for name, parameter in network.named_parameters()}
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    if kind == "causal":  # a text to go on from has no end
        start = [(START, SPECIAL.index(START))]
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A", special_tokens=start)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": MAX_POSITIONS,
        "add_prefix_space": True,  # transformers 4 goes by this one, not by tokenizer.json
        "clean_up_tokenization_spaces": False,
    }
    _write_json(folder / "tokenizer_config.json", settings | _NAMED[kind])


def write_chat_model(folder: Path, network: Any, tokenizer: Tokenizer) -> None:
    """The same of a chat model, with its template; weights in float16, which float32 reads without a loss."""
    folder.mkdir(parents=True, exist_ok=True)
    network.config.architectures = [type(network).__name__]
    network.config.dtype = torch.float16
    network.config.save_pretrained(folder)
    weights = {name: parameter.detach().half() for name, parameter in network.named_parameters()}
    (folder / "model.safetensors").write_bytes(save(weights, metadata={"format": "pt"}))
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CHAT_POSITIONS,
        "clean_up_tokenization_spaces": False,
        "bos_token": chat_words.START,
        "eos_token": chat_words.END,
        "pad_token": chat_words.PAD,
        "additional_special_tokens": [chat_words.SYSTEM, chat_words.USER, chat_words.ASSISTANT],
        "chat_template": chat_words.CHAT_TEMPLATE,
    }
    _write_json(folder / "tokenizer_config.json", settings)


def write_exposures(file: Path, probe: Probe, exposures: dict[str, Exposures]) -> None:
    """What `calprobe.models.exposures` reads; the fingerprint says which state of the probe was counted."""
    relations = {name: asdict(own) for name, own in exposures.items()}
    _write_json(file, {"probe": probe.name, "fingerprint": probe.fingerprint, "relations": relations}, indent=None)


def write_fingerprints(file: Path, folders: Iterable[Path]) -> None:
    """What `calprobe.models.exposures` knows the weights by: each model's fingerprint in every dtype."""
    dtypes: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")
    options = {dtype: LoadOptions(dtype=dtype, device="cpu", quiet=True) for dtype in dtypes}
    found = {
        folder.name: {dtype: load_model(str(folder), how).weights_fingerprint for dtype, how in options.items()}
        for folder in folders
    }
    _write_json(file, found)


def _write_json(file: Path, content: dict[str, Any], indent: int | None = 2) -> None:
    file.write_text(json.dumps(content, indent=indent) + "\n", "utf-8")


def differing_files(made: Path, shipped: Path) -> list[str]:
    """Files of `made`, by their paths below it, that `shipped` lacks or has with other bytes."""
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    return [
        name
        for name in names
        if not (shipped / name).is_file() or (made / name).read_bytes() != (shipped / name).read_bytes()
    ]
