"""A run's scores as flat tables. Columns, their order and their types are a contract that scripts depend on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import pyarrow as pa

from calprobe.errors import CalprobeError
from calprobe.runs.run import Run
from calprobe.runs.score_records import ROLE_NAMES, piece_to_arrow
from calprobe.words import Reduction

_PLACE = [("relation", pa.string()), ("template", pa.int32()), ("instance", pa.int32()), ("candidate", pa.int32())]
CANDIDATES = pa.schema(
    [*_PLACE, ("answer_idx", pa.int32())]
    + [(name, pa.float64()) for name in (*get_args(Reduction), "first")]
    + [("first_role", pa.string())]
)
TOKENS = pa.schema(
    [*_PLACE, ("position", pa.int32()), ("token", pa.string()), ("role", pa.string()), ("logprob", pa.float32())]
)


def candidate_tables(run: Run) -> Iterator[pa.Table]:
    """The `candidates` export, a table of CANDIDATES for each whole piece, in the order of the export."""
    for piece in run.pieces:
        yield piece_to_arrow(piece).select(CANDIDATES.names)


def candidates(run: Run) -> pa.Table:
    """The `candidates` export as one table, sorted by relation (plain strings), template, instance, candidate.

    What an import cannot know is null, and so is `first_role` of a statement without scored tokens; its means and
    `first` are NaN.
    """
    return pa.concat_tables([CANDIDATES.empty_table(), *candidate_tables(run)]).combine_chunks()


def token_tables(run: Run) -> Iterator[pa.Table]:
    """The `tokens` export, a table of TOKENS for each whole piece; positions count from 0 within a statement.

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
