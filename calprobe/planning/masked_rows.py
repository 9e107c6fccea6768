"""Masked rows: a statement once for each of its tokens, with that token hidden, and which of these rows are the same.

A row is described by its statement and by what is masked in it; rows are built a few at a time. Two rows are the same
if they read the same and are scored at the same place. Equal rows are found by a hash that is a sum over places, so
that cumulative sums over the statements give the hash of every row at once; what it says is checked place by place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from calprobe.planning.prefix_tree import Int32s, Int64s, expand_ranges
from calprobe.planning.token_rows import TokenRows
from calprobe.words import PllMetric, Role

_UInt64s = npt.NDArray[np.uint64]
_CHECKED_PLACES = 1 << 20  # compared at a time: tens of MiB
_SCORED = 0xFFFFFFFF  # the scored place as a symbol: no token id, so that rows scored at different places differ


@dataclass(frozen=True, slots=True)
class MaskedRows:
    """Rows without special tokens: of a statement's tokens, those at places `scored <= place < end` are masked."""

    token_ids: Int32s  # [tokens] of all statements
    first: Int64s  # [rows] token at which the row's statement begins
    length: Int32s  # [rows] tokens of that statement
    scored: Int32s  # [rows] place within the statement, from 0
    end: Int32s  # [rows] one past the last masked place

    def take(self, index: Int64s | slice) -> MaskedRows:
        """The rows `index`, in that order."""
        return MaskedRows(self.token_ids, self.first[index], self.length[index], self.scored[index], self.end[index])

    def content(self, mask: int) -> Int64s:
        """What the rows read, `mask` at masked places, one row after another, [sum of `length`]."""
        token = expand_ranges(self.first, self.length.astype(np.int64))
        place = token - np.repeat(self.first, self.length)
        masked = (place >= np.repeat(self.scored, self.length)) & (place < np.repeat(self.end, self.length))
        return np.where(masked, mask, self.token_ids[token])


def masked_rows(rows: TokenRows, metric: PllMetric) -> MaskedRows:
    """A row for every token, [tokens], masked by `metric` (`plan_masked` says how).

    Raises ValueError if the metric needs words and `rows` has none.
    """
    lengths = rows.lengths.astype(np.int32)
    first = np.repeat(rows.offsets[:-1], lengths)
    length = np.repeat(lengths, lengths)
    scored = (np.arange(len(first)) - first).astype(np.int32)
    end: npt.NDArray[np.integer]
    if metric == "original":
        end = scored + 1
    elif metric == "sentence_l2r":
        end = length
    else:
        end = _word_ends(rows, first)
        if metric == "answer_l2r+word_l2r":
            end = np.where(rows.roles == Role.ANSWER, np.repeat(_answer_ends(rows, scored), lengths), end)
    return MaskedRows(rows.token_ids, first, length, scored, np.asarray(end, np.int32))


def _word_ends(rows: TokenRows, first: Int64s) -> Int64s:
    """One past the last place of each token's word, [tokens]."""
    if rows.words is None:
        raise ValueError("rows must have words for this metric, got None; tokenise for a masked model, or name a split")
    ends = np.ones(len(first), np.bool_)
    ends[:-1] = (rows.words[1:] != rows.words[:-1]) | (first[1:] != first[:-1])
    word_end = np.flatnonzero(ends) + 1
    return np.repeat(word_end, np.diff(word_end, prepend=0)) - first


def _answer_ends(rows: TokenRows, place: Int32s) -> Int32s:
    """One past the last place of each statement's answer, [statements]; 0 where it has none."""
    ends = np.zeros(rows.n_statements, np.int32)
    is_answer = rows.roles == Role.ANSWER
    np.maximum.at(ends, np.repeat(np.arange(rows.n_statements), rows.lengths)[is_answer], place[is_answer] + 1)
    return ends


def distinct_rows(rows: MaskedRows, mask: int) -> tuple[Int64s, Int64s]:
    """Of the rows of every token: one representative [distinct] of each distinct row, and which [tokens] each row is.

    Distinct rows come in the order of their hashes, which depends on nothing but what they read. Should two of them
    have the same hash, all are hashed anew with another key.
    """
    key = 0
    while True:
        _, representative, which = np.unique(_hashes(rows, mask, key), return_index=True, return_inverse=True)
        if _are_same(rows, representative[which], mask):
            return representative, which
        key += 1


def _hashes(rows: MaskedRows, mask: int, key: int) -> _UInt64s:
    """A hash of each row, [tokens]: the sum over its places of the hash of what stands there, modulo 2**64."""
    row = np.arange(len(rows.first))  # the row of a token is scored at that token
    plain = _sums(place_hash(rows.scored, rows.token_ids, key))
    masked = _sums(place_hash(rows.scored, mask, key))
    past = rows.first + rows.end
    kept: _UInt64s = plain[row] - plain[rows.first] + plain[rows.first + rows.length] - plain[past]
    hidden: _UInt64s = masked[past] - masked[row + 1] + place_hash(rows.scored, _SCORED, key)
    return kept + hidden


def _sums(values: _UInt64s) -> _UInt64s:
    """Sums of the first 0, 1, .. of `values`."""
    return np.cumsum(np.append(np.zeros(1, np.uint64), values), dtype=np.uint64)


def place_hash(place: Int32s, token: Int32s | int, key: int) -> _UInt64s:
    """64 bits that stand for `token` at `place`; other bits under another key."""
    pair = place.astype(np.uint64) << np.uint64(32) | np.asarray(token).astype(np.uint64)
    return _mixed(_mixed(pair) + np.uint64(key))


def _mixed(values: _UInt64s) -> _UInt64s:
    """The step of the generator SplitMix64 (Steele, Lea and Flood 2014): one to one, every bit depends on every bit."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def _are_same(rows: MaskedRows, representative: Int64s, mask: int) -> bool:
    """Whether every row reads as its representative [rows] does and is scored at the same place."""
    others = np.flatnonzero(representative != np.arange(len(representative)))
    ours, theirs = rows.take(others), rows.take(representative[others])
    if (ours.length != theirs.length).any() or (ours.scored != theirs.scored).any():
        return False
    places = np.cumsum(ours.length, dtype=np.int64)
    cuts = np.searchsorted(places, np.arange(0, places[-1] if len(places) else 0, _CHECKED_PLACES))
    parts = [slice(*bounds) for bounds in pairwise([*np.unique(cuts).tolist(), len(places)])]
    return all(np.array_equal(ours.take(part).content(mask), theirs.take(part).content(mask)) for part in parts)
