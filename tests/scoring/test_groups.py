from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from calprobe.scoring.groups import groups_of, incomplete, least_statements

counts = st.lists(st.integers(0, 50)).map(lambda sizes: {(f"P{place}", 0): size for place, size in enumerate(sizes)})


@given(counts, st.integers(1, 80))
def test_every_piece_is_in_one_group_and_only_the_last_is_small(sizes: dict[tuple[str, int], int], least: int) -> None:
    groups = list(groups_of(sizes, least))
    assert list(chain(*groups)) == list(sizes)
    assert all(groups)
    for group in groups[:-1]:
        assert sum(sizes[piece] for piece in group) >= least
        assert sum(sizes[piece] for piece in group[:-1]) < least


def test_a_group_is_run_again_whole_for_one_missing_piece() -> None:
    groups = [(("a", 0), ("b", 0)), (("c", 0),), (("d", 0),)]
    assert incomplete(groups, [("b", 0), ("d", 0)]) == [(("a", 0), ("b", 0)), (("d", 0),)]


def test_a_group_is_a_few_batches_on_every_path() -> None:
    assert least_statements("tree", 1024) == 1024
    assert least_statements("masked", 4096) == 256
    assert least_statements("padded", 8) == 1
