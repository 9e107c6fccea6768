"""Networks in memory as models: what is read off them, what they are taken out of, what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_models import (
    save_tiny_masked_model,
    save_tiny_model,
    tiny_causal,
    tiny_masked,
    tiny_masked_tokenizer,
    tiny_tokenizer,
)
from torch import nn
from trainings import new_model
from transformers import T5Config, T5ForConditionalGeneration

from calprobe.errors import CalprobeError, UsageError
from calprobe.models import load_model
from calprobe.models.identity import live_model
from calprobe.training.trained_model import model_in_training, own_tokenizer, refuse_sharded, unwrapped

SAVED = {"causal": save_tiny_model, "masked": save_tiny_masked_model}


@pytest.mark.parametrize("kind", SAVED)
def test_a_live_model_is_the_loaded_one(kind: str, tmp_path: Path) -> None:
    model = load_model(str(SAVED[kind](tmp_path / "model")))
    model.network.config.architectures = None  # as before it was ever saved
    live = live_model(model.network, model.tokenizer, model.name)
    assert live.network is model.network
    assert live.kind == kind
    plain = ("network", "tokenizer")
    assert {k: v for k, v in vars(live).items() if k not in plain} == {
        k: v for k, v in vars(model).items() if k not in plain
    }


def test_what_is_no_language_model_is_refused() -> None:
    tokenizer = tiny_tokenizer()
    with pytest.raises(CalprobeError, match=r"^mine: Linear is not a model of transformers"):
        live_model(nn.Linear(2, 2), tokenizer, "mine")
    t5 = T5ForConditionalGeneration(T5Config(vocab_size=260, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))
    with pytest.raises(CalprobeError, match=r"^mine: T5ForConditionalGeneration is an encoder-decoder"):
        live_model(t5, tokenizer, "mine")
    with pytest.raises(CalprobeError, match=r"^mine: its weights are float64; only float32, bfloat16 and float16 are"):
        live_model(new_model().double(), tokenizer, "mine")
    with pytest.raises(CalprobeError, match=r"^mine: its tokenizer \(SimpleNamespace\) gives no character offsets"):
        live_model(new_model(), SimpleNamespace(is_fast=False), "mine")
    with pytest.raises(CalprobeError, match=r"^mine: its tokenizer gives ids up to 258, its embedding only 97 rows"):
        live_model(tiny_causal("gpt2"), tokenizer, "mine")
    with pytest.raises(UsageError, match="has no mask token"):
        live_model(tiny_masked("bert"), tokenizer, "mine")


def test_names_say_where_training_is() -> None:
    network = new_model()
    model = model_in_training(network, tiny_tokenizer(), 30)
    assert (model.name, model.source, model.note) == ("gpt2@30", "gpt2@30", "in training, step 30")
    network.config.name_or_path = "HuggingFaceTB/SmolLM2-135M"
    model = model_in_training(nn.DataParallel(network), tiny_tokenizer(), 30)
    assert (model.name, model.source) == ("SmolLM2-135M@30", "HuggingFaceTB/SmolLM2-135M")
    assert (model.network is network, model.adapter_merged) == (True, None)


@pytest.mark.proof
def test_a_compiled_network_is_unwrapped() -> None:
    network = new_model()
    compiled: Any = torch.compile(network)
    assert unwrapped(compiled) is network
    assert compiled._orig_mod is network


def test_wrappers_are_taken_off_and_left_complete() -> None:
    network = new_model()
    for wrapped in (network, nn.DataParallel(network)):
        assert unwrapped(wrapped) is network
    peft = pytest.importorskip("peft")
    adapted = peft.get_peft_model(new_model(), peft.LoraConfig(target_modules=["c_attn"], task_type="CAUSAL_LM"))
    assert unwrapped(nn.DataParallel(adapted)) is adapted.get_base_model()
    assert model_in_training(adapted, tiny_tokenizer(), 1).adapter_merged is False
    prompt = peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM")
    with pytest.raises(UsageError, match=r"^PROMPT_TUNING puts trained vectors in front of the text"):
        unwrapped(peft.get_peft_model(new_model(), prompt))


def test_sharded_weights_are_refused() -> None:
    network: Any = nn.Linear(2, 2)
    refuse_sharded(SimpleNamespace(fsdp=[]), network)
    with pytest.raises(UsageError, match=r"sharded over processes \(FSDP\), .* score the checkpoints with calprobe"):
        refuse_sharded(SimpleNamespace(fsdp=["full_shard"]), network)
    network.weight.placements = ("Shard(0)",)
    with pytest.raises(UsageError, match="DTensor"):
        refuse_sharded(SimpleNamespace(fsdp=[]), network)
    network.weight.ds_id = 0
    with pytest.raises(UsageError, match="ZeRO-3"):
        refuse_sharded(SimpleNamespace(), network)


def test_the_tokenizer_of_a_processor_is_copied() -> None:
    tokenizer = tiny_masked_tokenizer()
    for given in (tokenizer, SimpleNamespace(tokenizer=tokenizer)):
        own = own_tokenizer(given)
        assert own is not tokenizer
        assert own.get_vocab() == tokenizer.get_vocab()
    with pytest.raises(UsageError, match="no tokenizer; give the Trainer a processing_class"):
        own_tokenizer(None)
