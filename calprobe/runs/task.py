"""What run folder, shards and merge need to know of a run's manifest, whatever the run's task is.

A task (scoring statements is one) is a class of its own with its own fields, identity, description and kind of records;
`manifest_file.TASKS` names it.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

from calprobe.runs.records import Piece, RecordKind
from calprobe.runs.run_progress import Progress


def sha256_of(value: Any) -> str:
    """SHA-256 (hex) of a JSON value; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def text_hash(text: str) -> str:
    """16 digits of the SHA-256 (hex) of a text: a reply, a question's wording."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class RunManifest(ABC):
    """What a run is: fixed before its first record. Only a run that grows gets another. Subclasses are frozen
    dataclasses.

    The fields of a subclass are the keys of manifest.json; `versions` maps python, calprobe, .. to what ran, `created`
    is UTC, ISO 8601.
    """

    task: ClassVar[str]  # as manifest.json names it
    results: ClassVar[str] = "scores"  # what the run is of, in messages
    remade: ClassVar[str] = "scored again"  # what becomes of a damaged piece
    may_differ: ClassVar[str] = "last bits of scores"  # what another version may change
    shard: str | None  # I/N: this folder has that share of the run's pieces; None: all of them
    versions: Mapping[str, str]
    created: str

    @property
    @abstractmethod
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the complete run, in their order."""

    @abstractmethod
    def records(self) -> RecordKind[Any]:
        """What the shards hold."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What was asked for, and what scores it, by the name shown to users: equal for equal runs."""

    @abstractmethod
    def differences(self, other: Self, words: tuple[str, str] = ("the run has", "requested")) -> list[str]:
        """One clause for each reason why the two cannot be parts of one run: `dtype: the run has float32, requested
        bfloat16`. A reason that follows from another is left out."""

    def covers(self, other: Self) -> bool:
        """Whether the run has all records of the other, a run without `differences`."""
        return set(other.pieces) <= set(self.pieces)

    def grown(self, other: Self) -> Self:
        """The manifest of this run with what the other has more."""
        return self

    def obstacle(self, other: Self) -> str:
        """Why this run cannot grow by what the other has more, though both can be parts of one; empty if it can."""
        return ""

    def stamps(self, piece: Piece) -> tuple[str, ...]:
        """What the shard of the piece may carry as its identity; a new one carries the first."""
        return (self.identity_hash,)

    @property
    def dtype(self) -> str | None:
        """The number type that the model is computed in; None where that is not known."""
        return None

    @property
    def has_grown(self) -> bool:
        """Whether shards may hold fewer instances than the run has."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """How the records are made, in a few words for the heading of a report."""

    @abstractmethod
    def merged(self, created: str, others: Sequence[Self] = ()) -> Self:
        """The manifest of the complete run of which this and the others are parts.

        Raises UsageError if there is none without pieces that are in none of them.
        """

    def total(self, recorded: Progress) -> Progress:
        """What the run has cost, from the sum of its progress files."""
        return recorded

    def taken_over(self) -> dict[str, object]:
        """Settings, by name, that a resumed run takes from the manifest, whatever is requested."""
        return {}

    def recorded_only(self) -> dict[str, object]:
        """Settings, by name, that may differ in a resumed run, and decide the last bits of records."""
        return {}

    @cached_property
    def identity_hash(self) -> str:
        """SHA-256 (hex) of `identity`."""
        return sha256_of(self.identity())

    def has_piece(self, piece: Piece) -> bool:
        """Whether the complete run has that piece."""
        return piece in self._known_pieces

    @cached_property
    def _known_pieces(self) -> frozenset[Piece]:
        return frozenset(self.pieces)
