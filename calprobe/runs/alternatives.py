"""The most probable tokens at each position of a reply: as analysis has them, as JSON, and as columns of a shard."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from calprobe.runs.arrow import to_numbers
from calprobe.runs.decode import DecodeError, decode

Floats32 = npt.NDArray[np.float32]
Places = npt.NDArray[np.int32]
NOTHING = -1  # the place of an alternative that a window does not show
ALTERNATIVES = pa.struct(
    [
        pa.field("texts", pa.list_(pa.string())),
        pa.field("ids", pa.list_(pa.int32())),
        pa.field("places", pa.list_(pa.int32())),
        pa.field("logprobs", pa.list_(pa.float32())),
        pa.field("entropies", pa.list_(pa.float32())),
        pa.field("complete", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """The most probable tokens at each position of a reply, under the softmax at temperature 1.

    The token that was generated comes first, then the others, the most probable first. A thought has none.
    """

    texts: tuple[str, ...]  # of the different tokens, as they stand inside a text; special tokens are empty
    ids: tuple[int, ...]  # of these tokens; empty where a server hides them
    places: Places  # [tokens, k], among `texts`; -1 where the window shows no more
    logprobs: Floats32  # [tokens, k], natural; -inf where the window shows no more
    entropies: Floats32  # [tokens], nats; see `complete`
    complete: bool  # whether the softmax was; else entropies are the least that the window allows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Alternatives):
            return NotImplemented
        arrays = ("places", "logprobs", "entropies")
        return (self.texts, self.ids, self.complete) == (other.texts, other.ids, other.complete) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays
        )

    def __len__(self) -> int:
        return len(self.entropies)

    @property
    def mass(self) -> Floats32:
        """The probability of all alternatives of a position together, [tokens]; what is missing of 1 is not known."""
        total: Floats32 = np.exp(self.logprobs).sum(axis=1)
        return np.minimum(total, np.float32(1))

    def tokens(self, most: int | None = None) -> list[list[tuple[str, float]]]:
        """By position, texts with log-probabilities, the generated one first; of each, `most` at most."""
        return [
            [
                (self.texts[place], value)
                for place, value in zip(places[:most], values[:most], strict=True)
                if place >= 0
            ]
            for places, values in zip(self.places.tolist(), self.logprobs.tolist(), strict=True)
        ]

    def with_texts(self, texts: Iterable[str]) -> Alternatives:
        """The same of tokens with other texts."""
        return replace(self, texts=tuple(texts))

    @classmethod
    def of(
        cls, positions: Sequence[Sequence[tuple[str, int | None, float]]], entropies: Iterable[float], complete: bool
    ) -> Alternatives:
        """Of the text, id (None: hidden) and log-probability of each alternative at each position, in their order.

        >>> own = Alternatives.of([[(" Rome", 5, -0.1), (" Paris", 7, -2.5)], [(".", 2, -0.01)]], [0.5, 0.05], False)
        >>> own.texts, own.places.tolist()
        ((' Rome', ' Paris', '.'), [[0, 1], [2, -1]])
        """
        width = max(map(len, positions), default=0)
        index: dict[tuple[str, int | None], int] = {}
        places = np.full((len(positions), width), NOTHING, np.int32)
        logprobs = np.full((len(positions), width), -np.inf, np.float32)
        for row, alternatives in enumerate(positions):
            for column, (text, number, logprob) in enumerate(alternatives):
                places[row, column] = index.setdefault((text, number), len(index))
                logprobs[row, column] = logprob
        ids = [number for _, number in index if number is not None]
        return cls(
            tuple(text for text, _ in index),
            tuple(ids) if len(ids) == len(index) else (),
            places,
            logprobs,
            np.array(list(entropies), np.float32),
            complete,
        )


def least_entropy(logprobs: npt.ArrayLike) -> float:
    """`-sum_v p_v ln p_v` of some tokens of a softmax, nats; what is missing of 1 counts as one token more.

    >>> round(least_entropy(np.log([0.5, 0.25])), 4)
    1.0397
    """
    masses = np.exp(np.asarray(logprobs, np.float64))
    probabilities = np.append(masses, max(0.0, 1 - masses.sum()))
    probabilities = probabilities[probabilities > 1e-12]
    return max(0.0, float(-(probabilities * np.log(probabilities)).sum()))


@dataclass(frozen=True, slots=True)
class _Stored:
    """`Alternatives` in one line: arrays of little-endian int32 and float32 in base 64."""

    texts: tuple[str, ...]
    ids: tuple[int, ...]
    places: str
    logprobs: str
    entropies: str
    complete: bool


def alternatives_json(own: Alternatives) -> dict[str, Any]:
    """The alternatives as a JSON object."""
    return {
        "texts": list(own.texts),
        "ids": list(own.ids),
        "places": _text(own.places, "<i4"),
        "logprobs": _text(own.logprobs, "<f4"),
        "entropies": _text(own.entropies, "<f4"),
        "complete": own.complete,
    }


def alternatives_from_json(value: Any) -> Alternatives:
    """The alternatives of a JSON object. Raises DecodeError for one that `alternatives_json` does not write."""
    stored = decode(_Stored, value, "alternatives")
    places, logprobs, entropies = (
        _numbers(text, kind)
        for text, kind in ((stored.places, "<i4"), (stored.logprobs, "<f4"), (stored.entropies, "<f4"))
    )
    return _checked(stored.texts, stored.ids, (places, logprobs, entropies), stored.complete)


def alternatives_row(own: Alternatives | None) -> dict[str, Any] | None:
    """The alternatives as a row of a shard's column."""
    if own is None:
        return None
    return {
        "texts": list(own.texts),
        "ids": np.array(own.ids, np.int32),
        "places": own.places.ravel(),
        "logprobs": own.logprobs.ravel(),
        "entropies": own.entropies,
        "complete": own.complete,
    }


def alternatives_column(column: pa.ChunkedArray) -> list[Alternatives | None]:
    """A shard's column as alternatives. Raises DecodeError for rows that `alternatives_row` does not make."""
    rows = column.combine_chunks()
    if isinstance(rows, pa.ChunkedArray):  # older pyarrow, of an empty column
        rows = rows.chunk(0) if rows.num_chunks else pa.array([], column.type)
    valid = rows.is_valid().to_pylist()
    if not any(valid):
        return [None] * len(valid)
    texts = rows.field("texts")
    words, ends = texts.values.to_pylist(), to_numbers(texts.offsets).tolist()
    lists = {name: _lists(rows.field(name)) for name in ("ids", "places", "logprobs", "entropies")}
    complete = rows.field("complete").to_pylist()
    return [
        _checked(
            tuple(words[ends[row] : ends[row + 1]]),
            tuple(lists["ids"][row].tolist()),
            (lists["places"][row], lists["logprobs"][row], lists["entropies"][row]),
            bool(complete[row]),
        )
        if is_valid
        else None
        for row, is_valid in enumerate(valid)
    ]


def _lists(lists: pa.ListArray) -> list[npt.NDArray[Any]]:
    try:
        numbers, ends = to_numbers(lists.values), to_numbers(lists.offsets).tolist()
    except (pa.ArrowException, TypeError) as error:
        raise DecodeError("alternatives: numbers are missing") from error
    return [numbers[start:end] for start, end in pairwise(ends)]


def _checked(
    texts: tuple[str, ...], ids: tuple[int, ...], arrays: Sequence[npt.NDArray[Any]], complete: bool
) -> Alternatives:
    places, logprobs, entropies = arrays
    count = len(entropies)
    width = len(places) // count if count else 0
    fits = len(places) == len(logprobs) == width * count and len(ids) in (0, len(texts))
    if not fits or (len(places) and (places.min() < NOTHING or places.max() >= len(texts))):
        raise DecodeError("alternatives: its lists do not fit each other")
    shape = (count, width)
    return Alternatives(
        texts,
        ids,
        np.asarray(places, np.int32).reshape(shape),
        np.asarray(logprobs, np.float32).reshape(shape),
        np.asarray(entropies, np.float32),
        complete,
    )


def _text(numbers: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode("ascii")


def _numbers(text: str, kind: str) -> npt.NDArray[Any]:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), kind)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"alternatives: not base 64 ({error})") from error
