"""Tiny random models, one for each architecture, that any test can hold a fast path against."""

from __future__ import annotations

import copy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    CONFIG_MAPPING,
    AlbertConfig,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BloomConfig,
    CohereConfig,
    DebertaConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    FalconConfig,
    FalconH1Config,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTJConfig,
    GPTNeoConfig,
    GPTNeoXConfig,
    GraniteConfig,
    GraniteMoeHybridConfig,
    Lfm2Config,
    LlamaConfig,
    MambaConfig,
    MiniMaxConfig,
    MistralConfig,
    ModernBertConfig,
    MPNetConfig,
    MptConfig,
    Olmo2Config,
    OPTConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
    RobertaConfig,
    RwkvConfig,
    StableLmConfig,
    Starcoder2Config,
    XLMRobertaConfig,
)

from calprobe.models import LoadedModel
from calprobe.models.tokenizers import special_tokens_of

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
# Attention beside layers that pass over the mask: what leaks in a tree may lie within the tolerance of a short dtype.
HYBRID_CONFIGS: dict[str, Any] = {
    "granite-hybrid": GraniteMoeHybridConfig(
        **_SIZE,
        layer_types=["mamba", "attention"],
        mamba_n_heads=4,
        mamba_d_head=16,
        mamba_d_state=8,
        num_local_experts=0,
        shared_intermediate_size=48,
    ),
    "lfm2": Lfm2Config(**_SIZE, layer_types=["conv", "full_attention"]),
    "minimax": MiniMaxConfig(**_SIZE, **_HEAD_DIM, num_local_experts=2),
    "falcon-h1": CAUSAL_CONFIGS["falcon-h1"],
}
# Attention that measures by places, not by depth: the same in short rows, or nearly, and other in full ones.
BY_PLACES: dict[str, Any] = {
    "mpt": MptConfig(vocab_size=VOCAB, d_model=32, n_layers=2, n_heads=4, max_seq_len=512),
    "gpt-neo": GPTNeoConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=48,
        max_position_embeddings=MAX_POSITIONS,
        bos_token_id=START,
        eos_token_id=2,
    ),
}
# By their names in transformers, of which older versions lack some.
_LINEAR: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
}
EXPERTS: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
NAMED: dict[str, dict[str, Any]] = {
    "qwen3_next": {**_SIZE, **_HEAD_DIM, **EXPERTS, **_LINEAR, "shared_expert_intermediate_size": 16},
    "qwen3_5_text": {**_SIZE, **_HEAD_DIM, **_LINEAR},
    "jamba": {
        **_SIZE,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 2,
        "mamba_d_state": 8,
        "use_mamba_kernels": False,
    },
    "olmoe": {**_SIZE, **EXPERTS},
    "qwen3_moe": {**_SIZE, **_HEAD_DIM, **EXPERTS},
    "mixtral": {**_SIZE, "num_local_experts": 4},
}
# What takes no tree mask: ALiBi, state spaces, recurrences and hybrids. Found by the check on load, here for its test.
TAKES_NO_TREE = {"bloom", "falcon-alibi", "mpt", "mamba", "rwkv", "falcon-h1"}
# Of each way to score and to place tokens one: what `make test` looks at where `make test-proofs` takes all.
QUICK = {"gpt2", "llama", "gemma2", "gemma3", "bloom", "mamba", "opt", "phi", "cohere"}

MASKED_VOCAB = 260  # of `tiny_masked_tokenizer`
_BERT: dict[str, Any] = {
    "vocab_size": MASKED_VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": MAX_POSITIONS,
    "pad_token_id": 0,
}
# Positions are counted from padding_idx + 1.
_ROBERTA: dict[str, Any] = _BERT | {"max_position_embeddings": MAX_POSITIONS + 1}
_DEBERTA: dict[str, Any] = _BERT | {
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False,
    "type_vocab_size": 0,
}

MASKED_CONFIGS: dict[str, Any] = {
    "bert": BertConfig(**_BERT),
    "roberta": RobertaConfig(**_ROBERTA, type_vocab_size=1),
    "xlm-roberta": XLMRobertaConfig(**_ROBERTA, type_vocab_size=1),
    "distilbert": DistilBertConfig(
        vocab_size=MASKED_VOCAB, dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=MAX_POSITIONS
    ),
    "albert": AlbertConfig(**_BERT, embedding_size=16),
    "electra": ElectraConfig(**_BERT, embedding_size=16),
    "mpnet": MPNetConfig(**_ROBERTA),
    "deberta": DebertaConfig(**_DEBERTA),
    "deberta-v2": DebertaV2Config(**_DEBERTA, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True),
    "deberta-v2-own-head": DebertaV2Config(**_DEBERTA, legacy=False),
    "modernbert": ModernBertConfig(
        **_BERT,
        global_attn_every_n_layers=2,
        local_attention=8,
        bos_token_id=START,
        cls_token_id=START,
        eos_token_id=2,
        sep_token_id=2,
    ),
}
# Its head multiplies by the input embedding itself. Found by the check on load, here for its test.
KEEPS_ITS_HEAD = {"deberta-v2-own-head"}


def tiny_masked(architecture: str, positions: int = MAX_POSITIONS) -> torch.nn.Module:
    """A random float32 model of the architecture, as `tiny_causal`, with biases that are not zero."""
    if architecture in KEEPS_ITS_HEAD and version("transformers").startswith("4."):
        pytest.skip("transformers 4 cannot run such a head: it gives its norm the logits")
    torch.manual_seed(0)
    config = copy.deepcopy(MASKED_CONFIGS[architecture])
    config.max_position_embeddings += positions - MAX_POSITIONS
    network = AutoModelForMaskedLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)
            else:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return network


def tiny_named(name: str) -> torch.nn.Module:
    """As `tiny_causal`, of `NAMED`; a test is skipped where transformers does not know it."""
    if name not in CONFIG_MAPPING:
        pytest.skip(f"transformers {version('transformers')} has no {name}")
    return tiny_causal(name, configs={name: AutoConfig.for_model(name, **NAMED[name])})


def tiny_causal(architecture: str, seed: int = 0, configs: dict[str, Any] | None = None) -> torch.nn.Module:
    """A random float32 model of the architecture, with weights large enough that predictions are not flat."""
    torch.manual_seed(seed)
    network = AutoModelForCausalLM.from_config(
        (configs or CAUSAL_CONFIGS | HYBRID_CONFIGS)[architecture], dtype=torch.float32
    ).eval()
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
    known |= changes
    if known["kind"] == "masked" and known["tokenizer"] is not None:
        known["special"] = special_tokens_of(known["tokenizer"])
    return LoadedModel(**known)


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


def tiny_masked_tokenizer() -> PreTrainedTokenizerFast:
    """As `tiny_tokenizer`, `<s>` in front and `</s>` (2) behind where special tokens go, `<mask>` (259)."""
    tokenizer = tiny_tokenizer()
    backend = tokenizer.backend_tokenizer
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="<s>", sep_token="</s>", pad_token="<pad>", mask_token="<mask>"
    )


def save_tiny_model(folder: Path, **changes: Any) -> Path:
    """A random Llama with `tiny_tokenizer`, saved as transformers saves models."""
    torch.manual_seed(0)
    config = LlamaConfig(**(_SIZE | {"vocab_size": 260, "max_position_embeddings": 256} | changes))
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def save_tiny_masked_model(folder: Path, positions: int = 256) -> Path:
    """A random BERT with `tiny_masked_tokenizer`, saved as transformers saves models."""
    torch.manual_seed(0)
    config = BertConfig(**(_BERT | {"max_position_embeddings": positions}))
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    tiny_masked_tokenizer().save_pretrained(folder)
    return folder
