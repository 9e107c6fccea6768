"""The scores of one piece: one relation under one template. In memory columns of NumPy, on disk one Parquet shard."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from calprobe.runs.records import Piece
from calprobe.words import Reduction, Role

NO_ROLE = -1  # in `first_role`: the statement has no scored token, or an import does not know

# Columns of a shard beside relation and template, in order, with the type they have in memory.
KEYS = ("instance", "candidate", "answer_idx")
REDUCTIONS: tuple[Reduction, ...] = get_args(Reduction)
COUNTS = ("n_tokens", "n_answer")
DTYPES = (
    dict.fromkeys(KEYS, np.dtype(np.int32))
    | dict.fromkeys((*REDUCTIONS, "first"), np.dtype(np.float64))
    | {"first_role": np.dtype(np.int8)}
    | dict.fromkeys(COUNTS, np.dtype(np.int32))
)


@dataclass(frozen=True, slots=True)
class PieceTokens:
    """The scored tokens of a piece in CSR form: statement `s` owns entries `offsets[s]:offsets[s + 1]`."""

    tokens: Sequence[str]  # [tokens], as `convert_ids_to_tokens` gives them
    roles: npt.NDArray[np.int8]  # [tokens], values of Role
    logprobs: npt.NDArray[np.float32]  # [tokens], nats, <= 0
    offsets: npt.NDArray[np.int64]  # [statements + 1], offsets[0] == 0

    def checksum(self) -> str:
        """CRC-32 over every value, as eight hex digits."""
        crc = 0
        for array in (self.offsets, self.roles, self.logprobs):
            crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
        return f"{zlib.crc32(chr(0).join(self.tokens).encode(), crc):08x}"

    def reordered(self, order: npt.NDArray[np.int64]) -> PieceTokens:
        """The tokens of the statements in another order, [statements]."""
        starts, lengths = self.offsets[:-1][order], np.diff(self.offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        names = [self.tokens[place] for place in places]
        return PieceTokens(names, self.roles[places], self.logprobs[places], offsets)

    def validate(self, n_statements: int, where: str) -> None:
        """Raise ValueError unless lengths, dtypes and offsets fit together and to that many statements."""
        ends = self.offsets
        if len(ends) != n_statements + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
            raise ValueError(f"{where}: token offsets must ascend from 0 over {n_statements} statements")
        lengths = {len(self.tokens), len(self.roles), len(self.logprobs), int(ends[-1])}
        if len(lengths) != 1 or self.roles.dtype != np.int8 or self.logprobs.dtype != np.float32:
            raise ValueError(f"{where}: tokens, roles (int8), logprobs (float32) must have {ends[-1]} entries each")


@dataclass(frozen=True, slots=True)
class PieceScores:
    """Scores of every statement of one (relation, template) piece: instance-major, candidate-minor, both ascending.

    Arrays are [statements], statements = instances x candidates. Sums and means are over a statement's scored tokens,
    or over its answer's; nats. Over no tokens the sum is 0, the mean and `first` NaN, and `first_role` NO_ROLE.
    A column that an import cannot know is None.
    """

    relation: str
    template: int
    instance: npt.NDArray[np.int32]  # line number in the relation's file, from 0
    candidate: npt.NDArray[np.int32]  # place in the answer space
    answer_idx: npt.NDArray[np.int32]  # the right candidate
    sum: npt.NDArray[np.float64] | None
    mean: npt.NDArray[np.float64] | None
    sum_answer: npt.NDArray[np.float64] | None
    mean_answer: npt.NDArray[np.float64] | None
    first: npt.NDArray[np.float64] | None  # log-probability of the first scored token
    first_role: npt.NDArray[np.int8] | None  # its role: values of Role, or NO_ROLE
    n_tokens: npt.NDArray[np.int32] | None  # scored tokens
    n_answer: npt.NDArray[np.int32] | None  # answer tokens among them
    tokens: PieceTokens | None = None
    cut_contexts: int = 0  # instances with a context too long for the model, cut from the left

    @property
    def piece(self) -> Piece:
        """Which piece it is."""
        return Piece(self.relation, self.template)

    @property
    def n_statements(self) -> int:
        """Rows of the piece."""
        return len(self.instance)

    def column(self, name: str) -> npt.NDArray[np.generic] | None:
        """The column of that name in DTYPES; None if it is not known."""
        array: npt.NDArray[np.generic] | None = getattr(self, name)
        return array

    def validate(self, n_instances: int, n_candidates: int) -> None:
        """Raise ValueError unless dtypes, lengths and order are as promised for that many instances and candidates."""
        where = f"piece {self.relation}, template {self.template}"
        for name, dtype in DTYPES.items():
            array = self.column(name)
            if array is None and name in KEYS:
                raise ValueError(f"{where}: {name} is missing")
            if array is not None and (array.dtype != dtype or array.shape != (n_instances * n_candidates,)):
                raise ValueError(
                    f"{where}: {name} must be {dtype} [{n_instances} x {n_candidates}], got {array.dtype} {array.shape}"
                )
        if (self.first is None) != (self.first_role is None):
            raise ValueError(f"{where}: first and first_role are known together or not at all")
        instance = self.instance.reshape(n_instances, n_candidates)
        answer = self.answer_idx.reshape(n_instances, n_candidates)
        candidate = self.candidate.reshape(n_instances, n_candidates)
        if not (candidate == np.arange(n_candidates)).all():
            raise ValueError(f"{where}: each instance must have the candidates 0 to {n_candidates - 1} in order")
        if n_candidates and not ((instance == instance[:, :1]).all() and (np.diff(instance[:, 0]) > 0).all()):
            raise ValueError(f"{where}: instance must be constant over candidates and ascend from instance to instance")
        if not ((answer == answer[:, :1]).all() and ((answer >= 0) & (answer < n_candidates)).all()):
            raise ValueError(f"{where}: answer_idx must be one candidate of each instance, 0 to {n_candidates - 1}")
        if not 0 <= self.cut_contexts <= n_instances:
            raise ValueError(f"{where}: cut_contexts must be 0 to {n_instances}, got {self.cut_contexts}")
        if self.tokens is not None:
            self.tokens.validate(self.n_statements, where)

    def checksum(self) -> str:
        """CRC-32 over every score, as eight hex digits: what was read is what was written, wherever the damage sits."""
        cut = f"\0{self.cut_contexts}" if self.cut_contexts else ""
        crc = zlib.crc32(f"{self.relation}\0{self.template}{cut}".encode())
        for name in DTYPES:
            array = self.column(name)
            unknown = b"\0" * min(self.n_statements, 1)  # of no statements, unknown and empty are the same
            crc = zlib.crc32(unknown if array is None else np.ascontiguousarray(array).data, crc)
        return f"{crc:08x}"

    def without_first(self, reduction: str) -> npt.NDArray[np.float64] | None:
        """The reduction with each statement's first scored token left out, [statements] (`--compat kissling2026`).

        The first token drops out of sum and mean always, of sum_answer and mean_answer where it is the answer's. Where
        it was the only one, the sum is 0 and the mean NaN. None where a column that this needs is not known.
        Source: docs/methods/estimators.md, "Reductions of token scores".
        """
        answer_only = reduction.endswith("_answer")
        total, count = (self.sum_answer, self.n_answer) if answer_only else (self.sum, self.n_tokens)
        if total is None or count is None or self.first is None or self.first_role is None:
            return None
        drops = self.first_role == Role.ANSWER if answer_only else self.first_role != NO_ROLE
        n_left = count - drops
        # Exactly 0 where nothing is left: a difference of rounded sums would leave dust.
        sums = np.where(n_left > 0, total - np.where(drops, self.first, 0.0), 0.0)
        if reduction.startswith("sum"):
            return sums
        mean: npt.NDArray[np.float64] = np.divide(sums, n_left, out=np.full(len(sums), np.nan), where=n_left > 0)
        return mean


def joined_pieces(one: PieceScores, other: PieceScores) -> PieceScores:
    """The scores of one relation under one template for the instances of both, ascending.

    Raises ValueError unless they are of one piece, have no instance in common, and know the same columns.
    """
    if one.piece != other.piece or np.intersect1d(one.instance, other.instance).size:
        raise ValueError("two parts of a piece must be of one piece, without an instance in common")
    order = np.argsort(np.concatenate([one.instance, other.instance]), kind="stable")
    columns: dict[str, Any] = {}
    for name in DTYPES:
        a, b = one.column(name), other.column(name)
        if (a is None) != (b is None):
            raise ValueError(f"two parts of a piece must know the same columns, and only one has {name}")
        columns[name] = None if a is None or b is None else np.concatenate([a, b])[order]
    return PieceScores(
        *one.piece,
        **columns,
        tokens=_joined_tokens(one.tokens, other.tokens, order),
        cut_contexts=one.cut_contexts + other.cut_contexts,
    )


def _joined_tokens(
    first: PieceTokens | None, second: PieceTokens | None, order: npt.NDArray[np.int64]
) -> PieceTokens | None:
    if first is None or second is None:
        return None
    tokens = PieceTokens(
        tokens=[*first.tokens, *second.tokens],
        roles=np.concatenate([first.roles, second.roles]),
        logprobs=np.concatenate([first.logprobs, second.logprobs]),
        offsets=np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
    )
    return tokens.reordered(order)
