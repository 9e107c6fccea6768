"""Shards on disk: one Parquet file a piece, written atomically, and believed only after every check has passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from calprobe.errors import CalprobeError
from calprobe.runs import atomic
from calprobe.runs.arrow import from_numbers, from_strings, repeated, to_numbers
from calprobe.runs.pieces import DTYPES, NO_ROLE, PieceScores, PieceTokens
from calprobe.statements.token_rows import Role
from calprobe.wording import counted

FOLDER = "shards"
ROLE_NAMES = from_strings([role.label for role in Role])  # position = value of Role

_SCORES = pa.schema(
    [pa.field("relation", pa.string()), pa.field("template", pa.int32())]
    + [pa.field(n, pa.string() if n == "first_role" else pa.from_numpy_dtype(t)) for n, t in DTYPES.items()]
)
_TOKENS = pa.schema(
    [
        pa.field("tokens", pa.list_(pa.string())),
        pa.field("roles", pa.list_(pa.int8())),
        pa.field("logprobs", pa.list_(pa.float32())),
    ]
)
_NO_ROLE = from_numbers(np.array([NO_ROLE], np.int32))[0]  # of the type of index_in's result
_IDENTITY, _SCORES_CRC, _TOKENS_CRC = b"calprobe.run", b"calprobe.scores_crc32", b"calprobe.tokens_crc32"


class ShardError(Exception):
    """A shard that must not be used; the message says why."""


class OtherRunError(ShardError):
    """A shard that was written for another run than the manifest describes."""

    def __init__(self) -> None:
        super().__init__("it belongs to another run")


def refuse_if_none_fits(run: Path, others: int, fitting: int) -> None:
    """Raise CalprobeError if the run has shards of another run, and none of its own: then the manifest is wrong."""
    if others and not fitting:
        raise CalprobeError(
            f"{run}: manifest.json describes another run than the {counted(others, 'shard')} beside it: it was "
            "edited or exchanged\nrestore it, or score the run again into another folder"
        )


def shard_path(run: Path, relation: str, template: int) -> Path:
    """The file of that piece in the run folder: shards/P30.t0.parquet."""
    return run / FOLDER / f"{relation}.t{template}.parquet"


def piece_to_arrow(piece: PieceScores) -> pa.Table:
    """The piece's scores in the columns of a shard, without tokens: roles by name, unknown columns null."""
    columns = [
        repeated(piece.relation, piece.n_statements),
        from_numbers(np.full(piece.n_statements, piece.template, np.int32)),
        *(_to_arrow(name, piece.column(name), piece.n_statements) for name in DTYPES),
    ]
    return pa.Table.from_arrays(columns, schema=_SCORES)


def write_shard(run: Path, piece: PieceScores, run_identity: str) -> None:
    """Write the piece into the run folder, atomically and durably. Equal pieces give equal bytes (same pyarrow)."""
    table = piece_to_arrow(piece)
    metadata = {_IDENTITY: run_identity.encode(), _SCORES_CRC: piece.checksum().encode()}
    if piece.tokens is not None:
        for field, column in zip(_TOKENS, _tokens_to_arrow(piece.tokens), strict=True):
            table = table.append_column(field, column)
        metadata[_TOKENS_CRC] = piece.tokens.checksum().encode()
    table = table.replace_schema_metadata(metadata)
    with atomic.replacing(shard_path(run, piece.relation, piece.template)) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True, write_statistics=False)


def read_scores(run: Path, relation: str, template: int, run_identity: str) -> PieceScores:
    """Read a shard's scores and check them: page checksums, columns, the run's identity, a checksum over all values.

    Tokens are left out. Raises ShardError if anything is amiss, FileNotFoundError if there is no such shard.
    """
    table = _read(shard_path(run, relation, template), _SCORES, run_identity)
    columns = {name: _to_numpy(name, table[name]) for name in DTYPES}
    if columns["first"] is None:
        columns["first_role"] = None
    piece = PieceScores(relation=relation, template=template, **columns)  # type: ignore[arg-type]
    if table.schema.metadata.get(_SCORES_CRC) != piece.checksum().encode():
        raise ShardError("its checksum is wrong")
    return piece


def read_tokens(run: Path, relation: str, template: int, run_identity: str) -> PieceTokens:
    """Read and check a shard's tokens. Raises as `read_scores`; ShardError too if the run saved no tokens."""
    table = _read(shard_path(run, relation, template), _TOKENS, run_identity)
    tokens, roles, logprobs = (column.combine_chunks() for column in table.columns)
    found = PieceTokens(
        tokens=tokens.flatten().to_pylist(),
        roles=to_numbers(roles.flatten()),
        logprobs=to_numbers(logprobs.flatten()),
        offsets=to_numbers(tokens.offsets).astype(np.int64),
    )
    if table.schema.metadata.get(_TOKENS_CRC) != found.checksum().encode():
        raise ShardError("the checksum of its tokens is wrong")
    return found


def _read(path: Path, schema: pa.Schema, run_identity: str) -> pa.Table:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            found = file.schema_arrow
            if (found.metadata or {}).get(_IDENTITY) != run_identity.encode():
                raise OtherRunError
            if [found.field(name) for name in schema.names if name in found.names] != list(schema):
                raise ShardError("its columns are not those of this run")
            table = file.read(columns=schema.names, use_threads=False)
    except FileNotFoundError:
        raise
    # Everything pyarrow may say of damaged bytes; its own errors derive from these.
    except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, MemoryError) as error:
        raise ShardError(f"it cannot be read: {str(error).strip()[:100]}") from error
    return table


def _to_arrow(name: str, array: npt.NDArray[Any] | None, n_statements: int) -> pa.Array:
    if array is None:
        return pa.nulls(n_statements, _SCORES.field(name).type)
    if name == "first_role":
        return ROLE_NAMES.take(from_numbers(array, is_null=array == NO_ROLE))
    return from_numbers(array)


def _to_numpy(name: str, column: pa.ChunkedArray) -> npt.NDArray[Any] | None:
    if name == "first_role":  # null is a value of its own here
        column = pc.fill_null(pc.index_in(column, value_set=ROLE_NAMES, skip_nulls=True), _NO_ROLE)
    if len(column) and column.null_count == len(column):
        return None
    if column.null_count:
        raise ShardError(f"values of {name} are missing")
    return to_numbers(column.combine_chunks()).astype(DTYPES[name], copy=False)


def _tokens_to_arrow(tokens: PieceTokens) -> list[pa.Array]:
    offsets = from_numbers(tokens.offsets.astype(np.int32))
    values = [from_strings(tokens.tokens), from_numbers(tokens.roles), from_numbers(tokens.logprobs)]
    return [pa.ListArray.from_arrays(offsets, flat) for flat in values]
