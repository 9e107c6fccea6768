"""Pieces, one relation under one template each, from their statements to the scores in the run folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from calprobe.errors import CalprobeError, StatementError
from calprobe.kernels import StatementScores, gather_reduce
from calprobe.messages import shortened
from calprobe.models import LoadedModel, tokenise
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Relation
from calprobe.runs import PieceScores, PieceTokens
from calprobe.scoring.executor import Executor, uploaded
from calprobe.scoring.options import NOTHING_MASKED, Masking
from calprobe.scoring.score_progress import Advance
from calprobe.statements import Template, statements_of

_BETWEEN_COUNTS_S = 0.5
# Tokens that are planned and run at once for long texts (FACTOR): about ten batches on a CPU, so that progress is
# visible and a plan stays small.
_STRETCH = 2**15


# The token rows of each piece, where another process makes them; else None.
Elsewhere = Callable[[Sequence[tuple[Relation, Template]]], Sequence[TokenRows] | None]


@dataclass(frozen=True, slots=True)
class TokenisedPiece:
    """Every instance of a relation with every candidate under one template, as tokens."""

    relation: Relation
    number: int  # of the template
    rows: TokenRows

    @property
    def shown(self) -> str:
        """Its name in messages: `P30, template 0`."""
        return f"{self.relation.name}, template {self.number}"

    @property
    def cut_contexts(self) -> int:
        """Instances with a context too long for the model, cut from the left."""
        if self.rows.contexts is None:
            return 0
        return int((self.rows.contexts.cut > 0).reshape(-1, self.relation.n_candidates).any(axis=1).sum())


class PlannedStretch(NamedTuple):
    """Statements of a group, one after another, that are run at once."""

    plan: Any  # the executor's
    roles: npt.NDArray[np.int8]  # [scored tokens], values of Role
    offsets: npt.NDArray[np.int64]  # [statements + 1] into the scored tokens

    @classmethod
    def of(cls, rows: TokenRows, executor: Executor) -> PlannedStretch:
        """Those statements, planned for that executor."""
        scored = rows.scored
        return cls(executor.plan(rows), scored.roles, scored.offsets)

    @property
    def n_statements(self) -> int:
        """Number of statements."""
        return len(self.offsets) - 1

    @property
    def n_scored(self) -> int:
        """Number of scored tokens."""
        return len(self.roles)


class LongestStatement(NamedTuple):
    """The statement of a group that has most tokens."""

    shown: str  # name in messages: `P30, template 0, instance 2`
    n_tokens: int


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """Pieces that are ready to run together: tokenised, and planned as one, or in stretches where texts are long."""

    pieces: tuple[TokenisedPiece, ...]
    plans: tuple[PlannedStretch, ...]
    executor: Executor | None  # that the plans are for

    @property
    def shown(self) -> str:
        """Its name in messages: its piece, or its first and last piece."""
        first, last = self.pieces[0].shown, self.pieces[-1].shown
        return first if len(self.pieces) == 1 else f"{first} to {last}"

    @property
    def relations(self) -> str:
        """The relation of its pieces, or the first and the last: P30 to P36."""
        first, last = self.pieces[0].relation.name, self.pieces[-1].relation.name
        return first if first == last else f"{first} to {last}"

    @property
    def longest(self) -> LongestStatement:
        """Its longest statement."""
        return longest_of(self.pieces)


def longest_of(pieces: Sequence[TokenisedPiece]) -> LongestStatement:
    """The first of the statements that have most tokens, contexts included."""
    piece = max(pieces, key=lambda piece: piece.rows.lengths.max(initial=0))
    statement = int(piece.rows.lengths.argmax()) if piece.rows.n_statements else 0
    instances = piece.relation.instances
    named = f", instance {instances[statement // piece.relation.n_candidates].index}" if instances else ""
    return LongestStatement(f"{piece.shown}{named}", int(piece.rows.lengths.max(initial=0)))


def prepare_group(
    pieces: Iterable[tuple[Relation, Template]],
    model: LoadedModel,
    executor: Executor,
    masking: Masking = NOTHING_MASKED,
    elsewhere: Elsewhere | None = None,
) -> PreparedGroup:
    """Fill and tokenise each piece, and plan all of them together.

    `masking` is a masked model's; `elsewhere` may give the tokens of the pieces, as they would be here. Raises
    CalprobeError if a statement does not fit the model (tokens or length).
    """
    pieces = list(pieces)
    rows = elsewhere and elsewhere(pieces)
    if rows is None:
        tokenised = tokenise_pieces(pieces, model, masking)
    else:
        tokenised = tuple(
            TokenisedPiece(relation, template.number, own)
            for (relation, template), own in zip(pieces, rows, strict=True)
        )
    return PreparedGroup(tokenised, _plans(tokenised, executor), executor)


def planned_again(group: PreparedGroup, executor: Executor) -> PreparedGroup:
    """The group with plans for that executor; unchanged if they are."""
    if group.executor is executor:
        return group
    return replace(group, plans=_plans(group.pieces, executor), executor=executor)


def _plans(tokenised: tuple[TokenisedPiece, ...], executor: Executor) -> tuple[PlannedStretch, ...]:
    rows = TokenRows.joined([piece.rows for piece in tokenised])
    parts = [rows] if rows.contexts is None else _stretches(rows, tokenised[0].relation.n_candidates)
    return tuple(PlannedStretch.of(part, executor) for part in parts)


def _stretches(rows: TokenRows, together: int) -> list[TokenRows]:
    """Parts of about `_STRETCH` tokens; `together` statements that share a context stay together."""
    starts = np.append(np.arange(0, rows.n_statements, together), rows.n_statements)
    wanted = np.arange(0, rows.offsets[-1], _STRETCH)
    cuts = [*np.unique(starts[np.searchsorted(rows.offsets[starts], wanted)]).tolist(), rows.n_statements]
    return [rows.part(*bounds) for bounds in pairwise(cuts) if bounds[0] < bounds[1]]


def tokenise_pieces(
    pieces: Iterable[tuple[Relation, Template]], model: LoadedModel, masking: Masking = NOTHING_MASKED
) -> tuple[TokenisedPiece, ...]:
    """Fill and tokenise each piece. Raises CalprobeError if a statement does not fit the model; names its instance."""
    return tuple(_tokenised(relation, template, model, masking) for relation, template in pieces)


def named_fault(relation: Relation, number: int, error: StatementError) -> CalprobeError:
    """The error of one of a piece's statements, instance-major and candidate-minor, by its instance and candidate."""
    place, candidate = divmod(error.statement, relation.n_candidates)
    instance = relation.instances[place]
    label = shortened(relation.candidates_of(instance)[candidate], 40)
    where = f"{relation.name}, template {number}, instance {instance.index}, candidate {label!r}"
    return CalprobeError(f"{where}: statement {error.what}")


def score_group(
    group: PreparedGroup,
    model: LoadedModel,
    executor: Executor,
    save_tokens: bool = False,
    advance: Advance = lambda statements, tokens: None,
) -> Iterator[PieceScores]:
    """Run the group and reduce the scores of its tokens to those of its statements, piece by piece, in order.

    Both happen on the device of the scores: only arrays [statements] are copied, once for each group, and token scores
    only if they are saved. `advance` is called after batches, at most twice a second, and after each stretch.
    """
    reduced, of_tokens = [], []
    for stretch in group.plans:
        counting = _Counting(stretch, advance)
        scores = executor.run(stretch.plan, counting.after_batch)
        roles, offsets = uploaded((stretch.roles, stretch.offsets), scores.logprobs.device)
        reduced.append(gather_reduce(*scores, roles, offsets))
        if save_tokens:
            of_tokens.append(scores.of_tokens())
        counting.finish()
    columns = [torch.cat(parts).cpu() for parts in zip(*reduced, strict=True)]
    each = [piece.rows.scored for piece in group.pieces]
    n_statements, n_tokens = [rows.n_statements for rows in each], [len(rows.token_ids) for rows in each]
    logprobs = torch.split(torch.cat(of_tokens).cpu(), n_tokens) if save_tokens else [None] * len(each)
    statements = zip(*(torch.split(column, n_statements) for column in columns), strict=True)
    for piece, rows, own, own_tokens in zip(group.pieces, each, statements, logprobs, strict=True):
        tokens = None if own_tokens is None else _tokens(rows, own_tokens.numpy(), model)
        yield _piece_scores(piece, StatementScores(*own), tokens)


class _Counting:
    """Counts the statements and tokens of a stretch while its batches run; those of a batch are estimated."""

    def __init__(self, stretch: PlannedStretch, advance: Advance) -> None:
        self._stretch, self._advance = stretch, advance
        self._statements = self._tokens = 0
        self._last = time.monotonic()

    def after_batch(self, done: int, of: int) -> None:
        """Count the share `done` of `of` batches, unless less than half a second has passed since the last count."""
        if done < of and time.monotonic() - self._last >= _BETWEEN_COUNTS_S:
            self._count(self._stretch.n_statements * done // of, self._stretch.n_scored * done // of)

    def finish(self) -> None:
        """Count what is left."""
        self._count(self._stretch.n_statements, self._stretch.n_scored)

    def _count(self, statements: int, tokens: int) -> None:
        self._advance(statements - self._statements, tokens - self._tokens)
        self._statements, self._tokens = statements, tokens
        self._last = time.monotonic()


def _tokenised(relation: Relation, template: Template, model: LoadedModel, masking: Masking) -> TokenisedPiece:
    try:
        rows = tokenise(statements_of(relation, template.text), model, masking.word_split, relation.scored)
    except StatementError as error:
        raise named_fault(relation, template.number, error) from error
    return TokenisedPiece(relation, template.number, rows)


def _piece_scores(piece: TokenisedPiece, reduced: StatementScores, tokens: PieceTokens | None) -> PieceScores:
    """Reductions of every statement, instance-major, candidate-minor."""
    relation = piece.relation
    instances, candidates = len(relation.instances), relation.n_candidates
    total, total_answer, n_tokens, n_answer, first, first_role = (column.numpy() for column in reduced)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN on purpose
        mean, mean_answer = total / n_tokens, total_answer / n_answer
    return PieceScores(
        relation=relation.name,
        template=piece.number,
        instance=np.repeat(np.array([i.index for i in relation.instances], np.int32), candidates),
        candidate=np.tile(np.arange(candidates, dtype=np.int32), instances),
        answer_idx=np.repeat(np.array([i.answer_idx for i in relation.instances], np.int32), candidates),
        sum=total,
        mean=mean,
        sum_answer=total_answer,
        mean_answer=mean_answer,
        first=first,
        first_role=first_role,
        n_tokens=n_tokens,
        n_answer=n_answer,
        tokens=tokens,
        cut_contexts=piece.cut_contexts,
    )


def _tokens(rows: TokenRows, logprobs: npt.NDArray[np.float32], model: LoadedModel) -> PieceTokens:
    names = model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    return PieceTokens(names, rows.roles, logprobs, rows.offsets)
