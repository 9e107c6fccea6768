"""Tokenisation: the scored tokens and their roles, held against a brute-force reading of the offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from call_counts import python_calls
from hypothesis import given
from hypothesis import strategies as st
from sample_tokenizers import byte_level, deaf, sentence_piece, with_tokenizer, word_piece

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel, tokenise
from calprobe.statements import Statement, fill
from calprobe.words import Role

TOKENIZERS = {
    "byte-level": byte_level(),
    "byte-level, trimmed offsets": byte_level(trim_offsets=True),
    "byte-level, bytes only": byte_level(merged=False),
    "sentencepiece": sentence_piece(),
    "sentencepiece, no prefix": sentence_piece("never"),
    "wordpiece": word_piece(),
}
FRANCE = fill("The capital of [X] is [Y].", "France", "Paris")


def words_and_roles(statement: Statement, model: LoadedModel) -> list[tuple[str, str]]:
    rows = tokenise([statement], model)
    tokens = model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    return [(token, Role(role).label) for token, role in zip(tokens, rows.roles, strict=True)]


def test_roles_of_a_plain_statement_by_hand() -> None:
    assert words_and_roles(FRANCE, with_tokenizer(byte_level())) == [
        ("T", "template"),
        ("h", "template"),
        ("e", "template"),
        ("Ġcapital", "template"),
        ("Ġof", "template"),
        ("ĠFrance", "subject"),
        ("Ġis", "template"),
        ("ĠParis", "answer"),
        (".", "template"),
    ]
    assert words_and_roles(FRANCE, with_tokenizer(word_piece()))[3:] == [
        ("france", "subject"),
        ("is", "template"),
        ("paris", "answer"),
        (".", "template"),
    ]


def test_white_space_at_the_end_of_a_slot_makes_no_subject_of_the_next_word() -> None:
    statement = Statement("In France is Rome", subject=(3, 10), answer=(13, 17))  # the slot ends after the space
    roles = dict(words_and_roles(statement, with_tokenizer(byte_level())))
    assert roles["Ġis"] == "template"
    assert roles["ĠRome"] == "answer"


def test_a_token_over_both_slots_belongs_to_the_answer() -> None:
    statement = Statement("the", subject=(0, 1), answer=(1, 3))
    assert words_and_roles(statement, with_tokenizer(word_piece())) == [("the", "answer")]


def test_bytes_of_one_letter_share_its_role() -> None:
    statement = Statement("of 😀", subject=(3, 4), answer=(0, 2))
    roles = words_and_roles(statement, with_tokenizer(sentence_piece()))
    assert [role for token, role in roles if token.startswith("<0x")] == ["subject"] * 4


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
def test_special_tokens_are_never_scored(tokenizer: Any) -> None:
    special = set(tokenizer.all_special_ids)
    assert special  # else the test would say nothing
    rows = tokenise([FRANCE, FRANCE], with_tokenizer(tokenizer))
    assert special.isdisjoint(rows.token_ids.tolist())


def test_bos_put_in_by_the_tokenizer_itself_is_not_among_the_tokens() -> None:
    tokenizer = sentence_piece()
    assert tokenizer("the").input_ids[0] == tokenizer.bos_token_id
    plain = sentence_piece()
    plain.backend_tokenizer.post_processor = None
    with_bos, without = (tokenise([FRANCE], with_tokenizer(one)) for one in (tokenizer, plain))
    assert with_bos.token_ids.tolist() == without.token_ids.tolist()


@pytest.mark.parametrize("tokenizer", [byte_level(), word_piece()], ids=["byte-level", "wordpiece"])
def test_text_that_looks_like_a_special_token_is_text(tokenizer: Any) -> None:
    """Where the vocabulary keeps them apart: a Unigram model may hold `<s>` as a piece of text."""
    token = tokenizer.bos_token or tokenizer.cls_token
    statement = fill("The tag [X] is [Y].", token, "of")
    rows = tokenise([statement], with_tokenizer(tokenizer))
    assert tokenizer.convert_tokens_to_ids(token) not in rows.token_ids.tolist()
    assert (rows.roles == Role.SUBJECT).any()


def test_rows_do_not_depend_on_company_or_order() -> None:
    """A tokenizer that pads left must not show its padding (or BOS again) in the shorter rows."""
    model = with_tokenizer(sentence_piece())
    statements = [fill("[X] is [Y].", "Rome" * count, "Paris") for count in (1, 9, 3, 1, 20)]
    together = tokenise(statements, model)
    for place, statement in enumerate(statements):
        alone = tokenise([statement], model)
        part = slice(together.offsets[place], together.offsets[place + 1])
        assert together.token_ids[part].tolist() == alone.token_ids.tolist()
        assert together.roles[part].tolist() == alone.roles.tolist()


def brute_force_roles(statement: Statement, tokenizer: Any) -> list[int]:
    """Each token's role, character by character, straight from the offsets."""
    encoded = tokenizer(
        statement.text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True
    )
    roles = []
    for start, end in encoded["offset_mapping"]:
        places = list(range(start, end)) or [min(start, len(statement.text) - 1)]
        while len(places) > 1 and statement.text[places[0]].isspace():
            places.pop(0)
        while len(places) > 1 and statement.text[places[-1]].isspace():
            places.pop()
        if len(places) == 1 and statement.text[places[0]].isspace():
            places = list(range(start, end)) or places
        touched = {Role.TEMPLATE}
        for place in places:
            if statement.answer[0] <= place < statement.answer[1]:
                touched.add(Role.ANSWER)
            if statement.subject[0] <= place < statement.subject[1]:
                touched.add(Role.SUBJECT)
        roles.append(int(max(touched)))
    return roles


LABELS = st.text(st.sampled_from("aeR é日😀'-. "), min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
TEMPLATES = st.sampled_from(["[X] is the capital of [Y].", "[Y]: [X]", "the[X]of[Y]", "é [X]é[Y] "])


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@given(data=st.lists(st.tuples(TEMPLATES, LABELS, LABELS), min_size=1, max_size=4))
def test_roles_are_those_of_the_overlapped_characters(tokenizer: Any, data: Sequence[tuple[str, str, str]]) -> None:
    statements = [fill(*parts) for parts in data]
    rows = tokenise(statements, with_tokenizer(tokenizer))
    expected = [role for statement in statements for role in brute_force_roles(statement, tokenizer)]
    assert rows.roles.tolist() == expected
    assert rows.offsets[-1] == len(rows.token_ids) == len(expected)


def test_no_statements_and_empty_texts_give_empty_rows() -> None:
    model = with_tokenizer(byte_level())
    assert tokenise([], model).offsets.tolist() == [0]
    rows = tokenise([Statement("", (0, 0), (0, 0)), FRANCE, Statement("", (0, 0), (0, 0))], model)
    assert rows.lengths.tolist() == [0, 9, 0]


def test_columns_have_the_types_that_planners_count_on() -> None:
    rows = tokenise([FRANCE], with_tokenizer(byte_level()))
    assert (rows.token_ids.dtype, rows.roles.dtype, rows.offsets.dtype) == (np.int32, np.int8, np.int64)


def test_a_letter_without_a_token_is_an_error_that_names_statement_and_place() -> None:
    statements = [Statement("a", (0, 1), (0, 0)), Statement("aab", (0, 1), (2, 3))]
    with pytest.raises(CalprobeError, match=r"statement 1 \('aab'\): no token covers character 2 \('b'\)"):
        tokenise(statements, with_tokenizer(deaf()))


def test_wrong_offsets_are_an_error() -> None:
    """Zero-width spans in the middle of a text, as a Llama 3 tokenizer once gave them."""

    class Shifted:
        def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[Any]]]:
            return {
                "input_ids": [[5, 6] for _ in texts],
                "offset_mapping": [[(0, 0), (3, 3)] for _ in texts],
                "special_tokens_mask": [[0, 0] for _ in texts],
            }

    with pytest.raises(CalprobeError, match="no token covers character 0"):
        tokenise([Statement("the rest", (0, 3), (4, 8))], with_tokenizer(Shifted()))


def test_letters_that_a_normaliser_drops_need_no_token() -> None:
    statement = fill("[X] is [Y].", "cafe\u0301", "the\u00ad")  # a combining accent, a soft hyphen
    roles = dict(words_and_roles(statement, with_tokenizer(word_piece())))
    assert roles["the"] == "answer"


@pytest.mark.parametrize("answer", ["the", "the "])
def test_white_space_at_the_end_of_a_label_does_not_make_what_follows_its_token(answer: str) -> None:
    """The token " ." overlaps the label's space; a stray space adds no token to the answer's score."""
    model = with_tokenizer(byte_level())
    statement = fill("[X] [Y].", "a", answer)
    rows = tokenise([statement], model)
    texts = model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    stop = next(place for place, text in enumerate(texts) if "." in text)
    assert Role(rows.roles[stop]) == Role.TEMPLATE
    assert Role(rows.roles[stop - 1]) == Role.ANSWER


@pytest.mark.parametrize(("limit", "fits"), [(9, False), (10, True)])
def test_the_start_token_counts_towards_the_positions(limit: int, fits: bool) -> None:
    model = with_tokenizer(byte_level(), max_positions=limit, name="short")  # FRANCE has nine tokens
    if fits:
        assert tokenise([FRANCE], model).lengths.tolist() == [9]
        return
    with pytest.raises(CalprobeError, match=r"statement 1 .*The capital of France.* has 10 tokens.* short takes 9"):
        tokenise([Statement("the", (0, 3), (3, 3)), FRANCE], model)


def test_a_masked_model_counts_both_its_special_tokens() -> None:
    model = with_tokenizer(word_piece(), max_positions=8)  # seven tokens, [CLS] and [SEP]
    with pytest.raises(CalprobeError, match="has 9 tokens"):
        tokenise([FRANCE], model)


def test_the_work_in_python_grows_no_faster_than_the_statements() -> None:
    subjects = [f"France {number}" for number in range(75)]
    statements = [fill("The capital of [X] is [Y].", x, f"Paris {y}") for x in subjects for y in range(50)]
    model = with_tokenizer(byte_level())
    tokenise(statements[:10], model)  # what is imported and cached once
    few, many = (python_calls(tokenise, statements[:count], model) for count in (375, 3750))
    assert many <= 12 * few
    assert many <= 40 * 3750
