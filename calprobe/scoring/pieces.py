"""Pieces, one relation under one template each, from their statements to the scores that go into the run folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
class TokenisedPiece:
    """Every instance of a relation with every candidate under one template, as tokens."""

    relation: Relation
    number: int  # of the template
    rows: TokenRows

    @property
    def shown(self) -> str:
        """The piece as messages name it: `P30, template 0`."""
        return f"{self.relation.name}, template {self.number}"


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """Pieces that are ready to run together: tokenised, and planned as one."""

    pieces: tuple[TokenisedPiece, ...]
    plan: Any  # the executor's

    @property
    def shown(self) -> str:
        """The group as messages name it: its piece, or its first and its last."""
        first, last = self.pieces[0].shown, self.pieces[-1].shown
        return first if len(self.pieces) == 1 else f"{first} to {last}"


def prepare_group(
    pieces: Iterable[tuple[Relation, Template]],
    model: LoadedModel,
    executor: Executor,
    masking: Masking = NOTHING_MASKED,
) -> PreparedGroup:
    """Fill and tokenise each piece, and plan all of them together.

    `masking` is a masked model's. Raises CalprobeError if a statement does not fit the model (its tokens, its length).
    """
    tokenised = tuple(_tokenised(relation, template, model, masking) for relation, template in pieces)
    return PreparedGroup(tokenised, executor.plan(TokenRows.joined([piece.rows for piece in tokenised])))


def score_group(
    group: PreparedGroup, model: LoadedModel, executor: Executor, save_tokens: bool = False
) -> Iterator[PieceScores]:
    """Run the group and reduce the token scores of each piece, in order."""
    logprobs = executor.run(group.plan)
    ends = np.cumsum([len(piece.rows.token_ids) for piece in group.pieces])
    for piece, own in zip(group.pieces, np.split(logprobs, ends[:-1]), strict=True):
        tokens = _tokens(piece.rows, own, model) if save_tokens else None
        yield _reduced(piece.relation, piece.number, piece.rows, own, tokens)


def _tokenised(relation: Relation, template: Template, model: LoadedModel, masking: Masking) -> TokenisedPiece:
    try:
        rows = tokenise(statements_of(relation, template.text), model, masking.word_split)
    except CalprobeError as error:
        raise CalprobeError(f"{relation.name}, template {template.number}: {error}") from error
    return TokenisedPiece(relation, template.number, rows)


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
