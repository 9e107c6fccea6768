"""The reading side of a run folder, for every task: its records, checked."""

from __future__ import annotations

import logging
from functools import cached_property
from pathlib import Path
from typing import Generic

from calprobe.errors import CalprobeError
from calprobe.runs import shards
from calprobe.runs.records import OtherRunError, Piece, R, RecordKind, ShardError
from calprobe.runs.run_progress import Progress, read_progress
from calprobe.runs.shards import ShardFile
from calprobe.runs.task import RunManifest

log = logging.getLogger(__name__)


class StoredRun(Generic[R]):
    """A run read from its folder. Shards are read once, when first needed; damaged ones count as missing."""

    def __init__(self, path: Path, manifest: RunManifest) -> None:
        self.path = path
        self.manifest = manifest
        self.identity = manifest.identity_hash
        self.kind: RecordKind[R] = manifest.records()

    @cached_property
    def pieces(self) -> tuple[R, ...]:
        """The records of the complete pieces, sorted by relation (as plain strings), then template number.

        Raises CalprobeError if shards are there, and all of them are another run's.
        """
        return self._read_shards()

    def _read_shards(self) -> tuple[R, ...]:
        refused: list[ShardError] = []
        attempts = (self._read(piece, refused) for piece in sorted(self.manifest.pieces))
        records = tuple(record for record in attempts if record is not None)
        n_others = sum(isinstance(error, OtherRunError) for error in refused)
        shards.refuse_if_none_fits(self.path, n_others, len(records))
        return records

    @property
    def missing(self) -> tuple[Piece, ...]:
        """The missing pieces, sorted; damaged ones are missing."""
        pieces = {self.kind.piece_of(record) for record in self.pieces}
        return tuple(piece for piece in sorted(self.manifest.pieces) if piece not in pieces)

    @property
    def partial(self) -> bool:
        """Whether any piece is missing."""
        return len(self.pieces) < len(self.manifest.pieces)

    @property
    def progress(self) -> Progress:
        """What the run has cost so far, over all processes and sessions, and the current batch budget."""
        return progress_of(self.path, self.manifest)

    def read_whole(self, piece: Piece) -> R:
        """The record of one of `pieces` with all that its shard holds. Raises CalprobeError if it is damaged."""
        shard = self.shard(piece)
        try:
            return self.kind.read_whole(shard, piece)
        except (ShardError, FileNotFoundError) as error:
            fix = f"resume the run, so that it is {self.manifest.remade}"
            raise CalprobeError(f"{shard.path}: {error}; {fix}") from error

    def shard(self, piece: Piece) -> ShardFile:
        """The file of that piece."""
        return ShardFile(self.path, piece, self.manifest.stamps(piece))

    def _read(self, piece: Piece, refused: list[ShardError]) -> R | None:
        shard = self.shard(piece)
        try:
            return self._record(shard)
        except FileNotFoundError:
            return None
        except ShardError as error:
            log.warning("%s: %s; %s", shard.path, error, self._left_out(piece))
            refused.append(error)
            return None

    def _record(self, shard: ShardFile) -> R:
        return self.kind.read(shard, shard.piece)

    def _left_out(self, piece: Piece) -> str:
        """What a reader of the log has to know of a shard that cannot be used."""
        return "left out"


def progress_of(path: Path, manifest: RunManifest) -> Progress:
    """What the run in that folder has cost so far, and the batch budget in force."""
    return manifest.total(read_progress(path))
