from dataclasses import replace

import numpy as np

from calprobe.planning.token_rows import Contexts, TokenRows


def rows(*lengths: int, words: bool = False) -> TokenRows:
    total = sum(lengths)
    offsets = np.cumsum([0, *lengths])
    numbers = np.arange(total, dtype=np.int32) if words else None
    return TokenRows(np.arange(total, dtype=np.int32), np.ones(total, np.int8), offsets, numbers)


def test_joined_parts_lie_one_after_another() -> None:
    joined = TokenRows.joined([rows(2, 0, 1), rows(), rows(4)])
    assert joined.token_ids.tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert joined.lengths.tolist() == [2, 0, 1, 4]
    assert joined.offsets.dtype == np.int64
    assert joined.words is None


def test_words_are_joined_where_every_part_has_them() -> None:
    joined = TokenRows.joined([rows(2, words=True), rows(1, words=True)])
    assert joined.words is not None
    assert joined.words.tolist() == [0, 1, 0]
    assert TokenRows.joined([rows(2, words=True), rows(1)]).words is None


def test_contexts_are_not_among_the_scored_tokens() -> None:
    complete = replace(rows(3, 2, 1, words=True), contexts=Contexts(np.array([2, 0, 0]), np.array([5, 0, 0])))
    assert complete.is_scored.tolist() == [False, False, True, True, True, True]
    assert complete.scored.token_ids.tolist() == [2, 3, 4, 5]
    assert complete.scored.offsets.tolist() == [0, 1, 3, 4]
    assert complete.scored.contexts is None
    assert complete.scored.words is not None
    assert complete.scored.words.tolist() == [2, 3, 4, 5]
    plain = rows(2, 1)
    assert plain.scored is plain
    assert plain.is_scored.all()


def test_parts_join_to_the_complete() -> None:
    complete = replace(rows(3, 2, 1), contexts=Contexts(np.array([2, 1, 0]), np.array([5, 0, 7])))
    again = TokenRows.joined([complete.part(0, 1), complete.part(1, 3)])
    assert again.offsets.tolist() == complete.offsets.tolist()
    assert again.token_ids.tolist() == complete.token_ids.tolist()
    assert again.contexts is not None
    assert (again.contexts.lengths.tolist(), again.contexts.cut.tolist()) == ([2, 1, 0], [5, 0, 7])
    mixed = TokenRows.joined([rows(4), complete.part(2, 3)])
    assert mixed.contexts is not None
    assert (mixed.contexts.lengths.tolist(), mixed.contexts.cut.tolist()) == ([0, 0], [0, 7])
