"""The words that tokens belong to: what each kind of tokenizer calls one, and the same words for all by Unicode's."""

from __future__ import annotations

from itertools import groupby
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_tokenizers import byte_level, roberta, sentence_piece, word_piece, xlm_roberta

from calprobe.models import tokenise
from calprobe.models.tokenizers import special_tokens_of
from calprobe.planning import plan_masked
from calprobe.planning.token_rows import TokenRows
from calprobe.statements import Statement, fill
from calprobe.statements.unicode_words import words_of_characters
from calprobe.words import WordSplit

TOKENIZERS = {
    "wordpiece": word_piece(),
    "byte-level": byte_level(),
    "byte-level, trimmed offsets": roberta(),
    "metaspace": xlm_roberta(),
    "metaspace, no prefix": sentence_piece("never"),
}
IVORY_COAST = fill("[X], [Y] d'Ivoire, is U.S.-based.", "Paris", "東京")


def rows_of(statements: list[Statement], tokenizer: Any, split: WordSplit | None, kind: str = "masked") -> TokenRows:
    model: Any = SimpleNamespace(name="x", kind=kind, tokenizer=tokenizer, max_positions=None, embedding_rows=None)
    return tokenise(statements, model, split)


def spelt(statement: Statement, tokenizer: Any, split: WordSplit | None) -> list[str]:
    """The words as the tokens spell them, a token's space mark and `##` left out."""
    rows = rows_of([statement], tokenizer, split)
    assert rows.words is not None
    tokens = tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    words = groupby(zip(rows.words.tolist(), tokens, strict=True), key=lambda pair: pair[0])
    return ["".join(token.lstrip("Ġ▁").removeprefix("##") for _, token in pairs) for _, pairs in words]


def test_every_kind_of_tokenizer_calls_something_else_a_word() -> None:
    statement = Statement("Paris d'Ivoire, U.S.-based.", (0, 5), (6, 14))
    cut = {name: " ".join(spelt(statement, each, "tokenizer")) for name, each in TOKENIZERS.items()}
    assert cut["wordpiece"] == "paris d ' ivoire , u . s . - based ."
    assert cut["byte-level"] == cut["byte-level, trimmed offsets"] == "Paris d ' Ivoire , U . S .- based ."
    assert cut["metaspace"] == cut["metaspace, no prefix"] == "Paris d'Ivoire, U.S.-based."


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_unicode_words_are_the_same_for_all(tokenizer: Any) -> None:
    statement = Statement("Paris d'Ivoire, U.S.-based.", (0, 5), (6, 14))
    words = [word.lower() for word in spelt(statement, tokenizer, "unicode")]
    assert words == ["paris", "d'ivoire", ",", "u.s", ".", "-", "based", "."]


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_the_full_stop_is_masked_with_the_answer_only_by_the_tokenizers_words(tokenizer: Any) -> None:
    """Metaspace keeps `Paris.` as one word."""
    statement = fill("The capital of [X] is [Y].", "France", "Paris")
    words = rows_of([statement], tokenizer, "tokenizer").words
    by_unicode = rows_of([statement], tokenizer, "unicode").words
    assert words is not None
    assert by_unicode is not None
    metaspace = "▁is" in tokenizer.get_vocab()
    assert (words[-1] == words[-2]) == metaspace
    assert by_unicode[-1] == by_unicode[-2] + 1


def test_unspaced_letters_are_one_word_to_a_tokenizer_and_several_by_unicode() -> None:
    statement = Statement("東京 is", (0, 2), (3, 5))
    words, by_unicode = (rows_of([statement], byte_level(), split).words for split in get_args(WordSplit))
    assert words is not None
    assert by_unicode is not None
    assert words.tolist() == [0] * 6 + [1]  # three bytes a letter
    assert by_unicode.tolist() == [0] * 3 + [1] * 3 + [2]


def test_a_space_alone_goes_with_the_word_behind_it() -> None:
    for tokenizer in (byte_level(merged=False), roberta(), xlm_roberta()):
        rows = rows_of([Statement("of  me ", (0, 2), (4, 6))], tokenizer, "unicode")
        tokens = tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
        assert rows.words is not None
        of_word = dict(zip([token.lstrip("Ġ▁") for token in tokens], rows.words.tolist(), strict=True))
        first_space = next(place for place, token in enumerate(tokens) if place > 0 and token in ("Ġ", "▁"))
        assert rows.words[first_space] == of_word["m"] == of_word["e"]


LABELS = st.text(st.sampled_from("aeR é日😀'-. 1"), min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
STATEMENTS = st.lists(st.builds(fill, st.sampled_from(["[X] is of [Y].", "the[X]of[Y] "]), LABELS, LABELS), max_size=4)


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@given(statements=STATEMENTS)
def test_words_are_those_of_the_encoding_or_of_the_first_character(tokenizer: Any, statements: list[Statement]) -> None:
    for statement in statements:
        encoded = tokenizer(statement.text, return_offsets_mapping=True, add_special_tokens=True)
        places = [place for place, word in enumerate(encoded.word_ids()) if word is not None]
        by_encoding = [encoded.word_ids()[place] for place in places]
        of_character = words_of_characters([statement.text]).tolist()
        starts = [min(encoded["offset_mapping"][place][0], len(of_character) - 1) for place in places]
        letters = [
            next((at for at in range(start, len(of_character)) if not statement.text[at].isspace()), start)
            for start in starts
        ]
        for split, expected in (("tokenizer", by_encoding), ("unicode", [of_character[at] for at in letters])):
            words = rows_of([statement], tokenizer, split).words
            assert words is not None
            assert words.tolist() == [len(set(expected[: place + 1])) - 1 for place in range(len(expected))]


@pytest.mark.parametrize("split", get_args(WordSplit))
def test_every_statement_counts_its_words_from_0(split: WordSplit) -> None:
    empty = Statement("", (0, 0), (0, 0))
    statements = [empty, IVORY_COAST, IVORY_COAST, empty, fill("[X] [Y]", "a", "b"), empty]
    rows = rows_of(statements, word_piece(), split)
    assert rows.words is not None
    assert rows.words.dtype == np.int32
    parts = np.split(rows.words, rows.offsets[1:-1])
    assert [part.tolist()[:1] for part in parts] == [[], [0], [0], [], [0], []]
    assert parts[1].tolist() == parts[2].tolist()
    assert parts[4].tolist() == [0, 1]
    nothing = rows_of([], word_piece(), split).words
    assert nothing is not None
    assert nothing.tolist() == []


def test_a_causal_model_is_given_words_only_if_it_asks() -> None:
    assert rows_of([IVORY_COAST], byte_level(), None, kind="causal").words is None
    asked = rows_of([IVORY_COAST], byte_level(), "unicode", kind="causal").words
    assert asked is not None
    default = rows_of([IVORY_COAST], word_piece(), None).words
    by_tokenizer = rows_of([IVORY_COAST], word_piece(), "tokenizer").words
    assert default is not None
    assert by_tokenizer is not None
    assert default.tolist() == by_tokenizer.tolist()


@pytest.mark.parametrize("tokenizer", [word_piece(), roberta(), xlm_roberta()], ids=["bert", "roberta", "xlm-r"])
def test_special_tokens_are_put_around_as_the_tokenizer_does(tokenizer: Any) -> None:
    """Roles stay with the scored tokens: the planned row is the tokenizer's own, but for what is masked."""
    rows = rows_of([IVORY_COAST], tokenizer, None)
    special = special_tokens_of(tokenizer)
    assert (len(special.before), len(special.after)) == (1, 1)
    complete = tokenizer(IVORY_COAST.text).input_ids
    assert [*special.before, *rows.token_ids.tolist(), *special.after] == complete
    plan = plan_masked(rows, special, "original", 1_000_000)
    batch = plan.batch(0)
    for row, scored, target in zip(
        batch.token_ids.tolist(), batch.scored.tolist(), batch.targets.tolist(), strict=True
    ):
        assert row == [*complete[:scored], tokenizer.mask_token_id, *complete[scored + 1 :]]
        assert target == complete[scored]
