"""Which beginnings several prompts share, so that each is forwarded once: a tree of beginnings, cut where it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Ids = tuple[int, ...]

LEAST_SHARED = 16  # tokens; a shorter stretch costs more in passes of its own than it saves


@dataclass(frozen=True, slots=True)
class Head:
    """A beginning that several prompts share."""

    ids: Ids  # from the first token on
    parent: int  # the head that it continues, by its place in the list; -1: none
    level: int  # heads before it on the way: 0 where it has no parent


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """Heads, parents before children, and the head of each prompt."""

    heads: tuple[Head, ...]
    head_of: tuple[int, ...]  # [prompts] place of its longest head; -1: none

    def shared(self, prompt: int) -> int:
        """Tokens of that prompt that its head has already."""
        return self.length(self.head_of[prompt])

    def length(self, head: int) -> int:
        """Tokens of a head; 0 of none (-1)."""
        return len(self.heads[head].ids) if head >= 0 else 0


def plan_sharing(prompts: Sequence[Ids], least: int = LEAST_SHARED) -> SharedPlan:
    """The beginnings that two or more of the distinct `prompts` share and that are `least` tokens longer than the last.

    The last token of a prompt is never in a head: what follows it is to be computed for each prompt.

    >>> plan = plan_sharing([(1, 2, 3, 4), (1, 2, 3, 5), (9,)], least=2)
    >>> plan.heads, plan.head_of
    ((Head(ids=(1, 2, 3), parent=-1, level=0),), (0, 0, -1))
    """
    order = sorted(range(len(prompts)), key=lambda place: prompts[place])
    heads: list[Head] = []
    head_of = [-1] * len(prompts)
    groups = [(order, 0, -1)]  # prompts in order, tokens that they are known to share, their head so far
    while groups:
        members, n_shared, head = groups.pop()
        if len(members) < 2:
            for place in members:
                head_of[place] = head
            continue
        shared = shared_tokens(prompts[members[0]], prompts[members[-1]], n_shared)
        start = len(heads[head].ids) if head >= 0 else 0
        length = min(shared, len(prompts[members[0]]) - 1)
        if length - start >= least:
            level = heads[head].level + 1 if head >= 0 else 0
            heads.append(Head(prompts[members[0]][:length], head, level))
            head = len(heads) - 1
        ended = [place for place in members if len(prompts[place]) == shared]
        for place in ended:
            head_of[place] = head
        groups += [(group, shared + 1, head) for group in _split(prompts, members[len(ended) :], shared)]
    return SharedPlan(tuple(heads), tuple(head_of))


def shared_tokens(first: Ids, last: Ids, known: int = 0) -> int:
    """Tokens that both begin with, `known` of them for certain; in sorted order all between share them too."""
    end = min(len(first), len(last))
    place = known
    while place < end and first[place] == last[place]:
        place += 1
    return place


def _split(prompts: Sequence[Ids], members: Sequence[int], at: int) -> list[list[int]]:
    """Neighbours with one token at that place together."""
    groups: list[list[int]] = []
    for place in members:
        if groups and prompts[groups[-1][-1]][at] == prompts[place][at]:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups
