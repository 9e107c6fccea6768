"""Pieces: what is refused, and the reductions without the first token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import make_piece, mean

from calprobe.runs import NO_ROLE, PieceScores
from calprobe.words import Role

SHAPE = ("P30", 3, 4)


@pytest.mark.parametrize("shortest", [0, 1])
@given(seed=st.integers(0, 999))
def test_without_first_equals_the_reductions_of_the_tokens_left(shortest: int, seed: int) -> None:
    piece = make_piece(SHAPE, seed=seed, shortest=shortest)
    assert piece.tokens is not None
    offsets, scores, roles = piece.tokens.offsets, piece.tokens.logprobs.astype(float), piece.tokens.roles
    for i in range(piece.n_statements):
        rest = slice(offsets[i] + 1, max(offsets[i + 1], offsets[i] + 1))
        answer = scores[rest][roles[rest] == Role.ANSWER]
        expected = {"sum": scores[rest].sum(), "mean": mean(scores[rest])}
        expected |= {"sum_answer": answer.sum(), "mean_answer": mean(answer)}
        for name, value in expected.items():
            found = piece.without_first(name)
            assert found is not None
            assert found[i] == pytest.approx(value, abs=1e-12, nan_ok=True), name


def test_without_first_by_hand() -> None:
    one = make_piece(("P30", 1, 2))
    piece = replace(
        one,
        sum=np.array([-6.0, -1.0]),
        mean=np.array([-2.0, -1.0]),
        sum_answer=np.array([-3.0, -1.0]),
        mean_answer=np.array([-1.5, -1.0]),
        first=np.array([-1.0, -1.0]),
        first_role=np.array([Role.ANSWER, Role.ANSWER], np.int8),
        n_tokens=np.array([3, 1], np.int32),
        n_answer=np.array([2, 1], np.int32),
    )
    for name, expected in {
        "sum": [-5, 0],
        "mean": [-2.5, np.nan],
        "sum_answer": [-2, 0],
        "mean_answer": [-2, np.nan],
    }.items():
        np.testing.assert_array_equal(piece.without_first(name), expected)
    subject_first = replace(piece, first_role=np.array([Role.SUBJECT, NO_ROLE], np.int8))
    np.testing.assert_array_equal(subject_first.without_first("sum_answer"), [-3, -1])


@pytest.mark.parametrize("unknown", ["sum", "first", "n_tokens"])
def test_without_first_of_an_unknown_column_is_unknown(unknown: str) -> None:
    changes = {unknown: None} | ({"first_role": None} if unknown == "first" else {})
    assert replace(make_piece(SHAPE), **changes).without_first("sum") is None


def _bad(piece: PieceScores, case: str) -> PieceScores:
    if case == "order":
        return replace(piece, candidate=piece.candidate[::-1].copy())
    if case == "instances":
        return replace(piece, instance=piece.instance[::-1].copy())
    if case == "answer":
        return replace(piece, answer_idx=piece.answer_idx + np.int32(9))
    if case == "dtype":
        return replace(piece, sum=piece.sum.astype(np.float32))  # type: ignore[union-attr, arg-type]
    if case == "length":
        return replace(piece, mean=piece.mean[1:])  # type: ignore[index]
    if case == "keys":
        return replace(piece, instance=None)  # type: ignore[arg-type]
    if case == "first":
        return replace(piece, first=None)
    assert piece.tokens is not None
    if case == "offsets":
        return replace(piece, tokens=replace(piece.tokens, offsets=piece.tokens.offsets[1:]))
    return replace(piece, tokens=replace(piece.tokens, tokens=piece.tokens.tokens[1:]))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("order", "candidates 0 to 3 in order"),
        ("instances", "ascend"),
        ("answer", "answer_idx must be one candidate"),
        ("dtype", r"sum must be float64 \[3 x 4\], got float32 \(12,\)"),
        ("length", r"mean must be float64 \[3 x 4\], got float64 \(11,\)"),
        ("keys", "instance is missing"),
        ("first", "known together"),
        ("offsets", "token offsets must ascend from 0 over 12 statements"),
        ("tokens", "entries each"),
    ],
)
def test_a_piece_in_another_form_is_refused(case: str, message: str) -> None:
    piece = make_piece(SHAPE)
    piece.validate(3, 4)
    with pytest.raises(ValueError, match=message) as raised:
        _bad(piece, case).validate(3, 4)
    assert "piece P30, template 0" in str(raised.value)


def test_the_checksum_sees_every_column_and_the_place() -> None:
    piece = make_piece(SHAPE)
    sums = {piece.checksum(), replace(piece, template=1).checksum(), replace(piece, relation="P3").checksum()}
    for name in ("instance", "answer_idx"):
        sums.add(replace(piece, **{name: getattr(piece, name) + np.int32(1)}).checksum())
    for name in ("sum", "mean_answer", "first", "first_role", "n_answer"):
        column = piece.column(name)
        assert column is not None
        changed = column.copy()
        changed[0] += 1
        sums |= {replace(piece, **{name: changed}).checksum(), replace(piece, **{name: None}).checksum()}
    assert len(sums) == 3 + 2 + 2 * 5
