"""Causal or masked: read from the config's architectures, never guessed from a name."""

from __future__ import annotations

from typing import Any

from calprobe.errors import CalprobeError, UsageError
from calprobe.words import ModelKind

_NEITHER = "only models with a causal or masked language-model head can be scored"


def kind_of(config: Any, name: str, forced: ModelKind | None = None) -> ModelKind:
    """The kind of the model that `config` (a transformers config) describes; `forced` is the user's --kind.

    Raises CalprobeError for models that are neither (encoder without a head, classifier, encoder-decoder), and
    UsageError where the architectures do not say or a forced kind would read the text from both sides as causal.
    """
    architectures = list(config.architectures or ())
    shown = ", ".join(architectures) or f"model type {config.model_type}"
    if getattr(config, "is_encoder_decoder", False):
        raise CalprobeError(f"{name}: {shown} is an encoder-decoder; {_NEITHER}")
    if forced is not None:
        if forced == "causal" and _sees_both_sides(config):
            raise UsageError(
                f"{name}: {shown} reads a text from both sides, so --kind causal would score tokens that it has seen;"
                " use --kind masked"
            )
        if forced == "masked" and not _has_masked_head(config) and not getattr(config, "auto_map", None):
            raise UsageError(f"{name}: {shown} has no masked language-model head; leave --kind out")
        return forced
    kinds = {kind for architecture in architectures for kind in _kinds_of_class(architecture)}
    if len(kinds) == 1:
        return kinds.pop()
    if kinds or not architectures:
        raise UsageError(
            f"{name}: its config.json does not say whether the model is causal or masked ({shown});"
            " give --kind causal or --kind masked"
        )
    raise CalprobeError(f"{name}: {shown} has no language-model head; {_NEITHER} (--kind forces one)")


def _kinds_of_class(architecture: str) -> set[ModelKind]:
    """Both for XLM's one class, which is trained either way; none for a class without a language-model head."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kinds: set[ModelKind] = set()
    if architecture in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        kinds.add("causal")
    if architecture in MODEL_FOR_MASKED_LM_MAPPING_NAMES.values():
        kinds.add("masked")
    if kinds:
        return kinds
    # Classes that transformers does not list: remote code, and BERT's joint pre-training head.
    if architecture.endswith(("ForCausalLM", "LMHeadModel")):
        return {"causal"}
    return {"masked"} if architecture.endswith(("ForMaskedLM", "ForPreTraining")) else set()


def _sees_both_sides(config: Any) -> bool:
    """True for BERT and similar models: their causal class attends both ways unless the config says `is_decoder`."""
    return _has_masked_head(config) and not getattr(config, "is_decoder", False)


def _has_masked_head(config: Any) -> bool:
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
