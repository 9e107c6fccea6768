"""Labels as tokens, and their probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_backends import VOCABULARY, tiny_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from calprobe.backends.local.label_tokens import LabelForms, LabelVocabulary
from calprobe.backends.local.token_text import TokenText

WORDS = ["<s>", "</s>", "A", "ĠA", "ĊA", "a", "AB", "B", "ĠB", "Ġ", "y", "e", "s", "Ġye"]


def vocabulary(n_tokens: int = len(WORDS)) -> LabelVocabulary:
    merges = [("Ġ", "A"), ("Ċ", "A"), ("A", "B"), ("Ġ", "B"), ("Ġ", "y"), ("Ġy", "e")]
    ids = {word: place for place, word in enumerate([*WORDS, "Ċ", "Ġy"])}
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    model = tiny_model(tokenizer=fast, start_token_id=0)
    return LabelVocabulary(TokenText(model), fast, n_tokens)


def test_every_token_that_is_the_label_behind_white_space_counts() -> None:
    forms = vocabulary().forms(("A", "B", "AB"))
    assert forms.sequences == (((2,), (3,), (4,)), ((7,), (8,)), ((6,),))
    assert forms.firsts == (2, 3, 4, 6, 7, 8)
    assert forms.stored() == ((2, 3, 4), (7, 8), (6,))


def test_tokens_without_a_logit_do_not_count() -> None:
    assert vocabulary(n_tokens=4).forms(("A",)).sequences == (((2,), (3,)),)


def test_a_label_of_several_tokens_is_two_sequences() -> None:
    forms = vocabulary().forms(("yes", "A"))
    assert forms.sequences[0] == ((10, 11, 12), (13, 12))
    assert forms.stored()[0] == (10, 11, 12, -1, 13, 12, -1)
    assert forms.long == ((10, 11, 12), (13, 12))


def test_places_are_the_first_token_and_where_a_label_begins() -> None:
    forms = LabelForms(("A", "yes"), (((2,), (3,)), ((10, 11, 12),)), (2, 3, 10))
    assert forms.places([5, 3, 10, 11, 5, 10, 11, 12]) == [0, 1, 5]
    assert forms.places([]) == [0]


def test_masses_are_sums_over_forms_and_products_along_sequences() -> None:
    forms = LabelForms(("A", "yes"), (((2,), (3,)), ((10, 11, 12), (13, 12))), (2, 3, 10, 13))
    firsts = np.log([[0.1, 0.2, 0.4, 0.1]])
    scores = forms.scores([0], firsts, {(0, (10, 11, 12)): np.log(0.5), (0, (13, 12)): np.log(0.25)})
    assert np.exp(scores.logprobs[0]) == pytest.approx([0.3, 0.225])
    assert scores.positions.tolist() == [0]
    assert scores.least.tolist() == [-np.inf]
    assert scores.covered.all()
    assert len(WORDS) < VOCABULARY
