"""The replies of a piece of an asked run, and their shard: a row for each reply."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, get_type_hints

import pyarrow as pa

from calprobe.runs.alternatives import ALTERNATIVES, alternatives_column, alternatives_row
from calprobe.runs.arrow import to_numbers, type_of
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.records import OtherColumnsError, Piece, RecordKind, Shard, ShardError
from calprobe.runs.replies import LATER, Reply
from calprobe.runs.reply_json import StoredLabelScores, label_scores_of, reply_json, stored_label_scores
from calprobe.runs.stages import ONCE

_CRC = b"calprobe.replies_crc32"
_HINTS = get_type_hints(Reply) | {"label_scores": StoredLabelScores}
_SCHEMA = pa.schema(
    [
        (field.name, ALTERNATIVES if field.name == "alternatives" else type_of(_HINTS[field.name]))
        for field in fields(Reply)
    ]
)
# Shards of earlier versions lack columns that came later: the last, the last three, or all.
_EARLIER = tuple(
    pa.schema([field for field in _SCHEMA if field.name not in tuple(LATER)[start:]]) for start in (3, 1, 0)
)
_LISTS = ("prompt_ids", "token_ids", "logprobs")


@dataclass(frozen=True, slots=True)
class AskedPiece:
    """What is asked of each question of a set under one variant and paraphrase."""

    set: str
    variant: str
    paraphrase: int
    stages: tuple[str, ...]  # see `calprobe.runs.stages`
    samples: int = 1  # of each stage but the greedy ones, which have no second
    # What else decides its requests; None: it has nothing to do with the piece, or was not recorded.
    labels: bool | None = None  # whether probabilities of labels are asked for
    closed: bool | None = None  # whether those of all stated confidences are
    examples: str | None = None  # hash of the examples in its prompts, in their order, and of what is between them
    alternatives: int | None = None  # tokens at each position of its answers that are asked for; 0: none
    schema: bool | None = None  # whether replies are held to a JSON schema; None: they are to be no JSON

    @property
    def piece(self) -> Piece:
        """What run folders call it: `SET.VARIANT` and the paraphrase's number."""
        return Piece(f"{self.set}.{self.variant}", self.paraphrase)

    def samples_at(self, stage: str) -> int:
        """How many replies a question has at a stage.

        >>> piece = AskedPiece("sums", "plain", 0, ("answer", "greedy"), samples=5)
        >>> piece.samples_at("answer"), piece.samples_at("greedy")
        (5, 1)
        """
        return 1 if stage in ONCE else self.samples

    @property
    def requests(self) -> tuple[tuple[str, int], ...]:
        """Stage and sample of all that is asked of a question."""
        return tuple((stage, sample) for stage in self.stages for sample in range(self.samples_at(stage)))


@dataclass(frozen=True, slots=True)
class PieceReplies:
    """All replies of one question set under one variant and paraphrase, sorted: see `of`."""

    set: str
    variant: str
    paraphrase: int
    replies: tuple[Reply, ...]

    @classmethod
    def of(cls, asked: AskedPiece, replies: Iterable[Reply]) -> PieceReplies:
        """The replies sorted by question (id as plain string), stage (in the piece's order), and sample."""
        place = {stage: number for number, stage in enumerate(asked.stages)}
        rows = sorted(replies, key=lambda r: (r.question, place[r.stage], r.sample))
        return cls(asked.set, asked.variant, asked.paraphrase, tuple(rows))

    @property
    def piece(self) -> Piece:
        """What run folders call it."""
        return Piece(f"{self.set}.{self.variant}", self.paraphrase)

    def checksum(self) -> str:
        """CRC-32 (hex) of all values."""
        crc = 0
        for reply in self.replies:
            crc = zlib.crc32(reply_json(reply).encode(), crc)
        return f"{crc:08x}"


@dataclass(frozen=True, slots=True)
class ReplyRecords(RecordKind[PieceReplies]):
    """Replies to the questions of one run, or of its share."""

    pieces: Mapping[Piece, AskedPiece]
    n_questions: Mapping[str, int]  # by set: those that this folder has

    def piece_of(self, record: PieceReplies) -> Piece:
        """Its set with its variant, and its paraphrase."""
        return record.piece

    def n_rows(self, record: PieceReplies) -> int:
        """Its replies."""
        return len(record.replies)

    def expected(self, piece: Piece) -> int:
        """How many replies the complete piece has."""
        asked_piece = self.pieces[piece]
        return self.n_questions[asked_piece.set] * len(asked_piece.requests)

    def is_whole(self, record: PieceReplies) -> bool:
        """Whether the piece has a reply for each request; it may be one that failed."""
        return len(record.replies) == self.expected(record.piece)

    def check(self, record: PieceReplies) -> None:
        """Raise ValueError unless each request of the piece has exactly one reply, in order."""
        self._check_rows(record)
        if not self.is_whole(record):
            expected = self.expected(record.piece)
            raise ValueError(f"piece {record.piece.relation} must have {expected} replies, got {len(record.replies)}")

    def _check_rows(self, record: PieceReplies) -> None:
        piece = self.pieces[record.piece]
        place = {stage: number for number, stage in enumerate(piece.stages)}
        last: tuple[str, int, int] | None = None
        names = (record.set, record.variant, record.paraphrase)
        for reply in record.replies:
            if (reply.set, reply.variant, reply.paraphrase) != names:
                raise ValueError(f"a reply of piece {record.piece.relation} is of another piece")
            if reply.stage not in place or not 0 <= reply.sample < piece.samples_at(reply.stage):
                raise ValueError(f"stage {reply.stage}, sample {reply.sample} is not asked in {record.piece.relation}")
            if (reply.finish == "error") != bool(reply.error):
                raise ValueError(f"reply {reply.key:.12}: error must be there exactly if finish is error")
            position = (reply.question, place[reply.stage], reply.sample)
            if last is not None and position <= last:
                raise ValueError(f"question {reply.question}, {reply.stage}: replies must be in order, each once")
            last = position

    def to_table(self, record: PieceReplies) -> pa.Table:
        """All fields of the replies, and a checksum of them."""
        columns = [pa.array([_value(reply, field.name) for reply in record.replies], field.type) for field in _SCHEMA]
        table = pa.Table.from_arrays(columns, schema=_SCHEMA)
        return table.replace_schema_metadata({_CRC: record.checksum().encode()})

    def read(self, shard: Shard, piece: Piece) -> PieceReplies:
        """The replies, checked against a checksum over all values."""
        return self._read(shard, piece, False)

    def read_part(self, shard: Shard, piece: Piece) -> PieceReplies:
        """The replies of a piece to which more was added since: questions, stages, samples."""
        return self._read(shard, piece, True)

    def _read(self, shard: Shard, piece: Piece, part: bool) -> PieceReplies:
        table = self._table(shard, piece, part)
        asked_piece = self.pieces[piece]
        record = PieceReplies(asked_piece.set, asked_piece.variant, asked_piece.paraphrase, tuple(_replies(table)))
        try:
            if table.schema.metadata.get(_CRC) != record.checksum().encode():
                raise ShardError("its checksum is wrong")
            self._check_rows(record)
        except ValueError as error:  # a checksum tells damage; whoever made the file up has made up that, too
            raise ShardError(str(error)) from error
        return record

    def _table(self, shard: Shard, piece: Piece, part: bool) -> pa.Table:
        *later, earliest = (_SCHEMA, *_EARLIER)
        for schema in later:
            with suppress(OtherColumnsError):
                return shard.table(schema, self.expected(piece), part=part)
        return shard.table(earliest, self.expected(piece), part=part)

    def joined(self, one: PieceReplies, other: PieceReplies) -> PieceReplies:
        """One record of the replies of both; a failed request has the reply of the other.

        Raises ValueError if a request has a different reply in each.
        """
        replies = {(r.question, r.stage, r.sample): r for r in one.replies}
        for reply in other.replies:
            request = (reply.question, reply.stage, reply.sample)
            earlier = replies.setdefault(request, reply)
            if earlier.finish == "error":
                replies[request] = reply
            elif earlier != reply and reply.finish != "error":
                raise ValueError(f"question {reply.question}, {reply.stage} has two different replies")
        return PieceReplies.of(self.pieces[one.piece], replies.values())

    def assembled(self, parts: Sequence[PieceReplies]) -> PieceReplies | None:
        """The complete piece; None if a request is in none of the parts. Raises as `joined`."""
        record = reduce(self.joined, parts)
        return record if self.is_whole(record) else None

    def same(self, one: PieceReplies, other: PieceReplies) -> bool:
        """Whether all replies are equal."""
        return one.replies == other.replies


def _value(reply: Reply, name: str) -> Any:
    value = getattr(reply, name)
    if name == "alternatives":
        return alternatives_row(value)
    return stored_label_scores(value) if name == "label_scores" and value is not None else value


def _replies(table: pa.Table) -> Iterable[Reply]:
    """The replies of a shard's table. Raises ShardError for a value that no reply has."""
    names = [name for name in table.column_names if name not in (*_LISTS, "alternatives")]
    columns: dict[str, Sequence[Any]] = {name: table[name].to_pylist() for name in names}
    columns |= {name: _tuples(table[name]) for name in _LISTS}
    try:
        alternatives = alternatives_column(table["alternatives"]) if "alternatives" in table.column_names else None
    except DecodeError as error:
        raise ShardError(f"a reply is not as it should be ({error})") from error
    columns["alternatives"] = alternatives or [None] * table.num_rows
    for row in zip(*columns.values(), strict=True):
        values = dict(zip(columns, row, strict=True))
        scores = values.pop("label_scores")
        lists = {name: values.pop(name) for name in (*_LISTS, "alternatives")}
        try:
            reply = decode(Reply, values)
            label_scores = None if scores is None else label_scores_of(scores)
        except DecodeError as error:
            raise ShardError(f"a reply is not as it should be ({error})") from error
        yield _with(reply, lists | {"label_scores": label_scores})


def _with(reply: Reply, values: Mapping[str, Any]) -> Reply:
    # dataclasses.replace looks at every field again, for each of a hundred thousand replies.
    for name, value in values.items():
        object.__setattr__(reply, name, value)
    return reply


def _tuples(column: pa.ChunkedArray) -> list[tuple[Any, ...] | None]:
    """A column of lists of numbers as tuples; None for null."""
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # older pyarrow, of an empty column
        lists = lists.chunk(0) if lists.num_chunks else pa.array([], column.type)
    try:
        numbers = to_numbers(lists.values).tolist()
    except (pa.ArrowException, TypeError) as error:  # a number is null
        raise ShardError("numbers of a reply are missing") from error
    ends = to_numbers(lists.offsets).tolist()
    valid = lists.is_valid().to_pylist()
    return [tuple(numbers[a:b]) if is_valid else None for a, b, is_valid in zip(ends, ends[1:], valid, strict=False)]
