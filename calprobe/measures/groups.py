"""Relations by what they have in common, in the order that people sort names by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping


def relation_groups(groups: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The relations of each group, for the groups of each relation: a relation of two groups is in both.

    Groups and relations are in natural order.

    >>> relation_groups({"P36": ["Geographic", "Political"], "P9": ["Political"]})
    {'Geographic': ('P36',), 'Political': ('P9', 'P36')}
    """
    members: dict[str, set[str]] = {}
    for relation, names in groups.items():
        for group in names:
            members.setdefault(group, set()).add(relation)
    return {group: tuple(sorted(members[group], key=natural_order)) for group in sorted(members, key=natural_order)}


def natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """A key that sorts numbers within names by their size.

    >>> sorted(["P36", "P9", "P1376"], key=natural_order)
    ['P9', 'P36', 'P1376']
    """
    pieces = re.split(r"([0-9]+)", name)  # text and number in turn, text first and last
    return tuple(zip(pieces[::2], (int(number) for number in [*pieces[1::2], "0"]), strict=True))
