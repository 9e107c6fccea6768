"""Asks a model of Llama 3's size for labels on a card that is not there, and prints what a wave has them do.

`python ask_waves.py FOLDER TEMPERATURE TOP_P LAYERS ..`: numbers as JSON, by the count of layers; FOLDER keeps the
device guard.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from fake_cards import fake_cards, load_guard
from tiny_backends import LETTERS, dialogue
from tiny_models import loaded, tiny_tokenizer
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes
from transformers import AutoModelForCausalLM, LlamaConfig

from calprobe.backends import Decoding, Dialogue, Pending
from calprobe.backends.local import TransformersBackend, check
from calprobe.models import LoadedModel, head

VARIANTS, QUESTIONS, TOKENS = 5, 51, 4  # 255 prompts of a wave's 256
CARD = torch.device("cuda", 0)


def llama(n_layers: int) -> LoadedModel:
    """Llama 3 8B with so many layers, on the card, without values."""
    config = LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=n_layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128_256,
        max_position_embeddings=8192,
    )
    with _disable_current_modes(), torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    for module in network.modules():
        for kind in (module._parameters, module._buffers):
            for name, array in kind.items():
                if array is not None:
                    empty = torch.empty(array.shape, dtype=array.dtype, device=CARD)
                    is_parameter = kind is module._parameters
                    kind[name] = nn.Parameter(empty, requires_grad=False) if is_parameter else empty
    known: dict[str, Any] = {"tokenizer": tiny_tokenizer(), "max_positions": 8192, "embedding_rows": 128_256}
    return loaded(network, device=CARD, dtype="bfloat16", fused=True, **known)


def dialogues(decoding: Decoding) -> list[Dialogue]:
    """Each question under each variant, of which each has an opening of its own."""
    rng = random.Random(0)
    questions = ["".join(rng.choices("abcdefghij ", k=rng.randrange(40, 180))) for _ in range(QUESTIONS)]
    openings = [f"Answer with a letter: {'x' * (60 + 20 * variant)}" for variant in range(VARIANTS)]
    return [
        dialogue(f"{opening} {text}?", f"{number}", variant=f"{variant}", labels=LETTERS, decoding=decoding)
        for number, text in enumerate(questions)
        for variant, opening in enumerate(openings)
    ]


def numbers_of(n_layers: int, temperature: float, top_p: float) -> dict[str, Any]:
    """Numbers of a wave, and its launches for each further token of its replies."""
    short, long = (wave(n_layers, Decoding(tokens, temperature, top_p)) for tokens in (TOKENS, 2 * TOKENS))
    return short | {"a step": (long["launches"] - short["launches"]) / TOKENS}


def wave(n_layers: int, decoding: Decoding) -> dict[str, Any]:
    """Numbers of a wave; nothing of loading."""
    measured, agrees = lambda *_: (1.0, None), lambda *_: None  # of arrays without values, neither can be seen
    with fake_cards() as work, patch.object(head, "_response", measured), patch.object(check, "_disagreement", agrees):
        backend = TransformersBackend(llama(n_layers))
        work.clear()
        replies = list(backend.replies(Pending(each) for each in dialogues(decoding)))
        assert len(replies) == VARIANTS * QUESTIONS
        return {**work.numbers(), "of kernels": work.counts["of kernels"], "where": dict(work.places)}


if __name__ == "__main__":
    load_guard(Path(sys.argv[1]))
    drawn = [float(number) for number in sys.argv[2:4]]
    print(json.dumps({count: numbers_of(int(count), *drawn) for count in sys.argv[4:]}))
