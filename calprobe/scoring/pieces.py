"""One piece, one relation under one template, from its statements to the scores that go into the run folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from calprobe.errors import CalprobeError
from calprobe.kernels import segment_reduce
from calprobe.models import LoadedModel, tokenise
from calprobe.probes import Relation
from calprobe.runs import PieceScores, PieceTokens
from calprobe.scoring.executor import Executor
from calprobe.scoring.options import NOTHING_MASKED, Masking
from calprobe.statements import Template, TokenRows, statements_of


@dataclass(frozen=True, slots=True)
class PreparedPiece:
    """A piece that is ready to run: tokenised and planned."""

    relation: Relation
    number: int  # of the template
    rows: TokenRows
    plan: Any  # the executor's


def prepare_piece(
    relation: Relation,
    template: Template,
    model: LoadedModel,
    executor: Executor,
    masking: Masking = NOTHING_MASKED,
) -> PreparedPiece:
    """Fill, tokenise and plan every instance of `relation` with every candidate under `template`.

    `masking` is a masked model's. Raises CalprobeError if a statement does not fit the model (its tokens, its length).
    """
    try:
        rows = tokenise(statements_of(relation, template.text), model, masking.word_split)
    except CalprobeError as error:
        raise CalprobeError(f"{relation.name}, template {template.number}: {error}") from error
    return PreparedPiece(relation, template.number, rows, executor.plan(rows))


def score_piece(piece: PreparedPiece, model: LoadedModel, executor: Executor, save_tokens: bool = False) -> PieceScores:
    """Run the piece and reduce its token scores."""
    logprobs = executor.run(piece.plan)
    tokens = _tokens(piece.rows, logprobs, model) if save_tokens else None
    return _reduced(piece.relation, piece.number, piece.rows, logprobs, tokens)


def _reduced(
    relation: Relation,
    number: int,
    rows: TokenRows,
    logprobs: npt.NDArray[np.float32],
    tokens: PieceTokens | None,
) -> PieceScores:
    """Reductions of every statement, instance-major, candidate-minor."""
    reduced = segment_reduce(torch.from_numpy(logprobs), torch.from_numpy(rows.roles), torch.from_numpy(rows.offsets))
    n_tokens, n_answer = reduced.n_tokens.numpy(), reduced.n_answer.numpy()
    instances, candidates = len(relation.instances), len(relation.candidates)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN that is meant
        mean, mean_answer = reduced.sum.numpy() / n_tokens, reduced.sum_answer.numpy() / n_answer
    return PieceScores(
        relation=relation.name,
        template=number,
        instance=np.repeat(np.array([i.index for i in relation.instances], np.int32), candidates),
        candidate=np.tile(np.arange(candidates, dtype=np.int32), instances),
        answer_idx=np.repeat(np.array([i.answer_idx for i in relation.instances], np.int32), candidates),
        sum=reduced.sum.numpy(),
        mean=mean,
        sum_answer=reduced.sum_answer.numpy(),
        mean_answer=mean_answer,
        first=reduced.first.numpy(),
        first_role=reduced.first_role.numpy(),
        n_tokens=n_tokens.astype(np.int32),
        n_answer=n_answer.astype(np.int32),
        tokens=tokens,
    )


def _tokens(rows: TokenRows, logprobs: npt.NDArray[np.float32], model: LoadedModel) -> PieceTokens:
    names = model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    return PieceTokens(names, rows.roles, logprobs, rows.offsets)
