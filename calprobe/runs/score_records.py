"""The records of scored runs: the scores of a piece, and its tokens where the run saves them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from calprobe.runs.arrow import from_numbers, from_strings, repeated, to_numbers
from calprobe.runs.pieces import DTYPES, NO_ROLE, PieceScores, PieceTokens, joined_pieces
from calprobe.runs.records import Piece, RecordKind, Shard, ShardError
from calprobe.words import Role

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
_SCORES_CRC, _TOKENS_CRC = b"calprobe.scores_crc32", b"calprobe.tokens_crc32"
_CUT_CONTEXTS = b"calprobe.cut_contexts"  # not there: 0


@dataclass(frozen=True, slots=True)
class ScoreRecords(RecordKind[PieceScores]):
    """Scores of the pieces of one run."""

    shapes: Mapping[str, tuple[int, int]]  # instances and candidates by relation
    save_tokens: bool
    cut_contexts: Mapping[str, int]  # by relation, of a run of format 1; its shards do not have them

    def piece_of(self, record: PieceScores) -> Piece:
        """Its relation and template."""
        return record.piece

    def n_rows(self, record: PieceScores) -> int:
        """Its statements."""
        return record.n_statements

    def is_whole(self, record: PieceScores) -> bool:
        """Whether the piece has all of the run's instances."""
        n_instances, n_candidates = self.shapes[record.relation]
        return record.n_statements == n_instances * n_candidates

    def check(self, record: PieceScores) -> None:
        """Raise ValueError unless the scores are in the promised form, with tokens exactly if the run saves them."""
        record.validate(*self.shapes[record.relation])
        if self.save_tokens != (record.tokens is not None):
            raise ValueError(f"piece {record.relation}: tokens must be there exactly if the run's save_tokens is set")

    def to_table(self, record: PieceScores) -> pa.Table:
        """Scores, tokens if there are any, and the checksums of both."""
        table = piece_to_arrow(record)
        metadata = {_SCORES_CRC: record.checksum().encode()}
        if record.cut_contexts:
            metadata[_CUT_CONTEXTS] = str(record.cut_contexts).encode()
        if record.tokens is not None:
            for field, column in zip(_TOKENS, _tokens_to_arrow(record.tokens), strict=True):
                table = table.append_column(field, column)
            metadata[_TOKENS_CRC] = record.tokens.checksum().encode()
        return table.replace_schema_metadata(metadata)

    def read(self, shard: Shard, piece: Piece) -> PieceScores:
        """The scores without tokens, checked against a checksum over all values."""
        return self._read(shard, piece, False)

    def _read(self, shard: Shard, piece: Piece, part: bool) -> PieceScores:
        n_instances, n_candidates = self.shapes[piece.relation]
        table = shard.table(_SCORES, n_instances * n_candidates, ("first_role",), part)
        columns = {name: _to_numpy(name, table[name]) for name in DTYPES}
        if columns["first"] is None:
            columns["first_role"] = None
        cut_contexts = _count(table.schema.metadata.get(_CUT_CONTEXTS, b"0"))
        scores = PieceScores(*piece, cut_contexts=cut_contexts, **columns)  # type: ignore[arg-type]
        if table.schema.metadata.get(_SCORES_CRC) != scores.checksum().encode():
            raise ShardError("its checksum is wrong")
        with _checked():
            scores.validate(table.num_rows // n_candidates if part else n_instances, n_candidates)
        before = self.cut_contexts.get(piece.relation, 0)
        return replace(scores, cut_contexts=before) if before > cut_contexts else scores

    def read_tokens(self, shard: Shard, piece: Piece) -> PieceTokens:
        """The tokens, checked. Raises as `read`; ShardError too if the run saved no tokens."""
        return self._read_tokens(shard, piece, False)

    def _read_tokens(self, shard: Shard, piece: Piece, part: bool) -> PieceTokens:
        n_instances, n_candidates = self.shapes[piece.relation]
        table = shard.table(_TOKENS, n_instances * n_candidates, part=part)
        tokens, roles, logprobs = (column.combine_chunks() for column in table.columns)
        piece_tokens = PieceTokens(
            tokens=tokens.flatten().to_pylist(),
            roles=to_numbers(roles.flatten()),
            logprobs=to_numbers(logprobs.flatten()),
            offsets=to_numbers(tokens.offsets).astype(np.int64),
        )
        if table.schema.metadata.get(_TOKENS_CRC) != piece_tokens.checksum().encode():
            raise ShardError("the checksum of its tokens is wrong")
        with _checked():
            piece_tokens.validate(table.num_rows, "its tokens")
        return piece_tokens

    def read_whole(self, shard: Shard, piece: Piece) -> PieceScores:
        """The scores, with tokens if the run saves them."""
        scores = self.read(shard, piece)
        return replace(scores, tokens=self.read_tokens(shard, piece)) if self.save_tokens else scores

    def read_part(self, shard: Shard, piece: Piece) -> PieceScores:
        """The complete record of fewer instances than the run has."""
        scores = self._read(shard, piece, True)
        return replace(scores, tokens=self._read_tokens(shard, piece, True)) if self.save_tokens else scores

    def joined(self, one: PieceScores, other: PieceScores) -> PieceScores:
        """One piece of the instances of both, in the file's order."""
        return joined_pieces(one, other)

    def same(self, one: PieceScores, other: PieceScores) -> bool:
        """Whether every score has the same bytes, and every token."""
        for name in DTYPES:
            a, b = one.column(name), other.column(name)
            if (a is None) != (b is None) or (a is not None and b is not None and a.tobytes() != b.tobytes()):
                return False
        if one.cut_contexts != other.cut_contexts:
            return False
        if one.tokens is None or other.tokens is None:
            return one.tokens is other.tokens
        return list(one.tokens.tokens) == list(other.tokens.tokens) and all(
            getattr(one.tokens, name).tobytes() == getattr(other.tokens, name).tobytes()
            for name in ("roles", "logprobs", "offsets")
        )


def piece_to_arrow(piece: PieceScores) -> pa.Table:
    """The piece's scores in the columns of a shard, without tokens: roles by name, unknown columns null."""
    columns = [
        repeated(piece.relation, piece.n_statements),
        from_numbers(np.full(piece.n_statements, piece.template, np.int32)),
        *(_to_arrow(name, piece.column(name), piece.n_statements) for name in DTYPES),
    ]
    return pa.Table.from_arrays(columns, schema=_SCORES)


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
