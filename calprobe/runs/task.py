"""What run folder, shards and merge need to know of a run's manifest, whatever the run's task is.

A task (scoring statements is one) is a class of its own with its own fields, identity, description and kind of records;
`manifest_file.TASKS` names it.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from calprobe.runs.progress import Progress
from calprobe.runs.records import Piece, RecordKind


class RunManifest(ABC):
    """What a run is: fixed before its first record, and written once. Subclasses are frozen dataclasses.

    The fields of a subclass are the keys of manifest.json; `versions` maps python, calprobe, .. to what ran, `created`
    is UTC, ISO 8601.
    """

    task: ClassVar[str]  # as manifest.json names it
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
        """The fields that must agree for two runs' shards to be one run's, by the name shown to users."""

    @abstractmethod
    def differences(self, other: Self, words: tuple[str, str] = ("the run has", "requested")) -> list[str]:
        """One clause for each identity field that differs: `dtype: the run has float32, requested bfloat16`."""

    @abstractmethod
    def describe(self) -> str:
        """How the records are made, in a few words for the heading of a report."""

    @abstractmethod
    def merged(self, created: str) -> Self:
        """The manifest of the complete run of which this is a part."""

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
        """SHA-256 (hex) of `identity`; every shard carries it."""
        text = json.dumps(self.identity(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def has_piece(self, piece: Piece) -> bool:
        """Whether the complete run has that piece."""
        return piece in self._known_pieces

    @cached_property
    def _known_pieces(self) -> frozenset[Piece]:
        return frozenset(self.pieces)
