"""Shards on disk: one Parquet file for each piece, written atomically, and checked when read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from calprobe.errors import CalprobeError
from calprobe.messages import counted
from calprobe.runs import atomic
from calprobe.runs.file_names import file_name
from calprobe.runs.records import FewerRowsError, OtherColumnsError, OtherRunError, Piece, R, RecordKind, ShardError

FOLDER = "shards"
# A shard that claims more rows could exhaust memory: real scores take bytes for each row.
ROWS_A_BYTE = 16
_STAMP = b"calprobe.run"
_DAMAGED_CHARACTERS = 8  # of 64: SHA-256 of two runs agree in 56 places with a probability below 1e-55


def refuse_if_none_fits(run: Path, others: int, fitting: int) -> None:
    """Raise CalprobeError if the run has shards of another run, and none of its own: then the manifest is wrong."""
    if others and not fitting:
        raise CalprobeError(
            f"{run}: manifest.json describes another run than the {counted(others, 'shard')} beside it: it was "
            "edited or replaced, or another version of calprobe made them\n"
            "restore it, or make the run again in another folder"
        )


def shard_path(run: Path, relation: str, template: int) -> Path:
    """The file of that piece in the run folder: shards/P30.t0.parquet, safe for every relation name."""
    return run / FOLDER / f"{file_name(relation)}.t{template}.parquet"


def column(run: Path, piece: Piece, name: str) -> list[Any]:
    """A column of the piece's shard, unchecked; empty without a shard, and if it cannot be read."""
    try:
        values: list[Any] = pq.read_table(shard_path(run, *piece), columns=[name])[name].to_pylist()
        return values
    except (pa.ArrowException, OSError, KeyError):
        return []


def write_shard(run: Path, kind: RecordKind[R], record: R, stamp: str) -> None:
    """Write the record into the run folder, atomically and durably. Equal records give equal bytes (same pyarrow).

    `stamp` says what the record is of (`RunManifest.stamps`).
    """
    table = kind.to_table(record)
    table = table.replace_schema_metadata({_STAMP: stamp.encode()} | (table.schema.metadata or {}))
    with atomic.replacing(shard_path(run, *kind.piece_of(record))) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True, write_statistics=False)


@dataclass(frozen=True, slots=True)
class ShardFile:
    """The shard of one piece of a run."""

    run: Path
    piece: Piece
    stamps: Sequence[str]  # it must carry one of these

    @property
    def path(self) -> Path:
        """Its path, whether or not it exists."""
        return shard_path(self.run, *self.piece)

    def table(
        self, schema: pa.Schema, n_rows: int | None, dictionaries: Sequence[str] = (), part: bool = False
    ) -> pa.Table:
        """The columns of the schema without relation and template, which are in the file's name, and all metadata.

        Checks stamp, columns, rows and page checksums. Raises ShardError if a check fails, before it allocates a
        number of rows other than `n_rows` (None: any), or with `part` fewer rows than that; FileNotFoundError if there
        is no such shard.
        """
        path = self.path
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise ShardError("it is not a file")
        columns = [name for name in schema.names if name not in ("relation", "template")]
        try:
            with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=list(dictionaries)) as file:
                self._check(file, schema, n_rows, part)
                table = file.read(columns=columns, use_threads=False)
                table.validate(full=True)  # numbers into a dictionary that a damaged header has made shorter, no UTF-8
        except FileNotFoundError:
            raise
        except KeyError as error:  # pyarrow's, if there is no such column to be read as a dictionary
            raise ShardError("its columns are not those of this run") from error
        # All errors of pyarrow for damaged bytes; its own errors derive from these.
        except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, MemoryError) as error:
            raise ShardError(f"it cannot be read: {str(error).strip()[:100]}") from error
        return table

    def _check(self, file: pq.ParquetFile, schema: pa.Schema, n_rows: int | None, part: bool) -> None:
        stored_schema = _undictionaried(file.schema_arrow)
        _check_stamp((stored_schema.metadata or {}).get(_STAMP), [stamp.encode() for stamp in self.stamps])
        if [stored_schema.field(name) for name in schema.names if name in stored_schema.names] != list(schema):
            raise OtherColumnsError
        rows = file.metadata.num_rows
        if n_rows is not None and (rows != n_rows if not part else rows >= n_rows):
            raise (FewerRowsError if rows < n_rows else ShardError)(f"it has {rows} rows of {n_rows}")
        if rows > ROWS_A_BYTE * self.path.stat().st_size:
            raise ShardError(f"it is too small for {rows} rows of scores")


def _check_stamp(stored: bytes | None, expected: Sequence[bytes]) -> None:
    """Raise OtherRunError for the stamp of another run or piece, ShardError for a missing or damaged one.

    Two hashes differ in nearly all characters, so a hash with few differences is the right one, with flipped bits.
    """
    if stored in expected:
        return
    if stored is None:
        raise ShardError("it does not name its run")
    for stamp in expected:
        if len(stored) == len(stamp):
            differing = sum(ours != theirs for ours, theirs in zip(stamp, stored, strict=True))
            if differing <= _DAMAGED_CHARACTERS:
                raise ShardError("the identity of its run is damaged")
    raise OtherRunError


def _undictionaried(schema: pa.Schema) -> pa.Schema:
    """The schema with the types that the file has, whatever is read as a dictionary."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema(fields, schema.metadata)
