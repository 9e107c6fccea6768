"""What part of a probe a run has: relations, each under every template, with the same choice of instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from calprobe.runs.records import Piece


@dataclass(frozen=True, slots=True)
class Extent:
    """Relations times templates times instances. Runs grow from one extent to a larger one."""

    relations: tuple[str, ...]
    templates: tuple[int, ...]  # their numbers
    limit: int | None = None  # instances of each relation at most; None: all
    sample_seed: int | None = None  # of the sample that `limit` takes; None: it takes the first instances

    def has(self, piece: Piece) -> bool:
        """Whether the relation and the template are among its own."""
        return piece.template in self.templates and piece.relation in self.relations

    def same_instances(self, other: Self) -> bool:
        """Whether both take the same instances of a relation."""
        return self.limit == other.limit and (self.limit is None or self.sample_seed == other.sample_seed)

    def has_instances(self, other: Self) -> bool:
        """Whether it takes all instances of a relation that the other takes, as far as the limits tell.

        All instances have each sample and the first ones; a larger sample of one seed has a smaller one.

        >>> small, large = (Extent(("P36",), (0,), limit, sample_seed=0) for limit in (5, 10))
        >>> large.has_instances(small), small.has_instances(large)
        (True, False)
        """
        if self.limit is None or other.limit is None:
            return self.limit is None
        return self.sample_seed == other.sample_seed and self.limit >= other.limit

    def covers(self, other: Self) -> bool:
        """Whether it has all that the other has."""
        return (
            set(other.relations) <= set(self.relations)
            and set(other.templates) <= set(self.templates)
            and self.has_instances(other)
        )

    def joined(self, other: Self) -> Self | None:
        """The extent of all that either has; None if it had more, since each relation is under every template.

        >>> Extent(("P36",), (0,)).joined(Extent(("P36",), (1, 2)))
        Extent(relations=('P36',), templates=(0, 1, 2), limit=None, sample_seed=None)
        >>> Extent(("P36", "P30"), (0,)).joined(Extent(("P36",), (0, 1)))
        """
        if self.covers(other):
            return self
        if other.covers(self):
            return other
        agreements = (
            set(self.relations) == set(other.relations),
            set(self.templates) == set(other.templates),
            self.same_instances(other),
        )
        if sum(agreements) < 2 or not agreements[2]:
            return None
        relations = tuple(dict.fromkeys((*self.relations, *other.relations)))
        templates = tuple(sorted({*self.templates, *other.templates}))
        return type(self)(relations, templates, self.limit, self.sample_seed)
