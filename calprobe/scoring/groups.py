"""Pieces that are planned and run together, so that small ones fill batches too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

Piece = tuple[str, int]  # relation, template number


def groups_of(n_statements: Mapping[Piece, int], at_least: int) -> Iterator[tuple[Piece, ...]]:
    """Cut the pieces of a run, in order, into groups of `at_least` statements or more; the last may have fewer.

    A batch decides the last bits of a score, so the groups must be the same however much of the run is there already:
    they follow from the whole run's pieces, and from nothing else.

    Args:
        n_statements: of each piece of the whole run, in the order of scoring.
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
    """Statements in a group that make a few batches on that path, so that all but the last of those are full.

    A prefix tree has about three nodes a statement of BEAR; padded and plain rows have about ten tokens a statement,
    and a masked model forwards one such row for each of them.
    """
    return batch_tokens if path == "tree" else max(1, batch_tokens // 16)


def incomplete(groups: Iterable[tuple[Piece, ...]], missing: Iterable[Piece]) -> list[tuple[Piece, ...]]:
    """The groups with a piece in `missing`."""
    wanted = set(missing)
    return [group for group in groups if wanted.intersection(group)]
