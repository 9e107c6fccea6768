"""Causal or masked, from what a config says."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import (
    BertConfig,
    DebertaV2Config,
    Gemma3Config,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    T5Config,
    XLMConfig,
)

from calprobe.errors import CalprobeError, UsageError
from calprobe.models.kind import kind_of


def config_of(config_class: type[Any], *architectures: str, **settings: Any) -> Any:
    config = config_class(**settings)
    config.architectures = list(architectures) or None
    return config


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (config_of(GPT2Config, "GPT2LMHeadModel"), "causal"),
        (config_of(LlamaConfig, "LlamaForCausalLM"), "causal"),
        (config_of(Gemma3Config, "Gemma3ForConditionalGeneration"), "causal"),  # text and images, text decoder
        (config_of(BertConfig, "BertForMaskedLM"), "masked"),
        (config_of(BertConfig, "BertForPreTraining"), "masked"),
        (config_of(BertConfig, "BertLMHeadModel", is_decoder=True), "causal"),
        (config_of(ModernBertConfig, "ModernBertForMaskedLM"), "masked"),
        (config_of(LlamaConfig, "OthersForCausalLM"), "causal"),  # remote code
        (config_of(BertConfig, "OthersForMaskedLM"), "masked"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.architectures[0],
)
def test_kind_from_the_architectures(config: Any, kind: str) -> None:
    assert kind_of(config, "some/model") == kind


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (config_of(BertConfig, "BertModel"), "BertModel has no language-model head"),
        (config_of(BertConfig, "BertForSequenceClassification"), "BertForSequenceClassification has no language-model"),
        (config_of(T5Config, "T5ForConditionalGeneration"), "T5ForConditionalGeneration is an encoder-decoder"),
    ],
)
def test_models_that_are_neither_are_refused(config: Any, message: str) -> None:
    with pytest.raises(CalprobeError, match=f"some/model: {message}"):
        kind_of(config, "some/model")


@pytest.mark.parametrize("config", [config_of(DebertaV2Config), config_of(XLMConfig, "XLMWithLMHeadModel")])
def test_where_the_config_does_not_say_the_user_must(config: Any) -> None:
    with pytest.raises(UsageError, match="give --kind causal or --kind masked"):
        kind_of(config, "some/model")
    assert kind_of(config, "some/model", forced="masked") == "masked"


def test_a_model_that_sees_both_sides_cannot_be_forced_to_causal() -> None:
    with pytest.raises(UsageError, match="reads a text from both sides"):
        kind_of(config_of(BertConfig, "BertForMaskedLM"), "some/model", forced="causal")
    assert kind_of(config_of(BertConfig, "BertModel", is_decoder=True), "some/model", forced="causal") == "causal"


def test_no_kind_can_be_forced_on_an_encoder_decoder() -> None:
    with pytest.raises(CalprobeError, match="is an encoder-decoder"):
        kind_of(config_of(T5Config, "T5ForConditionalGeneration"), "some/model", forced="causal")


def test_masked_cannot_be_forced_on_a_model_without_such_a_head() -> None:
    config = GPT2Config(architectures=["GPT2LMHeadModel"])
    with pytest.raises(UsageError, match="GPT2LMHeadModel has no masked language-model head; leave --kind out"):
        kind_of(config, "gpt2", forced="masked")
