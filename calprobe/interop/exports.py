"""A run's scores as flat tables. Columns, their order and their types are a contract that scripts depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa

from calprobe.errors import CalprobeError
from calprobe.interop.answer_texts import AnswerTexts
from calprobe.runs.run import Run
from calprobe.runs.score_records import ROLE_NAMES, piece_to_arrow
from calprobe.words import Reduction

if TYPE_CHECKING:
    import pandas as pd

_PLACE = [("relation", pa.string()), ("template", pa.int32()), ("instance", pa.int32()), ("candidate", pa.int32())]
CANDIDATES = pa.schema(
    [*_PLACE, ("answer_idx", pa.int32())]
    + [(name, pa.float64()) for name in (*get_args(Reduction), "first")]
    + [("first_role", pa.string())]
)
TOKENS = pa.schema(
    [*_PLACE, ("position", pa.int32()), ("token", pa.string()), ("role", pa.string()), ("logprob", pa.float32())]
)


# What --labels adds at the end.
CANDIDATE_LABELS = tuple((name, pa.string()) for name in ("subject", "label", "answer", "statement"))
CONFIDENCE_LABELS = ("subject", "answer", "predicted")


def candidate_tables(run: Run) -> Iterator[pa.Table]:
    """The `candidates` export, a table of CANDIDATES for each complete piece, in the order of the export."""
    for piece in run.pieces:
        yield piece_to_arrow(piece).select(CANDIDATES.names)


def labelled_schema(schema: pa.Schema) -> pa.Schema:
    """CANDIDATES with the columns of `with_candidate_labels`."""
    return pa.schema([*schema, *(pa.field(name, kind) for name, kind in CANDIDATE_LABELS)])


def with_candidate_labels(tables: Iterable[pa.Table], texts: AnswerTexts) -> Iterator[pa.Table]:
    """Tables of CANDIDATES with subject, label (of the candidate), answer (the right label) and statement."""
    for table in tables:
        names = ("relation", "instance", "candidate", "answer_idx", "template")
        columns: list[list[str | None]] = [[], [], [], []]
        for relation, instance, place, answer, template in zip(
            *(table[name].to_pylist() for name in names), strict=True
        ):
            columns[0].append(texts.subject(relation, instance))
            columns[1].append(texts.label(relation, instance, place))
            columns[2].append(texts.label(relation, instance, answer))
            columns[3].append(texts.statement(relation, instance, place, template))
        for (name, kind), column in zip(CANDIDATE_LABELS, columns, strict=True):
            table = table.append_column(name, pa.array(column, kind))
        yield table


def with_confidence_labels(frame: pd.DataFrame, run: Run, texts: AnswerTexts) -> pd.DataFrame:
    """A frame of `calprobe.confidences` with subject, answer (the right label) and predicted (None where failed)."""
    answers = {
        (piece.relation, instance): answer
        for piece in run.pieces
        for instance, answer in zip(piece.instance.tolist(), piece.answer_idx.tolist(), strict=True)
    }
    named = list(zip(frame["relation"].tolist(), frame["instance"].tolist(), strict=True))
    labelled = frame.copy()
    labelled["subject"] = [texts.subject(*key) for key in named]
    labelled["answer"] = [texts.label(*key, answers[key]) for key in named]
    labelled["predicted"] = [
        texts.label(*key, place) for key, place in zip(named, frame["prediction"].tolist(), strict=True)
    ]
    return labelled


def token_tables(run: Run) -> Iterator[pa.Table]:
    """The `tokens` export, a table of TOKENS for each complete piece; positions count from 0 within a statement.

    Raises CalprobeError if the run was scored without --save-tokens.
    """
    if not run.manifest.settings.save_tokens:
        if run.manifest.is_import:
            raise CalprobeError(f"{run.path}: an import has no token scores; score the probe with --save-tokens")
        raise CalprobeError(f"{run.path}: the run has no token scores; score it again with --save-tokens")
    for piece in run.pieces:
        tokens = run.read_tokens(piece)
        lengths = np.diff(tokens.offsets)
        position = np.arange(len(tokens.roles)) - np.repeat(tokens.offsets[:-1], lengths)
        columns = [
            pa.repeat(pa.scalar(piece.relation), len(position)),
            pa.repeat(pa.scalar(piece.template, pa.int32()), len(position)),
            pa.array(np.repeat(piece.instance, lengths)),
            pa.array(np.repeat(piece.candidate, lengths)),
            pa.array(position.astype(np.int32)),
            pa.array(tokens.tokens, pa.string()),
            ROLE_NAMES.take(pa.array(tokens.roles)),
            pa.array(tokens.logprobs),
        ]
        yield pa.Table.from_arrays(columns, schema=TOKENS)
