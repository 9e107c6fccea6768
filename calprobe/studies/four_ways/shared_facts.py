"""The facts that all runs have: which they are, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.questions.facts import fact_id

Key = tuple[str, int]  # relation, line number in its file


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a probe, with its texts where they are known."""

    JSON: ClassVar = "id relation instance subject answer"

    relation: str
    instance: int
    subject: str | None
    answer: str | None  # the right one

    @property
    def id(self) -> str:
        """As questions have it, RELATION/INSTANCE."""
        return fact_id(self.relation, self.instance)


@dataclass(frozen=True, slots=True)
class Lacking:
    """How many facts that another run has one does not have, and why."""

    JSON: ClassVar = "run=of reasons"

    of: str  # label of the run, and its variant where it has several
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        """A clause: lacks 12 of them (not scored 10, no reply 2)."""
        listed = ", ".join(f"{reason} {number:,}" for reason, number in self.reasons.items())
        return f"{self.of} lacks {counted(sum(self.reasons.values()), 'fact')} ({listed})"


@dataclass(frozen=True, slots=True)
class Holding:
    """The facts that one side has, and why it lacks others."""

    of: str
    there: frozenset[Key]
    why: Mapping[Key, str]  # of facts that it should have
    otherwise: str  # of all others that it lacks


@dataclass(frozen=True, slots=True)
class Joined:
    """The facts of all sides."""

    keys: tuple[Key, ...]  # sorted by relation, then by line number
    every: int  # facts that any side has
    lacking: tuple[Lacking, ...]


def join(sides: Sequence[Holding]) -> Joined:
    """The facts that all sides have, in the order of scored runs.

    Raises UsageError without any.
    """
    keys = frozenset[Key]().union(*(side.there | side.why.keys() for side in sides))
    common = frozenset.intersection(*(side.there for side in sides))
    if not common:
        raise UsageError(_nothing(sides))
    return Joined(tuple(sorted(common)), len(keys), tuple(_lacking(sides, keys)))


def _lacking(sides: Sequence[Holding], keys: frozenset[Key]) -> Iterator[Lacking]:
    for side in sides:
        reasons = Counter(side.why.get(key, side.otherwise) for key in keys - side.there)
        if reasons:
            yield Lacking(side.of, dict(sorted(reasons.items())))


def _nothing(sides: Sequence[Holding]) -> str:
    most = ", ".join(f"{side.of} has {len(side.there):,}" for side in sides)
    return (
        f"no fact that all runs have: {most}; score and ask the same facts, such as "
        "calprobe score --probe mini, calprobe ask --questions mini --as choice"
    )
