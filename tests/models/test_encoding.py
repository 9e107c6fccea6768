"""Token ids and spans from the tokenizer's own batches: those of a call, whatever the tokenizer's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from real_models import gemma3, minilm_mlm, smollm2
from sample_tokenizers import byte_level, deaf, roberta, sentence_piece, word_piece, xlm_roberta
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from calprobe.models import encoding, load_model
from calprobe.models.encoding import encode

TEXTS = [
    "The capital of France is Paris.",
    " two  spaces, a tab\t and <s> </s> [CLS] <mask> <|endoftext|> <bos> inside ",
    "é日😀'-.\u0301 naïve Straße ﬁ",
    "",
    "the" * 700,
]
SAMPLES: dict[str, Callable[[], Any]] = {
    "byte-level": byte_level,
    "byte-level, trimmed": lambda: byte_level(trim_offsets=True),
    "sentencepiece": sentence_piece,
    "wordpiece": word_piece,
    "roberta": roberta,
    "xlm-roberta": xlm_roberta,
    "deaf": deaf,
    "tiny-clm": lambda: load_model("tiny-clm").tokenizer,
    "tiny-mlm": lambda: load_model("tiny-mlm").tokenizer,
}
REAL = {"smollm2": smollm2, "gemma3": gemma3, "minilm-mlm": minilm_mlm}


def same_as_a_call(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert encoding.only_hands_on(tokenizer)
    for with_words in (False, True):
        fast = encode(TEXTS, tokenizer, with_words)
        with monkeypatch.context() as patch:
            patch.setattr(encoding, "only_hands_on", lambda tokenizer: False)
            called = encode(TEXTS, tokenizer, with_words)
        for name in ("ids", "start", "end", "offsets", *(("words",) if with_words else ())):
            one, other = getattr(fast, name), getattr(called, name)
            assert one.dtype == other.dtype, name
            np.testing.assert_array_equal(one, other, name)
        assert len(fast.ids)


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_ids_spans_and_words_are_those_of_a_call(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    same_as_a_call(make(), monkeypatch)


@pytest.mark.weights
@pytest.mark.parametrize("load", [pytest.param(load, marks=pytest.mark.proof) for load in REAL.values()], ids=REAL)
def test_ids_spans_and_words_of_real_tokenizers_are_those_of_a_call(
    load: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    same_as_a_call(load().tokenizer, monkeypatch)


def settings(tokenizer: Any) -> tuple[Any, ...]:
    backend = tokenizer.backend_tokenizer
    return backend.padding, backend.truncation, backend.encode_special_tokens


def test_a_tokenizer_that_pads_and_truncates_does_so_again_afterwards() -> None:
    plain, tokenizer = byte_level(), byte_level()
    backend = tokenizer.backend_tokenizer
    backend.enable_padding(direction="left", pad_id=2, pad_token="</s>", length=50, pad_to_multiple_of=8)
    backend.enable_truncation(3, stride=1, strategy="only_first", direction="left")
    before = settings(tokenizer)
    np.testing.assert_array_equal(encode(TEXTS, tokenizer, False).ids, encode(TEXTS, plain, False).ids)
    assert settings(tokenizer) == before


def test_settings_return_after_an_error() -> None:
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.enable_truncation(3)
    before = settings(tokenizer)
    with pytest.raises(TypeError):
        encode(["a", 1], tokenizer, False)  # type: ignore[list-item]
    assert settings(tokenizer) == before


def test_a_class_that_changes_what_it_is_given_is_called() -> None:
    class Lower(PreTrainedTokenizerFast):
        def __call__(self, texts: Any, **how: Any) -> Any:
            return super().__call__([text.lower() for text in texts], **how)

    tokenizer = Lower(tokenizer_object=byte_level().backend_tokenizer)
    np.testing.assert_array_equal(encode(["THE"], tokenizer, False).ids, encode(["the"], byte_level(), False).ids)


def test_a_tokenizer_without_a_backend_is_called() -> None:
    assert encoding.only_hands_on(word_piece())
    assert not encoding.only_hands_on(PreTrainedTokenizerBase())
