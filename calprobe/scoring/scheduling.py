"""Which pieces are scored together, in which order, and which of them belong to a shard."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from calprobe.probes import Relation
from calprobe.probes.types import ANSWER_SLOT, SUBJECT_SLOT
from calprobe.runs.records import Piece
from calprobe.scoring.growth import Part
from calprobe.scoring.options import OVER_TREE, parse_shard
from calprobe.scoring.probe_selection import Selection

Group = tuple[Piece, ...]


@dataclass(frozen=True)
class Schedule:
    """The groups of pieces that a run, or one shard of it, scores; they depend only on these fields.

    A group has pieces of one template and of one request, so that a piece has the same neighbours in its batches, and
    the same last bits, whatever other templates the run has or gets. Shards consist of complete groups.
    """

    selection: Selection
    order: tuple[Piece, ...]  # all pieces of the complete run, in the order of scoring
    path: str
    batch_tokens: int  # at the start of the run: smaller batches later must not change the groups
    shard: str | None = None  # I/N; None: everything
    added: Mapping[Piece, Part] | None = None  # of a run that has grown, the part of each piece that was added last
    across_templates: bool = False  # groups as earlier versions formed them, for the runs that these began
    least: int | None = None  # statements of a group, as the manifest has them; None: those of a new run

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups of the run, or of the shard, in the run's order."""
        least = self.least or least_statements(self.path, self.batch_tokens)
        if self.across_templates:
            every = tuple(groups_of(self._n_statements, least))
        else:
            place = {piece: number for number, piece in enumerate(self.order)}
            groups = chain.from_iterable(groups_of(same, least) for same in self._alike)
            every = tuple(sorted(groups, key=lambda group: place[group[0]]))  # relations are complete early
        if self.shard is None:
            return every
        shard = parse_shard(self.shard)
        return tuple(every[place] for place in deal(self._costs(every), shard.count)[shard.number - 1])

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of all groups, in order."""
        return [piece for group in self.groups for piece in group]

    def longest_first(self, groups: Sequence[Group]) -> list[Group]:
        """The groups from the highest estimated cost to the lowest, so that the last ones are short."""
        return [groups[place] for place in longest_first(self._costs(groups))]

    def n_statements(self, groups: Iterable[Group]) -> int:
        """Statements in the groups."""
        return sum(self._n_statements[piece] for group in groups for piece in group)

    def relation(self, piece: Piece) -> Relation:
        """The piece's relation with the instances that are scored together."""
        return self.selection.relation(piece.relation) if self.added is None else self.added[piece].relation

    @cached_property
    def _n_statements(self) -> dict[Piece, int]:
        return {piece: self.relation(piece).n_statements for piece in self.order}

    @property
    def _alike(self) -> Iterable[dict[Piece, int]]:
        """The statements of the pieces of each template and request, in order."""
        found: dict[tuple[int, int], dict[Piece, int]] = {}
        for piece, count in self._n_statements.items():
            request = 0 if self.added is None else self.added[piece].request
            found.setdefault((request, piece.template), {})[piece] = count
        return found.values()

    def _costs(self, groups: Sequence[Group]) -> list[float]:
        chosen = self.selection
        return [
            sum(piece_cost(self.relation(piece), chosen.text(*piece), self.path) for piece in group) for group in groups
        ]


def groups_of(n_statements: Mapping[Piece, int], at_least: int) -> Iterator[Group]:
    """Cut the pieces of a run, in order, into groups of `at_least` statements or more; the last may have fewer.

    A batch decides the last bits of a score, so the groups must not depend on how much of the run is already scored:
    they depend only on the complete run's pieces.

    Args:
        n_statements: of each piece of the complete run, in the order of scoring.
        at_least: statements in a group.
    """
    group: list[Piece] = []
    statements = 0
    for piece, count in n_statements.items():
        group.append(piece)
        statements += count
        if statements >= at_least:
            yield tuple(group)
            group, statements = [], 0
    if group:
        yield tuple(group)


def least_statements(path: str, batch_tokens: int) -> int:
    """Statements in a group of a new run: on the tree paths one large batch, so that several cards share a template.

    A large batch is filled by a third as many statements, since a prefix tree has about three nodes for a statement of
    BEAR. Shards have the groups of the complete run, else their scores would differ from its own in the last bits.

    >>> [least_statements("tree", batch_tokens) for batch_tokens in (64, 1024, 32768)]
    [64, 1024, 10922]
    """
    if path in OVER_TREE:
        return min(batch_tokens, max(_LEAST_STATEMENTS, batch_tokens // 3))
    return former_least_statements(path, batch_tokens)


def former_least_statements(path: str, batch_tokens: int) -> int:
    """Statements in a group of a run that does not record them: a few batches, of which all but the last are full.

    Padded and plain rows have about ten tokens, and a masked model forwards one such row for each of them.

    >>> former_least_statements("tree", 32768), former_least_statements("padded", 1024)
    (32768, 64)
    """
    return batch_tokens if path in OVER_TREE else max(1, batch_tokens // 16)


# In a group of the tree path, where the budget is larger: smaller groups have too many batches that are not full.
_LEAST_STATEMENTS = 1024


def incomplete(groups: Iterable[Group], missing: Iterable[Piece]) -> list[Group]:
    """The groups with a piece in `missing`."""
    wanted = set(missing)
    return [group for group in groups if wanted.intersection(group)]


def longest_first(costs: Sequence[float]) -> list[int]:
    """Places of the costs, [parts] >= 0, from the largest to the smallest; equal ones in order.

    >>> longest_first([1.0, 3.0, 1.0, 2.0])
    [1, 3, 0, 2]
    """
    return sorted(range(len(costs)), key=lambda place: -costs[place])


def deal(costs: Sequence[float], n_shares: int) -> tuple[tuple[int, ...], ...]:
    """Divide parts into shares: the longest first, each to the share with the lowest cost, the first of equal ones.

    No share costs more than 4/3 of the best possible largest one (Graham 1969, "Bounds on multiprocessing timing
    anomalies"). A share may be empty.

    Args:
        costs: of each part, [parts], >= 0.
        n_shares: 1 or more.
    Returns:
        places of the parts of each share, ascending: every place in exactly one share.

    >>> deal([2.0, 3.0, 3.0, 1.0], 2)
    ((0, 1), (2, 3))
    """
    shares: list[list[int]] = [[] for _ in range(n_shares)]
    least = [(0.0, share) for share in range(n_shares)]
    for place in longest_first(costs):
        load, share = heapq.heappop(least)
        shares[share].append(place)
        heapq.heappush(least, (load + costs[place], share))
    return tuple(tuple(sorted(share)) for share in shares)


def piece_cost(relation: Relation, template: str, path: str) -> float:
    """Estimated cost of a relation under one template: in characters that go through the model, >= 0.

    On the tree path, a shared beginning of statements counts once: context and subject if the subject comes first, else
    the candidate. On the padded and the plain path every statement counts completely. A masked model forwards a
    statement once for each of its tokens, so its length counts squared.

    A pure function of texts and path, so that every machine divides the run in the same way.

    >>> from calprobe.probes import Instance
    >>> relation = Relation("P30", ("Asia", "Africa"), (Instance(0, "Ghana", 1), Instance(1, "Iran", 0)))
    >>> [piece_cost(relation, "[X] is in [Y].", path) for path in ("tree", "padded", "masked")]
    [47.0, 70.0, 1230.0]
    """
    subjects = np.array([len(instance.subject) for instance in relation.instances], np.float64)
    answers = np.array(  # [instances, candidates], or one row for all where they share their candidates
        [[len(text) for text in texts] for texts in _answer_spaces(relation)], np.float64
    ).reshape(-1, relation.n_candidates)
    if not relation.n_statements:
        return 0.0
    around = len(template) - len(SUBJECT_SLOT) - len(ANSWER_SLOT)
    if path in OVER_TREE:
        return _tree_cost(template, subjects, answers, relation.n_candidates)
    lengths = around + subjects[:, None] + answers
    return float((lengths**2 if path == "masked" else lengths).sum())


def _tree_cost(template: str, subjects: np.ndarray, answers: np.ndarray, n_candidates: int) -> float:
    subject_at, answer_at = template.index(SUBJECT_SLOT), template.index(ANSWER_SLOT)
    if subject_at < answer_at:
        before = answer_at - len(SUBJECT_SLOT)
        after = len(template) - answer_at - len(ANSWER_SLOT)
        return float((before + subjects).sum() + (after + answers).sum() * len(subjects) / len(answers))
    before = subject_at - len(ANSWER_SLOT)
    after = len(template) - subject_at - len(SUBJECT_SLOT)
    return float((before + answers).sum() + n_candidates * (after + subjects).sum())


def _answer_spaces(relation: Relation) -> list[tuple[str, ...]]:
    if all(instance.candidates is None for instance in relation.instances):
        return [relation.candidates]
    return [relation.candidates_of(instance) for instance in relation.instances]
