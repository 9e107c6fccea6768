"""Shards on disk: one Parquet file a piece, written atomically, and believed only after every check has passed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
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
from calprobe.runs.file_names import file_name
from calprobe.runs.manifest import RelationRecord
from calprobe.runs.pieces import DTYPES, NO_ROLE, PieceScores, PieceTokens
from calprobe.wording import counted
from calprobe.words import Role

FOLDER = "shards"
# A shard that promises more rows is a bomb: scores take bytes a row, and the lengths of statements alone some bits.
ROWS_A_BYTE = 16
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
_CUT_CONTEXTS = b"calprobe.cut_contexts"  # not there: 0


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
    """The file of that piece in the run folder: shards/P30.t0.parquet. It lies there whatever the name says."""
    return run / FOLDER / f"{file_name(relation)}.t{template}.parquet"


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
    if piece.cut_contexts:
        metadata[_CUT_CONTEXTS] = str(piece.cut_contexts).encode()
    if piece.tokens is not None:
        for field, column in zip(_TOKENS, _tokens_to_arrow(piece.tokens), strict=True):
            table = table.append_column(field, column)
        metadata[_TOKENS_CRC] = piece.tokens.checksum().encode()
    table = table.replace_schema_metadata(metadata)
    with atomic.replacing(shard_path(run, piece.relation, piece.template)) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True, write_statistics=False)


def read_scores(run: Path, relation: RelationRecord, template: int, run_identity: str) -> PieceScores:
    """Read a shard's scores and check them: identity, columns, rows, page checksums, a checksum over all values.

    Tokens are left out. Raises ShardError if anything is amiss, and before it makes room for another number of rows
    than the manifest has; FileNotFoundError if there is no such shard.
    """
    table = _read(shard_path(run, relation.name, template), _SCORES, run_identity, relation.n_statements)
    columns = {name: _to_numpy(name, table[name]) for name in DTYPES}
    if columns["first"] is None:
        columns["first_role"] = None
    cut_contexts = _count(table.schema.metadata.get(_CUT_CONTEXTS, b"0"))
    piece = PieceScores(relation.name, template, cut_contexts=cut_contexts, **columns)  # type: ignore[arg-type]
    if table.schema.metadata.get(_SCORES_CRC) != piece.checksum().encode():
        raise ShardError("its checksum is wrong")
    with _checked():
        piece.validate(relation.n_instances, relation.n_candidates)
    return piece


def read_tokens(run: Path, relation: RelationRecord, template: int, run_identity: str) -> PieceTokens:
    """Read and check a shard's tokens. Raises as `read_scores`; ShardError too if the run saved no tokens."""
    table = _read(shard_path(run, relation.name, template), _TOKENS, run_identity, relation.n_statements)
    tokens, roles, logprobs = (column.combine_chunks() for column in table.columns)
    found = PieceTokens(
        tokens=tokens.flatten().to_pylist(),
        roles=to_numbers(roles.flatten()),
        logprobs=to_numbers(logprobs.flatten()),
        offsets=to_numbers(tokens.offsets).astype(np.int64),
    )
    if table.schema.metadata.get(_TOKENS_CRC) != found.checksum().encode():
        raise ShardError("the checksum of its tokens is wrong")
    with _checked():
        found.validate(relation.n_statements, "its tokens")
    return found


def _count(text: bytes) -> int:
    if not re.fullmatch(rb"[0-9]{1,10}", text):
        raise ShardError("its number of cut contexts is no number")
    return int(text)


@contextmanager
def _checked() -> Iterator[None]:
    """A checksum tells damage; whoever made the file up has made up that, too."""
    try:
        yield
    except ValueError as error:
        raise ShardError(str(error)) from error


def _read(path: Path, schema: pa.Schema, run_identity: str, n_statements: int) -> pa.Table:
    """The columns of the schema, but for relation and template, which the file's name says."""
    if path.exists() and not path.is_file():  # a pipe would be waited for without end
        raise ShardError("it is no file")
    columns = [name for name in schema.names if name not in ("relation", "template")]
    try:
        with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=["first_role"]) as file:
            found = _undictionaried(file.schema_arrow)
            if (found.metadata or {}).get(_IDENTITY) != run_identity.encode():
                raise OtherRunError
            if [found.field(name) for name in schema.names if name in found.names] != list(schema):
                raise ShardError("its columns are not those of this run")
            if file.metadata.num_rows != n_statements:
                raise ShardError(f"it has {file.metadata.num_rows} rows of {n_statements}")
            if n_statements > ROWS_A_BYTE * path.stat().st_size:
                raise ShardError(f"it is too small for {n_statements} rows of scores")
            table = file.read(columns=columns, use_threads=False)
            table.validate(full=True)  # numbers into a dictionary that a damaged header has made shorter, no UTF-8
    except FileNotFoundError:
        raise
    except KeyError as error:  # pyarrow's, if there is no first_role to be read as a dictionary
        raise ShardError("its columns are not those of this run") from error
    # Everything pyarrow may say of damaged bytes; its own errors derive from these.
    except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, MemoryError) as error:
        raise ShardError(f"it cannot be read: {str(error).strip()[:100]}") from error
    return table


def _undictionaried(schema: pa.Schema) -> pa.Schema:
    """The schema with the types that the file has, whatever is read as a dictionary."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema(fields, schema.metadata)


def _to_arrow(name: str, array: npt.NDArray[Any] | None, n_statements: int) -> pa.Array:
    if array is None:
        return pa.nulls(n_statements, _SCORES.field(name).type)
    if name == "first_role":
        return ROLE_NAMES.take(from_numbers(array, is_null=array == NO_ROLE))
    return from_numbers(array)


def _to_numpy(name: str, column: pa.ChunkedArray) -> npt.NDArray[Any] | None:
    if name == "first_role":  # null is a value of its own here
        column = pc.fill_null(pa.chunked_array(map(_role_codes, column.chunks), _NO_ROLE.type), _NO_ROLE)
    if len(column) and column.null_count == len(column):
        return None
    if column.null_count:
        raise ShardError(f"values of {name} are missing")
    return to_numbers(column.combine_chunks()).astype(DTYPES[name], copy=False)


def _role_codes(names: pa.DictionaryArray) -> pa.Array:
    """Values of Role by name; each name of a file is looked up once, and never written out row by row."""
    return pc.index_in(names.dictionary, value_set=ROLE_NAMES, skip_nulls=True).take(names.indices)


def _tokens_to_arrow(tokens: PieceTokens) -> list[pa.Array]:
    offsets = from_numbers(tokens.offsets.astype(np.int32))
    values = [from_strings(tokens.tokens), from_numbers(tokens.roles), from_numbers(tokens.logprobs)]
    return [pa.ListArray.from_arrays(offsets, flat) for flat in values]
