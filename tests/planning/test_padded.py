"""Properties of the plan of padded rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statement_lists import token_rows, with_contexts

from calprobe.planning import plan_padded

statements = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), max_size=30)


@given(statements, st.integers(1, 40))
def test_every_distinct_statement_is_forwarded_once(lists: list[list[int]], budget: int) -> None:
    plan = plan_padded(token_rows(lists), budget)
    forwarded = [tuple(lists[s]) for s in plan.rows]
    assert sorted(forwarded) == sorted(set(map(tuple, lists)))
    assert [forwarded[row] for row in plan.row_of] == [tuple(row) for row in lists]


@given(statements, st.integers(1, 40))
def test_batches_keep_the_budget_or_hold_one_row(lists: list[list[int]], budget: int) -> None:
    plan = plan_padded(token_rows(lists), budget)
    batches = [plan.batch(index) for index in range(plan.n_batches)]
    assert sum(map(len, batches)) == len(plan.rows)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(len(lists[s]) for s in batch) <= budget


@given(statements, st.randoms(use_true_random=False))
def test_order_and_duplicates_change_no_batch(lists: list[list[int]], random: object) -> None:
    shuffled = lists + lists[:3]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = plan_padded(token_rows(lists), 12), plan_padded(token_rows(shuffled), 12)
    contents = [
        [[tuple(source[s]) for s in plan.batch(index)] for index in range(plan.n_batches)]
        for plan, source in ((one, lists), (other, shuffled))
    ]
    assert contents[0] == contents[1]


def test_by_hand() -> None:
    plan = plan_padded(token_rows([[1, 2], [5, 6, 7], [1, 2], [9]]), batch_tokens=4)
    assert plan.rows.tolist() == [1, 0, 3]
    assert plan.row_of.tolist() == [1, 0, 1, 2]
    assert plan.batch_offsets.tolist() == [0, 1, 3]


def test_rows_that_differ_in_their_contexts_only_are_both_forwarded() -> None:
    rows = with_contexts(token_rows([[1, 2, 3], [1, 2, 3], [1, 2, 3], [4]]), [1, 2, 1, 0])
    plan = plan_padded(rows, batch_tokens=100)
    assert sorted(plan.rows.tolist()) == [0, 1, 3]
    assert plan.row_of[0] == plan.row_of[2] != plan.row_of[1]


def test_refuses_what_cannot_be_planned() -> None:
    with pytest.raises(ValueError, match="batch_tokens must be at least 1, got 0"):
        plan_padded(token_rows([[1]]), 0)
    with pytest.raises(ValueError, match="statement 1 has no token"):
        plan_padded(token_rows([[1], []]), 8)
