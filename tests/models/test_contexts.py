"""Contexts before completions: where they end, and how those that are too long are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_tokenizers import byte_level, sentence_piece, with_tokenizer
from tokenizers import Tokenizer, models

import calprobe.models.token_roles as tokens_module
from calprobe.errors import StatementError
from calprobe.models import tokenise
from calprobe.statements import join
from calprobe.words import Role

TEXTS = st.text("ab .\n5é", min_size=1, max_size=12)
TOKENIZERS = {"byte-level": byte_level(), "trimmed": byte_level(trim_offsets=True), "sentencepiece": sentence_piece()}


def tokens_of(context: str, completion: str, tokenizer: Any) -> tuple[list[str], list[str]]:
    """Tokens of the context and of the completion."""
    rows = tokenise([join(context, completion)], with_tokenizer(tokenizer), scored="completion")
    tokens = tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    assert rows.contexts is not None
    return tokens[: rows.contexts.lengths[0]], tokens[rows.contexts.lengths[0] :]


def test_the_joining_space_is_the_completions() -> None:
    context, completion = tokens_of("the capital ", "of France", byte_level())
    assert (context[-1], completion) == ("Ġcapital", ["Ġof", "ĠFrance"])
    # A space with a token of its own is scored: a candidate has it scored too where its first word contains the space.
    context, completion = tokens_of("the", "5 capital", byte_level())
    assert (context, completion[:2]) == (["t", "h", "e"], ["Ġ", "5"])
    assert tokens_of("the", "5", sentence_piece())[1][0] == "▁"
    # A line break that ends a context is the context's.
    assert tokens_of("the\n", "5", byte_level()) == (["t", "h", "e", "Ċ"], ["5"])


def test_a_token_across_the_joint_is_the_completions() -> None:
    pieces = [(piece, -1.0) for piece in ("<unk>", "a", ".", " ", ". ", "b", "\n", "\nb")]
    straddling = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))

    class Fast:
        """The tokenizer as transformers calls it."""

        def __call__(self, texts: list[str], **_: Any) -> dict[str, Any]:
            found = [straddling.encode(text) for text in texts]
            return {
                "input_ids": [one.ids for one in found],
                "offset_mapping": [one.offsets for one in found],
                "special_tokens_mask": [[0] * len(one.ids) for one in found],
            }

        def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
            return [straddling.id_to_token(number) for number in ids]

    assert tokens_of("a.", "b", Fast()) == (["a"], [". ", "b"])
    assert tokens_of("a\n", "b", Fast()) == (["a"], ["\nb"])


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS.filter(lambda text: not text.startswith(" "))), min_size=1, max_size=5))
def test_contexts_end_at_the_first_token_of_the_answer(tokenizer: Any, pairs: list[tuple[str, str]]) -> None:
    statements = [join(*pair) for pair in pairs]
    rows = tokenise(statements, with_tokenizer(tokenizer), scored="completion")
    plain = tokenise(statements, with_tokenizer(tokenizer))
    assert rows.contexts is not None
    assert rows.token_ids.tolist() == plain.token_ids.tolist()
    assert rows.offsets.tolist() == plain.offsets.tolist()
    assert not rows.contexts.cut.any()
    assert rows.scored.offsets[-1] == rows.is_scored.sum() == (rows.lengths - rows.contexts.lengths).sum()
    for place, statement in enumerate(statements):
        own = slice(*rows.offsets[place : place + 2].tolist())
        encoded = tokenizer([statement.text], add_special_tokens=False, return_offsets_mapping=True)
        spans = encoded["offset_mapping"][0]
        roles = rows.roles[own].tolist()
        length = int(rows.contexts.lengths[place])
        assert Role.ANSWER not in roles[:length]
        assert roles[length] == Role.ANSWER
        assert all(end <= statement.answer[0] for _, end in spans[:length])
        start, end = spans[length]
        assert end > statement.answer[0] or start == end  # trimmed: a space alone has no characters


def test_a_long_context_loses_its_first_tokens() -> None:
    statements = [join("abcdefgh", "xy"), join("abc", "x"), join("abcdefgh", "wxyz")]  # a token a letter, a space
    model = with_tokenizer(byte_level(merged=False), max_positions=8)  # the start token takes one
    rows = tokenise(statements, model, scored="completion")
    assert rows.contexts is not None
    letters = model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    texts = ["".join(letters[a:b]) for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]
    assert texts == ["efghĠxy", "abcĠx", "ghĠwxyz"]  # each by itself, as FACTOR's own script cuts
    assert rows.contexts.lengths.tolist() == [4, 3, 2]
    assert rows.contexts.cut.tolist() == [4, 0, 6]
    assert (rows.token_ids.dtype, rows.offsets.dtype, rows.contexts.lengths.dtype) == (np.int32, np.int64, np.int64)
    # One position more, one token more.
    longer = tokenise(statements, with_tokenizer(byte_level(merged=False), max_positions=9), scored="completion")
    assert longer.contexts is not None
    assert longer.contexts.cut.tolist() == [3, 0, 5]


@pytest.mark.parametrize(("limit", "fits"), [(6, True), (5, False)])
def test_a_completion_that_does_not_fit_alone(limit: int, fits: bool) -> None:
    statements = [join("abc", "x"), join("abc", "wxyz")]  # five tokens with the space
    model = with_tokenizer(byte_level(merged=False), max_positions=limit, name="short")
    if fits:
        rows = tokenise(statements, model, scored="completion")
        assert rows.contexts is not None
        assert rows.contexts.lengths.tolist() == [3, 0]
        return
    said = r"statement 1 \('abc wxyz'\): its completion alone has 6 tokens with the start token, but short takes 5;"
    with pytest.raises(StatementError, match=said) as caught:
        tokenise(statements, model, scored="completion")
    assert caught.value.statement == 1


def test_a_completion_without_a_token() -> None:
    class Deaf:
        def __call__(self, texts: list[str], **_: Any) -> dict[str, Any]:
            ends = [[(0, 1)] for _ in texts]
            return {
                "input_ids": [[5] for _ in texts],
                "offset_mapping": ends,
                "special_tokens_mask": [[0]] * len(texts),
            }

    with pytest.raises(StatementError, match=r"statement 0 \('a \\xad'\): its completion has no token"):
        tokenise([join("a", "\u00ad")], with_tokenizer(Deaf()), scored="completion")


@pytest.mark.parametrize("scored", ["statement", "completion"])
def test_many_characters_are_worked_on_in_stretches(scored: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = [join("ab" * (number % 5), "xyz") for number in range(23)]
    model = with_tokenizer(byte_level(), max_positions=13)
    complete = tokenise(statements, model, "unicode", scored)
    monkeypatch.setattr(tokens_module, "_STRETCH", 20)
    parts = tokenise(statements, model, "unicode", scored)
    for column in ("token_ids", "roles", "offsets", "words"):
        assert getattr(parts, column).tolist() == getattr(complete, column).tolist()
    if complete.contexts is not None and parts.contexts is not None:
        assert parts.contexts.lengths.tolist() == complete.contexts.lengths.tolist()
        assert parts.contexts.cut.tolist() == complete.contexts.cut.tolist()
    with pytest.raises(StatementError, match="statement 22 ") as caught:
        tokenise([*statements[:22], join("a", "b" * 30)], model, None, scored)
    assert caught.value.statement == 22
