"""Ties of the largest score: which of the candidates that share it is the prediction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Ints

Keys = npt.NDArray[np.uint64]  # [instances], a number for each instance that depends on nothing else
_STEP = np.uint64(0x9E3779B97F4A7C15)


def tie_keys(relation: npt.NDArray[np.str_], instance: Ints) -> Keys:
    """A key for each instance, of its relation's name and its line number: the same in every run and subset.

    >>> import numpy as np
    >>> keys = tie_keys(np.array(["P30", "P36", "P30"]), np.array([0, 0, 1]))
    >>> bool((tie_keys(np.array(["P30"]), np.array([1])) == keys[2]).all()), len(set(keys.tolist()))
    (True, 3)
    """
    names, of = np.unique(relation, return_inverse=True)
    digests = [hashlib.blake2b(str(name).encode("utf-8", "backslashreplace"), digest_size=8).digest() for name in names]
    seeds = np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
    return _mixed(seeds[of.reshape(-1)] + _mixed(np.asarray(instance).astype(np.uint64)))


def draw_among(owner: Ints, place: Ints, keys: Keys) -> Ints:
    """One candidate of each instance, drawn: each of n is as probable as the others.

    The draw orders an instance's candidates at random, in the same order under every template. So paraphrases that tie
    between the same two candidates agree.

    Args:
        owner: [tied candidates], the instance of each, ascending.
        place: [tied candidates], its place within the instance's answer space.
        keys: [instances], from `tie_keys`.
    Returns:
        The places in these arrays of the drawn ones, in the order of their instances.
    """
    order = np.lexsort((_mixed(keys[owner] + place.astype(np.uint64) * _STEP), owner))
    drawn: Ints = order[np.flatnonzero(np.diff(owner[order], append=-1))]
    return drawn


def draw_name(names: Sequence[str], *key: str) -> int:
    """The place of one of several names, drawn by a hash of `key` and the name: each is as probable as the others.

    Which one it is depends on nothing but these texts: not on the names' order, on the machine or on other questions.

    >>> names = ["A", "B", "C", "D"]
    >>> drawn = names[draw_name(names, "mini", "capital/3")]
    >>> drawn == names[::-1][draw_name(names[::-1], "mini", "capital/3")]
    True
    """
    hashes = [hashlib.blake2b("\0".join((*key, name)).encode("utf-8", "backslashreplace")).digest() for name in names]
    return min(range(len(names)), key=hashes.__getitem__)


def _mixed(values: Keys) -> Keys:
    """Numbers without visible order: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    mixed = values + _STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
