"""Statements as token rows: the scored tokens with role and word of each, checked against the text they came from."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calprobe.errors import StatementError
from calprobe.messages import shortened
from calprobe.models.encoding import encode
from calprobe.planning.token_rows import Contexts, TokenRows
from calprobe.statements.unicode_words import words_of_characters
from calprobe.words import Role, Scored, WordSplit

if TYPE_CHECKING:
    from calprobe.models.loaded_model import LoadedModel
    from calprobe.statements import Statement

# Marks, controls and format characters have no letter of their own; BERT's normaliser drops them.
_DROPPABLE_CATEGORIES = frozenset({"Mn", "Me", "Cc", "Cf"})
_STRETCH = 2**22  # characters that are worked on at once: some 100 bytes each


def tokenise(
    statements: Sequence[Statement],
    model: LoadedModel,
    word_split: WordSplit | None = None,
    scored: Scored = "statement",
) -> TokenRows:
    """The tokens of `statements` in order, with roles; special tokens (BOS, CLS, SEP) are not among them.

    `scored` is what of a statement is scored: all of it, or only its answer, which completes the context before it.
    Then the tokens before the first one that overlaps the answer are the row's context, and a statement that is too
    long for the model loses the first of these.

    `word_split` says which words the tokens belong to: `tokenizer`, what it cuts a text into before it looks for tokens
    (`word_ids`); `unicode`, the words of the text by UAX 29, a token in that of its first character that is no white
    space, so that a token of a space alone goes with the word that follows. None: no words for a causal model, which
    needs none, and the tokenizer's for a masked one.

    A token overlaps the characters of its offset span without the white space at its ends (" Paris" is "Paris"), and
    its role is the highest of answer, subject, template among them. (Of a completion the joining space is a part, so
    there white space counts too.) A token without characters of its own (a prefix the
    tokenizer puts in) goes with the character that follows. Text that looks like a special token ("<s>") is read as
    text. No statements, or empty texts: empty rows.

    Raises StatementError if the tokens do not cover the text, if a token has no row in the model's embedding, or if a
    statement (of a completion, without its context) and the model's special tokens are more than `model.max_positions`.
    """
    split = word_split or ("tokenizer" if model.kind == "masked" else None)
    parts = []
    for part in _stretches(statements):
        try:
            parts.append(_tokenise(statements[part], model, split, scored))
        except StatementError as error:
            raise StatementError(part.start + error.statement, error.what) from error
    return parts[0] if len(parts) == 1 else TokenRows.joined(parts)


def _stretches(statements: Sequence[Statement]) -> list[slice]:
    """Cuts of the statements, one at least, each of at most `_STRETCH` characters or of one statement."""
    ends = np.cumsum([len(statement.text) for statement in statements])
    cuts = [0]
    while cuts[-1] < len(statements):
        before = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + _STRETCH, side="right"))))
    return [slice(*bounds) for bounds in pairwise(cuts)] or [slice(0, 0)]


def _tokenise(
    statements: Sequence[Statement], model: LoadedModel, split: WordSplit | None, scored: Scored
) -> TokenRows:
    texts = [statement.text for statement in statements]
    spans = encode(texts, model.tokenizer, with_words=split == "tokenizer")
    characters = _Characters.of(texts)
    token_text = np.repeat(np.arange(len(texts)), np.diff(spans.offsets))
    start = spans.start + characters.offsets[token_text]
    end = spans.end + characters.offsets[token_text]
    _check_cover(texts, characters, start, end)
    start, end = _filled(characters, token_text, start, end)
    if scored == "statement":
        start, end = _inked(characters, start, end)
    words = _unicode_words(texts, characters, token_text, start) if split == "unicode" else spans.words
    numbers = None if words is None else _numbered(words, spans.offsets)
    rows = TokenRows(spans.ids, _roles(statements, characters, start, end), spans.offsets, numbers)
    _check_ids(texts, rows, model)
    if scored == "completion":
        return _with_contexts(rows, texts, model)
    _check_length(texts, rows, model)
    return rows


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


def _filled(
    characters: _Characters,
    token_text: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Spans of at least one character: empty ones take the one that follows, at the end of a text its last."""
    first, past = characters.offsets[token_text], characters.offsets[token_text + 1]
    empty = start == end
    start = np.where(empty, np.clip(start, first, np.maximum(past - 1, first)), start)
    return start, np.where(empty, np.minimum(start + 1, past), end)


def _inked(
    characters: _Characters, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Spans without the white space at their ends; those of white space only stay."""
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
    """The word of each token, [tokens], by the character that it starts at, white space excluded."""
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
        raise StatementError(
            text,
            f"({shortened(texts[text])!r}): no token covers character {place} ({texts[text][place]!r});"
            " the tokenizer drops it or gives wrong offsets, so roles are unknown; use another tokenizer version",
        )


def _check_ids(texts: list[str], rows: TokenRows, model: LoadedModel) -> None:
    if model.embedding_rows is None:
        return
    beyond = np.flatnonzero(rows.token_ids >= model.embedding_rows)
    if len(beyond):
        text = int(np.searchsorted(rows.offsets, beyond[0], side="right")) - 1
        token = model.tokenizer.convert_ids_to_tokens(int(rows.token_ids[beyond[0]]))
        raise StatementError(
            text,
            f"({shortened(texts[text])!r}): the embedding of {model.name} has no row for its token {token!r},"
            f" only {model.embedding_rows} rows; leave its relation out or use a model that knows the token",
        )


def _check_length(texts: list[str], rows: TokenRows, model: LoadedModel) -> None:
    if model.max_positions is None or not rows.n_statements:
        return
    special = 1 if model.kind == "causal" else model.tokenizer.num_special_tokens_to_add()
    longest = int(rows.lengths.argmax())
    length = int(rows.lengths[longest]) + special
    if length > model.max_positions:
        raise StatementError(
            longest,
            f"({shortened(texts[longest])!r}) has {length} tokens with its special tokens, but"
            f" {model.name} takes {model.max_positions}; leave its relation out or use a model with more positions",
        )


def _with_contexts(rows: TokenRows, texts: list[str], model: LoadedModel) -> TokenRows:
    """`rows` of statements that end in their answers, with all that comes before an answer as the context.

    A token that overlaps the answer at all is the answer's. A statement that with the start token is longer than
    `model.max_positions` loses the first tokens of its context, as many as need be. FACTOR's own script cuts so too:
    each text by itself, and between two tokens.

    Raises StatementError for an answer that is too long without any context, and for one without tokens.
    """
    answers_so_far = np.cumsum(rows.roles == Role.ANSWER)
    before_row = np.concatenate([[0], answers_so_far])[rows.offsets[:-1]]
    context_so_far = np.concatenate([[0], np.cumsum(answers_so_far == np.repeat(before_row, rows.lengths))])
    lengths = np.diff(context_so_far[rows.offsets])
    excess = 0 if model.max_positions is None else rows.lengths + 1 - model.max_positions  # 1: the start token
    cut = np.maximum(excess, np.zeros_like(lengths))
    _check_completions(rows.lengths - lengths, lengths - cut, texts, model)
    place = np.arange(len(rows.token_ids)) - np.repeat(rows.offsets[:-1], rows.lengths)
    kept = place >= np.repeat(cut, rows.lengths)
    return TokenRows(
        rows.token_ids[kept],
        rows.roles[kept],
        np.concatenate([[0], np.cumsum(rows.lengths - cut)]),
        None if rows.words is None else rows.words[kept],
        Contexts(lengths - cut, cut),
    )


def _check_completions(
    completions: npt.NDArray[np.int64], contexts: npt.NDArray[np.int64], texts: list[str], model: LoadedModel
) -> None:
    """Each completion has a token, and none of it would have to be cut; arrays are [statements], tokens of each."""
    if len(empty := np.flatnonzero(completions == 0)):
        statement = int(empty[0])
        what = f"({shortened(texts[statement])!r}): its completion has no token; change it or leave it out"
        raise StatementError(statement, what)
    if len(long := np.flatnonzero(contexts < 0)):
        statement = int(long[0])
        raise StatementError(
            statement,
            f"({shortened(texts[statement])!r}): its completion alone has {completions[statement] + 1} tokens with the"
            f" start token, but {model.name} takes {model.max_positions}; remove the row or use a model with more",
        )
