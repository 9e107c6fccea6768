"""The masked plan, held against every masked row built and scored on its own."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from call_counts import python_calls
from hypothesis import given
from hypothesis import strategies as st

from calprobe.planning import MaskedPlan, masked_rows, plan_masked
from calprobe.planning.token_rows import SpecialTokens, TokenRows
from calprobe.words import PllMetric, Role

METRICS: tuple[PllMetric, ...] = get_args(PllMetric)
MASK = 9
SPECIAL = SpecialTokens(before=(7,), after=(8, 6), mask=MASK)


@dataclass(frozen=True)
class Sentence:
    """A statement: its tokens, the word of each, and the places of the answer."""

    tokens: tuple[int, ...]
    words: tuple[int, ...]
    answer: range


@st.composite
def sentences(draw: st.DrawFn) -> Sentence:
    """Few tokens, so that equal rows are common; the mask token may stand in the text itself."""
    tokens = draw(st.lists(st.sampled_from([0, 1, 2, MASK]), max_size=7))
    words, word = [], 0
    for _ in tokens:
        word += draw(st.integers(0, 1))
        words.append(word)
    begin = draw(st.integers(0, len(tokens)))
    return Sentence(tuple(tokens), tuple(words), range(begin, draw(st.integers(begin, len(tokens)))))


LISTS = st.lists(sentences(), max_size=25)


def token_rows(given: list[Sentence]) -> TokenRows:
    tokens = [token for one in given for token in one.tokens]
    words = [word for one in given for word in one.words]
    roles = [Role.ANSWER if i in one.answer else Role.TEMPLATE for one in given for i in range(len(one.tokens))]
    offsets = np.cumsum([0, *(len(one.tokens) for one in given)], dtype=np.int64)
    return TokenRows(np.asarray(tokens, np.int32), np.asarray(roles, np.int8), offsets, np.asarray(words, np.int32))


def masked_by_hand(one: Sentence, place: int, metric: PllMetric) -> tuple[int, ...]:
    """The row that scores `place`, special tokens included, straight from the definitions."""
    row = [*SPECIAL.before, *one.tokens, *SPECIAL.after]
    for other in range(place, len(row) - 1):
        in_text = other < len(one.tokens)
        same_word = in_text and one.words[other] == one.words[place]
        hide = {
            "original": other == place,
            "within_word_l2r": same_word,
            "sentence_l2r": True,
            "answer_l2r+word_l2r": other in one.answer if place in one.answer else same_word,
        }
        if hide[metric]:
            row[other + 1] = MASK
    return tuple(row)


def read(plan: MaskedPlan) -> list[tuple[tuple[int, ...], int, int]]:
    """(row, scored place, target) of every edge of the plan, in the order of the edges."""
    found = []
    for index in range(plan.n_batches):
        batch = plan.batch(index)
        assert batch.edges == slice(len(found), len(found) + len(batch.targets))
        for number, (row, scored) in enumerate(zip(batch.token_ids.tolist(), batch.scored.tolist(), strict=True)):
            targets = batch.targets[batch.target_offsets[number] : batch.target_offsets[number + 1]].tolist()
            assert targets == sorted(set(targets)) != []
            found += [(tuple(row), scored, target) for target in targets]
    assert len(found) == plan.n_edges
    return found


@pytest.mark.parametrize("metric", METRICS)
@given(given=LISTS, batch_tokens=st.integers(1, 60))
def test_it_runs_every_masked_row_once_and_gives_each_token_its_own(
    metric: PllMetric, given: list[Sentence], batch_tokens: int
) -> None:
    plan = plan_masked(token_rows(given), SPECIAL, metric, batch_tokens)
    edges = read(plan)
    wanted = [
        (masked_by_hand(one, place, metric), place + len(SPECIAL.before), token)
        for one in given
        for place, token in enumerate(one.tokens)
    ]
    assert [edges[edge] for edge in plan.edge_of_token] == wanted
    assert len(edges) == len(set(wanted))
    assert plan.n_rows == len({edge[:2] for edge in wanted})


@given(given=LISTS, batch_tokens=st.integers(1, 60), metric=st.sampled_from(METRICS))
def test_batches_keep_the_budget_and_come_longest_first(
    given: list[Sentence], batch_tokens: int, metric: PllMetric
) -> None:
    plan = plan_masked(token_rows(given), SPECIAL, metric, batch_tokens)
    batches = [plan.batch(index) for index in range(plan.n_batches)]
    shapes = [batch.token_ids.shape for batch in batches]
    assert all(rows * width <= batch_tokens or rows == 1 for rows, width in shapes)
    assert sum(rows for rows, _ in shapes) == plan.n_rows
    widths = [width for _, width in shapes]
    assert widths == sorted(widths, reverse=True)
    # Two batches of one width follow each other only if the first is full.
    for (rows, width), (_, following) in pairwise(shapes):
        assert width != following or rows == max(1, batch_tokens // width)


@given(given=LISTS, metric=st.sampled_from(METRICS), seed=st.integers(0, 99))
def test_order_and_duplicates_of_statements_do_not_matter(given: list[Sentence], metric: PllMetric, seed: int) -> None:
    shuffled = given + given[: len(given) // 2]
    random.Random(seed).shuffle(shuffled)
    plain, other = (plan_masked(token_rows(each), SPECIAL, metric, 40) for each in (given, shuffled))
    assert read(plain) == read(other)
    assert plain.batch_offsets.tolist() == other.batch_offsets.tolist()


@given(given=LISTS, metric=st.sampled_from(METRICS), bits=st.integers(0, 3))
def test_a_hash_that_collides_is_found_out(given: list[Sentence], metric: PllMetric, bits: int) -> None:
    """Under the first three keys all but a few bits are lost; the answer must not change."""
    good = masked_rows.place_hash
    keys = set()

    def poor(place: masked_rows.Int32s, token: masked_rows.Int32s | int, key: int) -> masked_rows._UInt64s:
        keys.add(key)
        return good(place, token, key) & np.uint64(2**bits - 1 if key < 3 else 2**64 - 1)

    rows = token_rows(given)
    wanted = read(plan_masked(rows, SPECIAL, metric, 40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked_rows, "place_hash", poor)
        patch.setattr(masked_rows, "_CHECKED_PLACES", 5)
        plan = plan_masked(rows, SPECIAL, metric, 40)
    found = read(plan)
    assert sorted(found) == sorted(wanted)
    tokens = [token for one in given for token in one.tokens]
    assert [found[edge][2] for edge in plan.edge_of_token] == tokens
    if bits == 0 and plan.n_rows > 1:
        assert keys == {0, 1, 2, 3}


def test_the_four_metrics_by_hand() -> None:
    """`The cap##ital is Par##is.`, of which the answer is `Paris` and `is.` is one word with its full stop."""
    one = Sentence(tokens=(0, 1, 2, 3, 4, 5), words=(0, 1, 1, 2, 2, 2), answer=range(3, 5))
    hidden = {
        "original": ["0", "1", "2", "3", "4", "5"],
        "within_word_l2r": ["0", "12", "2", "345", "45", "5"],
        "sentence_l2r": ["012345ab", "12345ab", "2345ab", "345ab", "45ab", "5ab"],
        "answer_l2r+word_l2r": ["0", "12", "2", "34", "4", "5"],
    }
    for metric in METRICS:
        plan = plan_masked(token_rows([one]), SPECIAL, metric, 100)
        edges = read(plan)
        rows = [edges[edge][0] for edge in plan.edge_of_token]
        assert [
            "".join(name for name, token in zip(".012345ab", row, strict=True) if token == MASK) for row in rows
        ] == hidden[metric]


def test_a_one_word_answer_is_one_row_for_all_candidates() -> None:
    statements = [Sentence((0, 1, answer, 2), (0, 1, 2, 3), range(2, 3)) for answer in range(3, 6)]
    plan = plan_masked(token_rows(statements), SPECIAL, "original", 1000)
    assert (plan.n_rows, plan.n_edges) == (3 * 3 + 1, 3 * 4)
    answers = plan.edge_of_token[2::4]
    assert len({read(plan)[edge][0] for edge in answers}) == 1


def test_a_statement_of_many_words_fits_the_budget() -> None:
    words = 400
    one = Sentence(tuple(range(10, 10 + words)), tuple(range(words)), range(0))
    plan = plan_masked(token_rows([one]), SPECIAL, "within_word_l2r", 4096)
    shapes = [plan.batch(index).token_ids.shape for index in range(plan.n_batches)]
    assert max(rows * width for rows, width in shapes) <= 4096
    assert sum(rows for rows, _ in shapes) == words


def test_no_python_runs_once_a_statement_or_row() -> None:
    tokens = np.random.default_rng(0).integers(0, 50, (20_000, 12)).astype(np.int32)
    offsets = np.arange(0, tokens.size + 1, 12, dtype=np.int64)
    words = np.tile(np.arange(12, dtype=np.int32) // 2, 20_000)
    rows = TokenRows(tokens.ravel(), np.zeros(tokens.size, np.int8), offsets, words)
    assert plan_masked(rows, SPECIAL, "within_word_l2r", 8192).n_rows == tokens.size  # equal rows are very unlikely
    few, many = (
        python_calls(plan_masked, rows.part(0, count), SPECIAL, "within_word_l2r", 8192) for count in (200, 20_000)
    )
    assert many <= 2 * few


def test_nothing_to_score_gives_no_batches() -> None:
    for statements in ([], [Sentence((), (), range(0))]):
        plan = plan_masked(token_rows(statements), SPECIAL, "within_word_l2r", 10)
        assert (plan.n_batches, plan.n_rows, plan.n_edges, len(plan.edge_of_token)) == (0, 0, 0, 0)


@pytest.mark.parametrize("metric", METRICS)
def test_words_are_asked_for_only_where_they_matter(metric: PllMetric) -> None:
    rows = TokenRows(np.asarray([1, 2], np.int32), np.zeros(2, np.int8), np.asarray([0, 2], np.int64))
    if metric in ("original", "sentence_l2r"):
        assert plan_masked(rows, SPECIAL, metric, 10).n_edges == 2
        return
    with pytest.raises(ValueError, match="rows must have words for this metric"):
        plan_masked(rows, SPECIAL, metric, 10)


def test_arguments_are_checked() -> None:
    rows = token_rows([Sentence((1, 2), (0, 1), range(0))])
    with pytest.raises(ValueError, match="batch_tokens must be at least 1, got 0"):
        plan_masked(rows, SPECIAL, "original", 0)
    negative = TokenRows(np.asarray([-1], np.int32), np.zeros(1, np.int8), np.asarray([0, 1], np.int64))
    with pytest.raises(ValueError, match="token_ids must not be negative, got -1"):
        plan_masked(negative, SPECIAL, "original", 10)
