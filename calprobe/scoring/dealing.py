"""Who scores what: parts of a run in the order of their cost, and dealt into shares of nearly equal cost."""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass

from calprobe.errors import UsageError


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shares of a run, numbered from 1: `--shard 2/8`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """The share that `I/N` names, I from 1 to N. Raises UsageError for anything else.

    >>> parse_shard("2/8")
    Shard(number=2, count=8)
    """
    if not (isinstance(text, str) and re.fullmatch(r"(0|[1-9][0-9]*)/(0|[1-9][0-9]*)", text)):
        raise UsageError(f"--shard {text!r}: give I/N, such as 1/4 for the first of four")
    shard = Shard(*map(int, text.split("/")))
    if not 1 <= shard.number <= shard.count:
        allowed = f"I goes from 1 to {shard.count}" if shard.count else "N must be at least 1"
        raise UsageError(f"--shard {text}: in I/N, {allowed}")
    return shard


def longest_first(costs: Sequence[float]) -> list[int]:
    """Places of the costs, [parts] >= 0, from the largest to the smallest; equal ones in order.

    >>> longest_first([1.0, 3.0, 1.0, 2.0])
    [1, 3, 0, 2]
    """
    return sorted(range(len(costs)), key=lambda place: -costs[place])


def deal(costs: Sequence[float], n_shares: int) -> tuple[tuple[int, ...], ...]:
    """Deal parts into shares: the longest first, each to the share that has least; equal ones to the first of these.

    No share costs more than 4/3 of the best possible largest one (Graham 1969, "Bounds on multiprocessing timing
    anomalies"). A share may be empty.

    Args:
        costs: of each part, [parts], >= 0.
        n_shares: 1 or more.
    Returns:
        places of the parts of each share, ascending: every place in one share exactly.

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
