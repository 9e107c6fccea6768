"""A tokenizer must give the words of its own vocabulary; what cuts them up was built wrongly."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

import pytest
from proofs import few_of
from real_models import gemma3, smollm2
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from calprobe.models.tokenizers import words_in_pieces

SYLLABLES = ("ka", "lo", "mi", "nu", "pe")


def sentencepiece_like(n_words: int, n_without_merge: int = 0) -> Any:
    """A byte-pair tokenizer of the words that three syllables make, the last merge of some of them left out."""
    pieces = ["\u2581", *"abcdefghijklmnopqrstuvwxyz", *SYLLABLES]
    merges = [(syllable[0], syllable[1]) for syllable in SYLLABLES]
    for first in SYLLABLES:
        pieces.append(f"\u2581{first}")
        merges.append(("\u2581", first))
        for second in SYLLABLES:
            pieces.append(f"{first}{second}")
    ends = [(second, third) for second, third in product(SYLLABLES, SYLLABLES)]
    merges += ends
    for place, (first, (second, third)) in enumerate(islice(product(SYLLABLES, ends), n_words)):
        pieces.append(f"\u2581{first}{second}{third}")
        if place >= n_without_merge:
            merges.append((f"\u2581{first}", f"{second}{third}"))
    core = Tokenizer(models.BPE({piece: place for place, piece in enumerate(pieces)}, merges))
    core.normalizer = normalizers.Replace(" ", "\u2581")
    core.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    return PreTrainedTokenizerFast(tokenizer_object=core)


def test_one_that_keeps_its_words() -> None:
    tokenizer = sentencepiece_like(40)
    assert tokenizer.tokenize("a kakaka") == ["a", "\u2581kakaka"]
    assert words_in_pieces(tokenizer) is None


def test_one_without_the_merges() -> None:
    fault = words_in_pieces(sentencepiece_like(40, n_without_merge=40))
    assert fault == "40 of 40 words come out in pieces, kakaka as ['\u2581ka', 'kaka']"


@pytest.mark.parametrize(("n_cut", "wrong"), [(4, False), (5, True)])
def test_a_tenth_of_the_words_may_be_cut(n_cut: int, wrong: bool) -> None:
    assert (words_in_pieces(sentencepiece_like(40, n_cut)) is not None) == wrong


def test_too_few_words_say_nothing() -> None:
    assert words_in_pieces(sentencepiece_like(19, n_without_merge=19)) is None
    assert words_in_pieces(sentencepiece_like(20, n_without_merge=20)) is not None


@pytest.mark.weights
@pytest.mark.parametrize("load", few_of([smollm2, gemma3], lambda load: load is smollm2))
def test_real_ones_keep_their_words(load: Any) -> None:
    assert words_in_pieces(load().tokenizer) is None
