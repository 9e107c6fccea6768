import numpy as np

from calprobe.statements.token_rows import TokenRows


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
