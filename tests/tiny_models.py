"""Tiny random causal models, one for each architecture, that any test can hold a fast path against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    CohereConfig,
    FalconConfig,
    FalconH1Config,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTJConfig,
    GPTNeoXConfig,
    GraniteConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    MptConfig,
    Olmo2Config,
    OPTConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
    RwkvConfig,
    StableLmConfig,
    Starcoder2Config,
)

from calprobe.models import LoadedModel

VOCAB = 97
START = 1
MAX_POSITIONS = 64

_SIZE: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": MAX_POSITIONS,
    "bos_token_id": START,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_GPT2: dict[str, Any] = {"vocab_size": VOCAB, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": MAX_POSITIONS}
_OPT: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "ffn_dim": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "word_embed_proj_dim": 16,  # as opt-350m: hidden states are projected before the head
    "max_position_embeddings": MAX_POSITIONS,
    "do_layer_norm_before": False,
}
_HEAD_DIM = {"head_dim": 8}

CAUSAL_CONFIGS: dict[str, Any] = {
    "gpt2": GPT2Config(**_GPT2),
    "opt": OPTConfig(**_OPT),
    "llama": LlamaConfig(**_SIZE),
    "gemma": GemmaConfig(**_SIZE, **_HEAD_DIM),
    "gemma2": Gemma2Config(**_SIZE, **_HEAD_DIM, sliding_window=16, query_pre_attn_scalar=8),
    "gemma3": Gemma3TextConfig(**_SIZE, **_HEAD_DIM, sliding_window=16, query_pre_attn_scalar=8),
    "qwen2": Qwen2Config(**_SIZE),
    "qwen3": Qwen3Config(**_SIZE, **_HEAD_DIM),
    "mistral": MistralConfig(**_SIZE, sliding_window=16),
    "phi": PhiConfig(**_SIZE),
    "gpt-neox": GPTNeoXConfig(**{**_SIZE, "num_key_value_heads": None}),
    "olmo2": Olmo2Config(**_SIZE),
    "granite": GraniteConfig(**_SIZE, logits_scaling=4.0),
    "cohere": CohereConfig(**_SIZE, logit_scale=0.5),
    "bloom": BloomConfig(vocab_size=VOCAB, hidden_size=32, n_layer=2, n_head=4),
    "falcon": FalconConfig(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
    "falcon-alibi": FalconConfig(
        vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True
    ),
    "gptj": GPTJConfig(**_GPT2, rotary_dim=8),
    "phi3": Phi3Config(**_SIZE),
    "stablelm": StableLmConfig(**_SIZE),
    "starcoder2": Starcoder2Config(**_SIZE),
    "mpt": MptConfig(vocab_size=VOCAB, d_model=32, n_layers=2, n_heads=4, max_seq_len=MAX_POSITIONS),
    "mamba": MambaConfig(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, state_size=8),
    "rwkv": RwkvConfig(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32),
    "falcon-h1": FalconH1Config(
        **_SIZE, **_HEAD_DIM, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=8, lm_head_multiplier=0.5
    ),
}
# What takes no tree mask: ALiBi, state spaces, recurrences and hybrids. Found by the check on load, here for its test.
TAKES_NO_TREE = {"bloom", "falcon-alibi", "mpt", "mamba", "rwkv", "falcon-h1"}


def tiny_causal(architecture: str, seed: int = 0) -> torch.nn.Module:
    """A random float32 model of the architecture, with weights large enough that predictions are not flat."""
    torch.manual_seed(seed)
    network = AutoModelForCausalLM.from_config(CAUSAL_CONFIGS[architecture], dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0 if architecture == "mamba" else 8.0)  # Mamba takes exponentials of some
    return network


def loaded(network: torch.nn.Module, **changes: Any) -> LoadedModel:
    """The network as `load_model` would hand it over; there is no tokenizer, since token rows are made directly."""
    known: dict[str, Any] = {
        "name": "tiny",
        "kind": "causal",
        "network": network,
        "tokenizer": None,
        "start_token_id": START,
        "start_token": "<s>",
        "dtype": "float32",
        "device": torch.device("cpu"),
        "source": "tiny",
        "attention": "sdpa",
        "architecture": type(network).__name__,
        "weights_fingerprint": "0" * 64,
        "tokenizer_fingerprint": "0" * 64,
        "max_positions": MAX_POSITIONS,
    }
    return LoadedModel(**(known | changes))


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level tokenizer without merges: any text, ids 3 to 258, `<s>` (1) put in front where special tokens go."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    specials = {"<pad>": 0, "<s>": 1, "</s>": 2}
    tokenizer = Tokenizer(models.BPE(vocab=specials | {letter: i + 3 for i, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", padding_side="left"
    )


def save_tiny_model(folder: Path) -> Path:
    """A random Llama with `tiny_tokenizer`, saved as transformers saves models."""
    torch.manual_seed(0)
    config = LlamaConfig(**(_SIZE | {"vocab_size": 260, "max_position_embeddings": 256}))
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder
