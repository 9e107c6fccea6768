"""The two networks: as alike as a causal and a masked one of common architectures can be."""

from __future__ import annotations

import torch
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

from tiny.vocabulary import END, PAD, SPECIAL, START, VOCAB_SIZE

WIDTH, LAYERS, HEADS = 96, 3, 4
MAX_POSITIONS = 128  # statements of mini have 30 tokens at most; longer ones are scored, if not well

_IDS = {
    "pad_token_id": SPECIAL.index(PAD),
    "bos_token_id": SPECIAL.index(START),
    "eos_token_id": SPECIAL.index(END),
}


def causal_network(seed: int) -> LlamaForCausalLM:
    """A Llama with random weights in float32."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=WIDTH,
        intermediate_size=256,  # three matrices of it are as many weights as two of BERT's 384
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=MAX_POSITIONS,
        tie_word_embeddings=True,
        **_IDS,
    )
    return LlamaForCausalLM(config)


def masked_network(seed: int) -> BertForMaskedLM:
    """A BERT with random weights in float32 and without dropout: it has to remember, not to generalise."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=WIDTH,
        intermediate_size=384,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        max_position_embeddings=MAX_POSITIONS,
        type_vocab_size=1,
        initializer_range=0.06,  # after 500 steps the loss was 4.3, with the usual 0.02 it was 4.7
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **_IDS,
    )
    return BertForMaskedLM(config)
