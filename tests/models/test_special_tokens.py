"""What a tokenizer puts around a statement."""

from __future__ import annotations

import pytest
from sample_tokenizers import byte_level, deaf, roberta, sentence_piece, word_piece, xlm_roberta
from tokenizers import Tokenizer, models, processors
from transformers import PreTrainedTokenizerFast

from calprobe.errors import CalprobeError, UsageError
from calprobe.models.tokenizers import special_tokens_of
from calprobe.planning.token_rows import SpecialTokens


def test_the_usual_three_by_hand() -> None:
    assert special_tokens_of(word_piece()) == SpecialTokens(before=(2,), after=(3,), mask=4)
    assert special_tokens_of(roberta()) == SpecialTokens(before=(1,), after=(2,), mask=4)
    assert special_tokens_of(xlm_roberta()) == SpecialTokens(before=(1,), after=(2,), mask=4)


def test_a_tokenizer_may_put_nothing_or_several() -> None:
    assert special_tokens_of(byte_level()) == SpecialTokens(before=(), after=(), mask=4)
    tokenizer = word_piece()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] [CLS] $A [SEP] [PAD]", special_tokens=[("[CLS]", 2), ("[SEP]", 3), ("[PAD]", 0)]
    )
    assert special_tokens_of(tokenizer) == SpecialTokens(before=(2, 2), after=(3, 0), mask=4)


def test_without_a_mask_token_nothing_can_be_masked() -> None:
    for tokenizer in (sentence_piece(), deaf()):
        with pytest.raises(UsageError, match=r"has no mask token.*set mask_token in its tokenizer_config\.json$"):
            special_tokens_of(tokenizer)


def test_a_tokenizer_that_drops_a_plain_letter_is_named_with_what_it_lacks() -> None:
    backend = Tokenizer(models.BPE(vocab={"<mask>": 0, "b": 1}, merges=[]))
    with pytest.raises(CalprobeError, match=r"gives no token for 'a'.*give it an unknown token"):
        special_tokens_of(PreTrainedTokenizerFast(tokenizer_object=backend, mask_token="<mask>"))
