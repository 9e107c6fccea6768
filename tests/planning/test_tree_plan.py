"""The complete plan, read back the way an executor reads it: through batches, the interval test and the targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statement_lists import statements, token_rows, with_contexts

from calprobe.planning import TreeBatch, TreePlan, plan_tree
from calprobe.planning.filled_rows import FilledPlan

START = 9
row_lengths, budgets = st.integers(1, 25), st.integers(1, 60)


def sees(batch: TreeBatch) -> np.ndarray:
    """The attention mask [rows, width, width] as the docstring of `end` defines it."""
    place = np.arange(batch.end.shape[1])
    return (place <= place[:, None]) & (place[:, None] < batch.end[:, None, :])


def paths(batch: TreeBatch) -> list[list[tuple[int, ...]]]:
    """The tokens that each place of a batch sees, in order; the batch's padding included."""
    return [
        [tuple(tokens[mask].tolist()) for mask in masks]
        for tokens, masks in zip(batch.token_ids, sees(batch), strict=True)
    ]


def scored_edges(plan: TreePlan | FilledPlan) -> list[tuple[int, ...]]:
    """For each score of the plan, the tokens that it is conditioned on and the token that it is of."""
    edges: list[tuple[int, ...]] = []
    for index in range(plan.n_batches):
        batch = plan.batch(index)
        assert batch.edges.start == len(edges)
        flat = [path for row in paths(batch) for path in row]
        for place, low, high in zip(batch.scored, batch.target_offsets[:-1], batch.target_offsets[1:], strict=True):
            edges += [(*flat[place], token) for token in batch.targets[low:high].tolist()]
        assert batch.edges.stop == len(edges)
    return edges


@given(statements, row_lengths, budgets)
def test_every_statement_is_recovered(lists: list[list[int]], row_length: int, budget: int) -> None:
    plan = plan_tree(token_rows(lists), START, budget, row_length)
    edges = scored_edges(plan)
    wanted = [(START, *row[: length + 1]) for row in lists for length in range(len(row))]
    assert [edges[edge] for edge in plan.edge_of_token] == wanted
    assert sorted(edges) == sorted(set(wanted))  # distinct, and nothing else is scored
    assert len(edges) == plan.n_edges


@given(statements, row_lengths, budgets, st.integers(1, 40), st.booleans())
def test_filled_rows_score_the_same_and_are_trees(
    lists: list[list[int]], row_length: int, budget: int, width: int, at_end: bool
) -> None:
    plan = plan_tree(token_rows(lists), START, budget, row_length)
    filled = FilledPlan(plan, width, at_end)
    assert scored_edges(filled) == scored_edges(plan)
    for index in range(plan.n_batches):
        before, batch = plan.batch(index), filled.batch(index)
        if before.token_ids.shape[1] >= width:
            np.testing.assert_array_equal(batch.token_ids, before.token_ids)
            continue
        assert batch.token_ids.shape[1] == width
        assert (batch.end[:, 0] == batch.lengths).all()  # all are below the start token
        assert (batch.end[:, 0] == width).all()
        np.testing.assert_array_equal(sees(batch).sum(2) - 1, batch.position_ids)
        assert batch.position_ids.max() <= max(1, before.position_ids.max())


def test_what_is_put_in_stands_in_front_of_each_branch() -> None:
    plan = plan_tree(token_rows([[1, 2, 3], [1, 2, 4], [5, 6]]), START, 40, 40)
    before, (front, end) = plan.batch(0), (FilledPlan(plan, 15, at_end).batch(0) for at_end in (False, True))
    # Start, 1, 2, 5: a token with nothing behind it is scored where it would follow.
    assert before.token_ids.tolist() == [[START, 1, 2, 5]]
    assert before.scored.tolist() == [0, 1, 2, 3]
    # Start, five or six places, 1, 2, as many again, 5.
    assert front.scored.tolist() == [0, 6, 7, 14]
    assert end.scored.tolist() == [0, 1, 2, 3]


@given(statements, row_lengths, budgets)
def test_rows_are_trees_with_parents_before_children(lists: list[list[int]], row_length: int, budget: int) -> None:
    plan = plan_tree(token_rows(lists), START, budget, row_length)
    for index in range(plan.n_batches):
        batch = plan.batch(index)
        for row, length, position in zip(paths(batch), batch.lengths, batch.position_ids, strict=True):
            used = row[:length]
            assert len(set(used)) == length  # no node twice
            assert used[0] == (START,)
            assert all(path[:-1] in used[:place] for place, path in enumerate(used) if place)
            assert position[:length].tolist() == [len(path) - 1 for path in used]
            assert row[length:] == [(START,)] * (len(row) - length)  # padding sees itself


@given(statements, row_lengths, budgets)
def test_every_prefix_is_scored_at_one_place(lists: list[list[int]], row_length: int, budget: int) -> None:
    plan = plan_tree(token_rows(lists), START, budget, row_length)
    assert len(plan.scored) == len({tuple(row[:length]) for row in lists for length in range(len(row))})
    assert (np.diff(plan.scored) > 0).all()
    assert (np.diff(plan.edge_offsets) > 0).all()


@given(statements, row_lengths, budgets)
def test_batches_keep_the_budget(lists: list[list[int]], row_length: int, budget: int) -> None:
    plan = plan_tree(token_rows(lists), START, budget, row_length)
    longest = max(map(len, lists), default=0)
    for index in range(plan.n_batches):
        batch = plan.batch(index)
        n_rows, width = batch.token_ids.shape
        assert width == batch.lengths[0] == batch.lengths.max()
        assert n_rows * width <= budget or (n_rows == 1 and width <= longest)
        assert width <= row_length + 2 * longest


@given(statements, row_lengths, budgets, st.randoms(use_true_random=False))
def test_order_and_duplicates_change_no_batch(
    lists: list[list[int]], row_length: int, budget: int, random: object
) -> None:
    shuffled = lists + lists[:3]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (plan_tree(token_rows(source), START, budget, row_length) for source in (lists, shuffled))
    for name in TreePlan.__slots__:
        if name != "edge_of_token":
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_by_hand() -> None:
    # Rows of 4: [start 1 6 7] repeats start and 1, which are the own nodes of [start 1 2].
    rows = token_rows([[1, 2, 3], [1, 2, 4], [1, 2], [5], [1, 6, 7, 8], [1, 2, 3]])
    plan = plan_tree(rows, START, batch_tokens=8, row_length=4)
    assert plan.token_ids.tolist() == [*[START, 1, 6, 7], *[START, 1, 2]]
    assert plan.position_ids.tolist() == [*[0, 1, 2, 3], *[0, 1, 2]]
    assert plan.end.tolist() == [*[4, 4, 4, 4], *[3, 3, 3]]
    assert plan.row_offsets.tolist() == [0, 4, 7]
    assert plan.batch_offsets.tolist() == [0, 2]
    assert plan.scored.tolist() == [2, 3, 4, 5, 6]
    assert plan.edge_offsets.tolist() == [0, 1, 2, 4, 6, 8]
    assert plan.edge_tokens.tolist() == [7, 8, *[1, 5], *[2, 6], *[3, 4]]
    assert plan.edge_of_token.tolist() == [*[2, 4, 6], *[2, 4, 7], *[2, 4], 3, *[2, 5, 0, 1], *[2, 4, 6]]

    batch = plan.batch(0)
    assert batch.token_ids.tolist() == [[START, 1, 6, 7], [START, 1, 2, START]]
    assert batch.position_ids.tolist() == [[0, 1, 2, 3], [0, 1, 2, 0]]
    assert batch.end.tolist() == [[4, 4, 4, 4], [3, 3, 3, 4]]
    assert batch.lengths.tolist() == [4, 3]
    assert batch.scored.tolist() == [2, 3, 4, 5, 6]
    assert batch.target_offsets.tolist() == [0, 1, 2, 4, 6, 8]
    assert batch.targets.tolist() == plan.edge_tokens.tolist()
    assert batch.edges == slice(0, 8)


def test_one_row_by_hand() -> None:
    rows = token_rows([[1, 2, 3], [1, 6, 7]])
    batch = plan_tree(rows, START, batch_tokens=64).batch(0)
    assert batch.token_ids.tolist() == [[START, 1, 2, 6]]
    assert batch.end.tolist() == [[4, 4, 3, 4]]
    assert sees(batch)[0].astype(int).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]


@pytest.mark.parametrize(
    ("lists", "forwarded"),
    [([], []), ([[4]], [START]), ([[4], [4]], [START]), ([[4], [4, 5]], [START, 4]), ([[4, 5, 6]], [START, 4, 5])],
)
def test_small_sets(lists: list[list[int]], forwarded: list[int]) -> None:
    plan = plan_tree(token_rows(lists), START, batch_tokens=16)
    assert plan.token_ids.tolist() == forwarded
    assert plan.n_batches == (1 if lists else 0)


def test_refuses_what_cannot_be_planned() -> None:
    rows = token_rows([[1]])
    with pytest.raises(ValueError, match="batch_tokens must be at least 1, got 0"):
        plan_tree(rows, START, 0)
    with pytest.raises(ValueError, match="row_length must be at least 1, got -1"):
        plan_tree(rows, START, 8, -1)
    with pytest.raises(ValueError, match="statement 0 has no token"):
        plan_tree(token_rows([[]]), START, 8)


def test_contexts_are_forwarded_and_not_scored_by_hand() -> None:
    rows = with_contexts(token_rows([[1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 7]]), [3, 3, 1])
    plan = plan_tree(rows, START, batch_tokens=8, row_length=8)
    batch = plan.batch(0)
    assert batch.token_ids.tolist() == [[START, 1, 2, 3, 5]]
    # 2 after [start 1] and 7 after [start 1 2] are scored for the third statement, 4, 5 and 6 for the first two.
    assert batch.scored.tolist() == [1, 2, 3, 4]
    assert batch.target_offsets.tolist() == [0, 1, 2, 4, 5]
    assert batch.targets.tolist() == [2, 7, 4, 5, 6]
    assert plan.edge_of_token.tolist() == [2, 3, 4, 0, 1]
    assert plan.scored.tolist() == [1, 2, 3, 4]


@given(statements, row_lengths, budgets, st.data())
def test_scored_tokens_are_those_after_the_contexts(
    lists: list[list[int]], row_length: int, budget: int, data: st.DataObject
) -> None:
    lengths = [data.draw(st.integers(0, len(row) - 1)) for row in lists]
    everything = plan_tree(token_rows(lists), START, budget, row_length)
    plan = plan_tree(with_contexts(token_rows(lists), lengths), START, budget, row_length)
    assert plan.token_ids.tolist() == everything.token_ids.tolist()  # the same is forwarded
    assert (np.diff(plan.edge_offsets) > 0).all()
    wanted = [
        (START, *row[: place + 1])
        for row, length in zip(lists, lengths, strict=True)
        for place in range(length, len(row))
    ]
    edges = scored_edges(plan)
    assert [edges[edge] for edge in plan.edge_of_token] == wanted
    assert sorted(edges) == sorted(set(wanted))
