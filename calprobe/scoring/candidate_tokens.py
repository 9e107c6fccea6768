"""Candidates as a model's tokenizer reads them: those that it cannot tell apart, and those that it drops."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import get_args

import numpy as np

from calprobe.errors import CalprobeError, StatementError
from calprobe.messages import counted
from calprobe.models import LoadedModel, tokenise
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Relation
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scored_pieces import named_fault
from calprobe.statements import statements_of
from calprobe.words import Role, Scored

log = logging.getLogger(__name__)

_NAMED = 3  # relations that a warning names, and groups of each


@dataclass(frozen=True, slots=True)
class SameTokens:
    """Candidates of one relation that are the same tokens as another of their answer space."""

    groups: tuple[tuple[str, ...], ...]  # of two or more each

    @property
    def count(self) -> int:
        """Candidates in the groups."""
        return sum(map(len, self.groups))


def same_tokens(model: LoadedModel, selection: Selection) -> Mapping[str, SameTokens]:
    """By relation: the candidates that make equal tokens with the same subject, and so have equal scores.

    The candidates of a relation are looked at with its first subject, under each selected template (the template with
    most such candidates counts); candidates of the instances' own all, without their contexts.

    Raises CalprobeError for a candidate that has no token of its own: its statement is shorter than the others, and its
    score over the answer's tokens is 0, so that it would always be the prediction. Raises too if a statement does not
    fit the model.
    """
    found: dict[str, SameTokens] = {}
    for scored in get_args(Scored):
        parts = [_without_subjects(r) for r in selection.relations if r.scored == scored and r.instances]
        for relation, number, rows in _tokenised(parts, selection, model, scored):
            same = _same(relation, number, rows)
            found[relation.name] = max(found.get(relation.name, same), same, key=lambda same: same.count)
    return found


def warn_of_same_tokens(found: Mapping[str, SameTokens]) -> None:
    """Log one warning that names candidates with the same tokens, if there are any."""
    same = {relation: groups for relation, groups in found.items() if groups.count}
    if not same:
        return
    total = counted(sum(groups.count for groups in same.values()), "candidate")
    few = [f"of {name!r} {_named(groups)}" for name, groups in list(same.items())[:_NAMED]]
    more = f"; and in {counted(len(same) - _NAMED, 'more relation')}" if len(same) > _NAMED else ""
    log.warning("%s have the same tokens as another, so their scores are equal: %s%s", total, "; ".join(few), more)


def _named(same: SameTokens) -> str:
    few = " and ".join(", ".join(map(repr, group[: 2 * _NAMED])) for group in same.groups[:_NAMED])
    return few + (" .." if len(same.groups) > _NAMED else "")


def _tokenised(
    relations: Sequence[Relation], selection: Selection, model: LoadedModel, scored: Scored
) -> Iterator[tuple[Relation, int, TokenRows]]:
    """The tokens of each relation under each template; all are tokenised at once, since a call takes milliseconds."""
    pieces = [(relation, number) for relation in relations for number in selection.numbers]
    filled = [statements_of(relation, selection.text(relation.name, number)) for relation, number in pieces]
    ends = np.cumsum([0] + [len(statements) for statements in filled]).tolist()
    try:
        rows = tokenise(list(chain.from_iterable(filled)), model, scored=scored)
    except StatementError as error:
        place = bisect_right(ends, error.statement) - 1
        raise named_fault(*pieces[place], StatementError(error.statement - ends[place], error.what)) from error
    for (relation, number), bounds in zip(pieces, pairwise(ends), strict=True):
        yield relation, number, rows.part(*bounds)


def _same(relation: Relation, number: int, rows: TokenRows) -> SameTokens:
    candidates = [label for instance in relation.instances for label in relation.candidates_of(instance)]
    _refuse_dropped(candidates, rows, f"{relation.name}, template {number}")
    groups: dict[tuple[int, bytes], list[str]] = {}
    for place, (label, tokens) in enumerate(zip(candidates, _tokens_of(rows), strict=True)):
        groups.setdefault((place // relation.n_candidates, tokens), []).append(label)
    return SameTokens(tuple(tuple(group) for group in groups.values() if len(group) > 1))


def _without_subjects(relation: Relation) -> Relation:
    """The first instance; of answer spaces of the instances' own all, with empty contexts."""
    if all(instance.candidates is None for instance in relation.instances):
        return replace(relation, instances=relation.instances[:1])
    return replace(relation, instances=tuple(replace(instance, subject="") for instance in relation.instances))


def _tokens_of(rows: TokenRows) -> Iterator[bytes]:
    """The tokens of each statement."""
    for start, end in zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True):
        yield rows.token_ids[start:end].tobytes()


def _refuse_dropped(candidates: Sequence[str], rows: TokenRows, where: str) -> None:
    of_answer = np.diff(np.append(0, np.cumsum(rows.roles == Role.ANSWER))[rows.offsets])
    if len(dropped := np.flatnonzero(of_answer == 0)):
        label = candidates[dropped[0]]
        raise CalprobeError(
            f"{where}: candidate {label!r} has no token of its own in this tokenizer, which drops its characters\n"
            "it would always win: remove it from the answer space, or use another model"
        )
