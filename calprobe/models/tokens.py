"""Statements as token rows: the scored tokens with role and word of each, checked against the text they came from."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calprobe.errors import CalprobeError
from calprobe.statements.token_rows import Role, TokenRows
from calprobe.statements.words import words_of_characters
from calprobe.types import WordSplit

if TYPE_CHECKING:
    from calprobe.models.types import LoadedModel
    from calprobe.statements import Statement

# Marks, controls and format characters have no letter of their own; BERT's normaliser drops them.
_DROPPABLE_CATEGORIES = frozenset({"Mn", "Me", "Cc", "Cf"})


def tokenise(statements: Sequence[Statement], model: LoadedModel, word_split: WordSplit | None = None) -> TokenRows:
    """The scored tokens of `statements` in order, with roles; special tokens (BOS, CLS, SEP) are not among them.

    `word_split` says whose words the tokens belong to: `tokenizer`, what it cuts a text into before it looks for tokens
    (`word_ids`); `unicode`, the words of the text by UAX 29, a token in that of its first character that is no white
    space, so that a token of a space alone goes with the word that follows. None: no words for a causal model, which
    needs none, and the tokenizer's for a masked one.

    A token overlaps the characters of its offset span, less white space at the span's ends (" Paris" is "Paris"), and
    its role is the highest of answer, subject, template among them. A token without characters of its own (a prefix the
    tokenizer puts in) goes with the character that follows. Text that looks like a special token ("<s>") is read as
    text. No statements, or empty texts: empty rows.

    Raises CalprobeError if the tokens do not cover the text, if a token has no row in the model's embedding, or if a
    statement with the model's special tokens is longer than `model.max_positions`; each names the statement.
    """
    texts = [statement.text for statement in statements]
    split = word_split or ("tokenizer" if model.kind == "masked" else None)
    spans = _encode(texts, model.tokenizer, with_words=split == "tokenizer")
    characters = _Characters.of(texts)
    token_text = np.repeat(np.arange(len(texts)), np.diff(spans.offsets))
    start = spans.start + characters.offsets[token_text]
    end = spans.end + characters.offsets[token_text]
    _check_cover(texts, characters, start, end)
    start, end = _inked(characters, token_text, start, end)
    words = _unicode_words(texts, characters, token_text, start) if split == "unicode" else spans.words
    numbers = None if words is None else _numbered(words, spans.offsets)
    rows = TokenRows(spans.ids, _roles(statements, characters, start, end), spans.offsets, numbers)
    _check_ids(texts, rows, model)
    _check_length(texts, rows, model)
    return rows


@dataclass(frozen=True, slots=True)
class _Spans:
    """Token ids and their character spans within each text, in CSR form."""

    ids: npt.NDArray[np.int32]  # [tokens]
    start: npt.NDArray[np.int64]  # [tokens]
    end: npt.NDArray[np.int64]  # [tokens]
    offsets: npt.NDArray[np.int64]  # [texts + 1]
    words: npt.NDArray[np.int64] | None  # [tokens] as the tokenizer numbers them within each text; None: not asked


def _encode(texts: list[str], tokenizer: Any, with_words: bool) -> _Spans:
    if not texts:
        empty = np.zeros(0, np.int64)
        return _Spans(empty.astype(np.int32), empty, empty, np.zeros(1, np.int64), empty if with_words else None)
    encoded = tokenizer(
        texts,
        add_special_tokens=False,
        padding=False,
        truncation=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        split_special_tokens=True,
    )
    ids = np.fromiter(chain.from_iterable(encoded["input_ids"]), np.int32)
    pairs = np.array(list(chain.from_iterable(encoded["offset_mapping"])), np.int64).reshape(-1, 2)
    # Some post-processors put BOS in whatever they are told: such tokens are marked, and carry no text.
    special = np.fromiter(chain.from_iterable(encoded["special_tokens_mask"]), np.bool_)
    keep = ~(special & (pairs[:, 0] == pairs[:, 1]))
    row_ends = np.cumsum([0] + [len(row) for row in encoded["input_ids"]])
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    words = None
    if with_words:
        numbers = list(chain.from_iterable(encoding.word_ids for encoding in encoded.encodings))
        words = np.array(numbers, object)[keep].astype(np.int64)  # None, no word, stands at special tokens only
    return _Spans(ids[keep], pairs[keep, 0], pairs[keep, 1], kept_before[row_ends].astype(np.int64), words)


def _numbered(words: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Runs of equal `words` [tokens] within each text, numbered from 0 in every text."""
    lengths = np.diff(offsets)
    first = offsets[:-1][lengths > 0]
    begins = np.ones(len(words), np.bool_)
    begins[1:] = words[1:] != words[:-1]
    begins[first] = True
    run = np.cumsum(begins, dtype=np.int32)
    return run - np.repeat(run[first], lengths[lengths > 0])


@dataclass(frozen=True, slots=True)
class _Characters:
    """All texts end to end, one character (code point) an element."""

    offsets: npt.NDArray[np.int64]  # [texts + 1]: where each text begins
    space: npt.NDArray[np.bool_]  # [characters]: white space
    droppable: npt.NDArray[np.bool_]  # [characters]: may stay without a token

    @classmethod
    def of(cls, texts: list[str]) -> _Characters:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        distinct, inverse = np.unique(codes, return_inverse=True)
        letters = [chr(code) for code in distinct.tolist()]
        space = np.array([letter.isspace() for letter in letters], np.bool_)[inverse]
        droppable = np.array([unicodedata.category(letter) in _DROPPABLE_CATEGORIES for letter in letters], np.bool_)
        offsets = np.cumsum([0] + [len(text) for text in texts]).astype(np.int64)
        return cls(offsets, space, space | droppable[inverse])


def _roles(
    statements: Sequence[Statement],
    characters: _Characters,
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> npt.NDArray[np.int8]:
    """The role of each token, from its span [start, end) in the texts laid end to end."""
    roles = np.zeros(len(start), np.int8)
    for role in (Role.SUBJECT, Role.ANSWER):  # answer last: it wins a token that overlaps both
        slots = [s.subject if role == Role.SUBJECT else s.answer for s in statements]
        bounds = np.array(slots, np.int64).reshape(-1, 2) + characters.offsets[:-1, None]
        steps = np.zeros(len(characters.space) + 1, np.int64)
        np.add.at(steps, bounds[:, 0], 1)
        np.add.at(steps, bounds[:, 1], -1)
        inside_before = np.concatenate(([0], np.cumsum(np.cumsum(steps)[:-1])))
        roles[inside_before[end] > inside_before[start]] = role
    return roles


def _inked(
    characters: _Characters,
    token_text: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Spans less the white space at their ends; those of white space only stay, empty ones take one character."""
    first, past = characters.offsets[token_text], characters.offsets[token_text + 1]
    empty = start == end
    start = np.where(empty, np.clip(start, first, np.maximum(past - 1, first)), start)
    end = np.where(empty, np.minimum(start + 1, past), end)

    count = len(characters.space)
    next_ink = _next_ink(characters)
    after_ink = np.maximum.accumulate(np.append(0, np.where(characters.space, 0, np.arange(1, count + 1))))
    inner_start, inner_end = next_ink[start], after_ink[end]
    has_ink = inner_start < inner_end
    return np.where(has_ink, inner_start, start), np.where(has_ink, inner_end, end)


def _next_ink(characters: _Characters) -> npt.NDArray[np.int64]:
    """The first character from each on that is no white space, [characters + 1]; their number where there is none."""
    count = len(characters.space)
    next_ink = np.append(np.where(characters.space, count, np.arange(count)), count)
    return np.minimum.accumulate(next_ink[::-1])[::-1]


def _unicode_words(
    texts: list[str], characters: _Characters, token_text: npt.NDArray[np.int64], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The word of each token, [tokens], by the character that it starts at, less white space."""
    ink = _next_ink(characters)[start]
    return words_of_characters(texts)[np.where(ink < characters.offsets[token_text + 1], ink, start)]


def _check_cover(
    texts: list[str], characters: _Characters, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> None:
    token_count = np.zeros(len(characters.space) + 1, np.int64)
    np.add.at(token_count, start, 1)
    np.add.at(token_count, end, -1)
    bare = np.flatnonzero((np.cumsum(token_count)[:-1] <= 0) & ~characters.droppable)
    if len(bare):
        text = int(np.searchsorted(characters.offsets, bare[0], side="right")) - 1
        place = int(bare[0] - characters.offsets[text])
        raise CalprobeError(
            f"statement {text} ({texts[text]!r}): no token covers character {place} ({texts[text][place]!r});"
            " the tokenizer drops it or gives wrong offsets, so roles cannot be told; use another tokenizer version"
        )


def _check_ids(texts: list[str], rows: TokenRows, model: LoadedModel) -> None:
    if model.embedding_rows is None:
        return
    beyond = np.flatnonzero(rows.token_ids >= model.embedding_rows)
    if len(beyond):
        text = int(np.searchsorted(rows.offsets, beyond[0], side="right")) - 1
        token = model.tokenizer.convert_ids_to_tokens(int(rows.token_ids[beyond[0]]))
        raise CalprobeError(
            f"statement {text} ({_shortened(texts[text])!r}): the embedding of {model.name} has no row for its token"
            f" {token!r}, only {model.embedding_rows} rows; leave its relation out or take a model that knows the token"
        )


def _check_length(texts: list[str], rows: TokenRows, model: LoadedModel) -> None:
    if model.max_positions is None or not rows.n_statements:
        return
    special = 1 if model.kind == "causal" else model.tokenizer.num_special_tokens_to_add()
    longest = int(rows.lengths.argmax())
    length = int(rows.lengths[longest]) + special
    if length > model.max_positions:
        raise CalprobeError(
            f"statement {longest} ({_shortened(texts[longest])!r}) has {length} tokens with its special tokens, but"
            f" {model.name} takes {model.max_positions}; leave its relation out or take a model with more positions"
        )


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
