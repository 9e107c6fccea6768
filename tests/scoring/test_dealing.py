"""Parts dealt into shares: complete, deterministic, near the best; and what a piece costs, by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.errors import UsageError
from calprobe.probes import Instance, Relation
from calprobe.scoring.costs import piece_cost
from calprobe.scoring.dealing import Shard, deal, longest_first, parse_shard

costs = st.lists(st.integers(0, 50).map(float), max_size=7)


@given(costs, st.integers(1, 9))
def test_every_part_is_in_one_share(parts: list[float], n_shares: int) -> None:
    shares = deal(parts, n_shares)
    assert len(shares) == n_shares
    assert sorted(place for share in shares for place in share) == list(range(len(parts)))
    assert all(list(share) == sorted(share) for share in shares)


@given(costs, st.integers(1, 3))
def test_the_largest_share_is_near_the_best_possible(parts: list[float], n_shares: int) -> None:
    def largest(assigned: tuple[int, ...]) -> float:
        return max(sum(c for c, to in zip(parts, assigned, strict=True) if to == share) for share in range(n_shares))

    best = min(largest(assigned) for assigned in product(range(n_shares), repeat=len(parts)))
    found = max(sum(parts[place] for place in share) for share in deal(parts, n_shares))
    assert found <= (4 / 3 - 1 / (3 * n_shares)) * best + 1e-9


def test_dealt_by_hand() -> None:
    assert deal([7.0, 6.0, 5.0, 4.0, 3.0], 2) == ((0, 3, 4), (1, 2))  # 7 | 6, 6+5 | 7+4, 7+4+3: ties to the first
    assert longest_first([2.0, 2.0, 5.0]) == [2, 0, 1]


def test_more_shares_than_parts_leave_some_empty() -> None:
    assert deal([1.0], 3) == ((0,), (), ())
    assert deal([], 2) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0/4", "--shard 0/4: in I/N, I goes from 1 to 4"),
        ("5/4", "I goes from 1 to 4"),
        ("1/0", "N must be at least 1"),
        ("2", "give I/N, such as 1/4"),
        ("-1/4", "give I/N"),
        ("01/4", "give I/N"),
        ("1/4/2", "give I/N"),
    ],
)
def test_what_is_no_shard(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_shard(text)


def test_a_shard_reads_as_it_was_typed() -> None:
    assert parse_shard("4/4") == Shard(4, 4)
    assert str(Shard(4, 4)) == "4/4"


ANSWERS = ("Asia", "Africa")
RELATION = Relation("P30", ANSWERS, (Instance(0, "Ghana", 1), Instance(1, "Iran", 0)))


def test_an_answer_in_front_shares_its_beginning_among_subjects() -> None:
    # "Asia has " and "Africa has " once each, then "Ghana." and "Iran." after either: 9 + 11 + 2 * (6 + 5)
    assert piece_cost(RELATION, "[Y] has [X].", "tree") == 42.0


@pytest.mark.parametrize("template", ["[X] is in [Y].", "In [Y] lies [X], they say.", "[Y][X]"])
@pytest.mark.parametrize("path", ["tree", "padded", "masked", "plain"])
def test_answer_spaces_of_the_instances_own_cost_the_same(template: str, path: str) -> None:
    own = Relation(
        "P30", (), tuple(Instance(i.index, i.subject, i.answer_idx, None, ANSWERS) for i in RELATION.instances)
    )
    expected = piece_cost(RELATION, template, path)
    if path == "tree" and template.startswith(("[Y]", "In")):
        assert piece_cost(own, template, path) >= expected  # its candidates are not known to be the same
    else:
        assert piece_cost(own, template, path) == expected


def test_a_relation_without_instances_costs_nothing() -> None:
    assert piece_cost(Relation("P1", ANSWERS, ()), "[X] [Y]", "tree") == 0.0


def test_the_estimate_follows_the_planned_nodes() -> None:
    from calprobe.probes import load_probe
    from calprobe.statements import statements_of

    estimates, nodes = [], []
    for relation in load_probe("mini").relations:
        for template in ("[X] is known for [Y].", "[Y] is what [X] is known for."):
            estimates.append(piece_cost(relation, template, "tree"))
            texts = [statement.text for statement in statements_of(relation, template)]
            nodes.append(len({text[:end] for text in texts for end in range(1, len(text) + 1)}))
    assert np.corrcoef(estimates, nodes)[0, 1] > 0.99
