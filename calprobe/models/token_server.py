"""Statements become tokens in a process of its own: `python -m calprobe.models.token_server`, which a run starts.

Requests and answers are frames, JSON and the bytes of arrays, through the pipes of standard input and output. The first
one is a `Served`. The process imports neither torch nor transformers nor the user's script, and ends with its standard
input, that is with the process that started it, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from calprobe.models.encoding import BareTokenizer, only_hands_on
from calprobe.models.token_roles import tokenise
from calprobe.models.tokenizers import TOKENIZER_LOCK
from calprobe.planning.token_rows import Contexts, TokenRows
from calprobe.probes.types import Instance, Relation
from calprobe.statements import statements_of
from calprobe.words import ModelKind, Scored, WordSplit

if TYPE_CHECKING:
    from calprobe.models.loaded_model import LoadedModel

_LENGTHS = struct.Struct("<QQ")  # of the JSON, and of the bytes behind it
Frame = tuple[Any, bytearray]


@dataclass(frozen=True, slots=True)
class Served:
    """What `tokenise` asks of a model."""

    name: str
    kind: ModelKind
    backend: str  # the tokenizer's own, as JSON
    n_special: int
    max_positions: int | None
    embedding_rows: int | None

    @classmethod
    def of(cls, model: LoadedModel) -> Served | None:
        """Of that model; None if its tokenizer is more than what this would give."""
        if not only_hands_on(model.tokenizer):
            return None
        with TOKENIZER_LOCK:
            try:
                backend = model.tokenizer.backend_tokenizer.to_str()
            except Exception:  # noqa: BLE001 - parts written in Python cannot be written as JSON
                return None
        n_special = model.tokenizer.num_special_tokens_to_add()
        return cls(model.name, model.kind, backend, n_special, model.max_positions, model.embedding_rows)

    def as_json(self) -> Any:
        """Its fields."""
        return asdict(self)

    def as_model(self) -> Any:
        """It under the names that a loaded model has."""
        from tokenizers import Tokenizer

        return _Model(self, BareTokenizer(Tokenizer.from_str(self.backend), self.n_special))


@dataclass(frozen=True, slots=True)
class _Model:
    served: Served
    tokenizer: BareTokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.served, name)


@dataclass(frozen=True, slots=True)
class Request:
    """Relations, each with the text of a template."""

    pieces: tuple[tuple[Relation, str], ...]
    word_split: WordSplit | None

    def as_json(self) -> Any:
        """What makes the statements, and no more."""
        pieces = [
            (
                text,
                relation.scored,
                relation.candidates,
                [(each.subject, each.candidates) for each in relation.instances],
            )
            for relation, text in self.pieces
        ]
        return {"pieces": pieces, "word_split": self.word_split}

    @classmethod
    def from_json(cls, given: Any) -> Request:
        """The request, of relations without names and answers."""
        return cls(tuple(_piece(*piece) for piece in given["pieces"]), given["word_split"])

    def rows(self, model: Any) -> list[TokenRows]:
        """The tokens of each piece. Raises StatementError, without the piece's name."""
        return [
            tokenise(statements_of(relation, text), model, self.word_split, relation.scored)
            for relation, text in self.pieces
        ]


def _piece(text: str, scored: Scored, candidates: Sequence[str], instances: Sequence[Any]) -> tuple[Relation, str]:
    each = (Instance(i, subject, 0, candidates=own and tuple(own)) for i, (subject, own) in enumerate(instances))
    return Relation("", tuple(candidates), tuple(each), scored=scored), text


def as_frame(rows: Sequence[TokenRows]) -> Frame:
    """The rows of each piece: dtypes and sizes of their arrays, and the bytes of all."""
    arrays = [_arrays(each) for each in rows]
    body = b"".join(array.tobytes() for each in arrays for array in each if array is not None)
    return [[array is not None and (array.dtype.str, len(array)) for array in each] for each in arrays], bytearray(body)


def _arrays(rows: TokenRows) -> list[np.ndarray[Any, Any] | None]:
    contexts = (None, None) if rows.contexts is None else (rows.contexts.lengths, rows.contexts.cut)
    return [rows.token_ids, rows.roles, rows.offsets, rows.words, *contexts]


def from_frame(frame: Frame) -> list[TokenRows]:
    """The rows of `as_frame`."""
    sizes, body = frame
    start, found = 0, []
    for each in sizes:
        arrays: list[Any] = []
        for size in each:
            arrays.append(np.frombuffer(body, size[0], size[1], start) if size else None)
            start += arrays[-1].nbytes if size else 0
        ids, roles, offsets, words, lengths, cut = arrays
        contexts = None if lengths is None else Contexts(lengths, cut)
        found.append(TokenRows(ids, roles, offsets, words, contexts))
    return found


def write_frame(pipe: IO[bytes], value: Any, body: bytes | bytearray = b"") -> None:
    """Send JSON and bytes. Raises OSError or ValueError where the pipe is closed."""
    data = json.dumps(value).encode()
    for part in (_LENGTHS.pack(len(data), len(body)), data, body):
        pipe.write(part)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Frame:
    """The next JSON and bytes. Raises EOFError where the pipe ends before they are complete."""
    lengths = _LENGTHS.unpack(_read(pipe, _LENGTHS.size))
    data, body = (_read(pipe, length) for length in lengths)
    return json.loads(data), body


def _read(pipe: IO[bytes], length: int) -> bytearray:
    data = bytearray(length)  # arrays of it can be written
    filled = 0
    while filled < length:
        count = pipe.readinto(memoryview(data)[filled:])  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        filled += count
    return data


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer each request with its rows, or null where a statement cannot be taken: who asked will say why."""
    try:
        model = Served(**read_frame(requests)[0]).as_model()
        while True:
            request = Request.from_json(read_frame(requests)[0])
            write_frame(answers, *_answer(request, model))
    except (EOFError, OSError):  # who asked has ended
        return


def _answer(request: Request, model: Any) -> Frame:
    try:
        return as_frame(request.rows(model))
    except Exception:  # noqa: BLE001 - whatever it is, it is raised again where it can be explained
        return None, bytearray()


def main() -> None:
    """Serve standard input. Only its end ends the process: an interrupt is for the run, which finishes its group."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints may stand among the answers
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
