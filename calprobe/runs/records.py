"""What the shards of a run hold: one record for each piece; its kind defines columns, checksums and checks.

Run folder, shards and merge work with any kind. A task brings its own in its own file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import pyarrow as pa

R = TypeVar("R")


class Piece(NamedTuple):
    """One relation under one template: the unit of scoring, writing and resuming."""

    relation: str
    template: int  # its number


class ShardError(Exception):
    """A shard that must not be used; the message says why."""


class OtherRunError(ShardError):
    """A shard that was written for another run than the manifest describes."""

    def __init__(self) -> None:
        super().__init__("it belongs to another run")


class OtherColumnsError(ShardError):
    """A shard with other columns than the kind of records has now."""

    def __init__(self) -> None:
        super().__init__("its columns are not those of this run")


class FewerRowsError(ShardError):
    """A shard with fewer rows than the run has: of fewer instances, if the run has grown since."""


class Shard(Protocol):
    """The shard of one piece on disk."""

    def table(
        self, schema: pa.Schema, n_rows: int | None, dictionaries: Sequence[str] = (), part: bool = False
    ) -> pa.Table:
        """The columns of the schema, and all metadata.

        `n_rows` is the number of rows that the shard must have (None: any; with `part`: it must have fewer),
        `dictionaries` are string columns to be
        read as dictionaries. Raises ShardError if anything is amiss, FileNotFoundError if there is no shard.
        """


class RecordKind(ABC, Generic[R]):
    """The records of a run: how one is checked, written as a table and read back."""

    @abstractmethod
    def piece_of(self, record: R) -> Piece:
        """Which piece the record is of."""

    @abstractmethod
    def n_rows(self, record: R) -> int:
        """Rows of its table: statements, or what else the task counts."""

    @abstractmethod
    def check(self, record: R) -> None:
        """Raise ValueError unless the record is as the run promises; its piece is one of the run's."""

    def is_whole(self, record: R) -> bool:
        """Whether the record has all instances that the run has."""
        return True

    @abstractmethod
    def to_table(self, record: R) -> pa.Table:
        """The record as the table of a shard. Its metadata has the checksums; equal records give equal tables."""

    @abstractmethod
    def read(self, shard: Shard, piece: Piece) -> R:
        """The record of that piece, checked. Raises as `Shard.table`."""

    def read_whole(self, shard: Shard, piece: Piece) -> R:
        """The record with what `read` leaves out for readers that do not need it. Raises as `read`."""
        return self.read(shard, piece)

    def read_part(self, shard: Shard, piece: Piece) -> R:
        """The complete record of fewer instances than the run has, written before the run grew; raises as `read`.

        Raises ShardError for a kind of records that cannot grow.
        """
        raise ShardError("it has fewer rows than the run")

    def joined(self, one: R, other: R) -> R:
        """One record of the instances of both, which have none in common."""
        raise NotImplementedError

    def assembled(self, parts: Sequence[R]) -> R | None:
        """The complete record that the shares of one piece make; None if rows are missing.

        None too for a kind of which shares have complete pieces. Raises ValueError if shares contradict each other.
        """
        return None

    @abstractmethod
    def same(self, one: R, other: R) -> bool:
        """Whether two records of one piece have the same bytes (NaN equals NaN)."""
