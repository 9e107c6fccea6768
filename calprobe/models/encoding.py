"""Texts as token ids with character spans: through the tokenizer's own batches where a class adds nothing to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calprobe.models.tokenizers import TOKENIZER_LOCK

# What a call goes through, in transformers 5 and 4. A class with one of its own may change texts or tokens there.
_STEPS = ("__call__", "_call_one", "batch_encode_plus", "_batch_encode_plus", "_encode_plus", "_convert_encoding")


@dataclass(frozen=True, slots=True)
class Spans:
    """Token ids and their character spans within each text, in CSR form."""

    ids: npt.NDArray[np.int32]  # [tokens]
    start: npt.NDArray[np.int64]  # [tokens]
    end: npt.NDArray[np.int64]  # [tokens]
    offsets: npt.NDArray[np.int64]  # [texts + 1]
    words: npt.NDArray[np.int64] | None  # [tokens] as the tokenizer numbers them within each text; None: not asked


@dataclass(frozen=True, slots=True)
class BareTokenizer:
    """A backend without the class that transformers puts around it."""

    backend_tokenizer: Any  # tokenizers.Tokenizer
    n_special: int

    def num_special_tokens_to_add(self) -> int:
        """Around a text."""
        return self.n_special


def encode(texts: list[str], tokenizer: Any, with_words: bool) -> Spans:
    """Tokens of each text, whole and unpadded, without the special tokens that the tokenizer puts around them.

    Special tokens that stand in a text are text. `with_words`: the word of each token too, as `word_ids` has it.
    """
    if not texts:
        empty = np.zeros(0, np.int64)
        return Spans(empty.astype(np.int32), empty, empty, np.zeros(1, np.int64), empty if with_words else None)
    with TOKENIZER_LOCK:
        if only_hands_on(tokenizer):
            encodings = _from_backend(texts, tokenizer)
        else:
            encodings = _from_call(texts, tokenizer, with_words)
    row_ids = [encoding.ids for encoding in encodings]
    row_ends = np.cumsum([0, *map(len, row_ids)])
    ids = np.fromiter(chain.from_iterable(row_ids), np.int32, row_ends[-1])
    places = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    pairs = np.fromiter(places, np.int64, 2 * row_ends[-1]).reshape(-1, 2)
    keep = ~_put_in(encodings, pairs, row_ends)
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    words = None
    if with_words:
        numbers = list(chain.from_iterable(encoding.word_ids for encoding in encodings))
        words = np.array(numbers, object)[keep].astype(np.int64)  # None, no word, stands at special tokens only
    return Spans(ids[keep], pairs[keep, 0], pairs[keep, 1], kept_before[row_ends].astype(np.int64), words)


def _put_in(
    encodings: Sequence[Any], pairs: npt.NDArray[np.int64], row_ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Tokens, [tokens], that a post-processor adds in any case (BOS): they are marked, and carry no text."""
    put_in: npt.NDArray[np.bool_] = pairs[:, 0] == pairs[:, 1]
    for row in np.unique(np.searchsorted(row_ends, np.flatnonzero(put_in), side="right") - 1).tolist():
        put_in[row_ends[row] : row_ends[row + 1]] &= np.array(encodings[row].special_tokens_mask, np.bool_)
    return put_in


def only_hands_on(tokenizer: Any) -> bool:
    """Whether a call of `tokenizer` gives what its backend gives: all steps of it are those of transformers' bases."""
    if isinstance(tokenizer, BareTokenizer):
        return True
    if not getattr(tokenizer, "is_fast", False):
        return False
    steps = (getattr(type(tokenizer), step, None) for step in _STEPS)
    own = (step.__module__ for step in steps if step is not None)
    return all(module.startswith("transformers.tokenization_utils") for module in own)


def _from_backend(texts: list[str], tokenizer: Any) -> Sequence[Any]:
    """What `_from_call` gives, without a dict of lists for each text."""
    backend = tokenizer.backend_tokenizer
    with _plain_settings(backend):
        encodings: Sequence[Any] = backend.encode_batch(texts, add_special_tokens=False)
    return encodings


@contextmanager
def _plain_settings(backend: Any) -> Iterator[None]:
    """No padding, no truncation, special tokens as text; afterwards as it was."""
    padding, truncation, as_text = backend.padding, backend.truncation, backend.encode_special_tokens
    backend.no_padding()
    backend.no_truncation()
    backend.encode_special_tokens = True
    try:
        yield
    finally:
        backend.encode_special_tokens = as_text
        if padding is not None:
            backend.enable_padding(**padding)
        if truncation is not None:
            backend.enable_truncation(**truncation)


class _Encoding(NamedTuple):
    """What is read of one text's encoding, by the names that the backend has for it."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special_tokens_mask: list[int]
    word_ids: Sequence[int | None] = ()


def _from_call(texts: list[str], tokenizer: Any, with_words: bool) -> Sequence[_Encoding]:
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
        verbose=False,  # no warning of a text that is too long: `tokenise` sees to that
    )
    columns = [encoded[name] for name in ("input_ids", "offset_mapping", "special_tokens_mask")]
    if with_words:
        columns.append([encoding.word_ids for encoding in encoded.encodings])
    return list(map(_Encoding, *columns))
