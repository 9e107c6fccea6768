"""What part of a probe a run has, and what two runs have together, against the pieces counted out one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from calprobe.runs.extent import Extent
from calprobe.runs.records import Piece

SIZE = 4  # instances of a relation

extents = st.builds(
    Extent,
    st.lists(st.sampled_from("abc"), min_size=1, unique=True).map(tuple),
    st.lists(st.integers(0, 2), min_size=1, unique=True).map(lambda numbers: tuple(sorted(numbers))),
    st.none() | st.integers(1, SIZE - 1),
)


def cells(extent: Extent) -> set[tuple[str, int, int]]:
    """Each statement's relation, template and instance; the first instances."""
    return set(product(extent.relations, extent.templates, range(extent.limit or SIZE)))


@given(extents, extents)
def test_covers_is_that_nothing_is_lacking(one: Extent, other: Extent) -> None:
    assert one.covers(other) == (cells(one) >= cells(other))


@given(extents, extents)
def test_two_extents_are_one_if_together_they_have_all_of_it(one: Extent, other: Extent) -> None:
    either = cells(one) | cells(other)
    joined = one.joined(other)
    full = set(product(*({cell[place] for cell in either} for place in range(3))))
    assert (joined is not None) == (either == full)
    if joined is not None:
        assert cells(joined) == either


def test_samples_of_two_seeds_and_the_first_instances_have_no_order() -> None:
    first, sample, other = (Extent(("a",), (0,), 3, seed) for seed in (None, 0, 1))
    every = Extent(("a",), (0,))
    for one, two in ((first, sample), (sample, first), (sample, other)):
        assert not one.has_instances(two)
        assert one.joined(two) is None
        assert every.covers(one)
        assert one.joined(every) == every
    assert not first.same_instances(sample)
    assert Extent(("a",), (0,), None, None).same_instances(Extent(("a",), (0,), None, 3))


def test_the_pieces_of_an_extent() -> None:
    assert Extent(("a",), (0, 2)).has(Piece("a", 2))
    assert not Extent(("a",), (0, 2)).has(Piece("a", 1))
    assert not Extent(("a",), (0, 2)).has(Piece("b", 0))
